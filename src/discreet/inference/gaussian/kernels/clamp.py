"""Moments of normal values that are clamped to an interval, one or two at a time.

With l, k = (low - mu) / sigma, (high - mu) / sigma and c = clip(u, low, high), u ~ N(mu, sigma²):

    E c   = low Phi(l) + high Phi(-k) + mu P + sigma (phi(l) - phi(k)),   P = Phi(k) - Phi(l)
    E c d = E c E d + rho s t P P' + s t ∫_0^rho (rho - r) D(r) dr,       D = ± phi2(corner; r) over the four corners

The second holds because two derivatives in the correlation turn both clamps into point masses at their ends.
"""

from math import asin, cos, erfc, exp, pi, sin, sqrt

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry, inner

__all__ = [
    "FAR",
    "NODES",
    "WEIGHTS",
    "clamped_mean",
    "clamped_product",
    "clamped_square",
    "corner",
    "phi",
    "upper_tail",
]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
FAR = 8.5  # a normal density that many deviations out is below double precision


@inner
def phi(x: float) -> float:
    """The standard normal density."""
    return exp(-0.5 * x * x) / sqrt(2.0 * pi)


@inner
def upper_tail(x: float) -> float:
    """The standard normal probability above x."""
    return 0.5 * erfc(x / sqrt(2.0))


@entry
def clamped_mean(mu: float, sigma: float, low: float, high: float) -> float:
    """Mean of clip(u, low, high)."""
    left, right = (low - mu) / sigma, (high - mu) / sigma
    below, above = upper_tail(-left), upper_tail(right)
    return low * below + high * above + mu * (1.0 - below - above) + sigma * (phi(left) - phi(right))


@entry
def clamped_square(mu: float, sigma: float, low: float, high: float) -> float:
    """Mean of clip(u, low, high)²."""
    left, right = (low - mu) / sigma, (high - mu) / sigma
    below, above = upper_tail(-left), upper_tail(right)
    inside = (mu * mu + sigma * sigma) * (1.0 - below - above)
    ends = sigma * ((mu + low) * phi(left) - (mu + high) * phi(right))
    return low * low * below + high * high * above + inside + ends


@entry
def clamped_product(
    mu: tuple[float, float],
    sigma: tuple[float, float],
    rho: float,
    low: tuple[float, float],
    high: tuple[float, float],
) -> float:
    """Mean of the product of two clamped values with correlation rho."""
    a0, a1 = (low[0] - mu[0]) / sigma[0], (high[0] - mu[0]) / sigma[0]
    b0, b1 = (low[1] - mu[1]) / sigma[1], (high[1] - mu[1]) / sigma[1]
    inside = (upper_tail(a0) - upper_tail(a1)) * (upper_tail(b0) - upper_tail(b1))
    apart = clamped_mean(mu[0], sigma[0], low[0], high[0]) * clamped_mean(mu[1], sigma[1], low[1], high[1])
    return apart + sigma[0] * sigma[1] * (rho * inside + _bend(a0, a1, b0, b1, rho))


@inner
def _bend(a0: float, a1: float, b0: float, b1: float, rho: float) -> float:
    """Integral of (rho - r) D(r) over r from 0 to rho, with r = sin t so that no root is singular."""
    if max(min(abs(a0), abs(a1)), min(abs(b0), abs(b1))) > FAR:
        return 0.0
    half = 0.5 * asin(rho)
    total = 0.0
    for node in range(NODES.size):
        t = half * (1.0 + NODES[node])
        r, c = sin(t), cos(t)
        corners = corner(a0, b0, r, c) - corner(a0, b1, r, c) - corner(a1, b0, r, c) + corner(a1, b1, r, c)
        total += WEIGHTS[node] * (rho - r) * corners
    return half * total / (2.0 * pi)


@inner
def corner(a: float, b: float, r: float, c: float) -> float:
    """The exponential in phi2(a, b; r), c² = 1 - r²."""
    if abs(a) > FAR or abs(b) > FAR:
        return 0.0
    return exp(-0.5 * (((a - b * r) / c) ** 2 + b * b))
