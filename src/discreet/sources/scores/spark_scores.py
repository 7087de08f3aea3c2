"""Noisy scores of a table that stays in Spark: coded rows in blocks, kept by the executors, and sums that come home.

Rows are coded by SQL, as everywhere, and packed once into blocks of at most 2^16 rows, the arrays of `ScoreRows`; Spark
keeps them in memory or on the disks of its executors until the release is done. Every question runs the kernels of the
embedded engine over the blocks, and d + 1 whole numbers of each partition come home, where they are added in Python
integers. So the answer has the same bits, whatever the partitions and however often Spark does a task again.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import CHUNK, Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.scores.score_units import mapped_sums, whole_coefficients, whole_map
from discreet.sources.scores.score_sources import LocalScores, collected_scores, moments_of, totals_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkScores", "ready_workers", "spark_scores"]

Whole = NDArray[Any]
Work = Callable[[LocalScores, Array | None], Any]
Each = Callable[[Callable[[], Any]], Any]  # does something without a word

BLOCK = 2**16  # rows
AT_ONCE = 4  # blocks that a worker is handed
RUN = 2**7  # blocks of whole numbers below 2^55

KINDS = {"numbers": np.int16, "codes": np.uint16, "entries": np.int16, "targets": np.float64, "used": np.uint8}
PACKED = ", ".join(f"{name} binary" for name in KINDS)

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
SETTINGS = {  # a cell of a block is large
    "spark.sql.inMemoryColumnarStorage.batchSize": "1",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}


@dataclass(frozen=True)
class SparkScores:
    """Blocks of rows in Spark; `each` is how anything there is asked for."""

    law: ScoreLaw
    columns: tuple[int, int]  # of numbers and of codes
    blocks: Any = field(repr=False)
    each: Each = field(repr=False)
    held: list[Any] = field(repr=False)

    def totals(self) -> dict[str, Whole]:
        """The statistics of stage 0."""
        return totals_of(self.law, self._summed(self.blocks, _totals))

    def moments(self, public: Array) -> dict[str, Whole]:
        """Those of stage 1."""
        whole = whole_map(public)
        found = self._summed(self.blocks, partial(_moments, whole))
        return moments_of(found.reshape(len(whole), len(whole)))

    def scores(self, public: Array) -> Callable[[Array], list[int]]:
        """Blocks with the slopes that their rows are allowed take the place of those without."""
        whole = whole_map(public)
        ready = self.each(
            lambda: _kept(self.held, _packed(self.blocks, partial(_with_allowed, self.law, self.columns, whole)))
        )

        def score(point: Array) -> list[int]:
            return mapped_sums(whole, self._summed(ready, partial(_slopes, whole_coefficients(whole, point))))

        return score

    def _summed(self, blocks: Any, work: Work) -> Whole:
        """What is found in all blocks, added up."""
        rows = self.each(
            lambda: blocks.mapInArrow(partial(_sums, self.law, self.columns, work), "sums array<bigint>").collect()
        )
        parts = [np.array(row.sums, dtype=object) for row in rows]
        return np.asarray(sum(parts[1:], start=parts[0]), dtype=object)


@contextmanager
def spark_scores(query: Loss, law: ScoreLaw, cells: Callable[[], Any], each: Each) -> Iterator[SparkScores]:
    """The rows of a frame of codes and grid steps, NULL where a cell is bad, for as long as the context is open."""
    held: list[Any] = []

    def blocks() -> Any:
        frame = cells()
        for name, value in (SETTINGS | {BATCH: str(BLOCK)}).items():
            frame.sparkSession.conf.set(name, value)
        found = _kept(held, _packed(frame, partial(_coded, query, law)))
        frame.sparkSession.conf.set(BATCH, str(AT_ONCE))
        return found

    try:
        columns = len(query.features.numbers), len(query.features.categories)
        yield SparkScores(law, columns, each(blocks), each, held)
    finally:
        while held:
            each(held.pop().unpersist)


def _packed(frame: Any, work: Any) -> Any:
    return frame.mapInArrow(work, PACKED + ", allowed binary")


def _kept(held: list[Any], frame: Any) -> Any:
    """The frame, computed and kept; what was kept before may go when it is."""
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


def _coded(query: Loss, law: ScoreLaw, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Coded rows in blocks."""
    excluded = [query.schema.column(name).excluded for name in query.columns]
    for batch in batches:
        if batch.num_rows:
            with _silent():
                columns = (batch.column(i).fill_null(code).to_numpy() for i, code in enumerate(excluded))
                cells = dict(zip(query.columns, columns, strict=True))
                with collected_scores(query, law, batch.num_rows, [cells]) as local:
                    yield _record(local.rows, None)


def _with_allowed(
    law: ScoreLaw, columns: tuple[int, int], whole: Array, batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    for local, _ in _blocks(law, columns, batches):
        with _silent():
            yield _record(local.rows, local.allowed(whole))


def _sums(
    law: ScoreLaw, columns: tuple[int, int], work: Work, batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """What the blocks of a partition add up to; of one without rows, zeros."""
    import pyarrow as pa

    size = dict.fromkeys(KINDS, 1) | {"numbers": columns[0], "codes": columns[1], "entries": 0}
    empty = _rows(columns, {name: bytes(np.zeros(size[name] * CHUNK, kind)) for name, kind in KINDS.items()})
    with _silent():
        total, run = np.ravel(work(LocalScores(law, empty), np.zeros((1, CHUNK)))).astype(np.int64), 0
        for local, allowed in _blocks(law, columns, batches):
            total, run = total + np.ravel(work(local, allowed)).astype(np.int64), run + 1
            if run == RUN:
                yield pa.RecordBatch.from_pydict({"sums": [total.tolist()]})
                total, run = np.zeros_like(total), 0
        yield pa.RecordBatch.from_pydict({"sums": [total.tolist()]})


def _totals(local: LocalScores, _: Array | None) -> Whole:
    return local.total_parts()


def _moments(whole: Array, local: LocalScores, _: Array | None) -> Whole:
    return local.moment_parts(whole)


def _slopes(z: Array, local: LocalScores, allowed: Array | None) -> Whole:
    assert allowed is not None
    return local.slope_parts(z, allowed)


def _blocks(
    law: ScoreLaw, columns: tuple[int, int], batches: "Iterable[pa.RecordBatch]"
) -> Iterator[tuple[LocalScores, Array | None]]:
    for batch in batches:
        for place in range(batch.num_rows):
            packed = {name: batch.column(name)[place].as_buffer() for name in KINDS}
            allowed = batch.column("allowed")[place].as_buffer()
            found = None if allowed is None else np.frombuffer(allowed).reshape(-1, CHUNK)
            yield LocalScores(law, _rows(columns, packed)), found


def _rows(columns: tuple[int, int], packed: Any) -> Any:
    from discreet.sources.scores.kernels.score_sums import ScoreRows

    arrays = {name: np.frombuffer(packed[name], dtype=kind) for name, kind in KINDS.items()}
    chunks = arrays["targets"].size // CHUNK
    shapes = {"numbers": (chunks, columns[0], CHUNK), "codes": (chunks, columns[1], CHUNK)}
    shaped = {name: array.reshape(shapes.get(name, (-1, CHUNK))) for name, array in arrays.items()}
    return ScoreRows(**shaped)


def _record(rows: Any, allowed: Array | None) -> "pa.RecordBatch":
    import pyarrow as pa

    packed = {name: getattr(rows, name).tobytes() for name in KINDS}
    packed["allowed"] = None if allowed is None else allowed.tobytes()
    return pa.RecordBatch.from_arrays([pa.array([cell], pa.binary()) for cell in packed.values()], [*packed])


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
