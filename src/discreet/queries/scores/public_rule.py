"""The rule of a noisy-score release: which map and which point come next, from nothing but what has been released.

Any function of released numbers is private; this one is chosen for accuracy. Its constants were chosen on simulated
tables and on `fars_crashes` and `ms_traffic_stops`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_filter import ScoreFilter
from discreet.queries.scores.score_frame import ScoreFrame, frame_of
from discreet.queries.scores.score_spectrum import score_axes, shaped_spread
from discreet.queries.scores.score_terms import ScoreTerms, Totals

__all__ = ["ScoreWalk", "first_map", "walk"]

GRID = 2.0**20  # of points, steps per unit
MAP_GRID = 2.0**16  # of maps
FARTHEST = 4096.0
CAUTION = 2.0  # where numbers are present and nothing is known of their covariance


@dataclass(frozen=True)
class ScoreWalk:
    """The map W, (dz + 1, features + 1), of u = W (1, x), and where on it the next score is asked.

    W scales along the axes V of the features' covariance and turns back, u = (p_0, V diag(p) V'z): so it does not
    depend on signs or on the order of axes, and whoever computes it again from the release gets the same.
    """

    frame: ScoreFrame
    spread: Array  # of z, as far as it is known
    axes: Array | None  # of that spread; None where they are the coordinates'
    map: Array
    filter: ScoreFilter

    @cached_property
    def point(self) -> Array:
        """Where the next score is asked, in the coordinates u: on a public grid, and nowhere near where f overflows."""
        farthest = FARTHEST / self.filter.terms.bound
        return np.clip(np.round(self._turned(self.filter.averaged[0]) * GRID) / GRID, -farthest, farthest)

    def after(self, score: Array, point: Array | None = None) -> "ScoreWalk":
        """With one more noisy score, in real units, taken at `point`, or at one that was released."""
        asked = self.point if point is None else point
        return replace(self, filter=self.filter.after(self._turned(asked, -1), self._turned(score, -1)))

    @property
    def turned_axes(self) -> Array:
        """The axes with the intercept's, (dz + 1, dz + 1), in the coordinates u."""
        found = np.eye(len(self.map))
        if self.axes is not None:
            found[1:, 1:] = self.axes
        return found

    def _turned(self, v: Array, way: int = 1) -> Array:
        """From the axes to the coordinates u, or back: the intercept stays."""
        if self.axes is None:
            return v
        return np.concatenate([v[:1], (self.axes if way > 0 else self.axes.T) @ v[1:]])


def first_map(terms: ScoreTerms, totals: Totals) -> Array | None:
    """K of stage 1, (dz, features + 1), or None where no second moments are released: k = K (1, x), about 1 long."""
    if terms.moments_sd is None:
        return None
    frame = frame_of(terms, totals)
    return frame.map_of(np.eye(terms.directions) / np.sqrt(frame.unit))


def walk(terms: ScoreTerms, totals: Totals, moments: Array | None) -> ScoreWalk:
    """Before the first score. `moments` is the noisy symmetric sum of k k', in real units."""
    frame, size = frame_of(terms, totals), max(totals.size, 1.0)
    spread = shaped_spread(terms, frame, moments, size)
    axes, scales, variances = score_axes(terms, spread, size)
    turned = np.diag(scales[1:]) if axes is None else (axes * scales[1:]) @ axes.T
    matrix = np.vstack([np.eye(1, len(frame.centre) + 1), frame.map_of(turned)])
    matrix[0, 0] = scales[0]
    matrix = np.round(matrix * MAP_GRID) / MAP_GRID
    caution = CAUTION if terms.numbers and moments is None else 1.0
    return ScoreWalk(frame, spread, axes, matrix, ScoreFilter.start(terms, scales, variances, size, caution))
