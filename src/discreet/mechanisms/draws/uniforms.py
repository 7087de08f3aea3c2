"""Uniform numbers with digits where they are small: tails drawn from them have no lattice.

A uniform double has 53 bits after the point. A quantile far out in a tail of mass p sees only p · 2^53 of them, which
is a lattice that released numbers would show.
"""

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["fine_uniforms", "log_shares", "uniform_pairs"]


def fine_uniforms(size: int, noise: np.random.Generator) -> Array:
    """Uniform numbers from 0 to 1 of 106 bits: as many digits next to 0 as anywhere else."""
    return np.asarray(noise.random(size) + 2.0**-53 * noise.random(size))


def uniform_pairs(size: int, noise: np.random.Generator) -> tuple[Array, Array]:
    """Uniform numbers u and 1 - u, with digits where either is small."""
    small, mirrored = 0.5 * fine_uniforms(size, noise), noise.random(size) < 0.5
    return np.where(mirrored, 1.0 - small, small), np.where(mirrored, small, 1.0 - small)


def log_shares(length: Array, noise: np.random.Generator) -> Array:
    """Minus exponentials of rate 1 given that they are below `length`, one for each entry, which may be infinite.

    They are logarithms of uniform numbers from e^-length to 1.
    """
    u = fine_uniforms(length.size, noise)
    missed = np.expm1(-length) * (1.0 - u)
    near = missed > -0.5
    far = np.exp(-length) - np.expm1(-length) * u
    return np.where(near, np.log1p(np.where(near, missed, 0.0)), np.log(np.where(near, 1.0, far)))
