"""The sum of n clipped numbers of known sd: the mean is normal. On [lo, hi], R = W (hi - lo)/sd², W the width."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.accounting.divergences import gaussian_mean_mu
from discreet.guarantee import Basis, GaussianDP, Guarantee
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families.base import UNIFORM, Interval, Tempering
from discreet.queries.families.one_sum import OneSum

__all__ = ["GaussianMean"]


@dataclass(frozen=True)
class GaussianMean(OneSum):
    """A normal prior (mean, sd) on the mean of numbers of known deviation."""

    law = "normal"
    noun = "mean"

    parameter: str
    prior: tuple[float, float]
    sd: float
    axis: Axis

    @property
    def exponents(self) -> Array:
        """The prior's precision, and precision times mean."""
        mean, sd = self.prior
        return np.array([1.0, mean]) / sd**2

    def is_proper(self, part: Array) -> bool:
        """The precision has not vanished; the mean may be anything."""
        return bool(part[0] > 0)

    def flat(self, tempering: Tempering) -> Array:
        """A flat density has no precision."""
        return np.zeros(2)

    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """Precisions add."""
        total = self.axis.total(exact, n)
        precision = float(part[0]) + weight * n / self.sd**2
        return (float(part[1]) + weight * total / self.sd**2) / precision, np.full(total.shape, precision**-0.5)

    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """Two normal laws of one deviation: Gaussian DP, exactly."""
        half = self.axis.unit * self.axis.reach
        mu = gaussian_mean_mu(n, self.sd**2 / scale, shrink * self.prior[1] ** 2, half)
        return GaussianDP(mu, basis("two normal laws, Theorem 2"))

    def range_between(self, low: float, high: float) -> float:
        """W (hi - lo)/sd²."""
        return self.width * (high - low) / self.sd**2

    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Squared distances, of which the squares of the numbers are left out."""
        gap, (mean, sd) = points - self.axis.centre, self.prior
        row = -0.5 * (gap / self.sd) ** 2
        prior = -0.5 * ((points - mean) / sd) ** 2
        return (self.axis.unit * gap / self.sd**2,), row, prior, np.zeros(points.shape)

    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """The same for every table."""
        precision = 1.0 / (shrink * self.prior[1] ** 2) + n * (scale / self.sd**2)
        return float(precision**-0.5)

    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """Its own, or that of a uniform number on the space."""
        precision = float(part[0]) + weight * n / self.sd**2
        return min(1.0 / math.sqrt(precision), UNIFORM * (space[1] - space[0]))

    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Records at the prior mean."""
        mean, sd = self.prior
        return mean, (1.0 / sd**2 + count / self.sd**2) ** -0.5

    def natural(self, theta: Array) -> Array:
        """The mean itself."""
        return theta
