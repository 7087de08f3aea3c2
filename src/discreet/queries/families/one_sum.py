"""What families of one sum share: the parameter is a mean or a rate, the statistic the centred sum of a column."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families.base import Interval, OneConjugate, Tempering, Values, edge_deviation, named_draws

__all__ = ["OneSum", "Rate"]


class OneSum(OneConjugate):
    """A mean or a rate with a prior of two numbers."""

    noun: ClassVar[str]
    axis: Axis
    prior: tuple[float, float]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One number."""
        return {self.parameter: ()}

    def statistic(self, exact: Mapping[str, Any], n: int) -> tuple[Any, int]:
        """The centred sum of all rows."""
        (total,) = exact.values()
        return int(total), n

    @property
    def width(self) -> float:
        """The width of the column."""
        return 2.0 * self.axis.unit * self.axis.reach

    def log_range(self, spaces: Mapping[str, Interval]) -> float:
        """On an interval."""
        return self.range_between(*spaces[self.parameter])

    @abstractmethod
    def range_between(self, low: float, high: float) -> float:
        """R on the space from `low` to `high`."""

    def space_words(self, spaces: Mapping[str, Interval]) -> str:
        """An interval."""
        low, high = spaces[self.parameter]
        return f"a {self.noun} from {low:g} to {high:g}"

    def statistic_bounds(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The centred sum, and the width of the column on the same scale."""
        return (n * self.axis.reach,), (2 * self.axis.reach,)

    def score(self, exact: Mapping[str, Any], other: Mapping[str, Any]) -> Callable[[Values], Array]:
        """The ratio is monotone in the family's natural statistic."""
        (here,), (there,) = exact.values(), other.values()
        sign = float(np.sign(int(here) - int(there)))

        def score(values: Values) -> Array:
            return np.asarray(sign * self.natural(named_draws(values, self.parameter)).sum(axis=1))

        return score

    @abstractmethod
    def natural(self, theta: Array) -> Array:
        """What a larger sum makes more likely, increasing."""


class Rate(OneSum):
    """A rate with a Gamma(shape, rate) prior."""

    law = "gamma"
    noun = "rate"

    @abstractmethod
    def events_and_time(self, n: int) -> tuple[float, float]:
        """The largest sums that n records add to shape and rate."""

    def flat(self, tempering: Tempering) -> Array:
        """Of the rate, or of its logarithm."""
        return np.array([1.0 if tempering == "joint" else 0.0, 0.0])

    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """From the steepest that a Gamma density can be on the space."""
        (events, time), (low, high) = self.events_and_time(n), space
        exponents = abs(float(part[0]) - 1.0) + weight * events + low * (float(part[1]) + weight * time)
        return edge_deviation(high - low, low, exponents)
