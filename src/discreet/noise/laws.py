"""The laws of additive noise: what is added, and its log-density, which a noise-aware posterior conditions on.

DiscreteLaplace   P(k) = tanh(1 / 2b) e^{-|k| / b}                   on the integers       [F-LAP, B-5]
DiscreteGaussian  P(k) ∝ e^{-k² / 2 sigma²}                          on the integers       [CKS2020]
Laplace           p(x) = e^{-|x| / b} / 2b, for releases made elsewhere with continuous noise
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import GuaranteeError

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Laplace", "NoiseLaw"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DiscreteLaplace:
    """Two-sided geometric noise of scale b: each step away from 0 is less likely by the factor e^{-1/b}."""

    scale: float

    def __post_init__(self) -> None:
        _check_scale("DiscreteLaplace.scale", self.scale)

    def log_density(self, x: ArrayLike) -> Array:
        """Log-probability of each noise value."""
        return np.asarray(np.log(np.tanh(0.5 / self.scale)) - np.abs(np.asarray(x, dtype=float)) / self.scale)

    @property
    def variance(self) -> float:
        """2 e^{-a} / (1 - e^{-a})², a = 1 / scale."""
        decay = float(np.exp(-1.0 / self.scale))
        return 2.0 * decay / float(np.expm1(-1.0 / self.scale)) ** 2

    def reach(self, log_ratio: float) -> float:
        """How far from 0 the density falls by e^{-log_ratio}."""
        return log_ratio * self.scale

    def loss(self, move: Array) -> float:
        """What a move of the statistics shows at most: its length over the scale."""
        return float(np.abs(move / self.scale).sum())


@dataclass(frozen=True)
class DiscreteGaussian:
    """Gaussian weights on the integers; sigma is the parameter, not exactly the deviation."""

    sigma: float

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

    def reach(self, log_ratio: float) -> float:
        """How far from 0 the density falls by e^{-log_ratio}."""
        return float(np.sqrt(2.0 * log_ratio)) * self.sigma

    def loss(self, move: Array) -> float:
        """What a move of the statistics shows, up to a factor: its squared length over the variance."""
        return float(((move / self.sigma) ** 2).sum())

    def _moments(self) -> tuple[float, float]:
        """Sum of e^{-k²/2 sigma²} over the integers, and of k² times it."""
        if self.sigma > 50:  # Poisson summation: the sums equal the integrals far below double precision
            mass = float(np.sqrt(2 * np.pi)) * self.sigma
            return mass, mass * self.sigma**2
        k = np.arange(-np.ceil(40 * self.sigma), np.ceil(40 * self.sigma) + 1)
        weights = np.exp(-0.5 * (k / self.sigma) ** 2)
        return float(weights.sum()), float((weights * k**2).sum())


@dataclass(frozen=True)
class Laplace:
    """Continuous Laplace noise: only to read releases made by other software; nothing here ever adds it."""

    scale: float

    def __post_init__(self) -> None:
        _check_scale("Laplace.scale", self.scale)

    def log_density(self, x: ArrayLike) -> Array:
        """Log-density of each noise value."""
        return np.asarray(-np.log(2.0 * self.scale) - np.abs(np.asarray(x, dtype=float)) / self.scale)

    @property
    def variance(self) -> float:
        """2 b²."""
        return 2.0 * self.scale**2

    def reach(self, log_ratio: float) -> float:
        """How far from 0 the density falls by e^{-log_ratio}."""
        return log_ratio * self.scale


NoiseLaw = DiscreteGaussian | DiscreteLaplace | Laplace

# OpenDP adds noise in 64-bit integers: a scale far below 2^63 keeps every draw inside them.
LARGEST_SCALE = 2.0**50


def _check_scale(field: str, value: float) -> None:
    if not 0.0 < value <= LARGEST_SCALE:
        raise GuaranteeError(f"{field} must be above 0 and at most 2^50, got {value!r}")
