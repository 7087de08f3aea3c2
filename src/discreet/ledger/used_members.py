"""What every member of a portfolio has used, as a ledger records it with every reservation.

It only grows: members use more or die, and weights stay. The price of the next request follows from the last record
alone, so whoever could write a record that gives something back would give budget back: a chain with one is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger import members
from discreet.ledger.events import Charge, plain
from discreet.ledger.members import Weights

__all__ = ["Used", "goes_on", "read_state", "state_of"]


@dataclass(frozen=True)
class Used:
    """What every member has used; None where it is dead. The weights are those of the first request."""

    weights: Weights
    basic: Decimal | None = Decimal(0)
    gaussian: Decimal | None = Decimal(0)
    renyi: tuple[Decimal | None, ...] = ()
    slack: Decimal = Decimal(0)
    prices: int = 0  # that the Gaussian member has solved for
    closed: bool = False
    first: int = 1  # requests in the purchase that decided the weights

    @property
    def alive(self) -> bool:
        """Whether some member admits the history."""
        return not self.closed and any(used is not None for used in (self.basic, self.gaussian, *self.renyi))

    @property
    def amounts(self) -> tuple[Decimal | None, ...]:
        """What every member has used, and the slack."""
        return (self.basic, self.gaussian, *self.renyi, self.slack)

    def to_json(self) -> dict[str, Any]:
        """What a ledger records: amounts are texts, so that no reader rounds them."""
        texts = [None if used is None else plain(used) for used in (self.basic, self.gaussian, *self.renyi)]
        orders = [[plain(order), plain(weight)] for order, weight in self.weights.renyi]
        body: dict[str, Any] = {
            "weights": {"gaussian": plain(self.weights.gaussian), "renyi": orders},
            "basic": texts[0],
            "gaussian": texts[1],
            "renyi": texts[2:],
            "slack": plain(self.slack),
            "prices": self.prices,
            "first": self.first,
        }
        return {**body, "closed": True} if self.closed else body


def read_state(body: Mapping[str, Any]) -> Used:
    """Read what `to_json` wrote; anything else is a ValueError, KeyError or TypeError."""
    weights = body["weights"]
    orders = tuple((_amount(order), _amount(weight)) for order, weight in weights["renyi"])
    used = [None if text is None else _amount(text) for text in (body["basic"], body["gaussian"], *body["renyi"])]
    prices, first, closed = body["prices"], body["first"], body.get("closed", False)
    if (
        type(prices) is not int
        or type(first) is not int
        or type(closed) is not bool
        or min(prices, first - 1) < 0
        or len(used) != len(orders) + 2
    ):
        raise ValueError("no state of a portfolio")
    divided = Weights(_amount(weights["gaussian"]), orders)
    if not members.divides(divided):
        raise ValueError("no weights of a portfolio")
    return Used(divided, used[0], used[1], tuple(used[2:]), _amount(body["slack"]), prices, closed, first)


def state_of(charge: Charge) -> Used:
    """What a charge records."""
    try:
        return read_state(charge.members or {})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError("Ledger entry must say what every member has used: the ledger was altered") from None


def goes_on(last: Used, now: Used) -> bool:
    """Whether a state may follow another: nothing that was used is given back, and who was dead stays dead."""
    if (now.weights, now.first, now.closed) != (last.weights, last.first, last.closed):
        return False
    amounts = zip(last.amounts, now.amounts, strict=True)
    grown = (after is None or (before is not None and after >= before) for before, after in amounts)
    return now.prices >= last.prices and all(grown)


def _amount(text: Any) -> Decimal:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,110}(\.[0-9]{1,40})?", text):
        raise ValueError("not an amount")
    return Decimal(text)
