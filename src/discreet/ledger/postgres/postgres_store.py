"""Events in a PostgreSQL database: durable when a write returns, one writer at a time, append-only.

    write   lock the ledger's row · read what came since · work · insert · commit        one transaction
    read    one snapshot, read-only

A writer waits for the row of its ledger, so what it read is still true when it commits; the database checks it again.
`synchronous_commit` is on in every transaction, whatever the server's default, and a server without fsync is refused.

When a connection is lost while a commit is on its way, nobody has said whether it happened. The next connection takes
the row's lock, so the lost one is over, and looks for the very event: it is there, or the work is done again, which
finds by its request key what was paid. So there is never a second spend, and never an answer that was not paid.

A connection is kept for the next use by the process that made it. What the server says becomes a sentence of our own.
"""

import json
import os
import random
import secrets
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.base import Events
from discreet.ledger.events import ORIGIN, Event, Row
from discreet.ledger.heads import RememberedHead
from discreet.ledger.postgres.postgres_address import SHAPE, LedgerAddress
from discreet.ledger.postgres.postgres_events import PostgresEvents
from discreet.ledger.postgres.postgres_sentences import (
    ABSENT,
    ALTERED,
    LOST,
    NOT_DURABLE,
    NOT_INSTALLED,
    TAKEN,
    LostConnectionError,
    as_ledger_error,
)
from discreet.ledger.postgres.postgres_tables import DEFINED, GRANTS, NOTHING_ELSE, TABLES
from discreet.ledger.sqlite_tables import FORMAT
from discreet.sources.readers.postgres_table import encrypted

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore"]

T = TypeVar("T")

ATTEMPTS = 9
FIRST_PAUSE = 0.05  # seconds; doubled with each attempt: a server that starts again is waited for
WAIT = "60s"  # for the lock of a ledger's row
CONNECT_SECONDS = 10
MAKING = 0x64636C67  # "dclg": one process at a time makes the tables

SETTINGS = f"""
  SET LOCAL search_path = pg_catalog, pg_temp;
  SET LOCAL lock_timeout = '{WAIT}';
  SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
"""
READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}"
LOCK = "SELECT fsync FROM discreet.lock_ledger(%s)"
WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS}"


class PostgresStore:
    """A ledger by its address."""

    def __init__(self, address: str) -> None:
        self._address = LedgerAddress.read(address)
        self.path = str(self._address)
        self._name = self._address.name
        self._kept: deque[tuple[int, psycopg.Connection[Any]]] = deque()
        self._of_others: list[psycopg.Connection[Any]] = []
        self._is_recognised = False
        self._head: RememberedHead | None = None
        weakref.finalize(self, _close, self._kept)

    @property
    def head(self) -> RememberedHead:
        """The last head of it that this user saw."""
        if self._head is None:
            self._head = RememberedHead(self._row()[0])
        return self._head

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """When its chain was accepted without a head file, before it was copied here."""
        return tuple((int(seq), str(when)) for seq, when in json.loads(self._row()[1]))

    def is_there(self) -> bool:
        """Whether the database has a ledger of this name."""
        with self._transaction(READ) as connection:
            return _has_tables(connection) and self._found(connection) is not None

    def prepare(self) -> None:
        """Make the tables, if the database has none; refuse a name that is taken."""
        with self._transaction(WRITE) as connection:
            self._make_tables(connection)
            connection.execute("COMMIT")

    def create(self, chain: Iterable[Row], accepted: Sequence[tuple[int, str]] = ()) -> None:
        """Make the ledger with its events in one transaction, and never over an existing one."""
        with self._transaction(WRITE) as connection:
            self._make_tables(connection)
            chain = iter(chain)
            first = next(chain)
            limit = json.loads(first[4])["limit"]
            row = (self._name, secrets.token_hex(16), FORMAT, json.dumps(list(accepted)), limit, ORIGIN)
            insert = "INSERT INTO discreet.ledgers VALUES (%s, %s, %s, %s, %s::text::numeric, 0, %s, 0)"
            connection.execute(insert, row)
            events = PostgresEvents(connection, self._name)
            events.send([first])
            events.send(chain)
            self._lock(connection)
            events.commit()

    def grant(self, role: str) -> None:
        """Let a role of the database append to its ledgers, and no more."""
        from psycopg.sql import SQL, Identifier

        with self._transaction(WRITE) as connection:
            self._recognise(connection)
            for statement in GRANTS:
                connection.execute(SQL(statement).format(role=Identifier(role)))
            connection.execute("COMMIT")

    def turn(self) -> AbstractContextManager[None]:
        """A database has its own queue for a row."""
        return nullcontext()

    def migrate(self, check: Callable[[Events], None]) -> None:
        """Nothing: databases hold ledgers of this format only."""

    @contextmanager
    def read(self) -> Iterator[Events]:
        """A consistent view of the events."""
        with self._transaction(READ) as connection:
            self._recognise(connection)
            events = PostgresEvents(connection, self._name)
            yield events
            events.commit()

    @contextmanager
    def noting(self) -> Iterator[Events]:
        """A view of the end of the chain; no other process of this user notes a head meanwhile."""
        with self.head.alone(), self.read() as events:
            yield events

    def transact(self, work: Callable[[Events], T]) -> T:
        """What `work`, the only writer, gives; durable when this returns."""
        sent: tuple[T, Event] | None = None  # what may have been committed
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * (0.5 + random.random()))  # noqa: S311
            with suppress(LostConnectionError), self._transaction(WRITE) as connection:
                self._lock(connection)
                events = PostgresEvents(connection, self._name)
                if sent is not None and events.at(sent[1].seq) == sent[1]:
                    return sent[0]
                answer, sent = work(events), None
                if events.added is not None:
                    sent = answer, events.added
                events.commit()
                return answer
        raise LedgerError(LOST)

    def _lock(self, connection: "psycopg.Connection[Any]") -> None:
        """Wait until no other writer of this ledger is left; nothing is called that is not known to be ours."""
        self._recognise(connection)
        found = connection.execute(LOCK, (self._name,)).fetchone()
        if found is None:
            raise LedgerError(ABSENT.format(self.path))
        if found[0] != "on":
            raise LedgerError(NOT_DURABLE)

    def _make_tables(self, connection: "psycopg.Connection[Any]") -> None:
        """Make the tables, unless they are there; refuse a name that is taken."""
        connection.execute(f"SELECT pg_advisory_xact_lock({MAKING})")
        if not _has_tables(connection):
            for statement in TABLES:
                connection.execute(statement)
        self._recognise(connection)
        if self._found(connection) is not None:
            raise LedgerError(TAKEN.format(self.path))

    def _recognise(self, connection: "psycopg.Connection[Any]") -> None:
        """Refuse tables, functions and triggers that are not those this library makes."""
        if not self._is_recognised:
            if set(connection.execute(DEFINED).fetchall()) != NOTHING_ELSE:
                raise LedgerError(ALTERED)
            self._is_recognised = True

    def _row(self) -> tuple[str, str]:
        """The name of its place, and when its chain was accepted."""
        with self._transaction(READ) as connection:
            self._recognise(connection)
            found = self._found(connection)
            connection.execute("COMMIT")
        if found is None:
            raise LedgerError(ABSENT.format(self.path))
        return found

    def _found(self, connection: "psycopg.Connection[Any]") -> tuple[str, str] | None:
        query = "SELECT place, accepted FROM discreet.ledgers WHERE ledger = %s"
        return connection.execute(query, (self._name,)).fetchone()

    @contextmanager
    def _transaction(self, begin: str) -> "Iterator[psycopg.Connection[Any]]":
        """A connection in a transaction, which the block commits: otherwise nothing of it happened."""
        try:
            import psycopg
        except ImportError:
            raise LedgerError(NOT_INSTALLED) from None
        try:
            connection = self._begun(begin)
        except psycopg.Error as error:
            raise as_ledger_error(error) from None
        try:
            yield connection
            if connection.info.transaction_status:
                connection.execute("ROLLBACK")
        except DiscreetError:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
                self._kept.append((os.getpid(), connection))
            raise
        except psycopg.Error as error:
            connection.close()
            raise as_ledger_error(error) from None
        except BaseException:
            connection.close()
            raise
        self._kept.append((os.getpid(), connection))

    def _begun(self, begin: str) -> "psycopg.Connection[Any]":
        """A connection whose transaction has begun: one that was kept, unless it is gone by now."""
        import psycopg

        with suppress(IndexError):
            owner, kept = self._kept.pop()
            if owner != os.getpid():
                self._of_others.append(kept)  # a fork has the parent's: neither used nor closed here
            else:
                try:
                    kept.execute(begin)
                except psycopg.OperationalError:
                    kept.close()
                else:
                    return kept
        connection = self._connected()
        connection.execute(begin)
        return connection

    def _connected(self) -> "psycopg.Connection[Any]":
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = encrypted(conninfo_to_dict(self._address.server))
            # nothing is prepared: a pooler may give every transaction another session
            return psycopg.connect(
                autocommit=True,
                prepare_threshold=None,
                **{"fallback_application_name": "discreet", "connect_timeout": CONNECT_SECONDS, **given},
            )
        except psycopg.ProgrammingError:
            raise LedgerError(SHAPE) from None


def _has_tables(connection: "psycopg.Connection[Any]") -> bool:
    return connection.execute("SELECT to_regnamespace('discreet') IS NOT NULL").fetchone() == (True,)


def _close(kept: "deque[tuple[int, psycopg.Connection[Any]]]") -> None:
    """Close what this process opened, when nobody needs it any more."""
    for owner, connection in kept:
        if owner == os.getpid():
            connection.close()
