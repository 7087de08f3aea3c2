"""A cell of a PostgreSQL table means what the oracle says, whatever its type; what cannot be read so is refused."""

import random
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from cell_oracle import meaning
from hostile_cells import COLUMNS, FLOATS, cells_of
from postgres_tables import PLACE, stored
from test_one_meaning_of_a_cell import ALONE, TOGETHER, by_statistics, schema_of

import discreet as dc
from discreet.schema.cell import number_of
from discreet.sources.sql import level_sql, postgres_sql
from postgres_server import Server

DECIMALS = ["1.00", "3.50", "0.10", "2", "-0.0", "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1e-323"]
DECIMALS += ["1.7976931348623158e308", "1.7976931348623159e308", "2.4703282292062327e-324", "2.5e-324", "0." + "9" * 60]
DECIMALS += ["9007199254740993", "110.5", "110.50000000000000000001", "1" + "0" * 307, "9" * 500]

HOLDERS: dict[str, tuple[str, list[Any]]] = {
    "text": ("text", [cell for cell in cells_of("well-formed texts") if "\x00" not in (cell or "")]),
    "varchar": ("varchar(9)", ["yes", "no", "1.0", "1e0", " 1 ", "", None]),
    "char": ("char(9)", ["yes", "no", "1.0", "1e0", "x", "", None]),
    "citext": ("words.citext", ["yes", "YES", "Yes", "No", "1", None]),
    "enum": ("words.answer", ["yes", "no", "Yes", "1.0", None]),
    "domain": ("words.short", ["yes", "no", "3.5", None]),
    "doubles": ("double precision", [*FLOATS, 5e-324, -5e-324, 1e15, 1e15 + 0.5, 4.2e-5, None]),
    "reals": ("real", [0.0, -0.0, 1.0, 2.5, 0.1, 3.5, float("inf"), float("nan"), None]),
    "whole": ("bigint", [0, 1, 2, 3, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]),
    "small": ("words.small", [0, 1, 2, -1, None]),
    "truth": ("boolean", [True, False, None]),
    "numeric": ("numeric", [Decimal(cell) for cell in DECIMALS] + [None]),
    "short numeric": ("numeric(30, 9)", [Decimal(cell) for cell in ("1", "3.5", "0.1", "NaN", "-2", "1e15")] + [None]),
}
BEFORE = (
    "CREATE SCHEMA words",
    # as the extension makes it
    "CREATE TYPE words.citext",
    "CREATE FUNCTION words.citextin(cstring) RETURNS words.citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT",
    "CREATE FUNCTION words.citextout(words.citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT",
    "CREATE TYPE words.citext (INPUT = words.citextin, OUTPUT = words.citextout, CATEGORY = 'S', COLLATABLE = true)",
    "CREATE CAST (words.citext AS text) WITHOUT FUNCTION AS IMPLICIT",
    "CREATE TYPE words.answer AS ENUM ('yes', 'no', 'Yes', '1.0')",
    "CREATE DOMAIN words.short AS varchar(5) CHECK (VALUE <> 'never')",
    "CREATE DOMAIN words.smaller AS smallint",
    "CREATE DOMAIN words.small AS words.smaller CHECK (VALUE < 100)",
)
TEXTS = ("text", "varchar", "char", "citext", "enum", "domain")


def wrong_cells(server: Server, holder: str, *, alone: bool = True) -> dict[Any, Any]:
    """Cells that mean something else than the oracle says."""
    kind, cells = HOLDERS[holder]
    names = [name for name, column in COLUMNS.items() if column.holds == "levels" or holder not in TEXTS]
    types = {**dict.fromkeys(names, kind), "y": "int", "i": "text"}
    rows = ([*[cell] * len(names), 0, f"row {i}"] for i, cell in enumerate(cells))
    wrong = {}
    with stored(server, types, rows, *BEFORE) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dc, "open", partial(dc.open, table=PLACE))
        for asked in (TOGETHER, *(ALONE if alone else ())):
            columns = {name: column for name, column in asked.items() if name in names}
            if not columns:
                continue
            for name, found in by_statistics(url, schema_of(columns, len(cells))).items():
                # the rule of texts for bytes at the end of char(n): blanks that fill up are no part of them
                read = [cell.rstrip(" ") if holder == "char" and cell is not None else cell for cell in cells]
                expected = [meaning(columns[name], cell) for cell in read]
                pairs = zip(cells, found, expected, strict=True)
                wrong |= {(name, repr(cell)): (f, e) for cell, f, e in pairs if f != e}
    return wrong


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_cell_of_every_type_means_what_the_oracle_says(postgres: Server, holder: str) -> None:
    assert wrong_cells(postgres, holder) == {}


@pytest.mark.parametrize("holder", ["text", "doubles", "numeric"])
def test_levels_in_a_table_of_their_own_are_the_same_levels(
    postgres: Server, holder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_sql, "MOST_WRITTEN", 0)
    assert wrong_cells(postgres, holder, alone=False) == {}


@pytest.mark.parametrize(
    ("holder", "module", "rule", "planted"),
    [
        ("text", level_sql, "level_numbers", lambda column: {}),
        ("doubles", level_sql, "number_text", lambda value: None),
    ],
)
def test_a_rule_of_its_own_is_found(
    postgres: Server, holder: str, module: Any, rule: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, planted)
    assert wrong_cells(postgres, holder, alone=False) != {}


def test_a_text_is_the_number_that_every_source_takes_it_for(postgres: Server) -> None:
    """20,000 texts of fragments of numbers, and long ones: none stops the statement, and each is the same double."""
    draw = random.Random(16)
    fragments = ["1", "2", "3.5", "0", ".", "e", "E", "+", "-", " ", "_", "inf", "nan", "9", "308", "-400", "\t", "\v"]
    fragments += ["\x1c", "\x85", "\u00a0", "x", "5e-324", "00", "٣", "d", "(", "99999", "ınf", "K", "'", "\\", "%"]
    texts = ["".join(draw.choices(fragments, k=draw.randint(1, 6))) for _ in range(20_000)]
    texts += ["1" * 310, "0." + "0" * 330 + "1", "1.7976931348623159e308", "2.4e-324", "2.5e-324", "9" * 400 + "e-390"]
    texts += ["1e" + "0" * 3000 + "5", "0" * 4000 + "1", "." + "0" * 4000 + "1e4001", "1" * 4990, "1e9999", "1e-9999"]
    texts += ["-0e999999999999", "1" * 4000 + "e-4000", "1e-" + "9" * 3000, "5" * 5001]
    with stored(postgres, {"t": "text"}, ([text] for text in texts)) as url:
        import psycopg

        with psycopg.connect(url) as connection:
            number = postgres_sql._number("t")
            found = dict(connection.execute(f"SELECT t, {number} FROM clinic.rows").fetchall())  # type: ignore[arg-type]
    for text in texts:
        value = number_of(text) if len(text) <= postgres_sql.LONGEST_NUMBER else None
        finite = None if value is None or abs(value) == float("inf") else value
        assert found[text] in (value, finite), text[:50]
    assert sum(value is not None for value in found.values()) > 500


def test_texts_are_compared_by_their_bytes() -> None:
    """Collations may hold unequal texts for equal; the server of the tests has none that does."""
    for normal in (postgres_sql.normal_cell("t.x", "text", -1, False), postgres_sql.normal_owner("t.x", "text")):
        assert normal == ('CAST(t.x AS TEXT) COLLATE "C"', "text")


REFUSED = {
    "int[]": "type _int4",
    "bytea": "type bytea",
    "date": "type date",
    "timestamptz": "type timestamptz",
    "json": "type json",
    "interval": "type interval",
    "money": "type money",
    "words.pair": "type pair",
    "int4range": "type int4range",
    '"char"': "type char",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_are_refused_by_name(postgres: Server, kind: str) -> None:
    before = ("CREATE SCHEMA words", "CREATE TYPE words.pair AS (a int, b int)")
    with stored(postgres, {"x": kind, "y": "int"}, [], *before) as url:
        with pytest.raises(dc.SchemaError, match=r"must be texts, numbers or booleans in the source") as caught:
            dc.open(url, dc.Schema({"x": dc.Count(3)}), table=PLACE)
        assert REFUSED[kind] in str(caught.value)
        assert dc.open(url, dc.Schema({"y": dc.Count(3)}), table=PLACE).schema.n == 0


@pytest.mark.parametrize("column", [dc.Count(3), dc.Bounded(0, 1)])
def test_numbers_that_are_texts_are_refused(postgres: Server, column: Any) -> None:
    with (
        stored(postgres, {"x": "text"}, [["1"], ["secret"]]) as url,
        pytest.raises(dc.SchemaError, match=r"Schema.columns\['x'\] must be numbers in the table, got texts"),
    ):
        dc.open(url, dc.Schema({"x": column}), table=PLACE)
