"""Small triangular systems, written out: their orders are too small for a library call to pay."""

from math import sqrt

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.numerics.arrays import Array

__all__ = ["backward", "cholesky", "distance", "forward", "square"]


@inner
def cholesky(matrix: Array, diagonal: Array) -> Array:
    """Lower root of matrix + diag; a pivot lost to rounding leaves its column empty, as for a term without spread."""
    order = matrix.shape[0]
    root = np.zeros((order, order))
    for a in range(order):
        for b in range(a + 1):
            value = matrix[a, b] + (diagonal[a] if a == b else 0.0)
            floor = 1e-13 * value
            for k in range(b):
                value -= root[a, k] * root[b, k]
            if a == b:
                root[a, a] = sqrt(value) if value > floor else 0.0
            elif root[b, b] > 0.0:
                root[a, b] = value / root[b, b]
    return root


@inner
def forward(root: Array, x: Array) -> Array:
    """Solve root z = x."""
    z = x.copy()
    for a in range(z.size):
        for b in range(a):
            z[a] -= root[a, b] * z[b]
        z[a] /= root[a, a]
    return z


@inner
def backward(root: Array, x: Array) -> Array:
    """Solve root' z = x."""
    z = x.copy()
    for a in range(z.size - 1, -1, -1):
        for b in range(a + 1, z.size):
            z[a] -= root[b, a] * z[b]
        z[a] /= root[a, a]
    return z


@inner
def distance(root: Array, gap: Array) -> float:
    """Squared length of root' gap."""
    total = 0.0
    for a in range(gap.size):
        component = 0.0
        for b in range(a, gap.size):
            component += root[b, a] * gap[b]
        total += component * component
    return total


@inner
def square(x: Array) -> float:
    """Squared length of x."""
    total = 0.0
    for a in range(x.size):
        total += x[a] * x[a]
    return total
