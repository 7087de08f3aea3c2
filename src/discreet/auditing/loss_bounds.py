"""Lower bounds on the privacy loss of a mechanism, from how often an event happens on each of two neighbouring tables.

For an event chosen on one half of the draws and counted on the other, with probabilities p on D and q on D',

    (epsilon, delta)-DP implies  p ≤ e^epsilon q + delta   and   1 - q ≤ e^epsilon (1 - p) + delta,

so Clopper–Pearson bounds p ≥ p_low and q ≤ q_high give epsilon ≥ log((p_low - delta) / q_high) for any mechanism. The
bound holds with the stated confidence; it says nothing about events nobody looked at.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError

__all__ = ["Audit", "clopper_pearson", "epsilon_lower_bound", "threshold_audit"]


@dataclass(frozen=True)
class Audit:
    """What an audit found: with confidence `confidence`, the loss at `delta` is at least `epsilon`."""

    epsilon: float
    delta: float
    confidence: float
    draws: int
    event: str

    def __str__(self) -> str:
        return (
            f"epsilon at least {self.epsilon:.4f} at delta = {self.delta:g} "
            f"({self.confidence:.1%} confidence, {self.draws} draws a side, event: {self.event})"
        )


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Exact one-sided lower and upper bounds, each wrong with probability at most `alpha`."""
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, alpha))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - alpha))
    return low, high


def epsilon_lower_bound(
    hits: int, other_hits: int, trials: int, *, delta: float = 0.0, confidence: float = 0.999
) -> float:
    """Largest epsilon that the counts of one event refute, in either order and for the complement; at least 0."""
    if not trials > 0 or not (0 <= hits <= trials and 0 <= other_hits <= trials):
        raise QueryError(f"epsilon_lower_bound counts must lie in 0..trials, got {hits}, {other_hits} of {trials}")
    if not (0 <= delta < 1 and 0 < confidence < 1):
        raise QueryError(f"epsilon_lower_bound delta and confidence must be below 1, got {delta!r} and {confidence!r}")
    # two bounds for each of two counts enter; a union bound over them keeps the confidence for all four comparisons
    alpha = (1 - confidence) / 4
    p_low, p_high = clopper_pearson(hits, trials, alpha)
    q_low, q_high = clopper_pearson(other_hits, trials, alpha)
    ratios = [(p_low, q_high), (q_low, p_high), (1 - p_high, 1 - q_low), (1 - q_high, 1 - p_low)]
    return max([0.0, *(math.log((top - delta) / bottom) for top, bottom in ratios if top > delta and bottom > 0)])


def threshold_audit(
    draws: ArrayLike, other_draws: ArrayLike, *, delta: float = 0.0, confidence: float = 0.999
) -> Audit:
    """Audit one-dimensional outputs by events {x ≤ t} and {x ≥ t}.

    The threshold is chosen on the first half of each sample and judged on the second, so that the choice does not
    bias the bound.
    """
    first, second = _halves(draws)
    other_first, other_second = _halves(other_draws)
    size = min(first.size, other_first.size, second.size, other_second.size)
    thresholds = np.unique(np.concatenate([first, other_first]))
    if thresholds.size > 2000:
        thresholds = np.quantile(thresholds, np.linspace(0, 1, 2000), method="nearest")
    p = np.searchsorted(np.sort(first[:size]), thresholds, side="right")
    q = np.searchsorted(np.sort(other_first[:size]), thresholds, side="right")
    scores = [
        epsilon_lower_bound(int(a), int(b), size, delta=delta, confidence=confidence) for a, b in zip(p, q, strict=True)
    ]
    chosen = float(thresholds[int(np.argmax(scores))])
    hits, other_hits = int((second[:size] <= chosen).sum()), int((other_second[:size] <= chosen).sum())
    epsilon = epsilon_lower_bound(hits, other_hits, size, delta=delta, confidence=confidence)
    return Audit(epsilon, delta, confidence, size, f"x ≤ {chosen:g}")


def _halves(draws: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values = np.asarray(draws, dtype=float).ravel()
    if values.size < 4:
        raise QueryError(f"threshold_audit must get at least 4 draws, got {values.size}")
    return values[: values.size // 2], values[values.size // 2 :]
