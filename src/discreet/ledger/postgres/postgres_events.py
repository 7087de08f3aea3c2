"""The events of one transaction of a ledger in a PostgreSQL database."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.base import Events
from discreet.ledger.events import Event, Row
from discreet.ledger.postgres.postgres_sentences import ABSENT, ALTERED, LOST, LostConnectionError

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresEvents"]

PAGE = 250  # events that are fetched at once; a release in an event may be large
COLUMNS = "SELECT seq, kind, entry, request, body, previous, hash FROM discreet.events WHERE ledger = %s "
INSERT = """INSERT INTO discreet.events SELECT %s, * FROM unnest(
  %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[])"""


class PostgresEvents(Events):
    """The events of one transaction; new ones are sent together with its end."""

    def __init__(self, connection: "psycopg.Connection[Any]", name: str) -> None:
        self._connection, self._name = connection, name
        self._new: list[Row] = []
        self._tail: dict[int, Row] = {}  # of the chain, as read in this transaction, whose view does not change
        self._is_whole = False  # whether it reaches the end

    @property
    def added(self) -> Event | None:
        """The last new event."""
        return _event(self._new[-1]) if self._new else None

    def rows_after(self, seq: int) -> Iterator[Row]:
        """The events after number `seq` in order, unchecked; after 0 all there are, whatever their numbers."""
        if self._is_whole and seq in self._tail:
            yield from [row for row in self._tail.values() if row[0] > seq]
            return
        after = seq if seq > 0 else -(2**62)
        while page := self._rows(f"AND seq > %s ORDER BY seq LIMIT {PAGE}", after):
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def at(self, seq: int) -> Event | None:
        """The event with this sequence number; with the first that is asked for, those after it come along."""
        if seq not in self._tail:
            if self._tail:
                rows = self._rows("AND seq = %s", seq)
                return _checked(rows[0]) if rows else None
            rows = self._rows(f"AND seq >= %s ORDER BY seq LIMIT {PAGE}", seq)
            self._tail = {row[0]: row for row in rows}
            self._is_whole = len(rows) < PAGE
        return _checked(self._tail[seq]) if seq in self._tail else None

    def these(self, numbers: Sequence[int]) -> Iterator[Event]:
        """The events with these numbers, in order of number, in one answer."""
        query = f"{COLUMNS}AND seq = ANY(%s) ORDER BY seq".encode()
        yield from map(_checked, self._connection.execute(query, (self._name, list(numbers))).fetchall())

    def last(self) -> Event:
        """The end of the chain; every ledger has at least its create event."""
        rows = self._rows("ORDER BY seq DESC LIMIT 1")
        if not rows:
            raise LedgerError(ALTERED)
        return _checked(rows[0])

    def add(self, row: Row) -> None:
        """Write an event that continues the chain; sent when the transaction ends."""
        self._new.append(row)

    def send(self, chain: Iterable[Row]) -> None:
        """Write many events at once, page by page."""
        chain = iter(chain)
        while page := list(islice(chain, PAGE)):
            self._connection.execute(INSERT, (self._name, *map(list, zip(*page, strict=True))))

    def commit(self) -> None:
        """Send what is new and end the transaction."""
        self.send(self._new)
        ended = self._connection.execute("COMMIT")
        if ended.statusmessage != "COMMIT":
            raise LostConnectionError(LOST)

    def close(self) -> None:
        """The database refuses what follows a move."""

    def check_pages(self) -> None:
        """The end of the chain must be where the ledger's row says."""
        row = self._connection.execute(
            "SELECT seq, hash FROM discreet.ledgers WHERE ledger = %s", (self._name,)
        ).fetchone()
        if row is None:
            raise LedgerError(ABSENT.format(f"none of the name {self._name}"))
        last = self.last()
        if row != (last.seq, last.hash):
            raise LedgerError(ALTERED)

    def check_indexes(self) -> None:
        """The same: PostgreSQL has no check of its own that any role may ask for."""
        self.check_pages()

    def _rows(self, clause: str, *values: int) -> list[Row]:
        return self._connection.execute((COLUMNS + clause).encode(), (self._name, *values)).fetchall()


def _event(row: Row) -> Event:
    seq, kind, entry, _, body, previous, made = row
    return Event(seq, kind, entry, body, previous, made)


def _checked(row: Any) -> Event:
    event = _event(row)
    event.check()
    return event
