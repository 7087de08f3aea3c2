"""The loss of a share of trials, log(1 + e^t) - y t, y in [0, 1]: of one trial, on average over those of a row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch, Loss, Margins
from discreet.queries.losses.logistic import Logistic
from discreet.queries.scores.score_branch import LOGISTIC, ScoreBranch
from discreet.queries.scores.score_links import binomial_link
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["Binomial"]


@dataclass(frozen=True)
class Binomial(Loss):
    """Slopes 1/(1 + e^-t) - y: those of the logistic loss, whose kernels serve it."""

    name = "binomial"
    code = 5
    steepest = 1.0
    curvature = 0.25
    apart = 1.0
    share_target = True

    @property
    def trials(self) -> int:
        """Of every row: the largest declared count."""
        return round(self.axis.ends[1])

    @property
    def branch(self) -> Branch:
        """The formula of the logistic loss holds between its labels."""
        return Branch(Logistic.code)

    @property
    def means(self) -> Margins:
        """The expected count."""
        link, trials = self.score_link, self.trials
        return Margins(lambda t: trials * link.mean(t), lambda t: trials * link.slope(t))

    @property
    def score_link(self) -> ScoreLink:
        """The probability of one trial."""
        return binomial_link(self.trials)

    @property
    def score_branch(self) -> ScoreBranch:
        """The probability of one trial."""
        return ScoreBranch(LOGISTIC)

    def predicted(self, margins: Array) -> NDArray[Any]:
        """The expected count."""
        return np.asarray(self.means.mean(margins).mean(axis=0))
