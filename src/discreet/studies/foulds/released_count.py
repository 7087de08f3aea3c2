"""One noisy count: how far a draw given it is from the truth, at one p, and an estimate on average over p.

    y = k + discrete Laplace noise of scale 1/epsilon

    noise-aware    weights of the unseen count j ∝ P(j) P(y - j), then a draw from Beta(j + 1, n - j + 1)
    plug-in        j is y itself, clipped to 0 … n

Exact sums over the count, the noise and the unseen count; only the paper's noisy counts are simulated here.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array

__all__ = ["average_estimate_error", "mean_error", "plug_in_error", "simulated_noisy_counts"]

NEGLIGIBLE = 32.0  # in scales of the noise: e^-32


def mean_error(n: int, p: float, epsilon: float) -> float:
    """E|draw - p| at a fixed p, of a draw of the posterior under a uniform prior."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    behind = _given_counts(n, epsilon, binom.pmf(k, n, p))
    return float(behind @ _distance(k + 1.0, n - k + 1.0, p))


def plug_in_error(n: int, p: float, epsilon: float) -> float:
    """E|draw - p| at a fixed p, of a draw that takes the noisy count at face value."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    chance = binom.pmf(k, n, p)
    seen = np.flatnonzero(chance > 1e-16)
    reach = math.ceil(NEGLIGIBLE / epsilon)
    released = np.arange(seen[0] - reach, seen[-1] + reach + 1)
    at = _noise(released[:, None] - seen, epsilon) @ chance[seen]
    x = np.clip(released, 0, n)
    return float(at @ _distance(x + 1.0, n - x + 1.0, p) / at.sum())


def average_estimate_error(n: int, epsilon: float) -> float:
    """E|posterior mean - p| with p from the prior: what the same release is worth to whoever wants one number."""
    k, reach = np.arange(n + 1), math.ceil(NEGLIGIBLE / epsilon)
    law = _noise(np.arange(-reach, n + reach + 1)[:, None] - k, epsilon)  # every count is as likely as any other
    estimates = law @ ((k + 1.0) / (n + 2.0)) / law.sum(axis=1)
    apart = sum(law[:, ones] @ _distance(ones + 1.0, n - ones + 1.0, estimates) for ones in k)
    return float(apart / law.sum())


def simulated_noisy_counts(n: int, epsilon: float, runs: int, rng: np.random.Generator) -> Array:
    """Distances of draws from p, p from the uniform prior: two noisy counts, clipped at 0, at face value."""
    p = rng.random(runs)
    k = rng.binomial(n, p)
    x, y = (np.maximum(0.0, count + rng.laplace(0, 2 / epsilon, runs)) for count in (k, n - k))
    return np.abs(rng.beta(x + 1, y + 1) - p)


def _given_counts(n: int, epsilon: float, chance: Array) -> Array:
    """Law of the count behind the draw: true counts have probabilities `chance`, the prior expects them all alike."""
    seen = np.flatnonzero(chance > 1e-16)
    found = np.zeros(n + 1)
    reach = math.ceil(NEGLIGIBLE / epsilon)
    released = np.arange(seen[0] - reach, seen[-1] + reach + 1)
    for y in np.array_split(released, max(1, released.size * (n + 1) // 4_000_000)):
        at_y = _noise(y[:, None] - seen, epsilon) @ chance[seen]
        posterior = _noise(y[:, None] - np.arange(n + 1), epsilon)
        found += at_y @ (posterior / posterior.sum(axis=1, keepdims=True))
    return np.asarray(found / found.sum())


def _noise(z: ArrayLike, epsilon: float) -> Array:
    """Discrete Laplace: tanh(epsilon/2) e^(-epsilon |z|), with a floor that never decides."""
    return np.asarray(math.tanh(epsilon / 2) * np.exp(-np.minimum(epsilon * np.abs(z), 700.0)))


def _distance(a: ArrayLike, b: ArrayLike, p: ArrayLike) -> Array:
    """E|X - p| of X ~ Beta(a, b): E X - p + 2 E(p - X)_+."""
    from scipy.special import betainc

    a, b, p = (np.asarray(value, dtype=float) for value in (a, b, p))
    share = a / (a + b)
    return np.asarray(share - p + 2 * (p * betainc(a, b, p) - share * betainc(a + 1, b, p)))
