"""Arguments in another order, or of another kind: words that name the order, and nothing of what was given but its kind."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc

MODEL, NOISE = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=1.0)
SCHEMA = dc.Schema({"smoker": dc.Binary()}, n=4)
FRAME = pd.DataFrame({"smoker": [1, 0, 0, 1], "name": ["Rosalind"] * 4})
ORDER = r"the order is release\(model, dataset, mechanism, ledger\)"


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(epsilon=3.0))


def data() -> dc.Dataset:
    return dc.open(FRAME, SCHEMA, id="four")


SWAPPED: dict[str, tuple[Any, str]] = {
    "data first": (lambda own: (data(), MODEL, NOISE, own), f"release model must be .*, got a Dataset: {ORDER}"),
    "a frame first": (lambda own: (FRAME, MODEL, NOISE, own), f"release model must be .*, got a DataFrame: {ORDER}"),
    "a frame": (lambda own: (MODEL, FRAME, NOISE, own), f"what dc.open returns, got a DataFrame: {ORDER}"),
    "mechanism second": (lambda own: (MODEL, NOISE, data(), own), "release mechanism must be .*, got a Dataset: "),
    "ledger third": (lambda own: (MODEL, data(), own, NOISE), f"release mechanism must be .*, got a Ledger: {ORDER}"),
    "a path": (
        lambda own: (MODEL, data(), NOISE, "own.ledger"),
        f"release ledger must be a Ledger, got a str: {ORDER}",
    ),
    "a class": (
        lambda own: (dc.BetaBernoulli, data(), NOISE, own),
        "got the class BetaBernoulli, which is to be called",
    ),
    "nothing": (lambda own: (MODEL, data(), None, own), "release mechanism must be .*, got nothing: "),
}


@pytest.mark.parametrize("case", SWAPPED)
def test_a_release_names_the_order_and_no_row(ledger: dc.Ledger, case: str) -> None:
    arguments, words = SWAPPED[case]
    with pytest.raises(dc.QueryError, match=words) as found:
        dc.release(*arguments(ledger))
    assert "Rosalind" not in str(found.value)
    assert ledger.spent() == 0


def test_the_other_verbs_do_too() -> None:
    with pytest.raises(dc.QueryError, match=r"simulate dataset must be what .* a DataFrame: the order is simulate\("):
        dc.simulate(MODEL, FRAME, NOISE, runs=1)  # type: ignore[arg-type]
    with pytest.raises(dc.QueryError, match=r"plan model must be .* got a NoisyStatistics: the order is plan\(model"):
        dc.plan(NOISE, MODEL, schema=SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(dc.QueryError, match=r"compare budget must be a Budget"):
        dc.compare(MODEL, NOISE, schema=SCHEMA)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "declare",
    [
        lambda rows: dc.NoisyStatistics(epsilon=rows),
        lambda rows: dc.NoisyStatistics(rho=rows),
        lambda rows: dc.NoisyScore(epsilon=rows, delta=1e-6),
        lambda rows: dc.GibbsPosterior(epsilon=rows, delta=1e-6),
        lambda rows: dc.PosteriorSample(epsilon=rows),
        lambda rows: dc.NoisyStatistics(epsilon=1.0, label=rows),
        lambda rows: dc.Budget(epsilon=rows),
    ],
)
@pytest.mark.parametrize("rows", [FRAME, FRAME["name"], [*FRAME["name"]]], ids=["frame", "column", "list"])
def test_no_refusal_of_an_argument_shows_rows(declare: Any, rows: Any) -> None:
    """A frame in the place of a number is told by its type: its text would show rows."""
    with pytest.raises(dc.DiscreetError) as found:
        declare(rows)
    assert "Rosalind" not in str(found.value)


def test_a_column_of_another_kind_names_a_model_that_fits(ledger: dc.Ledger) -> None:
    columns = {"ward": dc.Categorical(["A", "B"]), "age": dc.Bounded(0, 110), "ill": dc.Binary()}
    schema = dc.Schema(columns, n=4)
    for model, told in (
        (dc.BetaBernoulli("ward"), "got 'ward', a Categorical: DirichletCategorical asks for shares of levels"),
        (dc.Normal("ward"), r"got 'ward', a Categorical: for shares of its levels ask BetaBernoulli \(binary\) or"),
        (
            dc.DirichletCategorical("age"),
            r"got 'age', a Bounded without cut=: declare its ranges, as in cut=\[18, 65\]",
        ),
        (dc.NaiveBayes("ill", ["age"]), r"got 'age', a Bounded without cut=: declare its ranges, as in cut=\[18, 65\]"),
    ):
        with pytest.raises(dc.QueryError, match=told):
            dc.plan(model, NOISE, schema=schema)


def test_what_opens_and_pays_says_how_it_is_called(tmp_path: Path) -> None:
    with pytest.raises(dc.SchemaError, match=r'the ledger knows rows by it, as in id="patients-2026"'):
        dc.open(FRAME, SCHEMA)
    with pytest.raises(dc.SchemaError, match=r"got dict: dc\.Schema\(\{column: dc\.Binary\(\), …\}\) declares"):
        dc.open(FRAME, {"smoker": dc.Binary()}, id="four")  # type: ignore[arg-type]
    with pytest.raises(dc.GuaranteeError, match=r"got 3: dc\.Budget\(epsilon=3, delta=1e-6\)"):
        dc.Ledger.create(tmp_path / "a.ledger", 3)  # type: ignore[arg-type]


def test_a_score_names_its_order(ledger: dc.Ledger) -> None:
    order = r"the order is score\(posterior, held_out, mechanism, ledger\)"
    with pytest.raises(dc.QueryError, match=f"what dc.open returns, got a DataFrame: {order}"):
        dc.score(None, FRAME, NOISE, ledger)  # type: ignore[arg-type]
    with pytest.raises(dc.QueryError, match=f"or posterior_ of an estimator, got a BetaBernoulli: {order}"):
        dc.score(MODEL, data(), NOISE, ledger)
