"""Simulation-based calibration of every model with every noise, relation and budget: the ranks of the truth are uniform.

`make test` pools 300 simulations of a model over its cells; `make audit` runs 2,000 in each cell.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit import rank_uniformity
from discreet.models import MODELS, gaussian

N = 100
COLUMNS = {
    "smoker": dc.Binary(),
    "flu": dc.Binary(),
    "ward": dc.Categorical(["A", "B", "C"]),
    "visits": dc.Count(6),
    "wait": dc.Bounded(0, 4),
    "age": dc.Bounded(0, 100),
    "weight": dc.Bounded(40, 120),
}
# Priors under which some records sit on a bound, so that a forgotten clamp shows.
EXAMPLES = {
    "BayesianNetwork": dc.BayesianNetwork({"ward": (), "smoker": ("ward",), "flu": ("smoker",)}),
    "BetaBernoulli": dc.BetaBernoulli("smoker", prior=(2.0, 3.0)),
    "DirichletCategorical": dc.DirichletCategorical("ward", prior=(1.0, 2.0, 0.5)),
    "GammaExponential": dc.GammaExponential("wait", prior=(4.0, 4.0)),
    "GammaPoisson": dc.GammaPoisson("visits", prior=(6.0, 2.0)),
    "LinearRegression": dc.LinearRegression("weight", ("age",)),
    "MultivariateNormal": dc.MultivariateNormal(("age", "weight")),
    "NaiveBayes": dc.NaiveBayes("ward", ("smoker",)),
    "Normal": dc.Normal("age", prior=(70.0, 2.0, 4.0, 1500.0)),
    "NormalMean": dc.NormalMean("age", sd=20.0, prior=(70.0, 20.0)),
    "StatisticalQuery": dc.StatisticalQuery("age", prior=(2.0, 3.0)),
}
CELLS = list(itertools.product(("laplace", "gaussian"), ("replace-one", "add-remove"), (0.1, 1.0)))


def mechanism(noise: str, epsilon: float) -> dc.NoisyStatistics:
    return dc.NoisyStatistics(epsilon=epsilon, delta=1e-5 if noise == "gaussian" else None)


def facts(relation: str) -> dict[str, Any]:
    """n is public, or private with a declared guess from which simulations draw it."""
    if relation == "replace-one":
        return {"schema": dc.Schema(COLUMNS), "n": N}
    if relation == "exclude":  # 10% of the cells of every column are missing, give or take
        columns = {
            name: dc.Binary(missing="exclude")
            if isinstance(column, dc.Binary)
            else type(column)(**{**vars(column), "missing": "exclude"})
            for name, column in COLUMNS.items()
        }
        return {"schema": dc.Schema(columns, n=N, n_prior=(0.9 * N, 3.0))}
    return {"schema": dc.Schema(COLUMNS, relation=relation, n_max=2 * N, n_prior=(N, 10.0))}


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains long enough for a rank among a hundred draws."""
    monkeypatch.setattr(gaussian, "augment", functools.partial(gaussian.augment, sweeps=400, warmup=200, chains=2))


def rank(run: dc.Release, posterior: Any, which: int) -> tuple[float, bool]:
    """The rank of one coordinate of the truth, in turn, and whether its 90% interval holds it."""
    assert run.truth is not None
    name = sorted(run.truth)[which % len(run.truth)]
    truth = np.ravel(run.truth[name])
    position = which % truth.size
    if hasattr(posterior, "cdf"):
        u = float(posterior.cdf(truth[0]))
    else:
        draws = posterior.sample(400, np.random.default_rng(which))
        values = (draws[name] if isinstance(draws, dict) else draws).reshape(400, -1)[:, position]
        u = float((np.sum(values < truth[position]) + np.random.default_rng(which).random()) / 401)
    return min(max(u, 0.0), 1.0), 0.05 <= u <= 0.95


def ranks(name: str, cell: tuple[str, str, float], runs: int, seed: int, kind: str = "noise-aware") -> Iterator[tuple]:
    noise, relation, epsilon = cell
    releases = dc.simulate(EXAMPLES[name], None, mechanism(noise, epsilon), runs=runs, seed=seed, **facts(relation))
    for which, run in enumerate(releases):
        yield rank(run, run.posterior(kind), which)  # type: ignore[arg-type]


def test_every_registered_model_has_an_example() -> None:
    assert set(EXAMPLES) == set(MODELS)


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_posteriors_are_calibrated(name: str) -> None:
    """300 simulations pooled over the cells; false-alarm rate 1e-4, sees a scale that is off by 25%."""
    found = [u for i, cell in enumerate(CELLS) for u, _ in ranks(name, cell, 38, seed=i)]
    tested = rank_uniformity(found)
    assert tested.uniform(), tested
    spread = rank_uniformity(widened(found, 0.75))
    assert not spread.uniform(), "the same ranks from a posterior that is too narrow by 25% would have passed"


def widened(found: list[float], factor: float) -> np.ndarray:
    """Ranks as a normal posterior with a deviation off by `factor` would have given them."""
    from scipy.special import ndtr, ndtri

    return np.asarray(ndtr(ndtri(np.clip(found, 1e-12, 1 - 1e-12)) / factor))
