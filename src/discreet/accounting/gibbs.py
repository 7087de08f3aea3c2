"""Inverse temperatures of the Gibbs posterior exp(-beta · sum loss) · prior, and the privacy of Langevin steps.

Replace-one, n public. With m = m_pi + n beta m_l the strong convexity of the potential for every dataset (m_pi of the
prior, m_l of the loss of every possible record) and G the largest difference of two records' loss gradients,

    one exact draw is mu-Gaussian DP,  mu(beta) = beta G / sqrt(m)                     [Gopi, Lee, Liu 2022]
    P(log-ratio ≥ epsilon) ≤ exp(-(epsilon - a)² / 4a),  a = mu²/2 < epsilon          [Minami et al. 2016, Thm 7 and 10]

A bound says how large mu may be for (epsilon, delta):

    gdp             the exact inverse of the Gaussian profile
    renyi           sqrt(2 rho), rho by the improved conversion of rho-zCDP
    minami          sqrt(2 eta), eta = (sqrt(l + epsilon) - sqrt(l))², l = log(1/delta): the tail above, solved exactly
    minami-printed  epsilon / sqrt(1 + 2l), the paper's Corollary 8: follows from the tail only up to epsilon about 1,
                    and is false for large epsilon (at 10, 1e-5 the true delta is 1.68e-5); for comparison only
"""

import math
from dataclasses import dataclass
from typing import Literal

from discreet.accounting.conversions import gaussian_mu, zcdp_rho
from discreet.accounting.rounding import ULPS
from discreet.errors import GuaranteeError

__all__ = [
    "LOGISTIC_OF_ONE_FEATURE",
    "Bound",
    "Calibrated",
    "gibbs_mu",
    "langevin_mu",
    "largest_beta",
    "largest_beta_at_mu",
    "largest_mu",
    "minami_eta",
]

# sup |z sigma(-w z) - z' sigma(-w z')| over |z|, |z'| ≤ 1 = 1.05163399155…, rounded up: one feature, no intercept
LOGISTIC_OF_ONE_FEATURE = 1.051634

Bound = Literal["gdp", "renyi", "minami", "minami-printed"]


@dataclass(frozen=True)
class Calibrated:
    """A parameter and whether a proof says that it meets the privacy it was calibrated for."""

    value: float
    proved: bool


def gibbs_mu(beta: float, gradient: float, *, prior_convexity: float, n: int = 0, loss_convexity: float = 0.0) -> float:
    """Gaussian DP of one exact draw at inverse temperature beta."""
    _check(gradient, prior_convexity, n, loss_convexity)
    if not 0.0 < beta < math.inf:
        raise GuaranteeError(f"beta must be a number above 0, got {beta!r}")
    return beta * gradient / math.sqrt(prior_convexity + n * beta * loss_convexity) * (1 + ULPS)


def largest_beta_at_mu(
    mu: float, gradient: float, *, prior_convexity: float, n: int = 0, loss_convexity: float = 0.0
) -> float:
    """The largest beta with gibbs_mu(beta) ≤ mu, rounded down: the root of beta² G² = mu² (m_pi + n beta m_l)."""
    _check(gradient, prior_convexity, n, loss_convexity)
    linear = mu**2 * n * loss_convexity
    beta = (linear + math.sqrt(linear**2 + 4 * (gradient * mu) ** 2 * prior_convexity)) / (2 * gradient**2)
    while gibbs_mu(beta, gradient, prior_convexity=prior_convexity, n=n, loss_convexity=loss_convexity) > mu:
        beta = math.nextafter(beta, 0.0)
    return beta


def largest_beta(
    epsilon: float,
    delta: float,
    gradient: float,
    *,
    prior_convexity: float,
    n: int = 0,
    loss_convexity: float = 0.0,
    bound: Bound = "gdp",
) -> Calibrated:
    """The largest beta that the bound allows for (epsilon, delta), rounded down. G = 2L for L-Lipschitz losses."""
    mu = largest_mu(epsilon, delta, bound)
    # the printed corollary knows the prior's convexity only
    convexity = 0.0 if bound == "minami-printed" else loss_convexity
    beta = largest_beta_at_mu(mu.value, gradient, prior_convexity=prior_convexity, n=n, loss_convexity=convexity)
    return Calibrated(beta, mu.proved)


def largest_mu(epsilon: float, delta: float, bound: Bound = "gdp") -> Calibrated:
    """The largest mu that the bound allows for (epsilon, delta)."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise GuaranteeError(f"epsilon and delta must be above 0 and in (0, 1), got {epsilon!r} and {delta!r}")
    if bound == "gdp":
        return Calibrated(gaussian_mu(epsilon, delta), proved=True)
    if bound == "renyi":
        return Calibrated(math.sqrt(2 * zcdp_rho(epsilon, delta)), proved=True)
    if bound == "minami":
        return Calibrated(math.sqrt(2 * minami_eta(epsilon, delta)), proved=True)
    if bound == "minami-printed":
        spread = 1 + 2 * math.log(1 / delta)
        # when exp(-(epsilon - a)²/4a) ≤ delta at a = epsilon² / 2 spread, and a < epsilon, which the tail asks for
        follows = (1 - epsilon) / 2 + epsilon**2 / (8 * spread) >= 0 and epsilon < 2 * spread
        return Calibrated(epsilon / math.sqrt(spread), proved=follows)
    raise GuaranteeError(f'bound must be "gdp", "renyi", "minami" or "minami-printed", got {bound!r}')


def minami_eta(epsilon: float, delta: float) -> float:
    """The largest a < epsilon with exp(-(epsilon - a)² / 4a) ≤ delta: epsilon + 2l - 2 sqrt(l (l + epsilon))."""
    log_inverse = math.log(1 / delta)
    return epsilon**2 / (epsilon + 2 * log_inverse + 2 * math.sqrt(log_inverse * (log_inverse + epsilon)))


def langevin_mu(gradient: float, step: float, steps: float, *, convexity: float, smoothness: float) -> float:
    """Gaussian DP of the last of `steps` iterates of theta - h grad U + sqrt(2h) N(0, I) from a public start.

    gradient = beta G bounds the difference of two neighbours' potentials' gradients, and every potential U is
    `convexity`-strongly convex and `smoothness`-smooth. With contraction c = max(|1 - hm|, |1 - hM|),

        mu = G sqrt(h/2) sqrt( (1 - c^t)/(1 + c^t) · (1 + c)/(1 - c) )              [Bok, Su, Altschuler 2024]

    and G sqrt(h t / 2) at c = 1. Up to h = 2 / (m + M) it stays below the exact posterior's G / sqrt(m); longer steps
    are covered too, but may cost more than an exact draw.
    """
    if not (gradient > 0 and 0 <= convexity <= smoothness < math.inf and smoothness > 0 and steps >= 1):
        given = (gradient, steps, convexity, smoothness)
        raise GuaranteeError(f"gradient must be positive, steps ≥ 1 and 0 ≤ convexity ≤ smoothness, got {given!r}")
    if not 0.0 < step <= 2 / smoothness:
        raise GuaranteeError(f"step must be above 0 and at most 2 / smoothness = {2 / smoothness!r}, got {step!r}")
    once = gradient * math.sqrt(step / 2)
    # 1 - c, without rounding c first; where it is a difference it is rounded down, and mu up
    gap = min(step * convexity, step * smoothness, 2 - 2 * ULPS - step * smoothness)
    if gap <= 0:
        return once * math.sqrt(steps)
    # (1 - c^t)/(1 + c^t) = tanh(t x), x = -log(c)/2
    rate = -math.log1p(-gap) / 2 if gap < 1 else math.inf
    return once * math.sqrt(math.tanh(steps * rate) / math.tanh(rate))


def _check(gradient: float, prior_convexity: float, n: int, loss_convexity: float) -> None:
    if not 0.0 < gradient < math.inf:
        raise GuaranteeError(f"gradient must be a number above 0, got {gradient!r}")
    if not (0.0 <= prior_convexity < math.inf and 0.0 <= loss_convexity < math.inf and n >= 0):
        given = (prior_convexity, n, loss_convexity)
        raise GuaranteeError(f"prior_convexity, n and loss_convexity must be at least 0, got {given!r}")
    if not prior_convexity + n * loss_convexity > 0:
        raise GuaranteeError(
            "prior_convexity + n · loss_convexity must be above 0, got 0: the potential is not convex enough"
        )
