"""What PostgreSQL is asked to compute: a cell once, however many statistics it is in, and no cap that its type has."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from postgres_tables import PLACE, stored

import discreet as dc
from discreet.queries.counts_and_sums import Sum
from discreet.queries.statistics import Statistics
from discreet.sources.engines.base import ROWS
from discreet.sources.engines.postgres import connected
from discreet.sources.sql.postgres_sql import text_of
from discreet.sources.sql.statements import coded_groups, groupings
from discreet.sources.sql.sum_sql import most_rows
from postgres_server import Server

TYPES = {
    "x": "double precision",
    "y": "numeric",
    "plain": "text",
    "long": "varchar(2000)",
    "short": "varchar(200)",
    "fixed": "char(9)",
    "id": "uuid",
}
CAPPED = ("plain", "long")  # 2,000 letters are 8,000 bytes: more than a level and the room for a number
UNCAPPED = ("short", "fixed", "id")
NUMBERS = dc.Schema({"x": dc.Bounded(0, 100, grid=0.25), "y": dc.Bounded(0, 100, grid=0.25)})
TEXTS = dc.Schema({name: dc.Categorical(["yes", "no"]) for name in (*CAPPED, *UNCAPPED)})


@pytest.fixture(scope="module")
def url(postgres: Server) -> Iterator[str]:
    with stored(postgres, TYPES, [], "CREATE TABLE clinic.other (z int)") as address:
        with psycopg.connect(address) as connection:
            connection.execute("CREATE VIEW clinic.seen AS SELECT * FROM clinic.rows")
        yield address


def computed_below(url: str) -> list[int]:
    """How many roundings and readings of decimals every step of the plan hands to the one above, the scan last."""
    data = dc.open(url, NUMBERS, table=PLACE)
    sums = [Sum.of(data.schema, name, name) for name in NUMBERS.columns]
    products = [Sum.of(data.schema, a + b, a, b, bits=9) for a, b in ("xx", "xy", "yy")]
    query = Statistics(data.schema, (*sums, *products))
    (grouping,) = groupings(query)
    source: Any = data.source
    scan = text_of(coded_groups(query, grouping, source.held, ROWS, "t", most_rows(query)))
    with psycopg.connect(url) as connection:
        asked = f"EXPLAIN (VERBOSE, COSTS OFF) WITH {source.relations} {scan}"
        lines = [line.strip() for (line,) in connection.execute(asked.encode()).fetchall()]
    _, *outputs = [line for line in lines if line.startswith("Output: ")]
    return [found.count("width_bucket(") + found.count("ELSE (t.y)::double precision END") for found in outputs]


def test_every_cell_is_computed_once(url: str) -> None:
    """Five sums of two columns: two roundings below the sums, and below them one decimal that becomes a double."""
    assert computed_below(url) == [2, 1]


def test_without_a_fence_the_server_computes_at_every_use(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the sums are handed bare cells."""
    monkeypatch.setattr("discreet.sources.sql.postgres_sql.once", lambda select: select)
    assert computed_below(url) == [0]


def test_texts_are_capped_unless_their_type_is(url: str) -> None:
    """A view repeats what somebody declared, and is not relied on."""
    for table, capped in ((PLACE, CAPPED), ("clinic.seen", (*CAPPED, "short", "fixed"))):
        source: Any = dc.open(url, TEXTS, table=table).source
        asked = source.relations
        for name in TEXTS.columns:
            assert (f'OCTET_LENGTH("raw"."{source.held[name].column}")' in asked) == (name in capped), (table, name)


def grouped_as(url: str, schema: dc.Schema, table: str = PLACE) -> str:
    """What the engine names the rows by, in a transaction of now."""
    source: Any = dc.open(url, schema, table=table, id="t").source
    with connected(source.url) as cursor:
        return str(source.relations_of(cursor))


def is_capped(relations: str) -> bool:
    return "OCTET_LENGTH" in relations


def test_a_table_whose_rows_are_whole_within_pages_needs_no_cap(postgres: Server) -> None:
    """Any row, column or part that is kept apart brings the caps back, and so does whatever may hold anything."""
    texts = dc.Schema({"x": dc.Categorical(["yes", "no"])})
    others = dc.Schema({"x": dc.Categorical(["yes", "no", "?"], other="?")})
    numbers = dc.Schema({"x": dc.Categorical(["1", "2"])})
    before = (
        "CREATE TABLE clinic.parted (x text, y int) PARTITION BY LIST (y)",
        "CREATE TABLE clinic.first PARTITION OF clinic.parted FOR VALUES IN (1)",
        "CREATE TABLE clinic.second PARTITION OF clinic.parted FOR VALUES IN (2)",
        "INSERT INTO clinic.parted VALUES ('yes', 1), ('no', 2)",
    )
    with (
        stored(
            postgres, {"x": "text", "notes": "text"}, [["yes", ""], ["no", "z" * 5000], ["z" * 5000, ""]], *before
        ) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        connection.execute("CREATE VIEW clinic.seen AS SELECT * FROM clinic.rows")
        connection.execute("CREATE MATERIALIZED VIEW clinic.kept AS SELECT * FROM clinic.rows")
        for table in (PLACE, "clinic.parted", "clinic.kept"):
            assert not is_capped(grouped_as(url, texts, table)), table
        assert is_capped(grouped_as(url, texts, "clinic.seen"))
        assert is_capped(grouped_as(url, others))
        assert is_capped(grouped_as(url, numbers))
        counts = [counted(url, texts)]
        connection.execute(
            "INSERT INTO clinic.second SELECT string_agg(md5(i::text), ''), 2 FROM generate_series(1, 500) t(i)"
        )
        connection.execute(
            "UPDATE clinic.rows SET notes = (SELECT x FROM clinic.second WHERE length(x) > 9) WHERE x = 'no'"
        )
        for table in (PLACE, "clinic.parted"):
            assert is_capped(grouped_as(url, texts, table)), table
        counts.append(counted(url, texts))
    assert counts == [[2, 1]] * 2  # the long text is no level, in either way


def counted(url: str, schema: dc.Schema) -> list[int]:
    data = dc.open(url, schema, table=PLACE, id="t")
    found = data.source.statistics(dc.DirichletCategorical("x").query(data.schema))["counts"]
    return [int(n) for n in found]
