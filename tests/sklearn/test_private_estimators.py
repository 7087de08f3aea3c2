"""What is fitted is one release: its answers are the posterior's, its price is the ledger's, its pickle holds no row."""

import io
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError

import discreet as dc
from conftest import COLUMNS
from discreet.sklearn import (
    EstimatorError,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivatePoissonRegression,
    fitted_tables,
)

# so little noise that a score by chance cannot fail a test
SCORES = dc.NoisyScore(epsilon=100.0, delta=1e-6, steps=20)
COUNTS = dc.NoisyStatistics(epsilon=100.0)
KINDS: dict[str, tuple[Any, str, Any]] = {
    "logistic": (PrivateLogisticRegression, "smoker", SCORES),
    "draws": (PrivateLogisticRegression, "smoker", dc.GibbsPosterior(epsilon=2.0, delta=1e-6, steps=50)),
    "bayes": (PrivateNaiveBayes, "smoker", COUNTS),
    "linear": (PrivateLinearRegression, "pressure", COUNTS),
    "poisson": (PrivatePoissonRegression, "visits", SCORES),
}


def made(name: str, paid_by: Any, **options: Any) -> Any:
    kind, target, mechanism = KINDS[name]
    schema = dc.Schema({column: COLUMNS[column] for column in ("age", "ward", target)})
    return kind(**{"schema": schema, "ledger": paid_by, "mechanism": mechanism, "id": "patients", **options})


def parts(name: str, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    return table[["age", "ward"]], table[KINDS[name][1]]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_answers_are_those_of_the_release(name: str, table: pd.DataFrame, ledger: dc.Ledger) -> None:
    X, y = parts(name, table)
    fitted = made(name, ledger).fit(X, y)
    (entry,) = ledger.entries()
    assert entry.release == fitted.release_.to_json()
    assert fitted.guarantee_ == fitted.release_.guarantee == entry.guarantee
    assert fitted.release_.recipe["dataset"] == "patients"
    assert list(fitted.feature_names_in_) == ["age", "ward"]
    assert fitted.n_features_in_ == 2
    posterior = fitted.release_.posterior()
    if hasattr(fitted, "predict_proba"):
        expected = posterior.predict_proba(X)
        assert np.array_equal(fitted.predict_proba(X), expected)
        assert list(fitted.classes_) == ["no", "yes"]
        assert np.array_equal(fitted.predict(X), np.array(["no", "yes"])[expected.argmax(axis=1)])
    else:
        found = posterior.predict(X)
        assert np.allclose(fitted.predict(X), found["mean"] if isinstance(found, dict) else found)
    assert fitted.score(X, y) > {"logistic": 0.7, "draws": 0.5, "bayes": 0.65, "linear": 0.5, "poisson": 0.1}[name]


@pytest.mark.parametrize("name", ["logistic", "linear", "poisson"])
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_coefficients_have_names_and_intervals(name: str, table: pd.DataFrame, ledger: dc.Ledger) -> None:
    fitted = made(name, ledger).fit(*parts(name, table))
    coefficients = np.ravel(fitted.coef_)
    assert coefficients.shape == fitted.coef_names_.shape
    for place, coefficient in enumerate(fitted.coef_names_):
        lower, upper = fitted.intervals_[coefficient]
        assert lower < coefficients[place] < upper
    lower, upper = fitted.intervals_["intercept"]
    assert lower < float(np.ravel(fitted.intercept_)[0]) < upper
    assert fitted.intervals_["age"][0] > 0.0  # what the table was made with


def test_intervals_that_a_release_cannot_give_are_not_there(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    fitted = made("draws", ledger).fit(*parts("draws", table))
    assert not hasattr(fitted, "intervals_")
    with pytest.raises(dc.QueryError, match="the spread of a draw is not the uncertainty"):
        fitted.intervals_  # noqa: B018


def test_every_frame_and_array_is_the_same_table(table: pd.DataFrame, tmp_path: Path) -> None:
    """The request, and the prediction from one release, of each way to hand over X and y."""
    X, y = parts("bayes", table)
    table.to_csv(tmp_path / "patients.csv", index=False)
    arrow, polars = pa.Table.from_pandas(X), pl.from_pandas(X)
    ways = {
        "pandas": (X, y),
        "values": (X, y.to_numpy()),
        "shuffled index": (X, y.set_axis(y.index[::-1])),
        "numbered": (X.set_axis([0, 1], axis=1), y),
        "polars": (polars, pl.Series("smoker", y.to_list())),
        "polars and list": (polars, y.to_list()),
        "arrow": (arrow, pa.array(y)),
        "array": (X.to_numpy(), y.to_numpy()),
        "lists": (X.to_numpy().tolist(), y.to_list()),
        "with the target": (table[["age", "ward", "smoker"]], None),
        "path": (str(tmp_path / "patients.csv"), None),
    }
    exact = {}
    for way, (held, labels) in ways.items():
        ledger = dc.Ledger.create(tmp_path / f"{way}.ledger", dc.Budget(epsilon=1e4))
        fitted = made("bayes", ledger, mechanism=dc.NoisyStatistics(epsilon=700.0)).fit(held, labels)
        exact[way] = {name: value.tolist() for name, value in fitted.release_.value.items()}
        assert fitted.predict_proba(held if labels is not None else X).shape == (len(X), 2)
    assert all(value == exact["pandas"] for value in exact.values()), exact
    fitted = made("bayes", tmp_path / "pandas.ledger", mechanism=dc.NoisyStatistics(epsilon=700.0), reuse=True).fit(
        X, y
    )
    expected = fitted.predict_proba(X)
    for held in (arrow, polars, X.iloc[:, ::1]):
        assert np.array_equal(fitted.predict_proba(held), expected)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(fitted.predict_proba(X.to_numpy()), expected)


def test_a_second_fit_is_never_answered_with_rows_of_the_first(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """The ledger knows names, not rows: other rows under the same name are refused, and nothing is spent."""
    X, y = parts("logistic", table)
    first = made("logistic", ledger).fit(X[:200], y[:200])
    spent = ledger.spent()
    for again in (first, clone(first), made("logistic", ledger)):
        with pytest.raises(EstimatorError, match="other rows need another id"):
            again.fit(X[200:], y[200:])
    assert ledger.spent() == spent
    same = clone(first).set_params(reuse=True).fit(X[:200], y[:200])
    assert same.release_ == first.release_
    assert ledger.spent() == spent
    other = clone(first).set_params(id="the other half").fit(X[200:], y[200:])
    assert other.release_ != first.release_
    assert ledger.spent() > spent


def test_a_reservation_of_another_process_is_not_resumed(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """Two folds at once under one name: the second must not get what the first is about to settle."""
    from discreet.pipeline import purchase

    X, y = parts("logistic", table)
    estimator = made("logistic", ledger)
    dataset, model = estimator._asked(X, y)
    (paid,) = purchase([(model, dataset, SCORES)], ledger)
    assert paid.entry.is_new
    with pytest.raises(EstimatorError, match="other rows need another id"):
        estimator.fit(X, y)
    assert estimator.set_params(reuse=True).fit(X, y).release_.entry == paid.entry.id


CANARIES = (71.123456789, 33.987654321)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_a_pickle_predicts_alike_and_holds_no_row(
    name: str, table: pd.DataFrame, ledger: dc.Ledger, tmp_path: Path
) -> None:
    X, y = parts(name, table.assign(age=[*CANARIES, *table.age[2:]], ward=["canary-ward", *table.ward[1:]]))
    fitted = made(name, ledger).fit(X, y)
    held = pickle.dumps(fitted)
    for canary in CANARIES:
        assert np.float64(canary).tobytes() not in held
        assert np.float64(canary).tobytes()[::-1] not in held
        assert repr(canary).encode() not in held
    assert b"canary-ward" not in held
    assert np.float64(CANARIES[0]).tobytes()[::-1] in pickle.dumps((CANARIES, fitted))  # the search would find one
    expected = fitted.predict(table[["age", "ward"]])
    for file in tmp_path.glob("study.ledger*"):
        file.unlink()  # what was fitted predicts where the ledger is not
    again = pickle.load(io.BytesIO(held))
    assert np.array_equal(again.predict(table[["age", "ward"]]), expected)
    assert again.ledger == str(ledger.path)
    with pytest.raises(dc.LedgerError):
        again.set_params(id="other").fit(X, y)


@pytest.mark.parametrize("name", ["logistic", "bayes", "linear", "poisson"])
def test_clones_keep_their_parameters(name: str, tmp_path: Path) -> None:
    estimator = made(name, tmp_path / "study.ledger")
    params = estimator.get_params()
    assert clone(estimator).get_params() == params
    assert set(params) >= {"schema", "ledger", "mechanism", "id", "target", "reuse"}
    assert estimator.set_params(id="other").get_params()["id"] == "other"
    with pytest.raises(NotFittedError):
        estimator.predict(pd.DataFrame({"age": [1.0], "ward": ["A"]}))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"schema": None}, "schema must be a dc.Schema"),
        ({"ledger": None}, "ledger must be a dc.Ledger or the path of one"),
        ({"mechanism": None}, r"mechanism must be a mechanism, got None: .* mechanism=dc.NoisyScore\(epsilon=1.0, "),
        ({"mechanism": 1.0}, r"PrivateLogisticRegression.mechanism must be a mechanism, got 1.0"),
        ({"id": None}, 'PrivateLogisticRegression.id must be a public name of these rows.*id="patients-2026"'),
        ({"target": "age"}, "target must be the column that y is, got 'age' and a y called 'smoker'"),
        ({"target": "weight"}, "target must be one of the declared columns"),
        ({"mechanism": dc.NoisyStatistics(epsilon=1.0)}, "must be asked by one of"),
        ({"mechanism": dc.NoisyScore(epsilon=1e4, delta=1e-6)}, "budget"),
        ({"precision": -1.0}, "precision must be"),
    ],
)
def test_a_wrong_argument_is_told_and_nothing_is_spent(
    options: dict[str, Any], told: str, table: pd.DataFrame, ledger: dc.Ledger
) -> None:
    with pytest.raises(dc.DiscreetError, match=told):
        made("logistic", ledger, **options).fit(*parts("logistic", table))
    assert ledger.entries() == ()


def test_columns_that_are_not_declared_are_told_with_what_to_type(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    X, y = parts("logistic", table)
    declared = made("logistic", ledger).schema
    own = [name for name in declared.columns if name != y.name]
    with pytest.raises(EstimatorError, match=r"choose the declared ones, as in X\[\['.*or declare \['more'\], too"):
        made("logistic", ledger).fit(X.assign(more=1), y)
    with pytest.raises(EstimatorError, match=rf"\['{own[-1]}'\] are not there; leave them out of the schema"):
        made("logistic", ledger).fit(X[own[:-1]], y)
    without = dc.Schema({name: declared.column(name) for name in own})
    with pytest.raises(EstimatorError, match=rf"'{own[-1]}' is the target; declare the column of y"):
        made("logistic", ledger, schema=without, target=None).fit(X[own], y.rename("unheard of"))
    assert ledger.entries() == ()


def test_columns_that_are_not_declared_are_refused(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    X, y = parts("logistic", table)
    estimator = made("logistic", ledger)
    for held in (X.assign(more=1), X[["age"]], X.to_numpy()[:, :1], X.to_numpy().tolist()[0]):
        with pytest.raises(ValueError, match=r"declared columns|features|2D"):
            estimator.fit(held, y)
    with pytest.raises(EstimatorError, match="y must be one column of cells"):
        estimator.fit(X, y[:-1])
    assert ledger.entries() == ()


def test_bad_cells_change_no_event(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """NaN, infinite numbers and unknown levels are what the schema says; fitting does not tell them apart."""
    X, y = parts("logistic", table)
    odd = X.assign(age=[np.nan, np.inf, *X.age[2:]], ward=["?", None, *X.ward[2:]])
    fitted = made("logistic", ledger).fit(odd, y.where(y.index > 1, "perhaps"))
    assert fitted.predict_proba(X).shape == (len(X), 2)


def one_label(held: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """Truth values become objects."""
    labels = labels.astype(object)
    labels[0] = None
    return held, labels


def one_number(held: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """Truth values that a transform had joined with numbers stay truth values."""
    columns = pd.DataFrame({"age": held[:, 0].astype(object), "ward": held[:, 1] == 1.0})
    columns.iloc[0, 0] = "old"
    return make_column_transformer(*(("passthrough", [name]) for name in columns)).fit_transform(columns), labels


def one_complex_number(held: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """All cells become complex."""
    held = held.astype(complex)
    held[0, 0] = 1j
    return held, labels


@pytest.mark.parametrize("settled", [True, False], ids=["as it is", "the twin"])
@pytest.mark.parametrize("change", [one_label, one_number, one_complex_number])
def test_one_cell_of_an_array_moves_one_row(change: Any, settled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array has one type, which its cells choose; the twin leaves it at that, and one cell moves all rows."""
    if not settled:
        held_by_arrow = fitted_tables._cells
        monkeypatch.setattr(fitted_tables, "_settled", lambda cells, _: cells)
        monkeypatch.setattr(
            fitted_tables, "_cells", lambda cells: (pa.array if cells.dtype == bool else held_by_arrow)(cells)
        )
    X = np.column_stack([np.full(40, 30.0), np.arange(40) % 2 == 0])
    y = np.arange(40) % 4 < 2
    columns = {**COLUMNS, "ward": dc.Categorical(["false", "true"])}
    schema = dc.Schema({name: columns[name] for name in ("age", "ward", "smoker")})
    counted = []
    for held, labels in ((X, y), change(X, y)):
        dataset, model = PrivateNaiveBayes(schema, mechanism=COUNTS, id="patients")._asked(held, labels)
        counted.append(dataset.source.statistics(model.query(dataset.schema)))
    before, after = counted
    moved = max(int(np.abs(before[name] - after[name]).sum()) for name in before)
    assert moved <= 2 if settled else moved >= 20


ODD = [Decimal("sNaN"), pd.Timestamp("2026-01-01"), pd.NaT, [1], 1j]


@pytest.mark.parametrize("rest", ["no", None])
def test_one_label_of_any_kind_changes_no_event(rest: str | None, ledger: dc.Ledger) -> None:
    """Where all others are labels, and where they are missing: pandas finds types in what is left."""
    X = pd.DataFrame({"age": [30.0] * 4, "ward": ["A"] * 4})
    for number, cell in enumerate([rest, *ODD]):
        labels = pd.Series([rest] * 4, dtype=object)
        labels.iloc[1] = cell
        made("bayes", ledger, id=f"patients {number}").fit(X, labels)
    assert len(ledger.entries()) == 1 + len(ODD)


@pytest.mark.parametrize("cell", ODD[:2])
def test_without_a_type_pandas_looks_at_labels(cell: Any, ledger: dc.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: joined as it was, one label refuses the table."""

    def joined(features: pd.DataFrame, labels: pd.Series, target: str, _: Any) -> pd.DataFrame:
        return features.assign(**{target: pd.Series(labels.array, index=features.index)})

    monkeypatch.setitem(fitted_tables._JOINS, "pandas", joined)
    X = pd.DataFrame({"age": [30.0] * 4, "ward": ["A"] * 4})
    labels = pd.Series([None] * 4, dtype=object)
    made("bayes", ledger).fit(X, labels)
    labels.iloc[1] = cell
    with pytest.raises((EstimatorError, dc.SchemaError)):
        made("bayes", ledger, id="others").fit(X, labels)


def test_persons_are_told_by_their_column(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    X, y = parts("bayes", table)
    schema = dc.Schema(
        {name: COLUMNS[name] for name in ("age", "ward", "smoker")}, unit=dc.Person("who", max_records=2)
    )
    owned = X.assign(who=np.arange(len(X)) // 2)
    fitted = made("bayes", ledger, schema=schema).fit(owned, y)
    assert list(fitted.feature_names_in_) == ["age", "ward"]
    assert np.array_equal(fitted.predict_proba(owned), fitted.predict_proba(X))
    assert fitted.release_.query.schema.n == len(X) // 2
    with pytest.raises(EstimatorError, match="frame where units are persons"):
        made("bayes", ledger, schema=schema).fit(X.to_numpy(), y)
