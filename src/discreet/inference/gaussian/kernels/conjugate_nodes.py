"""The law of unseen moments when numbers are normal given earlier ones and their prior is conjugate.

Number y on k regressors x, A = Σ x x', b = Σ x y, c = Σ y² over n rows, prior NIG(mean m, precision P, shape, rate):

    log p(b, c | A) = - log|A|/2 - log|A + P|/2 + ((n-k)/2 - 1) log RSS - (shape + n/2) log(rate + Q/2)
                      + log Gamma(shape + n/2) - log Gamma((n-k)/2) + constants
    RSS = c - b' A^-1 b,     Q = min over w of (w-m)' P (w-m) + c - 2 w'b + w'A w

The moments per row, G = (A, b; b', c) / n, are what coordinates stand for; fewer rows than regressors have no density,
and n is then taken as k + 2.
"""

from math import lgamma
from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner

__all__ = ["node_density"]


@inner
def node_density(conjugates: Any, j: Any, k: Any, n: Any, moments: Any, adjoint: Any) -> Any:
    """Log-density of the moments of number j on its k regressors, per row; adds its slopes to `adjoint` (full matrix).

    Returns it with its derivative in n.
    """
    rows = max(n, k + 2.0)
    square, cross, own = moments[:k, :k].copy(), moments[:k, k].copy(), moments[k, k]
    inverse = np.linalg.inv(square)
    slopes = np.dot(inverse, cross)
    residual = own - np.dot(cross, slopes)
    if not residual > 0.0:
        return -np.inf, 0.0
    precision = conjugates.precision[j, :k, :k].copy()
    mean = conjugates.mean[j, :k].copy()
    whole = n * square + precision
    inverse_whole = np.linalg.inv(whole)
    found = np.dot(inverse_whole, n * cross + np.dot(precision, mean))
    gap = found - mean
    pulled = np.dot(gap, np.dot(precision, gap))
    fitted = own - 2.0 * np.dot(found, cross) + np.dot(found, np.dot(square, found))
    if not fitted > 0.0:
        return -np.inf, 0.0
    spread = conjugates.rate[j] + 0.5 * (pulled + n * fitted)
    shape = conjugates.shape[j] + 0.5 * rows
    freedom = 0.5 * (rows - k)
    sign, log_square = np.linalg.slogdet(square)
    other, log_whole = np.linalg.slogdet(whole)
    if sign <= 0.0 or other <= 0.0:
        return -np.inf, 0.0
    # n^(k+1) from sums to moments, n^-k/2 of log|A|/2, n^(freedom - 1) of RSS
    power = k + 1.0 - 0.5 * k + freedom - 1.0
    value = power * np.log(max(n, 1e-300)) - 0.5 * log_square - 0.5 * log_whole + (freedom - 1.0) * np.log(residual)
    value += lgamma(shape) - lgamma(freedom) - shape * np.log(spread)
    weight = (freedom - 1.0) / residual
    loss = 0.5 * shape * n / spread
    for a in range(k):
        for b in range(k):
            adjoint[a, b] += (
                -0.5 * inverse[a, b]
                - 0.5 * n * inverse_whole[a, b]
                + weight * slopes[a] * slopes[b]
                - loss * found[a] * found[b]
            )
        adjoint[a, k] += 0.5 * (-2.0 * weight * slopes[a] + 2.0 * loss * found[a])
        adjoint[k, a] += 0.5 * (-2.0 * weight * slopes[a] + 2.0 * loss * found[a])
    adjoint[k, k] += weight - loss
    in_n = power / max(n, 1e-300) - 0.5 * np.sum(inverse_whole * square) - 0.5 * shape * fitted / spread
    if n > k + 2.0:
        in_n += 0.5 * np.log(max(n, 1e-300)) + 0.5 * np.log(residual) - 0.5 * np.log(spread)
        in_n += 0.5 * (_digamma(shape) - _digamma(freedom))
    return value, in_n


@inner
def _digamma(x: Any) -> Any:
    """Derivative of log Gamma, by its asymptotic series after a shift to 6 and above."""
    total = 0.0
    while x < 6.0:
        total -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    return total + np.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
