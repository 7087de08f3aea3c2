"""The compiled loop of Barker's walk on a grid."""

from math import log, log1p

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["walk"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True)
def walk(
    kind: int,
    a: float,
    b: float,
    low: float,
    width: float,
    first: int,
    last: int,
    grid: float,
    moves: Integers,
    thresholds: Floats,
) -> Floats:
    """States after each step; `moves` are in points of the grid and folded back, `thresholds` are logistic numbers."""
    points, place = last - first + 1, (last - first) // 2
    here = _log_target(kind, a, b, ((first + place) * grid - low) / width)
    states = np.empty(moves.size)
    for step in range(moves.size):
        inside = (place + moves[step]) % (2 * points)
        proposed = min(inside, 2 * points - 1 - inside)
        there = _log_target(kind, a, b, ((first + proposed) * grid - low) / width)
        if thresholds[step] < there - here:
            place, here = proposed, there
        states[step] = (first + place) * grid
    return states


@njit(cache=True)
def _log_target(kind: int, a: float, b: float, x: float) -> float:
    """Log-density up to a constant: normal of mean a and deviation b, Beta(a, b) or Gamma(shape a, rate b)."""
    if kind == 0:
        return -0.5 * ((x - a) / b) ** 2
    if kind == 1:
        return (a - 1.0) * log(x) + (b - 1.0) * log1p(-x)
    return (a - 1.0) * log(x) - b * x
