"""Huber's loss (t - y)²/2, linear where t is further than a threshold from the target y in [-1, 1]."""

from dataclasses import dataclass

import numpy as np

from discreet.queries.losses.base import Branch, Loss
from discreet.queries.scores.score_branch import PLACE, ScoreBranch
from discreet.queries.scores.score_links import identity_link
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["Huber"]


@dataclass(frozen=True, kw_only=True)
class Huber(Loss):
    """Slopes t - y, clipped to ±threshold."""

    threshold: float

    name = "huber"
    code = 2
    curvature = 1.0
    apart = 2.0  # as targets are

    @property
    def steepest(self) -> float:
        """Where it is linear."""
        return self.threshold

    @property
    def score_link(self) -> ScoreLink:
        """The mean is the margin, as far as the target goes; errors have the size of the threshold."""
        return identity_link(lambda t: np.full_like(t, 0.25 * self.threshold**2))

    @property
    def score_branch(self) -> ScoreBranch:
        """The margin as a place between the bounds."""
        return ScoreBranch(PLACE, -1.0, 1.0)

    @property
    def branch(self) -> Branch:
        """The formula has a threshold."""
        return Branch(self.code, self.threshold)
