"""Events in one SQLite file: durable when a write returns, one writer at a time, append-only.

Why these settings: the rollback journal, because SQLite before 3.51.3 can corrupt a database in WAL mode; `EXTRA`,
because with less a power cut may bring back a deleted journal and with it a spent budget; `BEGIN IMMEDIATE`, because
what a writer reads before it writes must still be true when it writes. Every operation has a connection of
its own, so nothing is shared between threads or inherited by a fork.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeVar

from discreet.errors import LedgerError
from discreet.guarantee.stored import ACCOUNTING
from discreet.ledger.base import Events
from discreet.ledger.events import Event, Row
from discreet.ledger.heads import Head, HeadFile
from discreet.ledger.sqlite_tables import APPLICATION_ID, CLOSED, FORMAT, SCHEMAS, recognise

__all__ = ["SqliteEvents", "SqliteStore"]

T = TypeVar("T")

BUSY_SECONDS = 60.0

COLUMNS = "SELECT seq, kind, entry, body, previous, hash FROM events "
ROWS = "SELECT seq, kind, entry, request, body, previous, hash FROM events "

BUSY = "Ledger must be free within a minute, but another process kept it locked; nothing was released"
READ_ONLY = "Ledger must be writable, with its folder; nothing was released"
DISK = "Ledger must be on a disk that can be read and has room; nothing was released"
CANNOT_OPEN = "Ledger must be a file that can be opened, in a folder that can be written to; nothing was released"
TAKEN = "Ledger.path must be a new file, because a ledger is never overwritten (Ledger.open opens one), got {}"
NO_FOLDER = "Ledger.path must be in a folder that can be written to, got {}"
DAMAGED = "Ledger must be an undamaged ledger file; nothing was released"
SENTENCES = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_PROTOCOL: BUSY,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_PERM: READ_ONLY,
    sqlite3.SQLITE_FULL: DISK,
    sqlite3.SQLITE_IOERR: DISK,
    sqlite3.SQLITE_CANTOPEN: CANNOT_OPEN,
    sqlite3.SQLITE_TOOBIG: "Ledger must get a recipe and a release below a gigabyte; nothing was released",
}


class SqliteEvents(Events):
    """The events of one transaction of a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def last(self) -> Event:
        """The end of the chain; every ledger has at least its create event."""
        event = self._one("ORDER BY seq DESC LIMIT 1")
        if event is None:
            raise LedgerError(DAMAGED)
        return event

    def rows_after(self, seq: int) -> Iterator[Row]:
        """The events after number `seq` in order, unchecked; after 0 all there are, whatever their numbers."""
        first = seq + 1 if seq > 0 else -(2**63)
        yield from self._connection.execute(ROWS + "WHERE seq >= ? ORDER BY seq", (first,))

    def at(self, seq: int) -> Event | None:
        """The event with this sequence number."""
        return self._one("WHERE seq = ?", seq)

    def add(self, row: Row) -> None:
        """Write an event that continues the chain; durable once the transaction ends."""
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """A format of its own keeps versions that do not know of copies from going on."""
        self._connection.execute(f"PRAGMA user_version = {CLOSED}")

    def check_pages(self) -> None:
        """Refuse a file whose pages are inconsistent; nothing is looked up through the table's own indexes."""
        self._sound("PRAGMA quick_check(1)")

    def check_indexes(self) -> None:
        """Refuse a file whose pages or indexes are inconsistent: nearly ten times slower."""
        self._sound("PRAGMA integrity_check(1)")

    def _sound(self, pragma: str) -> None:
        if self._connection.execute(pragma).fetchall() != [("ok",)]:
            raise LedgerError(DAMAGED)

    def _one(self, clause: str, *values: str | int) -> Event | None:
        row = self._connection.execute(COLUMNS + clause, values).fetchone()
        if row is None:
            return None
        event = Event(*row)
        event.check()
        return event


class SqliteStore:
    """A ledger file by its absolute path: a later change of the working directory does not move it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(os.path.abspath(os.fsdecode(path)))
        except (TypeError, ValueError):
            raise LedgerError(f"Ledger.path must be a text or a path, got a {type(path).__name__}") from None
        if "\0" in str(self.path):
            raise LedgerError("Ledger.path must be a name that a file can have, got one with a null character")

    @property
    def head(self) -> HeadFile:
        """The file beside it that holds the end of the chain."""
        return HeadFile(self.path)

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """The head file says it."""
        return ()

    def is_there(self) -> bool:
        """Whether there is something of this name, whatever it is."""
        return os.path.lexists(self.path)

    def prepare(self) -> None:
        """Refuse a name that is taken, and a folder where no file can be made.

        SQLite would replay into the new file a journal left behind by an earlier one of this name. A head left behind
        belongs to a ledger that was spent from: without its file there is no second budget.
        """
        for name in (*(f"{self.path}{suffix}" for suffix in ("", "-journal", "-wal", "-shm")), str(self.head.path)):
            if os.path.lexists(name):
                raise LedgerError(TAKEN.format(name))
        if not os.access(self.path.parent, os.W_OK):
            raise LedgerError(NO_FOLDER.format(self.path))

    def create(self, chain: Iterable[Row], accepted: Sequence[tuple[int, str]] = ()) -> None:
        """Make the file with its events, and its head: complete or not at all, and never over an existing one.

        The head comes first: where a crash leaves one of the two behind, nobody takes it for a ledger.

        The folder is not synced here: the journal of the first reservation does it, and before that nothing is spent
        that a power cut could forget.
        """
        try:
            self.prepare()
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=self.path.parent) as folder:
                made, head = Path(folder) / "new", Path(folder) / "head"
                with _connection(made, "rwc") as connection:
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {FORMAT}")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in SCHEMAS[FORMAT]:
                        connection.execute(statement)
                    for row in chain:
                        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                    last = SqliteEvents(connection).last()
                    connection.execute("COMMIT")
                self.head.make(head, Head(last.seq, last.hash, tuple(accepted)), made.stat().st_mode)
                os.link(head, self.head.path)  # unlike a rename, it fails if the name was taken in the meantime
                try:
                    os.link(made, self.path)
                except BaseException:
                    self.head.path.unlink()
                    raise
        except FileExistsError:
            raise LedgerError(TAKEN.format(self.path)) from None
        except (OSError, ValueError):
            raise LedgerError(NO_FOLDER.format(self.path)) from None

    def grant(self, role: str) -> None:
        """A file has no roles."""
        raise LedgerError("Ledger.grant must be asked of a ledger in a database: who may write a file, the system says")

    def migrate(self, check: Callable[[Events], None]) -> None:
        """Bring a ledger of an older format to this one: a copy first, then one transaction that rewrites no event.

        Nothing is done to one that `check`, under the lock, refuses. The copy stays beside it. An event says what
        happened, so heads noted earlier are still in the chain.
        """
        with self._existing() as connection:
            if connection.execute("PRAGMA user_version").fetchone() in ((FORMAT,), (CLOSED,)):
                return
            connection.execute("BEGIN IMMEDIATE")
            version = recognise(connection)
            if version >= FORMAT:
                return
            check(SqliteEvents(connection))
            self._copy(connection, f".format-{version}")
            for what in ("INDEX events_of_kind", "TRIGGER no_update", "TRIGGER no_delete", "TRIGGER only_append"):
                connection.execute(f"DROP {what}")
            connection.execute("ALTER TABLE events RENAME TO older")
            table, *around = SCHEMAS[FORMAT]
            connection.execute(table)
            connection.execute("INSERT INTO events SELECT * FROM older ORDER BY seq")
            connection.execute("DROP TABLE older")
            for statement in around:
                connection.execute(statement)
            events, content = SqliteEvents(connection), {"accounting": ACCOUNTING, "from": version, "to": FORMAT}
            events.append("migrate", f"format-{FORMAT}", content, events.last())
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")

    def _copy(self, connection: sqlite3.Connection, suffix: str) -> None:
        """The file as it is, complete, under another name.

        Read by SQLite: a process that opens and closes the file itself loses every lock that SQLite has on it.
        """
        copy, made = Path(f"{self.path}{suffix}"), Path(f"{self.path}{suffix}-new")
        try:
            with open(made, "wb") as file:
                file.write(connection.serialize())
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(self.path, made)
            made.replace(copy)
        except OSError:
            raise LedgerError(f"Ledger must be copied to {copy} before its format changes; nothing was done") from None

    @contextmanager
    def read(self) -> Iterator[Events]:
        """A consistent view of the events."""
        with self._existing() as connection:
            connection.execute("BEGIN")
            recognise(connection)
            yield SqliteEvents(connection)

    @contextmanager
    def noting(self) -> Iterator[Events]:
        """The only writer until the block ends; an exception inside leaves the file as it was."""
        with self._existing() as connection:  # closed without a commit, it rolls back
            connection.execute("BEGIN IMMEDIATE")
            recognise(connection)
            yield SqliteEvents(connection)
            connection.execute("COMMIT")

    def transact(self, work: Callable[[Events], T]) -> T:
        """What `work`, the only writer, gives; durable when this returns."""
        with self.noting() as events:
            return work(events)

    def _existing(self) -> AbstractContextManager[sqlite3.Connection]:
        if not os.path.isfile(self.path):  # which also a name that is too long is not
            raise LedgerError(
                f"Ledger.path must be an existing ledger (Ledger.create or discreet ledger create makes one), "
                f"got {self.path}"
            )
        return _connection(self.path, "rw")


@contextmanager
def _connection(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A short-lived connection; what SQLite says, which may quote the file, becomes a sentence of our own."""
    uri = f"{path.as_uri()}?mode={mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
                raise LedgerError(BUSY)  # someone reads the file in WAL mode at this moment
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync stops at the drive's cache
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may quote damaged text
        primary = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        raise LedgerError(SENTENCES.get(primary, DAMAGED)) from None
