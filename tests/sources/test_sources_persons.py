"""Of each person at most k rows, the same ones on every engine, whoever else is in the table."""

import csv
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import (
    EXCLUDING,
    PEOPLE,
    SCHEMA,
    coded_cells,
    expected,
    first_rows,
    of_persons,
    plain,
    query_of,
    table_of,
)

from discreet.errors import QueryError, SchemaError
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Count, Person, Record, Schema
from discreet.schema.cell import LONGEST_IDENTIFIER
from discreet.sources.coded import NO_NUMBER, CodedRows
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset
from discreet.sources.sql import statements as sql


def coded_rows(query, rows, dataset="t"):
    """The same rows, coded by the oracle."""
    cells = [coded_cells(query, row) for row in rows]
    bad = {
        name: -1 if isinstance(query.schema.column(name), Binary | Categorical) else NO_NUMBER for name in query.columns
    }
    columns = {name: np.array([bad[name] if c[name] is None else c[name] for c in cells]) for name in query.columns}
    return CodedRows(columns, np.array([row["who"] for row in rows], dtype=object), dataset)


def write_csv(path, rows):
    """CSV knows no missing identifier but a line that is too short: `who` is the last column."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        writer.writerow([*SCHEMA.columns, "who"])
        for row in rows:
            cells = [row[name] for name in SCHEMA.columns]
            writer.writerow(cells if row["who"] is None else [*cells, row["who"]])
    return path


def sources(rows, folder):
    columns = [*SCHEMA.columns, "who"]
    frame = pd.DataFrame(rows, columns=columns)
    table = pa.table({name: [row[name] for row in rows] for name in columns})
    pq.write_table(table, folder / "t.parquet")
    return {
        "pandas": frame,
        "pandas category": frame.astype({"who": "category"}),
        "pandas string": frame.astype({"who": "string"}),
        "polars": pl.from_arrow(table),
        "polars categorical": pl.from_arrow(table).with_columns(pl.col("who").cast(pl.Categorical)),
        "arrow": table,
        "parquet": folder / "t.parquet",
        "csv": write_csv(folder / "t.csv", rows),
    }


@pytest.mark.parametrize(
    ("schema", "k"),
    [
        pytest.param(SCHEMA, 1, marks=pytest.mark.audit),
        pytest.param(SCHEMA, 3, marks=pytest.mark.audit),
        (EXCLUDING, 3),
    ],
    ids=["one", "three", "exclude"],
)
def test_every_format_keeps_the_rows_of_the_oracle(tmp_path, schema, k):
    schema, rows = of_persons(schema, k), table_of(250)
    query = query_of(schema)
    answer = expected(query, rows)
    assert answer != expected(query_of(replace(schema, unit=Record())), rows)
    for name, source in sources(rows, tmp_path).items():
        dataset = open_dataset(source, schema, id="t")
        assert dataset.schema.n == dataset.source.count() == len({row["who"] for row in rows} - {None, ""}), name
        assert plain(dataset.source.statistics(query)) == answer, name
    coded = coded_rows(query, rows)
    assert coded.count() == len({row["who"] for row in rows} - {None, ""})
    assert plain(coded.statistics(query)) == answer


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_order_partition_and_threads_do_not_matter(tmp_path, suffix):
    schema, rows = of_persons(EXCLUDING, 2), table_of(200, seed=4)
    query = query_of(schema)
    answer = expected(query, rows)
    for attempt, parts in enumerate([1, 3]):
        shuffled = random.Random(attempt).sample(rows, len(rows))
        assert plain(coded_rows(query, shuffled).statistics(query)) == answer
        for part in range(parts):
            path = tmp_path / f"{attempt}-{part}.{suffix}"
            if suffix == "csv":
                write_csv(path, shuffled[part::parts])
            else:
                pq.write_table(pa.Table.from_pylist(shuffled[part::parts]), path, row_group_size=1 + 30 * part)
        dataset = open_dataset(tmp_path / f"{attempt}-*.{suffix}", schema, id="t")
        for threads in (1, 2):
            assert plain(replace(dataset.source, threads=threads).statistics(query)) == answer


def test_one_scan_per_table_keeps_the_same_rows_as_one_joint_scan(monkeypatch):
    schema, rows = of_persons(EXCLUDING, 2), table_of(100)
    query = query_of(schema)
    monkeypatch.setattr(sql, "LARGEST_JOINT_TABLE", 0)
    assert len(sql.groupings(query)) > 1
    dataset = open_dataset(pa.Table.from_pylist(rows), schema, id="t")
    assert plain(dataset.source.statistics(query)) == expected(query, rows)


@pytest.mark.parametrize("many", [1, 10, 10_000])
def test_a_person_with_many_rows_counts_for_at_most_k(many):
    schema = Schema({"a": Binary(), "x": Bounded(0, 1)}, unit=Person("who", 4))
    query = Statistics(
        schema, (Counts("used", (), ()), Counts.over(schema, "a", "a"), Sum.of(schema, "x", "x", within="a"))
    )
    draw = np.random.default_rng(many)
    frame = pa.table({"who": ["many"] * many, "a": draw.integers(0, 2, many), "x": draw.random(many)})
    dataset = open_dataset(frame, schema, id="t")
    answers = dataset.source.statistics(query)
    assert dataset.schema.n == 1
    assert answers["used"] == answers["a"].sum() == min(many, 4)
    assert np.abs(answers["x"]).sum() <= 4 * query.statistics[2].unit


def test_the_bound_comes_before_the_exclusion_of_bad_rows():
    """Three rows, of which two are bad: with k = 1 the person's one place may go to a bad row, and then none counts."""
    schema = Schema({"a": Binary(missing="exclude")}, unit=Person("who", 1))
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    used = []
    for person in map(str, range(20)):
        rows = [{"who": person, "a": cell} for cell in ("?", "1", "bad")]
        answers = open_dataset(pa.Table.from_pylist(rows), schema, id="t").source.statistics(query)
        assert plain(answers) == expected(query, rows)
        used.append(int(answers["a"].sum()))
    assert set(used) == {0, 1}


def test_the_choice_depends_on_the_dataset_id_and_on_the_columns_asked_for():
    rows = table_of(60, bad=0.0)
    schema = of_persons(SCHEMA, 1)
    query = query_of(schema)
    frame = pa.Table.from_pylist(rows)
    for name in ("t", "another", "Ü ☃ '", "\udcff"):
        answers = open_dataset(frame, schema, id=name).source.statistics(query)
        assert plain(answers) == expected(query, rows, name.encode("utf-8", "replace").decode())
        assert plain(answers) == plain(coded_rows(query, rows, name).statistics(query))
    assert expected(query, rows, "t") != expected(query, rows, "another")


def test_other_people_have_no_say_in_which_rows_of_a_person_are_kept():
    schema = of_persons(SCHEMA, 3)
    query = query_of(schema)
    everyone = table_of(200, nobody=False)
    own = [row for row in everyone if row["who"] == "ann"]
    others = [row for row in everyone if row["who"] != "ann"]
    assert len(own) > 3
    alone, rest, joint = (
        open_dataset(pa.Table.from_pylist(rows), schema, id="t").source.statistics(query)
        for rows in (own, others, everyone)
    )
    for name in query.names:
        assert ((alone[name] + rest[name]) == joint[name]).all()


def test_rows_without_an_identifier_are_dropped_and_the_empty_text_is_none():
    schema = Schema({"a": Binary()}, unit=Person("who", 5))
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    nan = float("nan")
    sources = {
        "texts": pa.table({"who": ["", None, "nan", ""], "a": [1, 1, 1, 1]}),
        "floats": pl.DataFrame({"who": [1.0, nan, None, 2.0, 2.0], "a": [1, 1, 1, 1, 1]}),
        "objects": pd.DataFrame({"who": pd.Series([1, nan, None, pd.NA, "", "1"], dtype=object), "a": [1] * 6}),
        "too long": pa.table({"who": ["1", "1", "2", "x" * (LONGEST_IDENTIFIER + 1)], "a": [1, 1, 1, 1]}),
        "nobody": pa.table({"who": pa.nulls(3), "a": [1, 1, 1]}),
        "no rows": pa.table({"who": pa.array([], pa.string()), "a": pa.array([], pa.int64())}),
    }
    found = {}
    for name, source in sources.items():
        dataset = open_dataset(source, schema, id="t")
        found[name] = (dataset.schema.n, plain(dataset.source.statistics(query))["a"])
    assert found == {
        "texts": (1, [0, 1]),
        "floats": (2, [0, 3]),
        "objects": (1, [0, 2]),
        "too long": (2, [0, 3]),
        "nobody": (0, [0, 0]),
        "no rows": (0, [0, 0]),
    }
    rows = CodedRows({"a": np.ones(4)}, np.array([3, -1, 3, 4]))
    assert (rows.count(), plain(rows.statistics(query))) == (2, {"a": [0, 3]})


def test_identifiers_that_are_too_long_or_no_unicode_are_the_same_in_parquet(tmp_path):
    schema = Schema({"a": Binary()}, unit=Person("who", 1))
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    pq.write_table(
        pa.table({"who": ["1", "é" * (LONGEST_IDENTIFIER // 2 + 1)], "a": [1, 1]}), tmp_path / "long.parquet"
    )
    who = pa.array([b"1", b"\xff", b"\xfe", None])
    who = pa.Array.from_buffers(pa.string(), len(who), who.buffers())
    table = pa.table({"who": who, "a": [1, 1, 1, 1]})
    pq.write_table(table, tmp_path / "bytes.parquet", use_dictionary=False)
    for source, n in ((tmp_path / "long.parquet", 1), (tmp_path / "bytes.parquet", 1), (table, 1)):
        dataset = open_dataset(source, schema, id="t")
        assert dataset.schema.n == n
        assert plain(dataset.source.statistics(query)) == {"a": [0, n]}


def test_identifiers_mean_the_same_whatever_type_holds_them(tmp_path):
    schema = Schema({"a": Binary(), "x": Count(99)}, unit=Person("who", 2))
    query = Statistics(schema, (Counts.over(schema, "a", "a"), Sum.of(schema, "x", "x")))
    who = [7, 7, 7, 12, 7, 12, 5]
    cells = {"a": [0, 1, 0, 1, 1, 0, 1], "x": [1, 2, 3, 4, 5, 6, 7]}
    path = tmp_path / "t.csv"
    pd.DataFrame({"who": who} | cells).to_csv(path, index=False)
    frames = [pd.DataFrame({"who": pd.Series(who, dtype=kind)} | cells) for kind in (int, float, object, "Int64")]
    frames += [pd.DataFrame({"who": pd.Series(who).astype("category")} | cells)]
    tables = [pa.table({"who": pa.array(who, kind)} | cells) for kind in (pa.int8(), pa.uint64(), pa.float32())]
    tables += [pa.table({"who": list(map(str, who))} | cells), pl.DataFrame({"who": who} | cells)]
    answers = [
        plain(open_dataset(source, schema, id="t").source.statistics(query)) for source in (path, *frames, *tables)
    ]
    coded = {name: np.array(values) for name, values in cells.items()}
    answers += [plain(CodedRows(coded, np.array(kind), "t").statistics(query)) for kind in (who, list(map(str, who)))]
    assert answers[0]["a"] != [3, 4]
    assert all(answer == answers[0] for answer in answers)


def test_a_query_without_columns_counts_the_kept_rows():
    schema = Schema({"a": Binary()}, unit=Person("who", 2))
    query = Statistics(schema, (Counts("used", (), ()),))
    frame = pa.table({"who": ["1", "1", "1", "2", None], "a": [1, 1, 1, 1, 1]})
    assert plain(open_dataset(frame, schema, id="t").source.statistics(query)) == {"used": 3}


def test_the_identifier_may_be_a_declared_column_and_must_be_a_column(tmp_path):
    schema = Schema({"a": Categorical(["1", "2"])}, unit=Person("a", 1))
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    assert plain(open_dataset(pa.table({"a": [1, 2, 2, 1, 1]}), schema, id="t").source.statistics(query)) == {
        "a": [1, 1]
    }
    missing = Schema({"a": Binary()}, unit=Person("who", 1))
    (tmp_path / "t.csv").write_text("a\n1\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    frame = pd.DataFrame({"a": [1]})
    for source in (frame, pl.from_pandas(frame), pa.table({"a": [1]}), tmp_path / "t.csv", tmp_path / "t.parquet"):
        with pytest.raises(SchemaError, match="must be columns of the source, got 'who', which it does not have"):
            open_dataset(source, missing, id="t")
    with pytest.raises(SchemaError, match="'who'"):
        open_dataset(pa.table({"a": [1], "who": [[1]]}), missing, id="t")


def test_persons_are_counted_under_replace_one_only(monkeypatch):
    frame = pa.table({"who": ["1", "1", "2"], "a": [1, 1, 1]})
    schema = Schema({"a": Binary()}, unit=Person("who", 2))
    assert open_dataset(frame, replace(schema, n=2), id="t").schema.n == 2
    with pytest.raises(SchemaError, match=r"Schema\.n must be the number of units in the source, 2, got 3"):
        open_dataset(frame, replace(schema, n=3), id="t")
    monkeypatch.setattr("discreet.sources.engines.duckdb.DuckDB.count", lambda self: pytest.fail("counted"))
    open_dataset(frame, replace(schema, relation="add-remove", n_max=9), id="t")


def test_coded_rows_need_one_identifier_for_each_row():
    with pytest.raises(QueryError, match="one identifier for each row"):
        CodedRows({"a": np.zeros(3)}, np.zeros(2))


def test_coded_rows_without_identifiers_are_everybodys_only_rows():
    schema = Schema({"a": Binary()}, unit=Person("who", 1))
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    rows = CodedRows({"a": np.array([0, 1, 1])})
    assert (rows.count(), plain(rows.statistics(query))) == (3, {"a": [1, 2]})


def test_the_bound_on_persons_spills_instead_of_failing():
    """The engine must not turn the choice of rows into an aggregate that has to fit in memory."""
    schema = of_persons(SCHEMA, 2)
    query = query_of(schema)
    dataset = open_dataset(pa.Table.from_pylist(table_of(20)), schema, id="t")
    (grouping,) = sql.groupings(query)
    scan = sql.coded_groups(query, grouping, dataset.source.held, "rows", "t", None).sql(dialect="duckdb")
    with connect() as connection:
        dataset.source.origins[0].attach(connection, "rows")
        plan = connection.execute(f"EXPLAIN {scan}").fetchall()[0][1]
    assert "Window" in plan or "WINDOW" in plan
    assert "arg_min" not in plan


def test_the_oracle_keeps_what_it_should():
    rows = table_of(100)
    query = query_of(of_persons(SCHEMA, 2))
    kept = first_rows(query, rows, "t")
    people = [who for who in PEOPLE if who]
    assert all(sum(row["who"] == who for row in kept) <= 2 for who in people)
    assert len(kept) == sum(min(2, sum(row["who"] == who for row in rows)) for who in people)
