"""How far one draw of a probability is from it, on average over its prior: exactly, from public facts alone.

    E|X - P| = Σ_k P(k) ∫ F_k (1 - G_k) + G_k (1 - F_k),     P | k ~ G_k = Beta(k + a, n - k + b),   X | k ~ F_k

Given the count k of ones, what a mechanism draws and the probability are independent. A released draw has a law F_k of
its own. Of a noisy count whoever reads it draws, in one of two ways, and F_k = Σ_j C(k, j) G_j:

    noise-aware    j is a count as it may have been, given the noisy one: the draw is one of the posterior
    plug-in        j is the noisy count itself, clipped to what is possible: over-confident, but closer where n is large

The second spreads less, so it errs less as soon as the noise is small beside n; before that the first does.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.errors import QueryError
from discreet.mechanisms import Mechanism
from discreet.mechanisms.draws.truncated_beta import log_mass
from discreet.models.base import Model
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_arrangements, log_polya
from discreet.queries.losses import Query

__all__ = ["DrawError", "draw_errors"]

MOST_ROWS = 2000  # tables of counts by counts
MOST_CELLS = 3 * 10**7  # of noisy counts by counts
NEGLIGIBLE = 32.0  # e^-32: the share of the noise that is left out
NODES = 64  # of an interval; more with n, as laws become narrow

Cut = tuple[float, float]


@dataclass(frozen=True)
class DrawError:
    """Mean distance of one draw from the probability, over the prior; of a noisy count, how it is read."""

    error: float
    reading: str = ""

    def __str__(self) -> str:
        return f"one draw errs {self.error:.4g}" + (f" ({self.reading})" if self.reading else "")


def draw_errors(model: Model, mechanism: Mechanism, query: Query) -> tuple[DrawError, ...]:
    """Of every way to get a draw from one release, the least error first."""
    prior = model.prior_of_a_count(query)
    if prior is None or query.largest_total > MOST_ROWS:
        limit = f"one probability of a public number of rows, at most {MOST_ROWS:,}"
        raise QueryError(f'compare by must be "estimate" for this model: what a draw errs is known of {limit}')
    n = query.largest_total
    k = np.arange(n + 1.0)
    chance, truth = _chances(k, n, prior), (k + prior[0], n - k + prior[1])
    drawn = mechanism.law_given(query, k)
    if drawn is not None:
        first, second, space = drawn
        return (DrawError(float(chance @ _apart((first, second), space, truth))),)
    (law,) = mechanism.laws(query).values()
    apart = _all_apart(truth, n)
    found = [
        DrawError(float(chance @ (behind * apart).sum(axis=1)), reading) for reading, behind in _behind(law, n, chance)
    ]
    return tuple(sorted(found, key=lambda one: one.error))


def _chances(k: Array, n: int, prior: tuple[float, float]) -> Array:
    """Beta-binomial probabilities of every count."""
    logs = log_polya(k, prior[0]) + log_polya(n - k, prior[1]) + log_arrangements(n, sum(prior))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _behind(law: NoiseLaw, n: int, chance: Array) -> tuple[tuple[str, Array], ...]:
    """For each reading the probability, given the true count, of the count that its draw is made from."""
    reach = math.ceil(law.reach(NEGLIGIBLE))
    if (2 * reach + n) * n > MOST_CELLS:
        raise QueryError('compare by must be "estimate" at this budget: the noise reaches too far beyond the counts')
    released, k = np.arange(-reach, n + reach + 1), np.arange(n + 1)
    seen = np.exp(law.log_density(released[:, np.newaxis] - k))
    seen /= seen.sum(axis=0)
    posterior = seen * chance
    total = posterior.sum(axis=1, keepdims=True)
    aware = seen.T @ np.divide(posterior, total, out=np.zeros_like(posterior), where=total > 0.0)
    clipped = seen[reach : reach + n + 1].copy()
    clipped[0] += seen[:reach].sum(axis=0)
    clipped[n] += seen[reach + n + 1 :].sum(axis=0)
    return ("noise-aware", aware), ("plug-in", clipped.T)


def _apart(drawn: tuple[Array, Array], space: Cut, truth: tuple[Array, Array]) -> Array:
    """E|X - P| for every count, X from its cut law and P from the posterior."""
    ends = (0.0, *(end for end in space if 0.0 < end < 1.0), 1.0)
    found = np.zeros(truth[0].shape)
    for low, high in pairwise(ends):  # a cut law has corners at its ends
        p, mass = _nodes(low, high, truth[0].size)
        x, y = _below(*drawn, p, space), _below(*truth, p, (0.0, 1.0))
        found += (x * (1.0 - y) + y * (1.0 - x)) @ mass
    return found


def _all_apart(truth: tuple[Array, Array], n: int) -> Array:
    """E|X - Y| for X and Y from the posteriors of every two counts."""
    p, mass = _nodes(0.0, 1.0, n)
    below = _below(*truth, p, (0.0, 1.0))
    one_way = (below * mass) @ (1.0 - below).T
    return np.asarray(one_way + one_way.T)


def _nodes(low: float, high: float, n: int) -> tuple[Array, Array]:
    """Gauss-Legendre in an angle, p = sin², which resolves both ends."""
    places, weights = np.polynomial.legendre.leggauss(NODES + 8 * math.isqrt(n))
    first, last = (math.asin(math.sqrt(end)) for end in (low, high))
    angle = first + (last - first) / 2.0 * (places + 1.0)
    return np.sin(angle) ** 2, weights * (last - first) / 2.0 * np.sin(2.0 * angle)


def _below(a: Array, b: Array, p: Array, space: Cut) -> Array:
    """P(X <= p) for laws (rows) at places (columns)."""
    from scipy.special import betainc

    a, b = a[:, np.newaxis], b[:, np.newaxis]
    if space == (0.0, 1.0):
        return np.asarray(betainc(a, b, p))
    low, high = space
    if p[-1] <= low or p[0] >= high:
        return np.full((a.size, p.size), float(p[0] >= high))
    return np.exp(np.minimum(log_mass(a, b, low, p) - log_mass(a, b, low, high), 0.0))
