"""Released coefficients: predictions by the rules of the private encoding, and bands from public information."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

import discreet as dc
from discreet.auditing.loss_attack import dense_rows
from discreet.posterior import CoefficientDraws
from discreet.posterior.new_rows import new_rows
from discreet.sources.open import open_dataset

COLUMNS = {
    "x": dc.Bounded(-1, 3, missing=0.5),
    "k": dc.Count(8, missing=0),
    "g": dc.Categorical(["a", "2", "3.5"], missing="2"),
    "b": dc.Binary(missing=0),
    "y": dc.Binary(),
}
CELLS = {
    "x": [0.0, 5.0, -9.0, 0.123456789, np.nan, np.inf, -np.inf, 1e308, 2.0],
    "k": [0, 3, 8, 99, -4, 2.5, np.nan, np.inf, 1],
    "g": ["a", "2", "2.0", "3.50", "unknown", None, " 2 ", "A", "3.5"],
    "b": ["1", "TRUE", "false", "0.0", "x", None, "True", "1e0", "2"],
}
SCHEMA = dc.Schema(COLUMNS)


def draws_of(model: dc.LogisticRegression, values: np.ndarray, n: int = 100, **options: object) -> CoefficientDraws:
    query = model.query(dc.Schema(COLUMNS, n=n))
    given = {"beta": 0.3, "precision": 2.0, "stationary": True, **options}
    return CoefficientDraws({query.parameter: values}, query, **given)


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
@pytest.mark.parametrize("radius", [None, 0.9])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["pandas", "polars", "mapping"])
def test_new_rows_are_encoded_like_private_ones(kind: str, intercept: bool, radius: float | None) -> None:
    """The same cells, bad ones included, through the engine and through post-processing."""
    frame = pd.DataFrame(CELLS).assign(y=0)
    model = dc.LogisticRegression("y", ("g", "x", "b", "k"), intercept=intercept, radius=radius, interval=(-1.0, 0.5))
    dataset = open_dataset(frame, SCHEMA, id="t")
    query = model.query(dataset.schema)
    with dataset.source.design(query) as design:
        private, _ = dense_rows(query, design, len(frame))
    records = {"pandas": frame, "polars": pl.from_pandas(frame), "mapping": CELLS}[kind]
    np.testing.assert_allclose(new_rows(query, records), private, rtol=1e-13, atol=1e-15)


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
def test_numbers_written_as_texts_are_read_as_the_source_reads_them() -> None:
    texts = pd.DataFrame({"x": ["1.5", "nonsense", "", None, "inf", "1e400", "-0.25"], "y": 0})
    query = dc.LogisticRegression("y", ("x",)).query(dc.Schema(COLUMNS, n=7))
    schema = dc.Schema({name: COLUMNS[name] for name in ("x", "y")})
    with open_dataset(texts, schema, id="t").source.design(query) as design:
        private, _ = dense_rows(query, design, len(texts))
    np.testing.assert_allclose(new_rows(query, texts), private, rtol=1e-13)


def test_cells_that_exclude_a_row_are_refused_in_new_rows() -> None:
    schema = dc.Schema(
        {
            "x": dc.Bounded(0, 1, missing="exclude"),
            "g": dc.Categorical(["a", "b"], missing="exclude"),
            "y": dc.Binary(),
        },
        n=5,
    )
    query = dc.LogisticRegression("y", ("x", "g")).query(schema)
    good = {"x": [0.5], "g": ["a"]}
    assert new_rows(query, good).shape == (1, 4)
    for name, cell in (("x", np.nan), ("g", "c")):
        with pytest.raises(dc.QueryError, match=rf"new rows must have .* in column '{name}', .*, got one in row 0"):
            new_rows(query, {**good, name: [cell]})
    with pytest.raises(dc.QueryError, match=r"new rows must have the columns \['x', 'g'\], got others"):
        new_rows(query, {"x": [1.0]})
    with pytest.raises(dc.QueryError, match="new rows must be columns of one length"):
        new_rows(query, {"x": [1.0, 2.0], "g": ["a"]})


def test_predictions_average_over_the_draws() -> None:
    values = np.array([[0.5, -1.0, 2.0, 0.0], [0.0, 1.0, -1.0, 0.3]])
    schema = dc.Schema({**COLUMNS, "label": dc.Categorical(["no", "yes"]), "t": dc.Bounded(-2, 6)}, n=10)
    rows = {"g": ["a", "2", "3.5"]}
    z = np.concatenate([np.ones((3, 1)), np.eye(3)], axis=1)
    margins = values @ z.T

    def posterior(model: object) -> CoefficientDraws:
        return CoefficientDraws({"coefficients": values}, model.query(schema), 0.3, 2.0, True)

    logistic = posterior(dc.LogisticRegression("label", ("g",)))
    np.testing.assert_allclose(logistic.decision(rows), margins)
    upper = expit(margins).mean(axis=0)
    np.testing.assert_allclose(logistic.predict_proba(rows), np.stack([1 - upper, upper], axis=1))
    assert logistic.predict(rows).tolist() == [("no", "yes")[int(p > 0.5)] for p in upper]
    hinge = posterior(dc.HingeClassifier("label", ("g",)))
    assert hinge.predict(rows).tolist() == [("no", "yes")[int(m > 0)] for m in margins.mean(axis=0)]
    huber = posterior(dc.HuberRegression("t", ("g",)))
    np.testing.assert_allclose(huber.predict(rows), 2 + 4 * margins.mean(axis=0), atol=1e-5)
    poisson = posterior(dc.PoissonRegression("k", ("g",)))
    np.testing.assert_allclose(poisson.predict(rows), np.exp(margins).mean(axis=0))
    convex = posterior(dc.ConvexLoss("label", ("g",)))
    assert convex.predict(rows).tolist() == hinge.predict(rows).tolist()
    for other in (hinge, huber, poisson, convex):
        with pytest.raises(dc.QueryError, match="predict_proba must have a logistic model"):
            other.predict_proba(rows)
    np.testing.assert_allclose(logistic.mean(), values.mean(axis=0))
    assert logistic.names == ("intercept", "g=a", "g=2", "g=3.5")
    assert logistic.draws == 2
    assert set(logistic.to_datatree()["posterior"].data_vars) == {"coefficients"}


def test_a_mean_has_no_predictions() -> None:
    query = dc.QuadraticMean(("x",)).query(dc.Schema(COLUMNS, n=4))
    mean = CoefficientDraws({"mean": np.zeros((1, 1))}, query, 0.3, 1.0, True)
    with pytest.raises(dc.QueryError, match=r"CoefficientDraws\.decision must have a model with a target, got a mean"):
        mean.predict({"x": [0.0]})


@pytest.mark.parametrize("draws", [1, 3])
def test_bands_are_those_of_the_normal_law_of_a_draw(draws: int) -> None:
    """One feature: w = s θ + noise of known variance, and a normal prior, in scalars."""
    model = dc.LogisticRegression("y", ("x",), intercept=False, precision=2.0)
    values = np.linspace(0.2, 0.6, draws).reshape(draws, 1)
    found = draws_of(model, values, n=500)
    j, beta, precision = 40.0, 0.3, 2.0
    h = beta * j + precision
    s, noise = beta * j / h, 1 / h / draws + beta**2 * j / h**2
    posterior = 1 / (s**2 / noise + precision)
    mean = posterior * s / noise * values.mean()
    low, high = found.interval(0.9, information=[[j]])[0]
    assert (low + high) / 2 == pytest.approx(mean, rel=1e-9)
    assert (high - low) / 2 == pytest.approx(1.6448536 * np.sqrt(posterior), rel=1e-6)
    assert found.sd(information=[[j]])[0] == pytest.approx(np.sqrt(posterior), rel=1e-9)


def test_a_recommended_precision_is_no_belief_about_coefficients() -> None:
    """Where none was declared the bands use a wide prior, whatever the draw was made with."""
    one = draws_of(dc.LogisticRegression("y", ("x",), intercept=False), np.array([[0.5]]), precision=20.0)
    j, h = 400.0, 0.3 * 400 + 20
    noise = 1 / h + 0.3**2 * j / h**2
    s = 0.3 * j / h
    posterior = 1 / (s**2 / noise + 1 / 1600)  # R = 1: precision R²/1600
    assert one.sd(information=[[j]])[0] == pytest.approx(np.sqrt(posterior), rel=1e-9)
    assert one.interval(information=[[j]]).mean() == pytest.approx(posterior * s / noise * 0.5, rel=1e-9)


def test_information_is_that_of_the_rows_scaled_to_the_table() -> None:
    model = dc.LogisticRegression("y", ("x",), precision=1e-6)
    found = draws_of(model, np.array([[0.3, -0.8]]), n=1000, precision=1e-6, beta=1.0)
    rows = {"x": np.linspace(-1, 3, 101)}
    z = new_rows(found.query, rows)
    p = expit(z @ np.array([0.3, -0.8]))
    due = (z * (p * (1 - p))[:, None]).T @ z * (1000 / 101)
    np.testing.assert_allclose(found.information(rows), due, rtol=1e-4)
    np.testing.assert_allclose(found.information(rows, n=10), due / 100, rtol=1e-4)


def test_bands_are_refused_where_the_law_of_a_draw_is_unknown() -> None:
    model = dc.LogisticRegression("y", ("x",))
    with pytest.raises(dc.QueryError, match=r"CoefficientDraws\.interval must have information="):
        draws_of(model, np.zeros((1, 2))).interval()
    with pytest.raises(dc.QueryError, match="must have a stationary chain or exact draws"):
        draws_of(model, np.zeros((1, 2)), stationary=False).interval(information=np.eye(2))
    with pytest.raises(dc.QueryError, match="information must be a matrix 2 x 2"):
        draws_of(model, np.zeros((1, 2))).interval(information=np.eye(3))
    with pytest.raises(dc.QueryError, match=r"level must be in \(0, 1\), got 1\.0"):
        draws_of(model, np.zeros((1, 2))).interval(1.0, information=np.eye(2))
    hinge = dc.HingeClassifier("y", ("x",)).query(dc.Schema(COLUMNS, n=10))
    with pytest.raises(dc.QueryError, match="information must have a likelihood, got the hinge loss"):
        CoefficientDraws({"coefficients": np.zeros((1, 2))}, hinge, 0.3, 1.0, True).information({"x": [0.0]})
