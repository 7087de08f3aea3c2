"""Theta where scores are noisy counts of the target: slopes keep the prior's law, and the intercept has one number.

Given the slopes r and a law of the features the first coordinate of the pooled score is

    gbar_0 - E[gbar_0 | t, r]  ~  N(0, J_00(t, r) + s2 sum omega_k^2),       t the intercept

and what it says of t is no normal law: every intercept below what the noise can tell fits equally well. So t is summed
over a grid. Slopes are drawn from the prior, each beside its negative, and count by how likely they make the number;
the grid is cut into pieces of equal probability, each a normal law with the piece's own mean and variance.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.inference.scores.feature_law import inverse_root
from discreet.inference.scores.score_equation import ScoreEquation
from discreet.numerics.arrays import Array

__all__ = ["Intercepts", "drawn_slopes", "intercepts_of", "pieces_of"]

PAIRS = 1  # of slopes and their negatives, for every law of the features
PIECES = 32  # of equal probability, for every law on average
SMOOTH = 0.25  # the part of the slopes' deviation that lies within a piece, the rest between them
FAR, NODES = 6.0, 65  # deviations of the prior and of the straight law that the grid reaches, and nodes for each


class Intercepts(NamedTuple):
    """Under one law of the features: for every draw of slopes, the density of the intercept on a grid."""

    slopes: Array
    nodes: Array
    log_mass: Array  # (slopes, nodes), with the prior's constant


def drawn_slopes(precision: Array, laws: int, rng: np.random.Generator) -> Array:
    """Slopes under the prior, (laws, 2 PAIRS, directions), with their negatives; with its very covariance if many."""
    d, count = len(precision) - 1, laws * PAIRS
    normal = rng.normal(size=(count, d))
    if count > d:
        normal = normal @ inverse_root(normal.T @ normal / count)
    slopes = normal.reshape(laws, PAIRS, d) @ np.linalg.cholesky(_slopes_covariance(precision)).T
    return np.concatenate([slopes, -slopes], axis=1)


def intercepts_of(equation: ScoreEquation, precision: Array, slopes: Array, theta: Array) -> Intercepts:
    """Summed over a grid; `theta` is a place around which the straight law tells where nodes must be close."""
    deviation = precision[0, 0] ** -0.5
    centres = -slopes @ precision[1:, 0] / precision[0, 0]
    inner = FAR * (equation.straight(theta).precision[0, 0] + precision[0, 0]) ** -0.5
    outer = np.abs(centres).max() + FAR * deviation
    nodes = np.concatenate([np.linspace(-outer, outer, NODES), theta[0] + np.linspace(-inner, inner, NODES)])
    nodes = np.unique(np.clip(nodes, -outer, outer))
    log_density = np.array([_log_likelihood(equation, nodes, one) for one in slopes])
    log_density -= 0.5 * ((nodes - centres[:, np.newaxis]) / deviation) ** 2
    widths = np.diff(_edges(nodes)) / (deviation * np.sqrt(2.0 * np.pi))
    return Intercepts(slopes, nodes, log_density + np.log(widths))


def pieces_of(found: list[Intercepts], precision: Array, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Means and covariances of normal laws that count the same, and the logarithm of the evidence."""
    from scipy.special import logsumexp

    each = np.array([logsumexp(one.log_mass, axis=1) for one in found])
    total = float(logsumexp(each))
    # of every draw of slopes its part of them, rounded at random so that they sum up
    edges = np.cumsum(np.exp(each - total)) * (PIECES * len(found))
    counts = np.diff(np.floor(np.concatenate([[0.0], edges]) + rng.random())).astype(int).reshape(each.shape)
    means, variances = [], []
    for one, own in zip(found, counts, strict=True):
        for slopes, log_mass, count in zip(one.slopes, one.log_mass, own, strict=True):
            for mean, variance in _cut(one.nodes, np.exp(log_mass - log_mass.max()), count):
                means.append(np.concatenate([[mean], np.sqrt(1.0 - SMOOTH**2) * slopes]))
                variances.append(variance)
    covariances = np.zeros((len(means), len(precision), len(precision)))
    covariances[:, 0, 0] = variances
    covariances[:, 1:, 1:] = SMOOTH**2 * _slopes_covariance(precision)
    return np.array(means), covariances, total - float(np.log(each.size))


def _slopes_covariance(precision: Array) -> Array:
    """Of the slopes under the prior, whatever the intercept is."""
    return np.asarray(np.linalg.inv(precision)[1:, 1:])


def _log_likelihood(equation: ScoreEquation, intercepts: Array, slopes: Array) -> Array:
    """Of the first coordinate alone: the others carry nothing."""
    link, u0 = equation.link, equation.records[:, 0]
    margins = intercepts[:, np.newaxis] * u0 + equation.records[:, 1:] @ slopes
    per_record = equation.size / len(u0) * equation.weights * u0
    gap = equation.constant[0] + link.mean(margins) @ per_record
    variance = link.variance(margins) @ (per_record * equation.weights * u0) + equation.noise
    return np.asarray(-0.5 * gap**2 / variance - 0.5 * np.log(2.0 * np.pi * variance))


def _edges(nodes: Array) -> Array:
    """Half-way between neighbours, and both ends."""
    return np.concatenate([nodes[:1], 0.5 * (nodes[1:] + nodes[:-1]), nodes[-1:]])


def _cut(nodes: Array, mass: Array, count: int) -> Iterator[tuple[float, float]]:
    """So many pieces of equal probability: mean and variance."""
    sums = np.concatenate([[0.0], np.cumsum(mass) / mass.sum()])
    within = np.diff(_edges(nodes)) ** 2 / 12.0  # a node stands for all places that are nearer to it than to others
    for k in range(count):
        inside = np.diff(np.clip(sums, k / count, (k + 1.0) / count)) * count
        mean = float(inside @ nodes)
        yield mean, float(inside @ ((nodes - mean) ** 2 + within))
