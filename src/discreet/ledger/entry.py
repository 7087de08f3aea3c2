"""An entry: one reserved guarantee, the public recipe it pays for and, once settled, the release it paid for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from discreet.accounting import version
from discreet.errors import DiscreetError, LedgerError
from discreet.guarantee import Guarantee, from_json
from discreet.ledger.events import Event, canonical, digest
from discreet.ledger.filters import plain

__all__ = ["Entry", "accounting_of", "entry_id", "read_amount", "read_entry", "request_key", "reserve_content"]


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


def request_key(recipe: Mapping[str, Any]) -> str:
    """What makes two requests the same: the hash of the recipe's canonical JSON."""
    return digest(canonical("Ledger.reserve recipe", recipe))


def entry_id(request: str, seq: int) -> str:
    """A short public name for the reservation made by event `seq`."""
    return digest(request, seq)[:16]


def reserve_content(
    guarantee: Guarantee, recipe: Mapping[str, Any], spend: Decimal, spent_after: Decimal
) -> dict[str, Any]:
    """The body of a reserve event: amounts are texts, so that no reader rounds them."""
    return {
        "accounting": version.ACCOUNTING,
        "request": request_key(recipe),
        "recipe": dict(recipe),
        "guarantee": guarantee.to_json(),
        "spend": plain(spend),
        "spent_after": plain(spent_after),
    }


def read_amount(text: Any) -> Decimal:
    """An amount as a ledger writes it: digits, and at most 30 more after a point."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,110}(\.[0-9]{1,30})?", text):
        raise ValueError("not an amount")
    return Decimal(text)


def accounting_of(content: Mapping[str, Any]) -> int:
    """The version of the accounting that priced what an event says; events without one are older than versions."""
    return version.read_version("Ledger.accounting", content.get("accounting", version.UNVERSIONED), LedgerError)


def read_entry(reserve: Event, settle: Event | None) -> Entry:
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
        )
    except (KeyError, TypeError, ValueError, DiscreetError):
        raise LedgerError(
            f"Ledger event {reserve.seq} must be a reservation this version can read, got another"
        ) from None
