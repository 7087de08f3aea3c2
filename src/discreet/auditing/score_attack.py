"""Attacks on noisy scores: two tables that differ in one unit whose sums are far apart in every stage at once.

What is asked of the rows depends on what was released. The search follows one path without noise, on a table of corner
and middle rows, and takes the unit whose whole vectors along that path, measured in the noise, are furthest from those
of another, or longest where units come and go. The test statistic of such a pair is the exact log-likelihood ratio.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.loss_attack import corner_rows, may_replace
from discreet.noise.sources import NoiseSource
from discreet.queries.losses.base import Loss
from discreet.queries.scores import first_map, walk
from discreet.schema import Person
from discreet.sources import CodedRows, Dataset

__all__ = ["ScorePair", "score_pairs"]

Cells = NDArray[np.int64]

MOST_UNITS = 10_000  # of a made-up table; sums move alike whatever the other rows are


@dataclass(frozen=True)
class ScorePair:
    """Two tables that differ in one unit, and how much of the budget that difference costs on a path without noise."""

    query: Loss
    dataset: Dataset
    neighbour: Dataset
    cost: float


@dataclass(frozen=True)
class _Silent:
    """A source of noise that is always 0: the path of a release that hides nothing, for the search only."""

    def integers(self, law: Any, size: int) -> list[int]:
        return [0] * size

    def below(self, bound: int) -> int:
        return 0

    def stream(self) -> np.random.Generator:
        raise NotImplementedError


def score_pairs(mechanism: Any, query: Loss) -> list[ScorePair]:
    """The furthest of all pairs of corner units."""
    law, corners = mechanism.constants(query), corner_rows(query)
    owned, adds = query.schema.unit.max_records, query.schema.relation == "add-remove"
    units = min(max(query.largest_total // owned, 1), MOST_UNITS)
    both = np.concatenate([_middle(query, corners), corners])
    others = both[np.arange(units - 1) % len(both)]
    silent: NoiseSource = _Silent()
    value = mechanism.apply(silent, query, _table(query, others, corners[:1]))
    sigmas = law.sigmas
    moved = [_vector(law, query, sigmas, value, corner) for corner in np.repeat(corners[:, None], owned, axis=1)]
    vectors = np.array(moved)
    if adds:
        costs = 0.5 * (vectors**2).sum(axis=1)
        best = int(np.argmax(costs))
        pair = _table(query, others, corners[best : best + 1]), _table(query, others, corners[:0])
        return [ScorePair(query, *pair, float(costs[best]))]
    squares = (vectors**2).sum(axis=1)
    costs = 0.5 * (squares[:, None] + squares[None] - 2.0 * vectors @ vectors.T) * may_replace(query, corners)
    old, new = divmod(int(np.argmax(costs)), len(corners))
    here, there = (_table(query, others, corners[at : at + 1]) for at in (old, new))
    return [ScorePair(query, here, there, float(costs[old, new]))]


def _middle(query: Loss, cells: Cells) -> Cells:
    """The same rows with their numbers in the middle: beside them, corner rows are longer than most, and are shrunk."""
    found = cells.copy()
    for axis in query.features.numbers:
        found[:, query.columns.index(axis.column)] = int(axis.of_values(np.array(0.5 * (axis.lower + axis.upper))))
    return found


def _vector(
    law: Any, query: Loss, sigmas: Mapping[str, float], value: Mapping[str, Any], cells: Cells
) -> NDArray[np.float64]:
    """What one unit adds to every stage of the path that released `value`, in deviations of the noise."""
    totals = law.totals(value)
    with CodedRows(dict(zip(query.columns, cells.T, strict=True))).scores(query, law) as unit:
        exact = unit.totals()
        if law.has_moments:
            asked = first_map(law.terms, totals)
            assert asked is not None
            exact |= unit.moments(asked)
        score = unit.scores(walk(law.terms, totals, law.moments(value)).map)
        exact["scores"] = np.array([score(point) for point in value["points"]])
    found = [np.ravel(np.asarray(exact[name], dtype=float)) / sigmas[name] for name in sigmas]
    return np.concatenate(found)


def _table(query: Loss, others: Cells, unit: Cells) -> Dataset:
    """Every row once for each record that its unit owns."""
    owned, cells = query.schema.unit.max_records, np.concatenate([others, unit])
    persons = np.repeat(np.arange(len(cells)), owned) if isinstance(query.schema.unit, Person) else None
    columns = np.repeat(cells, owned, axis=0).T
    return Dataset("audit", query.schema, CodedRows(dict(zip(query.columns, columns, strict=True)), persons))
