"""A loss whose slopes are a table: rows of equally spaced targets in [-1, 1], columns of equally spaced margins."""

from dataclasses import dataclass

import numpy as np

from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import Branch, Loss

__all__ = ["Tabulated"]


@dataclass(frozen=True, kw_only=True)
class Tabulated(Loss):
    """Slopes at margins from -reach to reach, linear between the entries and constant beyond them."""

    table: tuple[tuple[float, ...], ...]
    reach: float

    name = "table"
    code = 4

    @property
    def steepest(self) -> float:
        """The largest entry."""
        return float(np.abs(self.table).max())

    @property
    def curvature(self) -> float:
        """The largest rise from one margin to the next."""
        step = 2.0 * self.reach / (len(self.table[0]) - 1)
        return float(np.diff(self.table, axis=1).max()) / step * ROUNDED_UP

    @property
    def apart(self) -> float:
        """Linear between targets and between margins: widest where a margin is listed."""
        widest: float = max(max(slopes) - min(slopes) for slopes in zip(*self.table, strict=True))
        return widest + self.steepest * (ROUNDED_UP - 1.0)  # slopes are rounded at their own size

    @property
    def branch(self) -> Branch:
        """The formula is the table."""
        return Branch(self.code, self.reach, np.array(self.table))
