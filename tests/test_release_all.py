"""Several releases bought at once: paid together before any is seen, settled one by one, never paid twice."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet import pipeline
from discreet.ledger import Ledger

SCHEMA = dc.Schema({"smoker": dc.Binary(), "ward": dc.Categorical(["A", "B"]), "visits": dc.Count(20)})


@pytest.fixture
def data() -> Any:
    table = pd.DataFrame({"smoker": [0, 1] * 100, "ward": ["A", "B"] * 100, "visits": [1, 2, 3, 4] * 50})
    return dc.open(table, SCHEMA, id="patients")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "study.ledger", dc.Budget(3.0, 1e-6))


def study(data: Any, count: int = 3, **how: float) -> list[tuple[Any, Any, Any]]:
    models = [dc.BetaBernoulli("smoker"), dc.DirichletCategorical("ward"), dc.GammaPoisson("visits")]
    how = how or {"epsilon": 0.5}
    return [(models[i % 3], data, dc.NoisyStatistics(label=str(i), **how)) for i in range(count)]


def test_all_are_released_in_order(data: Any, ledger: Ledger) -> None:
    made = dc.release_all(study(data), ledger)
    assert [type(release.model).__name__ for release in made] == [
        "BetaBernoulli",
        "DirichletCategorical",
        "GammaPoisson",
    ]
    assert ledger.spent() == Decimal("0.5")
    assert [entry.status for entry in ledger.entries()] == ["settled"] * 3
    again = dc.release_all(study(data), ledger)
    assert [a.to_json() for a in again] == [a.to_json() for a in made]
    assert dc.release(*study(data)[0], ledger).to_json() == made[0].to_json()
    assert ledger.spent() == Decimal("0.5")
    assert dc.release_all([], ledger) == []


def test_a_study_that_does_not_fit_reads_and_pays_nothing(data: Any, ledger: Ledger, monkeypatch: Any) -> None:
    monkeypatch.setattr(pipeline, "_apply", lambda *_: pytest.fail("rows were read"))
    head = ledger.head()
    with pytest.raises(dc.BudgetExceeded, match=r"a purchase of 7 releases, epsilon = 3\.5"):
        dc.release_all(study(data, 7), ledger)
    with pytest.raises(dc.QueryError, match="dataset must be what"):
        dc.release_all([*study(data, 2), (dc.BetaBernoulli("smoker"), None, dc.NoisyStatistics(epsilon=1))], ledger)
    assert ledger.head() == head


def test_a_study_that_stopped_goes_on_and_pays_nothing_twice(data: Any, ledger: Ledger, monkeypatch: Any) -> None:
    whole, calls = pipeline._apply, []

    def stopping(*arguments: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(pipeline, "_apply", stopping)
    with pytest.raises(KeyboardInterrupt, match="stays charged"):
        dc.release_all(study(data), ledger)
    assert [entry.status for entry in ledger.entries()] == ["settled", "reserved", "reserved"]
    spent = ledger.spent()
    made = dc.release_all(study(data), Ledger.open(ledger.path))
    assert len(calls) == 4  # the first was not computed again
    assert (len(made), ledger.spent()) == (3, spent)


def test_what_is_added_later_is_a_request_of_its_own(data: Any, ledger: Ledger) -> None:
    """Exact composition is for what was fixed before anything was seen: here 37 releases of a study of 38."""
    costly = study(data, 38, rho=0.005)
    dc.release_all(costly[:37], ledger)
    assert ledger.entries()[-1].charge.closes
    with pytest.raises(dc.BudgetExceeded, match="it is closed"):
        dc.release_all(costly, ledger)
    assert len(dc.release_all(costly[:37], ledger)) == 37  # which are stored


def test_a_study_with_some_paid_prices_the_rest_as_one_request(data: Any, ledger: Ledger, tmp_path: Path) -> None:
    asked = study(data, 37, rho=0.005)
    dc.release(*asked[0], ledger)
    with pytest.raises(dc.BudgetExceeded, match="a purchase of 36 releases"):  # what has left cannot be priced anew
        dc.release_all(asked, ledger)
    made = dc.release_all(asked[:36], ledger)
    assert len(made) == 36
    assert not ledger.entries()[-1].charge.closes


def test_one_after_another_is_the_planted_twin(data: Any, ledger: Ledger) -> None:
    """Bought one after another, the study of 37 stops at 36: the split of delta is what adaptivity costs."""
    *fitting, last = study(data, 37, rho=0.005)
    for request in fitting:
        dc.release(*request, ledger)
    with pytest.raises(dc.BudgetExceeded, match="zCDP asked; 0"):
        dc.release(*last, ledger)
