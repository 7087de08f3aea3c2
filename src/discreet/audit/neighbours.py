"""Neighbouring tables to attack: corners of the space of tables first, then random ones.

A corner is a table whose other rows all agree: there sensitivities and likelihood ratios of count models are attained.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.query import Counts, Statistics
from discreet.sources import CodedRows, Dataset

__all__ = ["Pair", "neighbouring_pairs", "worst_pair"]


Cell = tuple[int, ...]
Triple = tuple[Cell, Cell, Cell]


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one record, replaced or removed as the relation says, with their exact statistics."""

    dataset: Dataset
    neighbour: Dataset
    exact: dict[str, np.ndarray[Any, Any]]
    other: dict[str, np.ndarray[Any, Any]]

    @property
    def moved(self) -> tuple[int, int]:
        """L1 and squared L2 distance of the exact statistics."""
        moves = [
            np.ravel(self.exact[name]).astype(object) - np.ravel(self.other[name]).astype(object) for name in self.exact
        ]
        return sum(abs(int(m)) for move in moves for m in move), sum(int(m) ** 2 for move in moves for m in move)


def neighbouring_pairs(query: Statistics, *, limit: int = 200, seed: int = 0) -> list[Pair]:
    """Corner pairs (all other rows in one cell) and random pairs, at most `limit`, in a reproducible order."""
    rest = query.largest_total - 1
    return [_pair(query, np.tile(other, (rest, 1)), one, two) for other, one, two in _triples(query, limit, seed)]


def worst_pair(query: Statistics, *, limit: int = 200, seed: int = 0) -> Pair:
    """The pair whose exact statistics move furthest: the best corner or random one, improved by coordinate ascent."""
    sizes, rest = _sizes(query), query.largest_total - 1
    triples = _triples(query, limit, seed)
    best = max(triples, key=lambda triple: _moved(query, triple))
    improved = True
    while improved:  # each round moves strictly further, and there are finitely many distances
        improved = False
        for which, position in itertools.product(range(3), range(len(sizes))):
            for code in range(sizes[position]):
                candidate = _replaced(best, which, position, code)
                if _moved(query, candidate) > _moved(query, best):
                    best, improved = candidate, True
    return _pair(query, np.tile(best[0], (rest, 1)), best[1], best[2])


def _triples(query: Statistics, limit: int, seed: int) -> list[Triple]:
    """(cell of all other rows, cell of the row, cell it moves to): all of them where they are few, else random ones."""
    sizes = _sizes(query)
    if query.largest_total < 1:
        raise QueryError(f"audit must have a table of at least one record, got n = {query.largest_total}")
    rng = np.random.default_rng(seed)
    cells = list(itertools.product(*(range(size) for size in sizes))) if np.prod(sizes) <= 6 else []
    triples: list[Triple] = [triple for triple in itertools.product(cells, cells, cells) if triple[1] != triple[2]]
    while len(triples) < limit:
        other, one, two = (tuple(int(rng.integers(size)) for size in sizes) for _ in range(3))
        if one != two:
            triples.append((other, one, two))
    return [triples[i] for i in rng.permutation(len(triples))[:limit]]


def _replaced(triple: Triple, which: int, position: int, code: int) -> Triple:
    cells = [list(cell) for cell in triple]
    cells[which][position] = code
    other, one, two = (tuple(cell) for cell in cells)
    return other, one, two


def _moved(query: Statistics, triple: Triple) -> tuple[int, int]:
    return _pair(query, np.empty((0, len(triple[0])), dtype=np.int64), triple[1], triple[2]).moved


def _sizes(query: Statistics) -> list[int]:
    sizes: dict[str, int] = {}
    for statistic in query.statistics:
        if not isinstance(statistic, Counts):
            raise QueryError("audit must have a query of counts, got a sum")
        sizes.update(zip(statistic.columns, statistic.grid, strict=True))
    return [sizes[name] for name in query.columns]


def _pair(query: Statistics, rest: np.ndarray[Any, Any], one: tuple[int, ...], two: tuple[int, ...]) -> Pair:
    replaced = np.vstack([rest, [two]]) if query.schema.relation == "replace-one" else rest  # else: the row is removed
    first, second = _table(query, np.vstack([rest, [one]])), _table(query, replaced)
    return Pair(first, second, first.source.statistics(query), second.source.statistics(query))


def _table(query: Statistics, codes: np.ndarray[Any, Any]) -> Dataset:
    columns = {name: codes[:, position] for position, name in enumerate(query.columns)}
    return Dataset("audit", query.schema, CodedRows(columns))
