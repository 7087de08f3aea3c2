"""Gradients of Σ phi(z_i · w, y_i) in whole numbers: every row's gradient is rounded by itself, and sums are exact.

What a row adds is floor(scale · slope · z_j + 1/2), for each coefficient j. So the sum does not depend on how rows are
put into blocks, nor on the order in which these are added. Margins and slopes are those of `margins`, rows in chunks as
there.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.kernels.margins import FAST, Rows, added_levels, slopes
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch

__all__ = ["whole_gradients"]

WHOLE = {"reassoc"}  # of whole numbers that doubles hold, in whatever order


@njit(cache=True, fastmath=False)
def _rounded(a: float) -> float:
    return np.floor(a + 0.5)


@njit(cache=True, fastmath=WHOLE)
def _total(margin: Array, factors: Array, scale: float) -> np.int64:
    """The sum over a chunk: 128 numbers of 45 bits."""
    total = 0.0
    for i in range(margin.size):
        total += _rounded(margin[i] * factors[i] * scale)
    return np.int64(total)


@njit(cache=True, fastmath=FAST)
def _margins(w: Array, intercept: int, numbers: Array, codes: NDArray[np.uint16], shrink: Array, margin: Array) -> None:
    """Of the rows of one chunk; `shrink` is empty where no row is shrunk."""
    margin[:] = w[0] if intercept == 1 and shrink.size == 0 else 0.0
    for j in range(numbers.shape[0]):
        column, factor = numbers[j], w[intercept + j]
        for i in range(margin.size):
            margin[i] += factor * column[i]
    added_levels(margin, w, codes)
    if shrink.size > 0:
        constant = w[0] if intercept == 1 else 0.0
        for i in range(margin.size):
            margin[i] = margin[i] * shrink[i] + constant


@njit(cache=True, fastmath=False)
def whole_gradients(loss: Branch, w: Array, intercept: int, rows: Rows, scale: float) -> NDArray[np.int64]:
    """For several vectors w, (chains, coefficients), of rows that are few enough for 64 bits."""
    code, setting, table = loss
    numbers, codes, targets, weights, shrink = rows
    chunks, p, size = numbers.shape
    found = np.zeros(w.shape, dtype=np.int64)
    margin, ones = np.empty(size), np.ones(size)
    for chunk in range(chunks):
        own = shrink[chunk] if shrink.size > 0 else shrink.reshape(-1)
        for k in range(w.shape[0]):
            _margins(w[k], intercept, numbers[chunk], codes[chunk], own, margin)
            slopes(code, setting, table, margin, targets[chunk], weights[chunk])
            if intercept == 1:
                found[k, 0] += _total(margin, ones, scale)
            if shrink.size > 0:
                for i in range(size):
                    margin[i] *= own[i]
            for j in range(p):
                found[k, intercept + j] += _total(margin, numbers[chunk, j], scale)
            for i in range(size):
                whole = np.int64(_rounded(margin[i] * scale))
                for j in range(codes.shape[1]):
                    found[k, codes[chunk, j, i]] += whole
    return found
