"""A ledger file whose every use begins with its chain and its head: nothing is answered from a chain that was cut.

    read    verify the new events; the head file must be in the chain (a head that lags behind is caught up)
    write   the same under the write lock; after the commit, and before the caller goes on, the new head is noted

A head that could be noted late would let a cut tail pass, so it is noted before a row is read for a reservation and
before a stored release is returned. Whoever may only read the ledger cannot note a head, and need not.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.events import Event, Kind
from discreet.ledger.head import Head
from discreet.ledger.index import Index
from discreet.ledger.sqlite import Events, SqliteStore

__all__ = ["VerifiedEvents", "VerifiedStore"]

REPLACED = "Ledger must be the file that was opened, but it was replaced or restored from a copy"
CUT = (
    "Ledger must contain the head in {}, event {}, but it does not: the ledger lost its last events or was restored "
    "from an older copy; nothing was released"
)
MISSING = (
    "Ledger must have its head file {} beside it, got none: copy it with the ledger or, if it is lost for good, accept "
    "the ledger as it is (discreet ledger verify --accept-head); nothing was released"
)


class VerifiedEvents:
    """The events of one transaction, found through the index and checked against it."""

    def __init__(self, events: Events, index: Index) -> None:
        self._events, self._index = events, index
        self.appended: Event | None = None

    def __iter__(self) -> Iterator[Event]:
        """All events in order."""
        for seq, event in enumerate(self._events, start=1):
            yield self._index.check(seq, event)

    def at(self, seq: int) -> Event:
        """The event with this number, which must be there."""
        return self._index.check(seq, self._events.at(seq))

    def first_reserve(self) -> Event | None:
        """The reservation whose relation and unit all others share."""
        return self._maybe(min(2, self._index.last_reserve or 0))

    def last_reserve(self) -> Event | None:
        """The reservation that holds the running total."""
        return self._maybe(self._index.last_reserve)

    def requested(self, request: str) -> Event | None:
        """The reservation of this request."""
        return self._maybe(self._index.requests.get(request))

    def reserved(self, entry: str) -> Event | None:
        """The reservation of an entry."""
        return self._maybe(self._index.reserves.get(entry))

    def settled(self, entry: str) -> Event | None:
        """The settlement of an entry."""
        return self._maybe(self._index.settles.get(entry))

    def last(self) -> Event:
        """The end of the chain."""
        return self.at(self._index.seq)

    def append(self, kind: Kind, entry: str, content: dict[str, Any]) -> Event:
        """Continue the chain, once in a transaction; durable once that ends."""
        self.appended = self._events.append(kind, entry, content, self.last())
        return self.appended

    def check_indexes(self) -> None:
        """Refuse a file whose pages or indexes are inconsistent."""
        self._events.check_indexes()

    def _maybe(self, seq: int | None) -> Event | None:
        return self.at(seq) if seq else None


class VerifiedStore:
    """A ledger file, and what this process has verified of it."""

    def __init__(self, store: SqliteStore, *, trusting: bool = False) -> None:
        self._store, self._index = store, Index()
        self._trusting = trusting  # until a head is accepted, none is asked for
        self.path, self._head = store.path, store.head
        with store.read() as events:
            events.check_pages()
            self._follow(events)

    @contextmanager
    def read(self) -> Iterator[VerifiedEvents]:
        """A consistent view of the events."""
        with self._store.read() as events:
            self._follow(events)
            if not self._lags() or not self._writable():
                yield VerifiedEvents(events, self._index)
                return
        # not inside the block above: whoever waits to write while reading stops every writer
        with self._store.write() as events:
            self._note(events)
            yield VerifiedEvents(events, self._index)

    @contextmanager
    def write(self) -> Iterator[VerifiedEvents]:
        """The only writer until the block ends; what was appended is durable, and noted, when it has ended."""
        with self._store.write() as events:
            self._note(events)  # what others have committed may be answered here
            view = VerifiedEvents(events, self._index)
            yield view
        if view.appended is not None:
            with self._store.write() as events:
                self._note(events)
                self._index.check(view.appended.seq, view.appended)

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """Every time that the chain was accepted without a head: its last event then, and when."""
        noted = self._head.read()
        return () if noted is None else noted.accepted

    def accept(self) -> None:
        """Write the missing head, and that it was missing; a head that is there stays, and must be in the chain."""
        self._trusting = False
        with self._store.write() as events:
            self._follow(events)
            if self._head.read() is None:
                seq, now = self._index.seq, datetime.now(UTC).isoformat(timespec="seconds")
                self._head.write(Head(seq, self._index.hash(seq), ((seq, now),)))
            self._note(events)

    def _follow(self, events: Events) -> None:
        """Verify what came since, after what is known."""
        seq = self._index.seq
        known = events.at(seq) if seq else None
        if seq and (known is None or not self._index.contains(seq, known.hash)):
            raise LedgerError(REPLACED)
        self._index.extend(events.rows_after)

    def _lags(self) -> bool:
        """Whether the head file is behind; a LedgerError if it is missing, or not in the chain."""
        if self._trusting:
            return False
        noted = self._head.read()
        if noted is None:
            if self._index.keeps_heads:
                raise LedgerError(MISSING.format(self._head.path))
            return True  # of a version before there were heads: the first one is written now
        if not self._index.contains(noted.seq, noted.hash):
            raise LedgerError(CUT.format(self._head.path, noted.seq))
        return noted.seq < self._index.seq

    def _note(self, events: Events) -> None:
        """Under the write lock: verify, and bring the head file to the end of the chain."""
        self._follow(events)
        if self._lags():
            seq, noted = self._index.seq, self._head.read()
            self._head.write(Head(seq, self._index.hash(seq), () if noted is None else noted.accepted))

    def _writable(self) -> bool:
        return os.access(self._head.path.parent, os.W_OK) and os.access(self.path, os.W_OK)
