"""Where the next score is asked: a diagonal Kalman filter of the coefficients, with a ridge learned from the scores.

In the coordinates u a score at v is g = h (v - theta) + noise, coordinate by coordinate, h_j = n kappa p_j^2 e_j. So
each step adds the precision h^2 / sd^2 to what is known of theta, at v - g / h; early steps, whose h was taken far
from where theta is, fade. The data's own noise, 1 / h, is common to all steps. Coefficients are normal with deviation
tau; the scores themselves say which tau is likely, and the point is the average over it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_terms import ScoreTerms

__all__ = ["ScoreFilter"]

SCALES = 0.1 * 2.0 ** np.arange(8)  # tau
LEAST_SLOPE = 0.12  # of the slope at the margin 0


@dataclass(frozen=True)
class ScoreFilter:
    """After `step` scores: precision `known` and `pull` of every coordinate, before the prior."""

    terms: ScoreTerms
    scales: Array  # p
    variances: Array  # e
    size: float
    caution: float  # by which the curvature of the features is taken larger
    step: int
    known: Array
    pull: Array
    curve: Array  # h where the last score was asked

    @classmethod
    def start(cls, terms: ScoreTerms, scales: Array, variances: Array, size: float, caution: float) -> "ScoreFilter":
        """Before any score."""
        nothing = np.zeros(len(scales))
        return cls(terms, scales, variances, size, caution, 0, nothing, nothing, nothing)

    @cached_property
    def averaged(self) -> tuple[Array, Array]:
        """The mean and the variance of theta, averaged over tau."""
        energy = float(self.variances[1:].sum())
        tau = np.broadcast_to(SCALES[:, np.newaxis], (len(SCALES), len(self.scales))).copy()
        tau[:, 1:] /= np.sqrt(max(energy, 1e-300))
        tau[:, 0] = np.maximum(tau[:, 0], 1.0)
        prior = (tau / self.scales) ** 2
        if self.step == 0:
            return np.zeros(len(self.scales)), prior[len(SCALES) // 2]
        found = self.pull / self.known
        noise = 1.0 / self.known + 1.0 / self.curve
        log_weight = np.log(SCALES / (1.0 + SCALES**2))
        total = prior + noise
        log_weight = log_weight - 0.5 * (np.log(total) + found**2 / total)[:, 1:].sum(axis=1)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        kept = prior / total
        mean = weight @ (kept * found)
        variance = weight @ (kept * noise + (kept * found - mean) ** 2)
        return np.asarray(mean), np.asarray(variance)

    def after(self, point: Array, score: Array) -> "ScoreFilter":
        """One more score, which was taken at `point`."""
        h = self.curvature(point)
        fade = ((self.step + 1.0) / (self.step + 2.0)) ** self.terms.fading(self.size)
        gain = 1.0 / self.terms.scores_sd**2
        known = fade * self.known + h**2 * gain
        pull = fade * self.pull + h * (h * point - score) * gain
        return replace(self, step=self.step + 1, known=known, pull=pull, curve=h)

    def curvature(self, point: Array) -> Array:
        """How fast a score at this point changes with theta, coordinate by coordinate: h."""
        margin = float(np.sqrt(((point[1:] * self.scales[1:]) ** 2) @ self.variances[1:]))
        least = LEAST_SLOPE * self.terms.slope(0.0, 0.0)
        kappa = max(self.terms.slope(float(point[0] * self.scales[0]), margin), least)
        h = self.size * kappa * self.scales**2 * self.variances
        h[1:] *= self.caution
        return np.asarray(h)
