"""Draws that only simulations can make: chains that share dense matrices, and ideal draws that look at the rows."""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw

FITS = 20

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


def dense_chains(rows: Array, labels: Labels, law: GibbsLaw, rng: np.random.Generator) -> Array:
    """The last states of 20 Langevin chains that share every multiplication of matrices."""
    w = np.zeros((rows.shape[1], FITS))
    for _ in range(law.steps):
        drift = law.beta * rows.T @ (sigmoid(rows @ w) - labels[:, None]) + law.precision * w
        w += math.sqrt(2.0 * law.step) * rng.normal(size=w.shape) - law.step * drift
    return w.T


def ideal_draws(
    rows: Array, labels: Labels, beta: float, precision: float, ball: float, rng: np.random.Generator
) -> Array:
    """20 draws of the Gibbs posterior on a ball, by a chain that may look at the rows as no private one can.

    Metropolis-adjusted Langevin in the units of the curvature at the mode, started from the normal law that has that
    mode and curvature: in simulation only.
    """
    size = rows.shape[1]

    def potential(w: Array) -> Array:
        margins = rows @ w
        losses = np.logaddexp(0.0, margins).sum(axis=0) - labels @ margins
        length = (w**2).sum(axis=0)
        return np.where(length <= ball**2, beta * losses + 0.5 * precision * length, np.inf)

    def gradient(w: Array) -> Array:
        return beta * rows.T @ (sigmoid(rows @ w) - labels[:, None]) + precision * w

    mode = np.zeros((size, 1))
    for _ in range(12):
        p = sigmoid(rows @ mode)
        curvature = beta * (rows * (p * (1.0 - p))).T @ rows + precision * np.eye(size)
        mode -= np.linalg.solve(curvature, gradient(mode))
    spread = np.linalg.inv(np.linalg.cholesky(curvature)).T
    w = mode + spread @ rng.normal(size=(size, FITS))
    w *= np.minimum(1.0, 0.99 * ball / np.linalg.norm(w, axis=0))
    step = 1.4 * size ** (-1 / 3)
    u, g = potential(w), gradient(w)
    for _ in range(60):
        noise = math.sqrt(2.0 * step) * rng.normal(size=w.shape)
        to = w + spread @ (noise - step * (spread.T @ g))
        u_to, g_to = potential(to), gradient(to)
        back = -noise + step * (spread.T @ (g + g_to))
        log_ratio = u - u_to + ((noise**2).sum(axis=0) - (back**2).sum(axis=0)) / (4.0 * step)
        moved = np.log(rng.random(FITS)) < log_ratio
        w, g, u = np.where(moved, to, w), np.where(moved, g_to, g), np.where(moved, u_to, u)
    return w.T


def sigmoid(margins: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(0.5 * margins)
