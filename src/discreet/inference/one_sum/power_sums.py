"""Sums of powers Σ_n c_n z^n of many complex numbers at once, by matrix products over blocks of exponents.

Exponents are written as block · stride + offset; the inner sum over the offsets is one small matrix product, the
outer one a Horner scheme in z^stride. Nothing here allocates more than (blocks + offsets) numbers for each z.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array

__all__ = ["fold", "layout", "power_sums"]

ComplexArray = NDArray[np.complex128]


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
    inner = coefficients @ powers.real + 1j * (coefficients @ powers.imag)
    step = np.exp(stride * log_z)
    total = inner[:, -1]
    for block in range(inner.shape[1] - 2, -1, -1):
        total = total * step + inner[:, block]
    return np.asarray(total)
