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
from discreet.sources.sql.cell_sql import most_rows
from discreet.sources.sql.postgres_sql import text_of
from discreet.sources.sql.statements import coded_groups, groupings
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
    return [found.count("floor(") + found.count("ELSE (t.y)::double precision END") for found in outputs]


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
