"""A grid step by one function of the server is the step of every other source, beside every point where one begins."""

from math import inf, nan, nextafter
from typing import Any

import numpy as np
import psycopg
import pytest
from postgres_tables import PLACE, stored

import discreet as dc
from discreet.queries.counts_and_sums import Sum
from discreet.queries.statistics import Statistics
from discreet.schema.cell import clipped_steps
from discreet.sources.sql import postgres_sql
from discreet.sources.sql.cell_sql import on_grid
from discreet.sources.sql.postgres_sql import text_of
from postgres_server import Server

COLUMNS = {
    "quarters": dc.Bounded(0, 100, grid=0.25),
    "age": dc.Bounded(0, 110),
    "years": dc.Bounded(1900.3, 2030.7, grid=0.5, missing=1950),
    "visits": dc.Count(300, missing="exclude"),
    "tiny": dc.Bounded(0, 2**-40, grid=2**-45),
    "coarse": dc.Bounded(3, 10**7, grid=2**12),
    "just below": dc.Bounded(-0.5, 7, grid=1.0),
    "just below a half": dc.Bounded(nextafter(0.5, 0.0), 9, grid=1.0),
}
SLOWLY = {"below 0": dc.Bounded(-8, 8, grid=0.5), "tenths": dc.Bounded(0, 5, grid=0.1)}


def cells(column: Any, rng: np.random.Generator) -> list[float | None]:
    """Cells beside points where steps begin, the bounds, what is no number, and anything between."""
    low, high = (
        int(clipped_steps(bound, column.lower, column.upper, column.step)) for bound in (column.lower, column.upper)
    )
    steps = {low, low + 1, low + 2, high - 1, high, *(int(k) for k in rng.integers(low, high, 60, endpoint=True))}
    points = [(k + half) * column.step for k in steps for half in (-0.5, 0.0, 0.5)]
    points += [float(column.lower), float(column.upper), 0.0, -0.0]
    beside = [nextafter(point, end) for point in points for end in (-inf, inf)]
    drawn = rng.uniform(column.lower - 1, column.upper + 1, 60).tolist()
    return [*points, *beside, *drawn, inf, -inf, nan, 5e-324, -5e-324, 1e300, -1e300, None]


def meant(column: Any, cell: float | None) -> int | None:
    value = column.default_value if cell is None or cell != cell else cell
    return None if value is None else int(clipped_steps(value, column.lower, column.upper, column.step))


def wrong_steps(server: Server, columns: dict[str, Any]) -> list[Any]:
    """Cells whose step is another than the one of plain doubles, or comes of another expression than is asked for."""
    from sqlglot import exp

    found = []
    with psycopg.connect(server.url()) as connection:
        for name, column in columns.items():
            asked = cells(column, np.random.default_rng(len(name)))
            written = text_of(on_grid(exp.column("x"), column))
            rows = connection.execute(
                f"SELECT {written} FROM unnest(%s::float8[]) AS t(x)".encode(), [asked]
            ).fetchall()
            steps = [None if step is None else int(step) for (step,) in rows]
            found += [
                (name, cell, step) for cell, step in zip(asked, steps, strict=True) if step != meant(column, cell)
            ]
    return found


def test_steps_of_buckets_are_those_of_doubles(postgres: Server) -> None:
    from sqlglot import exp

    assert [name for name, c in COLUMNS.items() if "WIDTH_BUCKET" not in text_of(on_grid(exp.column("x"), c))] == []
    assert wrong_steps(postgres, COLUMNS) == []


def test_bounds_below_0_and_grids_that_are_no_power_of_two_are_rounded_step_by_step(postgres: Server) -> None:
    from sqlglot import exp

    assert [name for name, c in SLOWLY.items() if "WIDTH_BUCKET" in text_of(on_grid(exp.column("x"), c))] == []
    assert wrong_steps(postgres, SLOWLY) == []


def test_the_number_just_below_a_half_is_seen(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a first step that begins at 1/2, as it would without doubles."""
    monkeypatch.setattr(postgres_sql, "nextafter", lambda value, towards: value)
    wrong = wrong_steps(postgres, {"visits": COLUMNS["visits"]})
    assert {(cell, step) for _, cell, step in wrong} == {(nextafter(0.5, 0.0), 0)}


def test_sums_of_buckets_are_those_of_the_same_rows_in_memory(postgres: Server) -> None:
    """With and without groups: sums of steps, and centres that are taken off all rows at once."""
    columns = {"x": COLUMNS["years"], "y": COLUMNS["visits"], "z": SLOWLY["below 0"], "w": dc.Categorical(["a", "b"])}
    rng = np.random.default_rng(3)
    drawn = {name: cells(columns[name], rng)[:200] for name in "xyz"}
    rows = [(*row, "ab"[i % 2]) for i, row in enumerate(zip(*drawn.values(), strict=True))]
    schema = dc.Schema(columns)

    def sums(source: Any, **where: Any) -> dict[str, list[int]]:
        data = dc.open(source, schema, id="t", **where)
        by = [Sum.of(data.schema, f"{name} by w", name, within="w") for name in "xyz"]
        query = Statistics(data.schema, (*(Sum.of(data.schema, name, name) for name in "xyz"), *by))
        return {name: np.ravel(found).tolist() for name, found in data.source.statistics(query).items()}

    import polars as pl

    frame = pl.DataFrame(rows, schema={**dict.fromkeys("xyz", pl.Float64), "w": pl.String}, orient="row")
    kinds = {**dict.fromkeys("xyz", "float8"), "w": "text"}
    with stored(postgres, kinds, rows) as url:
        assert sums(url, table=PLACE) == sums(frame)
