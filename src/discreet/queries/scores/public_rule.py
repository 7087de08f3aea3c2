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

__all__ = ["Walk", "first_map", "walk"]

CAUTION = 2.0  # where numbers are present and nothing is known of their covariance


@dataclass(frozen=True)
class Walk:
    """The map W, (dz + 1, features + 1), of u = W (1, x), and where on it the next score is asked."""

    frame: ScoreFrame
    spread: Array
    map: Array
    filter: ScoreFilter

    @cached_property
    def point(self) -> Array:
        """v of the next score, in the coordinates u."""
        return self.filter.point

    def after(self, score: Array) -> "Walk":
        """With one more noisy score, in real units, taken at `point`."""
        return replace(self, filter=self.filter.after(self.point, score))


def first_map(terms: ScoreTerms, totals: Totals) -> Array | None:
    """K of stage 1, (dz, features + 1), or None where no second moments are released: k = K (1, x), of energy 1."""
    if terms.moments_sd is None:
        return None
    frame = frame_of(terms, totals)
    return frame.map_of(np.eye(terms.directions) / np.sqrt(frame.energy))


def walk(terms: ScoreTerms, totals: Totals, moments: Array | None) -> Walk:
    """Before the first score. `moments` is the noisy symmetric sum of k k', in real units."""
    frame, size = frame_of(terms, totals), max(totals.size, 1.0)
    spread = shaped_spread(terms, frame, moments, size)
    matrix, scales, variances = score_axes(terms, frame, spread, size)
    caution = CAUTION if terms.numbers and moments is None else 1.0
    return Walk(frame, spread, matrix, ScoreFilter.start(terms, scales, variances, size, caution))
