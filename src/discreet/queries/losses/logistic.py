"""The logistic loss log(1 + e^t) - y t, y in {0, 1}: minus the log-likelihood of a level whose log-odds are t."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss, Margins
from discreet.queries.scores.score_branch import LOGISTIC, ScoreBranch
from discreet.queries.scores.score_links import logistic_link
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic(Loss):
    """Slopes 1/(1 + e^-t) - y."""

    name = "logistic"
    code = 0
    steepest = 1.0
    curvature = 0.25  # the variance of a coin
    apart = 1.0

    @property
    def row_gradient(self) -> float:
        """Less than 2 L for one feature: no margin is the worst for both rows."""
        if self.features.size == 1 and not self.features.intercept:
            return LOGISTIC_OF_ONE_FEATURE * self.features.radius
        return super().row_gradient

    @property
    def means(self) -> Margins:
        """The probability of the second level."""
        from scipy.special import expit

        return Margins(expit, lambda t: 0.25 / np.cosh(np.clip(0.5 * t, -300.0, 300.0)) ** 2)

    @property
    def score_link(self) -> ScoreLink:
        """The target is its own place."""
        return logistic_link()

    @property
    def score_branch(self) -> ScoreBranch:
        """The probability of the second level."""
        return ScoreBranch(LOGISTIC)

    def predicted(self, margins: Array) -> NDArray[Any]:
        """The level that is more probable on average over the draws."""
        return self._levels(self.means.mean(margins).mean(axis=0) > 0.5)
