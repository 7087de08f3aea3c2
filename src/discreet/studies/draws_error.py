"""How far one released draw is from the truth on average: E|draw - p|, without simulation.

    exact posterior     Beta(k + a, n - k + b)                                                    (not private)
    tempered            Beta((k + a - 1)/T + 1, (n - k + b - 1)/T + 1) cut to [a0, 1 - a0],  T = 2C/epsilon
    noisy counts        Beta(x + a, y + b),  x = max(0, k + L), y = max(0, n - k + L'),  L ~ Laplace(2/epsilon)

with k ~ Binomial(n, p), as in [Foulds et al. 2016, Figure 2]. Sums over k are complete to 1e-15; a draw's mean distance
is a difference of incomplete beta functions, and the noise is integrated by Gauss rules in its own weight.

What one draw is worth for prediction: the expected log-likelihood of held-out records, per record.

    E log p(x | theta) = rate ψ(A) + (1 - rate) ψ(B) - ψ(A + B),    theta ~ Beta(A, B)      [Geumlek et al. 2017, A.5]

A = a/m + r k and B = b/m + r (n - k) are what a direct, diffused or concentrated draw is made from. A prior that
matches the truth rewards the draw that trusts it; a prior that does not punishes it.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.mechanisms import ConjugateSample
from discreet.models import BetaBernoulli
from discreet.numerics.arrays import Array
from discreet.schema import Binary, Schema

__all__ = [
    "crossing",
    "heated_error",
    "held_out",
    "laplace_error",
    "posterior_error",
    "relative_variance",
    "tempered_error",
]

NODES = 24  # of each half of the Laplace law
UNIFORM = (1.0, 1.0)


def posterior_error(n: int, p: float, *, prior: tuple[float, float] = UNIFORM) -> float:
    """One draw of the posterior itself."""
    k, chance = _counts(n, p)
    return float(chance @ _distance(k + prior[0], n - k + prior[1], p, 0.0, 1.0))


def tempered_error(
    n: int, p: float, *, epsilon: float, truncation: float, prior: tuple[float, float] = UNIFORM
) -> float:
    """One draw of the tempered posterior on [truncation, 1 - truncation], which is epsilon-DP."""
    temperature = max(1.0, 2.0 * math.log((1.0 - truncation) / truncation) / epsilon)
    return heated_error(n, p, temperature=temperature, truncation=truncation, prior=prior)


def heated_error(
    n: int, p: float, *, temperature: float, truncation: float, prior: tuple[float, float] = UNIFORM
) -> float:
    """The same at any temperature."""
    k, chance = _counts(n, p)
    a, b = (k + prior[0] - 1.0) / temperature + 1.0, (n - k + prior[1] - 1.0) / temperature + 1.0
    return float(chance @ _distance(a, b, p, truncation, 1.0 - truncation))


def laplace_error(n: int, p: float, *, epsilon: float, prior: tuple[float, float] = UNIFORM) -> float:
    """One draw of the posterior that takes two noisy counts, clipped at 0, at face value."""
    k, chance = _counts(n, p)
    (x, at_x), (y, at_y) = (_noisy_count(count, 2.0 / epsilon) for count in (k, n - k))
    distance = _distance(x[:, :, None] + prior[0], y[:, None, :] + prior[1], p, 0.0, 1.0)
    return float(np.einsum("k,kx,ky,kxy->", chance, at_x, at_y, distance))


def crossing(p: float, *, epsilon: float, truncation: float, most: int = 10_000) -> int:
    """The first n at which noisy counts err less than the tempered posterior; `most` if there is none before it."""
    low, high = 0, 1
    while high < most and not _laplace_wins(high, p, epsilon, truncation):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _laplace_wins(middle, p, epsilon, truncation) else (middle, high)
    return min(high, most)


def relative_variance(n: int, p: float, temperature: float = 1.0, *, prior: tuple[float, float] = UNIFORM) -> float:
    """The variance of one draw over p (1 - p) / n, an efficient estimate's: tends to 1 + temperature  [F, Thm 5]."""
    k, chance = _counts(n, p)
    a, b = (k + prior[0] - 1.0) / temperature + 1.0, (n - k + prior[1] - 1.0) / temperature + 1.0
    mean = a / (a + b)
    within = mean * (1.0 - mean) / (a + b + 1.0)
    centre = chance @ mean
    return float(n * chance @ (within + (mean - centre) ** 2) / (p * (1.0 - p)))


def _laplace_wins(n: int, p: float, epsilon: float, truncation: float) -> bool:
    return laplace_error(n, p, epsilon=epsilon) < tempered_error(n, p, epsilon=epsilon, truncation=truncation)


def _counts(n: int, p: float) -> tuple[Array, Array]:
    """The counts within nine deviations and their binomial probabilities."""
    from scipy.special import gammaln, xlog1py, xlogy

    spread = 9.0 * math.sqrt(n * p * (1.0 - p)) + 40.0
    k = np.arange(max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread)) + 1, dtype=float)
    log_chance = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0) + xlogy(k, p) + xlog1py(n - k, -p)
    chance = np.exp(log_chance - log_chance.max())
    keep = chance > 1e-18
    return k[keep], np.asarray(chance[keep] / chance[keep].sum())


def _distance(a: ArrayLike, b: ArrayLike, p: float, low: float, high: float) -> Array:
    """E|X - p| of X ~ Beta(a, b) given that it is within [low, high], for p in between: E X - p + 2 E (p - X)_+."""
    from scipy.special import betainc

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    share = a / (a + b)
    at_low, at_p, at_high = (betainc(a, b, x) for x in (low, p, high))
    first_low, first_p, first_high = (share * betainc(a + 1.0, b, x) for x in (low, p, high))
    inside = first_high - first_low - p * (at_high - at_low) + 2.0 * (p * (at_p - at_low) - (first_p - first_low))
    return np.asarray(inside / (at_high - at_low))


def _noisy_count(count: Array, scale: float) -> tuple[Array, Array]:
    """Nodes and weights of max(0, count + Laplace(scale)): an atom at 0, a cut exponential below, one above."""
    nodes, weights = np.polynomial.laguerre.laggauss(NODES)
    above = count[:, None] + scale * nodes
    flat, flat_weights = np.polynomial.legendre.leggauss(NODES)
    length = np.minimum(count / scale, 40.0)[:, None]
    t = 0.5 * length * (flat + 1.0)
    below, at_below = count[:, None] - scale * t, 0.25 * length * flat_weights * np.exp(-t)
    atom = 0.5 * np.exp(-count / scale)[:, None]
    mass = np.concatenate([atom, at_below, np.broadcast_to(0.5 * weights, above.shape)], axis=1)
    return np.concatenate([np.zeros_like(atom), below, above], axis=1), mass / mass.sum(axis=1, keepdims=True)


def held_out(mechanism: ConjugateSample, prior: tuple[float, float], successes: int, n: int, rate: float) -> float:
    """Expected log-likelihood of a new record that is 1 with probability `rate`, under a draw given k ones of n."""
    from scipy.special import digamma

    query = BetaBernoulli("x", prior=prior).query(Schema({"x": Binary()}, n=n))
    r, m = mechanism.fractions(query)
    a, b = prior[0] / m + r * successes, prior[1] / m + r * (n - successes)
    return float(rate * digamma(a) + (1.0 - rate) * digamma(b) - digamma(a + b))
