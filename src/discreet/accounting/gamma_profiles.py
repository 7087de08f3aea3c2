"""Exact privacy profiles of one draw of a rate: Gamma posteriors of clipped counts and of clipped waiting times.

    counts          Gamma(x, ·) against Gamma(x + d, ·)        x = shape/m, d = r · width
    waiting times   Gamma(k, b) against Gamma(k, (1 + c) b)    k = shape/m + r n, c = r · width / (rate/m + r n lower)

r scales the statistics (diffused), m divides the prior (concentrated). Of all neighbouring tables these are the worst
(conjugate_sample.md, Theorem 5): adding a Gamma variable is post-processing, so that fewer counts have the larger
profile; a common factor of the draw is post-processing, so that times enter through c alone; and the likelihood ratio
is monotone, so that a larger difference is easier to see. The log-ratio is

    L - d log θ,  L = log Γ(x + d) - log Γ(x)            or            c θ - L,  L = k log(1 + c)  (in units of 1/b)

and crosses epsilon once: delta is a difference of two tails. The crossing is computed at epsilon less a bound on its
rounding, and delta at epsilon less twice that bound, which is never too small.
"""

import math

from discreet.accounting.conversions import renyi_delta, solve_decreasing
from discreet.accounting.gamma_divergences import gamma_rate_renyi, gamma_shape_renyi
from discreet.accounting.rounding import ULPS, outward_delta
from discreet.errors import GuaranteeError
from discreet.numerics.gamma_functions import log_gamma_ratio
from discreet.numerics.incomplete_gamma import log_gamma_tail, tail_error

__all__ = ["gamma_rate_delta", "gamma_rate_epsilon", "gamma_shape_delta", "gamma_shape_epsilon"]

LARGEST_SHAPE = 1e14  # beyond, a shape has no digits left beside its deviation


def gamma_shape_delta(
    shape: float, n: int, width: float, epsilon: float, *, scale: float = 1.0, shrink: float = 1.0
) -> float:
    """delta(epsilon) of one draw of a rate, given n counts that are clipped to [0, width]; the worst of all tables."""
    _check(n, epsilon, shape=shape, width=width, scale=scale, shrink=shrink)
    if n == 0:
        return 0.0
    x, d = shape / shrink * (1.0 - ULPS), scale * width * (1.0 + ULPS)
    if not x > 0.0 or x + d > LARGEST_SHAPE:
        return renyi_delta(lambda order: gamma_shape_renyi(shape, n, width, order, scale=scale, shrink=shrink), epsilon)
    constant = float(log_gamma_ratio(x, d, 0.0))
    terms = d * (1.0 + abs(math.log(x))) + (x + d + 1.0) * math.log1p(d / x) + abs(math.log(x)) + 4.0
    rounding = 4.0 * ULPS * (terms + epsilon)
    if not math.isfinite(constant + rounding):
        return 1.0
    crossed, priced = epsilon - rounding, epsilon - 2.0 * rounding
    found = max(
        _difference(x, x + d, _log_point((constant - crossed) / d), priced, upper=False),
        _difference(x + d, x, _log_point((constant + crossed) / d), priced, upper=True),
    )
    # Pinsker's inequality, and d² ψ'(x) / 2 for the divergence in both orders: ψ'(x) ≤ 1/x + 1/x²
    return outward_delta(min(found, d / 2.0 * math.sqrt(1.0 + 1.0 / x) / math.sqrt(x) * (1.0 + ULPS), 1.0))


def gamma_shape_epsilon(
    shape: float, n: int, width: float, delta: float, *, scale: float = 1.0, shrink: float = 1.0
) -> float:
    """The smallest epsilon certified at `delta`, rounded up."""
    return solve_decreasing(
        lambda epsilon: gamma_shape_delta(shape, n, width, epsilon, scale=scale, shrink=shrink), delta
    )


def gamma_rate_delta(
    shape: float,
    rate: float,
    n: int,
    lower: float,
    width: float,
    epsilon: float,
    *,
    scale: float = 1.0,
    shrink: float = 1.0,
) -> float:
    """delta(epsilon) of one draw of a rate, given n times that are clipped to [lower, lower + width]."""
    _check(n, epsilon, shape=shape, rate=rate, width=width, scale=scale, shrink=shrink)
    if n == 0:
        return 0.0
    least = (rate / shrink + scale * lower * n) * (1.0 - ULPS)
    if not least > 0.0:
        return 1.0
    k, c = (shape / shrink + scale * n) * (1.0 + ULPS), scale * width / least * (1.0 + ULPS)
    if k > LARGEST_SHAPE or not 0.0 < c < LARGEST_SHAPE:
        curve = {"scale": scale, "shrink": shrink}
        return renyi_delta(lambda order: gamma_rate_renyi(shape, rate, n, lower, width, order, **curve), epsilon)
    constant = k * math.log1p(c)
    rounding = 4.0 * ULPS * (constant + epsilon)
    if not math.isfinite(rounding):
        return 1.0
    crossed, priced = epsilon - rounding, epsilon - 2.0 * rounding
    above, below = (constant + crossed) / c, (constant - crossed) / c
    found = _scaled_difference(k, above, (1.0 + c) * above, priced, upper=True) if above > 0.0 else 1.0
    if below > 0.0:
        found = max(found, _scaled_difference(k, (1.0 + c) * below, below, priced, upper=False))
    # Pinsker's inequality: both divergences are at most k c² / 2
    return outward_delta(min(found, c / 2.0 * math.sqrt(k) * (1.0 + ULPS), 1.0))


def gamma_rate_epsilon(
    shape: float,
    rate: float,
    n: int,
    lower: float,
    width: float,
    delta: float,
    *,
    scale: float = 1.0,
    shrink: float = 1.0,
) -> float:
    """The smallest epsilon certified at `delta`, rounded up; infinite where rates may come close to 0."""

    def profile(epsilon: float) -> float:
        return gamma_rate_delta(shape, rate, n, lower, width, epsilon, scale=scale, shrink=shrink)

    return solve_decreasing(profile, delta)


Point = tuple[float, float]


def _log_point(log: float) -> Point:
    """A point with its logarithm."""
    return log, math.inf if log > 709.0 else math.exp(log)


def _difference(p: float, q: float, at: Point, epsilon: float, *, upper: bool) -> float:
    """P(A) - e^epsilon Q(A) for Gamma laws of shapes p and q and one event A."""
    log_p, log_q = (log_gamma_tail(shape, *at, upper=upper) for shape in (p, q))
    return _gap(log_p, log_q, epsilon, max(p, q))


def _scaled_difference(k: float, p: float, q: float, epsilon: float, *, upper: bool) -> float:
    """The same for one shape and an event that ends at p on the scale of P and at q on that of Q."""
    log_p, log_q = (log_gamma_tail(k, math.log(at), at, upper=upper) for at in (p, q))
    return _gap(log_p, log_q, epsilon, k)


def _gap(log_p: float, log_q: float, epsilon: float, shape: float) -> float:
    """The difference of a tail and another that e^epsilon multiplies, with the error that both may have."""
    if log_p == -math.inf:
        return 0.0
    gap = epsilon + log_q - log_p
    error, other = tail_error(shape, log_p), tail_error(shape, log_q)
    if gap > 2.0 * (error + other):
        return 0.0
    return math.exp(log_p) * (error + other * math.exp(min(gap, 0.0)) + max(-math.expm1(gap), 0.0))


def _check(n: int, epsilon: float, **positive: float) -> None:
    if not n >= 0 or not epsilon >= 0.0:
        raise GuaranteeError(f"n and epsilon must be at least 0, got {n!r} and {epsilon!r}")
    for name, value in positive.items():
        if not 0.0 < value < math.inf:
            raise GuaranteeError(f"{name} must be above 0, got {value!r}")
