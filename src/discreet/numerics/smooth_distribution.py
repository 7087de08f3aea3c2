"""Distribution function of a smooth density known on a uniform grid, and its inverse.

The density is interpolated by its Fourier series, whose integral is exact where the density vanishes at both ends;
between the nodes of a finer grid the CDF is the cubic that has the right values and slopes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array

__all__ = ["SmoothDistribution"]


NODES = 4096  # of the finer grid, at least
VANISHED = 1e-9  # of the peak: a density that ends higher is cut off there, and is not periodic
NEWTON_STEPS = 6


@dataclass(frozen=True)
class SmoothDistribution:
    """CDF values and densities on a uniform grid."""

    start: float
    spacing: float
    values: Array
    density: Array

    @classmethod
    def of(cls, grid: Array, weights: Array) -> "SmoothDistribution":
        """From the probabilities of the nodes of a uniform grid."""
        spacing, count = float(grid[1] - grid[0]), grid.size
        if max(weights[0], weights[-1]) > VANISHED * weights.max():
            masses = 0.5 * (weights[1:] + weights[:-1])
            values = np.append(0.0, np.cumsum(masses))
            return cls(float(grid[0]), spacing, values / values[-1], weights / (spacing * values[-1]))
        factor = max(1, -(-NODES // count))
        series = np.fft.rfft(weights)
        frequencies = np.arange(series.size)
        frequencies[0] = 1
        integrals = series * count / (2j * np.pi * frequencies)
        integrals[0] = 0.0
        finer = count * factor
        waves = np.fft.irfft(integrals * factor, finer)
        values = waves - waves[0] + np.arange(finer) / finer * count * float(series[0].real) / count
        values = np.maximum.accumulate(np.clip(values, 0.0, 1.0))
        density = np.maximum(np.fft.irfft(series * factor, finer), 0.0) / spacing
        kept = finer - factor + 1  # up to the last given node; the rest of the period is empty
        return cls(float(grid[0]), spacing / factor, values[:kept] / values[kept - 1], density[:kept])

    def cdf(self, x: Array) -> Array:
        """P(X ≤ x); 0 and 1 outside the grid."""
        inside = np.clip(np.where(np.isnan(x), self.start, x), self.start, self.start + self.spacing * self._last)
        place = np.clip((inside - self.start) / self.spacing, 0.0, self._last)
        cell = np.minimum(place.astype(np.int64), self._last - 1)
        return np.asarray(np.clip(self._cubic(cell, place - cell)[0], 0.0, 1.0))

    def quantiles(self, q: Array) -> Array:
        """The x with P(X ≤ x) = q: Newton steps on the cubic of the right cell."""
        cell = np.clip(np.searchsorted(self.values, q, side="right") - 1, 0, self._last - 1)
        rise = self.values[cell + 1] - self.values[cell]
        share = np.clip((q - self.values[cell]) / np.where(rise > 0, rise, 1.0), 0.0, 1.0)
        for _ in range(NEWTON_STEPS):
            value, slope = self._cubic(cell, share)
            share = np.clip(share - (value - q) / np.maximum(slope, 1e-300), 0.0, 1.0)
        return np.asarray(self.start + self.spacing * (cell + share))

    @property
    def _last(self) -> int:
        return self.values.size - 1

    def _cubic(self, cell: NDArray[np.int64], share: Array) -> tuple[Array, Array]:
        """Value and derivative, with respect to the share of the cell, of the Hermite cubic."""
        low, high = self.values[cell], self.values[cell + 1]
        left, right = self.density[cell] * self.spacing, self.density[cell + 1] * self.spacing
        bend, twist = 3.0 * (high - low) - 2.0 * left - right, left + right - 2.0 * (high - low)
        value = low + share * (left + share * (bend + share * twist))
        return np.asarray(value), np.asarray(left + share * (2.0 * bend + 3.0 * share * twist))
