"""A record of which only mean and deviation are known: the law of a sum of n of them is taken as normal.

    S | mean ~ N(n · mean, n · sd(mean)²),     sd(mean) = min(sd, √((mean - lower)(upper - mean)))

Whatever the law of the records is, the central limit theorem says so for many of them, and mean and deviation are all
that is left of it. No law on [lower, upper] has a larger deviation than √((mean - lower)(upper - mean)), that of
records on the two bounds: near a bound the declared `sd` would be more than is possible, and sums would be believed
that no table can have. Of the transform of a record two cumulants are kept: log E e^{ζv} = ζ m + ζ² sd² / 2.
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.inference.one_sum.clamped_records import ValueGrid
from discreet.inference.one_sum.record_transforms import ComplexArray
from discreet.numerics.arrays import Array

__all__ = ["KnownDeviation", "TwoCumulants"]

LEAST = 1.0  # deviation in units of v, half a step of the grid: a smaller one would be seen through the rounding
TWO_POINTS = 1e-6  # a Beta law with smaller parameters is on its two ends


@dataclass(frozen=True)
class TwoCumulants:
    """Means and deviations (parameters,) of a record in units of v."""

    mean: Array
    sd: Array

    def log_moment(self, s: Array) -> Array:
        """Log E e^{s v}."""
        return np.asarray(s * self.mean[:, np.newaxis] + 0.5 * (s * self.sd[:, np.newaxis]) ** 2)

    def log_tilted(self, s: Array, t: Array) -> ComplexArray:
        """The tilted law is normal too, around mean + s · sd²."""
        mean = (self.mean + s * self.sd**2)[:, np.newaxis]
        return np.asarray(1j * t * mean - 0.5 * (t * self.sd[:, np.newaxis]) ** 2)


@dataclass(frozen=True)
class KnownDeviation:
    """Records within the range of the grid with mean `theta` and deviation `sd`, or the largest possible there."""

    value_grid: ValueGrid
    sd: float

    def __post_init__(self) -> None:
        if not (self.sd > 0 and np.isfinite(self.sd)):
            raise QueryError(f"KnownDeviation.sd must be above 0 and finite, got {self.sd!r}")

    @property
    def listed_cells(self) -> int:
        """None need be listed."""
        return 1

    def at(self, theta: Array) -> TwoCumulants:
        """The transform of v at several means."""
        grid = self.value_grid
        mean = self._centred(theta)
        possible = np.sqrt((grid.reach - mean) * (grid.reach + mean))
        return TwoCumulants(mean, np.maximum(np.minimum(self.sd / grid.unit, possible), LEAST))

    def draw(self, theta: Array, rng: np.random.Generator) -> Array:
        """One record for every mean: a Beta law on the range that has this mean and deviation."""
        grid = self.value_grid
        share = 0.5 + 0.5 * self._centred(theta) / grid.reach
        spread = self.sd / (2.0 * grid.unit * grid.reach)
        both = np.maximum(share * (1.0 - share) / spread**2 - 1.0, 0.0)  # the sum of the two parameters
        ends = both <= TWO_POINTS
        inside = rng.beta(np.maximum(share * both, TWO_POINTS**2), np.maximum((1.0 - share) * both, TWO_POINTS**2))
        drawn = np.where(ends, (rng.random(share.shape) < share).astype(float), inside)
        return np.asarray(grid.centre + grid.unit * grid.reach * (2.0 * drawn - 1.0))

    def _centred(self, theta: Array) -> Array:
        """Means in units of v, within the range."""
        grid = self.value_grid
        return np.clip((np.asarray(theta, dtype=float) - grid.centre) / grid.unit, -grid.reach, grid.reach)
