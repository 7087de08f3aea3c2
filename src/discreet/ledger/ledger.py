"""Reserve, then read; settle once. What is reserved is spent, whether or not an answer ever leaves.

    reserve   in one transaction: known requests? same relation and unit? admitted by the filter? then append     O(1)
    settle    compare-and-set: the first release of an entry is stored, every other one is discarded

Before either answers, the end of the chain is noted beside the ledger (`head`). A crash between the two leaves the
entry reserved: the budget is gone, and the same request may resume it without a second charge, because nothing of it
has left yet.
"""

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Self

from discreet.checks import told
from discreet.errors import GuaranteeError, LedgerError
from discreet.guarantee import Budget, Guarantee, stored
from discreet.ledger.agreement import Request, Terms, dataset_ids, new_requests
from discreet.ledger.base import created
from discreet.ledger.copying import confirm, move
from discreet.ledger.events import (
    LEAST,
    Charge,
    Entry,
    Event,
    entry_id,
    plain,
    read_entry,
    request_key,
    reserve_content,
)
from discreet.ledger.filters import SMALLEST_REQUEST, filter_for
from discreet.ledger.fitting import Balanced, still_fits
from discreet.ledger.places import Place, store_at
from discreet.ledger.sqlite_tables import FORMAT
from discreet.ledger.verification import read_create, replay
from discreet.ledger.verified import EXACT, VerifiedEvents
from discreet.ledger.verified_store import VerifiedStore

__all__ = ["Ledger", "Request"]

PAGE = 500  # entries that are read at once


class Ledger(Balanced):
    """A budget for one population and everything ever paid from it; in a file or a database, by `create` or `open`."""

    def __init__(self, store: VerifiedStore) -> None:
        if not isinstance(store, VerifiedStore):
            raise LedgerError("Ledger must be made by Ledger.create or Ledger.open, got a direct call")
        self._store = store
        with store.read() as events:
            self.budget, self.filter, self.limit, self._accounting = read_create(events.at(1))
        self._terms = Terms(self.budget, self.filter, self.limit)

    @classmethod
    def create(
        cls,
        path: Place,
        budget: Budget,
        filter: str | None = None,  # noqa: A002
        acknowledge: Iterable[str] = (),
    ) -> Self:
        """Make a new ledger, in a file or at "postgresql://…?ledger=name"; an existing one is never overwritten.

        Without `filter`, a budget of epsilon alone adds up epsilon (`"pure"`); one with delta is a `"portfolio"`, which
        pays for every kind of guarantee. A budget cannot be raised: another ledger adds its own to it. Of two ledgers
        in one database only one pays for a dataset, unless the other was made to `acknowledge` the id of it.
        """
        if not isinstance(budget, Budget):
            raise GuaranteeError(
                f"Ledger.budget must be a Budget, got {told(budget)}: dc.Budget(epsilon=3, delta=1e-6)"
            )
        chosen = filter_for(budget, filter)
        limit = chosen.limit(budget)
        if limit < SMALLEST_REQUEST:  # every request would be refused
            least = f"at least {SMALLEST_REQUEST:.0e} in {chosen.unit}"
            raise GuaranteeError(f"Ledger.budget must be {least}, got {plain(limit)} from {budget}")
        content = {
            "accounting": stored.ACCOUNTING,  # of the limit
            "format": FORMAT,
            "nonce": secrets.token_hex(16),  # no two ledgers share a hash, not even of equal budgets and entries
            "budget": budget.to_json(),
            "filter": chosen.name,
            "limit": plain(limit),
        }
        known = {"acknowledged": names} if (names := dataset_ids(acknowledge)) else {}
        store = store_at(path)
        store.create([created({**content, **known})])
        return cls(VerifiedStore(store))

    @classmethod
    def open(cls, path: Place) -> Self:
        """Open an existing ledger and verify its chain; a missing one is an error, never a fresh budget."""
        return cls(VerifiedStore(store_at(path)))

    @classmethod
    def accept_head(cls, path: Place, head: str | None = None) -> Self:
        """Verify a ledger whose head file is lost and take its chain as it is, for good; the head file records it.

        Nothing tells then whether the ledger lost its last events, but a `head` noted elsewhere.
        """
        store = VerifiedStore(store_at(path), trusting=True)
        ledger = cls(store)
        ledger.verify(head)
        store.accept()
        return ledger

    def copy_to(self, path: Place) -> Self:
        """Move the ledger to another place and close it here; refused requests name the new place from then on.

        The events stay as they are, hashes and all. After a crash the same copy again goes on where it stopped.
        """
        self.verify()
        target = store_at(path)
        head = move(self._store, target)
        copied = self.open(path)
        copied.verify(head)
        confirm(self._store, target)
        return copied

    def grant(self, role: str) -> None:
        """Let a role of the database pay from the ledgers in it: it may read them and append, and nothing else."""
        self._store.grant(role)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).open, (str(self.path),)  # another process opens the file itself

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {self.budget}, filter={self.filter.name!r})"

    def __str__(self) -> str:
        spent, left = (self.filter.describe(amount, self.budget) for amount in (self.spent(), self.remaining()))
        moved = "" if (place := self.moved_to) is None else f"; closed, and spent in {place}"
        return f"budget {self.budget}; spent {spent}; left {left}{moved}"

    @property
    def path(self) -> Path | str:
        """The absolute path of the file, or the address of the database."""
        return self._store.path

    @property
    def moved_to(self) -> str | None:
        """Where its budget is spent, if it was copied and is closed here."""
        with self._store.read() as events:
            return events.moved_to()

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
            known = self._terms.known(events, keys, requests)
            new = new_requests(keys, requests, known)
            self._terms.check_open(events, known, new)
            self._terms.quoted(events, list(new.values()))  # slow prices: not under the lock

        def pay(events: VerifiedEvents) -> dict[str, Entry]:
            known = self._terms.known(events, keys, requests)
            new = new_requests(keys, requests, known)
            self._terms.check_open(events, known, new)
            charges = self._terms.quoted(events, list(new.values()))
            seq = events.last().seq
            for (key, (guarantee, recipe)), charge in zip(new.items(), charges, strict=True):
                seq += 1
                made = events.append("reserve", entry_id(key, seq), reserve_content(guarantee, recipe, charge))
                known[key] = read_entry(made, None, is_new=True)
            return known

        with localcontext(EXACT):
            paid = self._store.write(pay)
        return tuple(paid[key] for key in keys)

    def quote(self, guarantees: Sequence[Guarantee]) -> tuple[Charge, ...]:
        """What one purchase of new requests would be charged now, or why it is refused; nothing is written."""
        with localcontext(EXACT), self._store.read() as events:
            return self._terms.quoted(events, [(guarantee, {}) for guarantee in guarantees])

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

        def store(events: VerifiedEvents) -> Event:
            reserved, settled = events.reserved(entry.id), events.settled(entry.id)
            if reserved is None or reserved.content()["request"] != entry.request:
                raise LedgerError(f"Ledger.settle entry must be reserved in this ledger, got {entry.id!r}")
            if settled is None:
                self._terms.check_open(events, {}, {entry.request: entry})
                settled = events.append("settle", entry.id, {"release": dict(release)})
            return settled

        answer: dict[str, Any] = self._store.write(store).content()["release"]
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

    @property
    def count(self) -> int:
        """The number of entries."""
        with self._store.read() as events:
            return len(events.entries())

    def find(self, recipe: Mapping[str, Any]) -> Entry | None:
        """The entry of a request, looked up by its key."""
        key = request_key(recipe)
        with self._store.read() as events:
            reserve = events.requested(key)
            return None if reserve is None else read_entry(reserve, events.settled(reserve.entry))

    def entries(self) -> tuple[Entry, ...]:
        """Every entry in the order of reservation, with its release."""
        with self._store.read() as events:
            numbers = events.entries()
            found = events.these([seq for pair in numbers for seq in pair if seq is not None])
        return tuple(read_entry(found[first], found.get(second or 0)) for first, second in numbers)

    def listed(self, last: int | None = None) -> Iterator[Entry]:
        """Every entry, or the last ones, in the order of reservation; page by page and without their releases."""
        with self._store.read() as events:
            numbers = events.entries()
        if last is not None:
            numbers = numbers[max(len(numbers) - last, 0) :]
        for start in range(0, len(numbers), PAGE):
            page = dict(numbers[start : start + PAGE])
            with self._store.read() as events:
                found = events.these(list(page))
            for seq, event in found.items():
                yield replace(read_entry(event, None), status="reserved" if page[seq] is None else "settled")

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
