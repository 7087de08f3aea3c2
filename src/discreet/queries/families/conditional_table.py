"""Probabilities of levels, a Dirichlet law for each row: what tables of several columns and one vector share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.families.base import Exponents, Interval, Tempering, edge_deviation

__all__ = ["ConditionalTable"]


@dataclass(frozen=True)
class ConditionalTable(Exponents):
    """Probabilities of a column's levels for every combination of its parents' levels: a Dirichlet for each row.

    Its counts are those of `statistic`, summed over the axes that the table does not have (without a name, of the only
    statistic there is); `prior` lists its cells in the order of `shape`, whose last axis are the levels.
    """

    parameter: str
    statistic: str
    shape: tuple[int, ...]
    prior: tuple[float, ...]

    def counts(self, exact: Mapping[str, Any]) -> NDArray[Any]:
        """Of this table."""
        (table,) = (exact[self.statistic],) if self.statistic else exact.values()
        return np.asarray(np.asarray(table).reshape(*self.shape, -1).sum(axis=-1))

    def flat(self, tempering: Tempering) -> Array:
        """The exponents of a flat density of the probabilities, or of their logarithms."""
        return np.full(len(self.prior), 1.0 if tempering == "joint" else 0.0)

    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """What no table makes the deviation of an entry fall below on the space where each is at least space[0]."""
        lower, levels = space[0], self.shape[-1]
        return edge_deviation(1.0 - levels * lower, lower, levels + float(np.abs(part - 1.0).sum()) + weight * n)
