"""Mean functions by + - × ÷ and bits of an exponent alone, in the order that is written: the same bits everywhere.

e^a = 2^k e^r, |r| ≤ log(2)/2, and e^r by the Taylor polynomial of degree 13 in Horner's order, within 1e-17 but for its
own rounding: 3 units in the last place together. A mean in [0, 1] is within 1e-15 of the true one, and does not leave
[0, 1]. No fused multiplication and no reassociation: flags are said aloud because callers would hand down theirs.
"""

import math

import numpy as np
from numba import njit

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_branch import EXPONENTIAL, LOGISTIC, PLACE

__all__ = ["means"]

ROUNDER = 1.5 * 2.0**52  # a sum with it has no bits for fractions, and the whole number in its last bits
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13 = (1.0 / math.factorial(k) for k in range(2, 14))


@njit(cache=True, fastmath=False, error_model="numpy")
def _exp(a: float) -> float:
    """e^a for |a| ≤ 40."""
    rounding = a * LOG2_E + ROUNDER
    k = rounding - ROUNDER
    r = (a - k * LN2_HIGH) - k * LN2_LOW
    e = T12 + r * T13
    e = T11 + r * e
    e = T10 + r * e
    e = T9 + r * e
    e = T8 + r * e
    e = T7 + r * e
    e = T6 + r * e
    e = T5 + r * e
    e = T4 + r * e
    e = T3 + r * e
    e = T2 + r * e
    e = 1.0 + r * e
    e = 1.0 + r * e
    # times 2^k: k is added to the bits of the exponent
    return np.int64(np.float64(e).view(np.int64) + (np.float64(rounding).view(np.int64) << 52)).view(np.float64)


@njit(cache=True, fastmath=False, error_model="numpy")
def means(code: int, low: float, high: float, setting: float, table: Array, margins: Array) -> None:
    """Replace margins by the means of the target at them, from 0 to 1."""
    size = margins.size
    if code == LOGISTIC:
        for i in range(size):
            margins[i] = 1.0 / (1.0 + _exp(-min(max(margins[i], low), high)))
    elif code == EXPONENTIAL:
        for i in range(size):
            margins[i] = min(_exp(min(max(margins[i], low), high)) * setting, 1.0)
    elif code == PLACE:
        for i in range(size):
            margins[i] = 0.5 + 0.5 * min(max(margins[i], low), high)
    else:
        last = table.size - 1
        for i in range(size):
            at = (min(max(margins[i], low), high) - low) / (high - low) * last
            a = min(int(at), last - 1)
            margins[i] = table[a] + (at - a) * (table[a + 1] - table[a])
