"""The law of unseen moments when numbers are normal given earlier ones and their prior is conjugate.

Number y on k regressors x, A = Σ x x', b = Σ x y, c = Σ y² over n rows, prior NIG(mean m, precision P, shape, rate):

    log p(b, c | A) = - log|A|/2 - log|A + P|/2 + ((n-k)/2 - 1) log RSS - (shape + n/2) log(rate + Q/2)
                      + log Gamma(shape + n/2) - log Gamma((n-k)/2) + constants
    RSS = c - b' A^-1 b,     Q = min over w of (w-m)' P (w-m) + c - 2 w'b + w'A w

The moments per row, G = (A, b; b', c) / n, are what a state stands for; fewer rows than regressors have no density, and
n is then taken as k + 2. One Cholesky factor of all moments has |A| and RSS of every number.
"""

from math import lgamma
from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.unseen_layout import cholesky

__all__ = ["conjugate_numbers"]


@inner
def conjugate_numbers(is_conjugate: Any, conjugates: Any, unseen: Any, at: Any) -> Any:
    """Log-density of all numbers with a conjugate prior, in the coordinates of their means and covariances."""
    n, cells, q, p = at.size[0], at.shares.size, unseen.design.shape[1], is_conjugate.size
    moments, lower = np.zeros((q + p, q + p)), np.zeros((q + p, q + p))
    for a in range(q + p):
        for b in range(a + 1):
            total = 0.0
            for c in range(cells):
                left = unseen.design[c, a] if a < q else at.means[a - q, c]
                right = unseen.design[c, b] if b < q else at.means[b - q, c]
                total += at.shares[c] * left * right
            moments[a, b] = total + (at.within[a - q, b - q] if b >= q else 0.0)
            moments[b, a] = moments[a, b]
    if not cholesky(moments, q + p, lower):
        return -np.inf
    value = 0.0
    for j in range(p):
        if is_conjugate[j]:
            value += _number(conjugates, j, q + j, n, moments, lower) + _from_sums(unseen, at, j)
    return value


@inner
def _number(conjugates: Any, j: Any, k: Any, n: Any, moments: Any, lower: Any) -> Any:
    """Log-density of the moments of number j on its k regressors, per row."""
    rows, log_square = max(n, k + 2.0), 0.0
    for a in range(k):
        log_square += 2.0 * np.log(lower[a, a])
    residual = lower[k, k] ** 2
    precision, mean = conjugates.precision[j], conjugates.mean[j]
    whole, root, found = np.empty((k, k)), np.zeros((k, k)), np.empty(k)
    for a in range(k):
        found[a] = n * moments[a, k]
        for b in range(k):
            whole[a, b] = n * moments[a, b] + precision[a, b]
            found[a] += precision[a, b] * mean[b]
    if not cholesky(whole, k, root):
        return -np.inf
    log_whole = 0.0
    for a in range(k):
        for b in range(a):
            found[a] -= root[a, b] * found[b]
        found[a] /= root[a, a]
        log_whole += 2.0 * np.log(root[a, a])
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            found[a] -= root[b, a] * found[b]
        found[a] /= root[a, a]
    pulled, fitted = 0.0, moments[k, k]
    for a in range(k):
        fitted -= 2.0 * found[a] * moments[a, k]
        for b in range(k):
            pulled += (found[a] - mean[a]) * precision[a, b] * (found[b] - mean[b])
            fitted += found[a] * moments[a, b] * found[b]
    if not fitted > 0.0:
        return -np.inf
    spread = conjugates.rate[j] + 0.5 * (pulled + n * fitted)
    shape, freedom = conjugates.shape[j] + 0.5 * rows, 0.5 * (rows - k)
    # n^(k+1) from sums to moments, n^-k/2 of log|A|/2, n^(freedom - 1) of RSS
    power = k + 1.0 - 0.5 * k + freedom - 1.0
    value = power * np.log(max(n, 1e-300)) - 0.5 * log_square - 0.5 * log_whole + (freedom - 1.0) * np.log(residual)
    return value + lgamma(shape) - lgamma(freedom) - shape * np.log(spread)


@inner
def _from_sums(unseen: Any, at: Any, j: Any) -> Any:
    """From the sums of a number within levels to its coordinates: log |design' diag(shares (1 - f²)) basis|.

    One category has a coordinate for every cell, and its design a determinant of 1; several have their design as basis.
    """
    cells, width = unseen.basis.shape
    if width == cells:
        value = 0.0
        for c in range(cells):
            value += np.log(max(at.shares[c] * (1.0 - at.means[j, c] ** 2), 1e-300))
        return value
    change, lower = np.zeros((width, width)), np.zeros((width, width))
    for a in range(width):
        for b in range(width):
            for c in range(cells):
                size = at.shares[c] * (1.0 - at.means[j, c] ** 2)
                change[a, b] += size * unseen.basis[c, a] * unseen.basis[c, b]
    if not cholesky(change, width, lower):
        return -np.inf
    value = 0.0
    for a in range(width):
        value += 2.0 * np.log(lower[a, a])
    return value
