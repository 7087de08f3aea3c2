"""What the released scores say of theta under one law of the features: an exact mean, a normal law around it.

With omega the weights of the steps, u records of that law, and f the mean of a target at a margin,

    gbar = sum omega_k g_k,     E[gbar | theta] = n E sum_k omega_k w_k(u) (f(u.v_k) - f(u.theta)) u
    gbar - E[gbar | theta]  ~  N(0, J + s2 sum omega_k^2),   J = n E wbar^2 Var(y | u.theta) u u'

with wbar = sum omega_k w_k. The weights are free of y, so there is no bias, wherever the steps were: nothing has to be
stationary, and no curvature stands for a whole segment. The data's part J is common to all steps, the noise is not.
Gauss-Newton around theta: H = n E wbar f'(u.theta) u u'.
"""

from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_terms import ScoreLink, ScoreTerms

__all__ = ["ScoreEquation", "StraightScores", "pooled", "score_equation"]


@dataclass(frozen=True)
class StraightScores:
    """The log-likelihood of theta, straight around a place: b' theta - (theta' P theta + quadratic) / 2."""

    precision: Array
    pull: Array
    quadratic: float
    log_volume: float  # of the noise: half the log-determinant of its precision


@dataclass(frozen=True)
class ScoreEquation:
    """One law of the features: `records` are u, (records, dz + 1)."""

    link: ScoreLink
    size: float
    records: Array
    weights: Array  # wbar
    constant: Array  # gbar - n E sum omega w f(u.v) u
    noise: float  # s2 sum omega^2

    def straight(self, theta: Array) -> StraightScores:
        """The likelihood around theta."""
        u, many, link = self.records, len(self.records), self.link
        margins = u @ theta
        gap = self.constant + self.size / many * (self.weights * link.mean(margins)) @ u
        h = (u * (self.size / many * self.weights * link.slope(margins))[:, np.newaxis]).T @ u
        j = (u * (self.size / many * self.weights**2 * link.variance(margins))[:, np.newaxis]).T @ u
        lower = np.linalg.cholesky(j + self.noise * np.eye(len(theta)))
        whitened, aim = np.linalg.solve(lower, h), np.linalg.solve(lower, h @ theta - gap)
        log_volume = -float(np.log(np.diag(lower)).sum())
        return StraightScores(whitened.T @ whitened, whitened.T @ aim, float(aim @ aim), log_volume)


def pooled(steps: int) -> Array:
    """Weights omega of the steps, rising slowly: first points were far from theta, where a wrong law matters most."""
    rising = np.sqrt(np.arange(steps) + 1.0)
    return np.asarray(rising / rising.sum())


def score_equation(
    terms: ScoreTerms, size: float, omega: Array, points: Array, scores: Array, records: Array
) -> ScoreEquation:
    """The equation of records u; `scores` in real units."""
    link, many = terms.link, len(records)
    means = link.mean(records @ points.T)
    w = link.weight(means, np.linalg.norm(records, axis=1)[:, np.newaxis] / terms.bound)
    expected = size / many * ((w * means) @ omega) @ records
    noise = terms.scores_sd**2 * float(omega @ omega)
    return ScoreEquation(link, size, records, w @ omega, omega @ scores - expected, noise)
