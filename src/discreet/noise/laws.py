"""The laws of additive noise: what is added, and its log-density, which a noise-aware posterior conditions on.

DiscreteLaplace   P(k) = tanh(1 / 2b) e^{-|k| / b}                   on the integers       [F-LAP, B-5]
DiscreteGaussian  P(k) ∝ e^{-k² / 2 sigma²}                          on the integers       [CKS2020]
Laplace           p(x) = e^{-|x| / b} / 2b, for releases made elsewhere with continuous noise

A law also knows its moments under a tilt e^{sZ} and its transform at complex arguments, in forms that lose no digits at
any scale:

DiscreteLaplace   E e^{ζZ} = sinh²(a/2) / (sinh((a + ζ)/2) sinh((a - ζ)/2)),   a = 1/b,  |Re ζ| < a
DiscreteGaussian  E e^{ζZ} ∝ Σ_k e^{sigma² (ζ + 2πik)² / 2}                    (Poisson summation)
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "DiscreteNoise", "Laplace", "NoiseLaw", "plausible"]

ComplexArray = NDArray[np.complex128]

STEEPEST = 200.0  # a tilt e^{200 v} leaves nothing but the highest value of v


@dataclass(frozen=True)
class _ExponentialTails:
    """What both Laplace laws share: the density falls by the factor e on every `scale` away from 0."""

    scale: float
    gaussian: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_scale(f"{type(self).__name__}.scale", self.scale)

    @property
    def width(self) -> float:
        """The unit in which distances from 0 count."""
        return self.scale

    def reach(self, log_ratio: float) -> float:
        """How far from 0 the density falls by e^{-log_ratio}."""
        return log_ratio * self.scale

    def fall(self, x: Any) -> Any:
        """How far the log-density falls from 0 to x, by operators alone: arrays of any library."""
        return abs(x) / self.scale


@dataclass(frozen=True)
class DiscreteLaplace(_ExponentialTails):
    """Two-sided geometric noise of scale b: each step away from 0 is less likely by the factor e^{-1/b}."""

    def log_density(self, x: ArrayLike) -> Array:
        """Log-probability of each noise value."""
        return np.asarray(np.log(np.tanh(0.5 / self.scale)) - np.abs(np.asarray(x, dtype=float)) / self.scale)

    @property
    def variance(self) -> float:
        """2 e^{-a} / (1 - e^{-a})², a = 1 / scale."""
        decay = float(np.exp(-1.0 / self.scale))
        return 2.0 * decay / float(np.expm1(-1.0 / self.scale)) ** 2

    def loss(self, move: Array) -> float:
        """What a move of the statistics shows at most: its length over the scale."""
        return float(np.abs(move / self.scale).sum())

    def largest_tilt(self, farthest: float) -> float:
        """A bound on the tilt that moves the mean of the noise as far as `farthest`."""
        return 1.0 / self.scale

    def log_moment(self, s: Array) -> Array:
        """Log E e^{sZ} at real s."""
        a = 1.0 / self.scale
        return np.asarray(2.0 * _log_sinh(np.array(0.5 * a)) - _log_sinh(0.5 * (a + s)) - _log_sinh(0.5 * (a - s)))

    def slopes(self, s: Array) -> tuple[Array, Array]:
        """First and second derivative of log E e^{sZ}: mean and variance of the tilted noise."""
        above, below = 0.5 * (1.0 / self.scale - s), 0.5 * (1.0 / self.scale + s)
        mean = 0.5 / np.tanh(above) - 0.5 / np.tanh(below)
        return np.asarray(mean), np.asarray(0.25 * (_squared_csch(above) + _squared_csch(below)))

    def tilted(self, s: Array, t: Array) -> ComplexArray:
        """E e^{(s + it) Z} / E e^{sZ}."""
        above, below = 1.0 / self.scale - s, 1.0 / self.scale + s
        top = np.expm1(-above) * np.expm1(-below)
        return np.asarray(top / (np.expm1(-above + 1j * t) * np.expm1(-below - 1j * t)))

    def last_frequency(self, t: Array, log_size: Array) -> Array:
        """Where a transform of log-size `log_size` at t falls to size 1 if only the noise makes it fall further."""
        return np.asarray(t * np.exp(0.5 * np.maximum(log_size, 0.0)))

    def to_json(self) -> dict[str, Any]:
        """The law by its name, with its parameter."""
        return {"law": "discrete-laplace", "scale": self.scale}


@dataclass(frozen=True)
class DiscreteGaussian:
    """Gaussian weights on the integers; sigma is the parameter, not exactly the deviation."""

    sigma: float
    gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_scale("DiscreteGaussian.sigma", self.sigma)

    def log_density(self, x: ArrayLike) -> Array:
        """Log-probability of each noise value."""
        mass, _ = self._moments()
        return np.asarray(-0.5 * (np.asarray(x, dtype=float) / self.sigma) ** 2 - np.log(mass))

    @property
    def variance(self) -> float:
        """Second moment: at most sigma², and equal to it to 1e-12 for sigma ≥ 2."""
        mass, square = self._moments()
        return square / mass

    @property
    def width(self) -> float:
        """The unit in which distances from 0 count."""
        return self.sigma

    def reach(self, log_ratio: float) -> float:
        """How far from 0 the density falls by e^{-log_ratio}."""
        return float(np.sqrt(2.0 * log_ratio)) * self.sigma

    def fall(self, x: Any) -> Any:
        """How far the log-density falls from 0 to x, by operators alone: arrays of any library."""
        return 0.5 * (x / self.sigma) ** 2

    def loss(self, move: Array) -> float:
        """What a move of the statistics shows, up to a factor: its squared length over the variance."""
        return float(((move / self.sigma) ** 2).sum())

    def largest_tilt(self, farthest: float) -> float:
        """A bound on the tilt that moves the mean of the noise as far as `farthest`."""
        return min(farthest / self.sigma**2 + 1.0 / self.sigma, STEEPEST)

    def log_moment(self, s: Array) -> Array:
        """Log E e^{sZ} at real s."""
        ratio = self._series(s, np.zeros_like(s)).real / self._series(np.zeros(1), np.zeros(1)).real
        return np.asarray(0.5 * (self.sigma * s) ** 2 + np.log(ratio))

    def slopes(self, s: Array) -> tuple[Array, Array]:
        """First and second derivative of log E e^{sZ}, nearly: tilts need not be exact."""
        return self.sigma**2 * s, np.full_like(s, self.sigma**2)

    def tilted(self, s: Array, t: Array) -> ComplexArray:
        """E e^{(s + it) Z} / E e^{sZ}."""
        return np.asarray(self._series(s, t) / self._series(s, np.zeros(1)))

    def last_frequency(self, t: Array, log_size: Array) -> Array:
        """Where a transform of log-size `log_size` at t falls to size 1 if only the noise makes it fall further."""
        return np.asarray(np.sqrt(t**2 + 2.0 * np.maximum(log_size, 0.0) / self.sigma**2))

    def to_json(self) -> dict[str, Any]:
        """The law by its name, with its parameter."""
        return {"law": "discrete-gaussian", "sigma": self.sigma}

    def _series(self, s: Array, t: Array) -> ComplexArray:
        """Σ_k e^{-sigma² (t + 2πk)² / 2 + i sigma² s (t + 2πk)} over every k that matters for |t| ≤ 3π/2."""
        terms = int(np.ceil(9.5 / (2.0 * np.pi * self.sigma))) + 1
        total = np.zeros(np.broadcast_shapes(s.shape, t.shape), dtype=complex)
        for k in range(-terms, terms + 1):
            turned = t + 2.0 * np.pi * k
            total += np.exp(self.sigma**2 * (1j * s * turned - 0.5 * turned**2))
        return total

    def _moments(self) -> tuple[float, float]:
        """Sum of e^{-k²/2 sigma²} over the integers, and of k² times it."""
        if self.sigma > 50:  # Poisson summation: the sums equal the integrals far below double precision
            mass = float(np.sqrt(2 * np.pi)) * self.sigma
            return mass, mass * self.sigma**2
        k = np.arange(-np.ceil(40 * self.sigma), np.ceil(40 * self.sigma) + 1)
        weights = np.exp(-0.5 * (k / self.sigma) ** 2)
        return float(weights.sum()), float((weights * k**2).sum())


@dataclass(frozen=True)
class Laplace(_ExponentialTails):
    """Continuous Laplace noise: only to read releases made by other software; nothing here ever adds it."""

    def log_density(self, x: ArrayLike) -> Array:
        """Log-density of each noise value."""
        return np.asarray(-np.log(2.0 * self.scale) - np.abs(np.asarray(x, dtype=float)) / self.scale)

    @property
    def variance(self) -> float:
        """2 b²."""
        return 2.0 * self.scale**2

    def to_json(self) -> dict[str, Any]:
        """The law by its name, with its parameter."""
        return {"law": "laplace", "scale": self.scale}


DiscreteNoise = DiscreteGaussian | DiscreteLaplace
NoiseLaw = DiscreteNoise | Laplace

# OpenDP adds noise in 64-bit integers: a scale far below 2^63 keeps every draw inside them.
LARGEST_SCALE = 2.0**50


def _log_sinh(x: Array) -> Array:
    return np.asarray(x + np.log(-np.expm1(-2.0 * x)) - np.log(2.0))


def _squared_csch(x: Array) -> Array:
    return np.asarray((2.0 * np.exp(-x) / -np.expm1(-2.0 * x)) ** 2)


def _check_scale(field: str, value: float) -> None:
    if not 0.0 < value <= LARGEST_SCALE:
        raise GuaranteeError(f"{field} must be above 0 and at most 2^50, got {value!r}")


def plausible(released: ArrayLike, law: NoiseLaw, highest: int) -> Array:
    """Released counts moved to where the noise has probability e^-1e9: beyond, log-densities lose all their digits."""
    reach = law.reach(1e9)
    return np.asarray(np.clip(np.asarray(released, dtype=float), -reach, highest + reach))
