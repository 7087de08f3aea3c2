"""What is released of a Gaussian system: noisy sums over records of products of clamped values and level indicators.

A number x is clamped to [lower, upper], rounded to the column's grid and coarsened to whole numbers centred at 0:

    k = floor(x / grid + 1/2),   v = 2 ((k - low + 2^shift / 2) >> shift) - reach,   clipped to [-reach, reach]

A term is the sum over the used records of a product of at most two such v and at most two level indicators; the
empty product counts the records. All sums are integers below 2^53, which doubles hold exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.queries.centred_columns import Axis

__all__ = ["Term", "term_values"]


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


def term_values(terms: Sequence[Term], axes: Sequence[Axis], values: ArrayLike, codes: ArrayLike) -> Array:
    """What each record adds to each term, (records, terms): values (n, nodes) are clamped here, codes (n, factors)."""
    z, c = np.asarray(values, dtype=float), np.asarray(codes, dtype=np.int64)
    clamped = [axis.values(z[:, j]) for j, axis in enumerate(axes)]
    columns = np.ones((len(z), len(terms)))
    for t, term in enumerate(terms):
        for number in term.numbers:
            columns[:, t] *= clamped[number]
        for factor, level in term.levels:
            columns[:, t] *= c[:, factor] == level
    return columns
