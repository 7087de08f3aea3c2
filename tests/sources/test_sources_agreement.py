"""One table, one answer: whatever the format, the order of rows, the partition and the number of threads."""

import csv
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, SCHEMA, expected, ordinary_rows, plain, query_of

from discreet.errors import SchemaError
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Count, Schema
from discreet.sources.coded import NO_NUMBER, CodedRows
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset
from discreet.sources.sql import statements as sql
from discreet.sources.sql.cell_sql import double

BAD_CELLS = ["", "NaN", "inf", "-1e308", "1e400", "unknown", " 1 ", "TRUE", "1.0", "2e0", "a,b", 'say "hi"', "Ü", "0x1"]


@pytest.fixture(scope="module")
def rows():
    table = ordinary_rows(400)
    draw = random.Random(2)
    for row in table:
        if draw.random() < 0.3:
            row[draw.choice(list(row))] = draw.choice(BAD_CELLS)
    return table


def write_csv(path, rows, line_end="\n"):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(SCHEMA.columns), lineterminator=line_end)
        writer.writeheader()
        writer.writerows(rows)
    return path


def sources(rows, folder):
    frame = pd.DataFrame(rows, columns=list(SCHEMA.columns))
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "all.parquet")
    return {
        "pandas": frame,
        "pandas string": frame.astype("string"),
        "pandas category": frame.astype("category"),
        "polars": pl.from_pandas(frame),
        "polars categorical": pl.from_pandas(frame).with_columns(pl.col("ward").cast(pl.Categorical)),
        "arrow": table,
        "arrow chunks": pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        "arrow batch": table.to_batches()[0],
        "arrow dictionary": table.set_column(1, "ward", table["ward"].dictionary_encode()),
        "arrow views": table.set_column(1, "ward", table["ward"].cast(pa.string_view())),
        "parquet": folder / "all.parquet",
        "csv": write_csv(folder / "unix.csv", rows),
        "csv with carriage returns": write_csv(folder / "dos.csv", rows, "\r\n"),
    }


@pytest.mark.parametrize("schema", [SCHEMA, EXCLUDING], ids=["default", "exclude"])
def test_every_format_gives_the_answer_of_the_oracle(rows, tmp_path, schema):
    answer = expected(query_of(schema), rows)
    for name, source in sources(rows, tmp_path).items():
        dataset = open_dataset(source, schema, id="t")
        assert dataset.schema.n == len(rows), name
        assert plain(dataset.source.statistics(query_of(schema))) == answer, name


def test_shapes_and_types_are_those_of_the_declaration(rows):
    for table in (rows, rows[:1]):
        query = query_of(EXCLUDING)
        answers = open_dataset(pd.DataFrame(table), EXCLUDING, id="t").source.statistics(query)
        assert tuple(answers) == query.names
        for statistic in query.statistics:
            assert answers[statistic.name].shape == statistic.shape
            assert answers[statistic.name].dtype == (object if isinstance(statistic, Sum) else np.int64)


def test_a_table_without_rows_has_zeros_everywhere(tmp_path):
    query = query_of(SCHEMA)
    zeros = expected(query, [])
    empty = pa.Table.from_pylist(ordinary_rows(1)).slice(0, 0)
    pq.write_table(empty, tmp_path / "empty.parquet")
    for source in (empty, empty.to_pandas(), tmp_path / "empty.parquet", write_csv(tmp_path / "empty.csv", [])):
        dataset = open_dataset(source, SCHEMA, id="t")
        assert dataset.schema.n == 0
        assert plain(dataset.source.statistics(query)) == zeros


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_order_partition_and_threads_do_not_matter(rows, tmp_path, suffix):
    query = query_of(SCHEMA)
    answer = expected(query, rows)
    for attempt, parts in enumerate([1, 3, 5]):
        shuffled = random.Random(attempt).sample(rows, len(rows))
        for part in range(parts):
            path = tmp_path / f"{attempt}-{part}.{suffix}"
            if suffix == "csv":
                write_csv(path, shuffled[part::parts])
            else:
                pq.write_table(pa.Table.from_pylist(shuffled[part::parts]), path, row_group_size=1 + 40 * part)
        dataset = open_dataset(tmp_path / f"{attempt}-*.{suffix}", SCHEMA)
        assert dataset.schema.n == len(rows)
        for threads in (1, 8):
            assert plain(replace(dataset.source, threads=threads).statistics(query)) == answer


def test_csv_blocks_do_not_matter(rows, tmp_path, monkeypatch):
    path = write_csv(tmp_path / "t.csv", rows)
    dataset = open_dataset(path, EXCLUDING)
    answer = expected(query_of(EXCLUDING), rows)
    for block in (1, 7, 1000):
        monkeypatch.setattr("discreet.sources.readers.csv.BLOCK", block)
        assert dataset.source.count() == len(rows)
        assert plain(dataset.source.statistics(query_of(EXCLUDING))) == answer


def test_files_of_a_glob_are_matched_by_column_name_and_may_differ_in_width(tmp_path):
    schema = Schema({"k": Categorical([1, 2]), "x": Bounded(0, 8, grid=1.0)})
    narrow = pa.schema([("k", pa.int8()), ("x", pa.float32())])
    pq.write_table(pa.table({"k": [1, 2], "x": [1.0, 2.0]}, schema=narrow), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [4.0, None], "other": [1, 2], "k": [2, 2]}), tmp_path / "b.parquet")
    query = Statistics(schema, (Counts.over(schema, "k", "k"), Sum.of(schema, "x", "x")))
    dataset = open_dataset(tmp_path / "*.parquet", schema)
    assert plain(dataset.source.statistics(query)) == {"k": [1, 3], "x": 2 * (1 + 2 + 4 + 0) - 4 * 8}


def test_files_whose_types_differ_in_kind_are_read_each_by_its_own(tmp_path):
    schema = Schema({"x": Bounded(0, 8, grid=1.0)})
    query = Statistics(schema, (Sum.of(schema, "x", "x"),))
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    for other in (pa.array(["4"]), pa.array([4], pa.uint64()), pa.array([4], pa.decimal128(38, 30))):
        pq.write_table(pa.table({"x": other}), tmp_path / "b.parquet")
        assert plain(open_dataset(tmp_path / "*.parquet", schema).source.statistics(query)) == {"x": 2 * 5 - 2 * 8}


def test_a_lazy_frame_is_refused_because_collecting_it_runs_user_code_on_rows():
    with pytest.raises(SchemaError, match="got LazyFrame"):
        open_dataset(pl.DataFrame({"x": [1]}).lazy(), Schema({"x": Bounded(0, 8)}), id="t")


def test_a_text_longer_than_any_level_is_missing():
    schema = Schema({"k": Categorical(["a", "b"], missing="b")})
    query = Statistics(schema, (Counts.over(schema, "k", "k"),))
    for frame in (pa.table({"k": ["a", "x" * 2**21]}), pd.DataFrame({"k": ["a", "x" * 2**21]})):
        assert plain(open_dataset(frame, schema, id="t").source.statistics(query)) == {"k": [1, 1]}


def test_one_scan_per_table_gives_the_same_as_one_joint_scan(rows, monkeypatch):
    for schema in (SCHEMA, EXCLUDING):
        query = query_of(schema)
        source = open_dataset(pd.DataFrame(rows), schema, id="t").source
        joint = plain(source.statistics(query))
        assert len(sql.groupings(query)) == 1
        with monkeypatch.context() as patch:
            patch.setattr(sql, "LARGEST_JOINT_TABLE", 0)
            assert len(sql.groupings(query)) > 1
            assert plain(source.statistics(query)) == joint == expected(query, rows)


def test_large_joint_tables_are_split_by_declaration_only():
    schema = Schema(
        {f"c{i}": Categorical(range(9)) for i in range(6)} | {"e": Binary(missing="exclude"), "x": Count(5)}
    )
    query = Statistics(
        schema, (*(Counts.over(schema, f"c{i}", f"c{i}") for i in range(6)), Counts.over(schema, "e", "e"))
    )
    assert [g.columns for g in sql.groupings(query)] == [("c0", "c1", "c2", "c3", "e"), ("c4", "c5", "e")]
    assert len(sql.groupings(Statistics(schema, query.statistics[:2]))) == 1


def test_sums_are_exact_integers_with_asymmetric_bounds_and_odd_grids():
    draw = random.Random(3)
    columns = {
        "a": Bounded(-1.7, 1e6, grid=0.001),
        "b": Bounded(5.3, 7.9),
        "c": Bounded(-1e-9, 3e-7, missing=1e-8),
        "d": Bounded(0.1, 0.7, grid=0.1),
        "e": Count(2**31),
    }
    values = {name: [draw.uniform(-2, 2) * column.upper for _ in range(2000)] for name, column in columns.items()}
    halves = [column.step * (k + 0.5) for column in columns.values() for k in range(40)]
    values = {name: cells + halves + [float("inf"), float("-inf"), 1e308, -0.0] for name, cells in values.items()}
    schema = Schema(columns)
    query = Statistics(schema, tuple(Sum.of(schema, name, name) for name in columns))
    axes = {statistic.name: statistic.axes[0] for statistic in query.statistics}
    exact = {
        name: int(axes[name].centred(axes[name].of_values(np.array(cells))).sum()) for name, cells in values.items()
    }
    for name, cells in values.items():
        assert exact[name] == sum(
            2 * (columns[name].steps(value) - columns[name].steps(columns[name].lower)) - axes[name].reach
            for value in cells
        )
    for source in (pa.table(values), pa.table({name: list(map(repr, cells)) for name, cells in values.items()})):
        assert plain(open_dataset(source, schema, id="t").source.statistics(query)) == exact


@pytest.mark.parametrize("n", [None, 1, 500, 2**29, 2**48 - 1], ids=str)
def test_products_are_exact_integers_in_every_arithmetic(n):
    """A small bound sums doubles, a larger one 64-bit integers or decimals; one that is too small is found out."""
    draw = np.random.default_rng(5)
    columns = {"a": Bounded(-1.7, 1e6, grid=0.001), "b": Bounded(5.3, 7.9), "c": Count(2**31), "d": Binary()}
    schema = Schema(columns, n=n)
    values = {name: draw.uniform(-0.1, 1.1, 500) * column.upper for name, column in columns.items() if name != "d"}
    values["d"] = draw.integers(0, 2, 500)
    pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "c"), ("a",), ("c",)]
    sums = [
        Sum.of(schema, f"{'*'.join(pair)} {bits} {within}", *pair, bits=bits, within=within)
        for pair in pairs
        for bits in (None, 12, 5)
        for within in (None, "d")
    ]
    query = Statistics(schema, tuple(sums))
    answers = open_dataset(pa.table(values), replace(schema, n=None), id="t").source.statistics(query)
    for statistic in sums:
        terms = np.ones(500, dtype=object)
        for axis in statistic.axes:
            terms = terms * axis.centred(axis.of_values(values[axis.column])).astype(object)
        exact = [terms[values["d"] == k].sum() for k in (0, 1)] if statistic.categories else terms.sum()
        assert answers[statistic.name].tolist() == exact, statistic.name


def test_sums_beyond_64_bits_are_exact():
    schema = Schema({"x": Count(2**31)})
    query = Statistics(schema, (Sum.of(schema, "x", "x"), Sum.of(schema, "xx", "x", "x")))
    (grouping,) = sql.groupings(query)
    with connect() as connection:
        connection.execute(
            "CREATE TABLE coded AS SELECT 1 AS n, 4611686018427387905::BIGINT AS sum_0,"
            " 46116860184273879050000001::DECIMAL(38, 0) AS sum_1 FROM range(10)"
        )
        summed = sql.marginal(query, grouping, (), "coded").sql(dialect="duckdb")
        ((n, one, two),) = connection.execute(summed).fetchall()
        assert (n, int(one), int(two)) == (10, 10 * (2**62 + 1), 10 * 46116860184273879050000001)
    rows = [2**31] * 9 + [0]
    exact = {"x": 8 * 2**31, "xx": 10 * 2**62}
    for source in (open_dataset(pa.table({"x": rows}), schema, id="t").source, CodedRows({"x": np.array(rows)})):
        assert plain(source.statistics(query)) == exact


def test_coded_rows_agree_with_the_engine(rows):
    for schema in (SCHEMA, EXCLUDING):
        query = query_of(schema)
        clean = ordinary_rows(300)
        columns = {
            name: np.array([_coded(column, row[name]) for row in clean]) for name, column in schema.columns.items()
        }
        coded = CodedRows(columns)
        engine = open_dataset(pa.Table.from_pylist(clean), schema, id="t").source
        assert coded.count() == engine.count() == len(clean)
        answers, reference = coded.statistics(query), engine.statistics(query)
        assert plain(answers) == plain(reference)
        assert {name: (a.shape, a.dtype) for name, a in answers.items()} == {
            name: (a.shape, a.dtype) for name, a in reference.items()
        }


def test_coded_rows_with_a_bad_code_count_nowhere():
    schema = Schema({"a": Binary(missing="exclude"), "x": Count(9)})
    query = Statistics(schema, (Counts.over(schema, "a", "a"), Sum.of(schema, "x", "x")))
    rows = CodedRows({"a": np.array([0, -1, 1]), "x": np.array([1, 2, 4])})
    assert plain(rows.statistics(query)) == {"a": [1, 1], "x": 2 * (1 + 4) - 2 * 9}
    numbers = Schema({"a": Binary(), "x": Count(9, missing="exclude")})
    query = Statistics(numbers, (Counts.over(numbers, "a", "a"), Sum.of(numbers, "x", "x")))
    rows = CodedRows({"a": np.array([0, 1, 1]), "x": np.array([1, NO_NUMBER, 4])})
    assert plain(rows.statistics(query)) == {"a": [1, 1], "x": 2 * (1 + 4) - 2 * 9}


def _coded(column, cell):
    return column.steps(float(cell)) if isinstance(column, Bounded | Count) else column.levels.index(cell)


def test_constants_in_sql_are_doubles_bit_for_bit() -> None:
    """Negative ones too: a decimal would be converted by the engine, not always to the nearest double."""
    rng = np.random.default_rng(6)
    values = [0.0, -0.0, 1.0, -5.0, -0.1, -1e-5, -1e17, 5e-324, -2.2e-308, 1.7e308, -0.9062034709062219]
    values += list(rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300))
    texts = [double(float(value)).sql(dialect="duckdb") for value in values]
    with connect() as connection:
        found = connection.execute("SELECT " + ", ".join(texts)).fetchone()
        kinds = connection.execute("SELECT " + ", ".join(f"typeof({text})" for text in texts)).fetchone()
        squared = connection.execute("SELECT " + ", ".join(f"2e0 - {text}" for text in texts)).fetchone()
    assert set(kinds) == {"DOUBLE"}
    assert [float(value).hex() for value in found] == [float(value).hex() for value in values]
    assert list(squared) == [2.0 - value for value in values]
