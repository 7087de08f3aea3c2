"""What a planned release would take of a ledger: asked before, and nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import BudgetExceeded, GuaranteeError
from discreet.guarantee import Budget, Guarantee
from discreet.ledger import Ledger
from discreet.ledger.filters import filter_for

__all__ = ["Share", "shares_of"]


@dataclass(frozen=True)
class Share:
    """The fraction of the budget that a release takes; None where it is refused, which `words` explain."""

    fraction: float | None
    words: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self)


def shares_of(guarantees: Sequence[Guarantee], payer: Ledger | Budget) -> tuple[Share, ...]:
    """The shares of releases that are bought together, from a ledger as it is or from a new one of a budget."""
    try:
        if isinstance(payer, Ledger):
            charges, limit = payer.quote(guarantees), payer.limit
        else:
            chosen = filter_for(payer)
            limit = chosen.limit(payer)
            charges = chosen.charges(None, guarantees, payer, limit)
    except (BudgetExceeded, GuaranteeError) as refusal:
        return (Share(None, f"would be refused: {refusal}"),) * len(guarantees)
    found = []
    for charge in charges:
        fraction = float(charge.spend) / float(limit)
        last = "; the purchase takes all of it, and the ledger is closed after it" if charge.closes else ""
        found.append(Share(fraction, f"{fraction:.1%} of the budget{last}"))
    return tuple(found)
