"""One half of an interval of a log-concave law: how the density falls away from its highest point, mass and quantiles.

    normal   x = x0 ± sd·d     e^-(z d + d²/2)                                     z = |x0 - mean| / sd
    gamma    x = x0 e^±s       e^-κ(s),  κ(s) = |shape - X| s + X (e^±s - 1 ∓ s)   X = rate · x0

The mass of a half is counted in units of the density at x0, so it is a number of order 1 however far out x0 lies. For
the normal it is a ratio of scaled complementary error functions, for the gamma an integral over 32 Gauss-Legendre nodes
where κ ≤ 40.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GammaHalf", "choose_half", "fall_mass", "fall_quantile", "gamma_half", "half_quantile"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CUT = 40.0  # e^-40 is below the rounding of 1
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
SHORT_NODES, SHORT_WEIGHTS = np.polynomial.legendre.leggauss(6)
NARROW = -0.03  # log of the share of the mass beyond an interval, above which two such shares have digits in common
TINY = float(np.finfo(float).tiny)


def choose_half(below: Array, above: Array, u: Array) -> tuple[Mask, Array]:
    """Whether the quantile lies below the split, and which share of that half lies between it and the split."""
    target = u * (below + above)
    is_below = target < below
    share = np.where(is_below, below - target, target - below) / np.maximum(np.where(is_below, below, above), TINY)
    return is_below, np.clip(share, 0.0, 1.0)


# Halves that fall like e^-(z d + d²/2).


def _reach(z: Array, width: Array, exponent: float) -> Array:
    """The distance at which z d + d²/2 reaches `exponent`, at most `width`."""
    return np.minimum(width, 2.0 * exponent / (z + np.sqrt(z * z + 2.0 * exponent)))


def _log_survival(z: Array, d: Array) -> Array:
    """Log of the mass beyond d as a share of the mass beyond 0, without a far end."""
    from scipy.special import erfcx

    return np.asarray(np.log(erfcx((z + d) / np.sqrt(2)) / erfcx(z / np.sqrt(2))) - d * (z + 0.5 * d))


def fall_mass(z: Array, width: Array) -> Array:
    """The integral of e^-(z d + d²/2) over 0 ≤ d ≤ width."""
    from scipy.special import erfcx

    width = _reach(z, width, 700.0)
    log_survival = _log_survival(z, width)
    wide = np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2)) * -np.expm1(log_survival)
    narrow = log_survival > NARROW
    return np.asarray(np.where(narrow, _short_integral(z, np.where(narrow, width, 0.0)), wide))


def _short_integral(z: Array, d: Array) -> Array:
    """The same integral over so short a stretch that six nodes are exact to the last digit."""
    total = np.zeros(np.broadcast(z, d).shape)
    for node, weight in zip(SHORT_NODES, SHORT_WEIGHTS, strict=True):
        at = 0.5 * (1.0 + node) * d
        total += 0.5 * weight * np.exp(-at * (z + 0.5 * at))
    return np.asarray(total * d)


def fall_quantile(z: Array, width: Array, share: Array) -> Array:
    """The d with `share` of the mass of [0, width] in [0, d].

    The logarithm of the survival function is concave and Newton's method starts beyond the root (the ratio of the
    scaled error functions is left out there), so it descends to the root without overshooting.
    """
    from scipy.special import erfcx

    width = _reach(z, width, 700.0)
    end = _log_survival(z, width)
    log_target = np.log1p(np.maximum(share * np.expm1(end), 2.0**-53 - 1.0))
    d = -2.0 * log_target / (z + np.sqrt(z * z - 2.0 * log_target) + TINY)
    for _ in range(30):
        excess = _log_survival(z, d) - log_target
        d = np.maximum(d + excess * np.sqrt(np.pi / 2) * erfcx((z + d) / np.sqrt(2)), 0.0)
        if np.all(np.abs(excess) <= 1e-8):  # its square is what the last step left
            break
    narrow = end > NARROW
    return np.where(narrow, _short_quantile(z, np.where(narrow, width, 0.0), share), np.minimum(d, width))


def _short_quantile(z: Array, width: Array, share: Array) -> Array:
    """The same where the density is nearly constant: each of Newton's steps doubles the digits."""
    d, target = share * width, share * _short_integral(z, width)
    for _ in range(4):
        d = np.clip(d + (target - _short_integral(z, d)) * np.exp(d * (z + 0.5 * d)), 0.0, width)
    return d


# Halves of a gamma law, in s = |log(x / x0)|.


@dataclass(frozen=True)
class GammaHalf:
    """One side of the split of a gamma law: κ(s) = gap s + height (e^±s - 1 ∓ s) for 0 ≤ s ≤ width."""

    sign: float
    gap: Array
    height: Array
    width: Array
    mass: Array

    def log_fall(self, s: Array) -> Array:
        """-κ(s)."""
        return -self.gap * s - self.height * _exp_excess(self.sign * s)

    def slope(self, s: Array) -> Array:
        """κ'(s)."""
        return self.gap + self.sign * self.height * np.expm1(self.sign * s)

    def where(self, chosen: Mask) -> "GammaHalf":
        """The entries that a mask of the full shape chooses."""
        parts = (np.broadcast_to(v, chosen.shape)[chosen] for v in (self.gap, self.height, self.width, self.mass))
        return GammaHalf(self.sign, *parts)

    def integral(self, s: Array) -> Array:
        """The integral of e^-κ from 0 to s."""
        total = np.zeros(s.shape)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            total += weight * np.exp(self.log_fall(0.5 * (1.0 + node) * s))
        return 0.5 * total * s


def gamma_half(sign: float, gap: Array, height: Array, width: Array) -> GammaHalf:
    """The half on one side, its width cut where κ reaches 40."""
    s = np.minimum(2.0 * CUT / (gap + np.sqrt(gap * gap + 2.0 * CUT * height) + TINY), width)
    half = GammaHalf(sign, gap, height, width, width)
    for _ in range(12):  # κ is convex and increasing
        s = np.minimum(s + (CUT + half.log_fall(s)) / np.maximum(half.slope(s), 1e-250), width)
    unmassed = GammaHalf(sign, gap, height, s, s)
    return GammaHalf(sign, gap, height, s, unmassed.integral(s))


def half_quantile(half: GammaHalf, share: Array) -> Array:
    """Halley's method on the integral, kept inside a shrinking bracket; only unsettled entries are looked at again.

    Its error after a step is cubic in the step; one of 1e-5 in the units in which κ varies leaves less than 1e-14.
    """
    root = np.sqrt(np.maximum(half.height, TINY))
    s = np.minimum(fall_quantile(half.gap / root, half.width * root, share) / root, half.width)
    left, right, target = np.zeros(s.shape), half.width.copy(), share * half.mass
    active = np.ones(s.shape, dtype=bool)
    for _ in range(60):
        part, now = half.where(active), s[active]
        missing = target[active] - part.integral(now)
        left[active] = np.where(missing > 0, now, left[active])
        right[active] = np.where(missing > 0, right[active], now)
        newton, slope = missing * np.exp(-part.log_fall(now)), part.slope(now)
        moved = now + newton / np.maximum(1.0 - 0.5 * slope * newton, 0.5)
        inside = (moved >= left[active]) & (moved <= right[active])
        s[active] = np.where(inside, moved, 0.5 * (left[active] + right[active]))
        small = inside & ((slope**2 + part.height) * (moved - now) ** 2 < 1e-10)
        active[active] = ~(small | (right[active] - left[active] <= 1e-15 * right[active]))
        if not active.any():
            break
    return s


def _exp_excess(s: Array) -> Array:
    """e^s - 1 - s, keeping its digits around 0, where it is s²/2."""
    near = np.abs(s) < 0.1
    r = np.where(near, s, 0.0)
    series = r * r / 2 * (1 + r / 3 * (1 + r / 4 * (1 + r / 5 * (1 + r / 6 * (1 + r / 7 * (1 + r / 8 * (1 + r / 9)))))))
    return np.asarray(np.where(near, series, np.expm1(s) - s))
