"""A column of counts: x ~ Poisson(rate), clamped at its declared upper bound; rate ~ Gamma(shape, rate).

Clamping is part of the likelihood: a record on the bound says "at least this many".
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.inference.one_sum.clamped_records import ClampedPoisson
from discreet.models.rates import Array, RateModel
from discreet.models.sums import lattice_of
from discreet.queries.centred_columns import Axis
from discreet.queries.families import PoissonRate
from discreet.schema import Count, Schema

__all__ = ["GammaPoisson"]


@dataclass(frozen=True)
class GammaPoisson(RateModel):
    """The mean of a column of counts, with a Gamma(prior[0], rate prior[1]) prior."""

    def check(self, schema: Schema) -> None:
        """A column of counts."""
        if not isinstance(schema.column(self.column), Count):
            kind = type(schema.column(self.column)).__name__
            raise QueryError(f"GammaPoisson.column must be a count, got {self.column!r}, a {kind}")

    def family(self, axis: Axis) -> PoissonRate:
        """Gamma(shape + sum, rate + n)."""
        return PoissonRate("rate", self.prior, axis)

    def record(self, axis: Axis) -> ClampedPoisson:
        """Poisson counts, clamped."""
        return ClampedPoisson(lattice_of(axis))

    def conjugate(self, n: float, total: float) -> tuple[float, float]:
        """Gamma(shape + sum, rate + n)."""
        return self.prior[0] + total, self.prior[1] + n

    def records(self, rate: float, n: int, rng: np.random.Generator) -> Array:
        """Poisson counts."""
        return np.asarray(rng.poisson(rate, n), dtype=float)
