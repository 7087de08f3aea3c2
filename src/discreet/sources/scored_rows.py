"""Rows seen through a public score: a source of labels by bins, which reads its rows as a loss reads them.

Each row is scored by itself: sums run over its own cells in one fixed order, elementwise, so that its bin is the same
bits in whatever block of rows it is read (noisy_statistics.md, Lemma 5). Nothing but the table of counts is kept.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError
from discreet.queries.influence import Influences
from discreet.queries.losses.base import Loss
from discreet.queries.scored_margins import ScoredMargins
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.sources.dataset import Design, IntegerArray, RowSums, Source
from discreet.sources.scores.score_sources import ScoreSource

__all__ = ["ScoredRows"]

ONLY = "a scored table has counts of labels by bins, and nothing else"


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """A source whose columns are the target and the bin of the score."""

    source: Source = field(repr=False)
    rule: ScoredMargins

    @property
    def at_hand(self) -> bool:
        """Rows are scored in this process; they are asked for here, and no further."""
        return False

    @property
    def has_places(self) -> bool:
        """Rows are counted, and asked for by nobody."""
        return False

    def count(self) -> int:
        """The number of units."""
        return self.source.count()

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """The rows of each level of the target, first axis, in each bin."""
        (statistic,) = query.statistics
        if statistic.grid != (2, len(self.rule.cuts) + 1) or statistic.axes:
            raise ReleaseError(ONLY)
        with self.source.design(self.rule.query) as design:
            return {statistic.name: _labels_by_bins(design, self.rule)}

    def influences(self, query: Influences) -> IntegerArray:
        """There are none."""
        raise ReleaseError(ONLY)

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """There is none."""
        raise ReleaseError(ONLY)

    def can_sum(self) -> bool:
        """There are none."""
        return False

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """There are none."""
        raise ReleaseError(ONLY)

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """There are none."""
        raise ReleaseError(ONLY)


def _labels_by_bins(rows: Design, rule: ScoredMargins) -> NDArray[np.int64]:
    bins = len(rule.cuts) + 1
    total = np.zeros(2 * bins, dtype=np.int64)
    for chunk in range(len(rows.targets)):
        used = rows.weights[chunk] > 0
        found = _bins(rows, rule, chunk)
        places = rows.targets[chunk].astype(np.int64) * bins + found
        total += np.bincount(places[used], minlength=2 * bins)
    return total.reshape(2, bins)


def _bins(rows: Design, rule: ScoredMargins, chunk: int) -> NDArray[np.int64]:
    """The bin of every row of a chunk, from cells of its own alone."""
    first = int(rule.query.features.intercept)
    summed = np.zeros(rows.targets.shape[1], dtype=np.int64)
    for weights in rule.weights:
        margins = np.zeros(rows.targets.shape[1])
        for j in range(rows.numbers.shape[1]):
            product = rows.numbers[chunk, j] * weights[first + j]  # rounded before it is added
            margins = margins + product
        for c in range(rows.codes.shape[1]):
            margins = margins + weights[rows.codes[chunk, c]]
        if rows.shrink.size:
            margins = margins * rows.shrink[chunk]
        if first:
            margins = margins + weights[0]
        summed += rule.table[rule.places(margins)]
    return np.asarray((summed[:, np.newaxis] >= rule.thresholds).sum(axis=1), dtype=np.int64)
