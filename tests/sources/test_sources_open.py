"""What `open` accepts and refuses, and that no refusal or failure ever says what a row contains."""

import datetime
import tempfile
import traceback
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import plain

from discreet.errors import ReleaseError, SchemaError
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Csv, Schema
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset

CANARY = "canary-4217"
SCHEMA = Schema({"ward": Categorical(["A", "B"])})
QUERY = Statistics(SCHEMA, (Counts.over(SCHEMA, "ward", "ward"),))


def refusal(error, call):
    """The one exception of a call, checked to carry no cell and no other exception."""
    with pytest.raises(error) as caught:
        call()
    assert CANARY not in str(caught.value)
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        if "discreet" in frame.f_globals["__name__"]:
            seen = {name: repr(value) for name, value in frame.f_locals.items() if name != "source"}
            assert CANARY not in str(seen), frame.f_code.co_name
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def test_replace_one_counts_the_rows_and_refuses_another_n():
    frame = pd.DataFrame({"ward": ["A", "B", "?"]})
    dataset = open_dataset(frame, SCHEMA, id="wards")
    assert (dataset.id, dataset.schema.n, dataset.source.count()) == ("wards", 3, 3)
    assert open_dataset(frame, Schema(SCHEMA.columns, n=3), id="wards").schema.n == 3
    assert "Schema.n" in refusal(SchemaError, lambda: open_dataset(frame, Schema(SCHEMA.columns, n=4), id="wards"))


def test_add_remove_counts_nothing(monkeypatch):
    monkeypatch.setattr("discreet.sources.engines.duckdb.DuckDB.count", lambda self: pytest.fail("counted"))
    schema = Schema(SCHEMA.columns, relation="add-remove", n_max=10)
    dataset = open_dataset(pd.DataFrame({"ward": ["A"]}), schema, id="wards")
    assert dataset.schema == schema


def test_the_id_is_the_path_as_typed_and_must_be_given_for_frames(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("ward\nA\n")
    dataset = open_dataset("./t.csv", SCHEMA)
    assert dataset.id == "./t.csv"
    assert open_dataset(Path("t.csv"), SCHEMA, id="x").id == "x"
    monkeypatch.chdir("/")
    assert plain(dataset.source.statistics(QUERY)) == {"ward": [1, 0]}
    assert "open.id" in refusal(SchemaError, lambda: open_dataset(pd.DataFrame({"ward": ["A"]}), SCHEMA))
    assert "open.id" in refusal(SchemaError, lambda: open_dataset("t.csv", SCHEMA, id=""))


def test_paths_that_are_no_source_are_refused(tmp_path):
    for name in ("a.csv", "b.txt", "c.csv.gz"):
        (tmp_path / name).write_text("ward\nA\n")
    pq.write_table(pa.table({"ward": ["A"]}), tmp_path / "a.parquet")
    for pattern, word in [
        ("none.csv", "existing"),
        ("*.json", "existing"),
        ("b.txt", "end in"),
        ("c.csv.gz", "end in"),
    ]:
        assert word in refusal(SchemaError, lambda pattern=pattern: open_dataset(tmp_path / pattern, SCHEMA))
    assert "end in" in refusal(SchemaError, lambda: open_dataset(tmp_path / "a.*", SCHEMA))
    assert "existing" in refusal(SchemaError, lambda: open_dataset(tmp_path, SCHEMA))
    for source in (None, 7, b"t.csv", [{"ward": CANARY}], {"ward": [CANARY]}):
        assert "open.source" in refusal(SchemaError, lambda source=source: open_dataset(source, SCHEMA, id="x"))
    assert "open.schema" in refusal(SchemaError, lambda: open_dataset(tmp_path / "a.csv", {"ward": Binary()}))


def test_a_declared_column_must_be_there_once(tmp_path):
    (tmp_path / "none.csv").write_text(f"Ward,{CANARY}\nA,1\n")
    (tmp_path / "twice.csv").write_text("ward,ward\nA,B\n")
    (tmp_path / "empty.csv").write_text("")
    pq.write_table(pa.table({"Ward": [CANARY]}), tmp_path / "none.parquet")
    pq.write_table(pa.table([["A"], ["B"]], names=["ward", "WARD"]), tmp_path / "case.parquet")
    pq.write_table(pa.table({"ward": ["A"]}), tmp_path / "part-1.parquet")
    pq.write_table(pa.table({"Ward": ["A"]}), tmp_path / "part-2.parquet")
    frames = [
        pd.DataFrame({"x": [CANARY]}),
        pd.DataFrame([["A", "B"]], columns=["ward", "ward"]),
        pl.DataFrame({"x": [CANARY]}),
        pa.table({"x": [CANARY]}),
        pa.table([["A"], ["B"]], names=["ward", "ward"]),
    ]
    files = ("none.csv", "twice.csv", "empty.csv", "none.parquet", "case.parquet", "part-*.parquet")
    for source in (*frames, *(tmp_path / name for name in files)):
        assert "'ward'" in refusal(SchemaError, lambda source=source: open_dataset(source, SCHEMA, id="x"))


def test_files_of_a_glob_must_share_their_header(tmp_path):
    (tmp_path / "1.csv").write_text("ward,age\nA,1\n")
    (tmp_path / "2.csv").write_text("age,ward\n1,A\n")
    assert "header" in refusal(SchemaError, lambda: open_dataset(tmp_path / "*.csv", SCHEMA))


TODAY = datetime.datetime(2026, 1, 2)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[CANARY]]),
        pa.array([{CANARY: 1}]),
        pa.array([[("k", CANARY)]], pa.map_(pa.string(), pa.string())),
        pa.array([CANARY[:4].encode()], pa.binary(4)),
        pa.array([TODAY]),
        pa.array([TODAY.date()]),
        pa.array([TODAY.time()]),
        pa.array([TODAY - TODAY]),
        pa.array([[TODAY]]).slice(0, 1),
    ],
    ids=lambda column: str(column.type).partition("<")[0],
)
def test_nested_and_time_types_are_refused_by_name_and_type(tmp_path, column):
    table = pa.table({"ward": column})
    sources = [table, tmp_path / "t.parquet"]
    if not pa.types.is_duration(column.type) and not pa.types.is_fixed_size_binary(column.type):
        sources.append(pl.from_arrow(table))
    pq.write_table(table, tmp_path / "t.parquet")
    if pa.types.is_temporal(column.type) and not pa.types.is_date(column.type) and not pa.types.is_time(column.type):
        sources.append(table.to_pandas())
    for source in sources:
        if isinstance(source, Path) and pa.types.is_duration(column.type):
            continue  # Parquet has no such type: pyarrow writes an integer
        assert "'ward'" in refusal(SchemaError, lambda source=source: open_dataset(source, SCHEMA, id="x"))


def test_frames_of_odd_objects_are_refused_or_read_as_missing():
    refused = [
        pd.DataFrame({"ward": pd.Series(pd.period_range("2026", periods=1))}),
        pd.DataFrame({"ward": pd.Series(pd.interval_range(0, 1))}),
    ]
    for frame in refused:
        assert "'ward'" in refusal(SchemaError, lambda frame=frame: open_dataset(frame, SCHEMA, id="x"))

    class Loud:
        def __str__(self):
            raise RuntimeError(CANARY)

        __repr__ = __str__

    odd = [Loud(), [CANARY], {CANARY}, b"A", TODAY, pd.NaT, pd.NA, None, "\udcff", lambda: 1]
    schema = Schema({"ward": Categorical(["A", "B"], missing="B")})
    frames = [
        pd.DataFrame({"ward": pd.Series(odd, dtype=object)}),
        pl.DataFrame({"ward": pl.Series(odd, dtype=pl.Object)}),
        pd.DataFrame({"ward": pd.Series([1 + 2j] * len(odd))}),
        pa.table({"ward": [b"\xff"] * len(odd)}),
    ]
    for frame in frames:
        dataset = open_dataset(frame, schema, id="x")
        assert plain(dataset.source.statistics(QUERY_B)) == {"ward": [0, len(odd)]}


SCHEMA_B = Schema({"ward": Categorical(["A", "B"], missing="B")})
QUERY_B = Statistics(SCHEMA_B, (Counts.over(SCHEMA_B, "ward", "ward"),))


def test_unreadable_files_say_nothing_at_open(tmp_path):
    pq.write_table(pa.table({"ward": [CANARY] * 10}), tmp_path / "whole.parquet", compression="none")
    body = (tmp_path / "whole.parquet").read_bytes()
    assert CANARY.encode() in body
    (tmp_path / "cut.parquet").write_bytes(body[: len(body) // 2])
    (tmp_path / "text.parquet").write_text(CANARY)
    (tmp_path / "bytes.csv").write_bytes(b"ward,\xff" + CANARY.encode() + b"\nA,1\n")
    (tmp_path / "quote.csv").write_bytes(b"ward,\r" + CANARY.encode() + b"\nA,1\n")
    (tmp_path / "long.csv").write_text(CANARY * 200_000)
    texts = set()
    for name in ("cut.parquet", "text.parquet", "quote.csv"):
        texts.add(refusal(SchemaError, lambda name=name: open_dataset(tmp_path / name, SCHEMA)))
    assert len(texts) == 1
    assert "declare their encoding" in refusal(SchemaError, lambda: open_dataset(tmp_path / "bytes.csv", SCHEMA))
    assert "header" in refusal(SchemaError, lambda: open_dataset(tmp_path / "long.csv", SCHEMA))


def test_files_damaged_after_opening_say_nothing_and_leave_no_file(tmp_path, monkeypatch):
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    path = tmp_path / "t.parquet"
    texts = set()
    for compression in ("none", "snappy", "zstd"):
        pq.write_table(pa.table({"ward": [CANARY, "A"] * 1000}), path, compression=compression)
        dataset = open_dataset(path, SCHEMA)
        assert plain(dataset.source.statistics(QUERY)) == {"ward": [2000, 0]}
        body = bytearray(path.read_bytes())
        body[4:60] = b"\xff" * 56
        path.write_bytes(body)
        texts.add(refusal(ReleaseError, lambda dataset=dataset: dataset.source.statistics(QUERY)))
    path.unlink()
    texts.add(refusal(ReleaseError, lambda: dataset.source.statistics(QUERY)))
    csv = tmp_path / "t.csv"
    csv.write_text(f"ward\n{CANARY}\n")
    dataset = open_dataset(csv, SCHEMA)
    csv.unlink()
    texts.add(refusal(ReleaseError, lambda: dataset.source.statistics(QUERY)))
    assert len(texts) == 1
    assert list(spill.iterdir()) == []


def test_a_dataset_does_not_print_its_rows(tmp_path):
    frame = pd.DataFrame({"ward": [CANARY]})
    dataset = open_dataset(frame, SCHEMA, id="x")
    assert CANARY not in repr(dataset) + str(dataset) + repr(dataset.source)


def test_the_connection_reaches_nothing_but_its_files(tmp_path):
    inside, outside = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"ward": ["A"]}), inside)
    pq.write_table(pa.table({"ward": ["A"]}), outside)
    forbidden = [
        f"SELECT * FROM read_parquet('{outside}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'copy.csv'}'",
        f"ATTACH '{tmp_path / 'other.db'}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SET enable_external_access = true",
        "SET threads = 1",
        "INSTALL httpfs",
        "SELECT * FROM inside",  # a Python variable of this frame
    ]
    with connect([str(inside)]) as connection:
        assert connection.execute(f"SELECT ward FROM read_parquet('{inside}')").fetchall() == [("A",)]
        for statement in forbidden:
            with pytest.raises(Exception, match=r"(?i)error"):
                connection.execute(statement)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]


def test_names_and_levels_are_never_read_as_sql_or_patterns(tmp_path):
    names = [
        'a"b',
        "a'; DROP TABLE rows; --",
        "Ünï ☃",
        "raw_0",
        "n",
        "rows",
        "select",
        "^.*$",
        "a.b",
        "with\nbreak",
        "*",
    ]
    levels = ["'", '"', "\\", "'; DROP TABLE coded; --", "☃", "%", "\x00", "$1", "?", "{x}", " A ", "a,b"]
    schema = Schema({name: Categorical(levels) for name in names} | {"sum_0": Bounded(0, 100, grid=1.0)})
    query = Statistics(
        schema, (*(Counts.over(schema, f"t{i}", name) for i, name in enumerate(names)), Sum.of(schema, "s", "sum_0"))
    )
    table = pa.table(dict.fromkeys(names, levels) | {"sum_0": list(range(len(levels)))})
    pq.write_table(table, tmp_path / "a'[1]*.parquet")
    (tmp_path / "a'1x.parquet").write_bytes(b"matched by the pattern, but not meant")
    answer = {f"t{i}": [1] * len(levels) for i in range(len(names))} | {
        "s": 2 * sum(range(len(levels))) - 100 * len(levels)
    }
    for source in (
        table,
        table.to_pandas(),
        pl.from_arrow(table),
        tmp_path / "a'[1]*.parquet",
    ):
        assert plain(open_dataset(source, schema, id="x").source.statistics(query)) == answer
    one_line = [name for name in names if "\n" not in name]
    csv_schema = Schema({name: schema.columns[name] for name in one_line})
    csv_query = Statistics(csv_schema, tuple(Counts.over(csv_schema, name, name) for name in one_line))
    pd.DataFrame(dict.fromkeys(one_line, levels)).to_csv(tmp_path / "[t].csv", index=False)
    answers = open_dataset(tmp_path / "[t].csv", csv_schema).source.statistics(csv_query)
    assert plain(answers) == {name: [1] * len(levels) for name in one_line}


def test_names_that_differ_only_in_case_are_two_columns():
    schema = Schema({"a": Binary(), "A": Binary()})
    query = Statistics(schema, (Counts.over(schema, "x", "a"), Counts.over(schema, "y", "A")))
    frame = pd.DataFrame({"a": [0, 0], "A": [1, 1]})
    assert plain(open_dataset(frame, schema, id="x").source.statistics(query)) == {"x": [2, 0], "y": [0, 2]}


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_another_sign_between_columns_is_to_be_declared(sign: str, tmp_path: Path):
    path = tmp_path / "wards.csv"
    path.write_text(f"id{sign}ward\n1{sign}A\n")
    assert "declare csv= if it is written otherwise" in refusal(SchemaError, lambda: open_dataset(path, SCHEMA))
    schema = Schema({"ward": Categorical(["A", "B"])})
    assert open_dataset(path, schema, csv=Csv(delimiter=sign)).schema.n == 1
