"""What a Parquet file notes about its cells, the least, the greatest and how many are NULL, decides nothing about a cell.

NaN is in no such note. An engine that concludes from a note that no cell is NaN reads it as whatever is left over, and
one changed cell in another row then changes what every NaN counts as: a step without a bound.
"""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import l1_distance, plain

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.sources.engines import duckdb as engine

NAN, INF = float("nan"), float("inf")
CELLS = [NAN, NAN, NAN, 0.0, -0.0, 5e-324, 1.0, 2.5, 9.0, 10.0, 10.5, 1e300, -7.0, -1e300, INF, -INF, None]
COLUMNS: dict[str, Any] = {
    "bounded": dc.Bounded(0, 10, missing=4),
    "complete": dc.Bounded(0, 10),
    "left out": dc.Bounded(0, 10, missing="exclude"),
    "count": dc.Count(9, missing=2),
    "graded": dc.Categorical(["1", "2.5", "nan", "9"], missing="2.5"),
    "other": dc.Categorical([1, 9], missing="exclude", other=9),
}


def query_of(schema: dc.Schema) -> Statistics:
    numbers = [name for name in schema.columns if not schema.column(name).levels]
    levels = [name for name in schema.columns if schema.column(name).levels]
    asked = [Sum.of(schema, name, name) for name in numbers] + [Counts.over(schema, name, name) for name in levels]
    return Statistics(schema, tuple(asked))


def answers(source: Any, columns: dict[str, Any], unit: Any) -> Any:
    data = dc.open(source, dc.Schema(columns, unit=unit), id="t")
    return data.schema.n, plain(data.source.statistics(query_of(data.schema)))


def differing(path: Path, tables: int) -> set[str]:
    """Units whose statistics depend on whether rows are in memory or in a file with notes."""
    draw, found = random.Random(3), set()
    units = {"records": dc.Record(), "floats": dc.Person("who", 2)}
    for _ in range(tables):
        size = draw.randint(1, 12)
        some = draw.sample(CELLS, draw.randint(1, 5))
        kind = draw.choice([pa.float64(), pa.float64(), pa.float32()])
        cells = {
            name: pa.array([c if c is None or kind == pa.float64() else max(min(c, 1e30), -1e30) if c == c else c
                            for c in draw.choices(some, k=size)], kind, from_pandas=False)
            for name in (*COLUMNS, "who")
        }  # fmt: skip
        table = pa.table(cells)
        pq.write_table(table, path, row_group_size=draw.randint(1, size))
        columns = {name: COLUMNS[name] for name in draw.sample(list(COLUMNS), draw.randint(1, 3))}
        for name, unit in units.items():
            if answers(path, columns, unit) != answers(table, columns, unit):
                found.add(name)
    return found


def test_cells_mean_the_same_beside_any_others(tmp_path: Path) -> None:
    assert differing(tmp_path / "t.parquet", 12) == set()


def test_notes_that_decide_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted engine believes them."""
    monkeypatch.setattr(engine, "OPTIMIZERS_NOT_USED", {"top_n_window_elimination"})
    assert "records" in differing(tmp_path / "t.parquet", 8)


def test_one_changed_cell_moves_one_row(tmp_path: Path) -> None:
    """A cell above the upper bound, beside a hundred that are NaN."""
    schema, found = dc.Schema({"x": dc.Bounded(0, 10)}), []
    for last in (9.0, 11.0):
        pq.write_table(pa.table({"x": pa.array([NAN] * 100 + [5.0, last], from_pandas=False)}), tmp_path / "t.parquet")
        data = dc.open(tmp_path / "t.parquet", schema, id="t")
        query = query_of(data.schema)
        found.append(data.source.statistics(query))
    assert 0 < l1_distance(query, *found) <= query.l1
