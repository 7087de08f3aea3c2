"""The balance of a ledger, as data and in words: in the filter's own unit, and as epsilon at the budget's delta."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger import Ledger

__all__ = ["amount", "balance", "share", "words"]


def amount(ledger: "Ledger", value: Decimal) -> dict[str, Any]:
    """An amount: exact as a text, and rounded as epsilon at the budget's delta."""
    from discreet.ledger.filters import plain

    epsilon = ledger.filter.epsilon_of(float(value), ledger.budget) if value > 0 else 0.0
    return {"unit": ledger.filter.unit, "amount": plain(value), "epsilon": epsilon, "delta": ledger.budget.delta}


def words(ledger: "Ledger", value: Decimal) -> str:
    """An amount in one line; six digits are enough to read."""
    text = f"{ledger.filter.unit} = {float(value):.6g}"
    if ledger.filter.unit == "epsilon" or value <= 0:
        return text
    epsilon = ledger.filter.epsilon_of(float(value), ledger.budget)
    return f"{text} (epsilon = {epsilon:.4g} at delta = {ledger.budget.delta:g})"


def share(ledger: "Ledger", price: Decimal) -> str:
    """A price in one line, and how much of the budget it takes."""
    return f"{ledger.filter.unit} = {float(price):.6g} ({float(price / ledger.limit):.1%} of the budget)"


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
