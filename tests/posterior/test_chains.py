"""Posteriors known through chains: answers by name, diagnostics, export, and what they refuse."""

from dataclasses import dataclass

import numpy as np
import pytest

from discreet.errors import ConvergenceWarning, QueryError
from discreet.inference.diagnostics import bulk_ess, split_rhat
from discreet.posterior import GroupedPosterior, chains
from discreet.posterior.chains import ChainsPosterior


@dataclass(frozen=True)
class NormalRecord:
    def draw(self, parameters, rng):
        return parameters["mu"] + 0.5 * rng.standard_normal(len(parameters["mu"]))


def autoregressive(rho: float, chains: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    values = np.empty((chains, draws))
    values[:, 0] = rng.standard_normal(chains)
    for t in range(1, draws):
        values[:, t] = rho * values[:, t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal(chains)
    return values


@pytest.fixture
def posterior() -> ChainsPosterior:
    rng = np.random.default_rng(1)
    chains = {"mu": rng.normal(2.0, 0.1, (4, 1000)), "beta": rng.normal([0.0, 5.0], 1.0, (4, 1000, 2))}
    return ChainsPosterior(chains, {"beta": {"feature": ("age", "dose")}}, "posterior of a test", NormalRecord())


def test_numbers_are_floats_and_vectors_are_arrays(posterior):
    for answer in (posterior.mean(), posterior.sd(), posterior.quantile(0.5)):
        assert isinstance(answer["mu"], float)
        assert answer["beta"].shape == (2,)
    assert posterior.mean()["mu"] == pytest.approx(2.0, abs=0.01)
    lower, upper = posterior.interval(0.9)["beta"]
    np.testing.assert_allclose(upper - lower, 2 * 1.645, atol=0.2)


def test_summary_has_diagnostics_for_every_entry(posterior):
    summary = posterior.summary().to_dict("index")
    assert list(summary) == ["mu", "beta[age]", "beta[dose]"]
    assert list(summary["mu"]) == ["mean", "sd", "lower", "upper", "rhat", "ess"]
    assert summary["beta[dose]"]["rhat"] < 1.01
    assert summary["beta[dose]"]["ess"] > 2000


def test_draws_are_joint_and_predictions_use_them(posterior):
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in posterior.chains.items()}
    drawn = posterior.sample(50, np.random.default_rng(0))
    for mu, beta in zip(drawn["mu"], drawn["beta"], strict=True):
        place = int(np.flatnonzero(flat["mu"] == mu)[0])
        np.testing.assert_array_equal(flat["beta"][place], beta)
    assert posterior.sample(9000, np.random.default_rng(0))["mu"].shape == (9000,)
    assert posterior.predict(4000, np.random.default_rng(0)).std() == pytest.approx(np.sqrt(0.26), rel=0.1)


def test_export_keeps_the_chains_and_the_labels(posterior):
    tree = posterior.to_datatree(attributes={"model": "Normal", "prior": [1, 2]})["posterior"]
    assert dict(tree.sizes) == {"chain": 4, "draw": 1000, "feature": 2}
    assert (tree.attrs["model"], tree.attrs["prior"], tree.attrs["converged"]) == ("Normal", "[1, 2]", "true")
    assert set(tree.attrs) == {"estimand", "converged", "convergence", "model", "prior"}
    np.testing.assert_array_equal(tree["beta"].values, posterior.chains["beta"])
    assert list(tree["feature"].values) == ["age", "dose"]
    assert dict(posterior.to_datatree(30)["posterior"].sizes) == {"chain": 1, "draw": 30, "feature": 2}


def test_density_evidence_and_predictions_without_a_record_are_refused(posterior):
    with pytest.raises(QueryError, match="no density"):
        posterior.log_density({"mu": 0.0})
    with pytest.raises(QueryError, match="normaliser"):
        posterior.log_evidence()
    with pytest.raises(QueryError, match="must have a law of records"):
        ChainsPosterior({"mu": np.zeros((2, 10))}).predict(3)


def test_shapes_must_agree_with_each_other_and_with_the_labels():
    with pytest.raises(QueryError, match="same numbers"):
        ChainsPosterior({"a": np.zeros((2, 10)), "b": np.zeros((2, 9))})
    with pytest.raises(QueryError, match="labels for shape"):
        ChainsPosterior({"a": np.zeros((2, 10, 3))}, {"a": {"level": ("x", "y")}})


def test_chains_that_have_not_converged_say_so_wherever_numbers_are_read(posterior):
    assert posterior.mixing.converged
    assert "converged" not in str(posterior)
    apart = ChainsPosterior({"mu": np.random.default_rng(0).normal(size=(4, 1000)) + np.arange(4)[:, np.newaxis]})
    assert apart.mixing.words.startswith("the chains have not converged: R-hat up to 1.5")
    for each in (apart, GroupedPosterior("ward", {"A": posterior, "B": apart})):
        assert apart.mixing.words in str(each)  # and no warning besides: it is in the text
        for ask in (each.interval, each.summary):
            with pytest.warns(ConvergenceWarning, match="have not converged") as told:
                ask()
            assert len(told) == 1
            assert told[0].filename == __file__
    assert GroupedPosterior("ward", {"A": posterior}).mixing.converged


def test_diagnostics_are_computed_once(posterior, monkeypatch):
    asked = []
    monkeypatch.setattr(chains, "split_rhat", lambda values: asked.append(1) or split_rhat(values))
    for _ in range(3):
        posterior.interval(), posterior.summary(), str(posterior), posterior.rhat()
    assert len(asked) == len(posterior.chains)


def test_effective_sample_size_of_an_autoregression_is_the_known_one():
    """ESS / draws = (1 - rho) / (1 + rho); the tolerance is five standard errors over 20 repetitions."""
    rng = np.random.default_rng(3)
    for rho in (0.0, 0.5, 0.9):
        sizes = [float(bulk_ess(autoregressive(rho, 4, 2000, rng))) for _ in range(20)]
        error = 5 * np.std(sizes) / np.sqrt(20) + 0.02 * np.mean(sizes)
        assert np.mean(sizes) == pytest.approx(8000 * (1 - rho) / (1 + rho), abs=error)


def test_rhat_sees_shifted_and_scaled_chains_and_ignores_constants():
    rng = np.random.default_rng(4)
    good = rng.normal(size=(4, 1000))
    assert split_rhat(good) < 1.01
    assert split_rhat(good + np.array([[0.0], [0.0], [0.0], [1.0]])) > 1.05
    assert split_rhat(good * np.array([[1.0], [1.0], [1.0], [3.0]])) > 1.05
    assert split_rhat(good + np.linspace(0, 1, 1000)) > 1.02
    assert split_rhat(np.full((4, 1000), 7.0)) == 1.0
    assert bulk_ess(np.full((4, 1000), 7.0)) == 4000
    with pytest.raises(QueryError, match="4 draws"):
        split_rhat(np.zeros((4, 3)))
