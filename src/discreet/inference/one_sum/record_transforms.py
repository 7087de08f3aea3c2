"""Transforms log E e^{ζ v} of one clamped and rounded record v, at real ζ = s and along the line ζ = s + it.

A record lies on the grid -reach, -reach + 2, …, reach. Two forms, both free of overflow:

    CellTransform         any law with its cell probabilities listed
    ExponentialTransform  the cells are a geometric series: exact in closed form

Sums of powers Σ_n c_n z^n of many complex numbers at once, by matrix products over blocks of exponents.

Exponents are written as block · stride + offset; the inner sum over the offsets is one small matrix product, the
outer one a Horner scheme in z^stride. Nothing here allocates more than (blocks + offsets) numbers for each z.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array

__all__ = ["CellTransform", "ExponentialTransform", "Transform", "fold", "layout", "power_sums"]

ComplexArray = NDArray[np.complex128]

DROPPED = 1e-22  # cells with less weight than this cannot be seen in a double
ONE_THREAD = 2**18  # terms of a product of matrices up to which BLAS keeps it in one thread
SMALLEST = 1e-300  # stands for a transform that vanishes, so that its logarithm is finite


class Transform(Protocol):
    """The law of one record at several values of the parameter (first axis of every array)."""

    def log_moment(self, s: Array) -> Array:
        """Log E e^{s v} for s (parameters, any)."""

    def log_tilted(self, s: Array, t: Array) -> ComplexArray:
        """Log of E e^{(s + it) v} / E e^{s v} for s (parameters,) and t (parameters, any)."""


@dataclass(frozen=True)
class CellTransform:
    """Log-probabilities (parameters, cells) of the grid points -reach, -reach + 2, …, reach."""

    log_cells: Array

    def log_moment(self, s: Array) -> Array:
        """Log E e^{s v}."""
        exponents = self.log_cells[:, np.newaxis, :] + s[:, :, np.newaxis] * self._values
        peak = exponents.max(axis=2)
        return np.asarray(peak + np.log(np.exp(exponents - peak[:, :, np.newaxis]).sum(axis=2)))

    def log_tilted(self, s: Array, t: Array) -> ComplexArray:
        """A polynomial in e^{2it} whose coefficients are the tilted cell probabilities."""
        exponents = self.log_cells + s[:, np.newaxis] * self._values
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        kept = np.flatnonzero(weights.max(axis=0) > DROPPED)
        blocks = fold(weights[:, kept[0] : kept[-1] + 1])
        offsets = blocks.shape[-1]
        turns = np.asarray(1j * t, dtype=np.complex128)
        values = power_sums(blocks, np.arange(float(offsets)), float(offsets), 2.0 * turns)
        return np.asarray(_log(values) + turns * self._values[kept[0]])

    @property
    def _values(self) -> Array:
        cells = self.log_cells.shape[1]
        return np.arange(1.0 - cells, cells, 2.0)


@dataclass(frozen=True)
class ExponentialTransform:
    """A record with the survival function e^{-decay (v - origin)} above `origin`, in units of v.

    `start` is the lowest grid point with mass, `decay` has the shape (parameters,).
    """

    decay: Array
    origin: float
    start: float
    reach: float

    def log_moment(self, s: Array) -> Array:
        """Log E e^{s v}."""
        growth = self._steps * (2.0 * s - 2.0 * self.decay[:, np.newaxis])
        scale = s * self.start + np.maximum(0.0, growth)
        return np.asarray(np.log(np.maximum(self._value(s.astype(np.complex128), scale).real, SMALLEST)) + scale)

    def log_tilted(self, s: Array, t: Array) -> ComplexArray:
        """The closed form, relative to the real moment."""
        return _log(self._value(_line(s, t), self.log_moment(s[:, np.newaxis])))

    @property
    def _steps(self) -> float:
        return (self.reach - self.start) / 2.0

    def _value(self, zeta: ComplexArray, scale: Array) -> ComplexArray:
        """E e^{ζ v - scale}: summation by parts turns the cells into a geometric series of survival probabilities.

        Two forms of the same sum, so that at real ζ of either sign only positive numbers are added.
        """
        decay = self.decay[:, np.newaxis]
        log_ratio = 2.0 * (zeta - decay)
        log_ratio = np.where(log_ratio == 0.0, 1e-30, log_ratio)
        growth, step = self._steps * log_ratio, np.expm1(log_ratio)
        base, rise = zeta * self.start - scale, np.expm1(2.0 * zeta)
        log_survival = -decay * max(self.start + 1.0 - self.origin, 0.0)
        small = growth.real < 1.0
        series = np.where(
            small,
            np.exp(base) * np.expm1(np.where(small, growth, 0.0)),
            np.exp(base + np.where(small, 0.0, growth)) - np.exp(base),
        )
        rising = np.exp(base) + np.exp(log_survival) * rise / step * series
        grown = np.exp(np.minimum(growth.real, 0.0) + 1j * growth.imag)
        inner = (rise * grown + np.expm1(-2.0 * decay) * (1.0 + rise)) / step
        falling = np.exp(base) * (np.exp(log_survival) * inner - np.expm1(log_survival))
        return np.asarray(np.where(zeta.real >= 0, rising, falling))


def _line(s: Array, t: Array) -> ComplexArray:
    return np.asarray(s[:, np.newaxis] + 1j * t, dtype=np.complex128)


def _log(values: ComplexArray) -> ComplexArray:
    """Complex logarithm; a transform that vanishes counts as 1e-300, and none exceeds 1."""
    logs = np.log(np.where(np.abs(values) < SMALLEST, SMALLEST, values))
    return np.asarray(np.minimum(logs.real, 0.0) + 1j * logs.imag)


def layout(count: int) -> tuple[int, int]:
    """(blocks, offsets) that hold `count` exponents with nearly as many blocks as offsets."""
    offsets = int(np.ceil(np.sqrt(count)))
    return -(-count // offsets), offsets


def fold(coefficients: Array) -> Array:
    """Coefficients (parameters, n) as (parameters, blocks, offsets), padded with zeros."""
    rows, count = coefficients.shape
    blocks, offsets = layout(count)
    return np.pad(coefficients, [(0, 0), (0, blocks * offsets - count)]).reshape(rows, blocks, offsets)


def power_sums(coefficients: Array, offsets: Array, stride: float, log_z: ComplexArray) -> ComplexArray:
    """Σ c[i, p, k] z^(p · stride + offsets[k]) for coefficients (i, p, k) and log z (i, j) with |z| ≤ 1."""
    powers = np.exp(offsets[:, np.newaxis] * log_z[:, np.newaxis, :])
    inner = _products(coefficients, powers)
    step = np.exp(stride * log_z)
    total = inner[:, -1].copy()
    for block in range(inner.shape[1] - 2, -1, -1):
        total *= step
        total += inner[:, block]
    return np.asarray(total)


def _products(coefficients: Array, powers: ComplexArray) -> ComplexArray:
    """Real coefficients (i, p, k) times powers (i, k, j), their real and imaginary parts side by side.

    A few columns at a time: threads that are woken for products as small as these take far longer than the products.
    """
    parts = powers.view(np.float64)
    found = np.empty((*coefficients.shape[:2], parts.shape[2]))
    width = max(ONE_THREAD // max(coefficients.shape[1] * coefficients.shape[2], 1), 1)
    for start in range(0, parts.shape[2], width):
        some = slice(start, start + width)
        np.matmul(coefficients, parts[:, :, some], out=found[:, :, some])
    return found.view(np.complex128)
