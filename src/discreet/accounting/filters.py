"""Privacy filters: which adaptively chosen releases a budget admits. An odometer informs, a filter decides.

    pure   stop before the sum of epsilon_i passes epsilon                              (basic composition)
    zcdp   stop before the sum of rho_i passes rho(epsilon, delta)                      [Feldman, Zrnic 2021]
    gdp    stop before the sum of mu_i² passes mu(epsilon, delta)²                      [Smith, Thakurta 2022]

A spend is an exact decimal rounded up at 1e-18, a limit is rounded down, and their comparison is exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from discreet.accounting import conversions
from discreet.errors import GuaranteeError
from discreet.guarantee import ZCDP, BoundedRange, Budget, GaussianDP, Guarantee, Leaf, PureDP, terms

__all__ = ["FILTERS", "SMALLEST_REQUEST", "Filter", "filter_for", "plain"]

QUANTUM = Decimal("1e-18")
SMALLEST_REQUEST = Decimal("1e-12")
EXACT = Context(prec=120)


@dataclass(frozen=True)
class Filter:
    """One notion in which a ledger adds up: its unit, how a leaf is priced and what the limit is."""

    name: str
    unit: str
    price: Callable[[Leaf], Decimal | None]
    limit_of: Callable[[Budget], float]
    epsilon_of: Callable[[float, Budget], float]

    def spend(self, guarantee: Guarantee) -> Decimal:
        """What the guarantee costs in this filter's unit, rounded up."""
        total = Decimal(0)
        for leaf, count in terms(guarantee).items():
            price = self.price(leaf) if isinstance(leaf, Leaf) else None
            if price is None:
                raise GuaranteeError(f"Ledger.filter {self.name!r} must be able to bound every guarantee, got {leaf!r}")
            total = EXACT.add(total, EXACT.multiply(price, Decimal(count)))
        spend = total.quantize(QUANTUM, rounding=ROUND_CEILING, context=EXACT)
        if spend < SMALLEST_REQUEST:
            raise GuaranteeError(f"Ledger.reserve {self.unit} must be at least 1e-12, got {total:.3g}")
        return spend

    def limit(self, budget: Budget) -> Decimal:
        """The whole budget in this filter's unit, rounded down."""
        return _decimal(self.limit_of(budget)).quantize(QUANTUM, rounding=ROUND_FLOOR, context=EXACT)

    def describe(self, amount: Decimal, budget: Budget) -> str:
        """An amount in the filter's unit and as epsilon at the budget's delta."""
        text = f"{self.unit} = {amount.normalize():.9g}"
        if self.unit == "epsilon" or amount <= 0:
            return text
        return f"{text} (epsilon = {self.epsilon_of(float(amount), budget):.6g} at delta = {budget.delta:g})"


def plain(amount: Decimal) -> str:
    """A decimal without trailing zeros or exponent."""
    return f"{amount:f}".rstrip("0").rstrip(".") if "." in f"{amount:f}" else f"{amount:f}"


def filter_for(budget: Budget, name: str | None = None) -> Filter:
    """The filter a new ledger records: by name, else pure without delta and zCDP with one."""
    chosen = name if name is not None else ("pure" if budget.delta is None else "zcdp")
    if chosen not in FILTERS:
        raise GuaranteeError(f"Ledger.filter must be one of {sorted(FILTERS)}, got {chosen!r}")
    if chosen != "pure" and budget.delta is None:
        raise GuaranteeError(f"Budget.delta must be given for the {chosen} filter, got None")
    return FILTERS[chosen]


def _decimal(number: float) -> Decimal:
    """The decimal a person typed: 0.1 is one tenth (mechanisms calibrate to this same rational, rounding noise up)."""
    return Decimal(repr(float(number)))


def _pure_price(leaf: Leaf) -> Decimal | None:
    return _decimal(leaf.level) if isinstance(leaf, PureDP | BoundedRange) else None


def _zcdp_price(leaf: Leaf) -> Decimal | None:
    level = _decimal(leaf.level)
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


def _gdp_price(leaf: Leaf) -> Decimal | None:
    level = _decimal(leaf.level)
    return EXACT.multiply(level, level) if isinstance(leaf, GaussianDP) else None


def _delta(budget: Budget) -> float:
    assert budget.delta is not None  # filter_for refuses a budget without delta
    return budget.delta


FILTERS: dict[str, Filter] = {
    "pure": Filter("pure", "epsilon", _pure_price, lambda b: b.epsilon, lambda spent, _: spent),
    "zcdp": Filter(
        "zcdp",
        "rho",
        _zcdp_price,
        lambda b: conversions.zcdp_rho(b.epsilon, _delta(b)),
        lambda spent, b: conversions.zcdp_epsilon(spent, _delta(b)),
    ),
    "gdp": Filter(
        "gdp",
        "mu²",
        _gdp_price,
        lambda b: math.nextafter(conversions.gaussian_mu(b.epsilon, _delta(b)) ** 2, 0.0),
        lambda spent, b: conversions.gaussian_epsilon(spent**0.5, _delta(b)),
    ),
}
