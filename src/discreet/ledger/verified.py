"""What one process has verified of a chain: the hash of every event, and where each request and entry is.

It is built by replaying the whole chain when a ledger is opened, and extended by the events that came since, each
verified once. The ledger looks things up here and not in the table: a row that was deleted, changed or moved behind an
open ledger is refused when it is needed, and its absence is never taken for an answer that has not left yet.

Whoever can write the file can continue the chain with events of their own: the head is not behind them. So a running
total is the sum of what was spent, and no event has an older accounting than one before it. Nothing else is parsed;
`Ledger.verify` checks all that the events say.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from hashlib import sha256
from threading import Lock
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.base import Events
from discreet.ledger.events import ORIGIN, Event, Kind, Row

__all__ = ["EXACT", "Index", "VerifiedEvents"]

# Sums are exact or they are an error, whatever decimal context the caller's thread has.
EXACT = Context(prec=200, traps=[Inexact, InvalidOperation])

DIGEST = 32
PAGE = 500  # reservations that are read at once
# Keys are sorted, so bodies begin with the accounting, if they were written by a version with a head file, ...
VERSIONED = re.compile(r'\{"accounting":([0-9]{1,9}),')
# ... and the body of a reservation ends with its request and the amounts that `entry.read_amount` reads.
AMOUNT = r"([0-9]{1,110}(?:\.[0-9]{1,30})?)"
PAID = re.compile(rf'"request":"([0-9a-f]{{64}})","spend":"{AMOUNT}","spent_after":"{AMOUNT}"\}}\Z')
LONGEST_PAID = 400
# A ledger that was copied: closed before, and known to be whole in its new place after.
MOVING = re.compile(r'\{"accounting":[0-9]{1,9},"(copied|moved)":("(?:[^"\\]|\\.)*")\}')


class Index:
    """The verified events; grows only."""

    def __init__(self) -> None:
        self._lock = Lock()  # threads share one ledger
        self._hashes = bytearray()
        self.requests: dict[str, int] = {}
        self.reserves: dict[str, int] = {}
        self.numbers: list[int] = []  # of reservations, in order
        self.settles: dict[str, int] = {}
        self.first_reserve: int | None = None
        self.last_reserve: int | None = None
        self._total = (0, Decimal(0), Decimal(0))  # a reservation's number, and what was spent before and with it
        self.accounting = 0  # of the last event that names one
        self.moved: tuple[int, str] | None = None  # the event since which nothing is paid here, and where to
        self.copied = False  # whether it is known to be whole there
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
            self.numbers += [] if self.numbers[-1:] == [seq] else [seq]
            self.first_reserve = self.first_reserve or seq
        elif kind == "migrate":
            self._moved(seq, body)
        if self.moved is not None and seq > self.moved[0] and kind != "migrate":
            raise LedgerError(f"Ledger event {seq} must not follow the move to another place: the ledger was altered")
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

    def _moved(self, seq: int, body: str) -> None:
        """Note where the budget is spent from now on, and that it is whole there."""
        found = MOVING.fullmatch(body)
        if found is None:
            return
        place = json.loads(found[2])
        if self.moved is not None and self.moved not in ((seq, place), (self.moved[0], place)):
            raise LedgerError(f"Ledger event {seq} must name the place it moved to before: the ledger was altered")
        self.moved, self.copied = self.moved or (seq, place), self.copied or found[1] == "copied"

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
        place = bisect_left(self._index.numbers, seq)
        return self.at(self._index.numbers[place - 1]) if place else None

    def reserves_after(self, seq: int) -> Iterator[Event]:
        """The reservations after an event, in order."""
        numbers = self._index.numbers[bisect_right(self._index.numbers, seq) :]
        for start in range(0, len(numbers), PAGE):
            yield from self.these(numbers[start : start + PAGE]).values()

    def entries(self) -> list[tuple[int, int | None]]:
        """The numbers of the reservation and the settlement of every entry, in the order of reservation."""
        return [(seq, self._index.settles.get(entry)) for entry, seq in list(self._index.reserves.items())]

    def these(self, numbers: Sequence[int]) -> dict[int, Event]:
        """The events with these numbers, which must be there."""
        found = {event.seq: event for event in self._events.these(numbers)}
        return {seq: self._index.check(seq, found.get(seq)) for seq in numbers}

    def requested(self, request: str) -> Event | None:
        """The reservation of this request."""
        return self._maybe(self._index.requests.get(request))

    def reserved(self, entry: str) -> Event | None:
        """The reservation of an entry."""
        return self._maybe(self._index.reserves.get(entry))

    def settled(self, entry: str) -> Event | None:
        """The settlement of an entry."""
        return self._maybe(self._index.settles.get(entry))

    def moved_to(self) -> str | None:
        """The place where the budget is spent, if no longer here."""
        return None if self._index.moved is None else self._index.moved[1]

    def moved_at(self) -> int:
        """The event since which nothing is paid here."""
        if self._index.moved is None:
            raise LedgerError("Ledger must be closed before it is copied")
        return self._index.moved[0]

    @property
    def is_copied(self) -> bool:
        """Whether the new place is known to hold everything."""
        return self._index.copied

    def rows(self, until: int) -> Iterator[Row]:
        """The events before number `until` as they are stored, each verified."""
        for row in self._events.rows_after(0):
            if row[0] >= until:
                return
            self._index.check(row[0], Event(*row[:3], *row[4:]))
            yield row

    def close(self) -> None:
        """Keep versions that do not know of copies from paying."""
        self._events.close()

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
