"""Spark gives the bits of the embedded engine, says nothing, and touches nothing that belongs to the user.

One test in `make test`: whoever runs it starts a Java process, which costs more than all that is asked of it. Its parts
are functions `agrees_…`, `refuses_…` and so on; those of more rows or another master are in `make audit`.
"""

import math
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, PEOPLE, SCHEMA, l1_distance, meaning, number, of_persons, plain, query_of, table_of
from hostile_cells import COLUMNS, cells_of

import discreet as dc
from discreet.cli.study_data import study_data
from discreet.errors import ReleaseError, SchemaError
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.sources.engines import spark as engine
from discreet.sources.engines.base import ROWS
from discreet.sources.engines.quiet_spark import quiet_spark
from discreet.sources.readers.identifiers import known, text_of_identifier
from discreet.sources.sql.statements import used_cells
from second_stages import MODELS as ROBUST
from second_stages import schema_of
from second_stages import table as robust_table
from spark_session import Running

NUMBERS = ["age", "visits"]


def typed(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows of texts, with numbers where numbers are due; one that is none is NULL, or NaN if it says so."""
    cells: dict[str, Any] = {name: [row.get(name) for row in rows] for name in (*SCHEMA.columns, "who")}
    for name in NUMBERS:
        cells[name] = [np.nan if cell == "NaN" else number(cell) for cell in cells[name]]
    kinds = {name: pa.float64() if name in NUMBERS else pa.string() for name in cells}
    return pa.table({name: pa.array(column, kinds[name], from_pandas=False) for name, column in cells.items()})


def agrees_on_tables_of_persons(spark: Running) -> None:
    """Bad cells, negative zeros, long texts and long names; as records and as persons, however they are spread."""
    rows = table_of(300, people=[*PEOPLE, "Zoë" * 30, "y" * 5000])
    rows += [{**row, "age": "-0.0", "ward": "x" * 5000} for row in rows[:5]]
    table = typed(rows)
    for parts, schema in ((1, SCHEMA), (5, of_persons(EXCLUDING, 2))):
        data = dc.open(spark.frame(table, parts), schema, id="t")
        own = dc.open(table, schema, id="t")
        assert data.schema == own.schema
        query = query_of(data.schema)
        found = data.source.statistics(query)
        assert plain(found) == plain(own.source.statistics(query))
        assert {name: (a.shape, a.dtype) for name, a in found.items()} == {
            name: (a.shape, a.dtype) for name, a in own.source.statistics(query).items()
        }


KINDS = {
    "well-formed texts": pa.string(),
    "floats": pa.float64(),
    "whole": pa.int64(),
    "truth": pa.bool_(),
    "decimals": pa.decimal128(10, 2),
}


def agrees_on_hostile_cells(spark: Running) -> None:
    """Every cell of every type in every column means what the oracle says, one job for all of a type."""
    for kind, holder in KINDS.items():
        cells = cells_of(kind)
        columns = {
            name: column
            for name, column in COLUMNS.items()
            if column.holds == "levels" or not pa.types.is_string(holder)
        }
        table = pa.table(
            {**dict.fromkeys(columns, pa.array(cells, holder)), "i": range(len(cells)), "y": [0] * len(cells)}
        )
        for name, found in codes(spark.frame(table), columns, len(cells)).items():
            assert found == [meaning(columns[name], cell) for cell in cells], (kind, name)


def agrees_on_many_levels(spark: Running) -> None:
    """Texts and numbers that are looked up in a table."""
    levels = [*map(str, range(300)), *(f"Ü{i}'" for i in range(300))]
    column = dc.Categorical([*levels, "rest"], other="rest")
    texts = ["7", "7.0", "Ü7'", "ü7'", "Ü7", "", "299", "3e2", None]
    for cells, holder in ((texts, pa.string()), ([7.0, 7.5, -0.0, math.nan, math.inf, None], pa.float64())):
        table = pa.table({"x": pa.array(cells, holder), "i": range(len(cells)), "y": [0] * len(cells)})
        found = codes(spark.frame(table), {"x": column}, len(cells))["x"]
        assert found == [meaning(column, cell) for cell in cells]


def codes(frame: Any, columns: dict[str, Any], rows: int) -> dict[str, list[int | None]]:
    """The code or the grid steps of every cell, in the order of a column i."""
    schema = dc.Schema({**columns, "i": dc.Bounded(0, 1024, grid=1.0), "y": dc.Binary()}, n=rows)
    query: Any = dc.LogisticRegression("y", (*columns, "i")).query(schema)
    source = engine.opened_in_spark(frame, schema, "t")
    found = source.asked(lambda asked: asked.rows(used_cells(query, source.held, ROWS, "t")))
    place = query.columns.index("i")
    ordered = sorted(found, key=lambda row: row[place])
    return {name: [row[query.columns.index(name)] for row in ordered] for name in columns}


def agrees_on_sums_in_every_arithmetic(spark: Running) -> None:
    """Doubles, 64 bits of terms or of their halves or cut in parts, decimals: by the public number of rows, and in
    spite of a wrong one.
    """
    draw = np.random.default_rng(5)
    columns = {"a": dc.Bounded(-1.7, 1e6, grid=0.001), "b": dc.Bounded(5.3, 7.9), "c": dc.Count(2**31)}
    columns["d"] = dc.Bounded(0, 100)  # halves of its steps are whole numbers
    table = pa.table({name: draw.uniform(-0.1, 1.1, 300) * column.upper for name, column in columns.items()})
    frame, own = spark.frame(table), dc.open(table, dc.Schema(columns), id="t").source
    pairs = [("a",), ("c",), ("a", "a"), ("d", "d"), ("b", "c"), ("c", "c")]
    source = engine.opened_in_spark(frame, dc.Schema(columns), "t")
    halves = 2**64 // Sum.of(dc.Schema(columns), "squares", "d", "d").unit
    for n in (1, halves, 2**29, 2**48 - 1):
        schema = dc.Schema(columns, n=n)
        asked = Statistics(schema, tuple(Sum.of(schema, "*".join(pair), *pair) for pair in pairs))
        assert plain(source.statistics(asked)) == plain(own.statistics(asked)), n


def agrees_on_influences(spark: Running) -> None:
    from discreet.noise.sources import SeededNoise

    table = robust_table(200, np.random.default_rng(7))
    for unit, by in (("record", "site"), ("person with many", None)):
        schema = schema_of("replace-one", unit, 200 if unit == "record" else len(set(table["id"])))
        query, mechanism = ROBUST["LinearRegression with categories"](by).query(schema), dc.NoisyStatistics(epsilon=30)
        own = dc.open(table, schema, id="t")
        value = mechanism.apply(SeededNoise(3), query, own)
        asked = query.second.query(query, value, mechanism.laws(query))
        source = engine.opened_in_spark(spark.frame(pa.Table.from_pandas(table)), schema, "t")
        assert source.influences(asked).tolist() == own.source.influences(asked).tolist()


def in_a_view(self: engine.SparkAsked, query: Statistics, grouping: Any, scan: Any) -> Any:
    """The planted bug: a scan is kept where every thread of the session looks."""
    self.session.sql(engine._text(scan)).createOrReplaceTempView(engine.CODED)
    groups = self.rows(engine._of_sets(query, grouping))
    sets = {columns: engine._of_set(grouping, columns, groups) for columns in grouping.marginals}
    return {columns: engine.in_arrays(found, grouping, columns) for columns, found in sets.items()}


def answers_every_thread_by_its_own_scan(spark: Running) -> None:
    """Another thread asks of the same dataset when a question is about to be answered: noise would be for the first."""
    table = pa.table({"small": [0.0] * 20, "large": [9.0] * 20})
    data = dc.open(spark.frame(table), dc.Schema({"small": dc.Bounded(0, 1), "large": dc.Bounded(0, 9)}), id="t")
    schema, source = data.schema, data.source
    small, large = (Statistics(schema, (Sum.of(schema, "sum", name),)) for name in schema.columns)
    alone, collected = source.statistics(small)["sum"].tolist(), engine.SparkAsked._collected
    waiting: list[Statistics] = []

    def meanwhile(self: engine.SparkAsked, statement: str) -> Any:
        while waiting:
            source.statistics(waiting.pop())
        return collected(self, statement)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.SparkAsked, "_collected", meanwhile)
        waiting.append(large)
        assert source.statistics(small)["sum"].tolist() == alone
        patch.setattr(engine.SparkAsked, "marginals", in_a_view)
        waiting.append(large)
        assert source.statistics(small)["sum"].tolist() == source.statistics(large)["sum"].tolist() != alone


HOSTILE = [
    "a.b",
    "`a`",
    'say "hi"',
    "x'; DROP TABLE t; --",
    "select",
    "Ünï ☃",
    "${spark.app.name}",
    "Age",
    "age",
    " ",
    "rows",
]
LEVELS = [
    "${spark.app.name}",
    "it's",
    "\\",
    "back\\nslash",
    "'; DROP VIEW rows; --",
    "{rows}",
    "\N{REPLACEMENT CHARACTER}",
]


def agrees_on_hostile_names(spark: Running) -> None:
    """Names mean nothing, levels are compared as they are, and neither views, functions nor settings of the user count."""
    session = spark.session
    draw = random.Random(1)
    cells = {name: [draw.choice([*LEVELS, "other", None]) for _ in range(60)] for name in HOSTILE}
    table, schema = pa.table(cells), dc.Schema({name: dc.Categorical(LEVELS, missing=LEVELS[1]) for name in HOSTILE})
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
        "spark.sql.parser.quotedRegexColumnNames": "true",
        "spark.sql.groupByOrdinal": "false",
        "spark.sql.groupByAliases": "false",
        "spark.sql.orderByOrdinal": "false",
    }
    session.sql("SELECT 1 AS c0").createOrReplaceTempView("rows")
    session.udf.register("array_position", lambda *_: 1, "bigint")
    session.udf.register("octet_length", lambda *_: 1, "bigint")
    with settings_of(session, settings):
        data = dc.open(spark.frame(table), schema, id="t")
        own = dc.open(table, schema, id="t")
        query = Statistics(data.schema, tuple(Counts.over(data.schema, name, name) for name in HOSTILE))
        assert plain(data.source.statistics(query)) == plain(own.source.statistics(query))
        assert {name: session.conf.get(name) for name in settings} == settings
    with quiet_spark(session):  # the user's own views bring up what is out of fashion
        assert [view.name for view in session.catalog.listTables()] == ["rows"]
    assert session.table("rows").collect() == [(1,)]
    assert type(session).getActiveSession()._jsparkSession.equals(session._jsparkSession)
    for name in ("array_position", "octet_length"):
        session.sql(f"DROP TEMPORARY FUNCTION {name}")
    session.catalog.dropTempView("rows")


@contextmanager
def settings_of(session: Any, settings: dict[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in settings}
    try:
        _set(session, settings)
        yield
    finally:
        _set(session, before)


def _set(session: Any, settings: dict[str, str]) -> None:
    with quiet_spark(session):  # it says that some are out of fashion
        for name, value in settings.items():
            session.conf.set(name, value)


def agrees_on_types_of_spark(spark: Running) -> None:
    """Collations, padded texts, bytes, whole numbers of all widths, decimals and floats, as cells and as identifiers."""
    session = spark.session
    session.sql("CREATE TABLE padded (padded CHAR(6)) USING parquet")
    session.sql("INSERT INTO padded VALUES ('a'), ('A'), ('b ')")
    columns = {
        "padded": "padded",
        "collated": "rtrim(padded) COLLATE UTF8_LCASE",
        "bytes": "CAST(rtrim(padded) AS BINARY)",
    }
    selected = [f"{text} AS {name}" for name, text in columns.items()]
    selected += ["CASE WHEN padded = 'b' THEN CAST(X'ff61' AS STRING) ELSE 'a' END AS broken", "void(NULL) AS nothing"]
    frame = session.table("padded").selectExpr(*(text.replace("void(NULL)", "NULL") for text in selected))
    levels = dc.Categorical(["b", "a", "A"])
    schema = dc.Schema(
        {
            **dict.fromkeys(columns, levels),
            "broken": dc.Categorical(["a", "\ufffda"]),
            "nothing": dc.Count(5, missing=3),
        }
    )
    data = dc.open(frame, schema, id="t")
    asked = [Counts.over(data.schema, name, name) for name in (*columns, "broken")]
    query = Statistics(data.schema, (*asked, Sum.of(data.schema, "nothing", "nothing")))
    found = plain(data.source.statistics(query))
    assert found == {**{name: [1, 1, 1] for name in columns}, "broken": [2, 1], "nothing": 3 * (2 * 3 - 5)}
    session.sql("DROP TABLE padded")


IDENTIFIERS: dict[str, Any] = {
    "texts": pa.array(
        ["17", "017", "17.0", "", None, "\N{REPLACEMENT CHARACTER}", "a\0b", "Ann", "ann", "Ü" * 40, "17"]
    ),
    "whole": pa.array([17, -1, 0, None, 2**63 - 1, -(2**63), 17, 2**53, 2**53 + 1, 5, 5]),
    "small": pa.array([17, -1, 0, None, 127, -128, 17, 7, 8, 5, 5], pa.int8()),
    "floats": pa.array(
        [17.0, -0.0, 0.0, None, np.nan, np.inf, 2.0**53, 2.0**53 - 1, 0.5, -3.0, 17.0], from_pandas=False
    ),
    "decimals": pa.array(
        [
            Decimal(text) if text else None
            for text in ("17.00", "17.10", "0.00", "-0.50", "", "100.00", "10.00", "1.00", "17.00", "0.05", "99.99")
        ],
        pa.decimal128(10, 2),
    ),
    "large": pa.array(
        [
            Decimal(text) if text else None
            for text in ("9" * 38, "1", "10", "", "-" + "9" * 38, "7", "8", "70", "700", "7", "0")
        ],
        pa.decimal128(38, 0),
    ),
    "deep": pa.array(
        [
            Decimal(text) if text else None
            for text in ("0", "1e-10", "1e-1", "", "1e-20", "1e-2", "1e-30", "-1e-30", "1", "10", "-0.5")
        ],
        pa.decimal128(38, 30),
    ),
    "truth": pa.array([True, False, None] * 3 + [True, True]),
}


def agrees_on_identifiers(spark: Running) -> None:
    """The same name for every cell, and nobody's where they are nobody's."""
    frame = spark.session.createDataFrame(pa.table({**IDENTIFIERS, "x": range(11)}))
    for kind, cells in IDENTIFIERS.items():
        schema = dc.Schema({"x": dc.Count(16)}, unit=dc.Person(kind, max_records=1))
        with settings_of(spark.session, {"spark.sql.ansi.enabled": "false"} if kind == "deep" else {}):
            source = engine.opened_in_spark(frame, schema, "t")
        found = sorted(source.session.table(ROWS).collect())
        assert [person for _, person in found] == [known(text_of_identifier(cell)) for cell in cells.to_pylist()], kind


def refuses_what_is_no_such_table(spark: Running) -> None:
    session = spark.session
    table = session.sql("SELECT 1.5e0 AS x, 'a' AS k, TIMESTAMP'2026-01-01' AS t, array(1) AS l, INTERVAL 1 DAY AS d")
    x, k = {"x": dc.Bounded(0, 2)}, {"k": dc.Bounded(0, 2)}
    asked = [
        (table, k, r"Schema.columns\['k'\] must be a number in Spark, got a text"),
        (table, {"t": dc.Count(3)}, r"Schema.columns\['t'\] must be texts, numbers or booleans .* got type timestamp"),
        (table, {"l": dc.Categorical(["a", "b"])}, "got type array"),
        (table, {"d": dc.Count(3)}, "got type daytimeinterval"),
        (table, {"X": dc.Count(3)}, "'X', which it does not have"),
        (table.selectExpr("x", "k AS x"), x, "'x', which it has 2 times"),
        (table.selectExpr("rand() AS x"), x, "made by chance"),
        (table.where("rand() < 0.5"), x, "made by chance"),
        (session.readStream.format("rate").load().selectExpr("1e0 AS x"), x, "got a stream"),
    ]
    for frame, columns, words in asked:
        with pytest.raises(SchemaError, match=words):
            dc.open(frame, dc.Schema(columns), id="t")
    with pytest.raises(SchemaError, match=r"open\.id must be a text"):
        dc.open(table, dc.Schema(x))
    assert dc.open(table.selectExpr("x", "rand() AS r"), dc.Schema(x), id="t").schema.n == 1  # nobody asks for r


def reads_what_a_study_names(spark: Running, folder: Path) -> None:
    """A path beside the study and a table, by the session that is there; everything else is one sentence."""
    table = pa.table({"x": [0.5, 1.5, None]})
    pq.write_table(table, folder / "visits.parquet")
    spark.session.createDataFrame(table).createOrReplaceTempView("visits")
    schema = dc.Schema({"x": dc.Bounded(0, 2, missing=1)})
    for name in ("visits.parquet", str(folder / "visits.parquet"), "visits"):
        data = study_data({"spark": name}, None)
        assert data.columns(folder) == ["x"]
        opened = data.open(folder, schema, "t")
        query = Statistics(opened.schema, (Sum.of(opened.schema, "x", "x"),))
        assert plain(opened.source.statistics(query)) == plain(dc.open(table, schema, id="t").source.statistics(query))
    spark.session.catalog.dropTempView("visits")
    for name in ("none.parquet", "none", "range(5)", "visits; DROP TABLE visits", "a.csv", "s3a://key:secret@bucket/t"):
        with pytest.raises(SchemaError, match=r"^Study\.data\.spark must") as caught:
            study_data({"spark": name}, None).open(folder, schema, "t")
        assert name not in str(caught.value)
        assert caught.value.__context__ is None


SECRET = "the secret of row 7"


def says_nothing_of_what_fails(spark: Running) -> None:
    """A cast of the user's own, in ANSI mode, fails with the cell in its message; without us, Spark prints it, too."""
    session = spark.session
    frame = session.range(9).selectExpr(f"if(id = 7, CAST('{SECRET}' || id AS DOUBLE), 1e0) AS x")
    data = dc.open(frame, dc.Schema({"x": dc.Bounded(0, 2)}), id="t")
    query = Statistics(data.schema, (Sum.of(data.schema, "x", "x"),))
    before = spark.said.read_bytes()
    with pytest.raises(ReleaseError) as caught:
        data.source.statistics(query)
    assert str(caught.value) == "the source could not be read: no statistic was computed"
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert spark.said.read_bytes() == before


def says_what_fails_without_us(spark: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """The planted engine lets Spark talk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "quiet_spark", lambda session: contextmanager(lambda: iter([None]))())
        before = len(spark.said.read_bytes())
        says = spark.session.range(9).selectExpr(f"if(id = 7, CAST('{SECRET}' || id AS DOUBLE), 1e0) AS x")
        data = dc.open(says, dc.Schema({"x": dc.Bounded(0, 2)}), id="t")
        with pytest.raises(ReleaseError):
            data.source.statistics(Statistics(data.schema, (Sum.of(data.schema, "x", "x"),)))
        assert SECRET.encode() in spark.said.read_bytes()[before:]
        assert SECRET in capfd.readouterr().err


def finds_one_changed_cell(spark: Running) -> None:
    table = typed(table_of(300))
    schema = of_persons(EXCLUDING, 3)
    data, own = (dc.open(source, schema, id="t") for source in (spark.frame(table), table))
    query = query_of(own.schema)
    ages = table["age"].to_pylist()
    place = next(i for i, who in enumerate(table["who"].to_pylist()) if who == "x" * 50)
    ages[place] = 3.25 if ages[place] != 3.25 else 4.5
    twin = table.set_column(table.column_names.index("age"), "age", pa.array(ages, pa.float64()))
    found = plain(dc.open(spark.frame(twin), schema, id="t").source.statistics(query))
    assert found == plain(dc.open(twin, schema, id="t").source.statistics(query))
    assert found != plain(data.source.statistics(query))


NASTY = ["1", "2.00", "", None, "nan", "1e400", "y" * 5000, "a\x00b", "-2,5e0"]
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "who": (pa.string(), [*NASTY, "\N{REPLACEMENT CHARACTER}", "ann", "z" * 9]),
    "words": (pa.string(), NASTY),
    "numbers": (pa.string(), NASTY),
    "others": (pa.string(), NASTY),
    "graded": (pa.float64(), [*cells_of("floats"), None]),
    "bounded": (pa.float64(), [*cells_of("floats"), 5e-324, None]),
    "left out": (pa.float32(), [*cells_of("floats")[:6], math.nan, math.inf, None]),
    "priced": (pa.decimal128(38, 9), [Decimal(text) for text in ("0", "1", "3.5", "-1e28", "1e28", "1e-9")] + [None]),
    "whole": (pa.int64(), [0, 1, 2**63 - 1, -(2**63), 2**53 + 1, None]),
    "truth": (pa.bool_(), [True, False, None]),
}
ASKED: dict[str, Any] = {
    "words": COLUMNS["words, left out"],
    "numbers": COLUMNS["numbers, counts as the second"],
    "others": COLUMNS["accents, others"],
    "graded": dc.Categorical([1, 2, "3.5"], missing=2),
    "bounded": dc.Bounded(-3, 110.5, missing=40.25),
    "left out": dc.Count(20, missing="exclude"),
    "priced": dc.Bounded(0, 9),
    "whole": dc.Count(2**31 - 1),
    "truth": dc.Binary(missing="exclude"),
}


PLAIN: dict[str, Any] = {
    "who": "ann",
    "words": "yes",
    "numbers": "2",
    "others": "x",
    "graded": 2.0,
    "bounded": 50.0,
    "left out": 3.0,
    "priced": Decimal(2),
    "whole": 5,
    "truth": True,
}


def neighbours_have_equal_events(spark: Running, pairs: int = 5) -> None:
    """One changed cell, hostile, in one column: the same shapes and silence, a bounded move, and DuckDB's bits."""
    draw = random.Random(9)
    changes = [(name, i) for name, (_, cells) in TYPES.items() for i, _ in enumerate(cells)]
    rows = [
        PLAIN
        | {"who": f"p{i // 3}"}
        | ({} if i % 2 else {name: draw.choice(cells) for name, (_, cells) in TYPES.items()})
        for i in range(40)
    ]
    for unit in (dc.Record(), dc.Person("who", max_records=2)):
        events, answers = set(), []
        for name, i in [("bounded", 0), *draw.sample(changes, min(pairs, len(changes)))]:
            changed = [*rows, PLAIN | {name: TYPES[name][1][i]}]
            columns = {
                column: pa.array([row[column] for row in changed], kind, from_pandas=False)
                for column, (kind, _) in TYPES.items()
            }
            table = pa.table(columns)
            schema = dc.Schema(ASKED, relation="add-remove", n_max=99, unit=unit)
            data = dc.open(spark.frame(table, 1), schema, id="t")
            query = hostile_query(data.schema)
            found = data.source.statistics(query)
            assert plain(found) == plain(dc.open(table, schema, id="t").source.statistics(query)), (str(unit), name, i)
            events.add((data.schema, tuple((name, array.shape, str(array.dtype)) for name, array in found.items())))
            answers.append(found)
        assert len(events) == 1
        assert int(found["words"].sum()) > 9
        moves = 2 if isinstance(unit, dc.Record) else 4  # its old and its new owner have other rows each
        assert 0 < max(l1_distance(query, one, answers[0]) for one in answers) <= moves * query.l1


def runs_what_its_guide_shows(spark: Running, folder: Path) -> None:
    """The block of docs/guides/spark.md, on a table of the name that it has there."""
    page = Path(__file__).parents[2] / "docs" / "guides" / "spark.md"
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    spark.session.sql("CREATE DATABASE clinic")
    visits = pa.table({"patient_id": list(range(40)) * 2, "smoker": [0, 1] * 40, "age": list(range(20, 100))})
    spark.frame(visits).write.saveAsTable("clinic.visits")
    ledger = dc.Ledger.create(folder / "guide.ledger", dc.Budget(epsilon=1.0))
    held = {"spark": spark.session, "ledger": ledger}
    exec(compile(code, page.name, "exec"), held)
    assert held["release"].private
    spark.session.sql("DROP DATABASE clinic CASCADE")


def hostile_query(schema: dc.Schema) -> Statistics:
    """Counts, sums and products of every column of `ASKED`."""
    levels = [name for name, column in ASKED.items() if column.holds == "levels"]
    sums = [Sum.of(schema, name, name) for name in ("bounded", "priced", "whole", "left out")]
    counts = [Counts.over(schema, name, name) for name in levels]
    return Statistics(schema, (*counts, *sums, Sum.of(schema, "product", "bounded", "priced", within="truth")))


PARTS = [
    agrees_on_tables_of_persons,
    agrees_on_hostile_cells,
    agrees_on_many_levels,
    agrees_on_sums_in_every_arithmetic,
    agrees_on_influences,
    agrees_on_hostile_names,
    agrees_on_types_of_spark,
    agrees_on_identifiers,
    refuses_what_is_no_such_table,
    says_nothing_of_what_fails,
    finds_one_changed_cell,
    answers_every_thread_by_its_own_scan,
    neighbours_have_equal_events,
]


def test_spark_is_the_embedded_engine_bit_for_bit(
    spark: Running, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = spark.said.read_bytes()
    own = (partial(part, folder=tmp_path) for part in (reads_what_a_study_names, runs_what_its_guide_shows))
    for part in (*PARTS, *own):
        part(spark)
        assert spark.said.read_bytes() == before, getattr(part, "__name__", "studies")
        assert capfd.readouterr() == ("", ""), getattr(part, "__name__", "studies")
    says_what_fails_without_us(spark, capfd)


@pytest.mark.audit
def test_every_hostile_cell_leaves_the_same_events(spark: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """One table for each of about eighty cells, as records and as persons."""
    before = spark.said.read_bytes()
    neighbours_have_equal_events(spark, pairs=999)
    assert spark.said.read_bytes() == before
    assert capfd.readouterr() == ("", "")
