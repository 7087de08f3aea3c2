"""The sum s of n clipped counts: rate ~ Gamma(shape + s, rate + n). On [lo, hi], R = W log(hi/lo), W the width."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.guarantee import Basis, ConjugateProfile, Guarantee, RenyiDP
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families.one_sum import Rate

__all__ = ["PoissonRate"]


@dataclass(frozen=True)
class PoissonRate(Rate):
    """A Gamma prior (shape, rate) on the mean of counts."""

    parameter: str
    prior: tuple[float, float]
    axis: Axis

    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """Gamma(shape + s, rate + n)."""
        total = self.axis.total(exact, n)
        return float(part[0]) + weight * total, np.full(total.shape, float(part[1]) + weight * n)

    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """An exact profile."""
        return ConjugateProfile(
            "poisson-rate", self._counted(n, scale, shrink), basis("exact profile of Gamma laws, Theorem 5")
        )

    def calibration(self, n: int, scale: float, shrink: float) -> Guarantee:
        """By the Rényi curve."""
        return RenyiDP("poisson-rate", self._counted(n, scale, shrink))

    def _counted(self, n: int, scale: float, shrink: float) -> dict[str, Any]:
        return {"shape": self.prior[0], "n": n, "width": self.width, "scale": scale, "shrink": shrink}

    def range_between(self, low: float, high: float) -> float:
        """W log(hi/lo)."""
        return self.width * math.log1p((high - low) / low)

    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Counts times the logarithm of the rate."""
        log_rate, (shape, rate) = np.log(points), self.prior
        prior = (shape - 1.0) * log_rate - rate * points
        return (self.axis.unit * log_rate,), self.axis.centre * log_rate - points, prior, -log_rate

    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """Where all counts are the smallest."""
        shape, rate = np.asarray(self.prior) / shrink
        least = n * self.axis.ends[0]
        return math.sqrt(float(shape) + scale * max(least, 0.0)) / (float(rate) + scale * n)

    def events_and_time(self, n: int) -> tuple[float, float]:
        """Counts are events."""
        return n * max(self.axis.ends[1], 0.0), float(n)

    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Records at the prior mean."""
        (shape, rate), (low, high) = self.prior, self.axis.ends
        return shape + count * min(max(shape / rate, low), high), rate + count

    def natural(self, theta: Array) -> Array:
        """The logarithm of the rate."""
        return np.log(np.maximum(theta, 1e-300))
