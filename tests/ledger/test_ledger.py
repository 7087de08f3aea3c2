"""What the ledger admits, refuses and remembers."""

import decimal
import pickle
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, GuaranteeError, LedgerError
from discreet.guarantee import ZCDP, ApproxDP, Basis, BoundedRange, Budget, Composed, GaussianDP, PureDP, Repeated
from discreet.ledger import Ledger
from discreet.ledger.filters import FILTERS

TENTH = PureDP(0.1)


def test_ten_tenths_are_exactly_one(ledger: Ledger) -> None:
    for i in range(10):
        ledger.reserve(TENTH, {"label": i})
    assert ledger.spent() == Decimal(1)
    assert ledger.remaining() == Decimal(0)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureDP(1e-12), {"label": "one more"})
    assert ledger.spent() == Decimal(1)
    ledger.verify()


def test_float_sums_would_have_admitted_an_eleventh() -> None:
    """The planted twin of the test above: ten tenths in doubles leave room."""
    assert sum([0.1] * 10) + 1e-16 <= 1.0


@pytest.mark.parametrize("epsilon", [1e-13, 9.999e-13, 1e-300, 5e-324])
def test_requests_below_the_smallest_are_refused(ledger: Ledger, epsilon: float) -> None:
    with pytest.raises(GuaranteeError, match="at least 1e-12"):
        ledger.reserve(PureDP(epsilon), {})
    assert ledger.entries() == ()


def test_a_request_larger_than_any_budget_is_refused_in_words(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="below 1e100"):
        ledger.reserve(PureDP(1e300), {})
    with pytest.raises(GuaranteeError, match="below 1e100"):
        Ledger.create(tmp_path / "huge", Budget(epsilon=1e300))
    assert not (tmp_path / "huge").exists()


def test_overspending_names_asked_left_and_missing(ledger: Ledger) -> None:
    ledger.reserve(PureDP(0.7), {"label": "a"})
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(PureDP(0.5), {"label": "b"})
    assert str(refusal.value).endswith("asked epsilon = 0.5, left epsilon = 0.3, missing epsilon = 0.2; ask for less")
    assert ledger.spent() == Decimal("0.7")
    assert len(ledger.entries()) == 1


def test_a_refusal_in_rho_also_speaks_in_epsilon(path: Path) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1, delta=1e-6), "zcdp")
    with pytest.raises(
        BudgetExceeded, match=r"1-zCDP asked; asked rho = 1 \(epsilon = 7\.\d+ at delta = 1e-06\), left rho = 0\.02"
    ):
        ledger.reserve(ZCDP(1.0), {})


def test_the_same_recipe_spends_once(ledger: Ledger) -> None:
    first = ledger.reserve(TENTH, {"model": "m", "label": ""})
    again = ledger.reserve(TENTH, {"label": "", "model": "m"})
    assert again == first
    assert first.status == "reserved"
    assert first.release is None
    assert first.spend == first.spent_after == ledger.spent() == Decimal("0.1")
    other = ledger.reserve(TENTH, {"model": "m", "label": "again"})
    assert other.id != first.id
    assert other.spent_after == Decimal("0.2")


def test_a_known_recipe_is_free_even_when_nothing_is_left(ledger: Ledger) -> None:
    entry = ledger.reserve(PureDP(1.0), {"all": True})
    ledger.settle(entry, {"value": 3})
    again = ledger.reserve(PureDP(1.0), {"all": True})
    assert again.status == "settled"
    assert again.release == {"value": 3}


def test_settling_twice_returns_the_first(ledger: Ledger) -> None:
    entry = ledger.reserve(TENTH, {})
    assert ledger.settle(entry, {"value": [1, 2.5], "who": "é"}) == {"value": [1, 2.5], "who": "é"}
    assert ledger.settle(entry, {"value": "another draw"}) == {"value": [1, 2.5], "who": "é"}
    assert [stored.release for stored in ledger.entries()] == [{"value": [1, 2.5], "who": "é"}]
    ledger.verify()


def test_a_reservation_is_resumed_only_with_the_guarantee_that_was_paid(ledger: Ledger) -> None:
    entry = ledger.reserve(TENTH, {"label": ""})
    with pytest.raises(GuaranteeError, match="the one reserved for this recipe"):
        ledger.reserve(PureDP(0.9), {"label": ""})
    ledger.settle(entry, {"value": 1})
    assert ledger.reserve(PureDP(0.9), {"label": ""}).guarantee == TENTH  # the stored release, which has left already


def test_only_an_entry_of_this_ledger_can_be_settled(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other", Budget(epsilon=1)).reserve(TENTH, {"elsewhere": True})
    with pytest.raises(LedgerError, match="reserved in this ledger"):
        ledger.settle(other, {"value": 1})


def test_what_is_not_json_is_refused_and_nothing_is_written(ledger: Ledger) -> None:
    for recipe in ({"x": float("nan")}, {"x": object()}, ["x"]):
        with pytest.raises(LedgerError, match="plain JSON"):
            ledger.reserve(TENTH, recipe)  # type: ignore[arg-type]
    assert ledger.spent() == 0
    entry = ledger.reserve(TENTH, {})
    with pytest.raises(LedgerError, match="plain JSON"):
        ledger.settle(entry, {"x": float("inf")})
    with pytest.raises(LedgerError, match="must be a mapping"):
        ledger.settle(entry, "x")  # type: ignore[arg-type]
    assert ledger.reserve(TENTH, {}).status == "reserved"


def test_relations_and_units_do_not_mix(ledger: Ledger) -> None:
    ledger.reserve(TENTH, {"label": "a"})
    for basis in (Basis(relation="add-remove"), Basis(unit="person")):
        with pytest.raises(GuaranteeError, match="replace-one of a record"):
            ledger.reserve(PureDP(0.1, basis), {"label": "b"})
    assert ledger.spent() == Decimal("0.1")


@pytest.mark.parametrize(
    ("filter_name", "guarantee", "spend"),
    [
        ("pure", BoundedRange(0.5), "0.5"),
        ("pure", Composed((PureDP(0.25), Repeated(PureDP(0.1), 3))), "0.55"),
        ("zcdp", ZCDP(0.01), "0.01"),
        ("zcdp", BoundedRange(0.2), "0.005"),
        ("zcdp", GaussianDP(0.1), "0.005"),
        ("gdp", GaussianDP(0.1), "0.01"),
        ("gdp", Repeated(GaussianDP(0.1), 2), "0.02"),
    ],
)
def test_every_filter_prices_its_notions(path: Path, filter_name: str, guarantee: PureDP, spend: str) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1, delta=1e-6), filter_name)
    entry = ledger.reserve(guarantee, {})
    assert entry.spend == Decimal(spend)
    assert entry.guarantee == guarantee
    assert Ledger.open(path).entries() == (entry,)
    ledger.verify()


@pytest.mark.parametrize(
    ("filter_name", "guarantee"),
    [
        ("pure", ZCDP(0.1)),
        ("pure", GaussianDP(0.1)),
        ("zcdp", ApproxDP(0.1, 1e-9)),
        ("gdp", ZCDP(0.1)),
        ("gdp", PureDP(0.1)),
    ],
)
def test_a_notion_the_filter_cannot_bound_is_refused(path: Path, filter_name: str, guarantee: PureDP) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1, delta=1e-6), filter_name)
    with pytest.raises(GuaranteeError, match="must be able to bound"):
        ledger.reserve(guarantee, {})
    assert ledger.entries() == ()
    with pytest.raises(GuaranteeError, match="must be a Guarantee"):
        ledger.reserve(0.1, {})  # type: ignore[arg-type]


def test_a_ledger_remembers_its_budget_filter_and_limit(path: Path) -> None:
    budget = Budget(epsilon=2, delta=1e-6)
    made = Ledger.create(str(path), budget)
    read = Ledger.open(path)
    for ledger in (made, read, pickle.loads(pickle.dumps(made))):
        assert ledger.budget == budget
        assert ledger.filter is FILTERS["portfolio"]
        assert ledger.remaining() == ledger.limit == 1
    assert made.head() == read.head()


def test_a_filter_must_fit_the_budget(path: Path) -> None:
    for name in ("zcdp", "gdp", "unknown"):
        with pytest.raises(GuaranteeError):
            Ledger.create(path, Budget(epsilon=1), name)
    with pytest.raises(GuaranteeError, match="must be a Budget"):
        Ledger.create(path, 1.0)  # type: ignore[arg-type]
    assert not path.exists()


def test_sums_do_not_depend_on_the_decimal_context_of_the_caller(path: Path) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1000, delta=1e-6), "zcdp")
    with decimal.localcontext(decimal.Context(prec=2)):
        ledger.reserve(PureDP(0.123456789), {"label": "a"})
        ledger.reserve(ZCDP(12.3456789), {"label": "b"})
        spent, remaining = ledger.spent(), ledger.remaining()
        ledger.verify()
    reference = FILTERS["zcdp"].spend(Composed((PureDP(0.123456789), ZCDP(12.3456789))), ledger.budget)
    assert abs(spent - reference) <= Decimal("2e-18")
    assert spent + remaining == ledger.limit


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    refused = []

    def spend(thread: int) -> None:
        for i in range(5):
            try:
                ledger.reserve(TENTH, {"thread": thread, "i": i})
            except BudgetExceeded:
                refused.append((thread, i))

    threads = [threading.Thread(target=spend, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 10
    assert ledger.spent() == Decimal(1)
    ledger.verify()


def test_entries_are_listed_page_by_page_and_found_by_their_request(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.ledger.PAGE", 3)
    made = [ledger.reserve(PureDP(0.01), {"i": i}) for i in range(8)]
    for entry in made[::2]:
        ledger.settle(entry, {"value": entry.id})
    assert ledger.count == 8
    listed = list(ledger.listed())
    assert [entry.id for entry in listed] == [entry.id for entry in made]
    assert [entry.status for entry in listed] == ["settled", "reserved"] * 4
    assert [entry.release for entry in ledger.entries()] == [
        {"value": e.id} if not i % 2 else None for i, e in enumerate(made)
    ]
    assert [entry.id for entry in ledger.listed(3)] == [entry.id for entry in made[-3:]]
    assert list(ledger.listed(0)) == []
    found = ledger.find({"i": 4})
    assert found == ledger.entries()[4]
    assert ledger.find({"i": 9}) is None
