"""Formulas of the papers that nothing in the package uses: kept beside the reference values they reproduce."""

import math
from collections.abc import Sequence

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.divergences import _entries, _largest_fraction
from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE, gibbs_mu, langevin_mu
from discreet.accounting.langevin_privacy import _gap, _geometric, _mu_from
from discreet.accounting.profiles import _check_delta, discrete_gaussian_delta, discrete_laplace_delta
from discreet.errors import GuaranteeError


def minami_tail(
    epsilon: float,
    beta: float,
    gradient: float,
    *,
    prior_convexity: float,
    n: int = 0,
    loss_convexity: float = 0.0,
) -> float:
    """Bound on P(log-ratio ≥ epsilon) of one exact draw; 1 where the theorem is silent  [Minami 2016, (6)]."""
    a = gibbs_mu(beta, gradient, prior_convexity=prior_convexity, n=n, loss_convexity=loss_convexity) ** 2 / 2
    return math.exp(-((epsilon - a) ** 2) / (4 * a)) if epsilon > a else 1.0


def logistic_gradient(radius: float, features: int, *, intercept: bool) -> float:
    """G of the logistic loss with ||z|| ≤ radius when a whole record may change; the intercept adds a feature of 1.

    The intercept must be under the same prior as the weights: unpenalised it leaves the potential without convexity.
    """
    _check_radius(radius, features)
    if intercept:
        return 2 * math.hypot(radius, 1.0)
    return (LOGISTIC_OF_ONE_FEATURE if features == 1 else 2.0) * radius


def logistic_label_gradient(radius: float, *, intercept: bool) -> float:
    """G of the logistic loss when only labels may change: a weaker relation, never a default."""
    _check_radius(radius, 1)
    return math.hypot(radius, 1.0) if intercept else radius


def quadratic_mean_gradient(radius: float) -> float:
    """G of ||theta - x||²/2 with ||x|| ≤ radius, for any theta; its loss_convexity is 1 and the bound gdp is exact."""
    _check_radius(radius, 1)
    return 2 * radius


def _check_radius(radius: float, features: int) -> None:
    if not (0.0 < radius < math.inf and features >= 1):
        raise GuaranteeError(
            f"radius must be a number above 0 and features at least 1, got {radius!r} and {features!r}"
        )


def several_iterates_mu(
    gradient: float, step: float, times: Sequence[int], *, convexity: float, smoothness: float
) -> float:
    """Gaussian DP of releasing the iterates at public times t_1 < t_2 < … of one chain from a public start.

    A released iterate is a public start of what follows: mu² is the sum of `gibbs.langevin_mu`² over the gaps.
    """
    gaps = [later - earlier for earlier, later in zip([0, *times], times, strict=False)]
    if not gaps or min(gaps) < 1:
        raise GuaranteeError(f"times must be whole numbers from 1 that increase, got {list(times)!r}")
    return math.hypot(*(langevin_mu(gradient, step, t, convexity=convexity, smoothness=smoothness) for t in gaps))


def bounded_loss_range(beta: float, lowest: float, highest: float) -> float:
    """Range 2 beta (highest - lowest) of a loss between public bounds: 4 beta A for [-A, A], 2 beta A for [0, A]."""
    if not (_positive(beta) and -math.inf < lowest < highest < math.inf):
        raise GuaranteeError(f"beta must be above 0 and lowest below highest, got {(beta, lowest, highest)!r}")
    return 2 * beta * (highest - lowest)


def bounded_difference_range(beta: float, difference: float) -> float:
    """Range 2 beta L for losses of two records that differ by at most L at every parameter."""
    if not (_positive(beta) and _positive(difference)):
        raise GuaranteeError(f"beta and difference must be numbers above 0, got {(beta, difference)!r}")
    return 2 * beta * difference


def _positive(value: float) -> bool:
    return 0 < value < math.inf


def conservative_diffused_scale(prior: Sequence[float], order: float, epsilon: float) -> float:
    """The scale from the curvature bound a r² H(r) / 2 ≤ epsilon, for any n: safe, and below `diffused_scale`.

    H(r) = ψ'(x - r(a-1)) + ψ'(y - r(a-1)), x and y the two smallest prior entries  [G, Thm A.11 with its factor 1/2].
    """
    first, second = _entries(prior, 1, 1.0, 1.0)[:2]

    def bound(scale: float) -> float:
        from scipy.special import polygamma

        reach = scale * (order - 1)
        if reach >= first:
            return math.inf
        return order * scale**2 / 2 * float(polygamma(1, first - reach) + polygamma(1, second - reach))

    return _largest_fraction(bound, epsilon)


def langevin_mu_from(
    distance: float, gradient: float, step: float, steps: float, *, convexity: float, smoothness: float
) -> float:
    """Gaussian DP of the last iterate when neighbours start at most `distance` apart, a public bound.

        mu = ( c^t z_0 + s (1 - c^t)/(1 - c) ) sqrt( (1 - c²)/(1 - c^2t) ),   z_0 = distance / sqrt(2h)

    Exact on quadratics. Distance 0 is a public start; the exact minimiser of U has distance ≤ gradient / m, but one
    found numerically is not exact: bound it by `noiseless_start_distance`, or by (gradient + 2 tol) / m if an optimiser
    guarantees ||grad U|| ≤ tol on every dataset, and never start elsewhere when it fails.
    """
    gap = _gap(gradient, step, steps, convexity, smoothness)
    if not 0.0 <= distance < math.inf:
        raise GuaranteeError(f"distance must be a number of at least 0, got {distance!r}")
    return _mu_from(distance, gradient, step, steps, gap)


def noiseless_start_distance(gradient: float, step: float, steps: int, *, convexity: float, smoothness: float) -> float:
    """How far apart neighbours are after `steps` gradient steps without noise from one public point, converged or not.

    h gradient (1 - c^k)/(1 - c), which is (gradient / m)(1 - c^k) for h ≤ 2 / (m + M).
    """
    gap = _gap(gradient, step, max(steps, 1), convexity, smoothness)
    if steps < 0:
        raise GuaranteeError(f"steps must be at least 0, got {steps!r}")
    return step * gradient * _geometric(gap, steps) if steps else 0.0


def discrete_laplace_epsilon(shift: int, scale: float, delta: float) -> float:
    """The smallest epsilon certified at `delta`, rounded up; shift / scale at delta = 0."""
    return solve_decreasing(lambda epsilon: discrete_laplace_delta(shift, scale, epsilon), delta)


def discrete_gaussian_epsilon(shift: int, sigma: float, delta: float) -> float:
    """The smallest epsilon certified at `delta`, rounded up."""
    _check_delta(delta)
    return solve_decreasing(lambda epsilon: discrete_gaussian_delta(shift, sigma, epsilon), delta)
