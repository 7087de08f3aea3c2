"""A ledger whose every use begins with its chain and its head: nothing is answered from a chain that was cut.

    read    verify the new events; the noted head must be in the chain (a head that lags behind is caught up)
    write   the same as the only writer; after the commit, and before the caller goes on, the new head is noted

A head that could be noted late would let a cut tail pass, so it is noted before a row is read for a reservation and
before a stored release is returned. Whoever may only read the ledger cannot note a head, and need not.

A head is read before the chain: one that another process notes meanwhile is of an event that came since.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from discreet.errors import LedgerError
from discreet.ledger.base import Events, Store
from discreet.ledger.events import Event
from discreet.ledger.heads import Head
from discreet.ledger.verified import Index, VerifiedEvents

__all__ = ["VerifiedStore"]

T = TypeVar("T")

REPLACED = "Ledger must be the file that was opened, but it was replaced or restored from a copy"
CUT = (
    "Ledger must contain the head in {}, event {}, but it does not: the ledger lost its last events or was restored "
    "from an older copy; nothing was released"
)
MISSING = (
    "Ledger must have its head file {} beside it, got none: copy it with the ledger or, if it is lost for good, accept "
    "the ledger as it is (discreet ledger verify --accept-head); nothing was released"
)


class VerifiedStore:
    """A ledger in its place, and what this process has verified of it."""

    def __init__(self, store: Store, *, trusting: bool = False) -> None:
        self._store, self._index = store, Index()
        self._trusting = trusting  # until a head is accepted, none is asked for
        self.path: Path | str = store.path
        with store.read() as events:
            events.check_pages()
            self._follow(events)
        self._head = store.head

    @contextmanager
    def read(self) -> Iterator[VerifiedEvents]:
        """A consistent view of the events."""
        noted = self._head.read()
        with self._store.read() as events:
            self._follow(events)
            if not self._lags(noted) or not self._head.is_writable:
                yield VerifiedEvents(events, self._index)
                return
        # not inside the block above: whoever waits to write while reading stops every writer
        with self._store.noting() as events:
            self._note(events)
            yield VerifiedEvents(events, self._index)

    def write(self, work: Callable[[VerifiedEvents], T]) -> T:
        """What `work`, the only writer, gives; what it appended is durable, and noted, when this returns.

        It may be called again, if the connection to a database is lost or two writers stood in each other's way.
        """
        self._store.migrate(self._note)
        last: Event | None = None
        lags = False

        def verified(events: Events) -> T:
            nonlocal last, lags
            self._follow(events)
            lags = self._lags(self._head.read())
            view = VerifiedEvents(events, self._index)
            answer = work(view)
            last = view.appended
            return answer

        answer = self._store.transact(verified)
        if (lags or last is not None) and (self._head.is_required or self._head.is_writable):
            with self._store.noting() as events:  # what others have committed may be in the answer, too
                self._note(events)
                if last is not None:
                    self._index.check(last.seq, last)
        return answer

    def grant(self, role: str) -> None:
        """Let a role of the database append to its ledgers, and no more."""
        self._store.grant(role)

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """Every time that the chain was accepted without a head: its last event then, and when."""
        noted = self._head.read()
        return self._store.accepted() + (() if noted is None else noted.accepted)

    def accept(self) -> None:
        """Write the missing head, and that it was missing; a head that is there stays, and must be in the chain."""
        self._trusting = False
        with self._store.noting() as events:
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

    def _lags(self, noted: Head | None) -> bool:
        """Whether the noted head is behind; a LedgerError if it is missing, or not in the chain."""
        if self._trusting:
            return False
        if noted is None:
            if self._index.keeps_heads and self._head.is_required:
                raise LedgerError(MISSING.format(self._head.path))
            return True  # of a version before there were heads: the first one is written now
        if not self._index.contains(noted.seq, noted.hash):
            raise LedgerError(CUT.format(self._head.path, noted.seq))
        return noted.seq < self._index.seq

    def _note(self, events: Events) -> None:
        """Where nobody else notes one: verify, and bring the head to the end of the chain."""
        self._follow(events)
        noted = self._head.read()
        if self._lags(noted):
            seq = self._index.seq
            self._head.write(Head(seq, self._index.hash(seq), () if noted is None else noted.accepted))
