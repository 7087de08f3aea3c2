"""Robust releases from end to end: price, file, requests of before, interruptions between the stages, audits."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.auditing import pair_of, threshold_audit
from discreet.models import MODELS as REGISTERED
from discreet.noise.sources import SeededNoise
from discreet.pipeline import query_of
from discreet.recipe import describe
from discreet.release import recipe_of
from discreet.sources.engines.duckdb import DuckDB
from pairs import MECHANISMS
from second_stages import MODELS, schema_of, table

ROWS = 60
ROBUST = ("Normal", "MultivariateNormal", "LinearRegression")


def dataset(unit: str = "record") -> dc.Dataset:
    frame = table(ROWS, np.random.default_rng(1))
    return dc.open(frame, schema_of("replace-one", unit, ROWS if unit == "record" else len(set(frame["id"]))), id="t")


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("model", ["Normal", "LinearRegression with categories"])
def test_a_release_costs_its_budget_and_survives_its_file(model: str, by: str | None, tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l", dc.Budget(2.0))
    made = dc.release(MODELS[model](by), dataset("person"), dc.NoisyStatistics(epsilon=0.75), ledger)
    assert float(ledger.spent()) == 0.75
    assert made.value["influence"].shape == (*((3,) if by else ()), len(made.query.second.reported))  # type: ignore[union-attr]
    assert made.noise["influence"]["of"] == list(made.query.second.reported)  # type: ignore[union-attr]
    made.save(tmp_path / "r.json")
    assert dc.load(tmp_path / "r.json") == made
    assert made.recipe["model"]["robust"] is True
    again = dc.release(MODELS[model](by), dataset("person"), dc.NoisyStatistics(epsilon=0.75), ledger)
    assert again == made
    body = json.loads((tmp_path / "r.json").read_text())
    body["value"]["influence"] = body["value"]["influence"][:-1]
    (tmp_path / "r.json").write_text(json.dumps(body))
    with pytest.raises(dc.ReleaseError, match="shapes"):
        dc.load(tmp_path / "r.json")


@pytest.mark.parametrize("name", ROBUST)
def test_requests_of_before_keep_their_keys(name: str) -> None:
    """Nothing is written of an argument that was not given, and a robust request is another request."""
    plain = {"Normal": ("x",), "MultivariateNormal": (("x", "z"),), "LinearRegression": ("y", ("x",))}[name]
    model, robust = REGISTERED[name](*plain), REGISTERED[name](*plain, robust=True)  # type: ignore[call-arg]
    schema = dataset().schema
    old, new = (recipe_of(one, "t", schema, dc.NoisyStatistics(epsilon=1.0)) for one in (model, robust))
    assert "robust" not in describe(model)
    assert {**old["model"], "robust": True} == new["model"]
    assert old["schema"] == new["schema"]
    assert model.query(schema).second is None  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("robust", [False, 1, 0, "yes"])
def test_robust_is_true_or_not_given(name: str, robust: Any) -> None:
    arguments: Any = {"Normal": ("x",), "MultivariateNormal": (("x", "z"),), "LinearRegression": ("y", ("x",))}[name]
    with pytest.raises(dc.QueryError, match=f"{name}.robust must be True or None"):
        REGISTERED[name](*arguments, robust=robust)  # type: ignore[call-arg]


PRIORS: dict[str, Any] = {
    "Normal": (0.0, 1.0, 2.0, 1.0),
    "MultivariateNormal": ((0.0, 0.0), 1.0, 5.0, ((1.0, 0.0), (0.0, 1.0))),
    "LinearRegression": ((0.0, 0.0), ((1.0, 0.0), (0.0, 1.0)), 2.0, 1.0),
}


@pytest.mark.parametrize("name", ROBUST)
def test_what_a_prior_of_ones_own_does_not_use_is_not_paid(name: str) -> None:
    arguments: Any = {"Normal": ("x",), "MultivariateNormal": (("x", "z"),), "LinearRegression": ("y", ("x",))}[name]
    with pytest.raises(dc.QueryError, match=f"{name}.robust must be None where {name}.prior is given, got True"):
        REGISTERED[name](*arguments, prior=PRIORS[name], robust=True)  # type: ignore[call-arg]
    model: Any = REGISTERED[name](*arguments, robust=True)  # type: ignore[call-arg]
    read = model.with_prior(PRIORS[name])
    assert (read.robust, read.prior) == (None, REGISTERED[name](*arguments, prior=PRIORS[name]).prior)  # type: ignore[call-arg]


def read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, seen, right = dc.Ledger.create(tmp_path / "l", dc.Budget(2.0)), [], dc.Normal.posterior
    made = dc.release(dc.Normal("x", robust=True), dataset(), dc.NoisyStatistics(epsilon=1.0), ledger)
    monkeypatch.setattr(dc.Normal, "posterior", lambda *given: [seen.append(given[3]), right(*given)][1])
    read = made.posterior(prior=(0.0, 1.0, 2.0, 1.0))
    assert "as a conjugate prior does" in str(read)
    assert seen == [made.mechanism.laws(made.query)]


def test_a_robust_release_is_read_with_another_prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise is that of two stages; the widths are those of the prior, and the title says so."""
    read_again(tmp_path, monkeypatch)


def test_noise_of_another_request_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = dc.NoisyStatistics.read

    def read(self: Any, model: Any, query: Any, value: Any, reading: Any) -> Any:
        plain = model.with_prior(reading.prior)
        return right(self, plain, plain.query(query.schema), value, replace(reading, prior=None))

    monkeypatch.setattr(dc.NoisyStatistics, "read", read)
    with pytest.raises(AssertionError):
        read_again(tmp_path, monkeypatch)


def test_a_column_called_influence_is_refused_before_anything_is_paid() -> None:
    schema = dc.Schema({"influence": dc.Bounded(0, 1)}, n=5)
    dc.Normal("influence").query(schema)
    with pytest.raises(dc.QueryError, match="other names"):
        dc.Normal("influence", robust=True).query(schema)


def test_only_noisy_statistics_have_a_second_stage() -> None:
    schema = dataset().schema
    for name, mechanisms in MECHANISMS.items():
        for mechanism in mechanisms if name != "NoisyStatistics" else ():
            with pytest.raises(dc.DiscreetError):
                mechanism.guarantee(query_of(dc.Normal("x", robust=True), mechanism, schema))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_stopped_between_the_stages_nothing_leaves_and_all_stays_paid(
    kind: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger, data = dc.Ledger.create(tmp_path / "l", dc.Budget(1.0)), dataset()
    request = (dc.Normal("x", robust=True), data, dc.NoisyStatistics(epsilon=1.0))
    with monkeypatch.context() as patched:
        patched.setattr(DuckDB, "influences", lambda *_: (_ for _ in ()).throw(kind("private 4217")))
        with pytest.raises((KeyboardInterrupt, dc.ReleaseError)) as stopped:
            dc.release(*request, ledger)
    assert "4217" not in str(stopped.value)
    assert stopped.value.__context__ is None
    assert float(ledger.spent()) == 1.0
    assert [entry.release for entry in ledger.entries()] == [None]
    assert capfd.readouterr() == ("", "")
    resumed = dc.release(*request, ledger)
    assert float(ledger.spent()) == 1.0
    assert resumed.value["influence"].shape == (1,)


@pytest.mark.audit
@pytest.mark.parametrize("budget", [{"epsilon": 3.0}, {"rho": 1.0}], ids=str)
@pytest.mark.parametrize(("model", "unit"), [("Normal", "person"), ("LinearRegression on a category", "record")])
def test_audited_loss_of_both_stages_stays_below_the_claim(model: str, unit: str, budget: dict[str, float]) -> None:
    """With real noise, on the pair that both stages together hide least."""
    mechanism, schema = dc.NoisyStatistics(**budget), schema_of("replace-one", unit, 20)  # type: ignore[arg-type]
    claim = mechanism.guarantee(MODELS[model](None).query(schema)).epsilon(1e-3)
    assert dc.audit(MODELS[model](None), mechanism, schema=schema, runs=2_000, delta=1e-3).epsilon <= claim


# --- audits


def far_apart(epsilon: float) -> tuple[Any, Any]:
    """Two tables of 400 records, most of them in the middle, and one that lies there too or on a bound."""
    schema = dc.Schema({"x": dc.Bounded(0, 100)}, n=401)
    query = dc.Normal("x", robust=True).query(schema)
    column: Any = schema.column("x")
    others = np.array([[column.steps({0: 45.0, 10: 55.0}.get(i % 20, 50.0))] for i in range(400)])
    old, new = (np.array([[column.steps(x)]]) for x in (50.0, 100.0))
    return dc.NoisyStatistics(epsilon=epsilon), pair_of(query, others, old, new)


def test_audits_see_both_stages_and_stay_below_the_claim() -> None:
    """False alarms below 1e-3; the likelihood ratio of either stage alone is part of the score."""
    mechanism, schema = dc.NoisyStatistics(epsilon=8.0), dc.Schema({"x": dc.Bounded(0, 9)}, n=20)
    found = dc.audit(dc.Normal("x", robust=True), mechanism, schema=schema, runs=300, seed=5)
    assert 1.0 < found.epsilon <= 8.0
    mechanism, pair = far_apart(3.0)
    value = mechanism.apply(SeededNoise(1), pair.query, pair.dataset)
    other = {**value, "influence": value["influence"] + 10**9}
    whole, moved = mechanism.score(pair)([value, other])
    assert whole != moved


def test_functions_of_exact_sums_are_caught_by_an_attack_on_the_second_stage() -> None:
    """The twin: what is asked depends on the record, so that all 400 others move; 5% of epsilon does not hide it."""
    mechanism, pair = far_apart(40.0)
    law, noise = mechanism.laws(pair.query)["influence"], SeededNoise(6)

    def values(first: Any, runs: int = 3000) -> list[np.ndarray[Any, Any]]:
        found = []
        for one, exact in ((pair.dataset, pair.exact), (pair.neighbour, pair.other)):
            asked = pair.query.second.query(pair.query, first or exact, mechanism.laws(pair.query))
            found.append(int(one.source.influences(asked)[0]) + np.array(noise.integers(law, runs), dtype=float))
        return found

    honest = threshold_audit(*values(mechanism.apply(SeededNoise(1), pair.query, pair.dataset)))
    assert honest.epsilon <= 2.0  # 5% of 40
    assert threshold_audit(*values(None)).epsilon > 2.0
