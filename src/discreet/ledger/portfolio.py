"""One ledger for every notion: the portfolio of filters (proof: docs/theory/portfolio.md).

A request is admitted while some member still admits the whole history, this request included. A member that cannot pay
for a request which another admits is dead for good. A request that all refuse is not made: it changes nothing and kills
nobody. The whole is (epsilon, delta)-DP, delta the sum of the members' parts.

The weights are a public function of the first request, recorded with it and never changed. A first request that no
member admits is made if its own guarantee meets the budget; then the ledger is closed. Several requests made at once
are priced together: on an empty ledger by their exact composition, else one after another.

A share is the used fraction of the living member that has most left: it only grows, and is what a person reads.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

from discreet.accounting.rounding import QUANTUM, SMALLEST_REQUEST, decimal
from discreet.errors import BudgetExceeded, GuaranteeError, LedgerError
from discreet.guarantee import Budget, Composed, Guarantee
from discreet.ledger import members
from discreet.ledger.events import LEAST, Charge
from discreet.ledger.fitting import in_brief, spelled, that_fits
from discreet.ledger.members import MOST_PRICES, Weights, members_of
from discreet.ledger.used_members import Used, goes_on, state_of

__all__ = ["Portfolio", "after", "meets", "opened", "purchase", "share", "together"]

EXACT = Context(prec=160)
UP = Context(prec=160, rounding=ROUND_CEILING)
LEAST_DELTA, MOST_EPSILON = 1e-300, 1e100  # of a budget: what its parts are computed with are doubles


@lru_cache(maxsize=64)
def opened(first: tuple[Guarantee, ...], budget: Budget) -> Used:
    """The state before the first purchase, which decides the weights."""
    return _zero(members.weights_for(members.ideal_of(together(first), budget)[0], budget), len(first))


def together(asked: Sequence[Guarantee]) -> Guarantee:
    """What is bought at once, as one guarantee."""
    return asked[0] if len(asked) == 1 else Composed(tuple(asked))


def _zero(weights: Weights, first: int) -> Used:
    return Used(weights, renyi=(Decimal(0),) * len(weights.renyi), first=first)


@lru_cache(maxsize=512)  # a pure function of public facts, asked for before the ledger is locked and again behind it
def after(state: Used, asked: Guarantee, budget: Budget) -> Used:
    """The state once the request is made; with no member alive, it must not be."""
    limits = members_of(budget, state.weights)
    ideal, slack = members.ideal_of(asked, budget)
    slack = _up(min(EXACT.add(state.slack, slack), Decimal(1)))
    pure = members.basic_price(ideal)
    if pure is not None and pure < SMALLEST_REQUEST:
        raise GuaranteeError(f"Ledger.reserve epsilon must be at least 1e-12, got {pure:.3g}")
    basic = _paid(state.basic, pure, limits.basic)
    renyi = tuple(
        None if used is None else _paid(used, members.renyi_price(ideal, order), limit)
        for used, (order, limit) in zip(state.renyi, limits.renyi, strict=True)
    )
    gaussian, prices = state.gaussian, state.prices
    if gaussian is not None:
        price = members.gaussian_price(ideal, EXACT.subtract(limits.gaussian, gaussian), limits.own)
        prices += 0 if price is None else price[1]
        gaussian = None if price is None or prices > MOST_PRICES else _paid(gaussian, price[0], limits.gaussian)
    if slack > limits.slack:
        basic, gaussian, renyi = None, None, (None,) * len(renyi)
    return Used(state.weights, basic, gaussian, renyi, slack, prices, state.closed, state.first)


def purchase(state: Used | None, asked: Sequence[Guarantee], budget: Budget) -> tuple[Used, ...]:
    """The state after each of several requests that are made at once; the last is not alive where they are refused.

    The first purchase of a ledger that no member admits closes it, if together it meets the budget: nothing was
    chosen from outputs yet, so all of delta is its own.
    """
    now = opened(tuple(asked), budget) if state is None else state
    found: list[Used] = []
    for guarantee in asked:
        now = after(now, guarantee, budget)
        found.append(now)
    if not now.alive and state is None and meets(together(asked), budget):
        return tuple(replace(one, closed=True) for one in found)
    return tuple(found)


@dataclass(frozen=True)
class Portfolio:
    """The filter of a ledger with delta: admits what some member admits."""

    name: str = "portfolio"
    unit: str = "share"

    def limit(self, budget: Budget) -> Decimal:
        """The whole, whatever the budget."""
        if decimal(budget.epsilon) < SMALLEST_REQUEST:  # every request would be refused
            raise GuaranteeError(f"Ledger.budget must be at least 1e-12 in epsilon, got {budget}")
        if (budget.delta or 0.0) < LEAST_DELTA or budget.epsilon > MOST_EPSILON:
            raise GuaranteeError(f"Ledger.budget must have a delta from 1e-300 and an epsilon to 1e100, got {budget}")
        return Decimal(1)

    def charges(
        self, last: Charge | None, asked: Sequence[Guarantee], budget: Budget, limit: Decimal
    ) -> tuple[Charge, ...]:
        """The charge for each of the requests, in order; a BudgetExceeded where they are refused."""
        before, spent = (None, Decimal(0)) if last is None else (state_of(last), last.spent_after)
        if before is not None and before.closed:
            raise BudgetExceeded(f"Ledger.reserve must stay within the budget of {budget}: {CLOSED}")
        found = purchase(before, asked, budget)
        if not found[-1].alive and not found[-1].closed:
            raise BudgetExceeded(self._refusal(before, asked, budget))
        made: list[Charge] = []
        for i, state in enumerate(found, start=1):
            used = _up(UP.divide(Decimal(i), Decimal(len(found)))) if state.closed else share(state, budget)
            made.append(Charge(EXACT.subtract(used, spent), used, state.to_json()))
            spent = used
        return tuple(made)

    def describe(self, amount: Decimal, budget: Budget) -> str:
        """A share of the budget."""
        return f"{float(amount):.1%} of the budget"

    def epsilon_at(self, amount: Decimal, budget: Budget) -> float | None:
        """A share is of no one epsilon."""
        return None

    def fair(
        self, before: Charge | None, charge: Charge, guarantee: Guarantee, budget: Budget
    ) -> tuple[bool, Decimal | None]:
        """Whether a recorded state is what the request makes of the one before it, and the share it takes today.

        A closed purchase is checked as a whole: `meets`.
        """
        now = state_of(charge)
        last = _zero(now.weights, now.first) if before is None else state_of(before)
        today = after(last, guarantee, budget)
        spent = Decimal(0) if before is None else before.spent_after
        used = charge.spent_after if now.closed else share(today, budget)
        follows = (now.weights, now.first) == (last.weights, last.first)
        follows = follows and (now.closed == last.closed or before is None)
        covers = all(map(_covers, last.amounts, now.amounts, today.amounts)) and now.prices >= today.prices
        whole = now.closed or (now.alive and charge.spent_after >= share(now, budget))
        return follows and covers and whole, EXACT.subtract(used, spent)

    def sound(self, history: Sequence[Guarantee], last: Charge, budget: Budget) -> bool:
        """Whether a history has the weights of its first purchase and, where that closed the ledger, was affordable."""
        state = state_of(last)
        first = history[: state.first]
        if len(first) != state.first or opened(tuple(first), budget).weights != state.weights:
            return False
        return self.affordable(history, last, budget)

    def affordable(self, history: Sequence[Guarantee], last: Charge, budget: Budget) -> bool:
        """Whether a history that closed its ledger is within the budget: no price of one of its parts says so."""
        state = state_of(last)
        return not state.closed or (len(history) == state.first and meets(together(history), budget))

    def followed(self, last: Charge | None, charges: Iterable[Charge]) -> Charge | None:
        """The last of some charges that follow `last`; none of them may give back what members had used."""
        for charge in charges:
            if last is not None and not goes_on(state_of(last), state_of(charge)):
                raise LedgerError("Ledger entry must use no less than those before it: the ledger was altered")
            last = charge
        return last

    def _refusal(self, before: Used | None, asked: Sequence[Guarantee], budget: Budget) -> str:
        def fits(*some: Guarantee) -> bool:
            with suppress(GuaranteeError):  # too small
                last = purchase(before, some, budget)[-1]
                return last.alive or last.closed
            return False

        spent = Decimal(0) if before is None else share(before, budget)
        left = f"{self.describe(EXACT.subtract(Decimal(1), spent), budget)} is left"
        if len(asked) > 1:
            first, more = 0, len(asked)
            while more - first > 1:
                count = (first + more) // 2
                first, more = (count, more) if fits(*asked[:count]) else (first, count)
            alone = f"the first {first} of them would fit" if first else "not even the first of them fits"
            said = [f"a purchase of {len(asked)} releases, {in_brief(together(asked), budget)} asked", alone, left]
        else:
            level, (one,) = that_fits(asked[0], fits), asked
            some = "nothing like it still fits" if level is None else f"{level:g} of it still fits{spelled(one, level)}"
            said = [f"{in_brief(one, budget)} asked", some, left, "ask for less"]
        return f"Ledger.reserve must stay within the budget of {budget}: {'; '.join(said)}"


CLOSED = "it is closed, because its first purchase took all of it; nothing more can be paid"


def _covers(last: Decimal | None, recorded: Decimal | None, today: Decimal | None) -> bool:
    """A dead member stays dead, and a living one has used its price, to 1e-9 of the price."""
    if recorded is None or last is None or today is None:
        return recorded is None
    return EXACT.subtract(recorded, last) >= EXACT.multiply(EXACT.subtract(today, last), LEAST)


def meets(guarantee: Guarantee, budget: Budget) -> bool:
    """Whether a guarantee alone is within the budget."""
    assert budget.delta is not None
    return guarantee.delta(budget.epsilon) <= budget.delta or guarantee.epsilon(budget.delta) <= budget.epsilon


def share(state: Used, budget: Budget) -> Decimal:
    """The used fraction of the living member that has most left, rounded up; the whole where none is alive."""
    if not state.alive:
        return Decimal(1)
    limits = members_of(budget, state.weights)
    pairs = [(state.basic, limits.basic), (state.gaussian, limits.gaussian)]
    pairs += [(used, limit) for used, (_, limit) in zip(state.renyi, limits.renyi, strict=True)]
    return min(_up(UP.divide(used, limit)) if used else Decimal(0) for used, limit in pairs if used is not None)


def _paid(used: Decimal | None, price: Decimal | None, limit: Decimal) -> Decimal | None:
    """What is used with the price; None where there is none, or not enough is left."""
    if used is None or price is None:
        return None
    total = EXACT.add(used, price)
    return total if total <= limit else None


def _up(amount: Decimal) -> Decimal:
    return amount.quantize(QUANTUM, rounding=ROUND_CEILING, context=EXACT)
