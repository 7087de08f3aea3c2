"""Draws of tempered logistic posteriors for studies: a normal law around the mode, corrected by Metropolis steps.

    w ∝ exp( power · Σ log p(y | x, w) ) N(0, I/precision),  on a ball where one is given

Nothing here is private and nothing is a release: the privacy of these laws is that of exact draws.
"""

from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["Tempered", "log_losses", "tempered_draws_of"]

NEWTON, STEPS = 40, 12


@dataclass(frozen=True)
class Tempered:
    """What is drawn from: the power of the likelihood, the precision of the prior, the radius of the space."""

    power: float
    precision: float
    radius: float = np.inf


def log_losses(weights: Array, x: Array, y: Array) -> Array:
    """Sum over records of log(1 + e^t) - y t for each row of weights."""
    t = weights @ x.T
    return np.asarray(np.logaddexp(0, t).sum(axis=1) - t @ y)


def tempered_draws_of(law: Tempered, x: Array, y: Array, draws: int, rng: np.random.Generator) -> Array:
    """One draw from each of so many chains, whose proposals do not depend on where they are."""
    mode, precision = _mode(law, x, y)
    lower = np.linalg.cholesky(precision)

    def proposed() -> tuple[Array, Array]:
        normal = rng.standard_normal((draws, mode.size))
        return mode + np.linalg.solve(lower.T, normal.T).T, -0.5 * (normal**2).sum(axis=1)

    def target(w: Array) -> Array:
        inside = (w**2).sum(axis=1) <= law.radius**2
        log = -law.power * log_losses(w, x, y) - 0.5 * law.precision * (w**2).sum(axis=1)
        return np.where(inside, log, -np.inf)

    at, log_proposal = proposed()
    length = np.sqrt((at**2).sum(axis=1, keepdims=True))
    at = at * np.minimum(1.0, 0.999 * law.radius / length)
    weight = target(at) - log_proposal
    for _ in range(STEPS):
        new, log_new = proposed()
        new_weight = target(new) - log_new
        taken = np.log(rng.random(draws)) < new_weight - weight
        at, weight = np.where(taken[:, None], new, at), np.where(taken, new_weight, weight)
    return at


def _mode(law: Tempered, x: Array, y: Array) -> tuple[Array, Array]:
    """Newton's method with halved steps, and the Hessian at its end."""
    w = np.zeros(x.shape[1])

    def height(v: Array) -> float:
        return float(law.power * log_losses(v[None], x, y)[0] + 0.5 * law.precision * v @ v)

    now = height(w)
    for _ in range(NEWTON):
        p = 1 / (1 + np.exp(-(x @ w)))
        gradient = law.power * x.T @ (p - y) + law.precision * w
        hessian = law.power * (x.T * (p * (1 - p))) @ x + law.precision * np.eye(w.size)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (new := height(w - size * step)) > now and size > 1e-6:
            size /= 2
        w = w - size * step
        if now - new < 1e-9:
            break
        now = new
    p = 1 / (1 + np.exp(-(x @ w)))
    return w, np.asarray(law.power * (x.T * (p * (1 - p))) @ x + law.precision * np.eye(w.size))
