"""Theta given a release of noisy scores: a mixture of normal laws, one for every drawn law of the features.

Under each law the equation of the scores is straight around the most probable theta, found by Gauss-Newton; the law of
the features is drawn anew for every component, so that what is not known of it widens the mixture.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.inference.scores.counted_targets import Intercepts, drawn_slopes, intercepts_of, pieces_of
from discreet.inference.scores.feature_law import feature_law
from discreet.inference.scores.score_equation import ScoreEquation, pooled, score_equation
from discreet.numerics.arrays import Array
from discreet.queries.scores import ScoreTerms, ScoreWalk, Totals

__all__ = ["ScoreEvidence", "ThetaLaw"]

ROUNDS, STILL = 30, 1e-2  # Gauss-Newton steps, and a step that ends them, in deviations
FULL, DAMPED = 8, 0.5  # steps of full length, and what later ones are cut to
LONGEST = 3.0  # a step, in deviations of all directions together
MOST_LAWS, FEWEST_LAWS, LAWS = 60, 10, 1200  # laws of the features: about so many over the directions
MOST_DIRECTIONS = 150  # above it covariances of features cannot be drawn in the time of an answer


@dataclass(frozen=True)
class ThetaLaw:
    """Normal laws of theta that count the same, (laws, dz + 1), in the coordinates u; covariances by law."""

    means: Array
    covariances: Array
    log_evidence: float

    @property
    def mean(self) -> Array:
        """Of the mixture."""
        return np.asarray(self.means.mean(axis=0))

    @property
    def covariance(self) -> Array:
        """Of the mixture."""
        apart = self.means - self.mean
        return np.asarray(self.covariances.mean(axis=0) + apart.T @ apart / len(apart))


@dataclass(frozen=True)
class ScoreEvidence:
    """A release in real units, and the walk that it took: `map` and frame follow from totals and moments."""

    terms: ScoreTerms
    totals: Totals
    moments: Array | None
    points: Array
    scores: Array
    walk: ScoreWalk

    def law(self, precision: Array, seed: int = 0) -> ThetaLaw:
        """Theta under a normal prior around 0 with this precision matrix."""
        if self.terms.directions > MOST_DIRECTIONS:
            return self._straight(precision)
        rng = np.random.default_rng(seed)
        means: list[Array] = []
        covariances: list[Array] = []
        evidences: list[float] = []
        theta = self._centre
        for equation in self._equations(rng):
            theta, covariance, evidence = _settled(equation, precision, theta)
            means.append(theta)
            covariances.append(covariance)
            evidences.append(evidence)
        return ThetaLaw(np.array(means), np.array(covariances, dtype=np.float64), _average(evidences))

    @property
    def counts_only(self) -> bool:
        """Whether the intercept got the whole budget, and scores are counts of the target."""
        return self.terms.counts_only(self.totals.size)

    def counted(self, precision: Array, seed: int = 0) -> ThetaLaw:
        """The same where scores are counts: the intercept's law is none that is normal, and slopes keep the prior's."""
        if self.terms.directions > MOST_DIRECTIONS:
            return self._straight(precision)
        rng = np.random.default_rng(seed)
        theta, slopes = self._centre, drawn_slopes(precision, self._laws, rng.spawn(1)[0])
        found: list[Intercepts] = []
        for equation, drawn in zip(self._equations(rng), slopes, strict=True):
            theta, _, _ = _settled(equation, precision, theta)
            found.append(intercepts_of(equation, precision, drawn, theta))
        return ThetaLaw(*pieces_of(found, precision, rng))

    @property
    def _laws(self) -> int:
        """How many laws of the features are drawn."""
        return int(np.clip(LAWS / self.terms.directions, FEWEST_LAWS, MOST_LAWS))

    @property
    def _centre(self) -> Array:
        return np.asarray(pooled(self.terms.steps) @ self.points)

    def _equations(self, rng: np.random.Generator) -> Iterator[ScoreEquation]:
        """One for every drawn law of the features."""
        known = feature_law(self.terms, self.totals, self.walk.frame, self.walk.spread, self.moments, rng)
        omega = pooled(self.terms.steps)
        for _ in range(self._laws):
            u = self.upon(known.drawn(rng))
            size = max(self.totals.size + self.totals.size_sd * rng.normal(), 0.1 * self.totals.size, 1.0)
            yield score_equation(self.terms, size, omega, self.points, self.scores, u)

    def upon(self, z: Array) -> Array:
        """Records u of centred records z."""
        slopes = self.walk.map[1:, 1:] @ self.walk.frame.basis
        return np.column_stack([np.full(len(z), self.walk.map[0, 0]), z @ slopes.T])

    def _straight(self, precision: Array) -> ThetaLaw:
        """What the filter knows, coordinate by coordinate along the axes, with this prior in place of its own."""
        held = self.walk.filter
        noise = 1.0 / held.known + 1.0 / held.curve
        turn = self.walk.turned_axes
        known = (turn / noise) @ turn.T + precision
        covariance = np.asarray(np.linalg.inv(known), dtype=np.float64)
        mean = covariance @ (turn @ (held.pull / held.known / noise))
        return ThetaLaw(mean[np.newaxis], covariance[np.newaxis], float("nan"))


def _settled(equation: ScoreEquation, prior: Array, theta: Array) -> tuple[Array, Array, float]:
    """The most probable theta, its covariance, and the logarithm of the evidence, up to a constant of the release."""
    for step in range(ROUNDS):
        likelihood = equation.straight(theta)
        lower = _root(likelihood.precision, prior)
        aim = np.linalg.solve(lower, likelihood.pull)
        move = np.linalg.solve(lower.T, aim) - theta
        length = float(np.linalg.norm(lower.T @ move))
        cut = min(1.0, LONGEST * np.sqrt(len(theta)) / max(length, 1e-300))
        theta = theta + move * (cut if step < FULL else cut * DAMPED)
        if length < STILL * np.sqrt(len(theta)):
            break
    half = np.linalg.inv(lower)
    evidence = 0.5 * (float(np.linalg.slogdet(prior)[1]) + float(aim @ aim) - likelihood.quadratic)
    evidence += likelihood.log_volume - float(np.log(np.diag(lower)).sum())
    return theta, half.T @ half, evidence - 0.5 * len(theta) * float(np.log(2.0 * np.pi))


def _average(evidences: list[float]) -> float:
    """The logarithm of their average, from their logarithms."""
    highest = max(evidences)
    return highest + float(np.log(np.mean(np.exp(np.array(evidences) - highest))))


def _root(likelihood: Array, prior: Array) -> Array:
    """L, lower triangular, with L L' the sum of both, of which the prior is positive definite.

    Along collinear features scores may be so much surer than the prior that their rounding is larger than it. There
    the sum is taken in coordinates in which the prior is 1 and scores only add to it.
    """
    try:
        return np.asarray(np.linalg.cholesky(likelihood + prior))
    except np.linalg.LinAlgError:
        half = np.linalg.cholesky(prior)
        inside = np.linalg.solve(half, np.linalg.solve(half, likelihood).T)
        added, axes = np.linalg.eigh(0.5 * (inside + inside.T))
        upper = np.linalg.qr((half @ (axes * np.sqrt(1.0 + np.maximum(added, 0.0)))).T)[1]
        return np.asarray((upper * np.sign(np.diag(upper))[:, np.newaxis]).T)
