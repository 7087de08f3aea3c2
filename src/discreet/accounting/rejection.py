"""Public constants of the exact sampler of exp(-U) by rejection, for U m-strongly convex and M-smooth on R^d.

For any anchor t0 with g = grad U(t0), U(t) ≥ U(t0) + g.(t - t0) + (m/2) ||t - t0||². So propose t from N(t0 - g/m, I/m)
and accept with probability exp(-(U(t) - that bound)): the draw is exact for every t0, and no minimiser need be found.

How many proposals it takes depends on the records, so it must not show: make a public number of them and release the
first that was accepted, or, if none was, a draw from a fallback law, best a public one. With `acceptance_at_least`
proved for all datasets and `proposals_for` that failure probability gamma, an (epsilon, delta)-DP posterior becomes
(epsilon, delta + gamma)-DP: of an event with posterior chances E and E' at most (1 - w) E + w and at least (1 - w') E'
is left, w and w' ≤ gamma, and E (w' - w) + w + delta ≤ gamma + delta. It is no longer Gaussian DP, and gamma adds up
over releases. A restriction to a set voids the constants here.
"""

import math

from discreet.errors import GuaranteeError

__all__ = ["acceptance_at_least", "gradient_after", "proposals_for"]


def acceptance_at_least(*, convexity: float, smoothness: float, dimension: int, tolerance: float) -> float:
    """Lower bound (m/M)^(d/2) e^(-tol² (1/m - 1/M)/2) on the acceptance where ||grad U(t0)|| ≤ tol on every dataset.

    From U(t) ≤ U(t0) + g.(t - t0) + (M/2) ||t - t0||², integrated. Tolerance 0 is the exact minimiser.
    """
    _check(convexity, smoothness)
    if not (dimension >= 1 and 0 <= tolerance < math.inf):
        raise GuaranteeError(
            f"dimension must be at least 1 and tolerance at least 0, got {dimension!r} and {tolerance!r}"
        )
    spread = (smoothness - convexity) / (smoothness * convexity)
    return math.exp(dimension / 2 * math.log(convexity / smoothness) - tolerance**2 * spread / 2)


def proposals_for(failure: float, acceptance: float) -> int:
    """The smallest number of proposals of which none is accepted with probability at most `failure`."""
    if not (0 < failure < 1 and 0 < acceptance <= 1):
        raise GuaranteeError(
            f"failure must be in (0, 1) and acceptance above 0 and at most 1, got {failure!r} and {acceptance!r}"
        )
    if acceptance == 1:
        return 1
    log_rejected = math.log1p(-acceptance)
    count = max(math.ceil(math.log(failure) / log_rejected), 1)
    return count if count * log_rejected <= math.log(failure) else count + 1


def gradient_after(steps: int, start_gradient: float, *, convexity: float, smoothness: float) -> float:
    """||grad U|| after noiseless steps of size 2/(m + M), at most c^k times its bound at the start, c = (M-m)/(M+m).

    One step takes the gradient g to (I - h H) g for some H between m I and M I. At 0, under a prior centred there, the
    public bound of the start is n beta L. In exact arithmetic: what rounding adds to a gradient must be added to it.
    """
    _check(convexity, smoothness)
    if not (steps >= 0 and 0 <= start_gradient < math.inf):
        raise GuaranteeError(f"steps and start_gradient must be at least 0, got {steps!r} and {start_gradient!r}")
    return ((smoothness - convexity) / (smoothness + convexity)) ** steps * start_gradient


def _check(convexity: float, smoothness: float) -> None:
    if not 0 < convexity <= smoothness < math.inf:
        raise GuaranteeError(f"convexity must be above 0 and at most smoothness, got {convexity!r} and {smoothness!r}")
