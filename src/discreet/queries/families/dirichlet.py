"""Counts c of K cells: theta ~ Dirichlet(prior + c); of two cells, one probability may be the parameter.

On the space where every probability is at least a0, R = 2 C with C = log((1 - (K-1) a0)/a0)
(posterior_sample.md, Lemma 1).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.bounded_losses import log_ratio
from discreet.guarantee import Basis, ConjugateProfile, Guarantee, RenyiDP
from discreet.numerics.arrays import Array
from discreet.queries.families.base import Interval, OneConjugate, Tempering, Values, named_draws
from discreet.queries.families.conditional_table import ConditionalTable

if TYPE_CHECKING:
    from discreet.queries.counts_and_sums import Counts

__all__ = ["Dirichlet", "beta_deviation", "beta_tables"]


@dataclass(frozen=True)
class Dirichlet(OneConjugate):
    """A conjugate Dirichlet prior on the cell probabilities of one count table, in the order of its cells."""

    parameter: str
    prior: tuple[float, ...]
    coordinate: int | None = None  # a single probability is the parameter, e.g. that of the level "1"

    @property
    def law(self) -> str:
        """A single probability is a Beta variable."""
        return "" if self.coordinate is None else "beta"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """A vector in the order of the levels, or one number."""
        return {self.parameter: (len(self.prior),) if self.coordinate is None else ()}

    @property
    def levels(self) -> dict[str, int]:
        """All cells."""
        return {self.parameter: len(self.prior)}

    @property
    def tables(self) -> tuple[ConditionalTable, ...]:  # type: ignore[override]  # made from the prior
        """One row."""
        return (ConditionalTable(self.parameter, "", (len(self.prior),), self.prior),)

    def flat(self, tempering: Tempering) -> Array:
        """Of the probabilities, or of their logarithms."""
        return self.tables[0].flat(tempering)

    def statistic(self, exact: Mapping[str, Any], n: int) -> tuple[Any, int]:
        """The count of the one level, and of both: rows that a bad cell excludes are in neither."""
        (counts,) = exact.values()
        assert self.coordinate is not None
        return float(counts[self.coordinate]), int(np.sum(counts))

    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """Beta of the one level, given its count."""
        s = np.asarray(exact, dtype=float)
        return float(part[1]) + weight * s, float(part[0]) + weight * (n - s)

    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """An exact profile."""
        parameters = {"prior": self.prior, "n": n, "scale": scale, "shrink": shrink}
        laws = "Beta laws, Theorem 3" if len(self.prior) == 2 else "Dirichlet laws, Theorem 3"
        return ConjugateProfile("dirichlet", parameters, basis(f"exact profile of {laws}"))

    def calibration(self, n: int, scale: float, shrink: float) -> Guarantee:
        """Two levels by their profile, more of them by their Rényi curve."""
        kind = ConjugateProfile if len(self.prior) == 2 else RenyiDP
        return kind("dirichlet", {"prior": self.prior, "n": n, "scale": scale, "shrink": shrink})

    @property
    def shortened(self) -> "Dirichlet":
        """The three smallest prior entries only: the suprema of Theorems 1 and 3 see no others."""
        return self if len(self.prior) <= 3 else replace(self, prior=tuple(sorted(self.prior)[:3]))

    def log_range(self, spaces: Mapping[str, Interval]) -> float:
        """2 C."""
        return 2.0 * log_ratio(len(self.prior), spaces[self.parameter][0])

    def space_words(self, spaces: Mapping[str, Interval]) -> str:
        """Probabilities and their smallest."""
        return f"{len(self.prior)} probabilities ≥ {spaces[self.parameter][0]:g}"

    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Both counts are statistics."""
        log_one, log_zero, prior = beta_tables(points, self.prior)
        return (log_zero, log_one), np.zeros(points.shape), prior, -log_one - log_zero

    def statistic_bounds(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A row moves each count by one."""
        return (n, n), (1, 1)

    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """Of the narrowest entry."""
        return beta_deviation(np.asarray(self.prior) / shrink, scale * n)

    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """Of the narrowest entry."""
        return self.tables[0].tempered_deviation(part, weight, n, space)

    @property
    def _declared(self) -> tuple[float, ...]:
        """The prior in the order in which the model declares it: for one probability, successes first."""
        return self.prior if self.coordinate is None else self.prior[::-1]

    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Counts are added."""
        return tuple(entry + count * share for entry, share in zip(self._declared, shares, strict=True))

    @property
    def expected_shares(self) -> tuple[float, ...]:
        """As the prior's mean."""
        entries = np.asarray(self._declared)
        return tuple((entries / entries.sum()).tolist())

    def score(self, exact: Mapping[str, Any], other: Mapping[str, Any]) -> Callable[[Values], Array]:
        """Log-probabilities times the difference of the counts."""
        (here,), (there,) = exact.values(), other.values()

        def score(values: Values) -> Array:
            theta = named_draws(values, self.parameter)
            if self.coordinate is not None:
                theta = np.stack([1 - theta, theta], axis=-1)
            return np.asarray((np.log(np.clip(theta, 1e-300, None)) @ (here - there)).sum(axis=1))

        return score

    def labels(self, tables: "Sequence[Counts]") -> list[str]:
        """P(column = level)."""
        (column,), (levels,) = tables[0].columns, tables[0].levels
        kept = levels if self.coordinate is None else (levels[self.coordinate],)
        return [f"P({column} = {level})" for level in kept]

    def draw_levels(self, tables: "Sequence[Counts]") -> dict[str, tuple[str, ...]]:
        """Of a vector."""
        return {} if self.coordinate is not None else {self.parameter: tables[0].levels[0]}


def beta_tables(places: Array, prior: tuple[float, ...]) -> tuple[Array, Array, Array]:
    """Logarithms of a probability and of its complement at each place, and of a Beta prior (failures, successes).

    Places on the very ends of the unit interval are moved inside by half of the smallest step that doubles have there.
    """
    inside = np.clip(places, 2.0**-60, 1.0 - 2.0**-53)
    log_one, log_zero = np.log(inside), np.log1p(-inside)
    zero, one = prior
    return log_one, log_zero, np.asarray((one - 1.0) * log_one + (zero - 1.0) * log_zero)


def beta_deviation(prior: NDArray[Any], records: float) -> float:
    """Of the narrowest entry of a Dirichlet law whose records are in one cell, or in all others."""
    total = float(prior.sum()) + records
    rest = [float(np.delete(prior, j).sum()) for j in range(prior.size)]
    fewest = np.array([*prior.tolist(), *rest]) / total
    return math.sqrt(float((fewest * (1.0 - fewest)).min()) / (total + 1.0))
