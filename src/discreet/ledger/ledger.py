"""Reserve, then read; settle once. What is reserved is spent, whether or not an answer ever leaves.

    reserve   in one transaction: known request? same relation and unit? within the limit? then append     O(1)
    settle    compare-and-set: the first release of an entry is stored, every other one is discarded

Before either answers, the end of the chain is noted beside the ledger (`head`). A crash between the two leaves the
entry reserved: the budget is gone, and the same request may resume it without a second charge, because nothing of it
has left yet.
"""

import os
import re
import secrets
from collections.abc import Mapping
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Self

from discreet.errors import BudgetExceeded, GuaranteeError, LedgerError
from discreet.guarantee import Budget, Guarantee, stored
from discreet.guarantee.stored import same
from discreet.ledger.events import (
    Entry,
    Event,
    accounting_of,
    entry_id,
    read_amount,
    read_entry,
    request_key,
    reserve_content,
)
from discreet.ledger.filters import FILTERS, SMALLEST_REQUEST, Filter, filter_for, plain
from discreet.ledger.sqlite import FORMAT, SqliteStore
from discreet.ledger.verification import LEAST, replay
from discreet.ledger.verified import EXACT, VerifiedEvents, VerifiedStore

__all__ = ["Ledger"]


class Ledger:
    """A budget for one population and everything ever paid from it, in one file. Made by `create` or `open`."""

    def __init__(self, store: VerifiedStore) -> None:
        if not isinstance(store, VerifiedStore):
            raise LedgerError("Ledger must be made by Ledger.create or Ledger.open, got a direct call")
        self._store = store
        with store.read() as events:
            self.budget, self.filter, self.limit, self._accounting = _read_create(events.at(1))

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget, filter: str | None = None) -> Self:  # noqa: A002
        """Make a new ledger file; an existing one is never overwritten.

        Without `filter`, a budget of epsilon alone adds up epsilon (`"pure"`), one with delta rho (`"zcdp"`).
        """
        if not isinstance(budget, Budget):
            raise GuaranteeError(f"Ledger.budget must be a Budget, got {budget!r}")
        chosen = filter_for(budget, filter)
        limit = chosen.limit(budget)
        if limit < SMALLEST_REQUEST:  # every request would be refused
            least = f"at least {SMALLEST_REQUEST:.0e} in {chosen.unit}"
            raise GuaranteeError(f"Ledger.budget must be {least}, got {plain(limit)} from {budget}")
        store = SqliteStore(path)
        store.create(
            {
                "accounting": stored.ACCOUNTING,  # of the limit
                "format": FORMAT,
                "nonce": secrets.token_hex(16),  # no two ledgers share a hash, not even of equal budgets and entries
                "budget": budget.to_json(),
                "filter": chosen.name,
                "limit": plain(limit),
            }
        )
        return cls(VerifiedStore(store))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open an existing ledger and verify its chain; a missing one is an error, never a fresh budget."""
        return cls(VerifiedStore(SqliteStore(path)))

    @classmethod
    def accept_head(cls, path: str | os.PathLike[str], head: str | None = None) -> Self:
        """Verify a ledger whose head file is lost and take its chain as it is, for good; the head file records it.

        Nothing tells then whether the ledger lost its last events, but a `head` noted elsewhere.
        """
        store = VerifiedStore(SqliteStore(path), trusting=True)
        ledger = cls(store)
        ledger.verify(head)
        store.accept()
        return ledger

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).open, (str(self.path),)  # another process opens the file itself

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {self.budget}, filter={self.filter.name!r})"

    def __str__(self) -> str:
        spent, left = (self.filter.describe(amount, self.budget) for amount in (self.spent(), self.remaining()))
        return f"budget {self.budget}; spent {spent}; left {left}"

    @property
    def path(self) -> Path:
        """The absolute path of the file."""
        return self._store.path

    def reserve(self, guarantee: Guarantee, recipe: Mapping[str, Any]) -> Entry:
        """Spend the guarantee durably, or refuse and write nothing. A known recipe returns its entry and is free.

        What is known is found by its recipe alone: a stored release is never refused, and asks for no price.
        """
        request = request_key(recipe)
        with self._store.read() as events:
            found = events.requested(request)
            known = None if found is None else _entry(events, found)
        with localcontext(EXACT):
            asked = guarantee if known is None else known.guarantee
            free = known is not None and (known.release is not None or known.accounting < stored.ACCOUNTING)
            spend = Decimal(0) if free else self.price(asked)  # slow ones are not priced under the lock
            with self._store.write() as events:
                found = events.requested(request)
                if found is not None:
                    return _resume(_entry(events, found), request, guarantee, spend)
                _check_neighbours(events, guarantee)
                spent = _spent(events)
                if spent + spend > self.limit:
                    raise self._refusal(spend, self.limit - spent)
                content = reserve_content(guarantee, recipe, spend, spent + spend)
                event = events.append("reserve", entry_id(request, events.last().seq + 1), content)
        return read_entry(event, None)

    def settle(self, entry: Entry, release: Mapping[str, Any]) -> dict[str, Any]:
        """Store the release of a reserved entry, once, and return the stored one: only that may leave."""
        if not isinstance(release, Mapping):
            raise LedgerError(f"Ledger.settle release must be a mapping, got a {type(release).__name__}")
        with self._store.write() as events:
            reserved = events.reserved(entry.id)
            if reserved is None or reserved.content()["request"] != entry.request:
                raise LedgerError(f"Ledger.settle entry must be reserved in this ledger, got {entry.id!r}")
            stored = events.settled(entry.id)
            if stored is None:
                stored = events.append("settle", entry.id, {"release": dict(release)})
        answer: dict[str, Any] = stored.content()["release"]
        return answer

    def spent(self) -> Decimal:
        """What is reserved or settled so far, in the filter's unit."""
        with self._store.read() as events:
            return _spent(events)

    def remaining(self) -> Decimal:
        """What is left, in the filter's unit."""
        with localcontext(EXACT):
            return self.limit - self.spent()

    def entries(self) -> tuple[Entry, ...]:
        """Every entry in the order of reservation."""
        with self._store.read() as events:
            chain = list(events)
        settled = {event.entry: event for event in chain if event.kind == "settle"}
        return tuple(read_entry(event, settled.get(event.entry)) for event in chain if event.kind == "reserve")

    def head(self) -> str:
        """The last hash of the chain: written down elsewhere, it lets `verify` detect an older or rebuilt file."""
        with self._store.read() as events:
            return events.last().hash

    def accepted(self) -> tuple[tuple[int, str], ...]:
        """Every time that the chain was accepted without a head file: its last event then, and when."""
        return self._store.accepted()

    def verify(self, head: str | None = None) -> tuple[str, ...]:
        """Check every page, hash, total and limit and, if given, that a head noted earlier is still in the chain.

        Returns a sentence for everything that an older accounting charged less for than today's would.
        """
        if head is not None and not (isinstance(head, str) and re.fullmatch("[0-9a-f]{64}", head)):
            raise LedgerError(f"Ledger.verify head must be 64 hexadecimal digits, got {head!r}")
        with localcontext(EXACT), self._store.read() as events:
            generous = self.limit * LEAST > self.filter.limit(self.budget)
            if generous and self._accounting == stored.ACCOUNTING:
                raise LedgerError("Ledger event 1 must have a limit within its budget: the ledger was altered")
            cheap = replay(events, self.limit, head, self.price)
            events.check_indexes()
        found = [f"limit set by accounting {self._accounting}: today's is lower"] if generous else []
        for entry, price in cheap:
            asked = "none" if price is None else self.filter.describe(price, self.budget)
            paid = self.filter.describe(entry.spend, self.budget)
            found.append(f"entry {entry.id}: accounting {entry.accounting} charged {paid}, today's price is {asked}")
        return tuple(found)

    def price(self, guarantee: Guarantee) -> Decimal:
        """What reserving the guarantee would spend, in the filter's unit; nothing is written."""
        if not isinstance(guarantee, Guarantee):
            raise GuaranteeError(f"Ledger.reserve guarantee must be a Guarantee, got a {type(guarantee).__name__}")
        return self.filter.spend(guarantee, self.budget)

    def _refusal(self, asked: Decimal, left: Decimal) -> BudgetExceeded:
        amounts = {"asked": asked, "left": left, "missing": asked - left}
        told = ", ".join(f"{name} {self.filter.describe(amount, self.budget)}" for name, amount in amounts.items())
        return BudgetExceeded(f"Ledger.reserve must stay within the budget of {self.budget}: {told}")


def _read_create(create: Event) -> tuple[Budget, Filter, Decimal, int]:
    try:
        content = create.content()
        if content["format"] != FORMAT:
            raise ValueError("other format")
        budget, limit = Budget(**content["budget"]), read_amount(content["limit"])
        return budget, FILTERS[content["filter"]], limit, accounting_of(content)
    except (KeyError, TypeError, ValueError, GuaranteeError):
        raise LedgerError("Ledger event 1 must be a create event this version can read, got another") from None


def _spent(events: VerifiedEvents) -> Decimal:
    last = events.last_reserve()
    return Decimal(0) if last is None else read_entry(last, None).spent_after


def _entry(events: VerifiedEvents, reserve: Event) -> Entry:
    return read_entry(reserve, events.settled(reserve.entry))


def _check_neighbours(events: VerifiedEvents, guarantee: Guarantee) -> None:
    """Guarantees between different neighbours do not add up."""
    first = events.first_reserve()
    if first is None:
        return
    held = read_entry(first, None).guarantee
    if (held.relation, held.unit) != (guarantee.relation, guarantee.unit):
        raise GuaranteeError(
            f"Ledger.reserve guarantee must hold for {held.relation} of a {held.unit}, as the entries before it, "
            f"got {guarantee.relation} of a {guarantee.unit}"
        )


def _resume(entry: Entry, request: str, guarantee: Guarantee, price: Decimal) -> Entry:
    """A known request; while nothing has left, only the guarantee that was paid for, at its price, may be resumed.

    An older accounting may have priced it otherwise: the law of the answer is that of the recipe, and what was charged
    stays charged.
    """
    if entry.request != request:
        raise LedgerError(f"Ledger entry {entry.id} must be filed under its own request: the ledger was altered")
    if entry.release is not None:
        return entry
    held = entry.guarantee
    older = entry.accounting < stored.ACCOUNTING and (held.relation, held.unit) == (guarantee.relation, guarantee.unit)
    if not older and not same(held, guarantee):
        raise GuaranteeError(
            f"Ledger.reserve guarantee must be the one reserved for this recipe, {held!r}, got {guarantee!r}"
        )
    if entry.spend < price * LEAST:
        raise LedgerError(f"Ledger entry {entry.id} must have spent its price: the ledger was altered")
    return entry
