"""The straight line: paid before read, stored once, nothing but the allow-list leaves."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.queries.statistics import Statistics
from discreet.release import Release

FRAME = pd.DataFrame({"smoker": [0, 1, 1, 0, 1] * 20, "ward": ["A", "B", "C", "A", "A"] * 20})
SCHEMA = dc.Schema({"smoker": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
MODEL, MECHANISM = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5)


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(epsilon=2.0))


@pytest.fixture
def data() -> dc.Dataset:
    return dc.open(FRAME, SCHEMA, id="patients")


class Watched:
    """A source that records what the ledger had spent when it was read, and may fail."""

    def __init__(self, inner: Any, ledger: dc.Ledger, *, fails: bool = False) -> None:
        self.inner, self.ledger, self.fails = inner, ledger, fails
        self.spent_when_read: list[str] = []

    def count(self) -> int:
        return int(self.inner.count())

    def statistics(self, query: Statistics) -> Any:
        self.spent_when_read.append(str(self.ledger.spent()))
        if self.fails:
            raise dc.ReleaseError("the source could not be read: no statistic was computed")
        return self.inner.statistics(query)


def watched(data: dc.Dataset, ledger: dc.Ledger, *, fails: bool = False) -> tuple[dc.Dataset, Watched]:
    source = Watched(data.source, ledger, fails=fails)
    return dc.Dataset(data.id, data.schema, source), source


def test_the_budget_is_spent_before_a_row_is_read_and_rows_are_read_once(data: dc.Dataset, ledger: dc.Ledger) -> None:
    dataset, source = watched(data, ledger)
    dc.release(MODEL, dataset, MECHANISM, ledger)
    assert source.spent_when_read == ["0.5"]


def test_the_same_request_returns_the_stored_release_without_reading(data: dc.Dataset, ledger: dc.Ledger) -> None:
    first = dc.release(MODEL, data, MECHANISM, ledger)
    dataset, source = watched(data, ledger)
    again = dc.release(MODEL, dataset, MECHANISM, ledger)
    assert again.to_json() == first.to_json()
    assert source.spent_when_read == []
    assert str(ledger.spent()) == "0.5"


def test_another_label_is_another_paid_release(data: dc.Dataset, ledger: dc.Ledger) -> None:
    first = dc.release(MODEL, data, MECHANISM, ledger)
    second = dc.release(MODEL, data, dc.NoisyStatistics(epsilon=0.5, label="again"), ledger)
    assert first.entry != second.entry
    assert str(ledger.spent()) == "1.0" or ledger.spent() == 1


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [
        (dc.BetaBernoulli("smoker", prior=(1, 1)), dc.NoisyStatistics(epsilon=0.5)),
        (dc.BetaBernoulli("smoker", prior=[1.0, 1.0]), dc.NoisyStatistics(epsilon=0.5)),  # type: ignore[arg-type]
    ],
)
def test_the_same_request_in_other_words_is_the_same(data: dc.Dataset, ledger: dc.Ledger, model, mechanism) -> None:
    first = dc.release(MODEL, data, MECHANISM, ledger)
    assert dc.release(model, data, mechanism, ledger).to_json() == first.to_json()


def test_a_failed_read_stays_charged_and_the_same_request_resumes_it(data: dc.Dataset, ledger: dc.Ledger) -> None:
    broken, _ = watched(data, ledger, fails=True)
    with pytest.raises(dc.ReleaseError, match="could not be computed"):
        dc.release(MODEL, broken, MECHANISM, ledger)
    assert str(ledger.spent()) == "0.5"
    release = dc.release(MODEL, data, MECHANISM, ledger)
    assert str(ledger.spent()) == "0.5"
    assert dc.release(MODEL, data, MECHANISM, ledger).to_json() == release.to_json()


def test_overspending_is_refused_with_asked_left_and_missing(data: dc.Dataset, ledger: dc.Ledger) -> None:
    dc.release(MODEL, data, dc.NoisyStatistics(epsilon=1.8), ledger)
    with pytest.raises(dc.BudgetExceeded, match=r"asked epsilon = 0.5, left epsilon = 0.2, missing epsilon = 0.3"):
        dc.release(MODEL, data, MECHANISM, ledger)
    assert len(ledger.entries()) == 1


def test_only_the_allow_list_leaves(data: dc.Dataset, ledger: dc.Ledger) -> None:
    release = dc.release(MODEL, data, MECHANISM, ledger)
    body = release.to_json()
    assert set(body) == {"format", "version", "entry", "recipe", "accounting", "guarantee", "noise", "value"}
    assert set(body["recipe"]) == {"dataset", "schema", "model", "mechanism"}
    assert set(body["value"]) == {"ones"}
    tree = release.posterior().to_datatree()
    assert set(tree.children) == {"posterior", "posterior_predictive", "prior"}


def test_releases_survive_a_file(data: dc.Dataset, ledger: dc.Ledger, tmp_path: Path) -> None:
    for mechanism in (MECHANISM, dc.PosteriorSample(epsilon=0.5, truncation=0.1, draws=2)):
        release = dc.release(MODEL, data, mechanism, ledger)
        release.save(tmp_path / "r.json")
        loaded = dc.load(tmp_path / "r.json")
        assert loaded.to_json() == release.to_json()
        assert loaded.guarantee == release.guarantee
        assert (loaded, {loaded}) == (release, {release})
        assert loaded != replace(release, value={name: numbers + 1 for name, numbers in release.value.items()})
        assert np.allclose(next(iter(loaded.value.values())), next(iter(release.value.values())))


def test_another_prior_rereads_a_release_for_free(data: dc.Dataset, ledger: dc.Ledger) -> None:
    release = dc.release(MODEL, data, MECHANISM, ledger)
    assert release.posterior(prior=(50, 1)).mean() > release.posterior().mean()
    with pytest.raises(dc.QueryError, match='must be "noise-aware", "plug-in" or "joint"'):
        release.posterior("naive")  # type: ignore[arg-type]
    assert str(ledger.spent()) == "0.5"


def test_released_draws_refuse_what_they_cannot_answer(data: dc.Dataset, ledger: dc.Ledger) -> None:
    release = dc.release(MODEL, data, dc.PosteriorSample(epsilon=0.5, truncation=0.1), ledger)
    posterior = release.posterior()
    assert "tempered" in str(posterior) or "temperature" in str(posterior)
    low, high = posterior.interval(0.9)  # of the probability given the draw, not of the draws
    assert 0 < low < high < 1
    with pytest.raises(dc.QueryError, match="must keep their own prior"):
        release.posterior(prior=(2, 2))


def test_simulated_releases_cannot_pass_for_private_ones(data: dc.Dataset, tmp_path: Path) -> None:
    (release,) = dc.simulate(MODEL, data, MECHANISM, runs=1, seed=0)
    assert not release.private
    with pytest.raises(dc.ReleaseError, match="must be called on a private release"):
        release.save(tmp_path / "x.json")
    again = dc.simulate(MODEL, data, MECHANISM, runs=1, seed=0)[0]
    assert again.value["ones"] == release.value["ones"]
    fresh = [dc.simulate(MODEL, data, dc.NoisyStatistics(epsilon=1e-6), runs=1)[0].value["ones"] for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_a_forged_guarantee_is_refused(data: dc.Dataset, ledger: dc.Ledger) -> None:
    body = dc.release(MODEL, data, MECHANISM, ledger).to_json()
    body["guarantee"]["epsilon"] = 0.01
    with pytest.raises(dc.ReleaseError, match="must be what its recipe gives"):
        Release.from_json(body)


def test_mutated_files_give_typed_errors(data: dc.Dataset, ledger: dc.Ledger, tmp_path: Path) -> None:
    """2,000 mutations of a release file: each loads or raises a DiscreetError."""
    text = json.dumps(dc.release(MODEL, data, MECHANISM, ledger).to_json())
    rng, path, loaded = random.Random(2), tmp_path / "m.json", 0
    for _ in range(2000):
        letters = list(text)
        for _ in range(rng.randint(1, 4)):
            position = rng.randrange(len(letters))
            letters[position] = rng.choice(
                ['"', "{", "}", "[", "0", "9", "-", "null", "e", "x", ",", "", "\x00", "1e999"]
            )
        path.write_text("".join(letters))
        try:
            dc.load(path)
            loaded += 1
        except dc.DiscreetError:
            pass
    assert loaded < 1500


def test_plan_needs_no_data_and_covers(data: dc.Dataset) -> None:
    made = dc.plan(MODEL, MECHANISM, schema=data.schema, runs=300)
    assert made.guarantee == dc.PureDP(0.5)
    assert made.noise["ones"] == pytest.approx(dc.DiscreteLaplace(2.0).variance ** 0.5)
    assert made.coverage == pytest.approx(0.9, abs=0.07)
    assert "90% intervals" in str(made)
    drawn = dc.plan(MODEL, dc.PosteriorSample(epsilon=1.0, truncation=0.1), schema=data.schema, runs=20)
    assert drawn.width is not None
    assert drawn.width["probability"] > made.width["probability"]  # type: ignore[index]
    wards = dc.plan(dc.DirichletCategorical("ward"), dc.DirectSample(), schema=data.schema, runs=5)
    assert "no interval" in str(wards)


@pytest.mark.parametrize("arguments", [{"runs": 0}, {"runs": 1.5}, {"runs": 1, "n": 5}, {"runs": 1}])
def test_simulate_refuses_what_makes_no_sense(data: dc.Dataset, arguments: dict[str, Any]) -> None:
    dataset = None if arguments == {"runs": 1} else data
    with pytest.raises(dc.QueryError, match="simulate"):
        dc.simulate(MODEL, dataset, MECHANISM, **arguments)


def test_simulate_needs_no_schema_where_the_model_implies_it() -> None:
    runs = dc.simulate(dc.BetaBernoulli("x"), None, MECHANISM, runs=3, seed=1, n=20)
    assert [set(run.truth or {}) for run in runs] == [{"probability"}] * 3
    (table,) = dc.simulate(dc.DirichletCategorical("x", prior=(1.0, 2.0, 3.0)), None, MECHANISM, runs=1, seed=1, n=20)
    assert table.value["counts"].shape == (3,)
    for model in (dc.DirichletCategorical("x"), dc.NaiveBayes("x", ("y",))):
        with pytest.raises(dc.QueryError, match="must get schema="):
            dc.simulate(model, None, MECHANISM, runs=1, n=20)
