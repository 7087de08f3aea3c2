"""What noisy counts of labels by score bins say of a score: AUC, log loss and calibration, with honest intervals.

Rows of the table come from a population in which a row has label y and bin b with probability π_yb. The counts behind
the release are summed out exactly; draws of π are draws of

    AUC           P(score of a one > score of a zero) + P(equal) / 2, bins being all that is told apart
    ties          P(equal): the AUC of the score itself lies within ties / 2 of that of its bins
    log loss      -Σ π_yb log P(y | bin), with the public probability that the bin stands for
    calibration   P(y = 1 | bin), beside which the bin's own probability belongs
    share         P(bin)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.level_probabilities import DirichletLattice, DirichletPosterior

__all__ = ["HeldOutPosterior", "of_score"]

STORED_DRAWS = 8_000
TINY = 1e-300


def of_score(joint: Array, probabilities: Array) -> dict[str, Array]:
    """The measures of tables π (…, 2, bins); `probabilities` are those that the bins stand for."""
    zeros, ones = joint[..., 0, :], joint[..., 1, :]
    negative, positive = (np.maximum(part.sum(axis=-1, keepdims=True), TINY) for part in (zeros, ones))
    zero, one = zeros / negative, ones / positive
    below = np.cumsum(zero, axis=-1) - zero
    ties = (one * zero).sum(axis=-1)
    loss = -(ones * np.log(probabilities) + zeros * np.log1p(-probabilities)).sum(axis=-1)
    share = zeros + ones
    return {
        "auc": np.asarray((one * below).sum(axis=-1) + 0.5 * ties),
        "ties": np.asarray(ties),
        "log_loss": np.asarray(loss / np.maximum(share.sum(axis=-1), TINY)),
        "calibration": np.asarray(ones / np.maximum(share, TINY)),
        "share": np.asarray(share),
    }


@dataclass(frozen=True, eq=False)
class HeldOutPosterior(Posterior):
    """The measures of a public score on held-out rows, given noisy counts.

    Parameters
    ----------
    joint
        The posterior of π, labels first.
    probabilities
        The public probability of the second level that each bin stands for.
    bins
        In words.
    """

    joint: DirichletLattice | DirichletPosterior
    probabilities: Array
    bins: tuple[str, ...]

    def mean(self) -> dict[str, Any]:
        """Posterior means."""
        return {name: _plain(values.mean(axis=0)) for name, values in self._stored.items()}

    def sd(self) -> dict[str, Any]:
        """Posterior deviations."""
        return {name: _plain(values.std(axis=0)) for name, values in self._stored.items()}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Mapping[str, Array]:
        """Independent draws, by measure."""
        drawn = self.joint.sample(n, np.random.default_rng(rng)).reshape(n, 2, -1)
        return of_score(drawn, self.probabilities)

    def _title(self) -> str:
        return f"score on held-out rows, in {len(self.bins)} bins"

    def _axes(self) -> Axes:
        bins = {"score_bin": self.bins}
        return {"auc": {}, "ties": {}, "log_loss": {}, "calibration": bins, "share": bins}

    def _quantiles(self, orders: Array) -> list[dict[str, Any]]:
        return [{name: _plain(np.quantile(values, q, axis=0)) for name, values in self._stored.items()} for q in orders]

    @cached_property
    def _stored(self) -> Mapping[str, Array]:
        return self.sample(STORED_DRAWS, np.random.default_rng(0))


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else np.asarray(values)
