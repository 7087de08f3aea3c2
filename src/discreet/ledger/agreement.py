"""What a ledger agreed to when it was made, and what follows for requests: known or new, at what price, or refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from discreet.errors import BudgetExceeded, GuaranteeError, LedgerError
from discreet.guarantee import Budget, Guarantee, stored
from discreet.guarantee.stored import same
from discreet.ledger.events import Charge, Entry, read_charge, read_entry
from discreet.ledger.filters import MOST_ADVISED, Filter, Portfolio, other_filters
from discreet.ledger.verified import VerifiedEvents

__all__ = ["Request", "Terms", "dataset_ids", "new_requests"]

Request = tuple[Guarantee, Mapping[str, Any]]  # what is asked for, and its recipe

MOVED = (
    "Ledger must be where its budget is spent, but it was copied to {}: what is reserved and not settled resumes "
    "there, and nothing is paid here any more; nothing was released"
)


ALTERED = "the ledger was altered"
CHEAP = (
    "an older accounting charged less than today's price, and nothing of it was released; ask again under another label"
)


@dataclass(frozen=True)
class Terms:
    """Budget, filter and limit of a ledger, for good."""

    budget: Budget
    filter: Filter | Portfolio
    limit: Decimal
    # of the states that were looked at, the last one and the number of its event
    _seen: list[tuple[int, Charge | None]] = field(default_factory=lambda: [(0, None)], init=False, compare=False)

    def quoted(self, events: VerifiedEvents, requests: Sequence[Request]) -> tuple[Charge, ...]:
        """The charges for new requests made at once, in order; a BudgetExceeded says why they are refused."""
        guarantees = [guarantee for guarantee, _ in requests]
        for guarantee in guarantees:
            if not isinstance(guarantee, Guarantee):
                raise GuaranteeError(f"Ledger.reserve guarantee must be a Guarantee, got a {type(guarantee).__name__}")
        if not guarantees:
            return ()
        self._check_states(events)
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

    def known(self, events: VerifiedEvents, keys: Sequence[str], requests: Sequence[Request]) -> dict[str, Entry]:
        """The entries of requests that were made before; what has left stays, and only what was paid is resumed."""
        found: dict[str, Entry] = {}
        unpaid: dict[int, Guarantee] = {}  # of the reservations that are not settled, what they have to pay for
        for key, (guarantee, _) in zip(keys, requests, strict=True):
            reserve = events.requested(key)
            if reserve is not None:
                entry = read_entry(reserve, events.settled(reserve.entry))
                if entry.release is None:
                    older = entry.accounting < stored.ACCOUNTING
                    unpaid[reserve.seq] = guarantee if older else entry.guarantee
                    if not self._is_fair(events, entry, unpaid[reserve.seq], reserve.seq):
                        why = CHEAP if older else ALTERED
                        raise LedgerError(f"Ledger entry {entry.id} must have spent its price: {why}")
                found[key] = _resumed(entry, key, guarantee)
        if unpaid:
            self._check_states(events)
            self._check_whole(events, unpaid)
        return found

    def check_open(self, events: VerifiedEvents, known: Mapping[str, Entry], new: Mapping[str, Any]) -> None:
        """What has left stays; everything else is refused by a ledger whose budget is spent in another place."""
        place = events.moved_to()
        if place is not None and (new or any(entry.release is None for entry in known.values())):
            raise LedgerError(MOVED.format(place))

    def _is_fair(self, events: VerifiedEvents, entry: Entry, paid_for: Guarantee, seq: int) -> bool:
        """Whether what was charged is today's price, within the limit; also where an older accounting charged it.

        Whoever may write events may write them as of an older accounting, too, where none of today's is before them.
        """
        last = None if entry.members is None else events.reserve_before(seq)
        before = None if last is None else read_entry(last, None).charge
        fair, _ = self.filter.fair(before, entry.charge, paid_for, self.budget)
        return fair and entry.spent_after <= self.limit

    def _check_whole(self, events: VerifiedEvents, unpaid: Mapping[int, Guarantee]) -> None:
        """Refuse a purchase that closed the ledger and is not within the budget: prices say nothing of it."""
        last = read_charge(events.at(max(unpaid)))
        if last.closes:
            bought = {event.seq: read_entry(event, None).guarantee for event in events.reserves_after(0)}
            if not self.filter.affordable([*{**bought, **unpaid}.values()], last, self.budget):
                raise LedgerError(f"Ledger entries must have spent their price: {ALTERED}")

    def _check_states(self, events: VerifiedEvents) -> None:
        """Refuse a chain in which a reservation gives something back; each is looked at once."""
        (seq, last), seen = self._seen[0], self._seen[0][0]

        def charges() -> Iterator[Charge]:
            nonlocal seen
            for event in events.reserves_after(seq):
                yield read_charge(event)
                seen = event.seq

        last = self.filter.followed(last, charges())
        self._seen[0] = (seen, last)


def new_requests(keys: Sequence[str], requests: Sequence[Request], known: Mapping[str, Entry]) -> dict[str, Request]:
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

    An older accounting may have written another: the law of the answer is that of the recipe, and what was charged is
    today's price of it, or more.
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


def dataset_ids(acknowledge: Iterable[str]) -> list[str]:
    """Dataset ids, each once and in order."""
    names = sorted(set(acknowledge)) if not isinstance(acknowledge, str) else [acknowledge]
    if not all(isinstance(name, str) and name for name in names):
        raise LedgerError("Ledger.create acknowledge must be dataset ids, got something else")
    return names
