"""One noisy count and an honest draw: how far a draw of the posterior given the count is from the truth on average.

    y = k + discrete Laplace noise of scale 1/epsilon,   weights of the unseen count j ∝ P(j) P(y - j),   draw from
    Beta(j + 1, n - j + 1) on [low, 1 - low], for a uniform prior on that interval

Exact sums over the count, the noise and the unseen count; only the two methods of the paper are simulated here. All
three share the prior: a draw outside the interval is drawn again, which makes it a draw of the cut posterior.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array

__all__ = ["average_error", "average_estimate_error", "mean_error", "simulated_errors"]

NEGLIGIBLE = 32.0  # in scales of the noise: e^-32
NODES = 4000  # of the interval of p, for distances of two draws


def mean_error(n: int, p: float, epsilon: float, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """E|draw - p| at a fixed p, for a Beta prior on the whole interval."""
    from scipy.stats import betabinom, binom

    k = np.arange(n + 1)
    expected = betabinom.pmf(k, n, *prior)
    behind = _given_counts(n, epsilon, binom.pmf(k, n, p), np.asarray(expected))
    return float(behind @ _distance(k + prior[0], n - k + prior[1], p, 0.0))


def average_error(n: int, epsilon: float, low: float = 0.0) -> float:
    """E|draw - p| with p from the prior: given k, p has the same cut Beta law as a draw, and is independent of it."""
    from scipy.special import betainc

    k, inside = np.arange(n + 1), _inside(n, low)
    # Gauss-Legendre in an angle: p = sin², which resolves both ends
    nodes, weights = np.polynomial.legendre.leggauss(400 + 2 * n)
    first, last = (math.asin(math.sqrt(end)) for end in (low, 1 - low))
    angle = first + (last - first) / 2 * (nodes + 1)
    p, mass = np.sin(angle) ** 2, weights * (last - first) / 2 * np.sin(2 * angle)
    a, b = k[:, None] + 1.0, n - k[:, None] + 1.0
    below = (betainc(a, b, p) - betainc(a, b, low)) / inside[:, None]
    apart = (below * mass) @ (1 - below).T
    apart = apart + apart.T  # E|X - Y| = ∫ F(1 - G) + G(1 - F)
    chance, law, posterior = _released(n, epsilon, inside)
    joint = chance[:, None] * (law.T @ posterior)
    return float((joint * apart).sum() / joint.sum())


def average_estimate_error(n: int, epsilon: float, low: float = 0.0) -> float:
    """E|posterior mean - p| with p from the prior: what the same release is worth to whoever wants one number."""
    inside = _inside(n, low)
    chance, law, posterior = _released(n, epsilon, inside)
    k = np.arange(n + 1)
    # a count whose law has no mass inside has no weight either
    mean = np.clip((k + 1.0) / (n + 2.0) * _mass(k + 2.0, n - k + 1.0, low) / inside, low, 1 - low)
    estimates = posterior @ mean
    joint = law * chance
    return float(
        sum(joint[:, ones] @ _distance(ones + 1.0, n - ones + 1.0, estimates, low) for ones in k) / joint.sum()
    )


def _released(n: int, epsilon: float, inside: Array) -> tuple[Array, Array, Array]:
    """Prior law of the count; law of what is released given the count; law of the count given what is released."""
    reach = math.ceil(NEGLIGIBLE / epsilon)
    chance = inside / inside.sum()
    law = _noise(np.arange(-reach, n + reach + 1)[:, None] - np.arange(n + 1), epsilon)
    posterior = law * chance
    return chance, law, posterior / posterior.sum(axis=1, keepdims=True)


def simulated_errors(
    n: int, epsilon: float, truncation: float, low: float, runs: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Distances of draws from p, p from the uniform prior on [low, 1 - low], by the two methods of the paper."""
    p = low + (1 - 2 * low) * rng.random(runs)
    k = rng.binomial(n, p)
    x, y = (np.maximum(0.0, count + rng.laplace(0, 2 / epsilon, runs)) for count in (k, n - k))
    temperature = max(1.0, 2 * math.log((1 - truncation) / truncation) / epsilon)
    tempered = _cut_draws(k / temperature + 1, (n - k) / temperature + 1, truncation, rng)
    return {"OPS": np.abs(tempered - p), "noisy counts": np.abs(_cut_draws(x + 1, y + 1, low, rng) - p)}


def _cut_draws(a: Array, b: Array, low: float, rng: np.random.Generator) -> Array:
    """One draw of each Beta(a, b) on [low, 1 - low]: drawn again until inside, by inversion where that is rare."""
    from scipy.special import betainc, betaincinv

    drawn = rng.beta(a, b)
    for _ in range(20):
        outside = (drawn < low) | (drawn > 1 - low)
        drawn[outside] = rng.beta(a[outside], b[outside])
    far = np.flatnonzero((drawn < low) | (drawn > 1 - low))
    ends = [betainc(a[far], b[far], end) for end in (low, 1 - low)]
    drawn[far] = betaincinv(a[far], b[far], ends[0] + rng.random(far.size) * (ends[1] - ends[0]))
    return np.clip(drawn, low, 1 - low)


def _inside(n: int, low: float) -> Array:
    """Mass of Beta(j + 1, n - j + 1) on the interval, for every j."""
    a = np.arange(n + 1) + 1.0
    return np.maximum(_mass(a, n + 2.0 - a, low), 1e-300)


def _mass(a: ArrayLike, b: ArrayLike, low: float) -> Array:
    from scipy.special import betainc

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return np.asarray(betainc(a, b, 1 - low) - betainc(a, b, low))


def _given_counts(n: int, epsilon: float, chance: Array, expected: Array) -> Array:
    """Law of the count behind the draw: true counts have probabilities `chance`, the prior expects others."""
    seen = np.flatnonzero(chance > 1e-16)
    found = np.zeros(n + 1)
    reach = math.ceil(NEGLIGIBLE / epsilon)
    released = np.arange(seen[0] - reach, seen[-1] + reach + 1)
    for y in np.array_split(released, max(1, released.size * (n + 1) // 4_000_000)):
        at_y = _noise(y[:, None] - seen, epsilon) @ chance[seen]
        posterior = _noise(y[:, None] - np.arange(n + 1), epsilon) * expected
        found += at_y @ (posterior / posterior.sum(axis=1, keepdims=True))
    return np.asarray(found / found.sum())


def _noise(z: ArrayLike, epsilon: float) -> Array:
    """Discrete Laplace: tanh(epsilon/2) e^(-epsilon |z|), with a floor that never decides."""
    return np.asarray(math.tanh(epsilon / 2) * np.exp(-np.minimum(epsilon * np.abs(z), 700.0)))


def _distance(a: ArrayLike, b: ArrayLike, p: ArrayLike, low: float) -> Array:
    """E|X - p| of X ~ Beta(a, b) on [low, 1 - low]: E X - p + 2 E(p - X)_+."""
    from scipy.special import betainc

    a, b, p = (np.asarray(value, dtype=float) for value in (a, b, p))
    at_low, at_p, at_high = (betainc(a, b, end) for end in (low, p, 1 - low))
    first_low, first_p, first_high = (a / (a + b) * betainc(a + 1, b, end) for end in (low, p, 1 - low))
    whole = first_high - first_low - p * (at_high - at_low) + 2 * (p * (at_p - at_low) - (first_p - first_low))
    return np.asarray(whole / np.maximum(at_high - at_low, 1e-300))
