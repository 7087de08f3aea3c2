"""Barker's walk of one real parameter on the points of a grid: symmetric steps that are folded back into the interval.

    accept j from i with probability 1 / (1 + e^-l),   l = log target(g_j) - log target(g_i)

Why it is private where Metropolis's own rule is not: mechanisms/private_metropolis/proof.md.
"""

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.families import OneConjugate

__all__ = ["barker_walk"]


KERNELS = {"normal": 0, "beta": 1, "gamma": 2}  # the laws that the compiled walk knows


def barker_walk(
    family: OneConjugate,
    law: tuple[float, float],
    ends: tuple[int, int],
    grid: float,
    scale: float,
    steps: int,
    least: float,
    noise: np.random.Generator,
) -> Array:
    """The states after each step, multiples of the grid from ends[0] to ends[1] times it; the start is the middle.

    `law` has the two parameters of the target, `least` is the lower end of the declared space. `scale` is the deviation
    of a step as a share of the interval.
    """
    from discreet.mechanisms.private_metropolis.kernels.barker_steps import walk

    first, last = ends
    moves = np.round(noise.standard_normal(steps) * (scale * (last - first))).astype(np.int64)
    thresholds = noise.logistic(size=steps)  # a logistic number is below l with probability 1 / (1 + e^-l)
    walked = walk(KERNELS[family.law], *law, *family.unit, least, first, last, grid, moves, thresholds)
    return np.asarray(walked)
