"""What still fits: a request in its own terms, the largest of its kind, and how many more of it."""

from collections.abc import Callable
from contextlib import suppress
from decimal import ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

from discreet.accounting.conversions import gaussian_mu
from discreet.errors import BudgetExceeded, GuaranteeError
from discreet.guarantee import ZCDP, ApproxDP, BoundedRange, Budget, GaussianDP, Guarantee, Leaf, PureDP, Repeated
from discreet.ledger.events import Entry
from discreet.visible import Told

__all__ = ["Balanced", "in_brief", "spelled", "still_fits", "that_fits", "times_that_fit"]

WORDS = {
    PureDP: "differential privacy",
    BoundedRange: "differential privacy of bounded range",
    ZCDP: "zCDP",
    GaussianDP: "Gaussian differential privacy",
}
ARGUMENTS: dict[type[Guarantee], str] = {
    ZCDP: "rho",
    GaussianDP: "mu",
}  # who asked by epsilon and delta would look for it in vain
STEPS = 24
MOST_TIMES = 10**6
DOWN = Context(prec=3, rounding=ROUND_FLOOR)


def in_brief(guarantee: Guarantee, budget: Budget) -> str:
    """A request in its own terms, in a few words."""
    if type(guarantee) in WORDS and isinstance(guarantee, Leaf):
        return f"{guarantee.level:g}-{WORDS[type(guarantee)]}"
    if isinstance(guarantee, ApproxDP):
        return f"({guarantee.level:g}, {guarantee.slack:g})-differential privacy"
    delta = budget.delta or 0.0
    return f"epsilon = {guarantee.epsilon(delta):.4g}" + (f" at delta = {delta:g}" if delta else "")


def spelled(guarantee: Guarantee, level: float) -> str:
    """A level as the argument that asks for it, where its unit is none that everybody types."""
    name = ARGUMENTS.get(type(guarantee))
    return "" if name is None else f", as {name} = {level:g}"


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
    for rounded in (float(f"{low:.3g}"), float(DOWN.create_decimal(low))):
        if rounded > 0 and fits(kind(rounded, guarantee.basis)):
            return rounded
    return None


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


def still_fits(entry: Entry | None, chosen: Any, budget: Budget, limit: Decimal) -> dict[str, Any]:
    """After the last entry: how many more requests like it, the largest pure epsilon and the largest mu."""

    def fits(guarantee: Guarantee) -> bool:
        with suppress(BudgetExceeded, GuaranteeError):
            return bool(chosen.charges(None if entry is None else entry.charge, [guarantee], budget, limit))
        return False

    last = None if entry is None else entry.guarantee
    basis = None if last is None else last.basis
    mu = None if budget.delta is None else that_fits(GaussianDP(gaussian_mu(budget.epsilon, budget.delta), basis), fits)
    return {
        "like the last": None if last is None else times_that_fit(last, fits),
        "epsilon": that_fits(PureDP(budget.epsilon, basis), fits) or 0.0,
        "mu": mu or 0.0,
    }


class Balanced(Told):
    """What a ledger shows of itself in a notebook."""

    def _told(self: Any) -> tuple[str, list[tuple[str, str]]]:
        def words(amount: Decimal) -> str:
            share = f"{float(amount / self.limit):.1%} of the budget"
            return share if self.filter.unit == "share" else f"{share}: {self.filter.describe(amount, self.budget)}"

        lines = [("budget", f"{self.budget}, {self.filter.name} filter"), ("spent", words(self.spent()))]
        lines.append(("left", words(self.remaining())))
        for entry in self.entries():
            model, mechanism = (entry.recipe.get(key, {}) for key in ("model", "mechanism"))
            about = model.get("column") or model.get("target") or ""
            what = (
                f"{model.get('kind', '')} {about} by {mechanism.get('kind', '')}: {words(entry.spend)}, {entry.status}"
            )
            lines.append((entry.id[:7], " ".join(what.split())))
        place = self.path.name if isinstance(self.path, Path) else "in a database"
        return f"Ledger {place}", lines
