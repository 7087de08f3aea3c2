"""The sum of n numbers in an interval, each as a fraction of one success: a Beta on the interval.

On the space where the place of the mean is in [a0, 1 - a0], R = 2 log((1 - a0)/a0), as for two levels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.accounting.bounded_losses import log_ratio
from discreet.guarantee import Basis, Guarantee, RenyiDP
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis, above
from discreet.queries.families.base import Interval, Tempering, edge_deviation
from discreet.queries.families.dirichlet import beta_deviation, beta_tables
from discreet.queries.families.one_sum import OneSum

__all__ = ["BoundedMean"]


@dataclass(frozen=True)
class BoundedMean(OneSum):
    """A Beta prior (a, b) on the place of a mean in the bounds of its column."""

    law = "beta"
    noun = "mean"
    is_place = True

    parameter: str
    prior: tuple[float, float]
    axis: Axis

    @property
    def levels(self) -> dict[str, int]:
        """A place and its complement are two probabilities."""
        return {self.parameter: 2}

    @property
    def unit(self) -> tuple[float, float]:
        """The bounds, as the grid can say them."""
        low, high = self.axis.ends
        return low, high - low

    def flat(self, tempering: Tempering) -> Array:
        """Of the place, or of its logarithm."""
        return np.full(2, 1.0 if tempering == "joint" else 0.0)

    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """A cell is (v + reach) / 2 reach of a success: never more than one.

        Fractions of the declared bounds would not do: a bound that is off the grid lets a cell reach beyond it.
        """
        whole, most = 2.0 * self.axis.reach, n * self.axis.reach
        successes, failures = above(exact, most), above(np.negative(exact), most)
        return float(part[0]) + weight * successes / whole, float(part[1]) + weight * failures / whole

    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """A Rényi curve: fractions of successes are no whole counts."""
        parameters = {"prior": self.prior[::-1], "n": n, "scale": scale, "shrink": shrink}
        return RenyiDP("dirichlet", parameters, basis("log-partition of the Beta laws, Theorem 1"))

    def range_between(self, low: float, high: float) -> float:
        """2 C at two levels."""
        return 2.0 * log_ratio(2, low)

    def space_words(self, spaces: Mapping[str, Interval]) -> str:
        """An interval of places."""
        return f"{super().space_words(spaces)} of its bounds"

    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Fractions of successes and failures."""
        low, width = self.unit
        log_one, log_zero, prior = beta_tables((points - low) / width, self.prior[::-1])
        slope = (log_one - log_zero) / (2.0 * self.axis.reach)
        return (slope,), 0.5 * (log_one + log_zero), prior, -log_one - log_zero

    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """Where all cells are on one bound."""
        return beta_deviation(np.asarray(self.prior) / shrink, scale * n)

    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """As of two levels."""
        return edge_deviation(1.0 - 2 * space[0], space[0], 2 + float(np.abs(part - 1.0).sum()) + weight * n)

    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Successes and failures are added."""
        return tuple(entry + count * share for entry, share in zip(self.prior, shares, strict=True))

    @property
    def expected_shares(self) -> tuple[float, ...]:
        """As the prior's mean."""
        entries = np.asarray(self.prior)
        return tuple((entries / entries.sum()).tolist())

    def natural(self, theta: Array) -> Array:
        """The logit of the place."""
        low, high = self.axis.ends
        return np.asarray(np.log(np.maximum(theta - low, 1e-300)) - np.log(np.maximum(high - theta, 1e-300)))
