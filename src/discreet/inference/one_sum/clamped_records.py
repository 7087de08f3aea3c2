"""Laws of one record after it was clamped to public bounds and put on an integer grid, given one parameter.

A record x contributes the integer v in {-reach, -reach + 2, …, reach} whose cell holds it:

    x in [centre + unit (v - 1) + offset, centre + unit (v + 1) + offset),   first and last cell open-ended

    ClampedPoisson      x ~ Poisson(rate)            theta = rate
    ClampedExponential  x ~ Exponential(rate)        theta = rate

Clamping puts the mass outside the bounds on the two end cells; a law that forgets them is confidently wrong. Records of
which only mean and deviation are known are in `known_deviation`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.errors import QueryError
from discreet.inference.one_sum.record_transforms import CellTransform, ExponentialTransform, Transform
from discreet.numerics.arrays import Array

__all__ = ["ClampedExponential", "ClampedPoisson", "ClampedRecord", "ValueGrid"]

LARGEST_DECAY = 1e4  # all mass is in the first cell long before
SMALLEST_TAIL = 1e-290
SMALLEST_RATE, LARGEST_RATE = 1e-300, 9e18  # of new records: beyond, times and counts leave the doubles and integers


@dataclass(frozen=True)
class ValueGrid:
    """The public map between real values and integers: x = centre + unit · v for v in {-reach, …, reach}.

    `offset` moves the cell edges, for axes whose cells are not centred on their values.
    """

    centre: float
    unit: float
    reach: int
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not (self.unit > 0 and np.isfinite(self.unit) and np.isfinite(self.centre) and np.isfinite(self.offset)):
            raise QueryError(f"ValueGrid.unit must be above 0 and finite, got {self.unit!r} around {self.centre!r}")
        if not 1 <= self.reach <= 2**40:
            raise QueryError(f"ValueGrid.reach must be a whole number from 1 to 2^40, got {self.reach!r}")

    @property
    def edges(self) -> Array:
        """The `reach` inner edges between the cells, in units of x."""
        return np.asarray(self.centre + self.offset + self.unit * np.arange(1.0 - self.reach, self.reach, 2.0))


class ClampedRecord(Protocol):
    """One record given one parameter."""

    @property
    def value_grid(self) -> ValueGrid:
        """Where the record is put."""

    @property
    def listed_cells(self) -> int:
        """How many cell probabilities are listed for each parameter; 1 for closed forms."""

    def at(self, theta: Array) -> Transform:
        """The transform of v at several parameters."""

    def draw(self, theta: Array, rng: np.random.Generator) -> Array:
        """One new record, before clamping, for every parameter."""


@dataclass(frozen=True)
class ClampedPoisson:
    """Counts with mean `theta`; every count at or above the last cell's edge falls in the last cell."""

    value_grid: ValueGrid

    @property
    def listed_cells(self) -> int:
        """All of them, or all counts where a cell holds several."""
        edges = self.value_grid.centre + self.value_grid.offset + self.value_grid.unit * (self.value_grid.reach - 1.0)
        return int(max(self.value_grid.reach, np.ceil(edges))) + 1

    def at(self, theta: Array) -> Transform:
        """Exact cell probabilities; the cost grows with the number of cells."""
        from scipy.special import gammainc, gammaln

        starts = np.maximum(np.ceil(self.value_grid.edges), 0.0)
        rate, counts, last = theta[:, np.newaxis], np.arange(starts[-1]), starts[-1]
        log_counts = counts * np.log(rate) - rate - gammaln(counts + 1.0)
        log_first_missing = last * np.log(rate) - rate - gammaln(last + 1.0)
        tail = gammainc(last, rate) if last > 0 else np.ones_like(rate)
        ratio = np.minimum(rate / (last + 1.0), 0.5)  # in a tail this deep the terms fall geometrically
        log_tail = np.where(
            tail > SMALLEST_TAIL, np.log(np.maximum(tail, SMALLEST_TAIL)), log_first_missing - np.log1p(-ratio)
        )
        firsts = np.append(0.0, starts).astype(np.int64)
        widths = np.diff(firsts)
        log_cells = np.full((theta.size, self.value_grid.reach + 1), -np.inf)
        log_cells[:, -1:] = log_tail
        if counts.size:
            filled = np.flatnonzero(widths > 0)
            log_cells[:, filled] = np.logaddexp.reduceat(log_counts, firsts[filled], axis=1)
        return CellTransform(log_cells)

    def draw(self, theta: Array, rng: np.random.Generator) -> Array:
        """One count for every rate."""
        return np.asarray(rng.poisson(np.minimum(theta, LARGEST_RATE)), dtype=float)


@dataclass(frozen=True)
class ClampedExponential:
    """Waiting times with rate `theta`."""

    value_grid: ValueGrid

    @property
    def listed_cells(self) -> int:
        """None need be listed."""
        return 1

    def at(self, theta: Array) -> Transform:
        """Exact on every grid."""
        grid = self.value_grid
        origin = -(grid.centre + grid.offset) / grid.unit
        below = float(np.clip(np.floor((origin + grid.reach + 1.0) / 2.0), 0.0, grid.reach))  # edges at or below 0
        decay = np.minimum(theta * grid.unit, LARGEST_DECAY)
        return ExponentialTransform(decay, origin, 2.0 * below - grid.reach, float(grid.reach))

    def draw(self, theta: Array, rng: np.random.Generator) -> Array:
        """One waiting time for every rate."""
        return np.asarray(rng.standard_exponential(theta.shape) / np.maximum(theta, SMALLEST_RATE))
