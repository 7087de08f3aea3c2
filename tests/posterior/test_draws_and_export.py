"""Released draws say what they are; exports hold draws and public facts, nothing else."""

import json

import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.noise import DiscreteLaplace
from discreet.posterior import (
    BernoulliRecord,
    Draws,
    LevelRecord,
    OneParameter,
    beta_from_count,
    dirichlet_from_counts,
    naive_bayes_from_tables,
)
from discreet.posterior.exports.datatree import Exported
from discreet.schema.row_counts import KnownSize

ONE = Draws(
    {"theta": np.array([0.31, 0.42, 0.28])}, note="temperature 2.8", record=OneParameter("theta", BernoulliRecord())
)
VECTOR = Draws(
    {"theta": np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])},
    {"theta": ("a", "b", "c")},
    record=OneParameter("theta", LevelRecord()),
)


@pytest.mark.parametrize("question", ["interval", "sd", "quantile"])
def test_the_spread_of_tempered_draws_is_refused_with_the_reason(question: str) -> None:
    ask = getattr(ONE, question)
    with pytest.raises(QueryError, match="not the uncertainty of the parameter"):
        ask(0.9) if question != "sd" else ask()
    for private in (lambda: ONE.log_density(0.3), ONE.log_evidence):
        with pytest.raises(QueryError, match="private rows"):
            private()


def test_samples_are_released_draws() -> None:
    rng = np.random.default_rng(1)
    assert ONE.draws == 3
    assert sorted(ONE.sample(3, rng)["theta"]) == sorted(ONE.values["theta"])
    many = ONE.sample(50, rng)["theta"]
    assert set(many) <= set(ONE.values["theta"])
    assert VECTOR.sample(2)["theta"].shape == (2, 3)


def test_predictions() -> None:
    rng = np.random.default_rng(1)
    assert ONE.predict(20_000, rng).mean() == pytest.approx(ONE.values["theta"].mean(), abs=0.02)
    shares = np.bincount(VECTOR.predict(20_000, rng), minlength=3) / 20_000
    np.testing.assert_allclose(shares, VECTOR.mean()["theta"], atol=0.02)
    with pytest.raises(QueryError, match=r"Draws\.simulate must have the law of a record given \['weights'\]"):
        Draws({"weights": np.array([[0.3, 0.7]])}).predict(1)


def test_summary_and_text_say_tempered() -> None:
    assert list(VECTOR.summary().index) == ["theta[a]", "theta[b]", "theta[c]"]
    assert VECTOR.summary().to_dict("index")["theta[a]"] == {"mean": pytest.approx(0.15), "draws": 2.0}
    assert "tempered posterior" in str(ONE)
    assert "temperature 2.8" in str(ONE)


def test_arrays_must_share_their_number_of_draws() -> None:
    for wrong in ({}, {"a": np.array(1.0)}, {"a": np.ones(3), "b": np.ones(2)}):
        with pytest.raises(QueryError, match=r"Draws\.values"):
            Draws(wrong)


def trees():
    law = DiscreteLaplace(1.0)
    laws = {"ward": law}
    yield beta_from_count(3, 10, (1, 1), law).to_datatree(5), {"probability": 0}
    yield dirichlet_from_counts([1, 2, 3], KnownSize(6), 1.0, law, ("a", "b", "c")).to_datatree(5), {"probabilities": 1}
    bayes = naive_bayes_from_tables(
        {"ward": np.ones((2, 3))}, KnownSize(6), 1.0, {"ward": 1.0}, laws, ("n", "y"), {"ward": ("a", "b", "c")}
    )
    yield bayes.to_datatree(5), {"class": 1, "ward": 2}
    yield VECTOR.to_datatree(), {"theta": 1}
    yield ONE.to_datatree(), {"theta": 0}


@pytest.mark.parametrize(("tree", "axes"), list(trees()))
def test_exports_have_the_posterior_group_only(tree, axes: dict[str, int]) -> None:
    assert set(tree.children) == {"posterior"}
    group = tree["posterior"]
    assert set(group.data_vars) == set(axes)
    for name, extra in axes.items():
        assert group[name].dims[:2] == ("chain", "draw")
        assert len(group[name].dims) == 2 + extra


def test_attributes_are_plain_and_axes_are_checked() -> None:
    tree = ONE.to_datatree({"recipe": {"model": "BetaBernoulli"}, "epsilon": 0.5})
    assert json.loads(tree["posterior"].attrs["recipe"]) == {"model": "BetaBernoulli"}
    assert tree["posterior"].attrs["epsilon"] == 0.5
    with pytest.raises(QueryError, match="axis"):
        Exported.one_chain({"theta": np.ones((4, 2))}, {}).to_datatree({}, {})
    tree = dirichlet_from_counts([1, 2], KnownSize(3), 1.0, DiscreteLaplace(1.0), ("x", "y")).to_datatree(2)
    assert list(tree["posterior"].coords["level"].values) == ["x", "y"]
