"""The members of a portfolio: what each may use, and what a guarantee costs in it (proof: docs/theory/portfolio.md).

    basic      the sum of pure epsilons, at most epsilon                                          no delta: it is free
    renyi      at a few fixed orders a, the sum of the true curves, at most
               epsilon - log(1 - 1/a) + (log delta_a + log a)/(a - 1)                          [Feldman, Zrnic 2021]
    gaussian   mu² that is left of mu(epsilon, delta_g)²: `accounting.residual_gaussian`      [Smith, Thakurta 2022]
    slack      (1 + e^epsilon) tv of samplers close to a law, and the delta of (epsilon, delta) parts, along every path

delta is divided by weights, which follow from the first request alone: most for the member that would admit most of its
like. Amounts are exact decimals; what is computed is rounded at 1e-18, a price up and a limit down.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache, reduce

from discreet.accounting import conversions
from discreet.accounting.residual_gaussian import bounded_range_price, pure_price
from discreet.accounting.rounding import ULPS, amount_of, charged, decimal
from discreet.guarantee import (
    AllOf,
    ApproxDP,
    BoundedRange,
    Budget,
    Composed,
    GaussianDP,
    Guarantee,
    Node,
    PureDP,
    Repeated,
    Within,
)

__all__ = [
    "MOST_PRICES",
    "Members",
    "Weights",
    "basic_price",
    "divides",
    "gaussian_price",
    "ideal_of",
    "members_of",
    "renyi_price",
    "weights_for",
]

EXACT = Context(prec=160)
SLACK = Decimal("0.01")  # of delta, whatever the first request is
FIRST, SECOND = Decimal("0.86"), Decimal("0.10")  # the best member and the other; the rest is spread over other orders
EVEN = (Decimal("0.5"), Decimal("0.4"))  # gaussian and the main order after a pure request: what follows is open
ORDERS = tuple(Decimal(f"{1.02**k:.3f}") for k in range(20, 470, 3))  # of which the main one is the best: 1.5 to 10,000
LEAST_ORDER = Decimal("1.1")
AROUND = (Decimal("0.5"), Decimal("0.71"), Decimal("1.41"), Decimal("2"))  # times the main order: the other orders
OWN = 1e-9  # of its delta: what a price of the Gaussian member may be wrong by
MOST_PRICES = 10**6  # of the Gaussian member, 0.001 of its delta in all
MOST_GROWTH = 1000.0  # an epsilon whose e^epsilon makes the smallest distance more than everything
MOST_IN_TURN = 8  # releases of bounded range that are priced one after another


@dataclass(frozen=True)
class Weights:
    """How delta is divided: the part of the Gaussian member, and of every order; the rest is slack."""

    gaussian: Decimal
    renyi: tuple[tuple[Decimal, Decimal], ...]  # order, weight


@dataclass(frozen=True)
class Members:
    """What the members may use in total; one that a budget leaves no room for may use nothing."""

    basic: Decimal
    gaussian: Decimal
    renyi: tuple[tuple[Decimal, Decimal], ...]  # order, limit
    slack: Decimal
    own: float  # of the Gaussian member, for every price


@lru_cache(maxsize=64)
def members_of(budget: Budget, weights: Weights) -> Members:
    """The limits that follow from the budget and the weights, rounded down."""
    assert budget.delta is not None  # `filter_for` refuses a budget without delta
    whole = decimal(budget.delta)
    own = float(EXACT.multiply(weights.gaussian, whole)) * OWN
    square = _gaussian_limit(
        budget.epsilon, float(EXACT.multiply(weights.gaussian, whole)) - MOST_PRICES * own * (1 + 1e-9)
    )
    renyi = tuple(
        (a, _renyi_limit(budget.epsilon, float(a), float(EXACT.multiply(weight, whole)))) for a, weight in weights.renyi
    )
    return Members(decimal(budget.epsilon), square, renyi, EXACT.multiply(SLACK, whole), own)


def weights_for(first: Guarantee, budget: Budget) -> Weights:
    """Most of delta for the member that would admit most requests like the first; a public function of it."""
    assert budget.delta is not None
    main = _main_order(first, budget)
    if basic_price(first) is not None:
        return _weights(*EVEN, main)
    gaussian, renyi = (members_of(budget, _weights(g, r, main)) for g, r in ((FIRST, SECOND), (SECOND, FIRST)))
    price = gaussian_price(first, gaussian.gaussian, gaussian.own)
    times = 0.0 if price is None or not price[0] else float(gaussian.gaussian) / float(price[0])
    order, limit = renyi.renyi[0]
    cost = renyi_price(first, order)
    better = cost is None or times >= float(limit) / float(cost)
    return _weights(FIRST, SECOND, main) if better and price is not None else _weights(SECOND, FIRST, main)


def divides(weights: Weights) -> bool:
    """Whether the parts of delta, with the slack, are the whole, at orders that have a limit."""
    whole = _sum((SLACK, weights.gaussian, *(weight for _, weight in weights.renyi)))
    return whole == 1 and all(order >= LEAST_ORDER for order, _ in weights.renyi)


def ideal_of(guarantee: Guarantee, budget: Budget) -> tuple[Guarantee, Decimal]:
    """The guarantee of the ideal law, and what the distance to it takes of delta.

    `Within(part, tv)` is `part` and (1 + e^epsilon) tv, with the epsilon of the ledger; `ApproxDP(e, d)` is pure e and
    d: an (e, d)-DP pair is a pure one with probability 1 - d, and anything else with probability d. Of several
    certificates of one draw those without slack are kept; where all have some, all of it is paid.
    """
    if isinstance(guarantee, Within):
        part, slack = ideal_of(guarantee.part, budget)
        growth = EXACT.add(EXACT.exp(decimal(min(budget.epsilon, MOST_GROWTH))), Decimal("1.000000000001"))
        return part, EXACT.add(slack, EXACT.multiply(growth, decimal(guarantee.tv)))
    if isinstance(guarantee, ApproxDP):
        return PureDP(guarantee.level, guarantee.basis), decimal(guarantee.slack)
    if isinstance(guarantee, AllOf):
        found = [ideal_of(part, budget) for part in guarantee.parts]
        kept = [one for one in found if not one[1]] or found
        return AllOf(tuple(part for part, _ in kept)), _sum(slack for _, slack in kept)
    if isinstance(guarantee, Node):
        terms = [(*ideal_of(term, budget), count) for term, count in guarantee.terms().items()]
        parts = tuple(Repeated(part, count) for part, _, count in terms)
        return Composed(parts), _sum(EXACT.multiply(slack, Decimal(count)) for _, slack, count in terms)
    return guarantee, Decimal(0)


def basic_price(ideal: Guarantee) -> Decimal | None:
    """The sum of pure epsilons, as they were typed; None where a part has none."""
    return _added(ideal, lambda leaf: decimal(leaf.level) if isinstance(leaf, PureDP | BoundedRange) else None)


def renyi_price(ideal: Guarantee, order: Decimal) -> Decimal | None:
    """The sum of the curves at one order; None where a part has no finite curve there."""

    def cost(leaf: Guarantee) -> Decimal | None:
        divergence = leaf.renyi(float(order))
        return decimal(divergence) if math.isfinite(divergence) else None

    return _added(ideal, cost)


def gaussian_price(ideal: Guarantee, left: Decimal, own: float) -> tuple[Decimal, int] | None:
    """What the guarantee takes of the mu² that is left, and how many prices were solved for; None if there is no price.

    Parts are priced one after another, each with what the one before has left; of several certificates the cheapest.
    """
    total, solved = Decimal(0), 0
    for term, count in ideal.terms().items():
        rest = EXACT.subtract(left, total)
        options = term.parts if isinstance(term, AllOf) else (term,)
        prices = [price for part in options if (price := _copies_price(part, count, rest, own)) is not None]
        if not prices:
            return None
        total, solved = EXACT.add(total, min(price for price, _ in prices)), solved + sum(more for _, more in prices)
    return (total, solved) if total <= left else None


def _copies_price(part: Guarantee, count: int, left: Decimal, own: float) -> tuple[Decimal, int] | None:
    """The price of equal parts; Gaussian ones cost mu² each, whatever is left."""
    if isinstance(part, AllOf | Node):
        return gaussian_price(Repeated(part, count), left, own)
    if isinstance(part, GaussianDP):
        price = EXACT.multiply(EXACT.multiply(decimal(part.level), decimal(part.level)), Decimal(count))
        return (amount_of(price, ROUND_CEILING), 0) if price <= left else None
    if isinstance(part, BoundedRange) and count <= MOST_IN_TURN:
        total = Decimal(0)
        for _ in range(count):
            rest = float(EXACT.subtract(left, total))
            found = bounded_range_price(part.level, rest, own) if rest > 0 else None
            if found is None:
                return None
            total = EXACT.add(total, amount_of(decimal(found), ROUND_CEILING))
        return total, count
    if isinstance(part, PureDP | BoundedRange) and left > 0:
        found = pure_price(part.level, count, float(left), own)
        return None if found is None else (amount_of(decimal(found), ROUND_CEILING), 1)
    return None


def _added(ideal: Guarantee, cost: Callable[[Guarantee], Decimal | None]) -> Decimal | None:
    """The sum over all parts; of several certificates of one draw, the cheapest that has a cost."""
    if isinstance(ideal, AllOf):
        known = [price for part in ideal.parts if (price := _added(part, cost)) is not None]
        return min(known, default=None)
    if isinstance(ideal, Node):
        parts = [(_added(term, cost), count) for term, count in ideal.terms().items()]
        if any(price is None for price, _ in parts):
            return None
        return _sum(EXACT.multiply(price or Decimal(0), Decimal(count)) for price, count in parts)
    price = cost(ideal)
    return None if price is None else amount_of(price, ROUND_CEILING)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return reduce(EXACT.add, amounts, Decimal(0))


def _weights(gaussian: Decimal, main: Decimal, order: Decimal) -> Weights:
    spread = EXACT.divide(1 - SLACK - gaussian - main, Decimal(len(AROUND)))
    others = tuple((max(EXACT.multiply(order, factor), LEAST_ORDER), spread) for factor in AROUND)
    return Weights(gaussian, ((order, main), *others))


def _main_order(first: Guarantee, budget: Budget) -> Decimal:
    """The order that admits most requests like the first, or, where it is pure or has no curve, like a zCDP one."""
    delta = float(EVEN[1]) * (budget.delta or 0.0)

    def times(order: Decimal, cost: Decimal | None) -> float:
        return 0.0 if cost is None else float(_renyi_limit(budget.epsilon, float(order), delta)) / float(cost)

    if basic_price(first) is None:
        best = max(ORDERS, key=lambda order: times(order, renyi_price(first, order)))
        if times(best, renyi_price(first, best)) > 0:
            return best
    return max(ORDERS, key=lambda order: times(order, order))


def _renyi_limit(epsilon: float, order: float, delta: float) -> Decimal:
    room, gain = (math.log(delta) + math.log(order)) / (order - 1), math.log1p(1 / (order - 1))
    limit = epsilon + gain + room - ULPS * 8 * (epsilon + gain + abs(room) + 1)
    return max(amount_of(decimal(limit), ROUND_FLOOR), Decimal(0))


def _gaussian_limit(epsilon: float, delta: float) -> Decimal:
    return amount_of(charged(conversions.gaussian_mu(epsilon, delta), power=2), ROUND_FLOOR)
