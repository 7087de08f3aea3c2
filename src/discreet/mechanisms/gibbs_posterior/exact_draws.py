"""Exact draws of a Gibbs posterior: normal for the quadratic loss, by rejection under a Gaussian envelope for margins.

For any anchor a and gradient g of U at a, U(w) ≥ U(a) + g·(w - a) + (m/2)|w - a|². Proposals come from the normal law
of that bound, N(a - g/m, I/m), and are accepted with probability exp(-(U(w) - bound)). On a ball the minimum may lie
on the rim, where that normal law has next to no mass inside: then the tangent alone is the bound.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.mechanisms.gibbs_posterior.langevin_chains import threads
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss

__all__ = ["normal_draws", "rejection_draws"]

Propose = Callable[[int], tuple[Array, NDArray[np.bool_]]]  # a batch of proposals, and which of them are accepted

BATCH, LARGEST_BATCH = 64, 2**14  # proposals tested at a time
SUBGRADIENTS = 2000
TINY = 1e-300


def normal_draws(law: GibbsLaw, rows: Any, draws: int, noise: np.random.Generator) -> Array:
    """Exact draws under |w - z|²/2: N(β Σ z / m, I/m), m the convexity of the whole potential."""
    weights = rows.weights[:, None, :]
    used = rows.numbers * (weights if rows.shrink.size == 0 else weights * rows.shrink[:, None, :])
    mean = law.beta * used.sum(axis=(0, 2)) / law.convexity
    return np.asarray(mean + noise.standard_normal((draws, mean.size)) / np.sqrt(law.convexity))


def rejection_draws(
    query: Loss,
    law: GibbsLaw,
    steps: int,
    proposals: int | None,
    rows: Any,
    draws: int,
    noise: np.random.Generator,
) -> Array:
    """Exact draws: of `proposals` at most for each, else the prior's law; None: on a ball, until one is accepted.

    So many noiseless gradient `steps` from 0 find the anchor; with infinite smoothness subgradients do.
    """
    target, size = _Potential(query, law, rows), query.features.size
    with threads(rows.targets.size * (rows.numbers.shape[1] + rows.codes.shape[1] + 4)):
        if proposals is None:
            return _ball_draws(target, _ball_anchor(target, steps), draws, noise)
        anchor = np.zeros(size)
        for _ in range(steps):
            anchor -= 2.0 / (law.precision + law.smoothness) * target.gradient(anchor)
        propose, found = _normal(target, anchor, noise), np.empty((draws, size))
        for draw in range(draws):  # all proposals are tested and a fallback is drawn, needed or not: the work is public
            found[draw] = noise.standard_normal(size) / np.sqrt(law.precision)
            chosen = False
            for made in range(0, proposals, BATCH):
                w, accepted = propose(min(BATCH, proposals - made))
                if not chosen and accepted.any():
                    found[draw], chosen = w[np.argmax(accepted)], True
        return found


def _normal(target: "_Potential", anchor: Array, noise: np.random.Generator) -> Propose:
    """Proposals of the normal law of the quadratic bound."""
    precision, slope, base = target.law.precision, target.gradient(anchor), float(target.values(anchor[None])[0])
    centre = anchor - slope / precision

    def propose(batch: int) -> tuple[Array, NDArray[np.bool_]]:
        w = centre + noise.standard_normal((batch, anchor.size)) / np.sqrt(precision)
        away = w - anchor
        bound = base + away @ slope + 0.5 * precision * (away**2).sum(axis=1)
        accepted = np.log1p(-noise.random(batch)) <= bound - target.values(w)
        return w, accepted & ((w**2).sum(axis=1) <= target.query.ball**2)

    return propose


def _tilted(target: "_Potential", anchor: Array, noise: np.random.Generator) -> Propose:
    """Proposals ∝ exp(-g · w) on the ball, accepted by how far U lies above its tangent.

    With t the distance from the rim along g, the density is e^(-|g| t) (t (2W - t))^((d-1)/2): proposed by a gamma law
    where |g| is large, else by a beta law, and the rest of a point is uniform on its slice of the ball.
    """
    size, ball = anchor.size, target.query.ball
    slope, base = target.gradient(anchor), float(target.values(anchor[None])[0])
    tilt = float(np.linalg.norm(slope))
    down = -slope / tilt if tilt > 0.0 else np.eye(size)[0]
    half, steep = 0.5 * (size - 1.0), tilt * ball >= 0.5 * (size + 1.0)

    def propose(batch: int) -> tuple[Array, NDArray[np.bool_]]:
        if steep:
            t = noise.standard_gamma(half + 1.0, size=batch) / tilt
            log_kept = half * np.log(np.maximum(1.0 - t / (2.0 * ball), TINY))
        else:
            t = 2.0 * ball * noise.beta(half + 1.0, half + 1.0, size=batch)
            log_kept = -tilt * t
        inside = t <= 2.0 * ball
        across = noise.standard_normal((batch, size))
        across -= (across @ down)[:, None] * down
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), TINY)
        radius = np.sqrt(np.maximum(t * (2.0 * ball - t), 0.0))
        radius *= noise.random(batch) ** (1.0 / (size - 1.0)) if size > 1 else 0.0
        w = np.where(inside[:, None], (ball - t)[:, None] * down + radius[:, None] * across, 0.0)
        log_kept += base + (w - anchor) @ slope - target.values(w)
        return w, inside & (np.log1p(-noise.random(batch)) <= log_kept)

    return propose


def _ball_draws(target: "_Potential", anchor: Array, draws: int, noise: np.random.Generator) -> Array:
    """Draws by the proposals that are likely to fit better: both lead to the same law."""
    size, ball, precision = anchor.size, target.query.ball, target.law.precision
    narrow = 0.5 * size * np.log(2.0 / (precision * ball**2)) + math.lgamma(0.5 * size + 1.0) < 0.0
    centre = anchor - target.gradient(anchor) / precision
    inside = float(np.linalg.norm(centre)) <= ball
    propose = (_normal if narrow and inside else _tilted)(target, anchor, noise)
    found = np.empty((draws, size))
    for draw in range(draws):
        batch, missing = BATCH, True
        while missing:
            w, accepted = propose(batch)
            if accepted.any():
                found[draw], missing = w[np.argmax(accepted)], False
            batch = min(2 * batch, LARGEST_BATCH)
    return found


def _ball_anchor(target: "_Potential", steps: int) -> Array:
    """A point of the ball near the minimum; the law of the draws does not depend on where it is."""
    size, ball, smoothness = target.query.features.size, target.query.ball, target.law.smoothness
    w, total = np.zeros(size), np.zeros(size)
    smooth = np.isfinite(smoothness)
    for k in range(steps if smooth else SUBGRADIENTS):
        slope = target.gradient(w)
        length = float(np.linalg.norm(slope))
        if length == 0.0:
            return w
        w = w - slope * (1.0 / smoothness if smooth else ball / (length * math.sqrt(k + 1.0)))
        w *= min(1.0, ball / max(float(np.linalg.norm(w)), TINY))
        total += w if 2 * k >= SUBGRADIENTS else 0.0
    return w if smooth else np.asarray(total / (SUBGRADIENTS // 2))


class _Potential:
    """U of the rows and its gradient."""

    def __init__(self, query: Loss, law: GibbsLaw, rows: Any) -> None:
        from discreet.mechanisms.gibbs_posterior.kernels.margins import Rows

        loss = query.branch
        width = 2.0 * loss.setting / max(loss.table.shape[1] - 1, 1)
        middles = 0.5 * (loss.table[:, 1:] + loss.table[:, :-1]) * width
        self.areas = np.concatenate([np.zeros((len(loss.table), 1)), middles.cumsum(axis=1)], axis=1)
        self.query, self.law, self.loss, self.intercept = query, law, loss, int(query.features.intercept)
        self.rows = Rows(rows.numbers, rows.codes, rows.targets, rows.weights, rows.shrink)

    def values(self, w: Array) -> Array:
        """U at every row of w."""
        from discreet.mechanisms.gibbs_posterior.kernels.margin_values import total_losses

        losses = total_losses(self.loss, self.areas, w, self.intercept, self.rows)
        return np.asarray(self.law.beta * losses + 0.5 * self.law.precision * (w**2).sum(axis=1))

    def gradient(self, w: Array) -> Array:
        """The gradient of U, or one of its subgradients."""
        from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, gradients

        (found,) = gradients(self.loss, w[None], self.intercept, self.rows, np.zeros((BLOCKS, 1, w.size)))
        return np.asarray(self.law.beta * found + self.law.precision * w)
