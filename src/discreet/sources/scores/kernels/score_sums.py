"""One pass over rows for each stage; every number that is added is a whole one, in a double that holds it exactly.

Rows lie in chunks, (chunks, columns, rows of the chunk), and are expanded to one-hot nowhere. A call is about one block
of chunks, small enough for sums below 2^53, and several may run at once. So `reassoc`, which lets a compiler add many
rows at a time, cannot change a bit of them; it is given to additions of whole numbers and to nothing else.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_branch import ScoreBranch
from discreet.queries.scores.score_units import FEATURE, MAP, SLOPE
from discreet.sources.scores.kernels.public_means import means

__all__ = ["Bands", "ScoreRows", "allowances", "mapped", "slope_sums", "total_sums"]

Small = NDArray[np.int16]
Codes = NDArray[np.uint16]
Sums = NDArray[np.int64]

WHOLE = {"reassoc"}
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
        for i in range(size):
            margin[i] += z[code[i]] * (FEATURE if entries.size == 0 else np.float64(entries[chunk, i]))


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


@njit(cache=True, nogil=True, fastmath=False)
def slope_sums(
    branch: ScoreBranch, by_label: bool, z: Array, rows: ScoreRows, allowed: Array, first: int, last: int
) -> Array:
    """Sums of slopes times (1, x) at whole coefficients z, over the chunks from `first` to before `last`."""
    code, low, high, setting, table = branch
    numbers, codes, entries, targets, _ = rows
    size = numbers.shape[2]
    found, slope = np.zeros(z.size), np.empty(size)
    for chunk in range(first, last):
        _margins(z, rows, chunk, slope)
        for i in range(size):
            slope[i] *= 2.0**-36
        means(code, low, high, setting, table, slope)
        _slopes(by_label, slope, targets[chunk], allowed[chunk])
        found[0] += _sum(slope) * FEATURE
        for j in range(numbers.shape[1]):
            found[1 + j] += _dot(slope, numbers[chunk, j])
        for i in range(size):
            slope[i] *= FEATURE if entries.size == 0 else np.float64(entries[chunk, i])
        for i in range(size):
            for j in range(codes.shape[1]):
                found[codes[chunk, j, i]] += slope[i]
    return found


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
            for i in range(size):
                line[i] += effects[code[i]] * (FEATURE if entries.size == 0 else np.float64(entries[chunk, i]))


@njit(cache=True, fastmath=False)
def _squares(vectors: Array, found: Array) -> None:
    """Squared lengths of the columns, in the order of their coordinates."""
    found[:] = 0.0
    for r in range(vectors.shape[0]):
        line = vectors[r]
        for i in range(found.size):
            found[i] += line[i] * line[i]


@njit(cache=True, nogil=True, fastmath=False, error_model="numpy")
def allowances(whole: Array, bands: Bands, half: float, rows: ScoreRows, allowed: Array, first: int, last: int) -> None:
    """For each row the largest |slope| that keeps it within `half`: half / |u|, at most 2, and 0 for rows not used."""
    size = rows.numbers.shape[2]
    u, squared = np.empty((whole.shape[0], size)), np.empty(size)
    for chunk in range(first, last):
        _map(whole, bands, rows, chunk, u)
        _squares(u, squared)
        for i in range(size):
            length = np.sqrt(squared[i]) * (1.0 / UNIT)
            allowed[chunk, i] = min(half / length, ANY_SLOPE) if rows.used[chunk, i] == 1 else 0.0


@njit(cache=True, nogil=True, fastmath=False, error_model="numpy")
def mapped(
    whole: Array, bands: Bands, reach: float, step: float, rows: ScoreRows, first: int, last: int, found: Array
) -> None:
    """K (1, x) of some chunks, shrunk to length `reach`, in whole parts of 1/step: (directions, rows)."""
    size = rows.numbers.shape[2]
    k, factor = np.empty((whole.shape[0], size)), np.empty(size)
    for chunk in range(first, last):
        _map(whole, bands, rows, chunk, k)
        _squares(k, factor)
        for i in range(size):
            length = np.sqrt(factor[i]) * (1.0 / UNIT)
            factor[i] = min(1.0, reach / length) * (step / UNIT) if rows.used[chunk, i] == 1 else 0.0
        at = (chunk - first) * size
        for r in range(whole.shape[0]):
            for i in range(size):
                found[r, at + i] = np.floor(k[r, i] * factor[i] + 0.5)


@njit(cache=True, nogil=True, fastmath=False)
def total_sums(rows: ScoreRows, size: int, first: int, last: int) -> Sums:
    """Used rows, sums of x in whole steps (of levels too), and of |x|², over some chunks."""
    numbers, codes, entries, _, used = rows
    width = numbers.shape[2]
    found = np.zeros(size + 1, dtype=np.int64)
    for chunk in range(first, last):
        for i in range(width):
            found[0] += np.int64(used[chunk, i])
        for j in range(numbers.shape[1]):
            total, squares = np.int64(0), np.int64(0)
            for i in range(width):
                x = np.int64(numbers[chunk, j, i]) * np.int64(used[chunk, i])
                total += x
                squares += x * x
            found[1 + j] += total
            found[size] += squares
        for j in range(codes.shape[1]):
            for i in range(width):
                entry = np.int64(entries[chunk, i]) if entries.size > 0 else np.int64(1)
                entry *= np.int64(used[chunk, i])
                found[codes[chunk, j, i]] += entry
                found[size] += entry * entry if entries.size > 0 else np.int64(0)
    return found
