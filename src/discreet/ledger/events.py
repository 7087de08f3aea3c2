"""The chain: every event carries the hash of the one before it, so an edit anywhere changes every later hash.

    hash = sha256(previous ⏎ seq ⏎ kind ⏎ entry ⏎ body),     previous of the first event = 64 zeros

The chain has no secret: whoever may write the file could rebuild it. A custodian who writes down the last hash
(`Ledger.head`) elsewhere can tell: no rebuilt or older chain that lacks this hash passes `Ledger.verify(head)`.

An entry: one reserved guarantee, the public recipe it pays for and, once settled, the release it paid for.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal

from discreet.errors import DiscreetError, LedgerError
from discreet.guarantee import Guarantee, from_json, stored
from discreet.recipe import parse_json

__all__ = [
    "LEAST",
    "ORIGIN",
    "Charge",
    "Entry",
    "Event",
    "Kind",
    "Row",
    "accounting_of",
    "canonical",
    "digest",
    "entry_id",
    "plain",
    "read_amount",
    "read_charge",
    "read_entry",
    "request_key",
    "reserve_content",
]

Row = tuple[int, str, str, str | None, str, str, str]  # seq, kind, entry, request, body, previous, hash

Kind = Literal["create", "reserve", "settle", "migrate"]
ORIGIN = "0" * 64

LEAST = Decimal("0.999999999")  # of a price, within one version of the accounting


def canonical(field: str, content: Mapping[str, Any]) -> str:
    """The one JSON text of `content`: sorted keys, no spaces, ASCII; NaN and infinity are not JSON."""
    if not isinstance(content, Mapping):
        raise LedgerError(f"{field} must be a mapping of plain JSON values, got a {type(content).__name__}")
    try:
        return json.dumps(dict(content), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(f"{field} must be a mapping of plain JSON values, got something JSON cannot hold") from None


def digest(*parts: str | int) -> str:
    """SHA-256 of the parts, one per line; only the last may itself contain a line break."""
    return sha256("\n".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True)
class Event:
    """One line of the ledger; `body` is canonical JSON text."""

    seq: int
    kind: str
    entry: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(cls, last: "Event | None", kind: Kind, entry: str, body: str) -> "Event":
        """The event that continues the chain after `last`, or begins it."""
        seq, previous = (1, ORIGIN) if last is None else (last.seq + 1, last.hash)
        return cls(seq, kind, entry, body, previous, digest(previous, seq, kind, entry, body))

    def check(self) -> None:
        """Refuse an event whose stored hash is not that of its own content."""
        if self.hash != digest(self.previous, self.seq, self.kind, self.entry, self.body):
            raise LedgerError(f"Ledger event {self.seq!r} must have the hash of its content: the ledger was altered")

    def check_follows(self, last: "Event | None") -> None:
        """Refuse an event that is altered or is not the next one after `last`."""
        self.check()
        seq, previous = (1, ORIGIN) if last is None else (last.seq + 1, last.hash)
        if (self.seq, self.previous) != (seq, previous):
            raise LedgerError(f"Ledger event {seq} must follow the event before it: the ledger was altered")

    def content(self) -> dict[str, Any]:
        """The body as plain data."""
        try:
            content = parse_json(self.body)
        except (TypeError, ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise LedgerError(f"Ledger event {self.seq} must be a JSON object: the ledger was altered")
        return content


@dataclass(frozen=True)
class Charge:
    """The price of a request, what is spent with it, and what the members of a portfolio have used (None without)."""

    spend: Decimal
    spent_after: Decimal
    members: dict[str, Any] | None = None

    @property
    def closes(self) -> bool:
        """Whether nothing can be paid after it."""
        return self.members is not None and bool(self.members.get("closed"))


def plain(amount: Decimal) -> str:
    """A decimal without trailing zeros or exponent."""
    return f"{amount:f}".rstrip("0").rstrip(".") if "." in f"{amount:f}" else f"{amount:f}"


@dataclass(frozen=True)
class Entry:
    """What was reserved, what it cost, by which accounting, and what the ledger had spent with it; all is public."""

    id: str
    request: str
    recipe: dict[str, Any]
    guarantee: Guarantee
    spend: Decimal
    spent_after: Decimal
    status: Literal["reserved", "settled"]
    release: dict[str, Any] | None
    accounting: int
    members: dict[str, Any] | None = None  # what each member of a portfolio had used with it
    is_new: bool = field(default=False, compare=False)  # whether it was reserved by the call that returned it

    @property
    def charge(self) -> Charge:
        """What it cost, and what the ledger had spent with it."""
        return Charge(self.spend, self.spent_after, self.members)


def request_key(recipe: Mapping[str, Any]) -> str:
    """What makes two requests the same: the hash of the recipe's canonical JSON."""
    return digest(canonical("Ledger.reserve recipe", recipe))


def entry_id(request: str, seq: int) -> str:
    """A short public name for the reservation made by event `seq`."""
    return digest(request, seq)[:16]


def reserve_content(guarantee: Guarantee, recipe: Mapping[str, Any], charge: Charge) -> dict[str, Any]:
    """The body of a reserve event: amounts are texts, so that no reader rounds them."""
    members = {} if charge.members is None else {"members": charge.members}
    return {
        **members,
        "accounting": stored.ACCOUNTING,
        "request": request_key(recipe),
        "recipe": dict(recipe),
        "guarantee": guarantee.to_json(),
        "spend": plain(charge.spend),
        "spent_after": plain(charge.spent_after),
    }


def read_amount(text: Any) -> Decimal:
    """An amount as a ledger writes it: digits, and at most 30 more after a point."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,110}(\.[0-9]{1,30})?", text):
        raise ValueError("not an amount")
    return Decimal(text)


def accounting_of(content: Mapping[str, Any]) -> int:
    """The version of the accounting that priced what an event says; events without one are older than versions."""
    return stored.read_version("Ledger.accounting", content.get("accounting", stored.UNVERSIONED), LedgerError)


def read_charge(reserve: Event) -> Charge:
    """What a reserve event charged: the same as that of its entry, without a look at what it paid for."""
    content = reserve.content()
    try:
        return Charge(read_amount(content["spend"]), read_amount(content["spent_after"]), content.get("members"))
    except (KeyError, ValueError):
        raise LedgerError(
            f"Ledger event {reserve.seq} must be a reservation this version can read, got another"
        ) from None


def read_entry(reserve: Event, settle: Event | None, *, is_new: bool = False) -> Entry:
    """The entry that a reserve event and, if there is one, its settle event describe."""
    try:
        content = reserve.content()
        return Entry(
            id=reserve.entry,
            request=content["request"],
            recipe=content["recipe"],
            guarantee=from_json(content["guarantee"]),
            spend=read_amount(content["spend"]),
            spent_after=read_amount(content["spent_after"]),
            status="reserved" if settle is None else "settled",
            release=None if settle is None else settle.content()["release"],
            accounting=accounting_of(content),
            members=content.get("members"),
            is_new=is_new,
        )
    except (KeyError, TypeError, ValueError, DiscreetError):
        raise LedgerError(
            f"Ledger event {reserve.seq} must be a reservation this version can read, got another"
        ) from None
