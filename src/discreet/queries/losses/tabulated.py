"""A loss whose slopes are a table: rows of equally spaced targets in [-1, 1], columns of equally spaced margins."""

from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import Branch, Loss
from discreet.queries.scores.score_branch import TABLE, ScoreBranch
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["Tabulated"]


@dataclass(frozen=True, kw_only=True)
class Tabulated(Loss):
    """Slopes at margins from -reach to reach, linear between the entries and constant beyond them."""

    table: tuple[tuple[float, ...], ...]
    reach: float
    place: tuple[float, ...] | None = None  # the declared mean of the target, as its place in [0, 1], at equal margins

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
    def score_link(self) -> ScoreLink | None:
        """Linear between the entries of the declared mean; no target has a larger variance than f (1 - f)."""
        if self.place is None:
            return None
        margins, place = np.linspace(-self.reach, self.reach, len(self.place)), np.array(self.place)
        slopes = np.diff(place, prepend=place[0], append=place[-1]) / (margins[1] - margins[0])

        def mean(t: Array) -> Array:
            return np.asarray(np.interp(t, margins, place), dtype=float)

        def slope(t: Array) -> Array:
            return np.asarray(slopes[np.searchsorted(margins, t, side="right")])

        return ScoreLink(mean, slope, lambda t: mean(t) * (1.0 - mean(t)), 0.0, 1.0)

    @property
    def score_branch(self) -> ScoreBranch | None:
        """The entries of the declared mean."""
        return None if self.place is None else ScoreBranch(TABLE, -self.reach, self.reach, table=np.array(self.place))

    @property
    def branch(self) -> Branch:
        """The formula is the table."""
        return Branch(self.code, self.reach, np.array(self.table))
