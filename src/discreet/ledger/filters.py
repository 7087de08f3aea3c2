"""Privacy filters: which adaptively chosen releases a budget admits. An odometer informs, a filter decides.

    pure   stop before the sum of epsilon_i passes epsilon                              (basic composition)
    portfolio   while one of several still admits the whole history: `ledger.portfolio`, the default with a delta
    zcdp   stop before the sum of rho_i passes rho(epsilon, delta)                      [Feldman, Zrnic 2021]
    gdp    stop before the sum of mu_i² passes mu(epsilon, delta)²                      [Smith, Thakurta 2022]
    approximate   stop before the sum of epsilon_i²/V + delta_i/(delta/2) passes 1, where V solves
           sqrt(2 log(2/delta) V) + V/2 = epsilon                                       [Whitehouse et al. 2023]

The last keeps half of delta for its martingale bound and half for the delta_i. One sum of both shares keeps each of
them within its half, so that a single exact number is enough. A release that is known by a curve or a profile (Rényi,
Gaussian, zCDP, within a distance of an ideal law) is (epsilon(delta_i), delta_i)-DP for every delta_i: it is charged at
the cheapest of a few public ones.

A spend is an exact decimal, a limit too, and their comparison is exact. Numbers as they were typed, and multiples of
them, stay as they are; what is computed is rounded at 1e-18, a spend up and a limit down. The largest rho
and mu of a budget are those whose spend, so rounded, still meets it: what is calibrated to a budget fits into it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache, reduce

from discreet.accounting import conversions
from discreet.accounting.rounding import SMALLEST_REQUEST, amount_of, charged, decimal
from discreet.errors import BudgetExceeded, GuaranteeError
from discreet.guarantee import (
    ZCDP,
    AllOf,
    ApproxDP,
    BoundedRange,
    Budget,
    Composed,
    ConjugateProfile,
    GaussianDP,
    Guarantee,
    Leaf,
    Node,
    PureDP,
    RenyiDP,
    Within,
)
from discreet.ledger.events import LEAST, Charge
from discreet.ledger.fitting import in_brief
from discreet.ledger.portfolio import Portfolio

__all__ = [
    "FILTERS",
    "MOST_ADVISED",
    "NAMED",
    "SMALLEST_REQUEST",
    "Filter",
    "Portfolio",
    "filter_for",
    "other_filters",
    "squared_epsilon_budget",
]

LARGEST_REQUEST = Decimal("1e100")
MOST_ADVISED = 500  # events that a refusal looks back on
EXACT = Context(prec=160)


Priced = Leaf | RenyiDP | ConjugateProfile | Within
SHARES_OF_DELTA = (0.1, 0.01, 0.001, 0.0001)  # of the half that pays for delta_i


@dataclass(frozen=True)
class Filter:
    """One notion in which a ledger adds up: its unit, how a leaf is priced and what the limit is."""

    name: str
    unit: str
    price: Callable[[Priced, Budget], Decimal | None]
    limit_of: Callable[[Budget], Decimal]
    epsilon_of: Callable[[float, Budget], float]

    @lru_cache(maxsize=256)  # noqa: B019  # filters live as long as the module; slow prices are asked for before the lock
    def spend(self, guarantee: Guarantee, budget: Budget) -> Decimal:
        """What the guarantee costs in this filter's unit, rounded up."""
        total = Decimal(0)
        for leaf, count in guarantee.terms().items():
            price = self._price(leaf, budget)
            if price is None:
                hint = "; a ledger without delta pays for pure guarantees only" if self.name == "pure" else ""
                raise GuaranteeError(
                    f"Ledger.filter {self.name!r} must be able to bound every guarantee, got {leaf!r}{hint}"
                )
            total = EXACT.add(total, EXACT.multiply(price, Decimal(count)))
        if total > LARGEST_REQUEST:
            raise GuaranteeError(f"Ledger.reserve {self.unit} must be below 1e100, got more for {guarantee!r}")
        spend = amount_of(total, ROUND_CEILING)
        if spend < SMALLEST_REQUEST:
            raise GuaranteeError(f"Ledger.reserve {self.unit} must be at least 1e-12, got {total:.3g}")
        return spend

    def _price(self, leaf: Guarantee, budget: Budget) -> Decimal | None:
        """The price of one leaf; of several certificates of one draw, the cheapest that this notion knows."""
        if isinstance(leaf, AllOf):
            known = [price for part in leaf.parts if (price := self._price(part, budget)) is not None]
            return min(known, default=None)
        if isinstance(leaf, Node):
            parts = [(self._price(part, budget), count) for part, count in leaf.terms().items()]
            if any(price is None for price, _ in parts):
                return None
            amounts = [EXACT.multiply(price or Decimal(0), Decimal(count)) for price, count in parts]
            return reduce(EXACT.add, amounts, Decimal(0))
        return self.price(leaf, budget) if isinstance(leaf, Leaf | RenyiDP | ConjugateProfile | Within) else None

    def charges(
        self, before: Charge | None, asked: Sequence[Guarantee], budget: Budget, limit: Decimal
    ) -> tuple[Charge, ...]:
        """The charge for each of the requests, in order; a BudgetExceeded where they are refused."""
        made: list[Charge] = []
        spent = Decimal(0) if before is None else before.spent_after
        left = EXACT.subtract(limit, spent)
        for guarantee in asked:
            spend = self.spend(guarantee, budget)
            spent = EXACT.add(spent, spend)
            made.append(Charge(spend, spent))
        if spent > limit:
            price = EXACT.subtract(spent, EXACT.subtract(limit, left))
            amounts = {"asked": price, "left": left, "missing": EXACT.subtract(price, left)}
            told = ", ".join(f"{name} {self.describe(amount, budget)}" for name, amount in amounts.items())
            together = asked[0] if len(asked) == 1 else Composed(tuple(asked))
            asks = "" if self.unit == "epsilon" else f"{in_brief(together, budget)} asked; "
            raise BudgetExceeded(f"Ledger.reserve must stay within the budget of {budget}: {asks}{told}; ask for less")
        return tuple(made)

    def epsilon_at(self, amount: Decimal, budget: Budget) -> float | None:
        """An amount as epsilon at the budget's delta."""
        return self.epsilon_of(float(amount), budget) if amount > 0 else 0.0

    def fair(
        self, before: Charge | None, charge: Charge, guarantee: Guarantee, budget: Budget
    ) -> tuple[bool, Decimal | None]:
        """Whether a charge is at least today's price to 1e-9, and that price; None where there is none."""
        try:
            price = self.spend(guarantee, budget)
        except GuaranteeError:
            return False, None
        return charge.spend >= EXACT.multiply(price, LEAST), price

    def sound(self, history: Sequence[Guarantee], last: Charge, budget: Budget) -> bool:
        """Whether a whole history is, beyond the sum of its charges: nothing more is asked of it."""
        return True

    def affordable(self, history: Sequence[Guarantee], last: Charge, budget: Budget) -> bool:
        """Whether a purchase that was priced as a whole is within the budget: there are none."""
        return True

    def followed(self, last: Charge | None, charges: Iterable[Charge]) -> Charge | None:
        """Nothing: all that was used is the running total, which the chain itself keeps."""
        return None

    def limit(self, budget: Budget) -> Decimal:
        """The whole budget in this filter's unit, rounded down."""
        limit = amount_of(self.limit_of(budget), ROUND_FLOOR)
        if limit > LARGEST_REQUEST:
            raise GuaranteeError(f"Ledger.budget must be below 1e100 in {self.unit}, got {budget}")
        return limit

    def describe(self, amount: Decimal, budget: Budget) -> str:
        """An amount in the filter's unit and as epsilon at the budget's delta."""
        text = f"{self.unit} = {amount.normalize():.9g}"
        if self.unit == "epsilon" or amount <= 0:
            return text
        return f"{text} (epsilon = {self.epsilon_of(float(amount), budget):.6g} at delta = {budget.delta:g})"


def filter_for(budget: Budget, name: str | None = None) -> Filter | Portfolio:
    """The filter a new ledger records: by name, else pure without delta and the portfolio with one."""
    chosen = name if name is not None else ("pure" if budget.delta is None else "portfolio")
    if chosen not in FILTERS:
        raise GuaranteeError(f"Ledger.filter must be one of {sorted(FILTERS)}, got {chosen!r}")
    if chosen != "pure" and budget.delta is None:
        raise GuaranteeError(f"Budget.delta must be given for the {chosen} filter, got None")
    return FILTERS[chosen]


def other_filters(history: Sequence[Guarantee], budget: Budget, own: Filter | Portfolio) -> str:
    """In words, which other filters would have admitted a history; a ledger keeps the one it has."""
    able = [name for name in FILTERS if name != own.name and _admits(name, history, budget)]
    return f"; a ledger of the same budget with filter = {' or '.join(able)} would admit it" if able else ""


def _admits(name: str, history: Sequence[Guarantee], budget: Budget) -> bool:
    """Whether a filter admits all of a history, one request after another."""
    before = None
    try:
        chosen = filter_for(budget, name)
        limit = chosen.limit(budget)
        for guarantee in history:
            (before,) = chosen.charges(before, [guarantee], budget, limit)
    except (BudgetExceeded, GuaranteeError):
        return False
    return True


def _pure_price(leaf: Priced, _: Budget) -> Decimal | None:
    return decimal(leaf.level) if isinstance(leaf, PureDP | BoundedRange) else None


def _zcdp_price(leaf: Priced, _: Budget) -> Decimal | None:
    if not isinstance(leaf, Leaf):
        return None
    level = decimal(leaf.level)
    if isinstance(leaf, ZCDP):
        return level
    if isinstance(leaf, BoundedRange):  # epsilon²/8  [CR2021]
        return EXACT.divide(EXACT.multiply(level, level), Decimal(8))
    if isinstance(leaf, GaussianDP):  # mu²/2
        return EXACT.divide(EXACT.multiply(level, level), Decimal(2))
    if isinstance(leaf, PureDP):  # epsilon tanh(epsilon/2), with 1e-60 for the rounding of exp
        decay = EXACT.exp(EXACT.minus(level))
        tanh = EXACT.divide(EXACT.subtract(Decimal(1), decay), EXACT.add(Decimal(1), decay))
        return EXACT.add(EXACT.multiply(level, tanh), Decimal("1e-60"))
    return None


def _gdp_price(leaf: Priced, _: Budget) -> Decimal | None:
    if not isinstance(leaf, GaussianDP):
        return None
    level = decimal(leaf.level)
    return EXACT.multiply(level, level)


def _approximate_price(leaf: Priced, budget: Budget) -> Decimal | None:
    if not isinstance(leaf, PureDP | BoundedRange | ApproxDP):
        slacks = [share * _delta(budget) / 2 for share in SHARES_OF_DELTA]
        known = [(leaf.epsilon(slack) * (1 + 1e-12), slack) for slack in slacks]
        prices = [_share(epsilon, slack, budget) for epsilon, slack in known if math.isfinite(epsilon)]
        return min(prices, default=None)
    return _share(leaf.level, leaf.slack if isinstance(leaf, ApproxDP) else 0.0, budget)


def _share(epsilon: float, delta: float, budget: Budget) -> Decimal:
    """What (epsilon, delta) takes of the whole."""
    level, slack = decimal(epsilon), decimal(delta)
    variance = decimal(squared_epsilon_budget(budget.epsilon, _delta(budget) / 2))
    half = EXACT.divide(decimal(_delta(budget)), Decimal(2))
    # divisions round to nearest at 160 digits; 1e-60 puts the price on the safe side
    share = EXACT.add(EXACT.divide(EXACT.multiply(level, level), variance), EXACT.divide(slack, half))
    return EXACT.add(share, Decimal("1e-60"))


def _approximate_epsilon(share: float, budget: Budget) -> float:
    variance = share * squared_epsilon_budget(budget.epsilon, _delta(budget) / 2)
    return math.sqrt(-2 * math.log(_delta(budget) / 2) * variance) + variance / 2


def squared_epsilon_budget(epsilon: float, delta: float) -> float:
    """The largest V with sqrt(2 log(1/delta) V) + V/2 ≤ epsilon, rounded down  [Whitehouse et al. 2023, Thm 1]."""
    root = epsilon / (math.sqrt(0.5 * -math.log(delta) + 0.5 * epsilon) + math.sqrt(0.5 * -math.log(delta)))
    return root**2 * (1 - 1e-14)


def _delta(budget: Budget) -> float:
    assert budget.delta is not None  # filter_for refuses a budget without delta
    return budget.delta


NAMED: dict[str, Filter] = {
    "pure": Filter("pure", "epsilon", _pure_price, lambda b: decimal(b.epsilon), lambda spent, _: spent),
    "zcdp": Filter(
        "zcdp",
        "rho",
        _zcdp_price,
        lambda b: charged(conversions.zcdp_rho(b.epsilon, _delta(b))),
        lambda spent, b: conversions.zcdp_epsilon(spent, _delta(b)),
    ),
    "gdp": Filter(
        "gdp",
        "mu²",
        _gdp_price,
        lambda b: charged(conversions.gaussian_mu(b.epsilon, _delta(b)), power=2),
        lambda spent, b: conversions.gaussian_epsilon(spent**0.5, _delta(b)),
    ),
    "approximate": Filter(
        "approximate",
        "share",
        _approximate_price,
        lambda _: Decimal(1),
        lambda spent, b: _approximate_epsilon(spent, b),
    ),
}
FILTERS: dict[str, Filter | Portfolio] = {**NAMED, "portfolio": Portfolio()}
