"""Barker's walk of one real parameter on the points of a grid: symmetric steps that are folded back into the interval.

    accept j from i with probability 1 / (1 + e^-l),   l = log target(g_j) - log target(g_i)

Why it is private where Metropolis's own rule is not: mechanisms/private_metropolis.md.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.draws.tempered import unit_of
from discreet.queries.families.base import BoundedMean, Dirichlet, Family, GaussianMean

__all__ = ["barker_walk"]

Floats = NDArray[np.float64]

NORMAL, BETA, GAMMA = range(3)


def barker_walk(
    family: Family,
    law: tuple[float, float],
    ends: tuple[int, int],
    grid: float,
    scale: float,
    steps: int,
    least: float,
    generator: np.random.Generator,
) -> Floats:
    """The states after each step, multiples of the grid from ends[0] to ends[1] times it; the start is the middle.

    `law` has the two parameters of the target, `least` is the lower end of the declared space. `scale` is the deviation
    of a step as a share of the interval.
    """
    from discreet.mechanisms.private_metropolis.kernels.barker_steps import walk

    first, last = ends
    moves = np.round(generator.standard_normal(steps) * (scale * (last - first))).astype(np.int64)
    thresholds = generator.logistic(size=steps)  # a logistic number is below l with probability 1 / (1 + e^-l)
    kind = (
        NORMAL if isinstance(family, GaussianMean) else BETA if isinstance(family, Dirichlet | BoundedMean) else GAMMA
    )
    low, width = unit_of(family)
    return np.asarray(walk(kind, *law, low, width, least, first, last, grid, moves, thresholds))
