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


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one record, and the exact statistics of both."""

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
    sizes = _sizes(query)
    n = query.largest_total
    if n < 1:
        raise QueryError(f"audit must have a table of at least one record, got n = {n}")
    rng = np.random.default_rng(seed)
    cells = list(itertools.islice(itertools.product(*(range(size) for size in sizes)), 64))
    triples = list(itertools.product(cells, cells, cells)) if len(cells) <= 6 else []
    while len(triples) < limit:
        triples.append(tuple(tuple(int(rng.integers(size)) for size in sizes) for _ in range(3)))  # type: ignore[arg-type]
    if len(triples) > limit:
        triples = [triples[i] for i in rng.permutation(len(triples))[:limit]]
    return [_pair(query, np.tile(rest, (n - 1, 1)), one, two) for rest, one, two in triples if one != two]


def worst_pair(query: Statistics, *, limit: int = 200, seed: int = 0) -> Pair:
    """The pair whose exact statistics move furthest."""
    return max(neighbouring_pairs(query, limit=limit, seed=seed), key=lambda pair: pair.moved)


def _sizes(query: Statistics) -> list[int]:
    sizes: dict[str, int] = {}
    for statistic in query.statistics:
        if not isinstance(statistic, Counts):
            raise QueryError("audit must have a query of counts, got a sum")
        sizes.update(zip(statistic.columns, statistic.grid, strict=True))
    return [sizes[name] for name in query.columns]


def _pair(query: Statistics, rest: np.ndarray[Any, Any], one: tuple[int, ...], two: tuple[int, ...]) -> Pair:
    first, second = (_table(query, np.vstack([rest, [row]])) for row in (one, two))
    return Pair(first, second, first.source.statistics(query), second.source.statistics(query))


def _table(query: Statistics, codes: np.ndarray[Any, Any]) -> Dataset:
    columns = {name: codes[:, position] for position, name in enumerate(query.columns)}
    return Dataset("audit", query.schema, CodedRows(columns))
