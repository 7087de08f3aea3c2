"""What a tempered draw of one probability costs among tables of a public number of records, exactly.

    ε(T, n) = C/T + max( -log E_F[e^{t/T}], -log E_S[e^{t/T}] ),    C = log((1 - a0)/a0)

t is the logit of the level that nobody has, in the law of a draw where all n records are failures (F) or successes (S):
posterior_sample.md, Theorem 5. With few records a draw stays near the middle, both terms are near 0, and half of the
temperature that is safe for every n is enough.

The integrals are Gauss sums over short pieces, whose integrand is analytic: their relative error is below 1e-16, and
`MARGIN` is added for roundings.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.bounded_losses import ROUND_UP, log_ratio
from discreet.numerics.arrays import Array

__all__ = ["Cooled", "coolest"]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
STEEP = 8.0  # how far the logarithm of the integrand changes on half of a piece
STEEPEST = 2048.0  # where laws are so narrow that n has no say any more, the temperature for every n is taken
MARGIN = 1e-10  # above the roundings of the largest exponents
STEPS = 24  # of the search, each halving what is between


@dataclass(frozen=True)
class Cooled:
    """A temperature, and the pure epsilon of one draw."""

    temperature: float
    epsilon: float


def coolest(epsilon: float, lower: float, n: int, prior: tuple[float, float], flat: tuple[float, float]) -> Cooled:
    """The lowest temperature that was seen to meet epsilon, of Beta laws on [lower, 1 - lower].

    Exponents are (prior - flat)/T + flat, successes first, and every record adds 1/T to one of them.
    """
    spread = 2.0 * log_ratio(2, lower)
    everywhere = max(1.0, spread / epsilon * ROUND_UP)
    below = max(1.0, 0.5 * spread / epsilon)
    best = Cooled(everywhere, min(epsilon, spread * ROUND_UP))
    if max(*prior, *flat) * 2 + 1.0 + n / below > STEEPEST:
        return best
    low, high = 0, 2**STEPS  # in 2^-24 of the way from the safe end
    while low < high:
        step = (low + high + 1) // 2
        temperature = below if step == 2**STEPS else everywhere + (below - everywhere) * (step / 2**STEPS)
        level = _level(temperature, lower, n, prior, flat)
        if level <= epsilon:
            low, best = step, Cooled(temperature, level if temperature == 1.0 else epsilon)
        else:
            high = step - 1
    return best


def _level(temperature: float, lower: float, n: int, prior: tuple[float, float], flat: tuple[float, float]) -> float:
    """ε(T, n), rounded up."""
    weight, reach = 1.0 / temperature, log_ratio(2, lower)
    ones, zeros = ((own - even) * weight + even for own, even in zip(prior, flat, strict=True))
    records = weight * n
    falls = (_fall(a, b + records, weight, reach) for a, b in ((ones, zeros), (zeros, ones)))
    ends = weight * 2.0**-52 / lower  # the upper end is a rounded double
    return weight * reach + max(falls) + MARGIN + ends


def _fall(a: float, b: float, weight: float, reach: float) -> float:
    """-log E e^{weight t}, t the logit of a Beta(a, b) variable between -reach and reach."""
    steepest = a + b + weight
    pieces = math.ceil(reach / min(0.5, STEEP / steepest))
    half = reach / pieces
    middles = reach * (2.0 * np.arange(pieces) + 1.0 - pieces) / pieces
    t = middles[:, np.newaxis] + half * NODES
    logs = a * t - (a + b) * np.logaddexp(0.0, t)
    return float(_log_sum(logs) - _log_sum(logs + weight * t))


def _log_sum(logs: Array) -> float:
    """The logarithm of the Gauss sum, without the length of a piece."""
    top = logs.max()
    return float(top + math.log(float((np.exp(logs - top) @ WEIGHTS).sum())))
