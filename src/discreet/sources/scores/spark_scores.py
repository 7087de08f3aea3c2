"""Noisy scores of a table that stays in Spark: the kernels of the embedded engine, over blocks that the executors keep.

d + 1 whole numbers of each partition come home. The answer has the same bits, whatever the partitions and however often
Spark does a task again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.scores.score_units import mapped_sums, whole_coefficients, whole_map
from discreet.sources.engines.spark_blocks import BlockArrays, BlockLayout, Keep, SparkBlocks
from discreet.sources.scores.score_sources import LocalScores, collected_scores, moments_of, totals_of

__all__ = ["SparkScores", "spark_scores"]

Whole = NDArray[Any]

ALLOWED = "allowed"  # the largest slope of every row, once a map is known
KINDS = {"numbers": np.int16, "codes": np.uint16, "entries": np.int16, "targets": np.float64, "used": np.uint8}


@dataclass(frozen=True)
class SparkScores:
    """Scores of blocks of rows in Spark."""

    law: ScoreLaw
    blocks: SparkBlocks = field(repr=False)

    def totals(self) -> dict[str, Whole]:
        """The statistics of stage 0."""
        return totals_of(self.law, self.blocks.summed(partial(_totals, self.law)))

    def moments(self, public: Array) -> dict[str, Whole]:
        """Those of stage 1."""
        whole = whole_map(public)
        found = self.blocks.summed(partial(_moments, self.law, whole))
        return moments_of(found.reshape(len(whole), len(whole)))

    def scores(self, public: Array) -> Callable[[Array], list[int]]:
        """Blocks with the slopes that their rows are allowed take the place of those without."""
        whole = whole_map(public)
        ready = self.blocks.remade(partial(_allowed, self.law, whole))

        def score(point: Array) -> list[int]:
            return mapped_sums(whole, ready.summed(partial(_slopes, self.law, whole_coefficients(whole, point))))

        return score


@contextmanager
def spark_scores(query: Loss, law: ScoreLaw, kept: Keep) -> Iterator[SparkScores]:
    """Sums over the rows, which are `kept` in this layout for as long as the context is open."""
    columns = {"numbers": len(query.features.numbers), "codes": len(query.features.categories)}
    layout = BlockLayout(KINDS | {ALLOWED: np.float64}, columns)
    with kept(layout, query, partial(_packed, query, law)) as blocks:
        yield SparkScores(law, blocks)


# --- in the workers of executors


def _packed(query: Loss, law: ScoreLaw, size: int, rows: Mapping[str, NDArray[np.int64]]) -> BlockArrays:
    with collected_scores(query, law, size, [rows]) as local:
        found: BlockArrays = local.rows._asdict()
    return found


def _local(law: ScoreLaw, arrays: BlockArrays) -> LocalScores:
    from discreet.sources.scores.kernels.score_sums import ScoreRows

    return LocalScores(law, ScoreRows(**{name: arrays[name] for name in KINDS}))


def _totals(law: ScoreLaw, arrays: BlockArrays) -> Whole:
    return _local(law, arrays).total_parts()


def _moments(law: ScoreLaw, whole: Array, arrays: BlockArrays) -> Whole:
    return _local(law, arrays).moment_parts(whole)


def _allowed(law: ScoreLaw, whole: Array, arrays: BlockArrays) -> BlockArrays:
    return {ALLOWED: _local(law, arrays).allowed(whole)}


def _slopes(law: ScoreLaw, z: Array, arrays: BlockArrays) -> Whole:
    return _local(law, arrays).slope_parts(z, arrays[ALLOWED])
