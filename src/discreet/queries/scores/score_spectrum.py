"""The covariance of the features, from what counts know and noisy second moments, and how precision is spread over it.

Second moments are of k = z / sqrt t, shrunk to the length c, and carry noise whose largest eigenvalue lies at a known
edge: for deviations s of the diagonal and s / sqrt 2 beside it, s sqrt(2 dz). What differs from the known part by
less than the edge is noise; what is above it is shrunk as an eigenvalue under such noise is, (y + sqrt(y^2 - edge^2))/2.
"""

import math

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_frame import ScoreFrame
from discreet.queries.scores.score_terms import ScoreTerms

__all__ = ["noise_edge", "score_axes", "shaped_spread", "water_level"]

LEAST = 0.02  # of the smallest known eigenvalue: what cleaning leaves at least
EVEN = 0.4  # of the precision follows the features' variance, the rest is poured like water


def noise_edge(terms: ScoreTerms, size: float) -> float:
    """The largest eigenvalue of noise alone in the second moments of one row on average."""
    assert terms.moments_sd is not None
    return terms.moments_sd * math.sqrt(2.0 * terms.directions) / size


def shaped_spread(terms: ScoreTerms, frame: ScoreFrame, moments: Array | None, size: float) -> Array:
    """The covariance of z: eigenvalues of second moments above the edge are kept, the rest has the known shape."""
    if moments is None:
        return frame.spread
    edge, known = noise_edge(terms, size), frame.spread / frame.energy
    values, axes = np.linalg.eigh(moments / size)
    above = values > edge
    kept, low = axes[:, above], axes[:, ~above]
    strong = 0.5 * (values[above] + np.sqrt(values[above] ** 2 - edge**2))
    rest = low @ (low.T @ known @ low) @ low.T
    left = max(1.0 - float(strong.sum()), 0.1 * float(np.trace(rest)), 1e-6)
    shaped = (kept * strong) @ kept.T + rest * left / max(float(np.trace(rest)), 1e-12)
    return np.asarray(shaped / np.trace(shaped) * frame.energy)


def water_level(relative: Array, precision: float) -> Array:
    """max(L - r_j, 0) with the level L at which they sum to the precision."""
    ordered = np.sort(relative)
    for filled in range(len(ordered), 0, -1):
        level = (precision + ordered[:filled].sum()) / filled
        if level > ordered[filled - 1]:
            break
    return np.asarray(np.maximum(level - relative, 0.0))


def score_axes(terms: ScoreTerms, frame: ScoreFrame, spread: Array, size: float) -> tuple[Array, Array, Array]:
    """The matrix W of u, (dz + 1, features + 1), with its scales p and the variances e of what they scale.

    Margins have the prior precision t / e_j along direction j, and the intercept 1. A share q_j of the precision that
    all steps have adds B q_j: the volume of the posterior is least where B q_j = (L - t/e_j)+. The second part, in
    proportion to the variance, is for what the covariance does not know. p_j = sqrt(q_j (dz + 1) / e_j).
    """
    if np.count_nonzero(spread - np.diag(np.diag(spread))):
        values, axes = np.linalg.eigh(spread)
    else:
        values, axes = np.diag(spread).copy(), np.eye(len(spread))
    energy = float(values.sum())
    values = np.maximum(values, 1e-6 * energy)
    variances = np.concatenate([[1.0], values])
    prior = np.concatenate([[1.0], values / energy])
    precision = terms.precision(size)
    share = (1.0 - EVEN) * water_level(1.0 / prior, precision) / precision + EVEN * prior / prior.sum()
    scales = np.sqrt(share / share.sum() * (terms.directions + 1.0) / variances)
    matrix = frame.map_of(scales[1:, np.newaxis] * axes.T)
    first = np.zeros(matrix.shape[1])
    first[0] = scales[0]
    return np.vstack([first, matrix]), scales, variances
