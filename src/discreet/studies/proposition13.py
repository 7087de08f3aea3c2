"""How long noisy gradient descent must run until its last iterate is within a total variation of the exact posterior.

Minami et al. 2016, Proposition 13, corrected. U is m-strongly convex and M-smooth on R^d, d ≥ 2, and the chain
theta ← theta - h grad U + sqrt(2h) N(0, I) starts from N(theta*, I/M), theta* the exact minimiser: a start that depends
on the data, as it may where privacy is that of a nearby exact draw, and that the printed statement leaves out. Then

    TV(step T, posterior) ≤ e^(-m T h / 2) (M/m)^(d/4) / 2 + sqrt( d M² T h² alpha / (4 (2 alpha - 1)) )

for 1 ≤ alpha ≤ 1/(h M)  [Dalalyan 2017, their Theorem 21]. It holds at step T with this h, not at all later ones: the
second term grows. With the tolerance gamma proved for every dataset, an (epsilon, delta)-DP posterior gives an
(epsilon, delta + (1 + e^epsilon) gamma)-DP sampler: `guarantee.Within`  [Proposition 12; printed "(epsilon delta + …"].

For comparison only: it takes millions of steps. From a public start the chain is private by itself, after any number of
steps (`gibbs.langevin_mu`).
"""

import math
from dataclasses import dataclass

from discreet.errors import GuaranteeError

__all__ = ["LangevinSchedule", "distance_bound", "langevin_schedule", "shorter_schedule"]


@dataclass(frozen=True)
class LangevinSchedule:
    """A step size, a number of steps and the alpha of the theorem that proves them enough."""

    step: float
    steps: int
    alpha: float


def langevin_schedule(tolerance: float, *, dimension: int, convexity: float, smoothness: float) -> LangevinSchedule:
    """Proposition 13 with its alpha = 1, T corrected: m² instead of m.

        B = 4 log(1/gamma) + d log(M/m),   h = 2 m gamma² / (d M² B),   T = ceil( d M² B² / (4 m² gamma²) )

    The printed T is m times this one: too few steps for m < 1.
    """
    time = _time(tolerance, dimension, convexity, smoothness)
    step = tolerance**2 / (smoothness**2 * time * dimension)
    return LangevinSchedule(step, math.ceil(time / step), 1.0)


def shorter_schedule(tolerance: float, *, dimension: int, convexity: float, smoothness: float) -> LangevinSchedule:
    """The same with the best alpha = (1 + M d S / gamma²) / 2, S = B / 2m: about half the steps."""
    time = _time(tolerance, dimension, convexity, smoothness)
    alpha = (1 + smoothness * dimension * time / tolerance**2) / 2
    step = tolerance**2 * (2 * alpha - 1) / (smoothness**2 * time * dimension * alpha)
    return LangevinSchedule(step, math.ceil(time / step), alpha)


def distance_bound(schedule: LangevinSchedule, *, dimension: int, convexity: float, smoothness: float) -> float:
    """The theorem's bound on the total variation to the posterior after a schedule."""
    if not schedule.step * schedule.alpha * smoothness <= 1 + 1e-12 or not schedule.alpha >= 1:
        raise GuaranteeError(f"alpha must be from 1 to 1 / (step · smoothness), got {schedule.alpha!r}")
    time = schedule.steps * schedule.step
    start = math.exp(dimension * math.log(smoothness / convexity) / 4 - convexity * time / 2) / 2
    factor = schedule.alpha / (4 * (2 * schedule.alpha - 1))
    return start + math.sqrt(dimension * smoothness**2 * time * schedule.step * factor)


def _time(tolerance: float, dimension: int, convexity: float, smoothness: float) -> float:
    """S = T h, at which the start is forgotten down to half the tolerance."""
    if not (0 < tolerance < 0.5 and dimension >= 2):
        raise GuaranteeError(
            f"tolerance must be above 0 and below 1/2 and dimension at least 2, got {tolerance!r} and {dimension!r}"
        )
    if not 0 < convexity <= smoothness < math.inf:
        raise GuaranteeError(f"convexity must be above 0 and at most smoothness, got {convexity!r} and {smoothness!r}")
    return (4 * math.log(1 / tolerance) + dimension * math.log(smoothness / convexity)) / (2 * convexity)
