"""The Poisson loss e^t - y t of a count y: minus a log-likelihood; the ball of the coefficients bounds its slope."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import Loss, Margins
from discreet.queries.scores.score_branch import EXPONENTIAL, ScoreBranch
from discreet.queries.scores.score_links import poisson_link
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["Poisson"]


@dataclass(frozen=True)
class Poisson(Loss):
    """Slopes e^t - y, at margins that rows and coefficients of the ball can have."""

    name = "poisson"
    code = 3
    plain_target = True

    @property
    def steepest(self) -> float:
        """The largest mean, or the largest count."""
        return max(math.exp(self._farthest), self.axis.ends[1]) * ROUNDED_UP

    @property
    def curvature(self) -> float:
        """The largest mean."""
        return math.exp(self._farthest) * ROUNDED_UP

    @property
    def apart(self) -> float:
        """The difference of two counts."""
        low, high = self.axis.ends
        return (high - low) * ROUNDED_UP

    @property
    def means(self) -> Margins:
        """The expected count, within the ball."""
        farthest = self._farthest

        def rate(t: Array) -> Array:
            return np.asarray(np.exp(np.clip(t, -farthest, farthest)))

        return Margins(rate, rate)

    @property
    def score_link(self) -> ScoreLink:
        """Of the share of the largest count: no ball is needed where means end there."""
        return poisson_link(self.axis.ends[1])

    @property
    def score_branch(self) -> ScoreBranch:
        """The mean as a share of the largest count."""
        return ScoreBranch(EXPONENTIAL, setting=1.0 / self.axis.ends[1])

    def predicted(self, margins: Array) -> NDArray[Any]:
        """The expected count, within its bounds."""
        return np.asarray(np.minimum(np.exp(margins).mean(axis=0), self.axis.upper))

    @property
    def _farthest(self) -> float:
        return self.ball * self.features.reach
