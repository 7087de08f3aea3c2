"""Σ phi(z_i · w, y_i) of several vectors of coefficients, for the acceptance test of exact draws."""

import math

import numpy as np
from numba import njit, prange

from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, HINGE, HUBER, LOGISTIC, POISSON, Rows
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch

__all__ = ["total_losses"]


@njit(cache=True)
def _value(code: int, setting: float, table: Array, areas: Array, t: float, y: float) -> float:
    """Phi; `areas` are the integrals of the table from its first margin on."""
    if code == LOGISTIC:
        return math.log1p(math.exp(-abs(t))) + max(t, 0.0) - y * t
    if code == HINGE:
        inside = 1.0 - y * t
        if abs(inside) < 0.5 * setting:
            return (inside + 0.5 * setting) ** 2 / (2.0 * setting)
        return max(inside, 0.0)
    if code == HUBER:
        apart = abs(t - y)
        return 0.5 * apart**2 if apart <= setting else setting * apart - 0.5 * setting**2
    if code == POISSON:
        return math.exp(t) - y * t
    last_t, last_y = table.shape[1] - 1, table.shape[0] - 1
    width = 2.0 * setting / last_t
    inside_t = min(max(t, -setting), setting)
    a = min(int((inside_t + setting) / width), last_t - 1)
    u = inside_t + setting - a * width
    at_y = min(max((y + 1.0) * 0.5, 0.0), 1.0) * last_y
    b = min(int(at_y), last_y - 1)
    v = at_y - b
    total = 0.0
    for row, share in ((b, 1.0 - v), (b + 1, v)):
        rise = (table[row, a + 1] - table[row, a]) / width
        beyond = (t - inside_t) * (table[row, last_t] if t > 0.0 else table[row, 0])
        total += share * (areas[row, a] + table[row, a] * u + 0.5 * rise * u * u + beyond)
    return total


@njit(cache=True, parallel=True)
def total_losses(loss: Branch, areas: Array, w: Array, intercept: int, rows: Rows) -> Array:
    """The total loss at every row of w."""
    code, setting, table = loss
    numbers, codes, targets, weights, shrink = rows
    chunks, p, size = numbers.shape
    c, q = codes.shape[1], w.shape[0]
    each = (chunks + BLOCKS - 1) // BLOCKS
    parts = np.zeros((BLOCKS, q))
    for block in prange(BLOCKS):
        for chunk in range(block * each, min((block + 1) * each, chunks)):
            for k in range(q):
                total = 0.0
                for i in range(size):
                    if weights[chunk, i] == 0.0:
                        continue
                    t = 0.0
                    for j in range(p):
                        t += numbers[chunk, j, i] * w[k, intercept + j]
                    for j in range(c):
                        t += w[k, codes[chunk, j, i]]
                    if shrink.size > 0:
                        t *= shrink[chunk, i]
                    if intercept == 1:
                        t += w[k, 0]
                    total += _value(code, setting, table, areas, t, targets[chunk, i])
                parts[block, k] += total
    result = np.zeros(q)
    for block in range(BLOCKS):
        result += parts[block]
    return result
