"""Differences of logarithms and of log Γ that keep their digits where subtracting two large numbers would lose them."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array

__all__ = ["STIRLING", "entropy_excess", "log_excess", "log_excess_at", "stirling_error"]

T = TypeVar("T", float, Array)

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)  # of 1/z, 1/z³, …: from 16 on the next is below 1e-16


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
