"""Differences of log-gamma functions that keep their digits when the arguments are large.

log Γ(1e8) is about 1.7e9, so subtracting two of them leaves seven digits. Stirling's form

    log Γ(z) = (z - 1/2) log z - z + log(2π)/2 + e(z),        e(z) = 1/12z - 1/360z³ + …

lets the large terms cancel on paper instead of in floating point.

Differences of logarithms and of log Γ that keep their digits where subtracting two large numbers would lose them.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array

__all__ = [
    "STIRLING",
    "entropy_excess",
    "log_arrangements",
    "log_beta_kernel",
    "log_excess",
    "log_excess_at",
    "log_gamma_ratio",
    "log_polya",
    "stirling_error",
]

T = TypeVar("T", float, Array)

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)  # of 1/z, 1/z³, …: from 16 on the next is below 1e-16


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


def log_excess(u: Array, ratio: Array | None = None) -> Array:
    """The difference log(1 + u) - u for u > -1, keeping its digits around 0, where it is -u²/2.

    `ratio` is 1 + u where it is known with more digits than u has near -1.
    """
    near = np.abs(u) < 0.1
    small = np.where(near, u, 0.0)
    log = np.log1p(u) if ratio is None else np.log(ratio)
    return np.asarray(np.where(near, _small_log_excess(small), log - u))


def log_excess_at(u: float, log: float) -> float:
    """The same for one number whose log(1 + u) is known."""
    return _small_log_excess(u) if abs(u) < 0.1 else log - u


def stirling_error(z: ArrayLike) -> Array:
    """The rest log Γ(z) - (z - 1/2) log z + z - log(2π)/2: from 16 on its series, whose next term is below 1e-16."""
    from scipy.special import gammaln

    argument = np.asarray(z, dtype=float)
    inverse = 1.0 / np.maximum(argument, 16.0)
    square = inverse * inverse
    series = inverse * sum(coefficient * square**power for power, coefficient in enumerate(STIRLING))
    small = np.minimum(argument, 16.0)
    direct = gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.asarray(np.where(argument < 16.0, direct, series))


def entropy_excess(u: ArrayLike) -> Array:
    """(1 + u) log(1 + u) - u for u > -1, keeping its digits around 0, where it is u²/2."""
    argument = np.asarray(u, dtype=float)
    near = np.abs(argument) < 0.1
    small, large = np.where(near, argument, 0.0), np.where(near, 1.0, argument)
    return np.asarray(np.where(near, (1 + small) * log_excess(small) + small**2, (1 + large) * np.log1p(large) - large))


def _small_log_excess(u: T) -> T:
    # log(1 + u) = 2 artanh(s), s = u / (2 + u), and 2s - u = -s u; the series of artanh stops below 1e-17
    s = u / (2 + u)
    w = s * s
    return 2 * s * w * (1 / 3 + w * (1 / 5 + w * (1 / 7 + w * (1 / 9 + w * (1 / 11 + w / 13))))) - s * u


def log_arrangements(totals: ArrayLike, concentration: float | None) -> Array:
    """Log of N! Γ(A) / Γ(N + A), or log N! where the cell probabilities are given and there is no A."""
    from scipy.special import gammaln

    if concentration is None:
        return np.asarray(gammaln(np.asarray(totals, dtype=float) + 1.0))
    return np.asarray(log_gamma_ratio(totals, 1.0, concentration) + gammaln(concentration))
