"""Attacks on draws of a Gibbs posterior: tables of equal corner rows, one unit replaced, a test of coefficients.

Chains on two neighbouring tables drift apart by what the gradients of the two units add along the way, shrunk by every
step since. The pair is the one whose sum of differences is longest; the test statistic is the projection on it, which
is the log-likelihood ratio where the potential is quadratic, and rises with it where there is one coefficient.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Mechanism
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch, Loss
from discreet.schema import LabelOnly, Person
from discreet.sources import CodedRows, Dataset
from discreet.sources.dataset import Design

__all__ = ["LossPair", "corner_rows", "dense_rows", "furthest_pair", "may_replace"]

Cells = NDArray[np.int64]

MOST_CORNERS = 64
LONGEST_PATH = 500  # gradients of longer ago are forgotten


@dataclass(frozen=True)
class LossPair:
    """Two tables that differ in one unit, and what is added up of the difference of their gradients."""

    query: Loss
    dataset: Dataset
    neighbour: Dataset
    move: Array


def furthest_pair(mechanism: Mechanism, query: Loss) -> LossPair:
    """The corner rows, old, new and of all others, that move a noiseless chain furthest."""
    corners = corner_rows(query)
    with CodedRows(dict(zip(query.columns, corners.T, strict=True))).design(query) as design:
        z, targets = dense_rows(query, design, len(corners))
    is_pair = may_replace(query, corners)
    best, chosen, move = -1.0, (0, 0, 0), np.zeros(query.features.size)
    for others in range(len(corners)):
        sums = _sums(mechanism, query, z, targets, others)
        apart = np.linalg.norm(sums[:, None] - sums[None], axis=2) * is_pair
        old, new = divmod(int(np.argmax(apart)), len(corners))
        if apart[old, new] > best:
            best, chosen, move = float(apart[old, new]), (others, old, new), sums[old] - sums[new]
    rest, before, after = corners[list(chosen)]
    return LossPair(query, _table(query, rest, before), _table(query, rest, after), move)


def dense_rows(query: Loss, design: Design, n: int) -> tuple[Array, Array]:
    """The first n rows of a design as vectors of features, and their targets."""
    features = query.features
    start, z = int(features.intercept), np.zeros((n, features.size))
    z[:, start : start + len(features.numbers)] = np.moveaxis(design.numbers, 1, 2).reshape(-1, len(features.numbers))[
        :n
    ]
    for codes in np.moveaxis(design.codes, 1, 0):
        z[np.arange(n), codes.ravel()[:n]] = 1.0
    if design.shrink.size > 0:
        z *= design.shrink.reshape(-1, 1)[:n]
    if start:
        z[:, 0] = 1.0
    return z, design.targets.ravel()[:n]


def corner_rows(query: Loss) -> Cells:
    """Rows whose cells are ends of their axes, or levels; random ones of them where there are many."""
    axes = {axis.column: axis for axis in query.features.numbers}
    if query.target is not None and query.target.axis is not None:
        axes[query.target.column] = query.target.axis
    levels = dict(zip(query.features.categories, query.features.levels, strict=True))
    cells = [
        (axes[name].low, int(axes[name].of_values(np.array(axes[name].upper))))
        if name in axes
        else tuple(range(len(levels.get(name, ("0", "1")))))
        for name in query.columns
    ]
    if math.prod(map(len, cells)) <= MOST_CORNERS:
        return np.array(list(itertools.product(*cells)), dtype=np.int64)
    rng = np.random.default_rng(0)
    rows = np.stack([rng.choice(choices, size=MOST_CORNERS) for choices in cells], axis=1)
    opposite = rows[: MOST_CORNERS // 2].copy()  # the same features with the other target are often the furthest
    if query.target is not None:
        at = query.columns.index(query.target.column)
        opposite[:, at] = np.sum(cells[at]) - opposite[:, at]
    return np.concatenate([rows[: MOST_CORNERS // 2], opposite])


def may_replace(query: Loss, corners: Cells) -> NDArray[np.bool_]:
    """Which may take the place of which: any of any, or those with the same features where labels are units."""
    unit = query.schema.unit
    columns = [i for i, name in enumerate(query.columns) if isinstance(unit, LabelOnly) and name != unit.column]
    return np.asarray((corners[:, None, columns] == corners[None][:, :, columns]).all(axis=2))


def _sums(mechanism: Mechanism, query: Loss, z: Array, targets: Array, others: int) -> Array:
    """For each row, its gradients along the noiseless chain of a table of `others`, shrunk by the steps since."""
    if query.normal:  # w - z, whatever the w
        return -z
    law, w = mechanism.law(query), np.zeros(query.features.size)
    sums, loss = np.zeros_like(z), query.branch
    exact = law.steps == 0
    step = 1.0 / law.smoothness if exact else law.step  # without a curvature there are no steps: gradients at 0
    for _ in range(min(law.steps, LONGEST_PATH) if not exact else LONGEST_PATH if step > 0 else 1):
        gradients = _gradients(loss, z, targets, w)
        sums = (1.0 - step * law.precision) * sums + gradients
        w = w - step * (law.beta * query.largest_total * gradients[others] + law.precision * w)
        w = w * min(1.0, query.ball / max(float(np.linalg.norm(w)), 1e-300))
    return sums


def _gradients(loss: Branch, z: Array, targets: Array, w: Array) -> Array:
    from discreet.mechanisms.gibbs_posterior.kernels.margins import slopes

    margins = z @ w
    slopes(*loss, margins, targets, np.ones(len(z)))
    return np.asarray(margins[:, None] * z)


def _table(query: Loss, others: Cells, row: Cells) -> Dataset:
    """All units have `others`, the last one has `row`; a person has as many rows as are used."""
    owned = query.schema.unit.max_records
    units = query.largest_total // owned
    cells = np.repeat(np.vstack([np.tile(others, (units - 1, 1)), row]), owned, axis=0)
    persons = np.repeat(np.arange(units), owned) if isinstance(query.schema.unit, Person) else None
    return Dataset("audit", query.schema, CodedRows(dict(zip(query.columns, cells.T, strict=True)), persons))
