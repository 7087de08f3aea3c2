"""What a request costs: the spend of one, what the ledger has spent with it, and how a refusal says it."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from discreet.guarantee import ZCDP, ApproxDP, BoundedRange, Budget, GaussianDP, Guarantee, Leaf, PureDP, Repeated

__all__ = ["LEAST", "Charge", "in_brief", "plain", "that_fits", "times_that_fit"]

WORDS = {
    PureDP: "differential privacy",
    BoundedRange: "differential privacy of bounded range",
    ZCDP: "zCDP",
    GaussianDP: "Gaussian differential privacy",
}
STEPS = 24
MOST_TIMES = 10**6
DOWN = Context(prec=3, rounding=ROUND_FLOOR)
LEAST = Decimal("0.999999999")  # of a price, within one version of the accounting


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


def in_brief(guarantee: Guarantee, budget: Budget) -> str:
    """A request in its own terms, in a few words."""
    if type(guarantee) in WORDS and isinstance(guarantee, Leaf):
        return f"{guarantee.level:g}-{WORDS[type(guarantee)]}"
    if isinstance(guarantee, ApproxDP):
        return f"({guarantee.level:g}, {guarantee.slack:g})-differential privacy"
    delta = budget.delta or 0.0
    return f"epsilon = {guarantee.epsilon(delta):.4g}" + (f" at delta = {delta:g}" if delta else "")


def that_fits(guarantee: Guarantee, fits: Callable[[Guarantee], bool]) -> float | None:
    """The largest level of a leaf of the same kind that fits, to three digits and from below; None where none does."""
    if type(guarantee) not in WORDS or not isinstance(guarantee, Leaf):
        return None
    kind: Any = type(guarantee)
    if fits(guarantee):
        return guarantee.level
    low, high = 0.0, guarantee.level
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(kind(middle, guarantee.basis)) else (low, middle)
    rounded = float(DOWN.create_decimal(low))
    return rounded if rounded > 0 and fits(kind(rounded, guarantee.basis)) else None


def times_that_fit(guarantee: Guarantee, fits: Callable[[Guarantee], bool]) -> int:
    """How many more requests like this one fit, bought at once; at most a million are looked for."""
    if not fits(guarantee):
        return 0
    low, high = 1, 2
    while high <= MOST_TIMES and fits(Repeated(guarantee, high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(Repeated(guarantee, middle)) else (low, middle)
    return low
