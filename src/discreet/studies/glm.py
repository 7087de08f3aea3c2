"""Rényi privacy of one exact draw from a generalised linear model's posterior, diffused or concentrated.

Loss A(w.x) - y w.x with ||x|| ≤ c and |A'(w.x) - y| ≤ B: Lipschitz with L = cB (logistic: B = 1; an intercept is a
feature of 1 that c must count). Prior N(0, I/(n beta)), so m = n beta, here `n · precision`; power rho on the
likelihood. Replace-one, n public  [Geumlek, Song, Chaudhuri 2017, Lemma 1 and Theorems 16 and 17]:

    D_lam ≤ 2 rho² L² lam / m   for every order lam ≥ 1

It is the curve of Gaussian DP with mu = 2 rho L / sqrt(m), which `gibbs.gibbs_mu` proves and which says more. Unbounded
|A'(w.x) - y| (Poisson, Gaussian) is not covered, nor is a draw that is not exact.
"""

import math

from discreet.accounting.rounding import MARGIN, outward
from discreet.errors import GuaranteeError

__all__ = ["concentrated_precision", "diffused_power", "glm_renyi", "label_flip_renyi"]


def glm_renyi(power: float, lipschitz: float, convexity: float, order: float) -> float:
    """2 rho² L² lam / m: the Rényi divergence of neighbours' posteriors at most."""
    if not (power > 0 and lipschitz > 0 and convexity > 0 and order >= 1):
        given = (power, lipschitz, convexity, order)
        raise GuaranteeError(f"power, lipschitz and convexity must be above 0 and order at least 1, got {given!r}")
    return outward(2 * (power * lipschitz) ** 2 * order / convexity)


def diffused_power(epsilon: float, order: float, *, n: int, precision: float, lipschitz: float) -> float:
    """The largest power up to 1 within epsilon at an order: min(1, sqrt(epsilon n beta / (2 lam L²))), rounded down."""
    _check(epsilon, order, n, precision, lipschitz)
    power = min(1.0, math.sqrt(epsilon * n * precision / (2 * order)) / lipschitz * (1 - MARGIN))
    while glm_renyi(power, lipschitz, n * precision, order) > epsilon:
        power = math.nextafter(power, 0.0)
    return power


def concentrated_precision(epsilon: float, order: float, *, n: int, precision: float, lipschitz: float) -> float:
    """The smallest precision, from the given one up, within epsilon at an order: max(beta, 2 L² lam / (n epsilon))."""
    _check(epsilon, order, n, precision, lipschitz)
    raised = max(precision, 2 * lipschitz**2 * order / (n * epsilon) * (1 + MARGIN))
    while glm_renyi(1.0, lipschitz, n * raised, order) > epsilon:
        raised = math.nextafter(raised, math.inf)
    return raised


def label_flip_renyi(order: int, variance: float) -> float:
    """D_lam between the logistic posteriors of one record, ||x|| = 1, and of the same record with the other label.

    Under N(0, s2) along x, E = 2 E[sigma(w) e^((lam-1) w)], and for whole orders sigma(w) = 1 - e^-w sigma(w) gives

        E = 2 [ sum_{i=1}^{lam-1} (-1)^(lam-1-i) e^(i² s2/2) + (-1)^(lam-1)/2 ],   D_lam = log(E) / (lam - 1)

    (Lemma 3 corrected: the term i = 0 counts half, and the order must be whole.) Below lam s2/2, the bound of a label
    flip, whose gradients differ by ||x|| = 1, and far below the generic 2 lam s2.
    """
    if not (isinstance(order, int) and order >= 2 and variance > 0):
        raise GuaranteeError(f"order must be a whole number from 2 and variance above 0, got {(order, variance)!r}")
    # the sum divided by its last term e^(k² s2/2), so that nothing overflows
    share = 0.5
    for k in range(1, order):
        share = 1 - share * math.exp(-(2 * k - 1) * variance / 2)
    k = order - 1
    return (k * k * variance / 2 + math.log(2 * share)) / k


def _check(epsilon: float, order: float, n: int, precision: float, lipschitz: float) -> None:
    if not (epsilon > 0 and order >= 1 and n >= 1 and precision > 0 and lipschitz > 0):
        given = (epsilon, order, n, precision, lipschitz)
        raise GuaranteeError(f"epsilon, n, precision and lipschitz must be above 0 and order at least 1, got {given!r}")
