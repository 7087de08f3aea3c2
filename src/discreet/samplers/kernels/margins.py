"""Gradients of Σ phi(z_i · w, y_i) in one pass over rows kept as numbers and level codes, never expanded.

z_i = (1, s_i numbers_i, s_i one-hot of codes_i): the 1 is the intercept, if there is one; s_i shrinks a row to the
declared radius. Rows lie in chunks, (chunks, columns, rows of the chunk), so that every inner loop runs along rows and
is done several rows at a time. Chunks are summed in blocks whose number is fixed: the sum does not depend on how many
threads there are. Rows that fill up the last chunk have weight 0.
"""

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

__all__ = ["BLOCKS", "HINGE", "HUBER", "LOGISTIC", "POISSON", "TABLE", "gradients", "slopes"]

Array = NDArray[np.float64]
Codes = NDArray[np.uint16]

BLOCKS, LEAST_CHUNKS = 32, 32  # a block of few chunks would take longer to add up than to compute
LOGISTIC, HINGE, HUBER, POISSON, TABLE = 0, 1, 2, 3, 4

# e^-a = 2^-k e^r with |r| ≤ log(2)/2 and a Taylor polynomial: within 4e-16, and done several numbers at a time
FARTHEST = 40.0  # 1/(1 + e^-40) is 1 in doubles
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12 = (1.0 / math.factorial(k) for k in range(2, 13))

FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, fastmath=FAST, inline="always")
def _exp_of_minus(a: float) -> float:
    halvings = np.int32(a * LOG2_E + 0.5)  # 32 bits: processors convert several of them at a time
    k = np.float64(halvings)
    r = (k * LN2_HIGH - a) + k * LN2_LOW
    r2 = r * r  # sums of pairs wait for each other less than a chain of products
    r4 = r2 * r2
    lower = (1.0 + r) + r2 * (T2 + r * T3)
    middle = (T4 + r * T5) + r2 * (T6 + r * T7)
    upper = ((T8 + r * T9) + r2 * (T10 + r * T11)) + r4 * T12
    e = lower + r4 * (middle + r4 * upper)
    return e * np.int64((1023 - np.int64(halvings)) << 52).view(np.float64)  # 2^-k, written as its bits


@njit(cache=True, fastmath=FAST, error_model="numpy")  # a check of every divisor would do rows one by one
def slopes(kind: int, setting: float, table: Array, margins: Array, targets: Array, weights: Array) -> None:
    """Replace margins t by weight · d phi(t, y)/dt, which never falls with t.

    HINGE has labels ±1 and is smoothed over `setting`; HUBER is clipped to ±setting; TABLE is linear between the slopes
    at equally spaced margins in [-setting, setting] (rows: equally spaced targets in [-1, 1]) and constant beyond.
    """
    size = margins.size
    if kind == LOGISTIC:
        for i in range(size):
            t = margins[i]
            e = _exp_of_minus(min(abs(t), FARTHEST))
            margins[i] = weights[i] * ((1.0 if t >= 0.0 else e) / (1.0 + e) - targets[i])
    elif kind == HINGE:
        for i in range(size):
            inside = 1.0 - targets[i] * margins[i]
            part = min(max(inside / setting + 0.5, 0.0), 1.0) if setting > 0.0 else (1.0 if inside > 0.0 else 0.0)
            margins[i] = -weights[i] * targets[i] * part
    elif kind == HUBER:
        for i in range(size):
            margins[i] = weights[i] * min(max(margins[i] - targets[i], -setting), setting)
    elif kind == POISSON:
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


@njit(cache=True, parallel=True, fastmath=FAST)
def gradients(
    kind: int,
    setting: float,
    table: Array,
    w: Array,
    intercept: int,
    numbers: Array,
    codes: Codes,
    targets: Array,
    weights: Array,
    shrink: Array,
    parts: Array,
) -> Array:
    """Σ_i phi'(z_i · w, y_i) z_i for several vectors in one pass: w is (chains, coefficients).

    `parts` is working space, (BLOCKS, chains, coefficients).
    """
    chunks, p, size = numbers.shape
    c, q = codes.shape[1], w.shape[0]
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
                for j in range(c):
                    code = codes[chunk, j]
                    for i in range(size):
                        margin[i] += w_k[code[i]]
                if shrink.size > 0:
                    constant = w_k[0] if intercept == 1 else 0.0
                    for i in range(size):
                        margin[i] = margin[i] * shrink[chunk, i] + constant
                slopes(kind, setting, table, margin, targets[chunk], weights[chunk])
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
                held = codes[chunk]
                for i in range(size):  # neighbouring additions go to different columns: none waits
                    for j in range(c):
                        part_k[held[j, i]] += margin[i]
    result = np.zeros(w.shape)
    for block in range(blocks):
        result += parts[block]
    return result
