"""Whatever one row holds: other rows keep their meaning, nothing fails, the answer moves by at most the sensitivity."""

import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, SCHEMA, expected, l1_distance, ordinary_rows, plain, query_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Count, Schema
from discreet.sources.open import open_dataset
from discreet.sources.readers import csv
from discreet.sources.sql import cell_sql as cells

NAMES = list(SCHEMA.columns)
HEADER = ",".join(NAMES).encode() + b"\n"
HOSTILE_CELLS = [
    *(
        "NaN",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "1e308",
        "-1e308",
        "1e400",
        "-1e400",
        "1e-400",
        "0x1F",
        "1_0",
        "١",
        "\u00a01",
    ),
    *(
        "",
        " ",
        "no such level",
        "NULL",
        "None",
        "true",
        "FALSE",
        "'",
        '"',
        '""',
        "a;b",
        "\\",
        "\\N",
        "'; DROP TABLE rows; --",
    ),
    *(
        "\x00",
        "a\x00b",
        "\x01",
        "\x1a",
        "\x7f",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "9" * 400,
        "-0",
        "+1",
        ".5",
        "5.",
        "1e5",
    ),
    *("Ü 'x'", "ü 'x'", "A ", "1.0", "3.50", "9007199254740993"),
]
HOSTILE_LINES = [
    b"",
    b",,,,",
    b",",
    b"," * 1000,
    b"1",
    b"1,A,1,50",
    b"1,A,1,50,3,extra,fields",
    b'"1,A,1,50,3',
    b'1,A,1,50,3"',
    b'"',
    b'"""',
    b'1,"A",""1"",5"0,3',
    b'"1","A","1","50","3"',
    b"\xff\xfe\x00\x01",
    b"1,\xff,1,50,3",
    b"1,\xc3,1,50,3",
    b"1,\xe2\x82,1,50,3",
    b"\x00,\x00,\x00,\x00,\x00",
    b"1\r,A\r,1\r,50\r,3\r",
    b"\r",
    b"\r\r\r",
    b"1,A,1,50,3\r1,A,1,50,3\r1,A,1,50,3",
    b"1,A,1,1e308,1e400",
    b"\x01\x02\x03\x1a",
    b"\\",
    b"#1,A,1,50,3",
    b"1,A,1," + b"9" * 5000 + b",3",
    b"x" * (csv.LONGEST_LINE + 10),
    b"1,A,1,50,3," + b"," * (2 * csv.LONGEST_LINE),
    b"1,A,1,50,3" + b'"' * 3_000_000,
]


def line(row):
    return ",".join(row[name] for name in NAMES).encode()


@pytest.fixture(scope="module")
def ordinary():
    return ordinary_rows(60)


@pytest.mark.parametrize(
    ("schema", "end"),
    [pytest.param(SCHEMA, b"\n", marks=pytest.mark.audit), (EXCLUDING, b"\r\n")],
    ids=["unix", "dos and exclude"],
)
def test_one_hostile_line_is_one_row_and_moves_only_itself(ordinary, tmp_path, schema, end):
    query, path = query_of(schema), tmp_path / "t.csv"
    lines = [line(row) for row in ordinary]
    path.write_bytes(HEADER.replace(b"\n", end) + end.join(lines) + end)
    reference = open_dataset(path, schema).source.statistics(query)
    others = expected(query, ordinary[:30] + ordinary[31:])
    for hostile in HOSTILE_LINES:
        path.write_bytes(HEADER.replace(b"\n", end) + end.join([*lines[:30], hostile, *lines[31:]]) + end)
        dataset = open_dataset(path, schema)
        answers = dataset.source.statistics(query)
        assert dataset.schema.n == 60, hostile[:30]
        assert [answers[s.name].shape for s in query.statistics] == [s.shape for s in query.statistics]
        assert l1_distance(query, answers, reference) <= query.l1, hostile[:30]
        own = {name: np.asarray(array) - np.asarray(others[name]) for name, array in answers.items()}
        assert own["used"] in (0, 1), hostile[:30]
        assert own["smoker by ward"].sum() == own["grade"].sum() == own["used"]
        assert own["smoker by ward"].min() >= 0


def test_the_meaning_of_a_line_does_not_depend_on_its_place_or_on_threads(tmp_path):
    query, path = query_of(EXCLUDING), tmp_path / "t.csv"
    lines = [*HOSTILE_LINES, *(line(row) for row in ordinary_rows(20))]
    answers = []
    for attempt in range(4):
        path.write_bytes(HEADER + b"\n".join(random.Random(attempt).sample(lines, len(lines))) + b"\n")
        dataset = open_dataset(path, EXCLUDING)
        assert dataset.schema.n == len(lines)
        answers += [plain(replace(dataset.source, threads=threads).statistics(query)) for threads in (1, 8)]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(
    ("body", "n"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"1", 1),
        (b"1\n", 1),
        (b"1\n\n", 2),
        (b"\r\n", 1),
        (b"\r", 1),
        (b"1\r2\r3", 1),
        (b'"\n"', 2),
    ],
)
def test_records_end_at_line_feeds_and_nowhere_else(tmp_path, body, n):
    schema = Schema({"a": Binary()})
    query = Statistics(schema, (Counts.over(schema, "a", "a"),))
    (tmp_path / "t.csv").write_bytes(b"a\n" + body)
    dataset = open_dataset(tmp_path / "t.csv", schema)
    assert dataset.schema.n == n
    assert dataset.source.statistics(query)["a"].sum() == n


def test_quoted_fields_follow_rfc_4180_within_a_line(tmp_path):
    schema = Schema({"b": Categorical(["other", "x,y", 'say "hi"', '"', "plain"])})
    query = Statistics(schema, (Counts.over(schema, "b", "b"),))
    fields = [b'"x,y"', b'"say ""hi"""', b'""""', b'"plain"', b"plain", b'""', b'"x,y"z']
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa,b\n" + b"".join(b'"1,2",' + f + b"\r\n" for f in fields))
    assert plain(open_dataset(tmp_path / "t.csv", schema).source.statistics(query)) == {"b": [2, 1, 1, 1, 2]}


TEXTS = st.one_of(st.sampled_from(HOSTILE_CELLS), st.text(max_size=8), st.floats().map(repr), st.integers().map(str))
TABLES = st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS)), min_size=1, max_size=12)


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(rows=TABLES, excluding=st.booleans())
def test_random_hostile_tables_agree_with_the_oracle(rows, excluding):
    schema = EXCLUDING if excluding else SCHEMA
    query = query_of(schema)
    answer = expected(query, rows)
    for source in (pa.Table.from_pylist(rows), pd.DataFrame(rows, dtype=object)):
        assert plain(open_dataset(source, schema, id="t").source.statistics(query)) == answer


def test_every_hostile_cell_in_every_column_agrees_with_the_oracle(tmp_path):
    base = ordinary_rows(1)[0]
    rows = [base | {name: cell} for name in NAMES for cell in HOSTILE_CELLS]
    for schema in (SCHEMA, EXCLUDING):
        query = query_of(schema)
        answer = expected(query, rows)
        for source in (pa.Table.from_pylist(rows), pl.DataFrame(rows), pd.DataFrame(rows)):
            assert plain(open_dataset(source, schema, id="t").source.statistics(query)) == answer
        for row in rows[:: len(rows) // 4]:
            single = open_dataset(pa.Table.from_pylist([row]), schema, id="t").source
            assert plain(single.statistics(query)) == expected(query, [row])


def test_bytes_that_are_not_unicode_stop_neither_parquet_nor_arrow(tmp_path):
    ward = pa.array([b"A", b"\xff\xfe", b"B\xc3", None, b"B"])
    ward = pa.Array.from_buffers(pa.string(), len(ward), ward.buffers())
    table = pa.table({"ward": ward, "visits": [1, 2, 3, 4, 5]})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet", use_dictionary=False)
    schema = Schema({"ward": Categorical(["A", "B", "other"], missing="other"), "visits": Count(9)})
    query = Statistics(schema, (Counts.over(schema, "ward", "ward"), Sum.of(schema, "visits", "visits")))
    for source, copies in ((table, 1), (tmp_path / "a.parquet", 1), (tmp_path / "*.parquet", 2)):
        answers = open_dataset(source, schema, id="t").source.statistics(query)
        assert plain(answers) == {"ward": [copies, copies, 3 * copies], "visits": (2 * 15 - 5 * 9) * copies}


# Sensitivities, with planted twins: the same search must find a source that forgets a rule.

EXTREMES = [None, "0", "1", "A", "1e308", "-1e308", "inf", "NaN", "nothing"]


def worst_move(schema, extremes=EXTREMES):
    """The largest change over neighbours whose differing row is extreme in all columns, or in its numbers only."""
    query, base = query_of(schema), ordinary_rows(4)
    answers = []
    for cell in extremes:
        for columns in (NAMES, ("age", "visits")):
            rows = [*base[:3], base[3] | dict.fromkeys(columns, cell)]
            table = pa.table({name: [row[name] for row in rows] for name in NAMES})
            answers.append(open_dataset(table, schema, id="t").source.statistics(query))
    return query, max(l1_distance(query, one, other) for one in answers for other in answers)


def spread(schema):
    return Schema({**schema.columns, "ward": Categorical(["A", "B", "C"]), "grade": Categorical(["0", "nothing"])})


@pytest.mark.parametrize(
    "schema",
    [pytest.param(SCHEMA, marks=pytest.mark.audit), pytest.param(spread(SCHEMA), marks=pytest.mark.audit), EXCLUDING],
    ids=["default", "spread", "exclude"],
)
def test_neighbours_never_move_more_than_the_declared_sensitivity(schema):
    query, moved = worst_move(schema)
    assert 0 < moved <= query.l1


def test_a_source_that_forgets_to_clip_is_caught(monkeypatch):
    right = cells._clipped
    monkeypatch.setattr(cells, "_clipped", lambda value, column: right(value, Bounded(-1e4, 1e4)))
    query, moved = worst_move(SCHEMA, ["0", "1", "1e11"])
    assert moved > query.l1


def test_a_source_that_forgets_to_exclude_is_caught(monkeypatch):
    rows = [*ordinary_rows(3), {**ordinary_rows(1)[0], "ward": "nothing"}, {**ordinary_rows(1)[0], "age": "NaN"}]
    query, table = query_of(EXCLUDING), pa.Table.from_pylist(rows)
    answer = expected(query, rows)
    source = open_dataset(table, EXCLUDING, id="t").source
    assert plain(source.statistics(query)) == answer
    with monkeypatch.context() as patch:
        patch.setattr(Categorical, "default_code", property(lambda column: 0))
        assert plain(source.statistics(query)) != answer
    with monkeypatch.context() as patch:
        patch.setattr(Bounded, "default_value", property(lambda column: column.lower))
        assert plain(source.statistics(query)) != answer


def test_excluded_rows_leave_every_statistic_of_the_query():
    schema = Schema({"a": Binary(missing="exclude"), "b": Binary(), "x": Count(9, missing="exclude")})
    query = Statistics(schema, (*(Counts.over(schema, n, n) for n in "ab"), Sum.of(schema, "x", "x")))
    frame = pa.table({"a": [1, 1, None, 0], "b": [1, 0, 1, 1], "x": [1.0, float("nan"), 4.0, 8.0]})
    assert plain(open_dataset(frame, schema, id="t").source.statistics(query)) == {
        "a": [1, 1],
        "b": [0, 2],
        "x": 2 * 9 - 2 * 9,
    }
    alone = Statistics(schema, (Counts.over(schema, "b", "b"),))
    assert plain(open_dataset(frame, schema, id="t").source.statistics(alone)) == {"b": [1, 3]}


def test_a_row_that_another_column_excludes_moves_a_sum_by_no_more_than_declared():
    """A bad ward removes the row from the sum of x too: in its own unit it moves from -1 or 1 to nothing."""
    schema = Schema({"w": Categorical(["A", "B"], missing="exclude"), "x": Bounded(10, 20, grid=1.0)}, n=2)
    query = Statistics(schema, (Counts.over(schema, "w", "w"), Sum.of(schema, "x", "x")))
    moved = []
    for w in ("A", "B", "?"):
        for x in (10, 20):
            frame = pa.table({"w": ["A", w], "x": [10, x]})
            moved.append(open_dataset(frame, schema, id="d").source.statistics(query))
    assert {int(answer["x"]) for answer in moved} == {-20, -10, 0}
    attained = max(l1_distance(query, one, other) for one in moved for other in moved)
    assert attained == query.l1 == 4
