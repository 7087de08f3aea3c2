"""Dirichlet laws as arrays: the last axis always holds the levels of one probability vector."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array

__all__ = ["concentrations", "dirichlet_draws", "draw_codes", "log_dirichlet", "moments_given", "sums_of_others"]


def concentrations(field: str, prior: ArrayLike, levels: int) -> Array:
    """A Dirichlet prior given as one number for all levels or as one for each."""
    alpha = np.asarray(prior, dtype=float)
    if alpha.shape not in ((), (levels,)) or not np.all((alpha > 0) & np.isfinite(alpha)):
        raise QueryError(f"{field} must be one number above 0, or one for each of {levels} levels, got {prior!r}")
    return np.array(np.broadcast_to(alpha, (levels,)))


def dirichlet_draws(alpha: Array, rng: np.random.Generator) -> Array:
    """One probability vector for every row of concentrations."""
    gammas = np.maximum(
        rng.standard_gamma(alpha), np.finfo(float).tiny
    )  # small concentrations can underflow all at once
    return np.asarray(gammas / gammas.sum(axis=-1, keepdims=True))


def moments_given(alpha: Array) -> tuple[Array, Array]:
    """Mean and standard deviation over rows (axis 0) of Dirichlet laws mixed with equal weights.

    Exact given the rows: the variance inside each law is averaged, the variance between their means is added.
    """
    total = alpha.sum(axis=-1, keepdims=True)
    means = alpha / total
    within = means * (1.0 - means) / (total + 1.0)
    return np.asarray(means.mean(axis=0)), np.asarray(np.sqrt(within.mean(axis=0) + means.var(axis=0)))


def draw_codes(probabilities: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """One level code for every row of probabilities."""
    cumulative = np.cumsum(probabilities, axis=-1)
    uniforms = rng.random(cumulative.shape[:-1])[..., np.newaxis] * cumulative[..., -1:]
    return np.asarray(np.sum(uniforms >= cumulative[..., :-1], axis=-1), dtype=np.int64)


def log_dirichlet(x: Array, alpha: Array) -> Array:
    """Log-density of Dirichlet(alpha); -inf off the open simplex."""
    from scipy.special import gammaln

    inside = np.all(x > 0, axis=-1) & (np.abs(x.sum(axis=-1) - 1.0) < 1e-6)
    log_x = np.log(np.where(x > 0, x, 1.0))
    log_density = np.sum(log_x * (alpha - 1.0), axis=-1) + gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return np.asarray(np.where(inside, log_density, -np.inf))


def sums_of_others(alpha: Array) -> Array:
    """For each entry the sum of all others along the last axis: a difference from the total would lose small ones."""
    none = np.zeros((*alpha.shape[:-1], 1))
    before = np.concatenate([none, np.cumsum(alpha[..., :-1], axis=-1)], axis=-1)
    after = np.concatenate([none, np.cumsum(alpha[..., :0:-1], axis=-1)], axis=-1)[..., ::-1]
    return np.asarray(before + after)
