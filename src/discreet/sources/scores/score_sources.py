"""What a source answers to noisy scores: sums over its rows, one aggregate of whole numbers for every question.

An engine that holds rows elsewhere answers the same three questions with one statement each: nothing but d + 1 whole
numbers of a block of rows, or their second moments, ever reaches the process that adds the noise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ReleaseError
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import CHUNK, Loss
from discreet.queries.scores.score_law import REACH, ScoreLaw
from discreet.queries.scores.score_units import FEATURE, MOMENT, mapped_sums, whole_coefficients, whole_map
from discreet.schema.cell import NO_NUMBER
from discreet.sources.chunks import LARGEST_IN_MEMORY, let_go, put, zeros

__all__ = ["LocalScores", "ScoreSource", "collected_scores", "moments_of", "totals_of"]

Columns = Mapping[str, NDArray[np.int64]]
Whole = NDArray[Any]

BELOW = 1.0 - 2.0**-36  # more than a length of 65536 coordinates errs in doubles
MOST_CELLS = 2**22  # of vectors whose second moments are summed at once
MOST_CHUNKS, FEWEST_CHUNKS = 2**10, 16  # of 128 rows: whatever is summed of so many stays below 2^53
RUN = 2**10  # blocks
WORTH_THREADS = 3 * 10**5  # cells below which threads would mostly wait for each other


class ScoreSource(Protocol):
    """Private rows, seen through a public law; every answer is a sum of one bounded whole vector for every row."""

    def totals(self) -> dict[str, Whole]:
        """The statistics of stage 0, by the names of the law's shapes."""

    def moments(self, public: Array) -> dict[str, Whole]:
        """Those of stage 1, for a map of (1, x)."""

    def scores(self, public: Array) -> Callable[[Array], list[int]]:
        """For a map of (1, x), the whole score at a point: asked as often as there are steps."""


@dataclass(frozen=True, eq=False)
class LocalScores:
    """Rows in this process, in memory or paged in from a file without a name."""

    law: ScoreLaw
    rows: Any = field(repr=False)  # ScoreRows

    def totals(self) -> dict[str, Whole]:
        """Counts of rows or of levels; sums of numbers, and of their squared length."""
        return totals_of(self.law, self.total_parts())

    def moments(self, public: Array) -> dict[str, Whole]:
        """Sums of k k', by products of blocks of whole vectors: exact, in whatever order they are added."""
        return moments_of(self.moment_parts(whole_map(public)))

    def scores(self, public: Array) -> Callable[[Array], list[int]]:
        """Lengths of mapped rows are computed once; a step costs what a gradient costs."""
        whole = whole_map(public)
        allowed = self.allowed(whole)
        return lambda point: mapped_sums(whole, self.slope_parts(whole_coefficients(whole, point), allowed))

    def total_parts(self) -> Whole:
        """The whole numbers of stage 0, which add up over rows."""
        from discreet.sources.scores.kernels.score_sums import total_sums

        size = self.law.features + 1
        return _added(self._each(lambda low, high: total_sums(self.rows, size, low, high).astype(object)))

    def moment_parts(self, whole: Array) -> Whole:
        """Those of stage 1, for a map of (1, x) in whole steps."""
        from discreet.sources.scores.kernels.score_sums import mapped

        bands = _bands(whole, self.law, self.rows)

        def products(low: int, high: int) -> Whole:
            k = np.empty((len(whole), (high - low) * CHUNK))
            mapped(whole, bands, float(REACH), MOMENT, self.rows, low, high, k)
            return np.asarray((k @ k.T).astype(np.int64))

        return _added(self._each(products, max(1, MOST_CELLS // (len(whole) * CHUNK))))

    def allowed(self, whole: Array) -> Array:
        """The largest slope that every row may have under a map."""
        from discreet.sources.scores.kernels.score_sums import allowances

        law = self.law
        half = 0.5 * np.sqrt(law.directions + 1.0) * BELOW * (2.0 if law.by_label else 1.0)
        allowed: Array = zeros(isinstance(self.rows.targets, np.memmap), self.rows.targets.shape, np.float64)
        bands = _bands(whole, law, self.rows)
        held = (*self.rows, allowed)
        list(self._each(lambda low, high: allowances(whole, bands, half, self.rows, allowed, low, high), held=held))
        return allowed

    def slope_parts(self, z: Array, allowed: Array) -> Whole:
        """The whole numbers of a step, at whole coefficients."""
        from discreet.sources.scores.kernels.score_sums import slope_sums

        def sums(low: int, high: int) -> Whole:
            found = slope_sums(self.law.branch, self.law.by_label, z, self.rows, allowed, low, high)
            return np.asarray(found.astype(np.int64).astype(object))

        return _added(self._each(sums, held=(*self.rows, allowed)))

    def _each(
        self, work: Callable[[int, int], Any], most: int = MOST_CHUNKS, held: tuple[Any, ...] = ()
    ) -> Iterator[Any]:
        """What is found in each block of chunks, on all threads where there is much to do; `held` is let go of."""
        import numba

        chunks, threads = len(self.rows.targets), numba.get_num_threads()
        each = min(max(-(-chunks // (4 * threads)), FEWEST_CHUNKS), most)
        lows = range(0, chunks, each)
        if len(lows) == 1 or threads == 1 or self.rows.numbers.size + self.rows.codes.size < WORTH_THREADS:
            for low in lows:
                yield work(low, min(low + each, chunks))
                let_go(held or self.rows)
        else:
            with ThreadPoolExecutor(threads) as pool:
                for found in pool.map(lambda low: work(low, min(low + each, chunks)), lows):
                    yield found
                    let_go(held or self.rows)


def totals_of(law: ScoreLaw, exact: Whole) -> dict[str, Whole]:
    """The statistics of stage 0, from what adds up over rows."""
    first = 1 + law.numbers
    squares = (int(exact[-1]) + int(FEATURE) // 2) // int(FEATURE)
    found = {"count": exact[0], "levels": exact[first:-1], "sums": exact[1:first], "squares": squares}
    return {name: np.asarray(found[name], dtype=object) for name in law.shapes if name in found}


def moments_of(exact: Whole) -> dict[str, Whole]:
    """The statistics of stage 1, from the sums of k k'."""
    return {"curvature": np.diag(exact), "products": exact[np.triu_indices(len(exact), 1)]}


def _added(parts: Iterator[Any]) -> Whole:
    """Their sum in Python integers, one after another: of many blocks only a few are ever held.

    64 bits hold a run of second moments, each of at most 2^22 rows and so below 2^51; smaller arrays come as objects.
    """
    total = np.zeros((), dtype=object)
    for first in parts:
        total = total + sum(islice(parts, RUN - 1), start=first).astype(object)
    return np.asarray(total, dtype=object)


@contextmanager
def collected_scores(query: Loss, law: ScoreLaw, n: int, rows: Iterable[Columns]) -> Iterator[LocalScores]:
    """The n rows that come in pieces of coded columns: level codes (-1: bad), grid steps (NO_NUMBER: bad)."""
    from discreet.sources.scores.kernels.score_sums import ScoreRows

    features, chunks = query.features, max(-(-n // CHUNK), 1)
    p, c = len(features.numbers), len(features.categories)
    in_files = chunks * CHUNK * (2 * p + 2 * c + 19) > LARGEST_IN_MEMORY
    into = ScoreRows(
        numbers=zeros(in_files, (chunks, p, CHUNK), np.int16),
        codes=zeros(in_files, (chunks, c, CHUNK), np.uint16),
        entries=zeros(in_files, (chunks if features.shrinks else 0, CHUNK), np.int16),
        targets=zeros(in_files, (chunks, CHUNK), np.float64),
        used=zeros(in_files, (chunks, CHUNK), np.uint8),
    )
    at = 0
    for piece in rows:
        if at + len(next(iter(piece.values()))) > n:  # the source has grown since its units were counted
            raise ReleaseError("the source must not change while it is read")
        at = _write(query, law, into, at, piece)
        let_go(into)
    yield LocalScores(law, into)


def _write(query: Loss, law: ScoreLaw, into: Any, start: int, rows: Columns) -> int:
    """Encode rows `into` their places from `start` on."""
    features, target = query.features, query.target
    assert target is not None
    size = len(next(iter(rows.values())))
    used, squared = np.ones(size, dtype=bool), np.full(size, float(len(features.categories)))
    numbers = []
    for axis in features.numbers:
        good = rows[axis.column] != NO_NUMBER
        number = features.scaled(axis, np.where(good, rows[axis.column], axis.low))
        squared += number**2
        used &= good
        numbers.append(number)
    shrink = features.shrink(squared) if features.shrinks else None
    for j, number in enumerate(numbers):
        x = number / law.scale if shrink is None else shrink * number / law.scale
        put(into.numbers[:, j], start, np.clip(np.floor(x * FEATURE + 0.5), -FEATURE, FEATURE))
    for j, (name, offset) in enumerate(zip(features.categories, features.offsets, strict=True)):
        used &= rows[name] >= 0
        put(into.codes[:, j], start, offset + np.maximum(rows[name], 0))
    if shrink is not None:
        put(into.entries, start, np.floor(shrink * FEATURE + 0.5))
    cells = rows[target.column]
    if target.axis is None:
        put(into.targets, start, np.maximum(cells, 0))  # the second of two levels is 1
        used &= cells >= 0
    else:
        good = cells != NO_NUMBER
        centred = target.axis.centred(np.where(good, cells, target.axis.low))
        put(into.targets, start, (centred + target.axis.reach) / (2.0 * target.axis.reach))
        used &= good
    put(into.used, start, used)
    return start + size


def _bands(whole: Array, law: ScoreLaw, rows: Any) -> Any:
    """Which rows of a public map each number and each category needs: all others of their columns are 0."""
    from discreet.sources.scores.kernels.score_sums import Bands

    p = rows.numbers.shape[1]
    ends = np.cumsum([1 + p, *law.levels])
    numbers = [_band(whole[:, 1 + j : 2 + j]) for j in range(p)]
    categories = [_band(whole[:, low:high]) for low, high in pairwise(ends)]
    return Bands(*(np.array(found, dtype=np.int64).reshape(-1, 2) for found in (numbers, categories)))


def _band(columns: Array) -> tuple[int, int]:
    """First and past the last row of some columns that is not 0."""
    filled = np.flatnonzero(columns.any(axis=1))
    return (int(filled[0]), int(filled[-1]) + 1) if filled.size else (0, 0)
