"""A numeric column of known deviation: x ~ N(mean, sd²), clamped to its declared bounds; mean ~ N(m, s²).

Clamping is part of the likelihood: a record on a bound says "at least this far out".
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.one_sum.clamped_records import ClampedNormal
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, number, pair
from discreet.models.sums import lattice_of, noisy_sum, plain_sum, sum_query
from discreet.numerics.arrays import Array
from discreet.posterior import CurvePosterior, Likelihood, Link, OneParameter, Scalar, curve_posterior
from discreet.posterior.given_draws import LogDraws, curve_given_draws
from discreet.posterior.records.declared_records import DeclaredRecords, NumberColumn
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families import GaussianMean
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["NormalMean"]

IDENTITY = Link("identity")

SMALLEST_SD = 1e-3  # of the declared range: bounds that are a thousand deviations apart say nothing about the data


@dataclass(frozen=True)
class NormalMean(StatisticsModel):
    """The mean of a bounded column whose deviation `sd` is known.

    `prior` is (mean, sd) of the mean; without one, the middle of the declared range and half of its width.
    """

    column: str
    sd: float
    prior: tuple[float, float] | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", positive("NormalMean.sd", self.sd, error=QueryError))
        if self.prior is None:
            return
        field = "NormalMean.prior"
        mean, sd = pair(field, self.prior, "(mean, sd)")
        object.__setattr__(self, "prior", (number(field, mean), positive(field, sd, error=QueryError)))
        if not 1e-60 <= sd <= 1e60:  # beyond, its square leaves the doubles
            raise QueryError(f"{field} must have a deviation from 1e-60 to 1e60, got {sd!r}")

    def query(self, schema: Schema) -> Statistics:
        """The sum of the clamped cells."""
        axis = self._axis(schema)
        if self.sd < SMALLEST_SD * (axis.upper - axis.lower):
            raise QueryError(
                f"NormalMean.sd must be at least {SMALLEST_SD:g} of the range of {self.column!r}, got {self.sd!r}"
            )
        family = GaussianMean("mean", self._prior(schema), self.sd, self._axis(schema))
        return sum_query(schema, self.column, self.by, family)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> CurvePosterior:
        """The exact posterior of the mean, by Fourier inversion and quadrature."""
        released = noisy_sum(query, value, laws, self._record(query.schema))
        mean, sd = self._prior(query.schema)
        return curve_posterior(
            "mean", _LogNormal(mean, sd), released.log_likelihood, IDENTITY, mean, sd, released.record
        )

    def known_from(self, query: Statistics, log_draws: LogDraws) -> CurvePosterior:
        """The posterior of the mean given released draws; `log_draws` is their log-probability at each sum."""
        mean, sd = self._prior(query.schema)
        record = self._record(query.schema)
        return curve_given_draws(
            "mean", log_draws, record, query.largest_total, _LogNormal(mean, sd), IDENTITY, mean, sd
        )

    def plug_in(self, query: Statistics, value: Value) -> CurvePosterior:
        """The conjugate normal law with the noisy sum at face value."""
        mean, sd = self._after(query, value)
        record = self._record(query.schema)
        return curve_posterior("mean", _LogNormal(mean, sd), np.zeros_like, IDENTITY, mean, sd, record)

    def strengthened(self, query: Statistics, value: Value) -> "NormalMean":
        """The same model with its prior strengthened by the cells of a public dataset (clamped as the schema says)."""
        return replace(self, prior=self._after(query, value))

    def population(self, schema: Schema) -> Scalar:
        """The mean itself, when groups are pooled."""
        return Scalar("mean", "identity", *self._prior(schema), record=self._record(schema))

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """Log-probability of a group's release as a function of the parameter."""
        return noisy_sum(query, value, laws, self._record(query.schema)).log_likelihood

    def record_law(self, schema: Schema) -> OneParameter:
        """Normal numbers of the known deviation."""
        return OneParameter("mean", self._record(schema))

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(NumberColumn.of(schema, self.column))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A mean from the prior, then n cells."""
        mean = rng.normal(*self._prior(schema))
        return {"mean": mean}, {self.column: self._axis(schema).of_values(rng.normal(mean, self.sd, n))}

    def _prior(self, schema: Schema) -> tuple[float, float]:
        axis = self._axis(schema)
        return self.prior or (0.5 * (axis.lower + axis.upper), 0.5 * (axis.upper - axis.lower))

    def _after(self, query: Statistics, value: Value) -> tuple[float, float]:
        """Mean and deviation of the conjugate posterior given n and an exact sum."""
        mean, sd = self._prior(query.schema)
        n, total = plain_sum(query, value, self._axis(query.schema))
        precision = 1.0 / sd**2 + n / self.sd**2
        return (mean / sd**2 + total / self.sd**2) / precision, precision**-0.5

    def _axis(self, schema: Schema) -> Axis:
        return Axis.of(schema, self.column)

    def _record(self, schema: Schema) -> ClampedNormal:
        return ClampedNormal(lattice_of(self._axis(schema)), self.sd)


class _LogNormal:
    """Log-density of a normal law."""

    def __init__(self, mean: float, sd: float) -> None:
        self.mean, self.sd = mean, sd

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * ((x - self.mean) / self.sd) ** 2 - np.log(self.sd * np.sqrt(2.0 * np.pi)))
