"""Neighbouring tables to attack: two tables that differ in one privacy unit, with their exact statistics.

In a corner table all other rows agree: there sensitivities and likelihood ratios of count models are attained.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.change_of_a_unit import Measure, Move, Row, candidate_moves, furthest_move, l1_length
from discreet.auditing.replay import distance
from discreet.queries.statistics import Statistics
from discreet.schema import Person
from discreet.sources import CodedRows, Dataset

__all__ = ["Pair", "neighbouring_pairs", "pair_of", "worst_pair"]

# Sums move alike whatever the other rows are, so a few units stand for all others; only draws depend on their number.
MOST_OTHERS = 100

Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one unit, replaced or removed as the relation says, with their exact statistics."""

    query: Statistics
    dataset: Dataset
    neighbour: Dataset
    exact: dict[str, NDArray[Any]]
    other: dict[str, NDArray[Any]]

    @property
    def moved(self) -> tuple[Fraction, Fraction]:
        """L1 and squared L2 distance of the exact statistics, in their units: compare `query.l1` and `.squared_l2`."""
        return distance(self.query, self.exact, self.other)


def neighbouring_pairs(query: Statistics, *, owned: int | None = None, limit: int = 200, seed: int = 0) -> list[Pair]:
    """Corner pairs and random pairs, at most `limit`, in a reproducible order.

    `owned` is the number of rows of the unit that differs: without it, as many as are used of one unit.
    """
    return [_corner(query, move) for move in candidate_moves(query, owned=owned, limit=limit, seed=seed)]


def worst_pair(
    query: Statistics, measure: Measure = l1_length, *, owned: int | None = None, limit: int = 200, seed: int = 0
) -> Pair:
    """The pair whose exact statistics move furthest: the best candidates, improved by coordinate ascent."""
    return _corner(query, furthest_move(query, measure, owned=owned, limit=limit, seed=seed))


def pair_of(query: Statistics, others: Cells, old: Cells, new: Cells) -> Pair:
    """The tables in which a unit owns the rows `old`, or `new`; every row of `others` belongs to a unit of its own.

    Rows are cells in the order of the query's columns: level codes, grid steps, and what excludes a row.
    """
    first, second = (_table(query, others, owned) for owned in (old, new))
    return Pair(query, first, second, first.source.statistics(query), second.source.statistics(query))


def _corner(query: Statistics, move: Move) -> Pair:
    units = query.largest_total // query.schema.unit.max_records
    counted = query.family is not None and not isinstance(query.schema.unit, Person)
    others = units - 1 if counted else min(units - 1, MOST_OTHERS)
    new = _copies(move.new, move.left)
    if move.left == 0 and query.schema.relation == "replace-one":  # the unit is still there, but its row is excluded
        new = _copies(_excluded(query, move.new), 1)
    return pair_of(query, _copies(move.others, others), _copies(move.old, move.owned), new)


def _excluded(query: Statistics, row: Row) -> Row:
    """The row with bad cells wherever they exclude it."""
    declared = [query.schema.column(name) for name in query.columns]
    return tuple(
        column.excluded if column.missing == "exclude" else code for code, column in zip(row, declared, strict=True)
    )


def _copies(row: Row, times: int) -> Cells:
    return np.tile(np.array(row, dtype=np.int64), (times, 1))


def _table(query: Statistics, others: Cells, owned: Cells) -> Dataset:
    cells = np.vstack([others, owned])
    columns = {name: cells[:, position] for position, name in enumerate(query.columns)}
    persons = np.append(np.arange(1, len(others) + 1), np.zeros(len(owned), dtype=np.int64))
    source = CodedRows(columns, persons) if isinstance(query.schema.unit, Person) else CodedRows(columns)
    return Dataset("audit", query.schema, source)
