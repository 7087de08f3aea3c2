"""PostgreSQL: the plan runs where the rows are, and whole numbers come home.

Every answer is one read-only REPEATABLE READ transaction that is rolled back in the end: one state of the table, and
nothing is ever written, whatever a view may do. Names are looked up in `pg_catalog` only and everything else is
qualified. Row-level security is switched off, which lets nobody see more: where a policy would hide rows, the server
refuses instead, and no table is taken for another.

What the server says about a failure may quote a row: it becomes one constant sentence, with nothing attached, and no
notice is asked for. An interrupt cancels the statement on the server.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from discreet.errors import ReleaseError
from discreet.queries.losses.base import Loss
from discreet.queries.statistics import Statistics
from discreet.schema.cell import Codes
from discreet.sources.engines.base import ROWS, UNREAD, Engine, Group, Marginals, Session, in_arrays
from discreet.sources.sql.cell_sql import Held
from discreet.sources.sql.statements import Grouping, marginal, used_cells

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Postgres", "connected"]

T = TypeVar("T")

CODED = "coded"  # what a scan gives, while its marginals are taken
COPIED = "copied"  # what a scan gives, while it is sent home

# Whatever a role, a database or the environment says: what is printed, compared and looked up.
SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "row_security": "off",
    "client_min_messages": "error",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "extra_float_digits": "1",
}

# Whether every row of a table and of its parts is whole within a page of the server: then no text is longer than what
# a page can hold compressed, a few megabytes. Longer ones are kept apart, in a table of their own that is asked for its
# size. Foreign tables and views may hold anything.
WITHIN_PAGES = """
WITH RECURSIVE parts AS (
    SELECT pg_catalog.to_regclass(%s)::oid AS oid
    UNION SELECT i.inhrelid FROM parts p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid
)
SELECT pg_catalog.bool_and(
    c.relkind = 'p' OR c.relkind IN ('r', 'm') AND a.amname = 'heap'
    AND (c.reltoastrelid = 0 OR COALESCE(pg_catalog.pg_relation_size(c.reltoastrelid), 1) = 0)
) FROM parts p JOIN pg_catalog.pg_class c ON c.oid = p.oid LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam"""

COPY_HEADER = 19  # bytes: a signature of 11, flags, the length of an extension, which is 0
ROWS_AT_ONCE = 2**17


@dataclass(frozen=True)
class Postgres(Engine):
    """A table, view or foreign table of a database, read by aggregates that the server computes.

    `relations` is SQL that names the rows, `inline` the same where all texts are within pages (`WITHIN_PAGES`),
    `table` what is counted. All are in the server's words. `timeout` is in seconds.
    """

    url: str = field(repr=False)
    relations: str = field(repr=False)
    inline: str = field(repr=False)
    table: str
    held: Mapping[str, Held]
    id: str = ""
    of_persons: bool = False
    timeout: float | None = None
    has_places: ClassVar[bool] = False  # a row that is changed goes where there is room

    def rows_held(self) -> int:
        """The number of rows."""
        counted = f"SELECT COUNT(*) FROM {self.table}"  # noqa: S608  # a name in quotes
        return self._in_transaction(lambda cursor: int(cursor.execute(counted).fetchone()[0]))

    def listed(self, query: Loss) -> "exp.Select":
        """The used rows of a loss in no order: a table has none."""
        return used_cells(query, self.held, ROWS, self.id)

    def asked(self, answer: Callable[[Session], T]) -> T:
        """What is answered within one transaction."""
        return self._in_transaction(lambda cursor: answer(Transaction(cursor, self.relations_of(cursor))))

    def relations_of(self, cursor: Any) -> str:
        """What names the rows in this transaction, whose snapshot is taken: of its rows no more will be kept apart."""
        if self.inline == self.relations:
            return self.relations
        ((is_within_pages,),) = cursor.execute(WITHIN_PAGES, [self.table]).fetchall()
        return self.inline if is_within_pages else self.relations

    def _in_transaction(self, answer: Callable[[Any], T]) -> T:
        try:
            with connected(self.url, self.timeout) as cursor:
                return answer(cursor)
        except KeyboardInterrupt:  # raised anew: frames of the driver hold rows
            interrupted = True
        except Exception:  # its text may quote rows: nothing of it may be kept or attached
            interrupted = False
        if interrupted:
            raise KeyboardInterrupt
        raise ReleaseError(UNREAD)


@dataclass(frozen=True)
class Transaction:
    """A session on the server: one snapshot."""

    cursor: Any
    relations: str

    def rows(self, asked: "exp.Select") -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return list(self.cursor.execute(f"WITH {self.relations} {_text(asked)}").fetchall())

    def marginals(self, query: Statistics, grouping: Grouping, scan: "exp.Select") -> Marginals:
        """One scan, whose small result the server keeps while it sums it up for each set of columns."""
        sums = 1 + len(grouping.products)
        asked = []
        for place, columns in enumerate(grouping.marginals):
            names = ", ".join(f"f{i}" for i in range(len(columns) + sums))
            inside = _text(marginal(query, grouping, columns, CODED))
            numbers = f"CAST(ARRAY[{names}] AS NUMERIC[])"
            asked.append(f"SELECT {place}, {numbers} FROM ({inside}) AS m({names})")  # noqa: S608  # no text but ours
        found: list[list[Group]] = [[] for _ in asked]
        kept = f"{CODED} AS ({_text(scan)})"  # computed once, if there is more than one
        for place, group in self.cursor.execute(
            f"WITH {self.relations}, {kept} {' UNION ALL '.join(asked)}"
        ).fetchall():
            found[place].append(tuple(int(number) for number in group))
        pairs = zip(grouping.marginals, found, strict=True)
        return {columns: in_arrays(groups, grouping, columns) for columns, groups in pairs}

    def pieces(self, asked: "exp.Select", excluded: Sequence[int]) -> Iterator[list[Codes]]:
        """Whole numbers in binary, as the server sends them: 8 bytes each, in rows of one length."""
        cells = ", ".join(f"COALESCE(f{i}, CAST('{code}' AS BIGINT))" for i, code in enumerate(excluded))
        names = ", ".join(f"f{i}" for i in range(len(asked.selects)))
        inside = f"({_text(asked)}) AS {COPIED}({names})"
        scan = f"WITH {self.relations} SELECT {cells} FROM {inside}"  # noqa: S608  # no text but ours
        fields = [("fields", ">i2")]
        for i in range(len(excluded)):
            fields += [(f"bytes{i}", ">i4"), (f"f{i}", ">i8")]
        for rows in _copied(self.cursor, f"COPY ({scan}) TO STDOUT (FORMAT BINARY)", np.dtype(fields)):
            yield [rows[f"f{i}"].astype(np.int64) for i in range(len(excluded))]


def _copied(cursor: Any, statement: str, kind: "np.dtype[Any]") -> Iterator[Any]:
    """The rows of a binary copy, many at a time."""
    held, skipped, enough = bytearray(), COPY_HEADER, ROWS_AT_ONCE * kind.itemsize
    with cursor.copy(statement) as copy:
        for block in copy:
            held += block
            if skipped and len(held) >= skipped:
                del held[:skipped]
                skipped = 0
            if len(held) >= enough:
                whole = len(held) // kind.itemsize
                # the trailer of two bytes is never taken for a row: it is shorter than any
                yield np.frombuffer(bytes(held[: whole * kind.itemsize]), dtype=kind)
                del held[: whole * kind.itemsize]
    whole = len(held) // kind.itemsize
    yield np.frombuffer(bytes(held[: whole * kind.itemsize]), dtype=kind)


def _text(asked: "exp.Select") -> str:
    from discreet.sources.sql.postgres_sql import text_of

    return text_of(asked)


@contextmanager
def connected(url: str, timeout: float | None = None) -> Iterator[Any]:
    """A cursor within a read-only transaction that ends with the block and leaves nothing behind."""
    import psycopg

    with psycopg.connect(url, client_encoding="utf8", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        settings = SETTINGS if timeout is None else SETTINGS | {"statement_timeout": str(round(1000 * timeout))}
        told = ", ".join(["pg_catalog.set_config(%s, %s, true)"] * len(settings))
        cursor.execute(f"SELECT {told}".encode(), [part for setting in settings.items() for part in setting])
        yield cursor
        cursor.execute("ROLLBACK")
