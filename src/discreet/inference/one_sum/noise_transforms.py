"""Transforms of integer noise Z at complex arguments, in forms that lose no digits at any scale.

DiscreteLaplace(b)      E e^{ζZ} = sinh²(a/2) / (sinh((a + ζ)/2) sinh((a - ζ)/2)),   a = 1/b,  |Re ζ| < a
DiscreteGaussian(sigma) E e^{ζZ} ∝ Σ_k e^{sigma² (ζ + 2πik)² / 2}                    (Poisson summation)
"""

import numpy as np
from numpy.typing import NDArray

from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["DiscreteNoise", "largest_tilt", "last_frequency", "log_noise_moment", "noise_slopes", "tilted_noise"]

Array = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
DiscreteNoise = DiscreteGaussian | DiscreteLaplace

STEEPEST = 200.0  # a tilt e^{200 v} leaves nothing but the highest value of v


def largest_tilt(law: DiscreteNoise, farthest: float) -> float:
    """A bound on the tilt that moves the mean of the noise as far as `farthest`."""
    if isinstance(law, DiscreteLaplace):
        return 1.0 / law.scale
    return min(farthest / law.sigma**2 + 1.0 / law.sigma, STEEPEST)


def log_noise_moment(law: DiscreteNoise, s: Array) -> Array:
    """Log E e^{sZ} at real s."""
    if isinstance(law, DiscreteLaplace):
        a = 1.0 / law.scale
        return np.asarray(2.0 * _log_sinh(np.array(0.5 * a)) - _log_sinh(0.5 * (a + s)) - _log_sinh(0.5 * (a - s)))
    ratio = _theta_series(law.sigma, s, np.zeros_like(s)).real / _theta_series(law.sigma, np.zeros(1), np.zeros(1)).real
    return np.asarray(0.5 * (law.sigma * s) ** 2 + np.log(ratio))


def noise_slopes(law: DiscreteNoise, s: Array) -> tuple[Array, Array]:
    """First and second derivative of log E e^{sZ}: mean and variance of the tilted noise."""
    if isinstance(law, DiscreteLaplace):
        above, below = 0.5 * (1.0 / law.scale - s), 0.5 * (1.0 / law.scale + s)
        mean = 0.5 / np.tanh(above) - 0.5 / np.tanh(below)
        return np.asarray(mean), np.asarray(0.25 * (_squared_csch(above) + _squared_csch(below)))
    return law.sigma**2 * s, np.full_like(s, law.sigma**2)  # near enough: tilts need not be exact


def tilted_noise(law: DiscreteNoise, s: Array, t: Array) -> ComplexArray:
    """E e^{(s + it) Z} / E e^{sZ}."""
    if isinstance(law, DiscreteLaplace):
        above, below = 1.0 / law.scale - s, 1.0 / law.scale + s
        top = np.expm1(-above) * np.expm1(-below)
        return np.asarray(top / (np.expm1(-above + 1j * t) * np.expm1(-below - 1j * t)))
    return np.asarray(_theta_series(law.sigma, s, t) / _theta_series(law.sigma, s, np.zeros(1)))


def last_frequency(law: DiscreteNoise, t: Array, log_size: Array) -> Array:
    """Where a transform of log-size `log_size` at t would fall to size 1 if only the noise made it fall further."""
    if isinstance(law, DiscreteLaplace):
        return np.asarray(t * np.exp(0.5 * np.maximum(log_size, 0.0)))
    return np.asarray(np.sqrt(t**2 + 2.0 * np.maximum(log_size, 0.0) / law.sigma**2))


def _theta_series(sigma: float, s: Array, t: Array) -> ComplexArray:
    """Σ_k e^{-sigma² (t + 2πk)² / 2 + i sigma² s (t + 2πk)} over every k that matters for |t| ≤ 3π/2."""
    terms = int(np.ceil(9.5 / (2.0 * np.pi * sigma))) + 1
    total = np.zeros(np.broadcast_shapes(s.shape, t.shape), dtype=complex)
    for k in range(-terms, terms + 1):
        turned = t + 2.0 * np.pi * k
        total += np.exp(sigma**2 * (1j * s * turned - 0.5 * turned**2))
    return total


def _log_sinh(x: Array) -> Array:
    return np.asarray(x + np.log(-np.expm1(-2.0 * x)) - np.log(2.0))


def _squared_csch(x: Array) -> Array:
    return np.asarray((2.0 * np.exp(-x) / -np.expm1(-2.0 * x)) ** 2)
