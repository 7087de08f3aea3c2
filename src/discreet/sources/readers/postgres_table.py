"""A table of a PostgreSQL database as its catalogue declares it: types are read here, never a cell.

The address is a URL without a password: a password comes from PGPASSWORD, a password file or a service file, and never
stands in a study, a command line or a recipe. Where the address is another machine and nothing says how the connection
is encrypted, it must be.

| type in the catalogue | held as |
|---|---|
| `smallint` `integer` `bigint` | whole numbers |
| `real` `double precision`, `numeric` | doubles, the nearest; identifiers are exact digits |
| `boolean` | truth values |
| `text` `varchar` `char(n)` `name` `uuid`, `citext`, enumerations | texts; `char(n)` without the blanks at its end |
| a domain | what its base type is |

Other types are refused. So is a column of numbers that the table holds as texts: only the embedded engine parses them.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from discreet.errors import SchemaError
from discreet.schema import Schema
from discreet.schema.arrow_cell import columns_read, require_columns, wrong_type
from discreet.schema.cell import Storage, longest_text
from discreet.schema.columns import level_numbers
from discreet.sources.engines.base import ROWS
from discreet.sources.engines.postgres import Postgres, connected
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.sql.cell_sql import RAW, Held, handed_over, whole

__all__ = ["NO_SECRETS", "UNREACHED", "encrypted", "has_password", "postgres_columns", "postgres_table"]

LONGEST_TIMEOUT = 2_000_000  # seconds: the server counts milliseconds in 32 bits

UNREACHED = (
    "open.source must be a database that this role may open, and open.table one that it may read whole; this one could "
    "not be read. Check host, database and role, sslmode, and where the password comes from: PGPASSWORD, a password "
    "file or a service file"
)

RELATION = """
SELECT c.oid, c.relkind::text, pg_catalog.row_security_active(c.oid), pg_catalog.getdatabaseencoding()::text,
    pg_catalog.current_setting('server_version_num')::int
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s"""
KINDS = ("r", "p", "v", "m", "f")  # tables, partitioned ones, views, materialised ones, foreign tables
KEEPS_TYPES = ("r", "p")  # what is written there is as long as declared; others repeat what somebody declared
OLDEST = 14_00_00  # WIDTH_BUCKET of older ones rounds once more, and nobody mends them any longer
LETTERS, LARGEST_LETTER = ("varchar", "bpchar"), 4  # types whose length is declared in letters, of so many bytes
LONGEST_OF_TYPE = {"name": 63, "uuid": 36}
LONGEST_OF_ENUMERATION = 63

COLUMNS = """
WITH RECURSIVE based AS (
    SELECT a.attnum, a.attname::text AS name, a.atttypid AS type, a.atttypmod AS typmod,
        pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS readable
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT b.attnum, b.name, t.typbasetype, CASE WHEN b.typmod < 0 THEN t.typtypmod ELSE b.typmod END, b.readable
    FROM based b JOIN pg_catalog.pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
)
SELECT b.name, t.typname::text, t.typtype::text, n.nspname::text, b.typmod, b.readable
FROM based b JOIN pg_catalog.pg_type t ON t.oid = b.type JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY b.attnum"""

STORAGES: dict[str, Storage] = {
    "bool": "boolean",
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "uuid": "text",
}
COMPUTED = ("boolean", "decimal")  # cells that may be more than a column in the normal form
SECRETS = {"password", "sslpassword", "oauth_client_secret"}
NO_SECRETS = (
    "must be an address without a password, got one with it: set PGPASSWORD, or name a password file (PGPASSFILE, "
    "~/.pgpass) or a service (postgresql:///?service=name)"
)

TABLE = re.compile(r'("(?:[^"]|"")+"|[^".]+)\.("(?:[^"]|"")+"|[^".]+)')


@dataclass(frozen=True)
class CatalogueColumn:
    """A column of the catalogue: the name of its type, how its cells are held, None if they are not scanned.

    `longest` is how many bytes a text of the type has at most, None where the catalogue does not know.
    """

    kind: str
    storage: Storage | None
    typmod: int
    readable: bool
    longest: int | None


def postgres_table(source: str, schema: Schema, table: Any, id: str, timeout: Any) -> Postgres:  # noqa: A002
    """The table, as the catalogue declares it now."""
    from discreet.sources.sql.postgres_sql import normal_cell, normal_owner, once, quoted, text_of

    if timeout is not None and not (
        isinstance(timeout, int | float) and not isinstance(timeout, bool) and 0.001 <= timeout <= LONGEST_TIMEOUT
    ):
        raise SchemaError(f"open.timeout must be seconds from 0.001 to {LONGEST_TIMEOUT}, got {timeout!r}")
    if "\0" in id:
        raise SchemaError("open.id must be a text without U+0000, which PostgreSQL cannot hold, got one with it")
    address, place = _address(source), _place(table)
    found = _declared(address, place, timeout)
    require_columns(columns_read(schema), list(found))
    storages = {name: _storage(name, found[name]) for name in columns_read(schema)}
    _check_texts(schema, storages)
    selected, held, persons = [], {}, []
    for i, (name, column) in enumerate(schema.columns.items()):
        cell = f"t.{quoted(name)}"
        written, storage = normal_cell(cell, storages[name], found[name].typmod, column.holds == "numbers")
        selected.append(f"{written} AS c{i}")
        held[name] = Held(f"c{i}", storage, found[name].longest)
    owner = schema.unit.identifier
    if owner is not None:
        written, storage = normal_owner(f"t.{quoted(owner)}", storages[owner])
        selected.append(f"{written} AS owner")
        persons = [identifier(Owner("owner", storage), RAW)]
    raw = f"SELECT {', '.join(selected)} FROM {quoted(*place)} AS t"  # noqa: S608  # names in quotes
    is_computed = any(storages[name] in COMPUTED for name in schema.columns)
    named = f"{RAW} AS ({once(raw) if is_computed else raw}), {ROWS} AS"
    relations, inline = (f"{named} ({text_of(handed_over(schema, held, persons, cap))})" for cap in (None, whole))
    return Postgres(address, relations, inline, quoted(*place), held, id, owner is not None, timeout)


def postgres_columns(source: str, table: Any) -> list[str]:
    """The names of the columns of a table."""
    return list(_declared(_address(source), _place(table), None))


def _address(source: str) -> str:
    """What connects to the database; never repeated in an error, since it may hold a password."""
    try:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo
    except ImportError:
        raise SchemaError("open.source must be read by psycopg, which is not installed: discreet[postgres]") from None
    given: dict[str, Any] | None = None
    with suppress(Exception):  # its text may quote the address
        given = conninfo_to_dict(source)
    if given is None:
        raise SchemaError("open.source must be an address postgresql://role@host/database, got one that is none")
    if has_password(source) or not SECRETS.isdisjoint(given):
        raise SchemaError(f"open.source {NO_SECRETS}")
    return make_conninfo("", **encrypted(given))


def encrypted(given: Mapping[str, Any]) -> dict[str, Any]:
    """What connects, with encryption demanded of another machine where nothing else says how."""
    found = dict(given)
    said = {"sslmode", "service"} & given.keys() or {"PGSSLMODE", "PGSERVICE"} & os.environ.keys()
    hosts = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "").split(",")
    if not said and not all(
        host.startswith(("/", "@")) or host in ("", "localhost", "127.0.0.1", "::1") for host in hosts
    ):
        found["sslmode"] = "require"
    return found


def has_password(address: str) -> bool:
    """Whether an address holds one, or what may be one."""
    owner, at, _ = address.partition("://")[2].partition("?")[0].rpartition("@")
    return (bool(at) and ":" in owner) or any(key in unquote(address).lower() for key in ("password=", "secret="))


def _place(table: Any) -> tuple[str, str]:
    """The schema and the name of a table."""
    found = TABLE.fullmatch(table) if isinstance(table, str) else None
    if found is None or "\0" in table:
        raise SchemaError(
            "open.table must be schema.table, each as the catalogue writes it (in double quotes where it has a dot), "
            f"got {table!r}"
        )
    first, second = (part[1:-1].replace('""', '"') if part[0] == '"' else part for part in found.groups())
    return first, second


def _declared(address: str, place: tuple[str, str], timeout: float | None) -> dict[str, CatalogueColumn]:
    """The columns of the table by name."""
    with connected(address, timeout) as cursor:
        relation = cursor.execute(RELATION, place).fetchone()
        columns = [] if relation is None else cursor.execute(COLUMNS, relation[:1]).fetchall()
    if relation is None or relation[1] not in KINDS:
        raise SchemaError(
            f"open.table must be a table or view of the database, got {'.'.join(place)!r}, which it has not"
        )
    if relation[2]:
        raise SchemaError(
            "open.table must be a table without row-level security for this role, got one with it: which rows it would "
            "hide decides who is in the data, and must be declared, as by a view"
        )
    if relation[4] < OLDEST:
        raise SchemaError(f"open.source must be a server of version {OLDEST // 10_000} or later, got an older one")
    if relation[3] != "UTF8":
        raise SchemaError(f"open.source must be a database in the encoding UTF8, got {relation[3]}")
    found = {}
    for name, kind, sort, home, typmod, readable in columns:
        ours = home == "pg_catalog" and sort == "b"
        storage = STORAGES.get(kind) if ours else "text" if sort == "e" or kind == "citext" else None
        longest = LONGEST_OF_ENUMERATION if sort == "e" else LONGEST_OF_TYPE.get(kind) if ours else None
        if (
            ours and kind in LETTERS and typmod >= 4 and relation[1] in KEEPS_TYPES
        ):  # the server adds 4 to what was declared
            longest = LARGEST_LETTER * (typmod - 4)
        found[name] = CatalogueColumn(kind, storage, typmod, readable, longest)
    return found


def _storage(name: str, declared: CatalogueColumn) -> Storage:
    if declared.storage is None:
        raise wrong_type(name, declared.kind)
    if not declared.readable:
        raise SchemaError(f"Schema.columns[{name!r}] must be a column that this role may read, got one that it may not")
    return declared.storage


def _check_texts(schema: Schema, storages: Mapping[str, Storage]) -> None:
    """Refuse what PostgreSQL could not read as every other source does."""
    from discreet.sources.sql.postgres_sql import LONGEST_NUMBER

    for name, column in schema.columns.items():
        if storages[name] != "text":
            continue
        if column.holds == "numbers":
            raise SchemaError(
                f"Schema.columns[{name!r}] must be numbers in the table, got texts, which are parsed only in files and "
                "frames: give it a type of numbers, as in a view"
            )
        if any("\0" in level for level in column.compared):
            raise SchemaError(f"Schema.columns[{name!r}] must have levels without U+0000, which PostgreSQL cannot hold")
        if level_numbers(column) and longest_text(column.compared) > LONGEST_NUMBER:
            raise SchemaError(
                f"Schema.columns[{name!r}] must have shorter levels where some are numbers, got a longer one"
            )
