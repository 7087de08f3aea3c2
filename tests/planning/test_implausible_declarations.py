"""Plans warn where bounds and priors contradict each other, or the noise drowns the answer: from declarations alone."""

import json
from typing import Any

import pytest

import discreet as dc

SCHEMA = dc.Schema({"age": dc.Bounded(0, 100), "weight": dc.Bounded(40, 120)}, n=2000)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (dc.NormalMean("age", sd=80.0), "no column within 0 to 100 has a deviation above 50"),
        (
            dc.NormalMean("age", sd=10.0, prior=(300.0, 20.0)),
            "less than 1% of its mass within the declared bounds of age",
        ),
        (dc.Normal("age", prior=(40000.0, 1.0, 3.0, 200.0)), "Normal.prior has less than 1% of its mass within"),
        (dc.Normal("age", prior=(50.0, 1.0, 3.0, 60000.0)), "typical deviation of Normal.prior is 141.421"),
        (
            dc.MultivariateNormal(("age", "weight"), prior=((50.0, 0.08), 9.0, 6.0, ((900.0, 0.0), (0.0, 1.0)))),
            "MultivariateNormal.prior has less than 1% of its mass within the declared bounds of weight",
        ),
        (
            dc.LinearRegression("age", ("weight",), prior=((50.0, 0.0), ((1.0, 0.0), (0.0, 1.0)), 3.0, 60000.0)),
            "typical error of LinearRegression.prior is 141.421",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_bounds_and_priors_that_contradict_each_other(model: Any, words: str) -> None:
    assert words in model.implausible(SCHEMA)[0]


@pytest.mark.parametrize(
    "model",
    [
        dc.NormalMean("age", sd=20.0),
        dc.NormalMean("age", sd=50.0, prior=(0.0, 20.0)),
        dc.Normal("age"),
        dc.Normal("age", prior=(70.0, 2.0, 4.0, 1500.0)),
        dc.MultivariateNormal(("age", "weight")),
        dc.LinearRegression("age", ("weight",)),
        dc.BetaBernoulli("smoker"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_plausible_declarations_get_no_word(model: Any) -> None:
    assert model.implausible(dc.Schema({**SCHEMA.columns, "smoker": dc.Binary()}, n=2000)) == ()


def test_the_plan_says_so_in_words_and_json() -> None:
    made = dc.plan(dc.NormalMean("age", sd=80.0), dc.NoisyStatistics(epsilon=1.0), schema=SCHEMA, runs=5)
    assert made.lines()[0] == ("warning", made.warnings[0])
    assert str(made).startswith("warning     NormalMean.sd is 80")
    assert json.loads(json.dumps(made.to_json()["warnings"])) == list(made.warnings)


def test_noise_that_drowns_the_answer_is_named() -> None:
    """Ten rows at epsilon = .01: the interval is as wide as the prior's; two thousand at 1 say something."""
    small, large = (dc.Schema(SCHEMA.columns, n=n) for n in (10, 2000))
    nothing = dc.plan(dc.NormalMean("age", sd=20.0), dc.NoisyStatistics(epsilon=0.01), schema=small, runs=40)
    assert "would say next to nothing of mean" in nothing.warnings[0]
    assert dc.plan(dc.NormalMean("age", sd=20.0), dc.NoisyStatistics(epsilon=1.0), schema=large, runs=40).warnings == ()
