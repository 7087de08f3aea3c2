"""The whole ledger replayed from its first event: hashes, running totals in exact decimals, limit, one use of each.

What `Ledger.reserve` and `Ledger.settle` must have made true one event at a time, read back from the beginning. Within
one version of the accounting a spend is the price of its guarantee to 1e-9; what an older version charged stays
charged, and is reported where today's price is higher.
"""

from collections.abc import Iterable
from decimal import Decimal

from discreet.errors import GuaranteeError, LedgerError
from discreet.guarantee import Budget, Guarantee, stored
from discreet.ledger.events import Charge, Entry, Event, accounting_of, entry_id, read_amount, read_entry, request_key
from discreet.ledger.filters import SMALLEST_REQUEST, Filter, Portfolio, filter_for
from discreet.ledger.sqlite_tables import SCHEMAS

__all__ = ["read_create", "replay"]

Cheap = tuple[Entry, Decimal | None]  # an entry that cost less than today's price; None: today it has no price


class _Totals:
    """What the events so far add up to."""

    def __init__(self, limit: Decimal, chosen: Filter | Portfolio, budget: Budget) -> None:
        self.limit, self.filter, self.budget = limit, chosen, budget
        self.last: Charge | None = None
        self.history: list[Guarantee] = []
        self.accounting = stored.UNVERSIONED
        self.spent = Decimal(0)
        self.neighbours: tuple[str, str] | None = None
        self.requests: set[str] = set()
        self.open: set[str] = set()
        self.cheap: list[Cheap] = []

    def reserve(self, event: Event) -> None:
        """Count a reservation."""
        entry = read_entry(event, None)
        neighbours = (entry.guarantee.relation, entry.guarantee.unit)
        self.neighbours = self.neighbours or neighbours
        self.spent += entry.spend
        _require(entry.request == request_key(entry.recipe), event, "have the request key of its recipe")
        _require(entry.request not in self.requests, event, "reserve a request that was not reserved before")
        _require(entry.id == entry_id(entry.request, event.seq), event, "have the entry id of its request")
        _require(neighbours == self.neighbours, event, "have the relation and unit of the first reservation")
        _require(entry.members is not None or entry.spend >= SMALLEST_REQUEST, event, "spend at least 1e-12")
        _require((entry.members is not None) == (self.filter.name == "portfolio"), event, "be of the ledger's filter")
        self._check_price(entry, event)
        _require(entry.spent_after == self.spent, event, "have the sum of all spends as its running total")
        _require(self.spent <= self.limit, event, "stay within the limit")
        self.requests.add(entry.request)
        self.open.add(entry.id)

    def _check_price(self, entry: Entry, event: Event) -> None:
        older = entry.accounting < stored.ACCOUNTING
        fair, price = self.filter.fair(self.last, entry.charge, entry.guarantee, self.budget)
        _require(older or price is not None, event, "have a guarantee with a price")
        _require(older or fair, event, "spend at least the price of its guarantee")
        if not fair:
            self.cheap.append((entry, price))
        self.last, self.accounting = entry.charge, entry.accounting
        self.history.append(entry.guarantee)

    def check_whole(self, last: Event) -> None:
        """What only the whole history can say: who decided the weights, and whether a closed ledger was affordable."""
        if self.last is not None and self.accounting == stored.ACCOUNTING:
            sound = self.filter.sound(self.history, self.last, self.budget)
            _require(sound, last, "follow from its first purchase, and be within the budget")

    def settle(self, event: Event) -> None:
        """Count a settlement: of a reserved entry, once."""
        _require(event.entry in self.open, event, "settle a reserved entry, once")
        first = ((self.last and self.last.members) or {}).get("first", 0)
        _require(len(self.history) >= first, event, "come after the whole first purchase")
        _require(isinstance(event.content().get("release"), dict), event, "hold a release")
        self.open.remove(event.entry)


def replay(
    events: Iterable[Event], limit: Decimal, head: str | None, chosen: Filter | Portfolio, budget: Budget
) -> tuple[str, ...]:
    """Refuse a chain that is altered anywhere or, if a head noted earlier is given, no longer contains it.

    Returns a sentence for every entry that today's accounting would charge more for. Must run in a decimal context that
    never rounds.
    """
    last: Event | None = None
    totals = _Totals(limit, chosen, budget)
    found = False
    for event in events:
        event.check_follows(last)
        if event.kind == "reserve":
            totals.reserve(event)
        elif event.kind == "settle":
            totals.settle(event)
        _require((event.kind == "create") == (event.seq == 1), event, "be create at the start and never again")
        found = found or event.hash == head
        last = event
    if last is None:
        raise LedgerError("Ledger event 1 must exist: the ledger is empty")
    totals.check_whole(last)
    if head is not None and not found:
        raise LedgerError(
            f"Ledger must contain the head noted earlier, but events 1 to {last.seq} do not: the file was replaced or "
            "restored from an older copy"
        )
    return tuple(_told(entry, price, chosen, budget) for entry, price in totals.cheap)


def read_create(create: Event) -> tuple[Budget, Filter | Portfolio, Decimal, int]:
    """Budget, filter, limit and accounting, as the first event of a ledger states them."""
    try:
        content = create.content()
        if content["format"] not in SCHEMAS:
            raise ValueError("other format")
        budget, limit = Budget(**content["budget"]), read_amount(content["limit"])
        return budget, filter_for(budget, str(content["filter"])), limit, accounting_of(content)
    except (KeyError, TypeError, ValueError, GuaranteeError):
        raise LedgerError("Ledger event 1 must be a create event this version can read, got another") from None


def _told(entry: Entry, price: Decimal | None, chosen: Filter | Portfolio, budget: Budget) -> str:
    asked, paid = "none" if price is None else chosen.describe(price, budget), chosen.describe(entry.spend, budget)
    return f"entry {entry.id}: accounting {entry.accounting} charged {paid}, today's price is {asked}"


def _require(holds: bool, event: Event, duty: str) -> None:
    if not holds:
        raise LedgerError(f"Ledger event {event.seq} must {duty}: the ledger was altered")
