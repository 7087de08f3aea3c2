"""The public grid of released numbers: absolute where they are small, relative where they are large.

    x = m · 2^e, 1/2 ≤ |m| < 1      step = max(grid, 2^(e-32))      released: round(x / step) · step

A continuous draw is computed as fl(centre + scale · z) or fl(scale · g). The doubles that this can reach are a lattice
that depends on centre and scale, hence on the rows, and a number that is off the lattice of a neighbouring table tells
the two apart. Cells that are wide beside the lattice everywhere hide it: at least 2^-24 of the noise, and at least
2^-32 of the number itself. What remains is a factor on the probability of a cell (mechanisms/conjugate_sample/proof.md,
Theorem 4).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.numerics.arrays import Array

__all__ = ["FINEST", "NORMAL_ERROR", "RATIO_ERROR", "cell_ends", "finest_grid", "rounded"]


FINEST = 2.0**-1000  # of all grids: steps and their halves are ordinary doubles
LARGEST = 2.0**1023  # a draw beyond is released as this: no number overflows
RELATIVE_BITS = 32
SHARE_BITS = 24

# Bounds of the factor that the lattice of doubles puts on the probability of a cell (conjugate_sample.md, Theorem 4).
NORMAL_ERROR = 1e-7  # noise of a public deviation, of which a cell is at least 2^-24
RATIO_ERROR = 2.0**-14  # Gamma and Beta draws, of which a cell is at least 2^-32


def finest_grid(deviation: float) -> float:
    """The smallest power of two that is at least 2^-24 of a public deviation of the noise."""
    mantissa, exponent = math.frexp(max(deviation, FINEST))
    return max(FINEST, math.ldexp(1.0, exponent - (mantissa == 0.5) - SHARE_BITS))


def rounded(drawn: ArrayLike, grid: float) -> NDArray[Any]:
    """Draws as multiples of the step that belongs to each; never -0.0, never infinite."""
    x = np.clip(np.asarray(drawn, dtype=float), -LARGEST, LARGEST)
    step = _steps(x, grid)
    return np.asarray(np.round(x / step) * step + 0.0)


def cell_ends(released: ArrayLike, grid: float) -> tuple[Array, Array]:
    """Between which two numbers the draw behind each released number lay.

    Below a power of two steps are half as wide as above it.
    """
    x = np.asarray(released, dtype=float)
    outer, inner = 0.5 * _steps(x, grid), 0.5 * _steps(np.nextafter(x, 0.0), grid)
    up, down = np.where(x < 0, inner, outer), np.where(x > 0, inner, outer)
    return x - down, x + up


def _steps(x: Array, grid: float) -> Array:
    relative = np.ldexp(1.0, np.frexp(x)[1] - RELATIVE_BITS)
    return np.asarray(np.where(x == 0.0, grid, np.maximum(grid, relative)))  # 0 has no size of its own
