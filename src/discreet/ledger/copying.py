"""A ledger moves to another place: at no moment, and after no crash, do two of them pay.

    source   1 … N   moved (N + 1: closed, and where to)                copied (N + 2: everything is there)
    target                                                 1 … N                                            goes on

The source is closed first, durably; from then on it pays nothing. Then the target is made, complete or not at all. A
crash between the two leaves no ledger that pays, and the same copy again makes the target. Once the target has been
verified the source says so, and makes no second one: a target that is lost with what was paid there is not replaced.

The target holds the events as they are, so heads that were noted earlier are in its chain and requests keep their keys.
"""

from discreet.errors import LedgerError
from discreet.guarantee.stored import ACCOUNTING
from discreet.ledger.agreement import MOVED
from discreet.ledger.base import Store
from discreet.ledger.verified import VerifiedEvents
from discreet.ledger.verified_store import VerifiedStore

__all__ = ["confirm", "move"]

MADE = "Ledger.copy must be made once, but the ledger was copied to {}; nothing was done"


def move(source: VerifiedStore, target: Store) -> str:
    """Close the source and make the target with its events, as far as that is not done; the last hash of them."""
    place = str(target.path)
    with source.read() as events:
        is_open = events.moved_to() is None
    if is_open:
        target.prepare()  # what cannot be made is refused before the source is closed

    def close(events: VerifiedEvents) -> None:
        moved = events.moved_to()
        if moved is None:
            events.append("migrate", "moved", {"accounting": ACCOUNTING, "moved": place})
            events.close()
        elif moved != place:
            raise LedgerError(MOVED.format(moved))
        elif events.is_copied:
            raise LedgerError(MADE.format(moved))

    source.write(close)
    with source.read() as events:
        closed = events.moved_at()
        if not target.is_there():
            target.create(events.rows(closed), source.accepted())
        return events.at(closed - 1).hash


def confirm(source: VerifiedStore, target: Store) -> None:
    """Note in the source that the target was verified."""

    def note(events: VerifiedEvents) -> None:
        if not events.is_copied:
            events.append("migrate", "copied", {"accounting": ACCOUNTING, "copied": str(target.path)})

    source.write(note)
