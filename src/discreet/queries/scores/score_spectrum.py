"""The covariance of the features, from what counts know and noisy second moments, and how precision is spread over it.

Second moments are of k = z / sqrt(unit), shrunk to the length c, and carry noise whose largest eigenvalue lies at a
known edge: for deviations s of the diagonal and s / sqrt 2 beside it, s sqrt(2 dz). An eigenvalue y above the edge is
shrunk as an eigenvalue under such noise is, (y + sqrt(y^2 - edge^2))/2; below it is noise. Shrinking to c takes more
from long directions than from short ones: what it takes from normal vectors is given back.
"""

import math
from functools import lru_cache

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_frame import ScoreFrame
from discreet.queries.scores.score_terms import ScoreTerms

__all__ = ["noise_edge", "score_axes", "shaped_spread", "unshrunk", "water_level"]

BARELY = 1e-6  # what features then get, so that every scale is above 0
EVEN = 0.4  # of the precision follows the features' variance, the rest is poured like water
VECTORS, ROUNDS = 500, 5
MODEL_ERROR = 0.1  # of the energy that second moments say: features are not normal


def noise_edge(terms: ScoreTerms, size: float) -> float:
    """The largest eigenvalue of noise alone in the second moments of one row on average."""
    assert terms.moments_sd is not None
    return terms.moments_sd * math.sqrt(2.0 * terms.directions) / size


def unshrunk(found: Array, reach: float) -> Array:
    """Eigenvalues of which these are left when normal vectors are shrunk to the length `reach`."""
    squares, values = _squares(len(found)), found
    average = squares.mean(axis=0)
    for _ in range(ROUNDS):
        lengths = squares @ values
        kept = (squares * np.minimum(1.0, reach**2 / lengths)[:, np.newaxis]).mean(axis=0) / average
        values = found / np.maximum(kept, 0.2)
    return values


@lru_cache(maxsize=4)
def _squares(directions: int) -> Array:
    return np.asarray(np.random.default_rng(0).normal(size=(VECTORS, directions)) ** 2)


def shaped_spread(terms: ScoreTerms, frame: ScoreFrame, moments: Array | None, size: float) -> Array:
    """The covariance of z: eigenvalues of second moments above the edge are kept, the rest has the known shape."""
    if moments is None:
        return frame.spread
    edge, known = noise_edge(terms, size), frame.spread / frame.unit
    values, axes = np.linalg.eigh(moments / size)
    above = values > edge
    kept, low = axes[:, above], axes[:, ~above]
    rest = low @ (low.T @ known @ low) @ low.T
    plain = np.concatenate([np.full(int((~above).sum()), 0.0), np.sqrt(np.maximum(values**2 - edge**2, 0.0))[above]])
    left = max(float(values[~above].sum()), 0.1 * float(np.trace(rest)), 1e-6)
    plain[above] = 0.5 * (plain[above] + values[above])
    plain[~above] = left / max(int((~above).sum()), 1)
    whole = unshrunk(plain, terms.reach)
    energy = _energy(terms, frame, float(whole.sum()), size)
    shaped = (kept * whole[above]) @ kept.T + rest * float(whole[~above].sum()) / max(float(np.trace(rest)), 1e-12)
    return np.asarray(shaped / np.trace(shaped) * energy)


def _energy(terms: ScoreTerms, frame: ScoreFrame, seen: float, size: float) -> float:
    """The trace of the covariance: what totals and second moments say, weighed by their noise."""
    assert terms.moments_sd is not None
    noise = (terms.moments_sd / size * math.sqrt(terms.directions)) ** 2 + (MODEL_ERROR * seen) ** 2
    before = max(((frame.unit - frame.energy) / frame.unit) ** 2, 1e-12)
    share = before / (before + noise)
    return (share * seen + (1.0 - share) * frame.energy / frame.unit) * frame.unit


def water_level(relative: Array, precision: float) -> Array:
    """max(L - r_j, 0) with the level L at which they sum to the precision."""
    ordered = np.sort(relative)
    for filled in range(len(ordered), 0, -1):
        level = (precision + ordered[:filled].sum()) / filled
        if level > ordered[filled - 1]:
            break
    return np.asarray(np.maximum(level - relative, 0.0))


def score_axes(terms: ScoreTerms, spread: Array, size: float) -> tuple[Array | None, Array, Array]:
    """The axes V of the covariance (None: they are the coordinates'), the scales p, and the variances e along them.

    Margins have the prior precision t / e_j along direction j, and the intercept 1. A share q_j of the precision that
    all steps have adds B q_j: the volume of the posterior is least where B q_j = (L - t/e_j)+. The second part, in
    proportion to the variance, is for what the covariance does not know. p_j = sqrt(q_j / e_j) times the typical |u|.
    Where all that is left is too little to say anything of so many directions, the intercept gets everything.
    """
    if np.count_nonzero(spread - np.diag(np.diag(spread))):
        values, axes = np.linalg.eigh(spread)
    else:
        values, axes = np.diag(spread), None
    energy = float(values.sum())
    values = np.maximum(values, 1e-6 * energy)
    variances = np.concatenate([[1.0], values])
    prior = np.concatenate([[1.0], values / energy])
    precision = terms.precision(size)
    if terms.counts_only(size):
        share = prior * np.where(np.arange(len(prior)) == 0, 1.0, BARELY)
    else:
        share = (1.0 - EVEN) * water_level(1.0 / prior, precision) / precision + EVEN * prior / prior.sum()
    return axes, np.sqrt(share / share.sum() / variances) * terms.typical, variances
