"""Renyi divergence inside conjugate families, its worst neighbours, and the sampling laws that stay below a bound.

A draw from Dirichlet(prior / shrink + scale · counts) has, at order a, the divergence

    D(P || Q) = [C(a p + (1 - a) q) - a C(p)] / (a - 1) + C(q),     C(p) = sum log Γ(p_i) - log Γ(sum p_i)

infinite where the first argument has an entry ≤ 0  [Geumlek, Song, Chaudhuri 2017, Observation 3]. Neighbours
replace one of n public records: P = base + r e_i, Q = base + r e_j, r = scale. The divergence is then f(Q_i) + g(P_j),

    f(x) = [log Γ(x + ar) - a log Γ(x + r)] / (a - 1) + log Γ(x)
    g(x) = [log Γ(x - (a-1)r) - a log Γ(x)] / (a - 1) + log Γ(x + r)

both decreasing because the digamma function is concave. With three or more levels the n - 1 other records may all sit
in a third one, so the supremum is at the two smallest prior entries; with two levels they must add to one of the two.
Statistics with real values in [0, 1] have the same supremum, because D is convex in the difference of parameters.

`scale` below 1 is diffused sampling, `shrink` below 1 concentrated sampling; both inverses return their safe end.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.curves import gaussian_renyi
from discreet.accounting.rounding import ULPS, outward
from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import STIRLING, entropy_excess, log_excess

__all__ = [
    "concentrated_shrink",
    "diffused_scale",
    "dirichlet_divergence",
    "dirichlet_renyi",
    "entry_divergence",
    "gaussian_mean_mu",
    "gaussian_mean_renyi",
    "largest_order",
    "share_of_step",
]


# Renyi divergence does not decrease with the order: the limit at order 1 is bounded by the value just above it.
SMALLEST_ORDER = 1 + 2.0**-40

SHIFTS = np.arange(16.0)


def dirichlet_divergence(p: ArrayLike, q: ArrayLike, order: float) -> float:
    """D(Dirichlet(p) || Dirichlet(q)) at any order from 1 on; infinite where the mixture is not normalisable."""
    top, bottom = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    if top.shape != bottom.shape or not (np.all(top > 0) and np.all(bottom > 0)):
        raise GuaranteeError(f"dirichlet_divergence.p and q must be positive and of one length, got {p!r} and {q!r}")
    entries = entry_divergence(top, bottom, top - bottom, _order(order)).sum()
    if not np.isfinite(entries):
        return math.inf
    totals = top.sum(), bottom.sum(), (top - bottom).sum()
    return max(float(entries - entry_divergence(*totals, _order(order))), 0.0)


def dirichlet_renyi(prior: Sequence[float], n: int, order: float, *, scale: float = 1.0, shrink: float = 1.0) -> float:
    """Largest divergence at `order` of one draw over all neighbouring datasets; infinite from `largest_order` on."""
    entries = _entries(prior, n, scale, shrink)
    if n == 0:
        return 0.0
    if math.isinf(order):
        return math.inf
    first, second = entries[:2]
    rest = scale * (n - 1) if len(entries) == 2 else 0.0
    # what the two levels that differ hold besides the record that moves: Q_i, then P_j
    gains = np.array([first + rest, first, second + rest, second])
    losses = np.array([second, second + rest, first, first + rest])
    shares = share_of_step(np.concatenate([gains, losses]), np.repeat([scale, -scale], 4), _order(order))
    return outward(float((shares[:4] + shares[4:]).max()))


def share_of_step(held: ArrayLike, step: ArrayLike, order: float) -> Array:
    """The share of an entry that holds `held` besides the record that moves; a negative step takes it away.

    It falls as `held` grows, which is therefore rounded down.
    """
    x, d = np.asarray(held, dtype=float) * (1.0 - ULPS), np.asarray(step, dtype=float)
    return entry_divergence(x + np.maximum(d, 0.0), x + np.maximum(-d, 0.0), d, order)


def largest_order(prior: Sequence[float], *, scale: float = 1.0, shrink: float = 1.0) -> float:
    """The order 1 + min prior / (scale · shrink) from which on the divergence is infinite  [G, Thm A.10]."""
    return 1.0 + _entries(prior, 1, scale, shrink)[0] / scale


def diffused_scale(prior: Sequence[float], n: int, order: float, epsilon: float) -> float:
    """The largest scale in (0, 1] whose draw stays within epsilon at `order`, rounded down  [G, Algorithm 2].

    As epsilon grows it saturates at min(1, min prior / (order - 1)), where the divergence becomes infinite.
    """
    return _largest_fraction(lambda r: dirichlet_renyi(prior, n, order, scale=r), epsilon)


def concentrated_shrink(prior: Sequence[float], n: int, order: float, epsilon: float) -> float:
    """The largest shrink in (0, 1] whose draw stays within epsilon at `order`, rounded down  [G, Algorithm 3].

    It divides the prior: 1 leaves it, smaller values concentrate it. It saturates where `diffused_scale` does.
    """
    return _largest_fraction(lambda m: dirichlet_renyi(prior, n, order, shrink=m), epsilon)


def gaussian_mean_mu(n: int, variance: float, prior_variance: float, clip: float) -> float:
    """Gaussian DP of one draw of a mean with known variance; records clipped to [-clip, clip] differ by 2 clip."""
    if not (n >= 0 and variance > 0 and prior_variance > 0 and clip > 0):
        given = (n, variance, prior_variance, clip)
        raise GuaranteeError(f"gaussian_mean_mu must have n ≥ 0 and positive variances and clip, got {given!r}")
    return outward(2 * clip / variance / math.sqrt(n / variance + 1 / prior_variance))


def gaussian_mean_renyi(n: int, order: float, *, variance: float, prior_variance: float, clip: float) -> float:
    """Its Renyi curve, a mu² / 2  [G, A.6.2 with the difference 2 clip]."""
    return gaussian_renyi(gaussian_mean_mu(n, variance, prior_variance, clip), order)


def entry_divergence(p: ArrayLike, q: ArrayLike, difference: ArrayLike, order: float) -> Array:
    """[L(p + (a-1)d) - L(p)] / (a-1) - [L(p) - L(q)], L = log Γ, d = p - q as it is known: one entry's share.

    It is a d² L[q, p, p + (a-1)d], a divided difference: of size a d² / 2p while each log Γ is of size p log p. Nothing
    below subtracts: L(p) = L(p + 16) - sum log(p + j), Stirling's formula gives L from 16 on, and the linear parts of
    every term, which cancel, are left out on paper.
    """
    p, q, d = (np.asarray(each, dtype=float) for each in (p, q, difference))
    less = order - 1.0
    mixed = p + less * d
    mixed = np.where(d < 0, mixed - ULPS * (p + less * np.abs(d)), mixed)  # towards the pole, where log Γ is largest
    finite = mixed > 0
    ahead, mixed = np.where(finite, less * d, 0.0), np.where(finite, mixed, p)
    # the divided difference of 1/z^k is the complete symmetric polynomial of degree k - 1 in 1/z, times all three
    inverse = 1.0 / (np.stack([q, p, mixed]) + 16.0)
    symmetric = _complete_symmetric(inverse, 2 * len(STIRLING) - 1)
    rest = sum(coefficient * symmetric[2 * power] for power, coefficient in enumerate(STIRLING))
    beyond = _beyond_linear(p, np.stack([ahead, -d]), np.stack([mixed, q]))
    share = beyond[0] / less + beyond[1] + order * d * d * inverse.prod(axis=0) * rest
    return np.asarray(np.where(finite, share, np.inf))


def _beyond_linear(p: Array, step: Array, moved: Array) -> Array:
    """The difference log Γ(p + step) - log Γ(p) less a multiple of the step and Stirling's rest; moved = p + step."""
    shifted, u = p[..., None] + SHIFTS, step / (p + 16)
    near = log_excess(step[..., None] / shifted, (moved[..., None] + SHIFTS) / shifted).sum(axis=-1)
    return np.asarray((p + 16) * entropy_excess(u) - 0.5 * log_excess(u) - near)


def _complete_symmetric(x: Array, count: int) -> list[Array]:
    """The complete homogeneous symmetric polynomials of degrees 0, 1, … of the entries of the first axis."""
    found = [np.ones(x.shape[1:])] + [np.zeros(x.shape[1:])] * (count - 1)
    for entry in x:
        for degree in range(1, count):
            found[degree] = found[degree] + entry * found[degree - 1]
    return found


def _largest_fraction(divergence: Callable[[float], float], epsilon: float) -> float:
    """The largest fraction in (0, 1] with divergence ≤ epsilon: the value returned was itself seen to meet it."""
    if not 0.0 < epsilon < math.inf:
        raise GuaranteeError(f"epsilon must be a number above 0, got {epsilon!r}")
    inverse = solve_decreasing(lambda inverse: divergence(1.0 / inverse), epsilon, low=1.0)
    if math.isinf(inverse):
        raise GuaranteeError(f"epsilon must be within reach of some fraction above 0, got {epsilon!r}")
    return 1.0 / inverse


def _entries(prior: Sequence[float], n: int, scale: float, shrink: float) -> list[float]:
    """The entries of the prior that is drawn from, smallest first."""
    if len(prior) < 2 or not all(0.0 < entry < math.inf for entry in prior):
        raise GuaranteeError(f"prior must be two or more positive numbers, got {prior!r}")
    if not n >= 0:
        raise GuaranteeError(f"n must be at least 0, got {n!r}")
    if not (0.0 < scale <= 1.0 and 0.0 < shrink <= 1.0):
        raise GuaranteeError(f"scale and shrink must be above 0 and at most 1, got {scale!r} and {shrink!r}")
    return sorted(float(entry) / shrink for entry in prior)


def _order(order: float) -> float:
    if not 1.0 <= order < math.inf:
        raise GuaranteeError(f"order must be a finite number from 1 on, got {order!r}")
    return max(order, SMALLEST_ORDER)
