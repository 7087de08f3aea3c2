"""Gradients of Σ phi(z_i · w, y_i) in one pass over rows kept as numbers and level codes, never expanded.

z_i = (1, s_i numbers_i, s_i one-hot of codes_i): the 1 is the intercept, if there is one; s_i shrinks a row to the
declared radius. Rows lie in chunks, (chunks, columns, rows of the chunk), so that every inner loop runs along rows and
is done several rows at a time. Chunks are summed in blocks whose number is fixed: the sum does not depend on how many
threads there are. Rows that fill up the last chunk have weight 0. Loops over one chunk take its arrays one by one,
which is how they are compiled best.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.losses import Hinge, Huber, Logistic, Poisson
from discreet.queries.losses.base import Branch

__all__ = ["BLOCKS", "HINGE", "HUBER", "LOGISTIC", "POISSON", "Rows", "added_levels", "gradients", "slopes"]

Codes = NDArray[np.uint16]

BLOCKS, LEAST_CHUNKS = 32, 32  # a block of few chunks would take longer to add up than to compute
LOGISTIC, HINGE, HUBER, POISSON = Logistic.code, Hinge.code, Huber.code, Poisson.code  # else: a table

# e^a = 2^k e^r with |r| ≤ log(2)/2 and a Taylor polynomial: within 4e-16, and done several numbers at a time
FARTHEST = 40.0  # 1/(1 + e^-40) is 1 in doubles
ROUNDER = 1.5 * 2.0**52  # a sum with it has no bits for fractions, and the whole number in its last bits
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12 = (1.0 / math.factorial(k) for k in range(2, 13))

FAST = {"reassoc", "contract", "nsz", "arcp"}
THREADS: Any = {"prange": True} | dict.fromkeys(  # of loops that say so, and of nothing else: that halves compilation
    ("comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil"), False
)


class Rows(NamedTuple):
    """A design as kernels take it: one argument."""

    numbers: Array
    codes: Codes
    targets: Array
    weights: Array
    shrink: Array

    def __repr__(self) -> str:
        return "Rows(…)"  # private


@njit(cache=True, fastmath=False)  # said aloud: flags are inherited, and would cancel what is added and subtracted
def _rounding(a: float) -> float:
    return a + ROUNDER


@njit(cache=True, fastmath=False)
def _rounded(rounding: float) -> float:
    return rounding - ROUNDER


@njit(cache=True, fastmath=FAST)
def _exp(a: float) -> float:
    rounding = _rounding(a * LOG2_E)
    k = _rounded(rounding)
    r = (a - k * LN2_HIGH) - k * LN2_LOW
    r2 = r * r  # sums of pairs wait for each other less than a chain of products
    r4 = r2 * r2
    lower = (1.0 + r) + r2 * (T2 + r * T3)
    middle = (T4 + r * T5) + r2 * (T6 + r * T7)
    upper = ((T8 + r * T9) + r2 * (T10 + r * T11)) + r4 * T12
    e = lower + r4 * (middle + r4 * upper)
    # times 2^k: k is added to the bits of the exponent
    return np.int64(np.float64(e).view(np.int64) + (np.float64(rounding).view(np.int64) << 52)).view(np.float64)


@njit(cache=True, fastmath=FAST, error_model="numpy")  # a check of every divisor would do rows one by one
def slopes(code: int, setting: float, table: Array, margins: Array, targets: Array, weights: Array) -> None:
    """Replace margins t by weight · d phi(t, y)/dt, which never falls with t.

    HINGE has labels ±1 and is smoothed over `setting`; HUBER is clipped to ±setting; a table is linear between the
    slopes at equally spaced margins in [-setting, setting] (rows: equally spaced targets in [-1, 1]), constant beyond.
    """
    size = margins.size
    if code == LOGISTIC:
        for i in range(size):
            e = _exp(min(max(-margins[i], -FARTHEST), FARTHEST))
            margins[i] = weights[i] * (1.0 / (1.0 + e) - targets[i])
    elif code == HINGE:
        for i in range(size):
            inside = 1.0 - targets[i] * margins[i]
            part = min(max(inside / setting + 0.5, 0.0), 1.0) if setting > 0.0 else (1.0 if inside > 0.0 else 0.0)
            margins[i] = -weights[i] * targets[i] * part
    elif code == HUBER:
        for i in range(size):
            margins[i] = weights[i] * min(max(margins[i] - targets[i], -setting), setting)
    elif code == POISSON:
        for i in range(size):
            margins[i] = weights[i] * (math.exp(margins[i]) - targets[i])
    else:
        last_t, last_y = table.shape[1] - 1, table.shape[0] - 1
        for i in range(size):
            at_t = min(max((margins[i] / setting + 1.0) * 0.5, 0.0), 1.0) * last_t
            at_y = min(max((targets[i] + 1.0) * 0.5, 0.0), 1.0) * last_y
            a, b = min(int(at_t), last_t - 1), min(int(at_y), last_y - 1)
            u, v = at_t - a, at_y - b
            low = table[b, a] * (1.0 - u) + table[b, a + 1] * u
            high = table[b + 1, a] * (1.0 - u) + table[b + 1, a + 1] * u
            margins[i] = weights[i] * (low * (1.0 - v) + high * v)


@njit(cache=True, fastmath=FAST)
def added_levels(margins: Array, w: Array, codes: Codes) -> None:
    """Add the coefficients of the levels of each row; of three columns at once, for one pass over the margins."""
    threes = codes.shape[0] // 3 * 3
    for j in range(0, threes, 3):
        first, second, third = codes[j], codes[j + 1], codes[j + 2]
        for i in range(margins.size):
            margins[i] += w[first[i]] + w[second[i]] + w[third[i]]
    for j in range(threes, codes.shape[0]):
        code = codes[j]
        for i in range(margins.size):
            margins[i] += w[code[i]]


@njit(cache=True, fastmath=FAST)
def _add_to_levels(sums: Array, codes: Codes, slopes_of_rows: Array) -> None:
    """Add the slope of each row to the sums of its levels; neighbouring additions go to other columns: none waits."""
    if codes.shape[0] == 3:  # as packs often are
        first, second, third = codes[0], codes[1], codes[2]
        for i in range(slopes_of_rows.size):
            slope = slopes_of_rows[i]
            sums[first[i]] += slope
            sums[second[i]] += slope
            sums[third[i]] += slope
    else:
        for i in range(slopes_of_rows.size):
            for j in range(codes.shape[0]):
                sums[codes[j, i]] += slopes_of_rows[i]


@njit(cache=True, parallel=THREADS, fastmath=FAST)
def gradients(loss: Branch, w: Array, intercept: int, rows: Rows, parts: Array) -> Array:
    """Σ_i phi'(z_i · w, y_i) z_i for several vectors in one pass: w is (chains, coefficients).

    `parts` is working space, (BLOCKS, chains, coefficients).
    """
    code, setting, table = loss
    numbers, codes, targets, weights, shrink = rows
    chunks, p, size = numbers.shape
    q = w.shape[0]
    each = max((chunks + BLOCKS - 1) // BLOCKS, LEAST_CHUNKS)
    blocks = (chunks + each - 1) // each
    for block in prange(blocks):
        part = parts[block]
        part[:] = 0.0
        margin = np.empty(size)
        for chunk in range(block * each, min((block + 1) * each, chunks)):
            for k in range(q):
                w_k, part_k = w[k], part[k]
                w_numbers, part_numbers = w_k[intercept : intercept + p], part_k[intercept : intercept + p]
                margin[:] = w_k[0] if intercept == 1 and shrink.size == 0 else 0.0
                for j in range(p):
                    column, factor = numbers[chunk, j], w_numbers[j]
                    for i in range(size):
                        margin[i] += factor * column[i]
                added_levels(margin, w_k, codes[chunk])
                if shrink.size > 0:
                    constant = w_k[0] if intercept == 1 else 0.0
                    for i in range(size):
                        margin[i] = margin[i] * shrink[chunk, i] + constant
                slopes(code, setting, table, margin, targets[chunk], weights[chunk])
                if intercept == 1:
                    total = 0.0
                    for i in range(size):
                        total += margin[i]
                    part_k[0] += total
                if shrink.size > 0:
                    for i in range(size):
                        margin[i] *= shrink[chunk, i]
                for j in range(p):
                    column = numbers[chunk, j]
                    total = 0.0
                    for i in range(size):
                        total += margin[i] * column[i]
                    part_numbers[j] += total
                _add_to_levels(part_k, codes[chunk], margin)
    result = np.zeros(w.shape)
    for block in range(blocks):
        result += parts[block]
    return result
