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
