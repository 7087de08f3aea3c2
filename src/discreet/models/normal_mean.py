"""The mean of a bounded column of known deviation; mean ~ Beta(½, ½) between the bounds, or N(m, s²) within them.

    sum of n cells | mean ~ N(n · mean, n · sd²)        the cells as declared: clamped to their bounds

Nothing is assumed of the law of the cells but its deviation: the mean is that of the column as declared, and `sd` is
the deviation of that column, after clamping. If the true one is smaller, intervals are wider than they need be. Near a
bound no column has a deviation above √((mean - lower)(upper - mean)), and the law of the sum has none either.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.gaussian.plausible_priors import elsewhere, too_wide
from discreet.inference.one_sum.known_deviation import KnownDeviation
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, number, pair
from discreet.models.sums import lattice_of, noisy_sum, plain_sum, sum_query
from discreet.numerics.arrays import Array
from discreet.numerics.cut_normal import CutNormal
from discreet.numerics.logit_beta import LogitBeta
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
FINEST = 2**10  # points of the curve: the largest possible deviation meets the declared one in a corner
NARROWEST = 1e-9  # of the declared range: a prior that is narrower there is a point


@dataclass(frozen=True)
class NormalMean(StatisticsModel):
    """The mean of a bounded column as declared, whose deviation after clamping, `sd`, is known.

    `prior` is (mean, sd) of a normal law of the mean, cut to the bounds. Without one the mean is Beta(½, ½) between
    them, as that of `Normal` is: bounds are often wide, and means then lie beside one. Mechanisms that sample a
    conjugate posterior take the normal law around the middle of the range, half as wide as it, for theirs.
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

    def implausible(self, schema: Schema) -> tuple[str, ...]:
        """A deviation that no column within these bounds has, and a prior that lies elsewhere."""
        axis = self._axis(schema)
        warned = too_wide("NormalMean.sd", self.sd, axis)
        if self.prior is None:
            return warned
        return (*warned, *elsewhere("NormalMean.prior", self.column, self._cut(self.prior, axis).share_inside))

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
        """The exact posterior of the mean under the law of the sum, by Fourier inversion and quadrature."""
        released, prior = noisy_sum(query, value, laws, self._record(query.schema)), self._belief(query.schema)
        found = curve_posterior(
            "mean", prior, released.log_likelihood, prior.link, *prior.moments, released.record, FINEST
        )
        return replace(found, estimand=self._estimand(query.schema))

    def known_from(self, query: Statistics, log_draws: LogDraws) -> CurvePosterior:
        """The posterior of the mean given released draws; `log_draws` is their log-probability at each sum."""
        record, prior = self._record(query.schema), self._belief(query.schema)
        found = curve_given_draws(
            "mean", log_draws, record, query.largest_total, prior, prior.link, *prior.moments, FINEST
        )
        return replace(found, estimand=self._estimand(query.schema))

    def plug_in(self, query: Statistics, value: Value) -> CurvePosterior:
        """The conjugate normal law with the noisy sum at face value."""
        mean, sd = self._after(query, value)
        record = self._record(query.schema)
        found = curve_posterior("mean", _LogNormal(mean, sd), np.zeros_like, IDENTITY, mean, sd, record)
        return replace(found, estimand=self._estimand(query.schema))

    def strengthened(self, query: Statistics, value: Value) -> "NormalMean":
        """The same model with its prior strengthened by the cells of a public dataset (clamped as the schema says)."""
        return replace(self, prior=self._after(query, value))

    def population(self, schema: Schema) -> Scalar:
        """The mean, on the logit scale of its place in the bounds when groups are pooled."""
        prior = self._belief(schema)
        return Scalar("mean", "logit", *prior.moments, ends=self._axis(schema).ends, record=self._record(schema))

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """Log-probability of a group's release as a function of the parameter."""
        return noisy_sum(query, value, laws, self._record(query.schema)).log_likelihood

    def record_law(self, schema: Schema) -> OneParameter:
        """Cells within the bounds with this mean and deviation: a Beta law on the range."""
        return OneParameter("mean", self._record(schema))

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(NumberColumn.of(schema, self.column))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A mean from the prior within the bounds, then n cells."""
        mean = self._belief(schema).draw(rng)
        cells = self._record(schema).draw(np.full(n, mean), rng)
        return {"mean": mean}, {self.column: self._axis(schema).of_values(cells)}

    def _prior(self, schema: Schema) -> tuple[float, float]:
        """The conjugate one."""
        axis = self._axis(schema)
        return self.prior or (0.5 * (axis.lower + axis.upper), 0.5 * (axis.upper - axis.lower))

    def _belief(self, schema: Schema) -> CutNormal | LogitBeta:
        """What is believed of the mean when a release is read."""
        axis = self._axis(schema)
        if self.prior is None:
            return LogitBeta(0.5, 0.5, Link("logit", *axis.ends))
        return self._cut(self.prior, axis)

    def _cut(self, prior: tuple[float, float], axis: Axis) -> CutNormal:
        """A normal law within the bounds; what is narrower there than doubles can tell gets the width they can."""
        (mean, sd), (low, high) = prior, axis.ends
        narrowest = NARROWEST * (high - low)
        sd = max(sd, narrowest)
        farthest = sd * (sd / narrowest)  # a law cut that far outside falls by the factor e on every `narrowest`
        return CutNormal(min(max(mean, low - farthest), high + farthest), sd, Link("logit", low, high))

    def _after(self, query: Statistics, value: Value) -> tuple[float, float]:
        """Mean and deviation of the conjugate posterior given n and an exact sum."""
        mean, sd = self._prior(query.schema)
        n, total = plain_sum(query, value, self._axis(query.schema))
        precision = 1.0 / sd**2 + n / self.sd**2
        return (mean / sd**2 + total / self.sd**2) / precision, precision**-0.5

    def _estimand(self, schema: Schema) -> str:
        axis = self._axis(schema)
        return f"the mean of the declared column {self.column}, within {axis.lower:g} to {axis.upper:g}"

    def _axis(self, schema: Schema) -> Axis:
        return Axis.of(schema, self.column)

    def _record(self, schema: Schema) -> KnownDeviation:
        return KnownDeviation(lattice_of(self._axis(schema)), self.sd)


class _LogNormal:
    """Log-density of a normal law."""

    def __init__(self, mean: float, sd: float) -> None:
        self.mean, self.sd = mean, sd

    def __call__(self, x: Array) -> Array:
        return np.asarray(-0.5 * ((x - self.mean) / self.sd) ** 2 - np.log(self.sd * np.sqrt(2.0 * np.pi)))
