"""Held-out scores: a row is in one bin of its own, whatever the other rows are; what is said of bins is what they hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import discreet as dc
from discreet.models.scores.held_out_scores import HeldOutScores
from discreet.planning.held_out import scored_request
from discreet.posterior.records.held_out_answers import of_score
from discreet.sources import CodedRows, scored_rows

COLUMNS = {
    "age": dc.Bounded(0, 110, cut=[30, 50, 70]),
    "ward": dc.Categorical(["A", "B", "C"], missing="exclude"),
    "smoker": dc.Binary(zero="no", one="yes"),
}
SCHEMA = dc.Schema(COLUMNS)
FEATURES = ("age", "ward")
ASKED = {
    "scores": (dc.LogisticRegression("smoker", FEATURES), dc.NoisyScore(epsilon=5.0, delta=1e-6, steps=10)),
    "draws": (dc.LogisticRegression("smoker", FEATURES, radius=1.0), dc.GibbsPosterior(epsilon=5.0, delta=1e-6, steps=50)),
    "bayes": (dc.NaiveBayes("smoker", FEATURES), dc.NoisyStatistics(epsilon=5.0)),
}  # fmt: skip


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, ward = rng.uniform(20, 80, n), rng.choice(["A", "B", "C", "?"], n, p=[0.4, 0.3, 0.28, 0.02])
    smoker = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 55) / 8 - (ward == "C"))), "yes", "no")
    return pd.DataFrame({"age": age, "ward": ward, "smoker": smoker})


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(epsilon=1000.0, delta=1e-4))


def learned(name: str, ledger: dc.Ledger) -> Any:
    model, mechanism = ASKED[name]
    return dc.release(model, dc.open(people(800, 1), SCHEMA, id="spring"), mechanism, ledger).posterior()


def counts(posterior: Any, table: Any) -> np.ndarray:
    """The exact table behind a score."""
    model, seen = scored_request(posterior, dc.open(table, SCHEMA, id="autumn"))
    return seen.source.statistics(model.query(seen.schema))["counts"]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_the_bins_are_those_of_the_predictions(name: str, ledger: dc.Ledger) -> None:
    """Row by row: the bin lies where `predict_proba` does, but for the draws that both average over."""
    posterior, table = learned(name, ledger), people(300, 2)
    table = table[table.ward != "?"].reset_index(drop=True)
    expected = posterior.predict_proba(table[list(FEATURES)])[:, 1]
    cuts = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
    whole = np.zeros((2, 6), dtype=int)
    for place in range(60):
        one = counts(posterior, table.iloc[[place]])
        label, found = np.argwhere(one)[0]
        assert one.sum() == 1
        assert label == (table.smoker[place] == "yes")
        assert cuts[found] - 0.03 <= expected[place] <= cuts[found + 1] + 0.03
        whole += one
    assert np.array_equal(counts(posterior, table.iloc[:60]), whole)  # rows among others, and rows alone
    assert np.array_equal(counts(posterior, table.iloc[59::-1]), whole)


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_every_source_counts_alike(ledger: dc.Ledger, tmp_path: Path) -> None:
    posterior, table = learned("scores", ledger), people(500, 3)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    expected = counts(posterior, table)
    assert expected.sum() == (table.ward != "?").sum()
    for path in ("a.csv", "a.parquet"):
        assert np.array_equal(counts(posterior, str(tmp_path / path)), expected)


def moves(posterior: Any) -> int:
    """The farthest that replacing one row of a small table moves the counts, in L1."""
    table, others = people(12, 4), people(12, 5)
    exact, farthest = counts(posterior, table), 0
    for place in range(len(table)):
        for other in range(len(others)):
            neighbour = table.copy()
            neighbour.iloc[place] = others.iloc[other]
            farthest = max(farthest, int(np.abs(counts_of(posterior, neighbour) - exact).sum()))
    return farthest


def counts_of(posterior: Any, table: pd.DataFrame) -> np.ndarray:
    """The same without a file or an engine: rows as they are coded."""
    model, seen = scored_request(posterior, dc.Dataset("autumn", dc.Schema(COLUMNS, n=len(table)), coded(table)))
    return seen.source.statistics(model.query(seen.schema))["counts"]


def coded(table: pd.DataFrame) -> CodedRows:
    axis = dc.Bounded(0, 110)
    return CodedRows(
        {
            "age": np.array([axis.steps(round(age / axis.step) * axis.step) for age in table.age]),
            "ward": table.ward.map({"A": 0, "B": 1, "C": 2, "?": -1}).to_numpy(),
            "smoker": (table.smoker == "yes").to_numpy().astype(int),
        }
    )


def rule_of(posterior: Any, times: float) -> scored_rows.ScoredMargins:
    """The rule of a posterior whose weights were so many times as large."""
    _, seen = scored_request(posterior, dc.Dataset("autumn", dc.Schema(COLUMNS, n=12), coded(people(12, 4))))
    return scored_rows.ScoredMargins(seen.source.rule.query, seen.source.rule.weights * times)


def test_last_digits_make_no_other_request_and_no_weight_overflows(ledger: dc.Ledger) -> None:
    """Linear algebra leaves other last digits on another machine; infinite margins would fail on some rows only."""
    posterior = learned("scores", ledger)
    assert rule_of(posterior, 1.0 + 1e-12).digest == rule_of(posterior, 1.0).digest
    assert rule_of(posterior, 1.0 + 1e-6).digest != rule_of(posterior, 1.0).digest
    with pytest.raises(dc.QueryError, match="must be finite"):
        rule_of(posterior, 1e300)
    largest = rule_of(posterior, 1e37 / np.abs(rule_of(posterior, 1.0).weights).max())
    model, seen = scored_request(posterior, dc.Dataset("autumn", dc.Schema(COLUMNS, n=12), coded(people(12, 4))))
    with np.errstate(all="raise"):
        found = scored_rows.ScoredRows(seen.source.source, largest).statistics(model.query(seen.schema))
    assert found["counts"].sum() == (people(12, 4).ward != "?").sum()
    too_far = rule_of(posterior, 1.0)  # the twin: what weights of no such bound do on some rows
    object.__setattr__(too_far, "weights", np.where(np.arange(too_far.weights.shape[1]) % 2, 1.0, -1.0) * [[1.7e308]])
    too_far.weights[..., 0] = -1.7e308
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        scored_rows.ScoredRows(seen.source.source, too_far).statistics(model.query(seen.schema))


def by_rank(rows: Any, rule: Any, chunk: int) -> np.ndarray:
    """The planted bug: bins by the rank among the rows of the table, as quantile bins are."""
    used = rows.weights[chunk] > 0
    summed = np.where(used, rows.numbers[chunk].sum(axis=0), np.inf)
    return np.minimum(summed.argsort().argsort() * 6 // max(int(used.sum()), 1), 5).astype(np.int64)


def test_one_row_moves_the_table_by_two_and_ranks_by_more(ledger: dc.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = learned("scores", ledger)
    model, seen = scored_request(posterior, dc.Dataset("autumn", dc.Schema(COLUMNS, n=12), coded(people(12, 4))))
    query = model.query(seen.schema)
    assert moves(posterior) == 2 == query.l1 == query.squared_l2
    monkeypatch.setattr(scored_rows, "_bins", by_rank)
    assert moves(posterior) > 2


@pytest.mark.parametrize(
    ("facts", "l1", "squared"),
    [
        ({"n": 50}, 2, 2),
        ({"n": 50, "unit": dc.Person("who", max_records=3)}, 6, 18),
        ({"n_max": 50, "relation": "add-remove"}, 1, 1),
        ({"n_max": 50, "relation": "add-remove", "unit": dc.Person("who", max_records=3)}, 3, 9),
    ],
)
def test_sensitivities_are_those_of_one_table(facts: dict[str, Any], l1: int, squared: int) -> None:
    schema = dc.Schema({"smoker": dc.Binary(), "score": dc.Categorical(["low", "middle", "high"])}, **facts)
    query = HeldOutScores("smoker").query(schema)
    assert (query.l1, query.squared_l2) == (l1, squared)


def test_measures_are_those_of_the_binned_score() -> None:
    """Against scikit-learn, on rows that a table of counts stands for."""
    table = np.random.default_rng(6).integers(1, 30, size=(2, 5))
    stands_for = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    labels, scores = np.repeat([0, 1], table.sum(axis=1)), np.concatenate([np.repeat(stands_for, row) for row in table])
    found = of_score(table / table.sum(), stands_for)
    assert found["auc"] == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    assert found["log_loss"] == pytest.approx(log_loss(labels, scores), rel=1e-12)
    assert found["calibration"] == pytest.approx(table[1] / table.sum(axis=0))
    finer = scores + np.random.default_rng(7).uniform(-0.05, 0.05, scores.size)  # bins keep their order
    assert abs(roc_auc_score(labels, finer) - found["auc"]) <= found["ties"] / 2


def test_it_is_one_paid_release_of_a_named_posterior(ledger: dc.Ledger) -> None:
    posterior, held_out = learned("scores", ledger), dc.open(people(3000, 8), SCHEMA, id="autumn")
    spent = ledger.spent()
    found = dc.score(posterior, held_out, dc.NoisyStatistics(epsilon=2.0), ledger)
    paid = ledger.spent()
    assert paid > spent
    assert dc.score(posterior, held_out, dc.NoisyStatistics(epsilon=2.0), ledger) == found
    assert ledger.spent() == paid
    assert posterior.provenance.entry in found.recipe["model"]["scorer"]
    assert dc.score(posterior, held_out, dc.NoisyStatistics(epsilon=2.0), ledger, cuts=[0.5]) != found
    assert dc.score(posterior, held_out, dc.NoisyStatistics(epsilon=2.0, label="2"), ledger) != found
    assert len(ledger.entries()) == 4
    table = people(3000, 8)
    known = table[table.ward != "?"]
    exact = roc_auc_score(known.smoker == "yes", posterior.predict_proba(known[list(FEATURES)])[:, 1])
    answers = found.posterior()
    lower, upper = answers.interval(0.99)["auc"]
    assert lower < exact < upper
    assert upper - lower < 0.1
    assert dc.Release.from_json(found.to_json()).posterior().mean()["auc"] == answers.mean()["auc"]
    assert set(answers.to_datatree(100)["posterior"].data_vars) == {"auc", "ties", "log_loss", "calibration", "share"}


REFUSED = {
    "the rows of the fit": (lambda p: (p, dc.open(people(9, 1), SCHEMA, id="spring")), "another table"),
    "other declarations": (
        lambda p: (
            p,
            dc.open(people(9, 1), dc.Schema({**COLUMNS, "age": dc.Bounded(0, 90, cut=[30, 50, 70])}), id="autumn"),
        ),
        "declare the columns",
    ),
    "a frame": (lambda p: (p, people(9, 1)), "what dc.open returns"),
    "a number": (lambda p: (0.7, dc.open(people(9, 1), SCHEMA, id="autumn")), "as release.posterior"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_score_is_refused_unpaid(name: str, ledger: dc.Ledger) -> None:
    ask, words = REFUSED[name]
    arguments = ask(learned("bayes", ledger))
    spent = ledger.spent()
    with pytest.raises(dc.QueryError, match=words):
        dc.score(*arguments, dc.NoisyStatistics(epsilon=1.0), ledger)
    assert ledger.spent() == spent


@pytest.mark.parametrize("count", [80, pytest.param(2000, marks=pytest.mark.audit)])
def test_intervals_cover_the_measures_of_a_population(count: int) -> None:
    """A fixed population, no draw of the prior: 90% intervals of AUC and log loss. False alarms below 1e-5.

    Of the default number of bins: with ten, whose 20 cells hold next to nothing but noise, 85% cover the AUC.
    """
    zeros = np.array([30, 45, 22, 11, 5, 1.0]) / 114 * 0.6
    ones = zeros[::-1] / 0.6 * 0.4
    truth = of_score(np.stack([zeros, ones]), (np.arange(6) + 0.5) / 6)
    names = [f"bin {b}" for b in range(6)]
    schema = dc.Schema({"smoker": dc.Binary(), "score": dc.Categorical(names)}, n=400)
    rng, hits = np.random.default_rng(9), {"auc": 0, "log_loss": 0}
    for run in range(count):
        cells = rng.choice(12, size=400, p=np.concatenate([zeros, ones]))
        data = dc.Dataset("autumn", schema, CodedRows({"smoker": cells // 6, "score": cells % 6}))
        (found,) = dc.simulate(HeldOutScores("smoker"), data, dc.NoisyStatistics(epsilon=1.0), runs=1, seed=run)
        ends = found.posterior().interval(0.9)
        for name in hits:
            hits[name] += ends[name][0] < truth[name] < ends[name][1]
    error = np.sqrt(0.09 / count)
    for name, hit in hits.items():
        assert hit / count > 0.9 - 4.5 * error, (name, hit / count)
        assert hit / count < 0.99, (name, hit / count)
