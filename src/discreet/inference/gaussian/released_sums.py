"""What is released of a table of numbers and levels: noisy sums over rows of products of values and level indicators.

A number x is clamped to [lower, upper], rounded to the column's grid and coarsened to whole numbers centred at 0:

    k = floor(x / grid + 1/2),   v = 2 ((k - low + 2^shift / 2) >> shift) - reach,   clipped to [-reach, reach]

A term is the sum over the used rows of a product of at most two such v and at most two level indicators; the empty
product counts the rows.
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.noise import NoiseLaw

__all__ = ["Term"]


@dataclass(frozen=True)
class Term:
    """One released sum.

    Parameters
    ----------
    released
        The noisy sum.
    law
        The law of its noise.
    numbers
        Indices of the nodes whose v are multiplied: none, one, or two (twice the same for a square).
    levels
        Up to two pairs (factor, level): the record counts only if each factor has that level.
    """

    released: float
    law: NoiseLaw
    numbers: tuple[int, ...] = ()
    levels: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) > 2 or len(self.levels) > 2:
            raise QueryError("Term must multiply at most two numbers and two levels, got more")
        if not np.isfinite(self.released):
            raise QueryError(f"Term.released must be finite, got {self.released!r}")
