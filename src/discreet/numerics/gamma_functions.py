"""Differences of log-gamma functions that keep their digits when the arguments are large.

log Γ(1e8) is about 1.7e9, so subtracting two of them leaves seven digits. Stirling's form

    log Γ(z) = (z - 1/2) log z - z + log(2π)/2 + e(z),        e(z) = 1/12z - 1/360z³ + …

lets the large terms cancel on paper instead of in floating point.
"""

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array
from discreet.numerics.stirling import stirling_error

__all__ = ["log_beta_kernel", "log_gamma_ratio", "log_polya"]


def log_gamma_ratio(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """Difference log Γ(x + a) - log Γ(x + b) for positive arguments."""
    top, bottom = np.add(x, a, dtype=float), np.add(x, b, dtype=float)
    gap = np.subtract(a, b, dtype=float)
    leading = gap * np.log(bottom) + (top - 0.5) * np.log1p(gap / bottom) - gap
    return np.asarray(leading + stirling_error(top) - stirling_error(bottom))


def log_polya(k: ArrayLike, alpha: ArrayLike) -> Array:
    """Log of Γ(k + alpha) / (k! Γ(alpha)), the weight a Dirichlet-multinomial gives to k records in one cell."""
    from scipy.special import gammaln

    alpha = np.asarray(alpha, dtype=float)
    return np.asarray(log_gamma_ratio(k, alpha, 1.0) - gammaln(alpha))


def log_beta_kernel(a: ArrayLike, b: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Log of x^a y^b / B(a, b) for y = 1 - x > 0 and x > 0; both are given so that neither loses its digits."""
    a, b, x, y = (np.asarray(value, dtype=float) for value in (a, b, x, y))
    total = a + b
    excess = np.where(x <= 0.5, x * total - a, b - y * total)  # both are total · (x - mean); the rounding cancels below
    deviance = a * _log_relative(x * total, a, excess) + b * _log_relative(y * total, b, -excess)
    spread = 0.5 * (np.log(a) + np.log(b / total) - np.log(2 * np.pi))
    return np.asarray(deviance + spread + stirling_error(total) - stirling_error(a) - stirling_error(b))


def _log_relative(value: Array, reference: Array, excess: Array) -> Array:
    """Log of value / reference, from their difference where they are close."""
    relative = excess / reference
    near = np.abs(relative) < 0.5
    return np.asarray(np.where(near, np.log1p(np.where(near, relative, 0.0)), np.log(value / reference)))
