"""Profiles and Rényi curves of the plain notions, rounded outward. Formulas that lose no digits at any level or order.

    Gaussian        delta = φ(t) (M(t) - M(t + mu)),  t = epsilon/mu - mu/2,  M = Mills' ratio
    pure            e^((a-1) R) = 1 + 2 sinh(h) (sinh(h) + tanh(e/2) cosh(h)),  h = (a-1) e/2
    bounded range   R = (log(1 + w b) - w log(1 + b)) / w,  w = (a-1)/a,
                    1 + b = e^-e (1 - e^(-(a-1)e)) / ((a-1)(1 - e^-e))

The last is the closed supremum over the offsets of two-point pairs: with X = e^t the moment is A X^(a-1) - B X^a,
A - B = 1 and B = (a-1)(1 + b), which is largest at X = (a-1) A / (a B): a gap in Jensen's inequality for the logarithm.
"""

import math
from functools import lru_cache

import numpy as np

from discreet.accounting.rounding import SMALLEST_DELTA, ULPS, outward, outward_delta
from discreet.numerics.gamma_functions import log_excess_at

__all__ = [
    "bounded_range_delta",
    "bounded_range_renyi",
    "gaussian_delta",
    "gaussian_renyi",
    "pure_delta",
    "pure_renyi",
    "zcdp_renyi",
]


CLOSE = 0.9  # two tails whose ratio is larger are not subtracted
NODES = 10
FAR = 3.0
LARGEST_LOG = 700.0
SMALLEST_WEIGHT = 2.0**-52  # of order - 1: the curve increases with the order and has a limit at 1


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Exact profile of mu-Gaussian DP, Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2)  [DRS2022, Cor. 2.13]."""
    from scipy.special import ndtr

    middle = min(epsilon / mu, 1e300)
    t = middle - mu / 2 - ULPS * (middle + mu / 2)  # a smaller epsilon, which has the larger delta
    if t > 39.0:
        return SMALLEST_DELTA
    before, after = _mills(t), _mills(t + mu)
    if after < CLOSE * before:
        above = _density(t) * before if t > 0 else float(ndtr(-t))
        return outward_delta(above * (1.0 - after / before))
    # two nearly equal tails: the integral of 1 - x M(x) = -M'(x), which is positive
    fall = math.fsum(weight * _mills_fall(t + mu * node) for node, weight in _gauss_legendre())
    return outward_delta(_density(t) * (mu * fall))


def gaussian_renyi(mu: float, order: float) -> float:
    """Renyi curve of mu-Gaussian DP: a mu²/2."""
    return outward(order * mu * mu / 2)


def zcdp_renyi(rho: float, order: float) -> float:
    """Renyi curve of rho-zCDP: a single product, rounded up."""
    return math.nextafter(rho * order, math.inf)


def pure_delta(level: float, epsilon: float) -> float:
    """Profile of `level`-DP: (e^level - e^epsilon)_+ / (1 + e^level)  [KOV2015, k = 1]."""
    if epsilon >= level:
        return 0.0
    return outward_delta(-math.expm1(epsilon - level) / (1.0 + math.exp(-level)))


def pure_renyi(level: float, order: float) -> float:
    """Tight Renyi curve of pure DP: e - log((1 + e^-e) / (1 + e^-(2a-1)e)) / (a - 1)."""
    if math.isinf(order):
        return level
    less = order - 1.0
    half = less * level / 2
    if half > 1.0:
        excess = math.log1p(math.exp(-level)) - math.log1p(math.exp(-(2 * order - 1) * level))
        curve = level - excess / less
    elif half > 0.0:
        gain = 2 * math.sinh(half) * (math.sinh(half) + math.tanh(level / 2) * math.cosh(half))
        curve = math.log1p(gain) / less
    else:
        curve = level * math.tanh(level / 2)
    return min(outward(curve), level)


def bounded_range_delta(level: float, epsilon: float) -> float:
    """Profile of `level`-bounded range: (1 - e^{(epsilon - level)/2})² / (1 - e^-level)  [DDR2020, Thm 3]."""
    if epsilon >= level:
        return 0.0
    return outward_delta(math.expm1((epsilon - level) / 2) ** 2 / -math.expm1(-level))


def bounded_range_renyi(level: float, order: float) -> float:
    """Renyi curve of bounded range: the worst offset t of log(q e^{at} + (1-q) e^{a(t-e)}) / (a-1) in closed form."""
    if math.isinf(order):
        return level
    log_share = _log_share(level, order - 1.0)
    if -log_share > LARGEST_LOG:  # its exponential is no double; the level itself is a bound, and close to the curve
        return level
    if order >= 2.0:
        curve = _jensen_gap(1.0 / order, -log_share) * order / (order - 1.0)
    else:
        weight = max(order - 1.0, SMALLEST_WEIGHT) / order
        curve = _jensen_gap(weight, log_share) / weight
    return min(outward(curve), level)


def _jensen_gap(weight: float, log: float) -> float:
    """The gap log(1 + w x) - w log(1 + x) ≥ 0 at x = e^log - 1 and w ≤ 1/2, without its linear parts."""
    x = math.expm1(log)
    if x > 1.0:
        return math.log1p(weight * x) - weight * log
    return log_excess_at(weight * x, math.log1p(weight * x)) - weight * log_excess_at(x, log)


def _log_share(level: float, less: float) -> float:
    """The logarithm of e^-e (1 - e^-se) / (s (1 - e^-e)), s = order - 1: never above 0, -(s + 1) e/2 for small s e."""
    if less * level >= 1.0:
        return -level + math.log(-math.expm1(-less * level)) - math.log(-less * math.expm1(-level))
    return -(less + 1.0) * level / 2 + _log_sinhc(less * level / 2) - _log_sinhc(level / 2)


def _log_sinhc(y: float) -> float:
    """The logarithm of sinh(y)/y."""
    if y > 0.5:
        return y + math.log(-math.expm1(-2 * y)) - math.log(2 * y)
    w = y * y
    return math.log1p(w / 6 * (1 + w / 20 * (1 + w / 42 * (1 + w / 72 * (1 + w / 110 * (1 + w / 156))))))


def _density(t: float) -> float:
    """The normal density with all its digits in the tail: the square is taken in two parts."""
    near = math.floor(t * 16) / 16
    return math.exp(-near * near / 2) * math.exp(-(t - near) * (t + near) / 2) / math.sqrt(2 * math.pi)


def _mills(x: float) -> float:
    """Mills' ratio Phi(-x)/phi(x)."""
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _mills_fall(x: float) -> float:
    """1 - x M(x): from 3 on K / (x + K) by the continued fraction K = 1/(x + 2/(x + 3/(x + …))), all of it positive."""
    if x < FAR:
        return 1.0 - x * _mills(x)
    tail = x
    for level in range(12 + int(320 / (x * x)), 1, -1):
        tail = x + level / tail
    return 1.0 / (tail * x + 1.0)


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[tuple[float, float], ...]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return tuple(zip(((nodes + 1.0) / 2).tolist(), (weights / 2).tolist(), strict=True))
