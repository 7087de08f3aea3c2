"""Models: what they ask, what they refuse, and calibration of every posterior over the prior."""

import numpy as np
import pytest

import discreet as dc
from discreet.audit import rank_uniformity
from discreet.models import MODELS

COLUMNS = {
    "smoker": dc.Binary(),
    "ward": dc.Categorical(["A", "B", "C"]),
    "sex": dc.Categorical(["f", "m"]),
    "age": dc.Bounded(0, 110),
}
SCHEMA = dc.Schema(COLUMNS, n=40)
EXAMPLES = {
    "BetaBernoulli": dc.BetaBernoulli("smoker", prior=(2.0, 3.0)),
    "DirichletCategorical": dc.DirichletCategorical("ward", prior=(1.0, 2.0, 0.5)),
    "NaiveBayes": dc.NaiveBayes("ward", ("smoker", "sex")),
}


def test_every_registered_model_has_an_example() -> None:
    assert set(EXAMPLES) == set(MODELS)


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("arguments", [{"epsilon": 0.5}, {"rho": 0.05}], ids=["laplace", "gaussian"])
def test_posteriors_are_calibrated(name: str, arguments: dict[str, float]) -> None:
    """Ranks of the truth among posterior draws, 300 simulations; false-alarm rate 1e-4."""
    mechanism = dc.NoisyStatistics(**arguments)
    runs = dc.simulate(EXAMPLES[name], None, mechanism, runs=300, seed=3, n=40, schema=dc.Schema(COLUMNS))
    assert rank_uniformity(ranks(runs, "noise-aware")).uniform()


def ranks(runs: list[dc.Release], kind: str) -> list[float]:
    """One coordinate a run, in turn, so that ranks are independent."""
    found = []
    for i, run in enumerate(runs):
        draws = run.posterior(kind).sample(400, np.random.default_rng(i))  # type: ignore[arg-type]
        assert run.truth is not None
        name = sorted(run.truth)[i % len(run.truth)]
        values = draws[name] if isinstance(draws, dict) else draws
        truth = np.ravel(run.truth[name])
        position = i % truth.size
        below = (values.reshape(400, -1)[:, position] < truth[position]).sum()
        found.append((below + np.random.default_rng(i).random()) / 401)
    return found


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_plug_in_posterior_would_be_caught(name: str) -> None:
    mechanism = dc.NoisyStatistics(epsilon=0.1)
    runs = dc.simulate(EXAMPLES[name], None, mechanism, runs=300, seed=3, n=40, schema=dc.Schema(COLUMNS))
    assert not rank_uniformity(ranks(runs, "plug-in")).uniform()


@pytest.mark.parametrize("relation", ["exclude", "add-remove"])
def test_private_totals_are_calibrated(relation: str) -> None:
    """n private: the simulation draws n as the posterior assumes, uniformly (the prior of the used rows)."""
    rng = np.random.default_rng(12)
    model, law, found = dc.BetaBernoulli("smoker"), dc.DiscreteLaplace(4.0), []
    schema = (
        dc.Schema({"smoker": dc.Binary(missing="exclude")}, n=60)
        if relation == "exclude"
        else dc.Schema({"smoker": dc.Binary()}, relation="add-remove", n_max=60)
    )
    query = model.query(schema)
    for _ in range(400):
        theta, total = rng.random(), rng.integers(61)
        ones = rng.binomial(total, theta)
        noise = rng.geometric(1 - np.exp(-1 / 4), 2) - rng.geometric(1 - np.exp(-1 / 4), 2)
        posterior = model.posterior(query, {"counts": np.array([total - ones, ones]) + noise}, {"counts": law})
        found.append(float(posterior.cdf(theta)))
    assert rank_uniformity(found).uniform()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: dc.BetaBernoulli("smoker", prior=(0, 1)), "BetaBernoulli.prior must be a finite number above 0"),
        (lambda: dc.BetaBernoulli("smoker", prior=(1,)), "BetaBernoulli.prior must be a pair"),  # type: ignore[arg-type]
        (lambda: dc.BetaBernoulli("ward").query(SCHEMA), "must be binary, got 'ward', a Categorical"),
        (lambda: dc.BetaBernoulli("nobody").query(SCHEMA), "must contain 'nobody'"),
        (lambda: dc.DirichletCategorical("age").query(SCHEMA), "must be categorical, got 'age', a Bounded"),
        (lambda: dc.DirichletCategorical("ward", prior=(1.0, 1.0)).query(SCHEMA), r"one number or one per level \(3\)"),
        (lambda: dc.DirichletCategorical("ward", prior=float("nan")), "must be a finite number above 0, got nan"),
        (lambda: dc.NaiveBayes("ward", ()), "must name at least one column"),
        (lambda: dc.NaiveBayes("ward", ("ward",)), "not the target"),
        (lambda: dc.NaiveBayes("ward", ("age",)).query(SCHEMA), "must be .*categorical, got 'age'"),
        (lambda: dc.BetaBernoulli("smoker").query(dc.Schema(COLUMNS)).largest_total, "Schema.n must be declared"),
    ],
)
def test_what_does_not_fit_is_refused(build, message: str) -> None:
    with pytest.raises(dc.DiscreetError, match=message):
        build()


def test_naive_bayes_predicts_the_class_that_the_features_show() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 4000)
    rows = {"sex": labels, "smoker": (rng.random(4000) < np.where(labels == 1, 0.9, 0.1)).astype(int)}
    import pandas as pd

    frame = pd.DataFrame({"sex": np.array(["f", "m"])[rows["sex"]], "smoker": rows["smoker"]})
    data = dc.open(frame, dc.Schema({"sex": COLUMNS["sex"], "smoker": COLUMNS["smoker"]}), id="toy")
    (release,) = dc.simulate(dc.NaiveBayes("sex", ("smoker",)), data, dc.NoisyStatistics(epsilon=1.0), runs=1, seed=1)
    probability = release.posterior().predict_proba({"smoker": [1, "0"]})  # type: ignore[attr-defined]
    assert probability[0, 1] == pytest.approx(0.9, abs=0.03)
    assert probability[1, 1] == pytest.approx(0.1, abs=0.03)
