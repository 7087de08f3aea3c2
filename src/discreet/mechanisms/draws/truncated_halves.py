"""One half of an interval of a log-concave law: how the density falls away from its highest point, and its mass.

    normal   x = x0 ± sd·d     e^-(z d + d²/2)                                     z = |x0 - mean| / sd
    gamma    x = x0 e^±s       e^-κ(s),  κ(s) = |shape - X| s + X (e^±s - 1 ∓ s)   X = rate · x0

The mass of a half is counted in units of the density at x0, so it is a number of order 1 however far out x0 lies. For
the normal it is a ratio of scaled complementary error functions, for the gamma an integral over 32 Gauss-Legendre nodes
where κ ≤ 40.
"""

from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["GammaHalf", "exp_excess", "fall_mass", "gamma_half"]


CUT = 40.0  # e^-40 is below the rounding of 1
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
SHORT_NODES, SHORT_WEIGHTS = np.polynomial.legendre.leggauss(6)
NARROW = -0.03  # log of the share of the mass beyond an interval, above which two such shares have digits in common
TINY = float(np.finfo(float).tiny)


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
        return -self.gap * s - self.height * exp_excess(self.sign * s)

    def slope(self, s: Array) -> Array:
        """κ'(s)."""
        return self.gap + self.sign * self.height * np.expm1(self.sign * s)

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


def exp_excess(s: Array) -> Array:
    """e^s - 1 - s, keeping its digits around 0, where it is s²/2."""
    near = np.abs(s) < 0.1
    r = np.where(near, s, 0.0)
    series = r * r / 2 * (1 + r / 3 * (1 + r / 4 * (1 + r / 5 * (1 + r / 6 * (1 + r / 7 * (1 + r / 8 * (1 + r / 9)))))))
    return np.asarray(np.where(near, series, np.expm1(s) - s))
