"""The portfolio once more, from the theorems alone: nothing here knows how the ledger computes what it records.

Sums are exact fractions between a lower and an upper end; a curve is written down in doubles, and its ends are a
relative 1e-11 apart. A history that falls between the ends of a limit is `unsure`, which tests count. What the Gaussian
member paid for a release is read from the ledger and put into the inequality it must satisfy: prices are not solved for.

    hockey(e, b)   H_e(N(0,1) || N(√b,1)), for every real e
    pairs(g)       the dominating pairs of a guarantee: lists of (loss, its probability under P)
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from discreet.guarantee import (
    ZCDP,
    AllOf,
    ApproxDP,
    BoundedRange,
    Budget,
    Composed,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    Repeated,
    Within,
)

Pair = list[tuple[float, float]]  # losses under P, and their probabilities
Ends = tuple[Fraction, Fraction]

WIDE = Fraction(1, 10**11)
QUANTUM = Fraction(1, 10**18)
SLACK = Fraction(1, 100)
PRICES = 10**6  # of the Gaussian member, which may each be wrong by 1e-9 of its delta


def typed(number: float) -> Fraction:
    return Fraction(repr(float(number)))


# -- what a guarantee is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ideal:
    """Leaves with several certificates each, and what is paid from the slack."""

    leaves: tuple[tuple[tuple[Guarantee, ...], int], ...]
    slack: Ends


@cache
def ideal(guarantee: Guarantee, budget: Budget) -> Ideal:
    """Only what the tests ask for: certificates are leaves, with or without a distance."""
    if isinstance(guarantee, Composed):
        parts = [ideal(part, budget) for part in guarantee.parts]
        return Ideal(tuple(leaf for part in parts for leaf in part.leaves), _total(part.slack for part in parts))
    if isinstance(guarantee, Repeated):
        part = ideal(guarantee.part, budget)
        low, high = part.slack
        leaves = tuple((options, count * guarantee.times) for options, count in part.leaves)
        return Ideal(leaves, (low * guarantee.times, high * guarantee.times))
    if isinstance(guarantee, Within):
        part = ideal(guarantee.part, budget)
        growth = _around(1 + math.exp(budget.epsilon))
        low, high = (end * typed(guarantee.tv) for end in growth)
        return Ideal(part.leaves, _total([part.slack, (low, high)]))
    if isinstance(guarantee, ApproxDP):
        return Ideal((((PureDP(guarantee.level),), 1),), (typed(guarantee.slack),) * 2)
    if isinstance(guarantee, AllOf):
        found = [ideal(part, budget) for part in guarantee.parts]
        kept = [one for one in found if not one.slack[1]] or found
        options = tuple(option for one in kept for options, _ in one.leaves for option in options)
        return Ideal(((options, 1),), _total(one.slack for one in kept))
    return Ideal((((guarantee,), 1),), (Fraction(0),) * 2)


def _around(number: float) -> Ends:
    exact = Fraction(number)
    return exact * (1 - WIDE), exact * (1 + WIDE)


def _total(ends: Iterable[Ends]) -> Ends:
    low = high = Fraction(0)
    for one, other in ends:
        low, high = low + one, high + other
    return low, high


def basic_cost(guarantee: Guarantee) -> Fraction | None:
    return typed(guarantee.level) if isinstance(guarantee, PureDP | BoundedRange) else None


@cache
def curve(guarantee: Guarantee, a: float) -> float:
    """The Rényi divergence of order a, by its definition."""
    if isinstance(guarantee, PureDP):
        e = guarantee.level
        log_p, log_q = -math.log1p(math.exp(-e)), -e - math.log1p(math.exp(-e))
        return _log_add(a * log_p + (1 - a) * log_q, a * log_q + (1 - a) * log_p) / (a - 1)
    if isinstance(guarantee, BoundedRange):  # losses t and t - e, the worst t
        e = guarantee.level
        x = (a - 1) / a * (math.exp(e) - math.exp(-(a - 1) * e)) / -math.expm1(-(a - 1) * e)
        t = math.log(min(max(x, 1.0), math.exp(e)))
        p = (math.exp(e) - math.exp(t)) / math.expm1(e)
        return math.log(p * math.exp((a - 1) * t) + (1 - p) * math.exp((a - 1) * (t - e))) / (a - 1)
    if isinstance(guarantee, ZCDP):
        return guarantee.level * a
    if isinstance(guarantee, GaussianDP):
        return guarantee.level**2 * a / 2
    assert isinstance(guarantee, RenyiDP)
    return guarantee.renyi(a)


def _log_add(one: float, other: float) -> float:
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))


# -- the Gaussian member -------------------------------------------------------------------------------------------------


def hockey(e: NDArray[np.float64], b: float) -> NDArray[np.float64]:
    if b <= 0:
        return np.asarray(np.maximum(-np.expm1(np.minimum(e, 1.0)), 0.0))
    mu = math.sqrt(b)
    return np.asarray(np.maximum(ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu)), 0.0))


def pairs(guarantee: Guarantee, steps: int = 16) -> list[Pair]:
    """Of bounded range: t = epsilon i/steps; both orders of each are among them."""
    e = guarantee.level  # type: ignore[attr-defined]
    if isinstance(guarantee, PureDP):
        p = 1 / (1 + math.exp(-e))
        return [[(e, p), (-e, 1 - p)]]
    assert isinstance(guarantee, BoundedRange)
    return [two_losses(e * i / steps, e) for i in range(1, steps)]


def two_losses(t: float, e: float) -> Pair:
    p = (math.exp(e) - math.exp(t)) / math.expm1(e)
    return [(t, p), (t - e, 1 - p)]


def excess(pair: Pair, left: float, price: float) -> float:
    """The most by which the release and what remains exceed what was left, over e' of both signs."""
    mu = math.sqrt(left)
    far = max(abs(loss) for loss, _ in pair) + left + 9 * mu
    e = np.linspace(-far, far, 4001)
    after = sum(p * hockey(e - loss, max(left - price, 0.0)) for loss, p in pair)
    return float(np.max(after - hockey(e, left)))


def power(pair: Pair, times: int) -> Pair:
    law = {0.0: 1.0}
    for _ in range(times):
        more: dict[float, float] = {}
        for loss, chance in law.items():
            for step, p in pair:
                key = round(loss + step, 12)
                more[key] = more.get(key, 0.0) + chance * p
        law = more
    return list(law.items())


@cache
def gaussian_limit(epsilon: float, delta: float) -> float:
    low, high = 0.0, 1.0
    while hockey(np.array([epsilon]), high)[0] <= delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey(np.array([epsilon]), middle)[0] <= delta else (low, middle)
    return low


# -- the whole -----------------------------------------------------------------------------------------------------------


@dataclass
class Book:
    """Every member's account of one history, between two ends; None where it is dead."""

    budget: Budget
    weights: Mapping[str, Any]
    gaussian: bool = True  # whether the Gaussian member is followed; where not, what it recorded is believed
    used: dict[str, Ends | None] = field(default_factory=dict)
    slack: Ends = (Fraction(0), Fraction(0))
    limits: dict[str, Ends] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The limits, and that they are of one delta."""
        eps, delta = self.budget.epsilon, typed(self.budget.delta or 0.0)
        share = Fraction(self.weights["gaussian"])
        self.orders = tuple(float(order) for order, _ in self.weights["renyi"])
        assert share + sum(Fraction(w) for _, w in self.weights["renyi"]) + SLACK == 1  # delta is split, all of it
        self.limits["basic"] = (typed(eps),) * 2
        square = Fraction(gaussian_limit(eps, float(share * delta * (1 - Fraction(PRICES, 10**9)))))
        self.limits["gaussian"] = (square * (1 - Fraction(1, 10**7)), square * (1 + Fraction(1, 10**7)))
        for i, (order, weight) in enumerate(self.weights["renyi"]):
            a = float(order)
            limit = eps - math.log1p(-1 / a) + (math.log(float(Fraction(weight) * delta)) + math.log(a)) / (a - 1)
            self.limits[f"renyi {i}"] = (Fraction(max(limit - 1e-11, 0.0)), Fraction(max(limit + 1e-11, 0.0)))
        self.used = dict.fromkeys(self.limits, (Fraction(0), Fraction(0)))

    def ask(self, guarantee: Guarantee, recorded: Mapping[str, Any] | None = None) -> tuple[bool, bool]:
        """Whether some member admits it, and whether one might; where it surely does not, nothing changes."""
        asked, costs = ideal(guarantee, self.budget), costs_of(guarantee, self.budget, self.orders)
        slack = _total([self.slack, asked.slack])
        whole = typed(self.budget.delta or 0.0) * SLACK
        sure, maybe = {}, {}
        for name, (low, high) in self.limits.items():
            before, cost = self.used[name], costs[name]
            if name == "gaussian" and not self.gaussian:
                alive = recorded is not None and recorded["gaussian"] is not None
                sure[name] = maybe[name] = self.used[name] if alive else None
                continue
            after = None if before is None or cost is None else _total([before, cost])
            sure[name] = after if after is not None and after[1] <= low and slack[1] <= whole else None
            maybe[name] = after if after is not None and after[0] <= high and slack[0] <= whole + QUANTUM else None
        admits = tuple(any(one is not None for one in found.values()) for found in (sure, maybe))
        if admits[1] and (recorded is not None or admits[0]):
            self.used, self.slack = maybe, slack
        return admits  # type: ignore[return-value]

    def check(self, recorded: Mapping[str, Any]) -> None:
        """What a ledger recorded after an admitted request is what was used."""
        assert recorded["weights"] == self.weights
        texts = {"basic": recorded["basic"], "gaussian": recorded["gaussian"]}
        texts |= {f"renyi {i}": text for i, text in enumerate(recorded["renyi"])}
        assert texts.keys() == self.used.keys()
        for name, text in texts.items():
            used = self.used[name]
            if name == "gaussian" and not self.gaussian:
                continue
            if used is None:
                assert text is None, name  # dead for good
            elif text is None:  # only where it may have been at its end
                assert used[1] > self.limits[name][0], name
                self.used[name] = None
            else:
                assert used[0] <= Fraction(text) <= used[1] + QUANTUM * 1000, name
        assert self.slack[0] <= Fraction(recorded["slack"]) <= self.slack[1] + QUANTUM * 1000


@cache
def costs_of(guarantee: Guarantee, budget: Budget, orders: tuple[float, ...]) -> Mapping[str, Ends | None]:
    """What a guarantee costs every member; the Gaussian one only where that is no matter of what is left."""
    asked = ideal(guarantee, budget)
    found = {"basic": _cheapest(asked, lambda leaf: _same(basic_cost(leaf)))}
    found["gaussian"] = _cheapest(asked, lambda leaf: _same(_square(leaf)))
    for i, a in enumerate(orders):
        found[f"renyi {i}"] = _cheapest(asked, partial(_of_curve, a=a))
    return found


def _cheapest(asked: Ideal, cost: Any) -> Ends | None:
    total: list[Ends] = []
    for options, count in asked.leaves:
        known = [price for option in options if (price := cost(option)) is not None]
        if not known:
            return None
        low, high = min(known)
        total.append((low * count, high * count))
    return _total(total)


def _same(price: Fraction | None) -> Ends | None:
    return None if price is None else (price, price)


def _square(leaf: Guarantee) -> Fraction | None:
    return typed(leaf.level) ** 2 if isinstance(leaf, GaussianDP) else None


def _of_curve(leaf: Guarantee, a: float) -> Ends | None:
    found = curve(leaf, a)
    return _around(found) if math.isfinite(found) else None


def overcharged(guarantee: Guarantee, budget: Budget, left: float, price: float) -> float:
    """The excess of a release at a price, over all its pairs; of several certificates, the best."""
    asked = ideal(guarantee, budget)
    laws: list[Pair] = [[(0.0, 1.0)]]
    squares = 0.0
    for (leaf, *_), count in asked.leaves:
        if isinstance(leaf, GaussianDP):
            squares += count * leaf.level**2
        else:
            laws = [_product(law, power(pair, count)) for law in laws for pair in pairs(leaf)]
    return max(excess(law, left, price - squares) for law in laws)


def _product(one: Pair, other: Pair) -> Pair:
    return [(a + b, p * q) for a, p in one for b, q in other]
