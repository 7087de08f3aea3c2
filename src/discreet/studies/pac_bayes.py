"""How well a draw from a Gibbs posterior predicts: PAC-Bayes bounds for the hinge loss under a Gaussian prior.

Records are independent draws of (z, y), ||z|| ≤ r, y = ±1; loss (1 - y theta.z)_+; prior N(0, I/(n lam)) on R^d. The
theorem is for the posterior ∝ exp(-b R_n) prior with the *mean* risk R_n of n records  [Minami et al. 2016, Theorem 18,
after Alquier, Ridgway, Chopin 2016]: if E_prior E_data exp(b (R - R_n)) ≤ e^f, then with probability 1 - eta, for all
laws rho of theta at once,

    E_rho R ≤ E_rho R_n + ( f + KL(rho || prior) + log(1/eta) ) / b.

A Gibbs posterior at inverse temperature beta has the *sum* of losses in its exponent: b = n beta (the 1/beta of (C.4)
must be 1/(n beta)). For the printed f of Example 19, b²/4n - log(1 - r² b²/(4 lam n²))/2, no proof could be found; the
two below are proved.

Everything here is a function of public numbers, or of numbers that were released and paid for. Evaluating a bound on
the empirical risk of private records is itself a release of that risk.
"""

import math

from discreet.accounting.gibbs import Bound, Calibrated, largest_beta
from discreet.errors import GuaranteeError

__all__ = [
    "beta_limit_by_hoeffding",
    "beta_limit_by_symmetry",
    "excess_by_hoeffding",
    "excess_by_symmetry",
    "hinge_beta",
    "mean_temperature",
    "risk_bound",
]


def mean_temperature(beta: float, n: int) -> float:
    """What multiplies the mean risk when beta multiplies the sum: b = n beta."""
    return n * beta


def excess_by_hoeffding(b: float, *, n: int, radius: float, precision: float, dimension: int) -> float:
    """Excess f = b²/4n - (d/2) log(1 - r² b²/(2 lam n²)), infinite from b = sqrt(2 lam) n / r on; lam: `precision`.

    The loss lies in [0, 1 + r ||theta||]: Hoeffding's lemma, (1 + x)² ≤ 2 + 2x², and a Gaussian integral.
    """
    _check(b, n, radius, precision)
    share = (radius * b / n) ** 2 / (2 * precision)
    return b**2 / (4 * n) - dimension / 2 * math.log1p(-share) if share < 1 else math.inf


def excess_by_symmetry(b: float, *, n: int, radius: float, precision: float) -> float:
    """Excess f = -log(1 - 4 r² b²/(lam n²))/2 in any dimension, infinite from b = sqrt(lam) n / 2r on.

    A second sample and random signs leave exp(b²/2n² sum (theta.w_i)²), ||w_i|| ≤ 2r, whose Gaussian integral is
    det(I - A)^(-1/2) with det(I - A) ≥ 1 - tr A.
    """
    _check(b, n, radius, precision)
    share = (2 * radius * b / n) ** 2 / precision
    return -math.log1p(-share) / 2 if share < 1 else math.inf


def beta_limit_by_hoeffding(*, radius: float, precision: float) -> float:
    """Below sqrt(2 lam) / r the Hoeffding bound is finite, whatever n."""
    return math.sqrt(2 * precision) / radius


def beta_limit_by_symmetry(*, radius: float, precision: float) -> float:
    """Below sqrt(lam) / 2r the bound by symmetry is finite; the printed 2 sqrt(lam) n / r is of the mean's scale."""
    return math.sqrt(precision) / (2 * radius)


def hinge_beta(
    epsilon: float, delta: float, *, n: int, radius: float, precision: float, bound: Bound = "gdp"
) -> Calibrated:
    """The largest beta that is private by `bound` and below the limit by symmetry (Example 19, corrected).

    The prior has convexity n lam and the loss Lipschitz constant r, so the gradient difference is 2r.
    """
    private = largest_beta(epsilon, delta, 2 * radius, prior_convexity=n * precision, bound=bound)
    limit = math.nextafter(beta_limit_by_symmetry(radius=radius, precision=precision), 0.0)
    return Calibrated(min(private.value, limit), private.proved)


def risk_bound(empirical_risk: float, divergence: float, excess: float, b: float, failure: float) -> float:
    """E_rho R_n + (f + KL + log(1/eta))/b: bound on the risk of a draw, wrong with probability at most `failure`.

    `empirical_risk` and `divergence` must be public or released.
    """
    if not (b > 0 and 0 < failure < 1 and divergence >= 0):
        raise GuaranteeError(
            f"b must be above 0, failure in (0, 1) and divergence at least 0, got {(b, failure, divergence)!r}"
        )
    return empirical_risk + (excess + divergence + math.log(1 / failure)) / b


def _check(b: float, n: int, radius: float, precision: float) -> None:
    if not (b > 0 and n >= 1 and radius > 0 and precision > 0):
        raise GuaranteeError(f"b, n, radius and precision must be above 0, got {(b, n, radius, precision)!r}")
