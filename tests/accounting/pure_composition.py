"""Optimal composition of equal pure releases: the profile of k adaptive epsilon-DP releases  [KOV2015, Thm 3.3].

delta(e') = sum_i C(k, i) p^i (1 - p)^(k - i) (1 - e^(e' - (2i - k) epsilon))_+,     p = e^epsilon / (1 + e^epsilon)
"""

import math

import numpy as np

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.rounding import ULPS, outward_delta
from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import entropy_excess, stirling_error

__all__ = ["composed_pure_delta", "composed_pure_epsilon"]


# What a binomial probability may be wrong by, relative to itself.
BINOMIAL = 2e-13


def composed_pure_delta(level: float, count: int, epsilon: float) -> float:
    """Optimal profile of `count` adaptive `level`-DP releases, in O(count)  [KOV2015, Thm 3.3]."""
    losses, masses = _binomial_losses(level, count)
    return _delta_of(losses, masses, epsilon)


def composed_pure_epsilon(level: float, count: int, delta: float) -> float:
    """The smallest epsilon that optimal composition certifies at `delta`, rounded up."""
    losses, masses = _binomial_losses(level, count)
    return solve_decreasing(lambda epsilon: _delta_of(losses, masses, epsilon), delta)


def _binomial_losses(level: float, count: int) -> tuple[Array, Array]:
    """Losses (2i - count) · level and their Binomial(count, 1 / (1 + e^-level)) probabilities, by Loader's formula."""
    if not (0.0 < level <= 700.0 and count >= 1):
        raise GuaranteeError(f"level must be in (0, 700] and count at least 1, got {level!r} and {count!r}")
    p, q = 1 / (1 + math.exp(-level)), 1 / (1 + math.exp(level))
    i = np.arange(count + 1.0)
    inner, rest = i[1:-1], (count - i)[1:-1]
    # log pmf = - kp h(i/kp - 1) - kq h((k-i)/kq - 1) + Stirling terms, h(u) = (1 + u) log(1 + u) - u
    deviance = count * p * entropy_excess((inner - count * p) / (count * p)) + count * q * entropy_excess(
        (rest - count * q) / (count * q)
    )
    spread = 0.5 * np.log(count / (2 * math.pi * inner * rest))
    correction = stirling_error(count) - stirling_error(inner) - stirling_error(rest)
    log_mass = np.concatenate([[count * math.log(q)], spread + correction - deviance, [count * math.log(p)]])
    return (2 * i - count) * level, np.exp(log_mass)


def _delta_of(losses: Array, masses: Array, epsilon: float) -> float:
    start = int(np.searchsorted(losses, epsilon, side="right"))
    gains = -np.expm1(epsilon - losses[start:] * (1.0 + ULPS))
    return outward_delta(float(masses[start:] @ gains) * (1.0 + BINOMIAL)) if gains.size else 0.0
