"""Releases of tables as they are expected to be: what a plan is made of where somebody knows something of the table.

    a column of numbers    (mean, deviation): normal cells, clamped to the bounds
    a column of levels     the share of every level in order; of two levels, that of the second alone

Columns are independent of each other, all cells are good, and there are as many rows as the schema allows. An
expectation is public, decides a plan and nothing else: it is no prior, and a release does not know of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.checks import meant
from discreet.errors import QueryError
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.pipeline import query_of, simulate
from discreet.planning.simulated_runs import Runs, affordable_runs, measured_as_expected
from discreet.schema import Column, Person, Schema
from discreet.sources import Dataset
from discreet.sources.open import open_dataset

__all__ = ["Expectation", "expected_runs"]

ID = "expected"
FEWEST, MOST_CELLS = 3, 4 * 10**7  # tables, and cells of all of them together
ENOUGH = 1e-6  # shares add to 1 within this

Expectation = Mapping[str, float | Sequence[float]]


@dataclass(frozen=True)
class _Cells:
    """How the cells of one column are drawn."""

    column: Column
    figures: tuple[float, ...]

    def drawn(self, size: int, rng: np.random.Generator) -> Any:
        """Texts of levels, or numbers."""
        if self.column.holds == "levels":
            texts = np.array(self.column.spellings[: len(self.figures)], dtype=object)
            return texts[rng.choice(len(texts), size=size, p=self.figures)].tolist()
        mean, deviation = self.figures
        return np.clip(rng.normal(mean, deviation, size), self.column.lower, self.column.upper)


def expected_runs(model: Model, mechanism: Mechanism, schema: Schema, expect: Any, runs: int) -> Runs:
    """Releases of so many tables that are as expected."""
    query = query_of(model, mechanism, schema)
    names = tuple(mechanism.reported(query, dict(model.estimands(model.simulate(query.schema, 1, _rng(0))[0]))))
    cells = _cells(schema, query.columns, expect)
    afforded = MOST_CELLS // max(query.largest_total * len(cells), 1)
    count = min(affordable_runs(model, mechanism, query, runs), max(afforded, FEWEST))

    def released(run: int) -> Any:
        table = _table(schema, query, cells, _rng(run))
        return simulate(model, table, mechanism, runs=1, seed=run)[0]

    return measured_as_expected(names, query.groups, map(released, range(count)))


def _rng(run: int) -> np.random.Generator:
    return np.random.default_rng([3, run])


def _table(schema: Schema, query: Any, cells: Mapping[str, _Cells], rng: np.random.Generator) -> Dataset:
    """One table, read like any other: what its declarations do to a cell is done to these."""
    import pyarrow as pa

    rows = query.largest_total
    columns = {name: one.drawn(rows, rng) for name, one in cells.items()}
    if isinstance(schema.unit, Person):
        columns[schema.unit.column] = np.arange(rows) % max(rows // schema.unit.max_records, 1)
    return open_dataset(pa.table(columns), schema.only(tuple(cells)), id=ID)


def _cells(schema: Schema, names: Sequence[str], expect: Any) -> dict[str, _Cells]:
    """What is expected of every column that is used, checked."""
    if not isinstance(expect, Mapping):
        raise QueryError(f"Plan.expect must name columns and what is expected of them, got a {type(expect).__name__}")
    for name in expect:
        if name not in schema.columns:
            raise QueryError(f"Plan.expect must name declared columns, got {name!r}{meant(name, schema.columns)}")
    missing = [name for name in names if name not in expect]
    if missing:
        raise QueryError(
            "Plan.expect must say something of every column that is used, (mean, deviation) of numbers and shares of "
            f"levels, got nothing of {', '.join(map(repr, missing))}"
        )
    return {name: _Cells(schema.columns[name], _figures(name, schema.columns[name], expect[name])) for name in names}


def _figures(name: str, column: Any, said: Any) -> tuple[float, ...]:
    """Mean and deviation, or shares that add to 1."""
    try:
        figures = (
            tuple(map(float, said))
            if isinstance(said, Sequence | np.ndarray) and not isinstance(said, str)
            else (float(said),)
        )
    except (TypeError, ValueError):
        figures = ()
    if column.holds == "levels":
        size = len(column.levels)
        figures = (1.0 - figures[0], figures[0]) if size == 2 and len(figures) == 1 else figures
        if len(figures) != size or min(figures) < 0.0 or abs(sum(figures) - 1.0) > ENOUGH:
            what = f"the shares of {size} levels, which add to 1" + (", or that of the second" if size == 2 else "")
            raise QueryError(f"Plan.expect of {name!r} must be {what}, got {said!r}")
        return tuple(share / sum(figures) for share in figures)
    if len(figures) != 2 or not np.all(np.isfinite(figures)) or figures[1] <= 0.0:
        raise QueryError(f"Plan.expect of {name!r} must be a mean and a deviation above 0, got {said!r}")
    if not column.lower <= figures[0] <= column.upper:
        raise QueryError(
            f"Plan.expect of {name!r} must have its mean within the bounds, {column.lower:g} to {column.upper:g}, got "
            f"{said!r}"
        )
    return figures
