"""A column of waiting times: x ~ Exponential(rate), clamped to its declared bounds; rate ~ Gamma(shape, rate).

Clamping is part of the likelihood: a record on the upper bound says "at least this long".
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.inference.one_sum.clamped_records import ClampedExponential
from discreet.models.rates import Array, RateModel
from discreet.models.sums import lattice_of
from discreet.queries.centred_columns import Axis
from discreet.queries.families import ExponentialRate
from discreet.schema import Bounded, Schema

__all__ = ["GammaExponential"]


@dataclass(frozen=True)
class GammaExponential(RateModel):
    """The rate of a column of waiting times, with a Gamma(prior[0], rate prior[1]) prior."""

    def check(self, schema: Schema) -> None:
        """A bounded column of numbers that are not negative."""
        column = schema.column(self.column)
        if not isinstance(column, Bounded) or column.lower < 0:
            raise QueryError(f"GammaExponential.column must be bounded from 0 or above, got {self.column!r}: {column}")

    def family(self, axis: Axis) -> ExponentialRate:
        """Gamma(shape + n, rate + sum)."""
        return ExponentialRate("rate", self.prior, axis)

    def record(self, axis: Axis) -> ClampedExponential:
        """Exponential times, clamped."""
        return ClampedExponential(lattice_of(axis))

    def conjugate(self, n: float, total: float) -> tuple[float, float]:
        """Gamma(shape + n, rate + sum)."""
        return self.prior[0] + n, self.prior[1] + total

    def records(self, rate: float, n: int, rng: np.random.Generator) -> Array:
        """Exponential times."""
        return np.asarray(rng.exponential(1.0 / rate, n))
