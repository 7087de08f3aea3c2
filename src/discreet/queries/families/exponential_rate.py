"""The sum s of n clipped times: rate ~ Gamma(shape + n, rate + s). On [lo, hi], R = W (hi - lo), W the width."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.guarantee import Basis, ConjugateProfile, Guarantee, RenyiDP
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families.base import Tempering
from discreet.queries.families.one_sum import Rate

__all__ = ["ExponentialRate"]


@dataclass(frozen=True)
class ExponentialRate(Rate):
    """A Gamma prior (shape, rate) on the rate of waiting times."""

    parameter: str
    prior: tuple[float, float]
    axis: Axis

    def flat(self, tempering: Tempering) -> Array:
        """The rate is its own natural parameter, up to the sign."""
        return np.array([1.0, 0.0])

    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """Gamma(shape + n, rate + s)."""
        total = self.axis.total(exact, n)
        return np.full(total.shape, float(part[0]) + weight * n), float(part[1]) + weight * total

    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """An exact profile."""
        timed = self._timed(n, scale, shrink)
        return ConjugateProfile("exponential-rate", timed, basis("exact profile of Gamma laws, Theorem 5"))

    def calibration(self, n: int, scale: float, shrink: float) -> Guarantee:
        """By the Rényi curve."""
        return RenyiDP("exponential-rate", self._timed(n, scale, shrink))

    def _timed(self, n: int, scale: float, shrink: float) -> dict[str, Any]:
        (shape, rate), lower = self.prior, self.axis.ends[0]
        timed = {"shape": shape, "rate": rate, "n": n, "lower": lower, "width": self.width}
        return {**timed, "scale": scale, "shrink": shrink}

    def range_between(self, low: float, high: float) -> float:
        """W (hi - lo)."""
        return self.width * (high - low)

    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Times times the rate."""
        log_rate, (shape, rate) = np.log(points), self.prior
        prior = (shape - 1.0) * log_rate - rate * points
        return (-self.axis.unit * points,), log_rate - self.axis.centre * points, prior, np.zeros(points.shape)

    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """Where all times are the longest."""
        shape, rate = np.asarray(self.prior) / shrink
        most = n * self.axis.ends[1]
        return math.sqrt(float(shape) + scale * n) / (float(rate) + scale * max(most, 0.0))

    def events_and_time(self, n: int) -> tuple[float, float]:
        """Records are events."""
        return float(n), n * max(self.axis.ends[1], 0.0)

    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Records at the prior mean."""
        (shape, rate), (low, high) = self.prior, self.axis.ends
        return shape + count, rate + count * min(max(rate / shape, low), high)

    def natural(self, theta: Array) -> Array:
        """Longer times make smaller rates."""
        return -theta
