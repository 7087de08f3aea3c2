"""The balance of a ledger, as data and in words: as a share of the budget, and in the unit of a filter that has one."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger import Ledger

__all__ = ["amount", "balance", "bar", "share", "words"]

WIDTH = 40  # characters of a bar


def amount(ledger: "Ledger", value: Decimal) -> dict[str, Any]:
    """An amount: exact as a text, as a share of the budget and, if the filter has a unit, as epsilon at its delta."""
    from discreet.ledger.events import plain

    found = {"unit": ledger.filter.unit, "amount": plain(value), "share": float(value / ledger.limit)}
    return {**found, "epsilon": ledger.filter.epsilon_at(value, ledger.budget), "delta": ledger.budget.delta}


def words(ledger: "Ledger", value: Decimal) -> str:
    """An amount in one line."""
    share_of = f"{float(value / ledger.limit):.1%} of the budget"
    return share_of if ledger.filter.unit == "share" else f"{share_of}: {ledger.filter.describe(value, ledger.budget)}"


def share(ledger: "Ledger", price: Decimal) -> str:
    """A price in one line: how much of the budget it takes."""
    return words(ledger, price)


def bar(shares: "list[float]") -> str:
    """A line of shares, one letter for each request in turn, a dot for what is left."""
    ends = [round(WIDTH * sum(shares[: i + 1])) for i in range(len(shares))]
    starts = [0, *ends][:-1]
    blocks = "".join("█▓"[i % 2] * (end - start) for i, (start, end) in enumerate(zip(starts, ends, strict=True)))
    return f"{blocks:·<{WIDTH}}"


def balance(ledger: "Ledger") -> dict[str, Any]:
    """Budget, spent and remaining."""
    return {
        "path": str(ledger.path),
        "filter": ledger.filter.name,
        "budget": ledger.budget.to_json(),
        "limit": amount(ledger, ledger.limit),
        "spent": amount(ledger, ledger.spent()),
        "remaining": amount(ledger, ledger.remaining()),
    }
