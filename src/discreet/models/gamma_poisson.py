"""A column of counts: x ~ Poisson(rate), clamped at its declared upper bound; rate ~ Gamma(shape, rate).

Clamping is part of the likelihood: a record on the bound says "at least this many".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.axes import Axis
from discreet.errors import QueryError
from discreet.families import PoissonRate
from discreet.models.base import Progress, Simulated, Value, public_statistics
from discreet.models.rates import gamma_curve, gamma_pair, gamma_plug_in, rate_population
from discreet.models.sums import lattice_of, noisy_sum, plain_sum, sum_query
from discreet.noise import NoiseLaw
from discreet.posterior import CurvePosterior, Likelihood, Scalar
from discreet.query import Statistics
from discreet.samplers.record_laws import ClampedPoisson
from discreet.schema import Count, Schema
from discreet.sources import Dataset

__all__ = ["GammaPoisson"]


@dataclass(frozen=True)
class GammaPoisson:
    """The mean of a column of counts, with a Gamma(prior[0], rate prior[1]) prior."""

    column: str
    prior: tuple[float, float] = (1.0, 1.0)
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", gamma_pair("GammaPoisson.prior", self.prior))

    def query(self, schema: Schema) -> Statistics:
        """The sum of the clamped counts."""
        if not isinstance(schema.column(self.column), Count):
            kind = type(schema.column(self.column)).__name__
            raise QueryError(f"GammaPoisson.column must be a count, got {self.column!r}, a {kind}")
        return sum_query(schema, self.column, self.by, PoissonRate("rate", self.prior, self._axis(schema)))

    def posterior(
        self,
        query: Statistics,
        value: Value,
        laws: Mapping[str, NoiseLaw],
        progress: Progress | None = None,  # noqa: ARG002 - nothing takes long
    ) -> CurvePosterior:
        """The exact posterior of the rate, by Fourier inversion and quadrature."""
        return gamma_curve(self.prior, noisy_sum(query, value, laws, self._record(query.schema)))

    def plug_in(self, query: Statistics, value: Value) -> CurvePosterior:
        """Gamma(shape + sum, rate + n) with the noisy sum at face value."""
        n, total = plain_sum(query, value, self._axis(query.schema))
        return gamma_plug_in((self.prior[0] + total, self.prior[1] + n), self._record(query.schema))

    def updated(self, public: Dataset) -> "GammaPoisson":
        """The same model with the counts of a public dataset added to its prior (clamped as the schema says)."""
        query, value = public_statistics(replace(self, by=None), public)
        n, total = plain_sum(query, value, self._axis(public.schema))
        return replace(self, prior=(self.prior[0] + total, self.prior[1] + n))

    def likelihood(self, query: Statistics, value: Value, laws: Mapping[str, NoiseLaw]) -> Likelihood:
        """Log-probability of a group's release as a function of the parameter."""
        return noisy_sum(query, value, laws, self._record(query.schema)).log_likelihood

    def population(self, schema: Schema) -> Scalar:
        """The rate, on the log scale when groups are pooled."""
        return rate_population(self.prior, self._record(schema))

    def implied_schema(self) -> None:
        """Nothing: the upper bound must be declared."""
        return

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A rate from the prior, then n counts."""
        rate = rng.gamma(self.prior[0], 1.0 / self.prior[1])
        return {"rate": rate}, {self.column: self._axis(schema).of_values(rng.poisson(rate, n).astype(float))}

    def _axis(self, schema: Schema) -> Axis:
        return Axis.of(schema, self.column)

    def _record(self, schema: Schema) -> ClampedPoisson:
        return ClampedPoisson(lattice_of(self._axis(schema)))
