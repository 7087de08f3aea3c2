"""What a place that keeps ledgers does: one SQLite file, or a PostgreSQL database.

    Events   the events of one transaction: read in order, found by number, continued
    Store    a ledger in its place: made complete or not at all, read in one view, changed by one writer at a time
    Noted    where the end of the chain is written down outside of it

A store knows nothing of budgets. What a chain means, and whether it is whole, is decided above it, and alike for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet.ledger.events import Event, Kind, Row, canonical
from discreet.ledger.heads import Head

__all__ = ["Events", "Noted", "Store", "created"]

T = TypeVar("T")


def created(content: dict[str, Any]) -> Row:
    """The first event of a new ledger."""
    event = Event.after(None, "create", "", canonical("Ledger.create content", content))
    return event.seq, "create", "", None, event.body, event.previous, event.hash


class Events(ABC):
    """The events of one transaction; each is checked against its hash as it is read."""

    def __iter__(self) -> Iterator[Event]:
        """All events in order, unchecked: for a reader that checks the whole chain."""
        for seq, kind, entry, _, body, previous, made in self.rows_after(0):
            yield Event(seq, kind, entry, body, previous, made)

    @abstractmethod
    def rows_after(self, seq: int) -> Iterator[Row]:
        """The events after number `seq` in order, unchecked; after 0 all there are, whatever their numbers."""

    @abstractmethod
    def at(self, seq: int) -> Event | None:
        """The event with this sequence number."""

    def these(self, numbers: Sequence[int]) -> Iterator[Event]:
        """The events with these numbers, in order of number; those that are missing are left out."""
        yield from (event for event in map(self.at, sorted(numbers)) if event is not None)

    @abstractmethod
    def last(self) -> Event:
        """The end of the chain; every ledger has at least its create event."""

    @abstractmethod
    def add(self, row: Row) -> None:
        """Write an event that continues the chain; durable once the transaction ends."""

    @abstractmethod
    def close(self) -> None:
        """Keep versions that do not know of copies from spending what is spent elsewhere now."""

    @abstractmethod
    def check_pages(self) -> None:
        """Refuse a damaged place; nothing is looked up through the table's own indexes."""

    @abstractmethod
    def check_indexes(self) -> None:
        """Refuse a damaged place, its indexes included: slower."""

    def append(self, kind: Kind, entry: str, content: dict[str, Any], last: Event | None) -> Event:
        """Continue the chain after `last`."""
        event = Event.after(last, kind, entry, canonical(f"Ledger.{kind} content", content))
        self.add((event.seq, kind, entry, content.get("request"), event.body, event.previous, event.hash))
        return event


class Noted(Protocol):
    """The end of a chain, written down outside of it."""

    @property
    def is_required(self) -> bool:
        """Whether a ledger without it is refused."""

    @property
    def is_writable(self) -> bool:
        """Whether this user may note a head."""

    @property
    def path(self) -> Path:
        """The file that holds it."""

    def read(self) -> Head | None:
        """The noted head, if there is one."""

    def write(self, head: Head) -> None:
        """Replace the head, durably. Only inside `Store.noting`."""


class Store(Protocol):
    """A ledger in its place."""

    @property
    def path(self) -> Path | str:
        """The place, as it is opened again."""

    @property
    def head(self) -> Noted:
        """Where the end of the chain is noted."""

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """Where the place itself keeps that: when its chain was accepted without a head."""

    def is_there(self) -> bool:
        """Whether there is something in the place, a ledger or not."""

    def prepare(self) -> None:
        """Refuse a place where no ledger can be made."""

    def create(self, chain: Iterable[Row], accepted: Sequence[tuple[int, str]] = ()) -> None:
        """Make the ledger with these events, complete or not at all, and never over another one."""

    def grant(self, role: str) -> None:
        """Let a role of the database append to its ledgers, and no more."""

    def migrate(self, check: Callable[[Events], None]) -> None:
        """Bring a ledger of an older format to this one, if `check` passes under the lock."""

    def read(self) -> AbstractContextManager[Events]:
        """A consistent view of the events."""

    def transact(self, work: Callable[[Events], T]) -> T:
        """Let `work` be the only writer: what it appended is durable when this returns. It may be called again."""

    def noting(self) -> AbstractContextManager[Events]:
        """A view of the end of the chain in which its head is noted: nobody else notes one meanwhile."""
