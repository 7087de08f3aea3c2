"""A ledger file whose every use begins with its chain and its head: nothing is answered from a chain that was cut.

    read    verify the new events; the head file must be in the chain (a head that lags behind is caught up)
    write   the same under the write lock; after the commit, and before the caller goes on, the new head is noted

A head that could be noted late would let a cut tail pass, so it is noted before a row is read for a reservation and
before a stored release is returned. Whoever may only read the ledger cannot note a head, and need not.

What one process has verified of a chain: the hash of every event, and where each request and entry is.

It is built by replaying the whole chain when a ledger is opened, and extended by the events that came since, each
verified once. The ledger looks things up here and not in the table: a row that was deleted, changed or moved behind an
open ledger is refused when it is needed, and its absence is never taken for an answer that has not left yet.

Whoever can write the file can continue the chain with events of their own: the head is not behind them. So a running
total is the sum of what was spent, and no event has an older accounting than one before it. Nothing else is parsed;
`Ledger.verify` checks all that the events say.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from hashlib import sha256
from threading import Lock
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.events import ORIGIN, Event, Head, Kind, Row
from discreet.ledger.sqlite import Events, SqliteStore

__all__ = ["EXACT", "Index", "VerifiedEvents", "VerifiedStore"]

REPLACED = "Ledger must be the file that was opened, but it was replaced or restored from a copy"
CUT = (
    "Ledger must contain the head in {}, event {}, but it does not: the ledger lost its last events or was restored "
    "from an older copy; nothing was released"
)
MISSING = (
    "Ledger must have its head file {} beside it, got none: copy it with the ledger or, if it is lost for good, accept "
    "the ledger as it is (discreet ledger verify --accept-head); nothing was released"
)


# Sums are exact or they are an error, whatever decimal context the caller's thread has.
EXACT = Context(prec=200, traps=[Inexact, InvalidOperation])

DIGEST = 32
# Keys are sorted, so bodies begin with the accounting, if they were written by a version with a head file, ...
VERSIONED = re.compile(r'\{"accounting":([0-9]{1,9}),')
# ... and the body of a reservation ends with its request and the amounts that `entry.read_amount` reads.
AMOUNT = r"([0-9]{1,110}(?:\.[0-9]{1,30})?)"
PAID = re.compile(rf'"request":"([0-9a-f]{{64}})","spend":"{AMOUNT}","spent_after":"{AMOUNT}"\}}\Z')
LONGEST_PAID = 400


class Index:
    """The verified events; grows only."""

    def __init__(self) -> None:
        self._lock = Lock()  # threads share one ledger
        self._hashes = bytearray()
        self.requests: dict[str, int] = {}
        self.reserves: dict[str, int] = {}
        self.settles: dict[str, int] = {}
        self.first_reserve: int | None = None
        self.last_reserve: int | None = None
        self._total = (0, Decimal(0), Decimal(0))  # a reservation's number, and what was spent before and with it
        self.accounting = 0  # of the last event that names one
        self.keeps_heads = False  # whether some event was written by a version that keeps a head file

    @property
    def seq(self) -> int:
        """The number of the last verified event; 0 before the first."""
        return len(self._hashes) // DIGEST

    def hash(self, seq: int) -> str:
        """The hash of a verified event; the origin's before the first, nothing outside the chain."""
        return self._hashes[DIGEST * (seq - 1) : DIGEST * seq].hex() if seq > 0 else ORIGIN

    def contains(self, seq: int, hash: str) -> bool:  # noqa: A002
        """Whether this is a verified event."""
        return 1 <= seq <= self.seq and self.hash(seq) == hash

    def extend(self, rows_after: Callable[[int], Iterable[Row]]) -> None:
        """Verify the events that follow the last verified one."""
        with self._lock:
            seq, last = self.seq, self.hash(self.seq)
            for row in rows_after(seq):
                seq += 1
                last = self._add(seq, last, row)
            if seq == 0:
                raise LedgerError("Ledger event 1 must exist: the ledger is empty")

    def _add(self, seq: int, last: str, row: Row) -> str:
        """Verify one event; its hash comes last, so that one which an interrupt left half noted is noted again."""
        found, kind, entry, request, body, previous, stored = row
        if found != seq or previous != last:
            raise LedgerError(f"Ledger event {seq} must follow the event before it: the ledger was altered")
        made = sha256(f"{previous}\n{seq}\n{kind}\n{entry}\n{body}".encode())
        if made.hexdigest() != stored:
            raise LedgerError(f"Ledger event {seq} must have the hash of its content: the ledger was altered")
        if kind == "settle":
            if entry not in self.reserves or self.settles.get(entry, seq) != seq:
                raise LedgerError(f"Ledger event {seq} must settle a reserved entry, once: the ledger was altered")
            self.settles[entry] = seq
        elif kind == "reserve":
            named = self._paid(seq, body)
            if named != request or {self.requests.get(named, seq), self.reserves.get(entry, seq)} != {seq}:
                raise LedgerError(f"Ledger event {seq} must reserve its own request, once: the ledger was altered")
            self.requests[named] = self.reserves[entry] = self.last_reserve = seq
            self.first_reserve = self.first_reserve or seq
        if (kind == "create") != (seq == 1) or (request is None) != (kind != "reserve"):
            raise LedgerError(f"Ledger event {seq} must be create at the start only: the ledger was altered")
        if kind != "settle":
            self._priced(seq, body)
        self._hashes += made.digest()
        return stored

    def _paid(self, seq: int, body: str) -> str:
        """The request that a reservation names, once what it spent is in the running total."""
        found = PAID.search(body[-LONGEST_PAID:])
        last, before, spent = self._total
        before = before if last == seq else spent
        if found is None or EXACT.add(before, Decimal(found[2])) != Decimal(found[3]):
            duty = "have the sum of all spends as its running total"
            raise LedgerError(f"Ledger event {seq} must {duty}: the ledger was altered")
        self._total = (seq, before, Decimal(found[3]))
        return found[1]

    def _priced(self, seq: int, body: str) -> None:
        """Note the accounting of an event; what names none is older than versions."""
        found = VERSIONED.match(body)
        named = int(found[1]) if found else 0
        if named < self.accounting:
            raise LedgerError(f"Ledger event {seq} must have no older accounting than before: the ledger was altered")
        self.accounting, self.keeps_heads = named, self.keeps_heads or found is not None

    def check(self, seq: int, event: Event | None) -> Event:
        """The event read as number `seq`, if it is the one that was verified."""
        if event is None:
            raise LedgerError(f"Ledger event {seq} must exist: the ledger was altered")
        event.check()
        if event.seq != seq or not self.contains(seq, event.hash):
            raise LedgerError(f"Ledger event {seq} must be the one verified before: the ledger was altered")
        return event


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
        return self._maybe(self._index.first_reserve)

    def last_reserve(self) -> Event | None:
        """The reservation that holds the running total."""
        return self._maybe(self._index.last_reserve)

    def reserve_before(self, seq: int) -> Event | None:
        """The last reservation before an event."""
        for earlier in range(seq - 1, 1, -1):
            event = self.at(earlier)
            if event.kind == "reserve":
                return event
        return None

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
        """Continue the chain; durable once the transaction ends, and only then looked up."""
        self.appended = self._events.append(kind, entry, content, self.appended or self.last())
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
        self._store.migrate(self._note)
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
