"""The whole vector that every single record adds to a stage, from the kernels that ship: each record is a chunk of its own."""

from typing import Any, NamedTuple

import numpy as np

import discreet as dc
from discreet.queries.scores.score_law import REACH, ScoreLaw
from discreet.queries.scores.score_units import FEATURE, MOMENT, SHIFT, whole_coefficients, whole_map
from discreet.sources import CodedRows
from discreet.sources.scores.kernels.score_sums import ScoreRows, allowances, mapped, slope_sums, total_sums
from discreet.sources.scores.score_sources import BELOW, _bands

Vectors = np.ndarray[Any, Any]


class Asked(NamedTuple):
    """A query with its law, and the candidates: records as chunks of one."""

    query: Any
    law: ScoreLaw
    rows: ScoreRows
    cells: dict[str, Any]


def schema_of(numbers: int, levels: tuple[int, ...], **options: Any) -> dc.Schema:
    """Bounded features, categories and a yes/no target."""
    columns: dict[str, Any] = {f"x{j}": dc.Bounded(-1, 1) for j in range(numbers)}
    columns |= {f"g{j}": dc.Categorical([str(i) for i in range(size)]) for j, size in enumerate(levels)}
    return dc.Schema({**columns, "y": dc.Binary()}, **({"n": 1000} | options))


def asked(schema: dc.Schema, mechanism: dc.NoisyScore, rng: np.random.Generator, many: int, **options: Any) -> Asked:
    """Corner records and random ones."""
    model = dc.LogisticRegression("y", tuple(name for name in schema.columns if name not in ("y", "id")), **options)
    query = model.query(schema)
    law = mechanism.constants(query)
    cells = {}
    for axis in query.features.numbers:
        values = rng.choice([-1.0, 1.0], size=many) * np.where(rng.random(many) < 0.5, 1.0, rng.random(many))
        cells[axis.column] = axis.of_values(values)
    for name, levels in zip(query.features.categories, query.features.levels, strict=True):
        cells[name] = rng.integers(len(levels), size=many)
    cells["y"] = rng.integers(2, size=many)
    with CodedRows(cells).scores(query, law) as found:
        rows = found.rows
    total = rows.targets.size
    both = (rows.numbers, rows.codes)
    singles = [np.moveaxis(array, 1, 2).reshape(total, array.shape[1], 1)[:many].copy() for array in both]
    flat = [array.reshape(array.size, 1)[:many] for array in (rows.entries, rows.targets, rows.used)]
    return Asked(query, law, ScoreRows(singles[0], singles[1], *flat), cells)


def of_totals(asked: Asked) -> tuple[Vectors, Vectors]:
    """(count or levels and sums) of each record, and its squared length before it is rounded."""
    law, many = asked.law, len(asked.rows.targets)
    parts = np.array([total_sums(asked.rows, law.features + 1, i, i + 1) for i in range(many)])
    first = 1 + law.numbers
    return np.column_stack([parts[:, :1], parts[:, first:-1], parts[:, 1:first]]), parts[:, -1]


def of_moments(asked: Asked, public: Vectors) -> Vectors:
    """Kappa of each record."""
    whole = whole_map(public)
    found = np.zeros((len(whole), len(asked.rows.targets)))
    bands = _bands(whole, asked.law, asked.rows)
    mapped(whole, bands, float(REACH), MOMENT, asked.rows, 0, found.shape[1], found)
    return found.T.astype(np.int64)


def of_scores(asked: Asked, public: Vectors, point: Vectors) -> Vectors:
    """W times the slope and features of each record, in steps of 2^-50."""
    law, whole, many = asked.law, whole_map(public), len(asked.rows.targets)
    half = 0.5 * np.sqrt(law.directions + 1.0) * BELOW * (2.0 if law.by_label else 1.0)
    allowed = np.zeros((many, 1))
    allowances(whole, _bands(whole, law, asked.rows), half, asked.rows, allowed, 0, many)
    z = whole_coefficients(whole, point)
    sums = np.array([slope_sums(law.branch, law.by_label, z, asked.rows, allowed, i, i + 1) for i in range(many)])
    return np.asarray(sums.astype(np.int64).astype(object) @ whole.astype(np.int64).astype(object).T)


def rounded(fine: Vectors) -> Vectors:
    """As sums are released."""
    return np.asarray((fine + (1 << (SHIFT - 1))) >> SHIFT)


def rounded_squares(sums: Vectors) -> Vectors:
    """As squared lengths are released."""
    return np.asarray((sums + int(FEATURE) // 2) // int(FEATURE))


def pairs(many: int, count: int, rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """So many pairs of records."""
    return rng.integers(many, size=count), rng.integers(many, size=count)
