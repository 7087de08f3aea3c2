"""One pass over rows for each stage; every number that is added is a whole one, in a double that holds it exactly.

Rows lie in chunks, (chunks, columns, rows of the chunk), and are expanded to one-hot nowhere. Sums run over blocks of
chunks that are small enough for 2^53, and are then added as 64-bit integers. So `reassoc`, which lets a compiler add
several rows at a time, cannot change a bit of them; it is given to additions of whole numbers and to nothing else.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_branch import ScoreBranch
from discreet.queries.scores.score_units import FEATURE, MAP, SLOPE
from discreet.sources.scores.kernels.public_means import means

__all__ = ["MOST_CHUNKS", "Bands", "ScoreRows", "allowances", "mapped", "slope_sums", "total_sums"]

Small, Codes, Sums = NDArray[np.int16], NDArray[np.uint16], NDArray[np.int64]

MOST_CHUNKS = 1024  # of 128 rows of slopes up to 2^21 times features up to 2^14: sums below 2^53
FEWEST_CHUNKS, BLOCKS = 16, 64
WHOLE = {"reassoc"}
THREADS: Any = {"prange": True} | dict.fromkeys(  # of loops that say so, and of nothing else: that halves compilation
    ("comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil"), False
)
UNIT = FEATURE * MAP  # of a mapped record
ANY_SLOPE = 2.0  # an allowance above every slope


class ScoreRows(NamedTuple):
    """Numbers in steps of 2^-14, positions of levels in (1, x), and what a level counts where rows are shrunk.

    `targets` are in [0, 1]; `used` is 0 for rows that a bad cell excludes, and for those that fill up the last chunk.
    """

    numbers: Small
    codes: Codes
    entries: Small
    targets: Array
    used: NDArray[np.uint8]

    def __repr__(self) -> str:
        return "ScoreRows(…)"  # private


class Bands(NamedTuple):
    """The rows of a map that are not 0 in the column of each number, and of each category: first and past the last."""

    numbers: NDArray[np.int64]
    categories: NDArray[np.int64]


@njit(cache=True, fastmath=False)
def _block(chunks: int) -> int:
    return min(max((chunks + BLOCKS - 1) // BLOCKS, FEWEST_CHUNKS), MOST_CHUNKS)


@njit(cache=True, fastmath=False)
def _margins(z: Array, rows: ScoreRows, chunk: int, margin: Array) -> None:
    """(1, x) times whole coefficients, as a real number: exact."""
    numbers, codes, entries, _, _ = rows
    size = margin.size
    margin[:] = z[0] * FEATURE
    for j in range(numbers.shape[1]):
        column, factor = numbers[chunk, j], z[1 + j]
        for i in range(size):
            margin[i] += factor * column[i]
    for j in range(codes.shape[1]):
        code = codes[chunk, j]
        if entries.size > 0:
            entry = entries[chunk]
            for i in range(size):
                margin[i] += z[code[i]] * entry[i]
        else:
            for i in range(size):
                margin[i] += z[code[i]] * FEATURE


@njit(cache=True, fastmath=False, error_model="numpy")
def _slopes(by_label: bool, mean: Array, target: Array, allowed: Array) -> None:
    """Replace means by whole slopes w (f - y), no larger than what their record is allowed."""
    if by_label:
        for i in range(mean.size):
            weight, most = min(1.0, allowed[i]) * SLOPE, np.floor(allowed[i] * SLOPE)
            there = min(np.floor(weight * mean[i] + 0.5), most)
            mean[i] = there - min(np.floor(weight * target[i] + 0.5), most)
    else:
        for i in range(mean.size):
            weight = min(1.0, allowed[i] / max(mean[i], 1.0 - mean[i])) * SLOPE
            most = np.floor(allowed[i] * SLOPE)
            mean[i] = min(max(np.floor(weight * (mean[i] - target[i]) + 0.5), -most), most)


@njit(cache=True, fastmath=WHOLE)
def _dot(slope: Array, column: Small) -> float:
    total = 0.0
    for i in range(slope.size):
        total += slope[i] * column[i]
    return total


@njit(cache=True, fastmath=WHOLE)
def _sum(slope: Array) -> float:
    total = 0.0
    for i in range(slope.size):
        total += slope[i]
    return total


@njit(cache=True, fastmath=False, parallel=THREADS)
def slope_sums(branch: ScoreBranch, by_label: bool, z: Array, rows: ScoreRows, allowed: Array) -> Sums:
    """Sums of slopes times (1, x) at whole coefficients z, one row for every block of chunks."""
    code, low, high, setting, table = branch
    numbers, codes, entries, targets, _ = rows
    chunks, p, size = numbers.shape
    each = _block(chunks)
    blocks = (chunks + each - 1) // each
    parts = np.zeros((blocks, z.size))
    for block in prange(blocks):
        part, slope = parts[block], np.empty(size)
        for chunk in range(block * each, min((block + 1) * each, chunks)):
            _margins(z, rows, chunk, slope)
            for i in range(size):
                slope[i] *= 2.0**-36
            means(code, low, high, setting, table, slope)
            _slopes(by_label, slope, targets[chunk], allowed[chunk])
            part[0] += _sum(slope) * FEATURE
            for j in range(p):
                part[1 + j] += _dot(slope, numbers[chunk, j])
            if entries.size > 0:
                for i in range(size):
                    slope[i] *= entries[chunk, i]
                for j in range(codes.shape[1]):
                    for i in range(size):
                        part[codes[chunk, j, i]] += slope[i]
            else:
                for i in range(size):
                    for j in range(codes.shape[1]):
                        part[codes[chunk, j, i]] += slope[i] * FEATURE
    return parts.astype(np.int64)


@njit(cache=True, fastmath=False)
def _map(whole: Array, bands: Bands, rows: ScoreRows, chunk: int, into: Array) -> None:
    """W (1, x) of the rows of a chunk, (directions, rows), in whole steps."""
    numbers, codes, entries, _, _ = rows
    size = into.shape[1]
    for r in range(whole.shape[0]):
        into[r] = whole[r, 0] * FEATURE
    for j in range(numbers.shape[1]):
        column = numbers[chunk, j]
        for r in range(bands.numbers[j, 0], bands.numbers[j, 1]):
            factor, line = whole[r, 1 + j], into[r]
            for i in range(size):
                line[i] += factor * column[i]
    for j in range(codes.shape[1]):
        code = codes[chunk, j]
        for r in range(bands.categories[j, 0], bands.categories[j, 1]):
            effects, line = whole[r], into[r]
            if entries.size > 0:
                for i in range(size):
                    line[i] += effects[code[i]] * entries[chunk, i]
            else:
                for i in range(size):
                    line[i] += effects[code[i]] * FEATURE


@njit(cache=True, fastmath=False, error_model="numpy", parallel=THREADS)
def allowances(whole: Array, bands: Bands, half: float, rows: ScoreRows, allowed: Array) -> None:
    """For each row the largest |slope| that keeps it within `half`: half / |u|, at most 2, and 0 for rows not used."""
    chunks, _, size = rows.numbers.shape
    each = _block(chunks)
    for block in prange((chunks + each - 1) // each):
        u, squared = np.empty((whole.shape[0], size)), np.empty(size)
        for chunk in range(block * each, min((block + 1) * each, chunks)):
            _map(whole, bands, rows, chunk, u)
            squared[:] = 0.0
            for r in range(whole.shape[0]):
                for i in range(size):
                    squared[i] += u[r, i] * u[r, i]
            for i in range(size):
                length = np.sqrt(squared[i]) * (1.0 / UNIT)
                allowed[chunk, i] = min(half / length, ANY_SLOPE) if rows.used[chunk, i] == 1 else 0.0


@njit(cache=True, fastmath=False, error_model="numpy", parallel=THREADS)
def mapped(whole: Array, bands: Bands, reach: float, step: float, rows: ScoreRows, first: int, found: Array) -> None:
    """K (1, x) of the chunks from `first` on, shrunk to length `reach`, in whole parts of 1/step: (directions, rows)."""
    size = rows.numbers.shape[2]
    chunks = found.shape[1] // size
    for chunk in prange(chunks):
        k, squared = np.empty((whole.shape[0], size)), np.zeros(size)
        _map(whole, bands, rows, first + chunk, k)
        for r in range(whole.shape[0]):
            for i in range(size):
                squared[i] += k[r, i] * k[r, i]
        for i in range(size):
            length = np.sqrt(squared[i]) * (1.0 / UNIT)
            squared[i] = min(1.0, reach / length) * (step / UNIT) if rows.used[first + chunk, i] == 1 else 0.0
        for r in range(whole.shape[0]):
            for i in range(size):
                found[r, chunk * size + i] = np.floor(k[r, i] * squared[i] + 0.5)


@njit(cache=True, fastmath=False, parallel=THREADS)
def total_sums(rows: ScoreRows, size: int) -> Sums:
    """For every block of chunks: used rows, sums of x in whole steps (of levels too), and of |x|²."""
    numbers, codes, entries, _, used = rows
    chunks, p, width = numbers.shape
    each = _block(chunks)
    blocks = (chunks + each - 1) // each
    parts = np.zeros((blocks, size + 1), dtype=np.int64)
    for block in prange(blocks):
        part = parts[block]
        for chunk in range(block * each, min((block + 1) * each, chunks)):
            for i in range(width):
                part[0] += np.int64(used[chunk, i])
            for j in range(p):
                total, squares = np.int64(0), np.int64(0)
                for i in range(width):
                    x = np.int64(numbers[chunk, j, i]) * np.int64(used[chunk, i])
                    total += x
                    squares += x * x
                part[1 + j] += total
                part[size] += squares
            for j in range(codes.shape[1]):
                for i in range(width):
                    entry = np.int64(entries[chunk, i]) if entries.size > 0 else np.int64(1)
                    entry *= np.int64(used[chunk, i])
                    part[codes[chunk, j, i]] += entry
                    part[size] += entry * entry if entries.size > 0 else np.int64(0)
    return parts
