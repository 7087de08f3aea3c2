"""The compiled loop of Barker's walk on a grid."""

from math import log

import numpy as np
from numba import njit

from discreet.numerics.arrays import Array, Integers

__all__ = ["walk"]


@njit(cache=True)
def walk(
    kind: int,
    a: float,
    b: float,
    low: float,
    width: float,
    least: float,
    first: int,
    last: int,
    grid: float,
    moves: Integers,
    thresholds: Array,
) -> Array:
    """States after each step; `moves` are in points of the grid and folded back, `thresholds` are logistic numbers.

    A point of the grid is in the declared space, but its place in doubles may miss it by a rounding: no place is below
    `least`, and of probabilities neither is what is left to 1. A logarithm of 0 would tell tables apart for sure.
    """
    points, place = last - first + 1, (last - first) // 2
    here = _log_target(kind, a, b, ((first + place) * grid - low) / width, least)
    states = np.empty(moves.size)
    for step in range(moves.size):
        inside = (place + moves[step]) % (2 * points)
        proposed = min(inside, 2 * points - 1 - inside)
        there = _log_target(kind, a, b, ((first + proposed) * grid - low) / width, least)
        if thresholds[step] < there - here:
            place, here = proposed, there
        states[step] = (first + place) * grid
    return states


@njit(cache=True)
def _log_target(kind: int, a: float, b: float, place: float, least: float) -> float:
    """Log-density up to a constant: normal of mean a and deviation b, Beta(a, b) or Gamma(shape a, rate b)."""
    x = max(place, least)
    if kind == 0:
        return -0.5 * ((x - a) / b) ** 2
    if kind == 1:
        return (a - 1.0) * log(x) + (b - 1.0) * log(max(1.0 - x, least))
    return (a - 1.0) * log(x) - b * x
