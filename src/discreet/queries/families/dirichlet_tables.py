"""Counts of several tables of the same rows: every row of every table ~ Dirichlet(prior + c)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.bounded_losses import log_ratio
from discreet.numerics.arrays import Array
from discreet.queries.families.base import Family, Interval, Values
from discreet.queries.families.conditional_table import ConditionalTable

if TYPE_CHECKING:
    from discreet.queries.counts_and_sums import Counts

__all__ = ["DirichletTables"]


@dataclass(frozen=True)
class DirichletTables(Family):
    """Several tables of the same rows: a record is in one cell of each."""

    has_space = True

    tables: tuple[ConditionalTable, ...]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every table."""
        return {table.parameter: table.shape for table in self.tables}

    @property
    def levels(self) -> dict[str, int]:
        """The last axis of every table."""
        return {table.parameter: table.shape[-1] for table in self.tables}

    def log_range(self, spaces: Mapping[str, Interval]) -> float:
        """2 C of every table, added."""
        return 2.0 * math.fsum(log_ratio(levels, spaces[name][0]) for name, levels in self.levels.items())

    def space_words(self, spaces: Mapping[str, Interval]) -> str:
        """The smallest probability of every table."""
        return f"tables of probabilities ({', '.join(f'{name} ≥ {spaces[name][0]:g}' for name in self.levels)})"

    def score(self, exact: Mapping[str, Any], other: Mapping[str, Any]) -> Callable[[Values], Array]:
        """The log-ratios of the tables add."""
        moves = {table.parameter: np.ravel(table.counts(exact) - table.counts(other)) for table in self.tables}

        def score(values: Values) -> Array:
            ratios = np.zeros(len(values))
            for name, move in moves.items():
                theta = np.array([np.asarray(value[name], dtype=float) for value in values])
                cells = theta.reshape(len(values), -1, move.size)  # draws of one release are independent
                ratios += (np.log(np.clip(cells, 1e-300, None)) @ move).sum(axis=1)
            return np.asarray(ratios)

        return score

    def labels(self, tables: "Sequence[Counts]") -> list[str]:
        """P(feature = level | class = level) where every table is of one class column and one feature."""
        if any(len(table.columns) != 2 or table.columns[0] != tables[0].columns[0] for table in tables):
            return []
        target, classes = tables[0].columns[0], tables[0].levels[0]
        names = [f"P({target} = {each})" for each in classes]
        for table in tables:
            feature, levels = table.columns[1], table.levels[1]
            names += [f"P({feature} = {level} | {target} = {each})" for each in classes for level in levels]
        return names

    def draw_levels(self, tables: "Sequence[Counts]") -> dict[str, tuple[str, ...]]:
        """Of the last axis of every table."""
        counted = {table.name: table for table in tables}
        return {own.parameter: counted[own.statistic].levels[len(own.shape) - 1] for own in self.tables}
