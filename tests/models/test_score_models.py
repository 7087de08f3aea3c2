"""Binomial regression and declared means: the same numbers as logistic regression where they are the same model."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.noise.sources import SeededNoise

ROWS = 2_000
FEATURES = ("age", "ward")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    age, ward = rng.uniform(0, 90, ROWS), rng.choice(["A", "B", "C"], ROWS)
    odds = 1.5 * (age / 45 - 1) + 0.8 * (ward == "B") - 0.4
    share = 1 / (1 + np.exp(-odds))
    columns: dict[str, Any] = {"age": age, "ward": ward}
    return pd.DataFrame(columns | {"one": (rng.random(ROWS) < share).astype(int), "ten": rng.binomial(10, share)})


COLUMNS = {
    "age": dc.Bounded(0, 90),
    "ward": dc.Categorical(["A", "B", "C"]),
    "one": dc.Binary(),
    "ten": dc.Count(10),
}


def opened(**columns: Any) -> dc.Dataset:
    return dc.open(table(), dc.Schema({**COLUMNS, **columns}), id="t")


def released(model: Any, mechanism: Any, dataset: dc.Dataset) -> dict[str, Any]:
    found: dict[str, Any] = mechanism.apply(SeededNoise(1), model.query(dataset.schema), dataset)
    return found


def test_one_trial_is_a_yes_or_no() -> None:
    """A count up to 1 has the same sums, noise and points as a label, and the same draws of a Gibbs posterior."""
    for mechanism in (dc.NoisyScore(rho=0.5, steps=5), dc.GibbsPosterior(1.0, 1e-5, steps=20)):
        label = released(dc.LogisticRegression("one", FEATURES), mechanism, opened())
        count = released(dc.BinomialRegression("one", FEATURES), mechanism, opened(one=dc.Count(1)))
        assert label.keys() == count.keys()
        assert all(np.array_equal(label[name], count[name]) for name in label)


def test_more_trials_say_more_of_the_same_coefficients() -> None:
    """Slope of age 1.5 and the difference of two wards 0.8, within three deviations; narrower than by one trial."""
    mechanism, dataset = dc.NoisyScore(rho=5.0), opened()
    found = {}
    for model in (dc.BinomialRegression("ten", FEATURES), dc.LogisticRegression("one", FEATURES)):
        (made,) = dc.simulate(model, dataset, mechanism, runs=1, seed=3)
        found[model.target] = made.posterior()
    names = list(dc.BinomialRegression("ten", FEATURES).query(dataset.schema).features.names)
    means, sds = found["ten"].mean(), found["ten"].sd()
    assert abs(means[names.index("age")] - 1.5) < 3 * sds[names.index("age")]
    effect = means[names.index("ward=B")] - means[names.index("ward=A")]
    assert abs(effect - 0.8) < 3 * np.hypot(sds[names.index("ward=B")], sds[names.index("ward=A")])
    assert sds[names.index("age")] < found["one"].sd()[names.index("age")]


def test_a_declared_mean_is_asked_like_the_logistic_one() -> None:
    """Tanh(t/2) of labels ±1 is the logistic mean; its table is linear between margins that are 1/16 apart."""
    mechanism, dataset = dc.NoisyScore(rho=0.5, steps=3), opened()
    mean = dc.ConvexLoss("one", FEATURES, slope="tanh(t / 2) - y", bound=2.0, reach=16.0, mean="tanh(t / 2)")
    own, logistic = (
        released(mean, mechanism, dataset),
        released(dc.LogisticRegression("one", FEATURES), mechanism, dataset),
    )
    for name in ("levels", "sums", "squares"):
        assert np.array_equal(own[name], logistic[name])
    assert np.abs((own["scores"] - logistic["scores"]).astype(float)).max() < 2.0**20


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        ("-tanh(t)", "ConvexLoss.mean must rise with t"),
        ("0 * t", "ConvexLoss.mean must rise with t"),
        ("2 * tanh(t)", r"ConvexLoss.mean must stay within \[-1, 1\]"),
        ("tanh(t - y)", "ConvexLoss.mean must use t, numbers"),
        ("log(t)", "ConvexLoss.mean must be a number for every t"),
        ("t +", "ConvexLoss.mean must be a formula in t"),
        (3, "ConvexLoss.mean must be a formula of at most 500 characters"),
    ],
)
def test_what_is_no_mean_is_refused(mean: Any, message: str) -> None:
    with pytest.raises(dc.QueryError, match=message):
        dc.ConvexLoss("one", FEATURES, mean=mean)


def test_a_binomial_target_is_a_count_from_zero() -> None:
    with pytest.raises(dc.QueryError, match=r"BinomialRegression\.target must be a count column"):
        dc.BinomialRegression("age", FEATURES[1:]).query(opened().schema)
