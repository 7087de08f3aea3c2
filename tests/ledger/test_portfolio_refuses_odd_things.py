"""Odd budgets, guarantees and purchases end in a sentence; a portfolio that was altered is not believed."""

import math
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath
import pytest

from discreet.accounting.residual_gaussian import bounded_range_price, gaussian_of_pure, pure_price
from discreet.errors import BudgetExceeded, DiscreetError, GuaranteeError, LedgerError
from discreet.guarantee import (
    ZCDP,
    AllOf,
    ApproxDP,
    Basis,
    BoundedRange,
    Budget,
    Composed,
    GaussianDP,
    Guarantee,
    PureDP,
    Repeated,
    Within,
)
from discreet.ledger import Ledger, agreement, members
from discreet.ledger.base import created
from discreet.ledger.events import entry_id
from discreet.ledger.portfolio import Portfolio
from discreet.ledger.sqlite import SqliteStore

ODD: list[Guarantee] = [
    PureDP(1e-12),
    PureDP(1e-300),
    PureDP(50),
    PureDP(800),
    PureDP(1e300),
    BoundedRange(1e-9),
    BoundedRange(710),
    BoundedRange(1600),
    GaussianDP(1e-200),
    GaussianDP(1.234567890123e200),
    ZCDP(1e-300),
    ZCDP(1e300),
    ApproxDP(1e-9, 1e-300),
    ApproxDP(800, 1e-10),
    Within(GaussianDP(1), 1e-9),
    Within(PureDP(0.1), 1e-300),
    Repeated(PureDP(1e-3), 10**6),
    Repeated(PureDP(0.1), 10**400),
    Repeated(BoundedRange(1e-4), 10**6),
    Composed((PureDP(0.1), PureDP(1e-200), Within(Composed((PureDP(0.1), ApproxDP(0.1, 1e-10))), 1e-10))),
    Repeated(AllOf((PureDP(0.2), AllOf((ZCDP(0.1), Repeated(GaussianDP(0.1), 3))))), 5),
]
BUDGETS = [
    (1e-6, 1e-6),
    (1e-6, 1e-300),
    (3, 1e-6),
    (50, 1e-300),
    (800, 1e-6),
    (2000, 1e-6),
    (1e100, 1e-6),
    (1, 0.999999),
]


@pytest.mark.parametrize("numbers", BUDGETS, ids=str)
def test_odd_guarantees_are_charged_or_refused(numbers: tuple[float, float]) -> None:
    budget, chosen, whole = Budget(*numbers), Portfolio(), Decimal(1)
    for odd in ODD:
        with suppress(DiscreetError):
            (first,) = chosen.charges(None, [odd], budget, whole)
            assert chosen.fair(None, first, odd, budget)[0]
            (second,) = chosen.charges(first, [odd], budget, whole)
            assert second.spent_after >= first.spent_after


@pytest.mark.parametrize("numbers", [(1, 5e-324), (1, 1e-310), (1e101, 1e-6)])
def test_a_budget_that_doubles_cannot_divide_is_refused(path: Path, numbers: tuple[float, float]) -> None:
    with pytest.raises(GuaranteeError, match="delta from 1e-300 and an epsilon to 1e100"):
        Ledger.create(path, Budget(*numbers))
    assert not path.exists()


@pytest.mark.parametrize("epsilon", [1e-200, 1e-15, 1e-12, 3.3e-9, 1e-6, 1e-3, 0.1, 0.999, 1.0, 5.0, 40.0, 699.0])
def test_the_gaussian_of_a_pure_guarantee_is_rounded_up(epsilon: float) -> None:
    """A probability next to 1/2 would have left 4 digits of an epsilon of 1e-12, and rounded down half of the time."""
    with mpmath.workdps(700):
        exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
        assert exact < gaussian_of_pure(epsilon)
    assert gaussian_of_pure(epsilon) < float(exact) * (1 + 1e-11) + 2e-150
    assert gaussian_of_pure(epsilon) ** 2 > 0


def test_what_is_far_away_has_no_price() -> None:
    assert pure_price(701.0, 1, 1e9, 1e-15) is None
    assert bounded_range_price(1600.0, 1e9, 1e-15) is None
    assert pure_price(0.1, 10**400, 1e9, 1e-15) is None
    assert gaussian_of_pure(701.0) == math.inf


@pytest.fixture
def shared(path: Path) -> Ledger:
    return Ledger.create(path, Budget(3, 1e-6))


def test_a_recipe_has_one_guarantee_also_within_one_purchase(shared: Ledger) -> None:
    """It was the last of them that was paid for."""
    with pytest.raises(GuaranteeError, match="must be one for each recipe"):
        shared.reserve_all([(PureDP(1), {"a": 1}), (PureDP(0.01), {"a": 1})])
    assert shared.entries() == ()
    one, other = shared.reserve_all([(PureDP(0.1), {"a": 1}), (PureDP(0.1), {"a": 1})])
    assert one == other
    assert len(shared.entries()) == 1
    with pytest.raises(GuaranteeError, match="must be a Guarantee"):
        shared.reserve("much", {"b": 1})  # type: ignore[arg-type]


def test_nothing_is_bought_by_an_empty_or_refused_purchase(shared: Ledger) -> None:
    assert shared.reserve_all([]) == ()
    head = shared.head()
    persons = Basis(unit="person")
    with pytest.raises(GuaranteeError, match="must hold for"):
        shared.reserve_all([(PureDP(0.1), {"a": 1}), (PureDP(0.1, persons), {"a": 2})])
    with pytest.raises(BudgetExceeded):
        shared.reserve_all([(PureDP(0.1), {"a": 1}), (PureDP(30), {"a": 2})])
    assert shared.head() == head
    known = shared.reserve(PureDP(0.1), {"a": 1})
    both = shared.reserve_all([(PureDP(0.1), {"a": 1}), (PureDP(0.2), {"a": 2})])
    assert both[0] == known
    assert shared.entries() == both


def test_a_refused_request_changes_nothing_for_those_that_follow(shared: Ledger, tmp_path: Path) -> None:
    plain = Ledger.create(tmp_path / "plain.ledger", Budget(3, 1e-6))
    for i, asked in enumerate([PureDP(0.5), GaussianDP(0.1), PureDP(0.2)]):
        with pytest.raises(BudgetExceeded):
            shared.reserve(ZCDP(5.0), {"refused": i})
        with pytest.raises(BudgetExceeded):
            shared.reserve(Within(asked, 0.1), {"refused": -i})
        assert shared.reserve(asked, {"i": i}).charge == plain.reserve(asked, {"i": i}).charge


def test_only_an_empty_ledger_is_closed(shared: Ledger, tmp_path: Path) -> None:
    whole = [(Repeated(BoundedRange(0.5), 2), {"i": i}) for i in range(3)]
    study = [(guarantee, {**recipe, "study": True}) for guarantee, recipe in [*whole, (BoundedRange(0.45), {"i": 4})]]
    fresh = Ledger.create(tmp_path / "fresh.ledger", Budget(3, 1e-6))
    entries = fresh.reserve_all(study)
    assert entries[-1].charge.closes == (entries[-1].spent_after == 1)
    shared.reserve(PureDP(0.5), {"first": True})
    with pytest.raises(BudgetExceeded):
        shared.reserve_all(study)
    assert not shared.entries()[-1].charge.closes


def test_a_closed_ledger_pays_nothing_more_and_still_answers(path: Path) -> None:
    ledger = Ledger.create(path, Budget(3, 1e-6))
    mu = 0.9999 * float(members._gaussian_limit(3, 1e-6)) ** 0.5
    entry = ledger.reserve(GaussianDP(mu), {"all": True})
    assert entry.charge.closes
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.reserve(PureDP(1e-6), {"more": True})
    assert ledger.reserve(GaussianDP(mu), {"all": True}) == entry
    ledger.verify()


def test_a_refusal_of_a_long_ledger_does_not_look_back(shared: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of 100,000 entries in every other filter would hold up all writers."""
    shared.reserve(ApproxDP(0.1, 1e-9), {"a": 1})
    monkeypatch.setattr(agreement, "MOST_ADVISED", 1)
    monkeypatch.setattr(agreement, "other_filters", lambda *_: pytest.fail("looked back"))
    with pytest.raises(BudgetExceeded):
        shared.reserve(PureDP(30), {"a": 2})


def test_a_small_request_is_refused_for_what_is_left_and_not_for_its_size() -> None:
    """What still fits is looked for below it, where sizes are refused."""
    budget, chosen = Budget(3, 1e-6), Portfolio()
    (first,) = chosen.charges(None, [GaussianDP(0.6)], budget, Decimal(1))
    limit = members.members_of(budget, members.weights_for(GaussianDP(0.6), budget)).gaussian
    spent = {**(first.members or {}), "gaussian": f"{limit:f}", "renyi": [None] * 5}
    with pytest.raises(BudgetExceeded, match="nothing like it still fits"):
        chosen.charges(replace(first, members=spent), [PureDP(1e-6)], budget, Decimal(1))


# -- altered ledgers: whoever may write the file rebuilds the chain --------------------------------------------------------

Change = Callable[[int, dict[str, Any]], None]  # of the i-th reservation


def history(path: Path) -> Ledger:
    """Four entries: the first two are one purchase; a member is dead, another paid for a price."""
    ledger = Ledger.create(path, Budget(3, 1e-6))
    first = ledger.reserve_all([(PureDP(0.1), {"i": 0}), (PureDP(0.05), {"i": 1})])
    ledger.settle(first[0], {"value": 0})
    ledger.reserve(GaussianDP(0.1), {"i": 2})
    ledger.reserve(PureDP(1e-10), {"i": 3})
    return ledger


def rebuilt(ledger: Ledger, folder: Path, change: Change, moved: bool = False) -> Ledger:
    """The same events, changed, in a chain of their own; with `moved`, a settlement right after its reservation."""
    with sqlite3.connect(ledger.path) as connection:
        kinds = connection.execute("SELECT kind, entry FROM events ORDER BY seq").fetchall()
    connection.close()
    with SqliteStore(ledger.path).read() as events:
        contents = [(kind, entry, event.content()) for (kind, entry), event in zip(kinds, events, strict=True)]
    if moved:
        contents[2], contents[3] = contents[3], contents[2]
    reserves = [content for kind, _, content in contents if kind == "reserve"]
    for i, content in enumerate(reserves):
        change(i, content)
    store = SqliteStore(folder / "altered.ledger")
    store.create([created(contents[0][2])])
    with store.noting() as events:
        last = events.last()
        for kind, entry, content in contents[1:]:
            if moved and kind == "reserve":
                entry = entry_id(content["request"], last.seq + 1)
            last = events.append(kind, entry, content, last)
    return Ledger.open(store.path)


def nothing(_: int, __: dict[str, Any]) -> None: ...


def shaved(i: int, content: dict[str, Any]) -> None:
    """Less than before, by what a tolerance of the whole would have let pass."""
    if i == 3:
        content["members"]["gaussian"] = str(Decimal(content["members"]["gaussian"]) * Decimal("0.9999999995"))[:40]


def revived(i: int, content: dict[str, Any]) -> None:
    if i >= 2:
        content["members"]["basic"] = "0.15"


def forgotten(i: int, content: dict[str, Any]) -> None:
    if i == 3:
        content["members"]["prices"] = 0


def unsplit(_: int, content: dict[str, Any]) -> None:
    content["members"]["weights"]["gaussian"] = "0.99"


def shifted(_: int, content: dict[str, Any]) -> None:
    content["members"]["weights"]["gaussian"] = "0.51"
    content["members"]["weights"]["renyi"][0][1] = "0.39"


def other_order(_: int, content: dict[str, Any]) -> None:
    content["members"]["weights"]["renyi"][0][0] = "1"


def changed_later(i: int, content: dict[str, Any]) -> None:
    if i >= 2:
        shifted(i, content)


def without_members(i: int, content: dict[str, Any]) -> None:
    if i == 3:
        del content["members"]


def decided(number: int) -> Change:
    def change(_: int, content: dict[str, Any]) -> None:
        content["members"]["first"] = number

    return change


def closed_later(i: int, content: dict[str, Any]) -> None:
    if i >= 2:
        content["members"]["closed"] = True


def closed_once(i: int, content: dict[str, Any]) -> None:
    if i == 0:
        content["members"]["closed"] = True


def test_the_same_events_are_the_same_ledger(path: Path, tmp_path: Path) -> None:
    ledger = history(path)
    ledger.verify()
    rebuilt(ledger, tmp_path, nothing).verify()


@pytest.mark.parametrize(
    "change",
    [
        shaved,
        revived,
        forgotten,
        unsplit,
        shifted,
        other_order,
        changed_later,
        without_members,
        decided(0),
        decided(3),  # of one, the weights would have been the same
        decided(4),
        decided(5),
        closed_later,
        closed_once,
    ],
)
def test_an_altered_portfolio_is_refused(path: Path, tmp_path: Path, change: Change) -> None:
    with pytest.raises(LedgerError):
        rebuilt(history(path), tmp_path, change).verify()


def test_nothing_leaves_before_the_whole_first_purchase(path: Path, tmp_path: Path) -> None:
    """Weights of a purchase whose first part was seen before the second was asked for are a choice from outputs."""
    with pytest.raises(LedgerError, match="whole first purchase"):
        rebuilt(history(path), tmp_path, nothing, moved=True).verify()


def test_an_entry_without_members_is_not_continued(path: Path, tmp_path: Path) -> None:
    ledger = rebuilt(history(path), tmp_path, without_members)
    with pytest.raises(LedgerError, match="must say what every member has used"):
        ledger.reserve(PureDP(0.1), {"more": True})


def test_a_portfolio_without_delta_is_not_read(tmp_path: Path) -> None:
    budget = {"epsilon": 1.0, "delta": None}
    first = created({"accounting": 1, "format": 2, "budget": budget, "filter": "portfolio", "limit": "1"})
    SqliteStore(tmp_path / "x.ledger").create([first])
    with pytest.raises(LedgerError, match="this version can read"):
        Ledger.open(tmp_path / "x.ledger")
