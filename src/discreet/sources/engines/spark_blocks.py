"""Rows in Spark as blocks of arrays, kept by the executors, and whole numbers that come home from them.

Rows are coded by SQL, as everywhere, and packed once into blocks of at most 2^16 rows; Spark keeps them in memory or on
the disks of its executors until the release is done. Every question runs a function of this library over the blocks, in
the executors' Python workers, and what comes home of each partition is a sum of whole numbers, in two parts of 32 bits
and more; they are added in Python integers. So a sum has the same bits, whatever the blocks and partitions, and however
often Spark does a task again. A partition that is never done is an error, and not a smaller sum.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError
from discreet.queries.losses.base import CHUNK, Loss

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BlockArrays", "BlockLayout", "Keep", "Pack", "SparkBlocks", "kept_blocks", "ready_workers"]

Whole = NDArray[Any]
BlockArrays = Mapping[str, Any]  # the arrays of a block by name, None where a block has none
Pack = Callable[[int, Mapping[str, NDArray[Any]]], BlockArrays]  # so many rows, by their columns
Work = Callable[[BlockArrays], Whole]
Remake = Callable[[BlockArrays], BlockArrays]
Each = Callable[[Callable[[], Any]], Any]  # does something without a word

LARGEST_BLOCK = 2**16  # rows; their whole numbers are below 2^46
BLOCK_BYTES = 2**25
AT_ONCE = 4  # blocks that a worker is handed
LOW = 32  # bits
ALWAYS = "targets"  # which every block has, one for each row

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
SETTINGS = {  # a cell of a block is large
    "spark.sql.inMemoryColumnarStorage.batchSize": "1",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}


@dataclass(frozen=True)
class BlockLayout:
    """What the arrays of a block hold, and how many columns those have that are (chunks, columns, rows of a chunk)."""

    kinds: Mapping[str, Any]
    columns: Mapping[str, int]

    @property
    def declared(self) -> str:
        """The columns of a frame of blocks."""
        return ", ".join(f"{name} binary" for name in self.kinds)

    @property
    def rows(self) -> int:
        """How many rows are a block: fewer where they are wide."""
        width = sum(np.dtype(kind).itemsize * self.columns.get(name, 1) for name, kind in self.kinds.items())
        return int(min(LARGEST_BLOCK, max(BLOCK_BYTES // width, CHUNK)))

    def empty(self) -> BlockArrays:
        """A chunk of zeros."""
        shapes = {name: (1, number, CHUNK) for name, number in self.columns.items()}
        return {name: np.zeros(shapes.get(name, (1, CHUNK)), kind) for name, kind in self.kinds.items()}

    def packed(self, arrays: BlockArrays) -> "pa.RecordBatch":
        """A block as one row of a frame."""
        import pyarrow as pa

        cells = {name: None if arrays.get(name) is None else arrays[name].tobytes() for name in self.kinds}
        return pa.RecordBatch.from_arrays([pa.array([cell], pa.binary()) for cell in cells.values()], [*cells])

    def arrays(self, batch: "pa.RecordBatch", place: int) -> BlockArrays:
        """The block in this row."""
        cells = {name: batch.column(name)[place].as_buffer() for name in self.kinds}
        held: dict[str, Any] = {
            name: None if cells[name] is None else np.frombuffer(cells[name], dtype=kind)
            for name, kind in self.kinds.items()
        }
        chunks = held[ALWAYS].size // CHUNK
        shapes = {name: (chunks, number, CHUNK) for name, number in self.columns.items()}
        return {
            name: None if array is None else array.reshape(shapes.get(name, (-1, CHUNK)))
            for name, array in held.items()
        }


@dataclass(frozen=True)
class SparkBlocks:
    """Blocks of rows in Spark; `each` is how anything there is asked for, `held` what is kept there."""

    layout: BlockLayout
    frame: Any = field(repr=False)
    each: Each = field(repr=False)
    held: list[Any] = field(repr=False)

    def summed(self, work: Work) -> Whole:
        """What is found in all blocks, added up."""
        kind = "sums array<bigint>"
        rows = self.each(lambda: self.frame.mapInArrow(partial(_sums, self.layout, work), kind).collect())
        parts = [np.array(row.sums, dtype=object) for row in rows]
        high, low = np.split(np.asarray(sum(parts[1:], start=parts[0]), dtype=object), 2)
        return np.asarray(high * 2**LOW + low, dtype=object)

    def remade(self, work: Remake) -> "SparkBlocks":
        """Blocks that have more, in the place of these."""
        made = partial(_remade, self.layout, work)
        frame = self.each(lambda: _kept(self.held, self.frame.mapInArrow(made, self.layout.declared)))
        return SparkBlocks(self.layout, frame, self.each, self.held)


Keep = Callable[[BlockLayout, Loss, Pack], AbstractContextManager[SparkBlocks]]


@contextmanager
def kept_blocks(
    layout: BlockLayout, query: Loss, pack: Pack, cells: Callable[[], Any], each: Each
) -> Iterator[SparkBlocks]:
    """The rows of a frame of codes and grid steps, NULL where a cell is bad, for as long as the context is open."""
    held: list[Any] = []

    def blocks() -> Any:
        frame = cells()
        for name, value in (SETTINGS | {BATCH: str(layout.rows)}).items():
            frame.sparkSession.conf.set(name, value)
        found = _kept(held, frame.mapInArrow(partial(_coded, layout, query, pack), layout.declared))
        frame.sparkSession.conf.set(BATCH, str(AT_ONCE))
        return found

    try:
        yield SparkBlocks(layout, each(blocks), each, held)
    finally:
        while held:
            each(held.pop().unpersist)


def _kept(held: list[Any], frame: Any) -> Any:
    """The frame, computed and kept."""
    from pyspark import StorageLevel

    held.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
    frame.count()
    return frame


def ready_workers(session: Any) -> bool:
    """Whether the workers that one task for each core meets have this library with its kernels, and no other version.

    No row is read. What fails instead, because there is no library or no Arrow, is said by Spark.
    """
    tasks = session.sparkContext.defaultParallelism
    found = session.range(0, tasks, 1, tasks).mapInArrow(_versions, "version string").collect()
    return {row.version for row in found} <= {"", _installed()}


def _installed() -> str:
    """The version of this library; empty where it was brought as files and not installed."""
    try:
        return version("discreet")
    except PackageNotFoundError:
        return ""


# --- in the workers of executors


def _versions(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The version that is here; to be asked at all takes this module, and the kernels are imported."""
    import pyarrow as pa

    import discreet.sources.scores.kernels.score_sums  # noqa: F401  # numba, too

    found = _installed()
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"version": pa.array([found] * batch.num_rows, pa.string())})


def _coded(
    layout: BlockLayout, query: Loss, pack: Pack, batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """Coded rows in blocks."""
    excluded = [query.schema.column(name).excluded for name in query.columns]
    for batch in batches:
        if batch.num_rows:
            with _silent():
                columns = (batch.column(i).fill_null(code).to_numpy() for i, code in enumerate(excluded))
                yield layout.packed(pack(batch.num_rows, dict(zip(query.columns, columns, strict=True))))


def _remade(layout: BlockLayout, work: Remake, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    for arrays in _blocks(layout, batches):
        with _silent():
            yield layout.packed({**arrays, **work(arrays)})


def _sums(layout: BlockLayout, work: Work, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """What the blocks of a partition add up to; of one without rows, zeros."""
    import pyarrow as pa

    with _silent():
        total = np.ravel(work(layout.empty())).astype(object)
        for arrays in _blocks(layout, batches):
            total = total + np.ravel(work(arrays)).astype(object)
        parts = [*(total >> LOW), *(total & (2**LOW - 1))]
        yield pa.RecordBatch.from_pydict({"sums": pa.array([parts], pa.list_(pa.int64()))})


def _blocks(layout: BlockLayout, batches: "Iterable[pa.RecordBatch]") -> Iterator[BlockArrays]:
    for batch in batches:
        for place in range(batch.num_rows):
            yield layout.arrays(batch, place)


@contextmanager
def _silent() -> Iterator[None]:
    """One thread, and no word: what a worker says is printed by Spark."""
    import numba

    numba.set_num_threads(1)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
            return
    except Exception:  # noqa: S110  # its text may quote rows
        pass
    raise ReleaseError("a block of rows could not be read")
