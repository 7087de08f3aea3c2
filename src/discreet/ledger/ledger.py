"""Reserve, then read; settle once. What is reserved is spent, whether or not an answer ever leaves.

    reserve   in one transaction: known requests? same relation and unit? admitted by the filter? then append     O(1)
    settle    compare-and-set: the first release of an entry is stored, every other one is discarded

Before either answers, the end of the chain is noted beside the ledger (`head`). A crash between the two leaves the
entry reserved: the budget is gone, and the same request may resume it without a second charge, because nothing of it
has left yet.
"""

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Self

from discreet.errors import BudgetExceeded, GuaranteeError, LedgerError
from discreet.guarantee import Budget, Guarantee, stored
from discreet.guarantee.stored import same
from discreet.ledger.events import (
    LEAST,
    Charge,
    Entry,
    entry_id,
    plain,
    read_entry,
    request_key,
    reserve_content,
)
from discreet.ledger.filters import MOST_ADVISED, SMALLEST_REQUEST, filter_for, other_filters
from discreet.ledger.fitting import Balanced, still_fits
from discreet.ledger.sqlite import FORMAT, SqliteStore
from discreet.ledger.verification import read_create, replay
from discreet.ledger.verified import EXACT, VerifiedEvents, VerifiedStore

__all__ = ["Ledger", "Request"]

Request = tuple[Guarantee, Mapping[str, Any]]  # what is asked for, and its recipe


class Ledger(Balanced):
    """A budget for one population and everything ever paid from it, in one file. Made by `create` or `open`."""

    def __init__(self, store: VerifiedStore) -> None:
        if not isinstance(store, VerifiedStore):
            raise LedgerError("Ledger must be made by Ledger.create or Ledger.open, got a direct call")
        self._store = store
        with store.read() as events:
            self.budget, self.filter, self.limit, self._accounting = read_create(events.at(1))

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget, filter: str | None = None) -> Self:  # noqa: A002
        """Make a new ledger file; an existing one is never overwritten.

        Without `filter`, a budget of epsilon alone adds up epsilon (`"pure"`); one with delta is a `"portfolio"`, which
        pays for every kind of guarantee. A budget cannot be raised: another ledger adds its own to it.
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
        (entry,) = self.reserve_all([(guarantee, recipe)])
        return entry

    def reserve_all(self, requests: Sequence[Request]) -> tuple[Entry, ...]:
        """Reserve several requests at once, in one transaction: all of them, or none.

        Those that are not known yet are one purchase: priced together, before anything of it is seen.
        """
        keys = [request_key(recipe) for _, recipe in requests]
        with localcontext(EXACT), self._store.read() as events:
            known = self._known(events, keys, requests)
            self._quoted(events, list(_new(keys, requests, known).values()))  # slow prices: not under the lock
        with localcontext(EXACT), self._store.write() as events:
            known = self._known(events, keys, requests)
            new = _new(keys, requests, known)
            charges = self._quoted(events, list(new.values()))
            seq = events.last().seq
            for (key, (guarantee, recipe)), charge in zip(new.items(), charges, strict=True):
                seq += 1
                made = events.append("reserve", entry_id(key, seq), reserve_content(guarantee, recipe, charge))
                known[key] = read_entry(made, None, is_new=True)
        return tuple(known[key] for key in keys)

    def quote(self, guarantees: Sequence[Guarantee]) -> tuple[Charge, ...]:
        """What one purchase of new requests would be charged now, or why it is refused; nothing is written."""
        with localcontext(EXACT), self._store.read() as events:
            return self._quoted(events, [(guarantee, {}) for guarantee in guarantees])

    def price(self, guarantee: Guarantee) -> Decimal:
        """What reserving the guarantee would spend now, in the filter's unit; nothing is written."""
        return self.quote([guarantee])[0].spend

    def quote_in_turn(self, guarantees: Sequence[Guarantee]) -> tuple[Charge, ...]:
        """The same for requests made one after another, each seen before the next."""
        with localcontext(EXACT), self._store.read() as events:
            last = events.last_reserve()
            before = None if last is None else read_entry(last, None).charge
            made: list[Charge] = []
            for guarantee in guarantees:
                made += self.filter.charges(made[-1] if made else before, [guarantee], self.budget, self.limit)
        return tuple(made)

    def still_fits(self) -> dict[str, Any]:
        """What is left, in requests: how many more like the last one, the largest pure epsilon, the largest mu."""
        with localcontext(EXACT), self._store.read() as events:
            last = events.last_reserve()
            entry = None if last is None else read_entry(last, None)
            return still_fits(entry, self.filter, self.budget, self.limit)

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
            last = events.last_reserve()
            return Decimal(0) if last is None else read_entry(last, None).spent_after

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
            cheap = replay(events, self.limit, head, self.filter, self.budget)
            events.check_indexes()
        found = [f"limit set by accounting {self._accounting}: today's is lower"] if generous else []
        return (*found, *cheap)

    def _quoted(self, events: VerifiedEvents, requests: Sequence[Request]) -> tuple[Charge, ...]:
        """The charges for new requests made at once, in order; a BudgetExceeded says why they are refused."""
        guarantees = [guarantee for guarantee, _ in requests]
        for guarantee in guarantees:
            if not isinstance(guarantee, Guarantee):
                raise GuaranteeError(f"Ledger.reserve guarantee must be a Guarantee, got a {type(guarantee).__name__}")
        if not guarantees:
            return ()
        first, last = events.first_reserve(), events.last_reserve()
        _check_neighbours(guarantees if first is None else [read_entry(first, None).guarantee, *guarantees])
        before = None if last is None else read_entry(last, None).charge
        try:
            return self.filter.charges(before, guarantees, self.budget, self.limit)
        except BudgetExceeded as refusal:
            told = str(refusal)
        if events.last().seq <= MOST_ADVISED:  # else others would wait for it
            history = [read_entry(event, None).guarantee for event in events if event.kind == "reserve"]
            told += other_filters([*history, *guarantees], self.budget, self.filter)
        raise BudgetExceeded(told)

    def _known(self, events: VerifiedEvents, keys: Sequence[str], requests: Sequence[Request]) -> dict[str, Entry]:
        """The entries of requests that were made before; what has left stays, and only what was paid is resumed."""
        found: dict[str, Entry] = {}
        for key, (guarantee, _) in zip(keys, requests, strict=True):
            reserve = events.requested(key)
            if reserve is not None:
                entry = read_entry(reserve, events.settled(reserve.entry))
                if entry.release is None and not self._is_fair(events, entry, reserve.seq):
                    raise LedgerError(f"Ledger entry {entry.id} must have spent its price: the ledger was altered")
                found[key] = _resumed(entry, key, guarantee)
        return found

    def _is_fair(self, events: VerifiedEvents, entry: Entry, seq: int) -> bool:
        """What an older accounting charged stays charged; today's must be the price."""
        older = entry.accounting < stored.ACCOUNTING
        last = None if entry.members is None else events.reserve_before(seq)
        before = None if last is None else read_entry(last, None).charge
        return older or self.filter.fair(before, entry.charge, entry.guarantee, self.budget)[0]


def _new(keys: Sequence[str], requests: Sequence[Request], known: Mapping[str, Entry]) -> dict[str, Request]:
    """The requests that were not made before, each once."""
    new: dict[str, Request] = {}
    for key, request in zip(keys, requests, strict=True):
        held = request if key in known else new.setdefault(key, request)
        if held is not request and not same(held[0], request[0]):
            raise GuaranteeError(f"Ledger.reserve guarantee must be one for each recipe, got another, {request[0]!r}")
    return new


def _check_neighbours(guarantees: Sequence[Guarantee]) -> None:
    """Guarantees between different neighbours do not add up."""
    held = guarantees[0]
    for guarantee in guarantees[1:]:
        if (held.relation, held.unit) != (guarantee.relation, guarantee.unit):
            raise GuaranteeError(
                f"Ledger.reserve guarantee must hold for {held.relation} of a {held.unit}, as the entries before it, "
                f"got {guarantee.relation} of a {guarantee.unit}"
            )


def _resumed(entry: Entry, request: str, guarantee: Guarantee) -> Entry:
    """A known request; while nothing has left, only the guarantee that was paid for may be resumed.

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
    return entry
