"""What a ledger with a delta admits: the table of the notes, purchases, closing, and what it says."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.guarantee import Basis, Guarantee
from discreet.ledger import Ledger, members, portfolio
from discreet.ledger.filters import FILTERS

Sequence_ = Sequence[Guarantee]

# math/beyond.md §8: epsilon, what is asked in turn, admitted in turn (at least), fixed in advance
TABLE = [
    (1.0, [dc.PureDP(0.1)], 10, 10),
    (1.0, [dc.PureDP(0.5)], 2, 2),
    (1.0, [dc.BoundedRange(0.5)], 2, 2),
    (1.0, [dc.GaussianDP(0.1)], 5, 5),
    (3.0, [dc.PureDP(0.5)], 6, 6),
    (3.0, [dc.BoundedRange(0.5)], 6, 7),
    (3.0, [dc.GaussianDP(0.1)], 39, 41),
    (3.0, [dc.PureDP(0.5), dc.GaussianDP(0.1), dc.GaussianDP(0.1)], 9, 10),
    (3.0, [dc.ZCDP(0.005)], 33, 37),
]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Ledger]:
    numbers = count()
    return lambda *budget, **more: Ledger.create(tmp_path / f"{next(numbers)}.ledger", dc.Budget(*budget), **more)


def until_refused(ledger: Ledger, asked: Sequence_) -> int:
    for number, guarantee in enumerate(cycle(asked)):
        try:
            ledger.reserve(guarantee, {"request": number})
        except dc.BudgetExceeded:
            return number
    raise AssertionError


@pytest.mark.parametrize(("epsilon", "asked", "in_turn", "at_once"), TABLE, ids=str)
def test_the_table_of_the_notes(
    make: Callable[..., Ledger], epsilon: float, asked: Sequence_, in_turn: int, at_once: int
) -> None:
    ledger = make(epsilon, 1e-6)
    assert until_refused(ledger, asked) >= in_turn
    assert ledger.verify() == ()
    study = make(epsilon, 1e-6)
    entries = study.reserve_all([(one, {"request": i}) for i, one in enumerate(islice(cycle(asked), at_once))])
    assert len(entries) == at_once
    assert study.verify() == ()
    one_more = list(islice(cycle(asked), at_once + 1))
    with pytest.raises(dc.BudgetExceeded, match=f"a purchase of {at_once + 1} releases"):
        make(epsilon, 1e-6).reserve_all([(one, {"request": i}) for i, one in enumerate(one_more)])


@pytest.mark.parametrize(
    ("epsilon", "delta", "asked"),
    [
        (1.0, 1e-6, dc.PureDP(1.0)),
        (1.0, 1e-5, dc.ApproxDP(1.0, 1e-5)),
        (2.0, 1e-6, dc.BoundedRange(2.0)),
        (1.0, 1e-6, dc.ZCDP(0.02435)),
        (1.0, 1e-6, dc.GaussianDP(0.2367)),
        (3.0, 1e-3, dc.Within(dc.GaussianDP(0.9), 1e-5)),
        (2.0, 1e-3, dc.RenyiDP("dirichlet", {"prior": (20.0, 20.0), "n": 100})),
        (6.0, 1e-2, dc.ConjugateProfile("dirichlet", {"prior": (1.0, 1.0), "n": 10})),
    ],
    ids=repr,
)
def test_what_meets_the_budget_alone_is_admitted_first(
    make: Callable[..., Ledger], epsilon: float, delta: float, asked: Guarantee
) -> None:
    assert asked.delta(epsilon) <= delta
    ledger = make(epsilon, delta)
    entry = ledger.reserve(asked, {})
    assert ledger.verify() == ()
    assert 0 < entry.spend <= 1
    if entry.charge.closes:
        assert (ledger.spent(), ledger.remaining()) == (1, 0)
        with pytest.raises(dc.BudgetExceeded, match="it is closed, because its first purchase took all of it"):
            ledger.reserve(dc.PureDP(0.001), {"more": 1})
        assert ledger.reserve(asked, {}) == entry  # what is known is free


def test_a_request_that_closes_says_so_before(make: Callable[..., Ledger]) -> None:
    ledger = make(1.0, 1e-6)
    (charge,) = ledger.quote([dc.GaussianDP(0.2367)])
    assert charge.closes
    assert ledger.spent() == 0
    (cheap,) = ledger.quote([dc.PureDP(0.5)])
    assert not cheap.closes
    assert cheap.spend == Decimal("0.5")


def test_a_ledger_with_delta_admits_no_less_than_one_without(make: Callable[..., Ledger]) -> None:
    """Whatever pure requests come, also many small ones and one that takes all: the basic member is free."""
    for levels in ([0.7, 0.2, 0.1], [1.0], [0.05] * 20, [1 / 3] * 3, [1e-6, 0.999999]):
        ledger, alone = make(1.0, 1e-6), make(1.0)
        for i, level in enumerate(levels):
            asked = (dc.PureDP if i % 5 else dc.BoundedRange)(level)
            alone.reserve(asked, {"request": i})
            ledger.reserve(asked, {"request": i})


def test_the_example_of_the_readme_takes_a_sixth(make: Callable[..., Ledger]) -> None:
    ledger = make(3.0, 1e-6)
    ledger.reserve(dc.PureDP(0.5), {})
    assert ledger.spent() == Decimal("0.166666666666666667")
    assert str(ledger) == "budget epsilon = 3 at delta = 1e-06; spent 16.7% of the budget; left 83.3% of the budget"


def test_a_refusal_speaks_in_the_terms_of_the_request(make: Callable[..., Ledger]) -> None:
    ledger = make(3.0, 1e-6)
    ledger.reserve(dc.PureDP(2.38), {})
    with pytest.raises(dc.BudgetExceeded, match=r"1-differential privacy asked; 0\.62 of it still fits; 20\.7% of the"):
        ledger.reserve(dc.PureDP(1.0), {"more": 1})
    with pytest.raises(
        dc.BudgetExceeded, match=r"1-zCDP asked; (0\.\d+) of it still fits, as rho = \1; 100\.0% of the"
    ):
        make(3.0, 1e-6).reserve(dc.ZCDP(1.0), {})
    ledger.reserve(dc.PureDP(0.62), {"more": 2})
    with pytest.raises(dc.BudgetExceeded, match="nothing like it still fits"):
        ledger.reserve(dc.PureDP(0.1), {"more": 3})
    with pytest.raises(dc.BudgetExceeded, match="with filter = pure or portfolio would admit it"):
        make(3.0, 1e-6, filter="zcdp").reserve(dc.PureDP(1.0), {})
    with pytest.raises(dc.GuaranteeError, match="must be at least 1e-12"):
        make(3.0, 1e-6).reserve(dc.PureDP(1e-13), {})


@pytest.mark.parametrize("history", [[], [dc.PureDP(0.5)], [dc.GaussianDP(0.3), dc.PureDP(0.2)], [dc.ZCDP(0.1)]])
def test_what_is_said_to_fit_fits_and_no_more(make: Callable[..., Ledger], history: Sequence_) -> None:
    ledger = make(3.0, 1e-6)
    for i, guarantee in enumerate(history):
        ledger.reserve(guarantee, {"request": i})
    said = ledger.still_fits()
    for kind, name in ((dc.PureDP, "epsilon"), (dc.GaussianDP, "mu")):
        ledger.quote([kind(said[name])])
        if said[name] < 3.0:
            with pytest.raises(dc.BudgetExceeded):
                ledger.quote([kind(said[name] * 1.02)])
    if history:
        times = said["like the last"]
        if times:
            ledger.quote([dc.Repeated(history[-1], times)])
        with pytest.raises(dc.BudgetExceeded):
            ledger.quote([dc.Repeated(history[-1], times + 1)])


def test_the_share_only_grows_and_is_the_sum_of_spends(make: Callable[..., Ledger]) -> None:
    ledger = make(3.0, 1e-6)
    asked = [dc.ZCDP(0.01), dc.PureDP(0.3), dc.GaussianDP(0.05), dc.BoundedRange(0.2), dc.ApproxDP(0.01, 1e-9)] * 3
    for i, guarantee in enumerate(asked):
        ledger.reserve(guarantee, {"request": i})
    entries = ledger.entries()
    assert all(entry.spend >= 0 for entry in entries)
    assert sum(entry.spend for entry in entries) == ledger.spent() == entries[-1].spent_after < 1
    assert {tuple(map(tuple, entry.members["weights"]["renyi"])) for entry in entries if entry.members} == {
        tuple(map(tuple, entries[0].members["weights"]["renyi"]))  # type: ignore[index]
    }


def test_a_purchase_is_all_or_nothing_and_never_pays_twice(make: Callable[..., Ledger]) -> None:
    ledger = make(1.0, 1e-6)
    head = ledger.head()
    with pytest.raises(dc.BudgetExceeded):
        ledger.reserve_all([(dc.PureDP(0.6), {"request": i}) for i in range(3)])
    assert ledger.head() == head
    first = ledger.reserve_all([(dc.PureDP(0.3), {"request": i}) for i in (0, 1, 1)])
    assert first[1] == first[2]
    assert ledger.spent() == Decimal("0.6")
    again = ledger.reserve_all([(dc.PureDP(0.3), {"request": i}) for i in range(3)])
    assert again[:2] == first[:2]
    assert ledger.spent() == Decimal("0.9")  # only the third was new
    assert ledger.reserve_all([]) == ()
    with pytest.raises(dc.GuaranteeError, match="as the entries before it"):
        ledger.reserve_all([(dc.PureDP(0.01, Basis("add-remove")), {"request": 9})])


def test_what_an_auditor_would_call_altered_is(make: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers written by planted versions of this library are refused by the one that ships."""

    def written(**planted: Any) -> Ledger:
        ledger = make(3.0, 1e-6)
        with monkeypatch.context() as patched:
            for name, value in planted.items():
                module, attribute = name.split("__", 1)
                patched.setattr({"members": members, "portfolio": portfolio}[module], attribute, value)
            clear()
            for i, guarantee in enumerate([dc.PureDP(0.5), dc.GaussianDP(0.1), dc.PureDP(0.5)]):
                ledger.reserve(guarantee, {"request": i})
        clear()
        return Ledger.open(ledger.path)

    def clear() -> None:
        for cached in (portfolio.after, portfolio.opened, members.members_of):
            cached.cache_clear()

    assert written().verify() == ()
    cheap, paid = members.renyi_price, portfolio._paid
    revived = lambda used, price, limit: paid(used or Decimal(0), price, limit)  # noqa: E731
    for planted in (
        {"members__renyi_price": lambda ideal, order: cheap(ideal, order) and cheap(ideal, order) / 2},  # type: ignore[operator]
        {"portfolio___paid": revived},
        {
            "members__weights_for": lambda first, budget: members.Weights(
                Decimal("0.9"), ((Decimal(9), Decimal("0.9")),)
            )
        },
    ):
        with pytest.raises(dc.LedgerError, match=r"Ledger (event|entry)"):
            written(**planted).verify()


def test_named_filters_stay(make: Callable[..., Ledger]) -> None:
    for name in ("pure", "zcdp", "gdp", "approximate"):
        assert make(1.0, 1e-6, filter=name).filter is FILTERS[name]
    assert make(1.0, 0.0).filter is FILTERS["pure"]


SCHEMA = dc.Schema(
    {"y": dc.Binary(), "x": dc.Bounded(0, 1), "k": dc.Categorical(["a", "b", "c"]), "c": dc.Count(9)}, n=200
)


@pytest.mark.parametrize(
    ("model", "mechanism", "budget"),
    [
        (dc.LogisticRegression("y", ("x",)), dc.GibbsPosterior(epsilon=1.0, delta=1e-5), (1.0, 1e-5)),
        (dc.BetaBernoulli("y"), dc.NoisyStatistics(epsilon=1.0), (1.0, 1e-6)),
        (dc.BetaBernoulli("y"), dc.NoisyStatistics(epsilon=1.0, delta=1e-6), (1.0, 1e-6)),
        (dc.BetaBernoulli("y", prior=(20, 20)), dc.DiffusedSample(epsilon=1.0, delta=1e-5), (1.0, 1e-5)),
        (dc.DirichletCategorical("k", prior=30.0), dc.ConcentratedSample(epsilon=1.0, delta=1e-5), (1.0, 1e-5)),
        (dc.BetaBernoulli("y", prior=(40, 40)), dc.DirectSample(), (3.0, 1e-5)),
        (dc.GammaPoisson("c", prior=(400, 100)), dc.DirectSample(), (3.0, 1e-5)),
        (dc.BetaBernoulli("y"), dc.PosteriorSample(epsilon=0.25, truncation=0.1, draws=4), (1.0, 1e-6)),
    ],
    ids=str,
)
def test_shipped_requests_fit_a_budget_of_their_own_size(
    make: Callable[..., Ledger], model: Any, mechanism: Any, budget: tuple[float, float]
) -> None:
    guarantee = mechanism.guarantee(model.query(SCHEMA))
    ledger = make(*budget)
    assert 0 < ledger.reserve(guarantee, {}).spend <= 1
    assert ledger.verify() == ()
