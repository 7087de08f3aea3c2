"""Theta given a release of noisy scores: normal laws, one for every drawn law of the features and scale of the prior.

Two beliefs come from the same equation. Intervals are under one prior, declared or wide and fixed: a scale learned from
the same scores would make them too narrow for what is larger than the rest. Predictions average over the prior's scale,
each by how likely it makes the scores, which predicts better; at little information both return to the prior.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.inference.scores.feature_law import FeatureLaw
from discreet.inference.scores.score_equation import StraightScores, pooled, score_equation
from discreet.numerics.arrays import Array
from discreet.queries.scores.score_terms import ScoreTerms

__all__ = ["ScoreBelief", "ScorePrior", "believed_scores"]

ROUNDS, STILL = 30, 1e-2  # Gauss-Newton steps, and a step that ends them, in deviations
FULL, DAMPED = 6, 0.5  # steps of full length, and what later ones are cut to
LONGEST = 3.0  # a step, in deviations of all directions together
LEAST_WEIGHT = 1e-4


@dataclass(frozen=True)
class ScorePrior:
    """Normal laws of theta around 0, by precision matrix, and the logarithms of their weights."""

    precisions: tuple[Array, ...]
    log_weights: tuple[float, ...] = (0.0,)


@dataclass(frozen=True)
class ScoreBelief:
    """A mixture of normal laws of theta, in the coordinates u."""

    weights: Array
    means: Array
    covariances: Array
    log_evidence: float = float("nan")

    @property
    def mean(self) -> Array:
        """Of the mixture."""
        return np.asarray(self.weights @ self.means)

    @property
    def covariance(self) -> Array:
        """Of the mixture."""
        apart = self.means - self.mean
        return np.asarray(
            np.einsum("k,kij->ij", self.weights, self.covariances) + (apart * self.weights[:, np.newaxis]).T @ apart
        )


@dataclass(frozen=True)
class _Component:
    log_weight: float
    mean: Array
    covariance: Array


def believed_scores(
    terms: ScoreTerms,
    law: FeatureLaw,
    upon: Callable[[Array], Array],
    points: Array,
    scores: Array,
    priors: tuple[ScorePrior, ...],
    draws: int,
    rng: np.random.Generator,
) -> tuple[ScoreBelief, ...]:
    """What is believed under each of the priors; `upon` makes records u of records z."""
    size, omega = law.totals.size, pooled(terms, law.totals.size)
    found: list[list[_Component]] = [[] for _ in priors]
    starts = [omega @ points for _ in priors]
    for _ in range(draws):
        equation = score_equation(terms, size, omega, points, scores, upon(law.drawn(rng)))
        for k, prior in enumerate(priors):
            starts[k], components = _settled(equation.straight, prior, starts[k])
            found[k].extend(components)
    return tuple(_mixed(components, draws) for components in found)


def _settled(
    straight: Callable[[Array], StraightScores], prior: ScorePrior, theta: Array
) -> tuple[Array, list[_Component]]:
    """Gauss-Newton to the mean over the prior's scales, and the normal law of each of them around it."""
    for step in range(ROUNDS):
        components = _updated(straight(theta), prior)
        weights = np.exp([c.log_weight - max(d.log_weight for d in components) for c in components])
        mean = weights @ np.array([c.mean for c in components]) / weights.sum()
        move = mean - theta
        best = components[int(np.argmax(weights))].covariance
        length = float(np.sqrt(max(move @ np.linalg.solve(best, move), 0.0)))
        cut = min(1.0, LONGEST * np.sqrt(len(theta)) / max(length, 1e-12))
        theta = theta + move * (cut if step < FULL else cut * DAMPED)
        if length < STILL * np.sqrt(len(theta)):
            break
    return theta, components


def _updated(likelihood: StraightScores, prior: ScorePrior) -> list[_Component]:
    """Normal laws under every scale of the prior, weighed by the evidence."""
    found = []
    for precision, log_weight in zip(prior.precisions, prior.log_weights, strict=True):
        lower = np.linalg.cholesky(likelihood.precision + precision)
        aim = np.linalg.solve(lower, likelihood.pull)
        half = np.linalg.inv(lower)
        evidence = 0.5 * (np.linalg.slogdet(precision)[1] + float(aim @ aim) - likelihood.quadratic)
        evidence += likelihood.log_volume - float(np.log(np.diag(lower)).sum())
        found.append(_Component(log_weight + evidence, half.T @ aim, half.T @ half))
    return found


def _mixed(components: list[_Component], draws: int) -> ScoreBelief:
    """All components: every law of the features counts the same, scales of the prior by their evidence within it."""
    log_weights = np.array([c.log_weight for c in components]).reshape(draws, -1)
    within = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    totals = log_weights.max(axis=1) + np.log(within.sum(axis=1))
    weights = (within / within.sum(axis=1, keepdims=True)).ravel() / draws
    kept = weights > LEAST_WEIGHT / draws
    dimension = len(components[0].mean)
    evidence = float(totals.max() + np.log(np.mean(np.exp(totals - totals.max()))) - 0.5 * dimension * np.log(2 * np.pi))
    return ScoreBelief(
        weights[kept] / weights[kept].sum(),
        np.array([c.mean for c, keep in zip(components, kept, strict=True) if keep]),
        np.array([c.covariance for c, keep in zip(components, kept, strict=True) if keep]),
        evidence,
    )
