"""The mode of the unseen moments by damped Newton steps, and a root of the inverse curvature there."""

from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.gaussian.unseen_moments import MomentTarget, likely_rows
from discreet.numerics.arrays import Array

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.unseen_layout import ReleasedSums

__all__ = ["climb", "first_point"]

STEPS, HALVINGS = 600, 25  # columns that nearly agree make a long bent ridge: a hundred steps and more
ENOUGH = 1e-3  # a gain of the log-density after which no further step is made
START = 0.1  # of the room of a variance
FLATTEST = 0.05  # curvature that is assumed where there is less: a deviation of four and a half


def climb(target: MomentTarget, released: "ReleasedSums", start: Array) -> tuple[Array, Array]:
    """A point uphill from `start`, and there a matrix whose outer product is the inverse curvature."""
    from discreet.inference.gaussian.kernels.mode_steps import curvature
    from discreet.inference.gaussian.kernels.moment_density import log_posterior

    theta, slope, other = start.copy(), np.empty(start.size), np.empty(start.size)
    bent = np.empty((start.size, start.size))
    value = log_posterior(released, *target.priors, theta, slope)
    for _ in range(STEPS):
        curvature(released, *target.priors, theta, bent)
        root = _root(bent)
        direction = root @ (root.T @ slope)
        for halving in range(HALVINGS):
            moved = theta + direction * 0.35**halving
            found = log_posterior(released, *target.priors, moved, other)
            if found > value:
                break
        else:
            return theta, root
        gained, theta, value = found - value, moved, found
        slope[:] = other
        if gained < ENOUGH:
            break
    curvature(released, *target.priors, theta, bent)
    return theta, _root(bent)


def first_point(target: MomentTarget) -> Array:
    """A point in the middle of everything, from which Newton's method finds the release."""
    theta = np.zeros(target.dimension)
    p = target.numbers
    at = target.unseen.links.shape[1] + p * target.unseen.basis.shape[1]
    for j in range(p):
        share = min(START / target.unseen.hidden[j], 1e6)
        theta[at + j] = share + np.log(-np.expm1(-share))  # log(1 + e^s) is the share
        at += j + 1
    grid = target.unseen.size_grid
    if grid.size:
        rows = np.clip(likely_rows(target.released, grid[0], grid[-1]), grid[0] + 0.5, grid[-1] - 0.5)
        theta[-1] = np.log((rows - grid[0]) / (grid[-1] - rows))
    return theta


def _root(bent: Array) -> Array:
    symmetric = 0.5 * (bent + bent.T)
    if not np.all(np.isfinite(symmetric)):
        return np.eye(len(bent))
    values, vectors = np.linalg.eigh(symmetric)
    return np.ascontiguousarray(vectors / np.sqrt(np.maximum(np.abs(values), FLATTEST)))
