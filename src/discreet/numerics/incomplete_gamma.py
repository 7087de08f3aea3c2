"""Tails of the Gamma law in logarithms, with their digits at every shape.

SciPy's incomplete gamma functions stop after 2,000 terms: beyond 4.5 deviations they keep three digits at a shape of
3e6, and are too small there. From a shape of 32 on a tail is its density times a smooth integral,

    P(X > x) = f ∫_0^∞ e^{-xs} (1 + s)^{a-1} ds,   P(X < x) = f ∫_0^1 e^{xs} (1 - s)^{a-1} ds,   f = x^a e^{-x} / Γ(a)

of which the one on x's own side is taken, by Gauss-Legendre; f by Stirling's formula, whose large terms cancel on
paper.
"""

import math
from functools import lru_cache

import numpy as np

from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_excess, stirling_error

__all__ = ["log_gamma_tail", "tail_error"]

LARGE_SHAPE = 32.0
DEEP = -45.0  # of log x: the lower tail is its leading term to every digit
NODES = 96
NOTHING = 42.0  # e^-42 of the largest value is below the last digit of the integral


def log_gamma_tail(shape: float, log_point: float, point: float, *, upper: bool) -> float:
    """The logarithm of P(X > x), or of P(X < x), at x = point; small points are taken from their logarithm."""
    if point == math.inf:
        return -math.inf if upper else 0.0
    if log_point < DEEP:
        below = min(shape * log_point - math.lgamma(1.0 + shape), 0.0)
        return _log_complement(below) if upper else below
    if shape < LARGE_SHAPE:
        from scipy.special import gammainc, gammaincc

        tail = float((gammaincc if upper else gammainc)(shape, point))
        return math.log(tail) if tail > 0.0 else -math.inf
    own = point >= shape
    found = min(_log_density(shape, point) + math.log(_integral(shape, point, own)), 0.0)
    return found if own == upper else _log_complement(found)


def tail_error(shape: float, log_tail: float) -> float:
    """How far a tail may be wrong, relative to itself, at a point that is itself rounded."""
    return 2.0**-45 + 2.0**-46 * math.sqrt(shape) - 2.0**-49 * max(log_tail, -1e3)


def _log_density(shape: float, point: float) -> float:
    """The logarithm of x^a e^{-x} / Γ(a)."""
    excess = float(log_excess(np.asarray((point - shape) / shape), np.asarray(point / shape)))
    return shape * excess + 0.5 * math.log(shape / (2 * math.pi)) - float(stirling_error(shape))


def _integral(shape: float, point: float, upper: bool) -> float:
    """The integral over s, of e to a concave function that is 0 at 0, up to where it has fallen by NOTHING."""
    slope, less = (point - shape + 1.0 if upper else shape - 1.0 - point), shape - 1.0

    def falls(s: Array) -> Array:
        return np.asarray(-slope * s + less * log_excess(s if upper else -s))

    end, most = 1.0 / math.sqrt(shape), math.inf if upper else 1.0
    while end < most and falls(np.array([end]))[0] > -NOTHING:
        end = min(1.2 * end, most)
    while falls(np.array([end / 2]))[0] < -NOTHING:
        end /= 2
    nodes, weights = _gauss_legendre()
    with np.errstate(divide="ignore"):  # the logarithm of 0 at the very end
        return float(end * (weights @ np.exp(falls(end * nodes))))


def _log_complement(log: float) -> float:
    """The logarithm of 1 - e^log."""
    if log >= 0.0:
        return -math.inf
    return math.log(-math.expm1(log)) if log > -0.7 else math.log1p(-math.exp(log))


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1.0) / 2, weights / 2
