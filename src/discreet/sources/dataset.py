"""A dataset: a source of private rows, seen through a schema, under a public id.

A `Source` answers exactly six questions. `count` is the number of units; it looks at no cell but, where units are
persons, at their identifiers. `statistics` are exact integers, the same on every engine, format, row order, partition
and thread count, and so are `influences`, the bounded sums of a second stage. `design` hands the coded rows themselves
to a mechanism that needs them again and again, in the order of the source; `scores` answers with sums over them, as
often as a mechanism asks, and so does `sums`, with what a function of this library finds in them. Nothing else leaves
a source, and no event of answering (exception, shape, text) depends on what a row contains.

Private rows as the kernels of convex losses read them: numbers and codes in chunks, never expanded to one-hot.

Arrays are (chunks, columns, rows of a chunk); rows that fill up the last chunk, and rows that a bad cell excludes, have
weight 0. A table above `LARGEST_IN_MEMORY` lies in files without a name and is paged in as it is needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError
from discreet.queries.influence import Influences
from discreet.queries.losses.base import CHUNK, Loss, Target
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.schema.cell import NO_NUMBER
from discreet.sources.chunks import LARGEST_IN_MEMORY, let_go, put, zeros
from discreet.sources.scores.score_sources import ScoreSource

__all__ = ["Dataset", "Design", "IntegerArray", "LocalSums", "RowSums", "Source", "collected", "local_sums"]

# int64 for counts; Python integers (dtype object) for sums, which may need 128 bits
IntegerArray = NDArray[np.int64] | NDArray[Any]

Array = NDArray[np.float64]
Columns = Mapping[str, NDArray[np.int64]]

MOST_ROWS = 2**16  # of a block


@dataclass(frozen=True, eq=False)
class Design:
    """The features and targets of all rows; `shrink` is empty where no row can be longer than the radius."""

    numbers: Array = field(repr=False)
    codes: NDArray[np.uint16] = field(repr=False)
    targets: Array = field(repr=False)
    weights: Array = field(repr=False)
    shrink: Array = field(repr=False)


class RowSums(Protocol):
    """Private rows in blocks, and what a function finds in all of them."""

    def summed(self, work: Callable[[Design], NDArray[Any]]) -> NDArray[Any]:
        """Its sum over blocks of at most 2^16 rows, in Python integers; of one block it fits into 64 bits."""


class Source(Protocol):
    """Where private rows live; only these six answers come out.

    `at_hand` says whether rows may come into this process: without it, nothing is answered by `design`.
    `has_places` says whether a replaced row stands where the one before it stood, and no other row has moved.
    """

    @property
    def at_hand(self) -> bool:
        """Whether the rows themselves can be had."""

    @property
    def has_places(self) -> bool:
        """Whether the place of a row in a `design` is its own."""

    def count(self) -> int:
        """The number of units."""

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Each statistic of the query under its name: an array of its declared shape, zeros included."""

    def influences(self, query: Influences) -> IntegerArray:
        """The sums of a second stage: an array of its shape."""

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The used rows as features and targets, private, for as long as the context is open."""

    def can_sum(self) -> bool:
        """Whether `scores` and `sums` can be asked where the rows are; no row is looked at."""

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """Sums of bounded scores of the used rows, in whole numbers, for as long as the context is open."""

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """Sums of whole numbers that are found in the used rows, for as long as the context is open."""


@dataclass(frozen=True)
class Dataset:
    """A source with the public facts about it; `id` is chosen by the custodian, never computed from rows."""

    id: str
    schema: Schema
    source: Source = field(repr=False)


@dataclass(frozen=True)
class LocalSums:
    """Sums over rows that are in this process."""

    rows: Design

    def summed(self, work: Callable[[Design], NDArray[Any]]) -> NDArray[Any]:
        """Block by block, as elsewhere: in one go 64 bits might not hold the sum."""
        chunks, each = len(self.rows.targets), MOST_ROWS // CHUNK
        blocks = (_part(self.rows, low, low + each) for low in range(0, chunks, each))
        return np.asarray(sum(work(block).astype(object) for block in blocks), dtype=object)


def _part(rows: Design, low: int, high: int) -> Design:
    """Some chunks, which nobody may change: so they come from elsewhere, too."""
    parts = {name: array[low:high] for name, array in vars(rows).items()}
    for part in parts.values():
        part.setflags(write=False)
    return Design(**parts)


@contextmanager
def local_sums(rows: AbstractContextManager[Design]) -> Iterator[LocalSums]:
    """Sums over a design, for as long as the context is open."""
    with rows as design:
        yield LocalSums(design)


@contextmanager
def collected(query: Loss, n: int, rows: Iterable[Columns]) -> Iterator[Design]:
    """The design of n rows that come in pieces of coded columns: level codes (-1: bad), grid steps (NO_NUMBER: bad)."""
    features = query.features
    p, c, chunks = len(features.numbers), len(features.categories), max(-(-n // CHUNK), 1)
    in_files = chunks * CHUNK * 8 * (p + c / 4 + 2) > LARGEST_IN_MEMORY
    design = Design(
        numbers=zeros(in_files, (chunks, p, CHUNK), np.float64),
        codes=zeros(in_files, (chunks, c, CHUNK), np.uint16),
        targets=zeros(in_files, (chunks, CHUNK), np.float64),
        weights=zeros(in_files, (chunks, CHUNK), np.float64),
        shrink=zeros(in_files, (chunks if features.shrinks else 0, CHUNK), np.float64),
    )
    at = 0
    for piece in rows:
        if at + len(next(iter(piece.values()))) > n:  # the source has grown since its units were counted
            raise ReleaseError("the source must not change while it is read")
        at = _write(query, design, at, piece)
        let_go(vars(design).values())
    yield design


def _write(query: Loss, into: Design, start: int, rows: Columns) -> int:
    """Encode rows `into` the places of a design from `start` on."""
    features = query.features
    size = len(next(iter(rows.values())))
    used = np.ones(size, dtype=bool)
    squared = np.full(size, float(len(features.categories)))
    for j, axis in enumerate(features.numbers):
        good = rows[axis.column] != NO_NUMBER
        number = features.scaled(axis, np.where(good, rows[axis.column], axis.low))
        put(into.numbers[:, j], start, number)
        squared += number**2
        used &= good
    for j, (name, offset) in enumerate(zip(features.categories, features.offsets, strict=True)):
        used &= rows[name] >= 0
        put(into.codes[:, j], start, offset + np.maximum(rows[name], 0))
    if features.shrinks:
        put(into.shrink, start, features.shrink(squared))
    if query.target is not None:
        values, good = _targets(query, query.target, rows[query.target.column])
        put(into.targets, start, values)
        used &= good
    put(into.weights, start, used)
    return start + size


def _targets(query: Loss, target: Target, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """The target of every row, and which rows have one."""
    if target.labels is not None:
        return np.asarray(target.labels, dtype=np.float64)[np.maximum(rows, 0)], np.asarray(rows >= 0)
    assert target.axis is not None
    good = np.asarray(rows != NO_NUMBER)
    centred = target.axis.centred(np.where(good, rows, target.axis.low))
    if query.plain_target:
        return np.asarray(target.axis.centre + target.axis.unit * centred), good
    if query.share_target:
        return np.asarray((centred + target.axis.reach) / (2.0 * target.axis.reach)), good
    return np.asarray(centred / target.axis.reach), good
