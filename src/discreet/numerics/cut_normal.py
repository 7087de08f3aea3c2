"""A normal law cut to an interval, on the logit scale of the interval: what is believed of a mean within bounds.

Its centre may lie outside the interval, by any number of deviations: exponents are counted from the nearest point e,

    exp(-(x - mean)² / 2 sd²) ∝ exp(-(x - e)(x + e - 2 mean) / 2 sd²)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.numerics.arrays import Array
from discreet.numerics.link import Link

__all__ = ["CutNormal"]

FLAT = 1e-6  # nats of difference within the interval below which the law is as good as uniform
ORDERS = (np.arange(2001) + 0.5) / 2001  # of quantiles that stand for the law
LOWEST, SMALLEST = -1e18, 1e-300
NARROWEST = 1e-6  # spread on the logit scale from which a search may start


@dataclass(frozen=True)
class CutNormal:
    """N(mean, sd²) cut to the interval that the link maps."""

    mean: float
    sd: float
    link: Link

    def __call__(self, eta: Array) -> Array:
        """Log-density of the logit."""
        logs = self._exponents(self.link.to_theta(eta)) - np.log(self._mass)
        return np.asarray(logs + self.link.log_slope(eta))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and deviation of the logit, closely."""
        eta = np.clip(self.link.to_eta(self.quantiles(ORDERS)), -self.link.farthest, self.link.farthest)
        return float(eta.mean()), max(float(eta.std()), NARROWEST)

    def quantiles(self, orders: Array) -> Array:
        """The points below which the law has these shares."""
        from scipy.special import log_ndtr, ndtri_exp

        low, high = self.link.lower, self.link.upper
        if self._steepest < FLAT:
            return np.asarray(low + orders * (high - low))
        below = self.mean < 0.5 * (low + high)  # then the upper tail is the thin one, and is kept on the left
        a, b = ((self.mean - high) / self.sd, (self.mean - low) / self.sd)
        a, b = (a, b) if below else (-b, -a)
        shares = np.maximum(1.0 - orders if below else orders, SMALLEST)
        top, bottom = log_ndtr(b), log_ndtr(a)
        log_share = top + np.log1p(-np.exp(min(bottom - top, -1e-16)))
        z = ndtri_exp(np.minimum(np.logaddexp(bottom, log_share + np.log(shares)), -1e-17))
        x = self.mean - self.sd * z if below else self.mean + self.sd * z
        return np.clip(np.where(np.isfinite(x), x, self._nearest), low, high)

    def draw(self, rng: np.random.Generator) -> float:
        """One number."""
        return float(self.quantiles(np.array([1.0 - rng.random()]))[0])

    @property
    def share_inside(self) -> float:
        """How much of the law that is cut lies within the interval."""
        from scipy.special import ndtr

        ends = (np.array([self.link.lower, self.link.upper]) - self.mean) / self.sd
        return float(np.diff(ndtr(ends if ends[0] < -ends[1] else -ends[::-1]))[0])

    @property
    def _nearest(self) -> float:
        return float(np.clip(self.mean, self.link.lower, self.link.upper))

    @property
    def _steepest(self) -> float:
        """How many nats the density falls within the interval, at most."""
        ends = self._exponents(np.array([self.link.lower, self.link.upper]))
        return float(-ends.min())

    def _exponents(self, x: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            fall = 0.5 * ((x - self._nearest) / self.sd) * ((x - self.mean + (self._nearest - self.mean)) / self.sd)
        return np.asarray(np.maximum(np.where(np.isfinite(fall), -fall, LOWEST), LOWEST))

    @cached_property
    def _mass(self) -> float:
        """The integral of e^exponents."""
        from scipy.special import erf, erfcx

        low, high, scale = self.link.lower, self.link.upper, np.sqrt(2.0) * self.sd
        if self._steepest < FLAT:
            return high - low
        if low <= self.mean <= high:
            inside = erf((high - self.mean) / scale) + erf((self.mean - low) / scale)
            return float(0.5 * np.sqrt(np.pi) * scale * inside)
        near, far = sorted((abs(low - self.mean) / scale, abs(high - self.mean) / scale))
        fall = min((far - near) * (far + near), 745.0)
        return float(0.5 * np.sqrt(np.pi) * scale * (erfcx(near) - np.exp(-fall) * erfcx(far)))
