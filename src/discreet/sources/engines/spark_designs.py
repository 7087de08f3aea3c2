"""The coded rows of a loss that stay in Spark: a design of every block, and whole sums of a function of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.losses.base import Loss
from discreet.sources.dataset import Design, collected
from discreet.sources.engines.spark_blocks import BlockArrays, BlockLayout, Keep, SparkBlocks

__all__ = ["SparkSums", "spark_sums"]

Whole = NDArray[Any]

KINDS = {
    "numbers": np.float64,
    "codes": np.uint16,
    "targets": np.float64,
    "weights": np.float64,
    "shrink": np.float64,
}


@dataclass(frozen=True)
class SparkSums:
    """Sums over blocks of rows in Spark."""

    blocks: SparkBlocks = field(repr=False)

    def summed(self, work: Callable[[Design], Whole]) -> Whole:
        """What a function finds in all blocks, added up; it is called in the workers of executors."""
        return self.blocks.summed(partial(_found, work))


@contextmanager
def spark_sums(query: Loss, kept: Keep) -> Iterator[SparkSums]:
    """Sums over the rows, which are `kept` as designs for as long as the context is open."""
    columns = {"numbers": len(query.features.numbers), "codes": len(query.features.categories)}
    with kept(BlockLayout(KINDS, columns), query, partial(_packed, query)) as blocks:
        yield SparkSums(blocks)


# --- in the workers of executors


def _packed(query: Loss, size: int, rows: Mapping[str, NDArray[np.int64]]) -> BlockArrays:
    with collected(query, size, [rows]) as design:
        return vars(design)


def _found(work: Callable[[Design], Whole], arrays: BlockArrays) -> Whole:
    return work(Design(**arrays))
