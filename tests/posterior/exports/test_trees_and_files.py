"""Every posterior leaves with its names, its release and nothing private, and comes back from files as it was."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import discreet as dc
from discreet.errors import QueryError
from discreet.noise import DiscreteLaplace
from discreet.posterior import BetaMixture, beta_from_count
from discreet.posterior.exports.draw_files import read_draws
from pairs import COLUMNS, ROWS, one_per_pair

SCHEMA = dc.Schema(COLUMNS, n=ROWS)
NOISY = dc.NoisyStatistics(epsilon=2.0)
ALLOWED = {"posterior", "posterior_predictive", "prior"}
FACTS = {"estimand", "reading", "guarantee", "certificate", "recipe", "entry"}


def simulated(model: Any, mechanism: Any = NOISY, schema: dc.Schema = SCHEMA) -> Any:
    (made,) = dc.simulate(model, None, mechanism, runs=1, seed=3, n=ROWS, schema=schema)
    return made


MODELS = {
    "one probability": dc.BetaBernoulli("smoker", prior=(2.0, 3.0)),
    "groups": dc.BetaBernoulli("smoker", by="ward"),
    "probabilities": dc.DirichletCategorical("ward"),
    "tables": dc.NaiveBayes("smoker", ("ward", "stage")),
    "a column of a strange name": dc.GammaPoisson("visits"),
}


@pytest.mark.parametrize("name", MODELS)
def test_files_hold_all_that_was_written(name: str, tmp_path: Path) -> None:
    posterior = simulated(MODELS[name]).posterior()
    tree = posterior.to_datatree(300, np.random.default_rng(5))
    tree.to_netcdf(tmp_path / "tree.nc")
    with xarray.open_datatree(tmp_path / "tree.nc") as again:
        assert again.identical(tree)
    posterior.to_parquet(tmp_path / "draws.parquet", 300, np.random.default_rng(5))
    assert read_draws(tmp_path / "draws.parquet")["posterior"].identical(tree["posterior"])


def test_a_parquet_file_is_a_table_of_the_names_of_the_summary(tmp_path: Path) -> None:
    import pandas as pd

    posterior = simulated(MODELS["probabilities"]).posterior()
    posterior.to_parquet(tmp_path / "draws.parquet", 20)
    frame = pd.read_parquet(tmp_path / "draws.parquet")
    assert list(frame.columns) == ["chain", "draw", *posterior.summary().index]
    frame.to_parquet(tmp_path / "other.parquet")
    with pytest.raises(QueryError, match=r"read_draws\.path must be a file of to_parquet"):
        read_draws(tmp_path / "other.parquet")
    with pytest.raises(QueryError, match=r"to_parquet\.path must be a file that can be written"):
        posterior.to_parquet(tmp_path / "nowhere" / "draws.parquet", 20)


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose
@pytest.mark.parametrize("pair", [pair for pair in one_per_pair() if "HMM" not in pair.name], ids=lambda p: p.name)
def test_groups_hold_draws_with_names_and_the_facts_of_the_release(pair: Any) -> None:
    """Of every kind of posterior: nothing but the three groups, every dimension with its levels, all public facts."""
    (made,) = dc.simulate(pair.model, pair.dataset(), pair.mechanism, runs=1, seed=7)
    posterior = made.posterior()
    tree = posterior.to_datatree()
    assert {"posterior"} <= set(tree.children) <= ALLOWED
    for group in tree.children.values():
        assert set(group.attrs) >= FACTS
        assert group.attrs["guarantee"] == str(made.guarantee)
        assert json.loads(group.attrs["recipe"])["model"]["kind"] == type(pair.model).__name__
        for name, variable in group.data_vars.items():
            assert variable.dims[:2] == ("chain", "draw")
            assert set(variable.dims) <= set(group.coords), name
    drawn = {name: variable.sizes for name, variable in tree["posterior"].data_vars.items()}
    for name, variable in tree["prior"].data_vars.items() if "prior" in tree.children else ():
        assert {**variable.sizes, "chain": 0, "draw": 0} == {**drawn[name], "chain": 0, "draw": 0}
    attrs = posterior.summary().attrs
    assert set(attrs) >= FACTS
    assert attrs["certificate"] == made.guarantee.to_json()


def test_predictions_belong_to_their_draws_and_the_prior_is_the_one_that_was_read() -> None:
    """Twins: records drawn at random among the draws, and the prior of the model instead, must fail."""
    posterior = simulated(MODELS["one probability"]).posterior(prior=(30.0, 10.0))
    tree = posterior.to_datatree(20_000, np.random.default_rng(1))
    theta = tree["posterior"]["probability"].values.ravel()
    ones = tree["posterior_predictive"]["smoker"].values.ravel() == "1"
    upper = theta > np.median(theta)
    apart = ones[upper].mean() - ones[~upper].mean()
    expected, error = theta[upper].mean() - theta[~upper].mean(), np.sqrt(0.25 / 5000)
    assert abs(apart - expected) < 4 * error < expected
    prior = tree["prior"]["probability"].values.ravel()
    assert abs(prior.mean() - 0.75) < 4 * 0.07 / np.sqrt(prior.size) < 0.75 - 0.4


def test_pooled_groups_have_the_prior_of_their_population() -> None:
    tree = simulated(MODELS["groups"]).posterior(pooling="partial").to_datatree(50)
    assert set(tree.children) == ALLOWED
    assert tree["prior"]["probability"].dims == ("chain", "draw", "ward")
    spread, centre = tree["prior"]["population_spread"].values.ravel(), tree["prior"]["population_mean"].values.ravel()
    logit = np.log(tree["prior"]["probability"].values[0] / (1 - tree["prior"]["probability"].values[0]))
    away = (logit - np.log(centre / (1 - centre))[:, None]) / spread[:, None]
    assert abs(np.std(away) - 1.0) < 0.1


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (1.0, 9.0), (40.0, 60.0), (9.0, 0.5)])
def test_the_shortest_interval_of_a_beta_law_is_the_one_scipy_finds(a: float, b: float, level: float) -> None:
    from scipy.optimize import minimize_scalar
    from scipy.stats import beta

    def width(p: float) -> float:
        return float(beta.ppf(min(p + level, 1.0), a, b) - beta.ppf(p, a, b))

    best = minimize_scalar(width, bounds=(0.0, 1.0 - level), method="bounded", options={"xatol": 1e-10})
    narrowest = min(width(0.0), width(1.0 - level), float(best.fun))
    lower, upper = BetaMixture(np.array([a]), np.array([b]), np.zeros(1), 0.0).hdi(level)
    assert upper - lower == pytest.approx(narrowest, rel=2e-4)
    assert beta.cdf(upper, a, b) - beta.cdf(lower, a, b) == pytest.approx(level, abs=2e-4)


def test_shortest_intervals_have_the_form_of_intervals_and_are_no_longer() -> None:
    for name, model in MODELS.items():
        posterior = simulated(model).posterior()
        assert str(type(posterior.hdi())) == str(type(posterior.interval()))
        pairs = [(posterior.hdi(0.8), posterior.interval(0.8))]
        if isinstance(pairs[0][0], dict):
            pairs = [(pairs[0][0][key], pairs[0][1][key]) for key in pairs[0][1]]
        for (low, high), (lower, upper) in pairs:
            assert np.all(np.asarray(high) - low <= np.asarray(upper) - lower + 1e-9), name
    draws = simulated(dc.BetaBernoulli("smoker"), dc.PosteriorSample(epsilon=1.0, truncation=0.1)).posterior()
    assert np.ptp(draws.hdi(0.9)) <= np.ptp(draws.interval(0.9))
    with pytest.raises(QueryError, match=r"interval\.level must be above 0"):
        draws.hdi(1.0)


def test_column_names_that_trees_cannot_hold_are_written_otherwise(tmp_path: Path) -> None:
    for column, named in (("a/b", "a∕b"), ("draw", "draw_column"), ("chain", "chain_column")):
        schema = dc.Schema({column: dc.Binary()}, n=ROWS)
        tree = simulated(dc.BetaBernoulli(column), schema=schema).posterior().to_datatree(20)
        assert list(tree["posterior_predictive"].data_vars) == [named]
        tree.to_netcdf(tmp_path / "tree.nc")


def test_arviz_reads_summarises_and_plots_several_models(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever third parties say while they are imported
        monkeypatch.setenv("MPLBACKEND", "Agg")
        import arviz_plots as azp
        import arviz_stats as azs

        law = DiscreteLaplace(2.0)
        one = simulated(MODELS["one probability"]).posterior().to_datatree(500, 1)
        other = beta_from_count(12, ROWS, (1, 1), law).to_datatree(500, 2)
        table = azs.summary(one)
        assert table.loc["probability", "mean"] == pytest.approx(
            one["posterior"]["probability"].values.mean(), abs=0.01
        )
        assert len(azs.summary(simulated(MODELS["tables"]).posterior().to_datatree(200))) == 2 + 2 * 3 + 2 * 2
        for plot in (azp.plot_dist, azp.plot_forest):
            assert plot({"release": one, "by hand": other}, backend="none").viz.children
        assert azp.plot_dist(one, group="prior", backend="none").viz.children
