"""How private one untempered posterior draw is for a given table: Beta posteriors cut to [a0, 1 - a0].

Between tables with k and k + 1 ones among n, the log-ratio of the two densities at p is logit p, up to the ratio of the
normalisers, so that the largest one is                                              [Foulds et al. 2016, supplement]

    C + max_{k' = k ± 1} |log Z(k') / Z(k)|,    C = log((1 - a0) / a0),    Z(k) = ∫ p^{k+a-1} (1-p)^{n-k+b-1} dp

It stays below 2C and comes near it only for tables that are made for the purpose. Z(k ± 1) / Z(k) is the average of the
odds, or of their inverse, over the cut posterior: a ratio of two integrals around one peak, which does not cancel.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.numerics.arrays import Array

__all__ = ["greedy_adversary", "local_epsilon"]


NODES = 100
NEGLIGIBLE = 45.0  # nats below its peak, where what is left of the integrand is below every digit


def local_epsilon(successes: int, n: int, truncation: float, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """The pure differential privacy of one draw at a table of n records with this many ones, over its neighbours."""
    truncation = positive("local_epsilon.truncation", truncation, below=0.5, error=QueryError)
    if not 0 <= successes <= n or n < 1:
        raise QueryError(f"local_epsilon.successes must be from 0 to n, got {successes!r} of {n!r}")
    most = math.log1p((1.0 - 2.0 * truncation) / truncation)
    shifts = [step for step, exists in ((1.0, successes < n), (-1.0, successes > 0)) if exists]
    y, weights = _logit_law(successes + prior[0], n - successes + prior[1], most)
    return most + max(abs(math.log(float(weights @ np.exp(shift * y)))) for shift in shifts)


def greedy_adversary(
    n: int, truncation: float, prior: tuple[float, float] = (1.0, 1.0)
) -> tuple[NDArray[np.int64], Array]:
    """Ones and local epsilon after 1, ..., n records of an adversary who adds the outcome that hurts most each time."""
    successes, worst = np.zeros(n, dtype=np.int64), np.zeros(n)
    k = 0
    for size in range(1, n + 1):
        zero, one = (local_epsilon(ones, size, truncation, prior) for ones in (k, k + 1))
        k += one > zero * (1.0 + 1e-12)  # where both hurt the same, as the two ends of one worst pair do, a zero
        successes[size - 1], worst[size - 1] = k, max(zero, one)
    return successes, worst


def _logit_law(a: float, b: float, most: float) -> tuple[Array, Array]:
    """Nodes and weights of the logit of Beta(a, b) given that it is within [-most, most]."""

    def height(y: Array | float) -> Array:
        return np.asarray(-a * np.logaddexp(0.0, -np.asarray(y)) - b * np.logaddexp(0.0, y))

    peak = min(max(math.log(a / b), -most), most)
    low, high = (_reach(lambda y: float(height(y) - height(peak)), peak, end) for end in (-most, most))
    nodes, weights = _rule()
    y = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    mass = weights * np.exp(height(y) - height(peak))
    return y, mass / mass.sum()


@cache
def _rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _reach(height: Callable[[float], float], peak: float, end: float) -> float:
    """Where a concave function has fallen by what is negligible on the way from its peak to the end, or the end."""
    if height(end) > -NEGLIGIBLE:
        return end
    inside, outside = peak, end
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if height(middle) > -NEGLIGIBLE else (inside, middle)
    return outside
