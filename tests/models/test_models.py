"""Models: what they ask and what they refuse; calibration of all of them is in statistical/test_model_calibration."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.auditing import rank_uniformity

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


@pytest.mark.parametrize("name", sorted(EXAMPLES))
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


WIDE = {
    **COLUMNS,
    "visits": dc.Count(20),
    "wait": dc.Bounded(0, 10),
    "bmi": dc.Bounded(10, 50),
}


@pytest.mark.parametrize(
    ("model", "names", "l1", "squared"),
    [
        (dc.GammaPoisson("visits"), ("sum",), 2, 4),
        (dc.GammaExponential("wait"), ("sum",), 2, 4),
        (dc.NormalMean("age", sd=10), ("sum",), 2, 4),
        (dc.StatisticalQuery("age"), ("sum",), 2, 4),
        (dc.Normal("age"), ("age", "age * age"), Fraction(9, 4), 4),
        (
            dc.MultivariateNormal(("age", "bmi")),
            ("age", "bmi", "age * age", "age * bmi", "bmi * bmi"),
            Fraction(16, 3),
            9,
        ),
        (dc.BayesianNetwork({"ward": (), "smoker": ("ward",)}), ("ward", "smoker"), 4, 4),
        (dc.GammaPoisson("visits", by="ward"), ("n", "sum"), 4, 4),
        (dc.Normal("age", by="ward"), ("n", "age", "age * age"), 6, 6),
    ],
    ids=repr,
)
def test_what_models_ask_and_how_far_a_record_moves_it(
    model, names: tuple[str, ...], l1: Fraction, squared: int
) -> None:
    query = model.query(dc.Schema(WIDE, n=100))
    assert query.names == names
    assert (query.l1, query.squared_l2) == (l1, squared)


def test_persons_move_as_many_rows_as_they_may_own() -> None:
    person = dc.Schema(WIDE, unit=dc.Person("id", 3), n=100)
    query = dc.BetaBernoulli("smoker").query(person)
    assert query.total is None
    assert query.largest_total == 300
    assert (query.l1, query.squared_l2) == (6, 18)
    removed = dc.Schema(WIDE, unit=dc.Person("id", 3), relation="add-remove", n_max=100)
    assert dc.Normal("age").query(removed).l1 == 9


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: dc.GammaPoisson("age").query(dc.Schema(WIDE, n=5)), "must be a count, got 'age', a Bounded"),
        (lambda: dc.GammaPoisson("visits", prior=(1,)), "must be a pair"),  # type: ignore[arg-type]
        (lambda: dc.GammaExponential("visits").query(dc.Schema(WIDE, n=5)), "must be bounded from 0"),
        (lambda: dc.NormalMean("age", sd=0), "NormalMean.sd must be a finite number above 0"),
        (lambda: dc.NormalMean("age", sd=1, prior=(float("nan"), 1)), "NormalMean.prior must be a finite number"),
        (lambda: dc.Normal("age", prior=(0, 1)), "must be .mean, strength, shape, scale."),  # type: ignore[arg-type]
        (lambda: dc.Normal("ward").query(dc.Schema(WIDE, n=5)), "must be bounded or count, got 'ward', a Categorical"),
        (lambda: dc.Normal("age", by="age").query(dc.Schema(WIDE, n=5)), "binary or categorical|does not use itself"),
        (lambda: dc.BetaBernoulli("smoker", by="smoker").query(dc.Schema(WIDE, n=5)), "does not use itself"),
        (lambda: dc.MultivariateNormal(("age", "age")), "names of different columns"),
        (lambda: dc.MultivariateNormal(("age", "bmi"), prior=((1,), 1, 5, ((1,),))), "matrix of order 2"),  # type: ignore[arg-type]
        (lambda: dc.LinearRegression("age", ("age",)), "must not contain the target"),
        (lambda: dc.BayesianNetwork({"ward": ("smoker",), "smoker": ("ward",)}), "without cycles"),
        (lambda: dc.BayesianNetwork({"ward": ("nobody",)}), "other columns of the graph"),
    ],
)
def test_new_models_refuse_what_does_not_fit(build, message: str) -> None:
    with pytest.raises(dc.DiscreetError, match=message):
        build()


def test_public_records_strengthen_the_prior_as_the_textbook_says() -> None:
    """Conjugate updates by exact sums; the mean and variance are those of the data up to the column's grid."""
    import pandas as pd

    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "smoker": rng.integers(0, 2, 50),
            "ward": rng.choice(list("ABC"), 50),
            "sex": rng.choice(list("fm"), 50),
            "age": rng.uniform(20, 90, 50),
            "bmi": rng.uniform(15, 45, 50),
            "visits": rng.integers(0, 21, 50),
            "wait": rng.uniform(0, 10, 50),
        }
    )
    public = dc.open(frame, dc.Schema(WIDE), id="public")
    ones = int(frame.smoker.sum())
    assert dc.BetaBernoulli("smoker", prior=(2, 3)).updated(public).prior == (2 + ones, 3 + 50 - ones)
    counts = tuple(1.0 + (frame.ward == ward).sum() for ward in "ABC")
    assert dc.DirichletCategorical("ward").updated(public).prior == counts
    assert dc.GammaPoisson("visits").updated(public).prior == pytest.approx((1 + frame.visits.sum(), 51))
    assert dc.GammaExponential("wait").updated(public).prior == pytest.approx((51, 1 + frame.wait.sum()), abs=1e-3)
    mean, sd = dc.NormalMean("age", sd=20, prior=(50, 10)).updated(public).prior or (0, 0)
    assert (mean, sd) == pytest.approx(
        ((50 / 100 + frame.age.sum() / 400) / (1 / 100 + 50 / 400), (1 / 100 + 50 / 400) ** -0.5), abs=1e-4
    )
    m, strength, shape, scale = dc.Normal("age", prior=(50, 2, 3, 100)).updated(public).prior or (0, 0, 0, 0)
    assert (strength, shape) == (52, 28)
    assert m == pytest.approx((100 + frame.age.sum()) / 52, abs=0.02)
    residual = ((frame.age - frame.age.mean()) ** 2).sum() + 2 * 50 / 52 * (frame.age.mean() - 50) ** 2
    assert scale == pytest.approx(100 + residual / 2, rel=1e-3)
    niw = dc.MultivariateNormal(("age", "bmi")).updated(public).prior
    assert niw is not None
    assert niw[1:3] == (51, 55)
    assert niw[0] == pytest.approx([(55 + frame.age.sum()) / 51, (30 + frame.bmi.sum()) / 51], abs=0.02)
    regression = dc.LinearRegression("age", ("bmi", "ward")).updated(public)
    assert regression.prior is not None
    design = np.column_stack([np.ones(50), frame.bmi, frame.ward == "B", frame.ward == "C"]).astype(float)
    change = np.array([[1, 30, 0, 0], [0, 20, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    prior_precision = change.T @ change / 9
    precision = prior_precision + design.T @ design
    assert np.asarray(regression.prior[1]) == pytest.approx(precision, rel=2e-3)
    expected = np.linalg.solve(precision, prior_precision @ [55, 0, 0, 0] + design.T @ frame.age)
    assert np.asarray(regression.prior[0]) == pytest.approx(expected, rel=0.02, abs=0.1)
    network = dc.BayesianNetwork({"ward": (), "smoker": ("ward",)}).updated(public)
    assert np.sum(network.prior["smoker"]) == 56  # type: ignore[index]
    bayes = dc.NaiveBayes("ward", ("sex",)).updated(public)
    assert bayes.prior == counts
    assert np.sum(bayes.feature_prior["sex"]) == 56  # type: ignore[index]
