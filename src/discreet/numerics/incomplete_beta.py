"""The logarithm of the regularised incomplete beta function, also where the function itself underflows.

    I_x(a, b) = x^a (1-x)^b / (a B(a, b)) · h,      h the continued fraction of DLMF 8.17.22, quick for x below the mean

scipy's value is used wherever it is an ordinary double; the continued fraction takes over in tails below 1e-290, which
truncated posteriors with many records reach at once (Beta(3.6e5, 1) on [0.05, 0.2] has mass e^-579385).
"""

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_beta_kernel

__all__ = ["log_incomplete_beta"]


SMALLEST = 1e-290  # scipy's relative accuracy degrades below, towards the subnormal numbers
MOST_TERMS = 20_000  # a few dozen at most in the tails; of order sqrt(a + b) next to the mean


def log_incomplete_beta(a: ArrayLike, b: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Log of I_x(a, b), with y = 1 - x given so that both ends keep their digits. -inf at x = 0, 0 at y = 0."""
    from scipy.special import betainc, betaincc

    a, b, x, y = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in (a, b, x, y)))
    value = np.asarray(betainc(a, b, x))
    close = y < 1e-6  # x has lost the digits of y
    if close.any():
        value = np.where(close, betaincc(b, a, np.where(close, y, 0.5)), value)
    inside = (x > 0) & (y > 0)
    plain = (value > SMALLEST) & (value <= 1.0)
    result = np.full(x.shape, -np.inf)
    result[y <= 0] = 0.0
    np.log(value, out=result, where=inside & plain)
    deep = inside & ~plain
    if deep.any():
        result[deep] = _log_tail(a[deep], b[deep], x[deep], y[deep])
    return result


def _log_tail(a: Array, b: Array, x: Array, y: Array) -> Array:
    """Log of I_x(a, b) by the continued fraction on the side of the mean where it converges."""
    left = x * (a + b + 2) <= a + 1
    small = np.empty_like(x)
    small[left] = _log_fraction(a[left], b[left], x[left], y[left])
    small[~left] = _log_fraction(b[~left], a[~left], y[~left], x[~left])
    small = np.minimum(small, 0.0)
    return np.where(left, small, np.log1p(-np.minimum(np.exp(small), 1.0 - 1e-16)))


def _log_fraction(a: Array, b: Array, x: Array, y: Array) -> Array:
    """Lentz's evaluation of DLMF 8.17.22, two terms at a time, until every entry has settled."""
    if x.size == 0:
        return x
    numerator, denominator = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1))
    fraction = denominator.copy()
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m))
        change = np.ones_like(x)
        for term in (even, odd):
            denominator = 1.0 / (1.0 + term * denominator)
            numerator = 1.0 + term / numerator
            change *= denominator * numerator
        fraction *= change
        if np.all(np.abs(change - 1.0) < 1e-14):  # a smaller change drowns in the rounding of its own factors
            break
    return log_beta_kernel(a, b, x, y) - np.log(a) + np.log(fraction)
