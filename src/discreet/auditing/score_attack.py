"""Attacks on noisy scores: two tables that differ in one unit whose sums are far apart in every stage at once.

What is asked of the rows depends on what was released. The search follows one path without noise on each of several
made-up tables, and takes the unit whose whole vectors along that path, measured in the noise, are furthest from those
of another, or longest where units come and go. The test statistic of such a pair is the exact log-likelihood ratio.
"""

from collections.abc import Iterator, Mapping, Sequence
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
CLOSE, NEAR, UNEVEN = 0.05, (0.1, 0.2), 0.1  # shares of the way from the middle or from a corner to another corner


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
    """The furthest of all pairs of corner units, beside the one of several made-up tables that parts them most."""
    corners = corner_rows(query)
    tried = (_furthest(mechanism, query, corners, others) for others in _surroundings(query, corners))
    return [max(tried, key=lambda pair: pair.cost)]


def _furthest(mechanism: Any, query: Loss, corners: Cells, around: Cells) -> ScorePair:
    """The furthest of all pairs of corner units among others that repeat these rows."""
    law = mechanism.constants(query)
    owned, adds = query.schema.unit.max_records, query.schema.relation == "add-remove"
    units = min(max(query.largest_total // owned, 1), MOST_UNITS)
    others = around[np.arange(units - 1) % len(around)]
    silent: NoiseSource = _Silent()
    value = mechanism.apply(silent, query, _table(query, others, corners[:1]))
    sigmas = law.sigmas
    moved = [_vector(law, query, sigmas, value, corner) for corner in np.repeat(corners[:, None], owned, axis=1)]
    vectors = np.array(moved)
    if adds:
        costs = 0.5 * (vectors**2).sum(axis=1)
        best = int(np.argmax(costs))
        pair = _table(query, others, corners[best : best + 1]), _table(query, others, corners[:0])
        return ScorePair(query, *pair, float(costs[best]))
    squares = (vectors**2).sum(axis=1)
    costs = 0.5 * (squares[:, None] + squares[None] - 2.0 * vectors @ vectors.T) * may_replace(query, corners)
    old, new = divmod(int(np.argmax(costs)), len(corners))
    here, there = (_table(query, others, corners[at : at + 1]) for at in (old, new))
    return ScorePair(query, here, there, float(costs[old, new]))


def _surroundings(query: Loss, corners: Cells) -> Iterator[Cells]:
    """Rows of all others: what they are decides which maps and points are chosen, and so which units are far apart.

    Corner rows and middle ones. Rows close around the middle, with the lowest target: the scores of two opposite far
    rows with the highest target are opposite. And rows near a third corner, a little towards each of two opposite ones:
    seen from there these two are at a right angle, which is furthest in second moments, and hardly any other row varies
    along what they have in common, so that the map stretches it until their vectors point the same way; with opposite
    targets their scores are opposite.
    """
    middle = [0.5 * (axis.lower + axis.upper) for axis in query.features.numbers]
    yield np.concatenate([_between(query, corners, middle, 0.0), corners])
    if not query.features.numbers:
        return
    around = _between(query, corners, middle, CLOSE)
    if query.target is not None:
        at = query.columns.index(query.target.column)
        around[:, at] = around[:, at].min()
    yield around
    third = [(axis.lower, axis.upper)[j % 2] for j, axis in enumerate(query.features.numbers)]
    ends = corners[_is_end(query, corners)]
    for share in NEAR:
        yield np.concatenate([_between(query, ends, third, share * (1.0 + part)) for part in (-UNEVEN, UNEVEN)])


def _is_end(query: Loss, corners: Cells) -> NDArray[np.bool_]:
    """Which rows have all numbers at their lower ends, or all at their upper ones."""
    at = [query.columns.index(axis.column) for axis in query.features.numbers]
    upper = corners[:, at] > corners[:, at].min(axis=0)
    return np.asarray(upper.all(axis=1) | ~upper.any(axis=1))


def _between(query: Loss, cells: Cells, start: Sequence[float], share: float) -> Cells:
    """The same rows with their numbers this share of the way from `start`."""
    found = cells.copy()
    for axis, origin in zip(query.features.numbers, start, strict=True):
        at = query.columns.index(axis.column)
        values = np.where(cells[:, at] > axis.low, axis.upper, axis.lower)
        found[:, at] = axis.of_values(origin + share * (values - origin))
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
