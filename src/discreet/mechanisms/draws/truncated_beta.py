"""Beta laws cut to an interval: their mass, their quantiles, and draws of one law at the speed of plain Beta draws.

Quantiles invert the CDF on the tail that holds the interval, in logarithms where the mass underflows. Inverting takes
microseconds per value, so `truncated_beta_draws` does without. Where a or b is 1, minus the logarithm of 1 - x or of x
is an exponential. Where the interval holds at least half of the mass, plain Beta draws are repeated until they fall
inside. Elsewhere the two-tangent envelope is used, in t = logit x - logit x0, x0 the point of the interval next to the
mean: there the density

    x^a (1-x)^b  /  x0^a (1-x0)^b  =  e^(a t) (1 + x0 (e^t - 1))^-(a + b)

is log-concave for all a, b > 0, and it keeps its digits at any distance from the mean: with a + b = 1e9 the exponent is
the difference of terms of size sqrt(a + b), exact to 1e-11. All three are exact, and the choice between them depends on
the parameters alone. It changes how long a draw takes, and run time is no part of any promise.

Error of `log_mass` against 40-digit quadrature, for a and b up to 1e9 and intervals up to 100 standard deviations from
the mean: below 1e-7, and below 1e-10 where the interval is wider than a hundredth of a standard deviation and neither a
nor b is a millionth of the other. Far outside, where the logarithm itself is of size 1e8, it is right to 1e-15 of that.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.mechanisms.draws.two_tangents import FallingLaw, conditioned, falling_steps
from discreet.mechanisms.draws.uniforms import log_shares
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_beta_kernel
from discreet.numerics.incomplete_beta import log_incomplete_beta

__all__ = ["log_mass", "truncated_beta", "truncated_beta_draws"]


def log_mass(a: ArrayLike, b: ArrayLike, lo: ArrayLike, hi: ArrayLike) -> Array:
    """Log of P(lo ≤ X ≤ hi) for X ~ Beta(a, b)."""
    a, b, lo, hi = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in (a, b, lo, hi)))
    _, log_far, log_near = _tail(a, b, lo, hi)
    gap = np.minimum(log_near - log_far, 0.0)  # -inf when the interval starts at the end of the unit interval
    narrow = gap > -1e-4  # the two tails agree to four digits: integrate the density instead of subtracting
    wide = log_far + np.log1p(-np.exp(np.where(narrow, -1.0, gap)))
    if not narrow.any():
        return np.asarray(wide)
    result = np.array(wide)
    result[narrow] = _log_narrow_mass(a[narrow], b[narrow], lo[narrow], hi[narrow])
    return result


def truncated_beta(
    a: ArrayLike, b: ArrayLike, lo: ArrayLike, hi: ArrayLike, below: ArrayLike, above: ArrayLike
) -> Array:
    """Beta(a, b) given lo ≤ X ≤ hi, with the share `below` of the mass below and the rest `above`.

    Both shares are given so that both tails keep their digits. Never outside, never NaN.
    """
    a, b, lo, hi, under, over = np.broadcast_arrays(
        *(np.asarray(value, dtype=float) for value in (a, b, lo, hi, below, above))
    )
    mirrored, log_far, log_near = _tail(a, b, lo, hi, over < under)
    ratio = np.exp(np.minimum(log_near - log_far, 0.0))
    v = np.where(mirrored, over, under)
    log_target = log_far + np.log(np.maximum(ratio + v * (1.0 - ratio), np.finfo(float).tiny))
    low, high = np.where(mirrored, 1.0 - hi, lo), np.where(mirrored, 1.0 - lo, hi)
    x = _invert(np.where(mirrored, b, a), np.where(mirrored, a, b), low, high, log_target)
    return np.clip(np.where(mirrored, 1.0 - x, x), lo, hi)


def truncated_beta_draws(a: float, b: float, lo: float, hi: float, size: int, noise: np.random.Generator) -> Array:
    """`size` independent draws of Beta(a, b) given lo ≤ X ≤ hi."""
    if not (a > 0 and b > 0 and np.isfinite(a + b) and 0.0 <= lo <= hi <= 1.0):
        raise QueryError(
            f"truncated_beta_draws must have a, b > 0 and 0 ≤ lo ≤ hi ≤ 1, got a={a!r}, b={b!r}, lo={lo!r}, hi={hi!r}"
        )
    if a == 1.0 and hi < 1.0:
        return np.asarray(np.minimum(lo + (1.0 - lo) * _power_fall(b, (hi - lo) / (1.0 - lo), size, noise), hi))
    if b == 1.0 and lo > 0.0:
        return np.asarray(np.maximum(hi - hi * _power_fall(a, (hi - lo) / hi, size, noise), lo))
    share = float(np.exp(log_mass(a, b, lo, hi)))
    if share >= 0.5:

        def propose(number: int) -> Array:
            x = noise.beta(a, b, number)
            return x if lo == 0.0 and hi == 1.0 else x[(x >= lo) & (x <= hi)]

        return conditioned(propose, size, share)
    mean = a / (a + b)
    start = min(max(mean, lo), hi)
    rest = b / (a + b) if start == mean else 1.0 - start
    below, above = (abs(_logit_gap(start, rest, end)) for end in (lo, hi))
    law = FallingLaw(
        lambda t: a * t - (a + b) * np.log1p(start * np.expm1(t)),
        lambda t: a - (a + b) * start * np.exp(t) / (rest + start * np.exp(t)),
        below,
        above,
    )
    t = falling_steps(law, size, noise)
    return np.asarray(np.clip(start * np.exp(t) / (1.0 + start * np.expm1(t)), lo, hi))


def _power_fall(power: float, most: float, size: int, noise: np.random.Generator) -> Array:
    """Draws of 0 ≤ v ≤ most < 1 with density proportional to (1 - v)^(power - 1): -log(1 - v) is an exponential."""
    return np.asarray(-np.expm1(log_shares(np.full(size, -power * math.log1p(-most)), noise) / power))


def _logit_gap(start: float, rest: float, end: float) -> float:
    """Difference logit end - logit start, rest = 1 - start; infinite where the end is 0 or 1."""
    if end == start:
        return 0.0
    if end in (0.0, 1.0):
        return math.inf
    return math.log1p((end - start) / start) - math.log1p((start - end) / rest)


def _tail(
    a: Array, b: Array, lo: Array, hi: Array, wished: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.bool_], Array, Array]:
    """The side that holds the interval (True: the upper one) and the log-masses beyond its far and its near end.

    On the lower side these are log I_hi and log I_lo; the interval's mass is their difference. Where the interval
    reaches over both sides, it is the side that is wished.
    """
    below, above = log_incomplete_beta(a, b, hi, 1.0 - hi), log_incomplete_beta(b, a, 1.0 - lo, lo)
    mirrored = above < below
    if wished is not None:
        mirrored = np.where(np.minimum(below, above) > math.log(0.5), wished, mirrored)
    far = np.where(mirrored, above, below)
    near = log_incomplete_beta(
        np.where(mirrored, b, a),
        np.where(mirrored, a, b),
        np.where(mirrored, 1.0 - hi, lo),
        np.where(mirrored, hi, 1.0 - lo),
    )
    return mirrored, far, near


def _log_narrow_mass(a: Array, b: Array, lo: Array, hi: Array) -> Array:
    """Gauss-Legendre in the logit, where the density of a Beta is smooth up to both ends."""
    width = np.log1p((hi - lo) / lo) + np.log1p((hi - lo) / np.maximum(1.0 - hi, np.finfo(float).tiny))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    share = 0.5 * (nodes + 1.0)[:, None] * width  # logit x - logit lo
    odds = lo / (1.0 - lo) * np.exp(share)
    kernel = log_beta_kernel(a, b, odds / (1.0 + odds), 1.0 / (1.0 + odds))
    peak = kernel.max(axis=0)
    total = np.sum(0.5 * weights[:, None] * np.exp(kernel - peak), axis=0)
    return np.asarray(peak + np.log(np.maximum(total * width, np.finfo(float).tiny)))


def _invert(a: Array, b: Array, low: Array, high: Array, log_target: Array) -> Array:
    """Find x in [low, high] with log I_x(a, b) = log_target: scipy's inverse where it is right, else a safe search."""
    from scipy.special import betainc, betaincinv

    plain = log_target > -600.0
    target = np.exp(np.where(plain, log_target, -1.0))
    x = np.asarray(np.clip(betaincinv(a, b, target), low, high), dtype=np.float64)
    wrong = ~plain | ~(np.abs(betainc(a, b, x) - target) <= 1e-10 * target)
    wrong &= high > low
    x = np.where(np.isnan(x), low, x)
    if wrong.any():
        x[wrong] = _search(a[wrong], b[wrong], low[wrong], high[wrong], log_target[wrong])
    return x


def _search(a: Array, b: Array, low: Array, high: Array, log_target: Array) -> Array:
    """Newton's method on log I as a function of log x, kept inside a shrinking bracket."""
    left, right = np.log(np.maximum(low, np.finfo(float).tiny)), np.log(high)
    t = right.copy()
    for _ in range(200):
        x = np.exp(t)
        y = np.maximum(-np.expm1(t), np.finfo(float).tiny)
        value = log_incomplete_beta(a, b, x, y)
        left, right = np.where(value < log_target, t, left), np.where(value < log_target, right, t)
        slope = np.exp(np.clip(log_beta_kernel(a, b, x, y) - value, -700.0, 700.0)) / y  # d log I / d log x
        step = (log_target - value) / np.maximum(slope, np.finfo(float).tiny)
        middle = 0.5 * (left + right)
        moved = np.where((t + step > left) & (t + step < right), t + step, middle)
        done = (np.abs(value - log_target) <= 1e-13 * (1.0 + np.abs(log_target))) | (
            right - left <= 1e-16 * np.abs(left)
        )
        t = np.where(done, t, moved)
        if done.all():
            break
    return np.exp(t)
