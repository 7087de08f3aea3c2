"""The furthest that one privacy unit can move a query's statistics: a search over the cells of its rows.

A unit that owned `owned` equal rows owns `left` equal rows afterwards, of which at most k count:

    move = min(owned, k) v(old) - min(left, k) v(new),   v(row) = what a row adds, every statistic in its own unit

Equal rows suffice, since lengths are convex in what each row adds; and `left` is the fewest or the most, since the move
is linear in it. Numbers are tried at their two ends, in the middle, and at the ends scaled by ±1/(p+1), where the first
and second moments of p columns move furthest (mechanisms/noisy_statistics/proof.md, Lemma 1).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import Axis, Statistic, levels_of
from discreet.queries.statistics import Statistics
from discreet.schema import Record

__all__ = ["Measure", "Move", "Row", "candidate_moves", "furthest_move", "l1_length", "squared_length"]

Row = tuple[int, ...]
Vector = NDArray[np.float64]
Measure = Callable[[Vector], float]

ALL_ROWS = 6  # with so few different rows every move is tried
STARTS = 4  # moves from which the ascent starts


@dataclass(frozen=True)
class Move:
    """Rows as cells in the order of the query's columns: level codes and grid steps."""

    others: Row
    old: Row
    new: Row
    owned: int
    left: int


def l1_length(move: Vector) -> float:
    """The sum of absolute values: what Laplace noise hides."""
    return float(np.abs(move).sum())


def squared_length(move: Vector) -> float:
    """The sum of squares: what Gaussian noise hides."""
    return float((move**2).sum())


def candidate_moves(query: Statistics, *, owned: int | None, limit: int, seed: int) -> list[Move]:
    """At most `limit` moves in a reproducible order: all of them where rows are few, else random ones."""
    if query.largest_total < 1:
        raise QueryError(f"audit must have a table of at least one record, got n = {query.largest_total}")
    rng = np.random.default_rng(seed)
    choices, before = _choices(query), _owned(query, owned)
    few = prod(len(codes) for codes in choices) <= ALL_ROWS
    triples: list[tuple[Row, ...]] = list(itertools.product(itertools.product(*choices), repeat=3)) if few else []
    triples += [
        tuple(tuple(codes[rng.integers(len(codes))] for codes in choices) for _ in range(3))
        for _ in range(limit - len(triples))
    ]
    every = (
        Move(others, old, new, before, left)
        for others, old, new in triples
        for left in _left(query, before)
        if old != new or left != before
    )
    moves = list(dict.fromkeys(every))
    return [moves[i] for i in rng.permutation(len(moves))[:limit]]


def furthest_move(query: Statistics, measure: Measure, *, owned: int | None, limit: int, seed: int) -> Move:
    """The longest of the candidates, improved one cell at a time from several starts."""
    adds = cache(lambda row: _row_vector(query, row))
    records, choices = query.schema.unit.max_records, _choices(query)

    def length(move: Move) -> float:
        return measure(min(move.owned, records) * adds(move.old) - min(move.left, records) * adds(move.new))

    starts = sorted(candidate_moves(query, owned=owned, limit=limit, seed=seed), key=length, reverse=True)[:STARTS]
    return max((_ascend(start, choices, length) for start in starts), key=length)


def _ascend(best: Move, choices: tuple[Row, ...], length: Callable[[Move], float]) -> Move:
    longest, improved = length(best), True
    while improved:  # each round is strictly longer, and there are finitely many moves
        improved = False
        for position, codes in enumerate(choices):
            for code in codes:
                olds, news = (_with(row, position, code) for row in (best.old, best.new))
                for candidate in (replace(best, old=olds), replace(best, new=news)):
                    if length(candidate) > longest * (1 + 1e-12):
                        best, longest, improved = candidate, length(candidate), True
    return best


def _owned(query: Statistics, owned: int | None) -> int:
    if owned is not None and isinstance(query.schema.unit, Record) and owned != 1:
        raise QueryError(f"audit owned must be 1 where the unit is a record, got {owned!r}")
    return query.schema.unit.max_records if owned is None else owned


def _left(query: Statistics, owned: int) -> tuple[int, ...]:
    """How many rows a unit may have afterwards: none if it is removed or excluded; a person who stays has one."""
    if query.schema.relation == "add-remove":
        return (0,)
    return tuple(sorted({0 if query.excludes else 1, owned}))


def _choices(query: Statistics) -> tuple[Row, ...]:
    """The cells that are tried, for each column of the query."""
    axes: dict[str, list[Axis]] = {}
    for axis in (axis for statistic in query.statistics for axis in statistic.axes):
        axes.setdefault(axis.column, []).append(axis)
    inner = 1.0 / (len(axes) + 1)
    return tuple(
        tuple(sorted({_step(axis, at) for axis in axes[name] for at in (-1.0, -inner, 0.0, inner, 1.0)}))
        if name in axes
        else tuple(range(len(levels_of(query.schema, name))))
        for name in query.columns
    )


def _step(axis: Axis, position: float) -> int:
    """The grid step whose centred number is nearest to `position` times the reach."""
    index = round((position + 1.0) / 2.0 * axis.reach)
    return min(axis.low + (index << axis.shift), int(axis.of_values(np.array(axis.upper))))


def _row_vector(query: Statistics, row: Row) -> Vector:
    """What a row adds to every statistic, in its unit."""
    cells = dict(zip(query.columns, row, strict=True))
    return np.concatenate([_added(statistic, cells) for statistic in query.statistics])


def _added(statistic: Statistic, cells: dict[str, int]) -> Vector:
    place = tuple(cells[name] for name in statistic.categories)
    amount = prod(int(axis.centred(np.array(cells[axis.column]))) for axis in statistic.axes) / statistic.unit
    table = np.zeros(statistic.grid)
    table[place] = amount
    return np.ravel(table if statistic.cell is None else table[statistic.cell])


def _with(row: Row, position: int, code: int) -> Row:
    return (*row[:position], code, *row[position + 1 :])
