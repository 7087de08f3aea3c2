"""A table in PostgreSQL and in memory: the same bits of every statistic, and another table's are others.

`make test` has a few thousand rows; `make audit` has five million, in Parquet and in the database.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import l1_distance
from postgres_tables import PLACE, stored
from test_influences_agree import asked_of
from test_score_sums import MECHANISM

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from postgres_server import Server
from second_stages import coded, schema_of
from second_stages import table as skewed

COLUMNS: dict[str, Any] = {
    "ward": dc.Categorical(["A", "B", "1", "ü 'x'"], other="B", missing="exclude"),
    "smoker": dc.Binary(missing="exclude"),
    "grade": dc.Categorical([1, 2, "3.5"], missing=2),
    "age": dc.Bounded(-3, 110.5, missing="exclude"),
    "income": dc.Bounded(0, 1e9, grid=500.0),
    "bmi": dc.Bounded(0, 60),
    "visits": dc.Count(20),
}
TYPES = {
    "ward": "text",
    "smoker": "boolean",
    "grade": "real",
    "age": "double precision",
    "income": "double precision",
    "bmi": "numeric",
    "visits": "integer",
    "who": "text",
    "number": "bigint",
    "exact": "numeric",
    "float": "double precision",
}
PEOPLE = ["7", "07", "ann", "Ann", "", "Ünï ☃", "a,b", "nan", "x" * 64, "x" * 65, "y" * 5000, "\ufffd", "'; --", None]
HOSTILE: dict[str, list[Any]] = {
    "ward": ["A", "B", "1", "1.0", " 1e0 ", "ü 'x'", "Ü 'X'", "", "?", "z" * 3000, None],
    "smoker": [True, False, None],
    "grade": [1.0, 2.0, 3.5, -0.0, float("nan"), float("inf"), 9.0, None],
    "age": [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, 40.25, None],
    "income": [float("nan"), -0.0, 5e-324, -5e-324, 1e-300, 250.0, 750.0, 1e9, 1e300, None],
    "bmi": [Decimal(d) for d in ("NaN", "Infinity", "-1e400", "1e-400", "22.50", "0.1", "59.99999999999999999999")],
    "visits": [-3, 0, 7, 20, 21, 2**31 - 1, None],
    "who": PEOPLE,
    "number": [1, -1, 2**53 + 1, 2**53, None],
    "exact": [Decimal(d) for d in ("17", "17.0", "17.00", "0.5", "-0.50", "1e20", "NaN", "Infinity")] + [None],
    "float": [17.0, 0.5, 1e15 + 0.125, 2.0**53, 2.0**53 - 1, 2.0**53 - 3, -0.0, 1e-7, float("nan"), None],
}


def table(rows: int, seed: int = 1) -> dict[str, list[Any]]:
    """Ordinary cells, and in a third of the rows some that are not; every hostile cell is in every column."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Any]] = {
        "ward": rng.choice(["A", "B", "1"], rows).tolist(),
        "smoker": (rng.random(rows) < 0.3).tolist(),
        "grade": rng.choice([1.0, 2.0, 3.5], rows).tolist(),
        "age": rng.normal(50, 20, rows).tolist(),
        "income": rng.gamma(2.0, 2e4, rows).tolist(),
        "bmi": [Decimal(repr(round(x, 3))) for x in rng.normal(25, 5, rows).tolist()],
        "visits": rng.integers(0, 12, rows).tolist(),
        "who": [f"p{i}" for i in rng.integers(0, rows // 3, rows)],
        "number": rng.integers(0, rows // 3, rows).tolist(),
        "exact": [Decimal(i) / 4 for i in rng.integers(0, rows // 3, rows).tolist()],
        "float": (rng.integers(0, rows // 3, rows) / 8).tolist(),
    }
    for name, cells in HOSTILE.items():
        for i in rng.choice(rows, rows // 4, replace=False).tolist():
            found[name][i] = cells[i % len(cells)]
    return found


def in_memory(cells: dict[str, list[Any]]) -> pa.Table:
    """The same table; numbers are the nearest doubles, and identifiers that are no number are nobody's."""
    finite = [
        None if cell is None or not cell.is_finite() else cell.quantize(Decimal("0.01")) for cell in cells["exact"]
    ]
    kinds = {"grade": pa.float32(), "visits": pa.int64(), "number": pa.int64()}
    columns = cells | {"bmi": [float(cell) for cell in cells["bmi"]], "exact": finite}
    return pa.table({name: pa.array(column, kinds.get(name)) for name, column in columns.items()})


UNITS: dict[str, Any] = {
    "records": dc.Record(),
    "texts, one row": dc.Person("who", 1),
    "texts, three rows": dc.Person("who", 3),
    "whole numbers": dc.Person("number", 2),
    "decimals": dc.Person("exact", 2),
    "floats": dc.Person("float", 2),
}


def query_of(schema: dc.Schema) -> Statistics:
    """Counts, sums, products, groups: in a scan of all columns, and sums that outgrow doubles and 64 bits."""
    return Statistics(
        schema,
        (
            Counts.over(schema, "ward by smoker", "ward", "smoker"),
            Counts.over(schema, "grade", "grade"),
            Counts("used", (), ()),
            Sum.of(schema, "age", "age"),
            Sum.of(schema, "income", "income"),
            Sum.of(schema, "bmi by age", "bmi", "age"),
            Sum.of(schema, "squared income", "income", "income", bits=31),
            Sum.of(schema, "visits in wards", "visits", within="ward"),
            Sum.of(schema, "bmi of smokers", "bmi", "bmi", within="smoker").grouped("grade", ("1", "2", "3.5")),
        ),
    )


@pytest.fixture(scope="module")
def cells() -> dict[str, list[Any]]:
    return table(3000)


@pytest.fixture(scope="module")
def url(postgres: Server, cells: dict[str, list[Any]]) -> Any:
    with stored(postgres, TYPES, zip(*cells.values(), strict=True)) as address:
        yield address


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return {name: array.tolist() for name, array in one.items()} == {name: a.tolist() for name, a in other.items()}


@pytest.mark.parametrize("unit", UNITS)
def test_statistics_are_bit_identical(url: str, cells: dict[str, list[Any]], unit: str) -> None:
    schema = dc.Schema(COLUMNS, unit=UNITS[unit])
    there, here = dc.open(url, schema, table=PLACE, id="t"), dc.open(in_memory(cells), schema, id="t")
    assert there.schema.n == here.schema.n
    query = query_of(here.schema)
    found, expected = there.source.statistics(query), here.source.statistics(query)
    assert int(expected["used"]) > 500
    assert same(found, expected)
    assert [found[name].dtype for name in query.names] == [expected[name].dtype for name in query.names]


def test_scans_of_few_columns_and_a_wrong_bound_on_rows_change_nothing(
    url: str, cells: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = dc.Schema(COLUMNS, relation="add-remove", n_max=3000)
    query = query_of(schema)
    expected = dc.open(in_memory(cells), schema, id="t").source.statistics(query)
    source = dc.open(url, schema, table=PLACE).source
    small = query_of(replace(schema, n_max=10))
    assert same(source.statistics(small), expected)
    monkeypatch.setattr("discreet.sources.sql.statements.LARGEST_JOINT_TABLE", 0)
    assert same(source.statistics(query), expected)


def test_a_table_without_rows_has_zeros_everywhere(postgres: Server) -> None:
    for unit in (dc.Record(), dc.Person("who", 2)):
        schema = dc.Schema(COLUMNS, unit=unit)
        with stored(postgres, TYPES, []) as empty:
            data = dc.open(empty, schema, table=PLACE)
            assert data.schema.n == 0
            assert not any(array.any() for array in data.source.statistics(query_of(data.schema)).values())


CHANGES: dict[str, Callable[[Any], Any]] = {
    "ward": lambda cell: "A" if cell != "A" else "ü 'x'",
    "smoker": lambda cell: not cell,
    "grade": lambda cell: 1.0 if cell != 1.0 else 3.5,
    "age": lambda cell: 3.0,
    "income": lambda cell: 123456.0,
    "bmi": lambda cell: Decimal(59),
    "visits": lambda cell: 13,
}


def test_a_twin_with_one_changed_cell_differs_by_no_more_than_a_unit_may(
    postgres: Server, url: str, cells: dict[str, list[Any]]
) -> None:
    """Planted in every column, in the first row without a bad cell."""
    schema = dc.Schema(COLUMNS)
    data = dc.open(url, schema, table=PLACE, id="t")
    query = query_of(data.schema)
    reference = data.source.statistics(query)
    plain = next(
        i
        for i in range(3000)
        if not any(cells[name][i] in HOSTILE[name] for name in ("age", "income", "bmi"))
        and cells["smoker"][i] is not None
        and cells["ward"][i] in ("A", "B")
    )
    for name, change in CHANGES.items():
        twin = {**cells, name: [change(c) if i == plain else c for i, c in enumerate(cells[name])]}
        with stored(postgres, TYPES, zip(*twin.values(), strict=True)) as other:
            found = dc.open(other, schema, table=PLACE, id="t").source.statistics(query)
        assert 0 < l1_distance(query, found, reference) <= query.l1, name


@pytest.mark.parametrize(("model", "by"), [("Normal", "site"), ("LinearRegression with categories", None)])
@pytest.mark.parametrize("unit", ["record", "person", "person with many"])
def test_the_second_stage_is_bit_identical(postgres: Server, model: str, by: str | None, unit: str) -> None:
    frame = skewed(400, np.random.default_rng(7))
    schema = schema_of("replace-one", unit, 400 if unit == "record" else len(set(frame["id"])))
    memory = coded(frame, schema, ("x", "z", "y", "ward", "sex", "site"))
    query_columns = asked_of(model, schema, memory, by, 30.0).columns
    memory = coded(frame, schema, query_columns)
    asked = asked_of(model, schema, memory, by, 30.0)
    types = dict(zip(frame.columns, ["float8", "float8", "float8", "text", "text", "text", "text"], strict=True))
    with stored(postgres, types, frame.itertuples(index=False)) as address:
        found = dc.open(address, schema, table=PLACE, id="t").source.influences(asked)
    assert found.tolist() == memory.influences(asked).tolist()
    assert int(np.sum(found)) > 0


@pytest.mark.parametrize("unit", ["records", "texts, three rows"])
def test_noisy_scores_and_designs_are_those_of_the_same_rows(
    url: str, cells: dict[str, list[Any]], unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from test_score_sums import answers

    schema = dc.Schema(COLUMNS, unit=UNITS[unit])
    there, here = dc.open(url, schema, table=PLACE, id="t"), dc.open(in_memory(cells), schema, id="t")
    for model in (
        dc.LogisticRegression("smoker", ("age", "ward", "bmi")),
        dc.PoissonRegression("visits", ("grade", "income"), ball=0.5),
    ):
        query = model.query(here.schema)
        law = MECHANISM.constants(query)
        expected = answers(here.source, query, law)
        assert answers(there.source, query, law) == expected
        monkeypatch.setattr("discreet.sources.engines.postgres.ROWS_AT_ONCE", 7)
        assert answers(there.source, query, law) == expected
        with there.source.design(query) as found, here.source.design(query) as design:
            for name in ("numbers", "codes", "targets", "weights"):
                flat = [
                    np.moveaxis(getattr(d, name), -1, 0 if getattr(d, name).ndim < 3 else -1) for d in (found, design)
                ]
                assert np.array_equal(np.sort(flat[0], axis=None), np.sort(flat[1], axis=None)), name


ROWS, ONCE = 5_000_000, 20_000
LATER_PEOPLE = 1_000_000  # whole numbers of a repetition are this far from those of the one before


def repeated(times: int, cells: dict[str, list[Any]], path: Path) -> None:
    """The same rows again and again in a Parquet file; identifiers that are whole numbers are others every time."""
    once = in_memory({**cells, "number": [None] * ONCE})
    number = np.array([-1 if cell is None else cell for cell in cells["number"]])
    missing = np.array([cell is None for cell in cells["number"]])
    place = once.column_names.index("number")
    with pq.ParquetWriter(path, once.schema) as writer:
        for i in range(times):
            now = pa.array(number + i * LATER_PEOPLE, pa.int64(), mask=missing)
            writer.write_table(once.set_column(place, "number", now))


@pytest.mark.audit
def test_five_million_rows_have_the_same_bits(postgres: Server, tmp_path: Path) -> None:
    """As records and as persons of three types, who have hundreds of rows or a few; and a changed cell is found."""
    cells, times, path = table(ONCE, seed=5), ROWS // ONCE, tmp_path / "rows.parquet"
    repeated(times, cells, path)
    names = ", ".join(f"number + i * {LATER_PEOPLE}" if name == "number" else name for name in TYPES)
    more = f"INSERT INTO {PLACE} SELECT {names} FROM {PLACE}, generate_series(1, {times - 1}) AS i"
    with stored(postgres, TYPES, zip(*cells.values(), strict=True)) as url:
        with psycopg.connect(url) as connection:
            connection.execute(more.encode())
        for unit in ("records", "texts, three rows", "whole numbers", "decimals"):
            schema = dc.Schema(COLUMNS, unit=UNITS[unit])
            there, here = dc.open(url, schema, table=PLACE, id="t"), dc.open(path, schema, id="t")
            assert there.schema.n == here.schema.n
            query = query_of(here.schema)
            found = there.source.statistics(query)
            assert same(found, here.source.statistics(query)), unit
        schema = dc.Schema(COLUMNS)
        data = dc.open(url, schema, table=PLACE, id="t")
        query = query_of(data.schema)
        found = data.source.statistics(query)
        with psycopg.connect(url) as connection:
            connection.execute(
                f"UPDATE {PLACE} SET visits = 13 WHERE ctid = (SELECT ctid FROM {PLACE} "
                "WHERE visits = 2 AND ward = 'A' AND smoker AND age BETWEEN 40 AND 60 LIMIT 1)".encode()
            )
        assert 0 < l1_distance(query, data.source.statistics(query), found) <= query.l1
