"""Before a private estimator stand public transforms only; whatever else hands over rows is refused, unpaid."""

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler

import discreet as dc
from conftest import COLUMNS
from discreet.sklearn import EstimatorError, PrivateLogisticRegression, check_steps, public_steps

SCHEMA = dc.Schema({name: COLUMNS[name] for name in ("age", "ward", "smoker")})


DOUBLES = {"dtype": np.float64}


class Quiet(FunctionTransformer):
    """A subclass could do anything."""


PUBLIC = {
    "nothing": "passthrough",
    "identity": FunctionTransformer(),
    "columns": ColumnTransformer([("kept", "passthrough", ["age", "ward"])]),
    "chosen": ColumnTransformer([("kept", "passthrough", [0, 1])], remainder="drop"),
    "nested": make_pipeline(FunctionTransformer(), make_column_transformer(("passthrough", ["age", "ward"]))),
}

LEARNED = {
    "scaler": make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["ward"])),
    "remainder": ColumnTransformer([("kept", "passthrough", ["ward"])], remainder=StandardScaler()),
    "imputer": SimpleImputer(strategy="most_frequent"),
    "bins": make_column_transformer((KBinsDiscretizer(encode="ordinal"), ["age"]), ("passthrough", ["ward"])),
    "encoder": OneHotEncoder(),
    "function": FunctionTransformer(lambda X: X),
    "a function in Python that is called a ufunc": FunctionTransformer(np.frompyfunc(lambda cell: cell, 1, 1)),
    "cells that are left out": FunctionTransformer(np.log1p, kw_args={"where": False}),
    "subclass": Quiet(),
    "selector": ColumnTransformer([("kept", "passthrough", make_column_selector())]),
    "nested": make_pipeline(FunctionTransformer(), SimpleImputer(strategy="most_frequent")),
    "union": FeatureUnion([("a", FunctionTransformer())]),
}


@pytest.fixture
def estimator(ledger: dc.Ledger) -> PrivateLogisticRegression:
    mechanism = dc.NoisyScore(epsilon=100.0, delta=1e-6, steps=20)
    return PrivateLogisticRegression(SCHEMA, ledger=ledger, mechanism=mechanism, id="patients")


@pytest.mark.parametrize("name", PUBLIC)
def test_public_transforms_stay(name: str, table: pd.DataFrame, estimator: Any) -> None:
    X, y = table[["age", "ward"]], table["smoker"]
    fitted = Pipeline([("first", PUBLIC[name]), ("last", estimator)]).fit(X, y)
    assert fitted.score(X, y) > 0.7
    assert np.array_equal(fitted.predict(X), estimator.predict(fitted[:-1].transform(X)))


def test_a_frame_keeps_its_names_through_a_column_transformer(table: pd.DataFrame, estimator: Any) -> None:
    chosen = make_column_transformer(("passthrough", ["ward", "age"]), verbose_feature_names_out=False)
    fitted = make_pipeline(chosen.set_output(transform="pandas"), estimator).fit(
        table.drop(columns="smoker"), table.smoker
    )
    assert list(estimator.feature_names_in_) == ["ward", "age"]
    assert list(estimator.release_.model.features) == ["age", "ward"]  # the schema's order: one request, not two
    assert fitted.score(table, table.smoker) > 0.7


def test_a_ufunc_treats_each_cell_by_itself(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    schema = dc.Schema({"age": dc.Bounded(0, 5), "smoker": COLUMNS["smoker"]})
    mechanism = dc.NoisyScore(epsilon=100.0, delta=1e-6, steps=20)
    last = PrivateLogisticRegression(schema, ledger=ledger, mechanism=mechanism, id="patients")
    assert (
        make_pipeline(FunctionTransformer(np.log1p, kw_args=DOUBLES), last)
        .fit(table[["age"]], table.smoker)
        .score(table[["age"]], table.smoker)
        > 0.7
    )


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_learns_from_rows_is_refused(name: str, table: pd.DataFrame, estimator: Any) -> None:
    X, y = table[["age", "ward"]], table["smoker"]
    with pytest.raises(EstimatorError, match=r"public transform|by name or place"):
        check_steps(LEARNED[name])
    with pytest.raises(EstimatorError, match=r"guarantee would be false|by name or place"):
        Pipeline([("first", LEARNED[name]), ("last", estimator)]).fit(X, y)
    assert estimator.ledger.entries() == ()


@pytest.mark.parametrize("function", [np.matmul, np.linalg._umath_linalg.inv, np.add, np.frompyfunc(str, 1, 1)])  # type: ignore[attr-defined]
def test_a_ufunc_of_more_than_one_cell_is_refused(function: Any) -> None:
    with pytest.raises(EstimatorError, match="public transform"):
        check_steps(FunctionTransformer(function, kw_args=DOUBLES))
    check_steps(FunctionTransformer(np.sqrt, kw_args=DOUBLES))


@pytest.mark.parametrize("arguments", [None, {"dtype": None}, {"dtype": np.float32}, {**DOUBLES, "where": False}])
def test_a_ufunc_by_the_type_of_a_column_is_refused(arguments: Any) -> None:
    with pytest.raises(EstimatorError, match="in doubles"):
        check_steps(FunctionTransformer(np.sqrt, kw_args=arguments))


@pytest.mark.parametrize(("kind", "function"), [("int64", np.reciprocal), ("int8", np.square)])
def test_in_doubles_one_missing_cell_changes_no_other(kind: str, function: Any) -> None:
    """The twin: by the type of the column, which one missing cell changes, all others are other numbers."""
    whole = pd.DataFrame({"age": np.arange(2, 40, dtype=kind)})
    missing = whole.astype(float)
    missing.iloc[0, 0] = np.nan
    for arguments, changed in ((DOUBLES, 0), (None, 28)):
        step = FunctionTransformer(function, kw_args=arguments)
        before, after = (np.asarray(step.fit_transform(table), dtype=float)[1:] for table in (whole, missing))
        assert (before != after).sum() >= changed
        assert changed or (before == after).all()


@pytest.mark.parametrize("told", [{"validate": True}, {"inverse_func": np.square}], ids=["refused", "warned of"])
def test_one_cell_of_a_transform_is_not_told(
    told: dict[str, Any], table: pd.DataFrame, ledger: dc.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without the look at it, the same pipeline fails or warns where one cell is another."""
    schema = dc.Schema({"age": dc.Bounded(0, 20), "smoker": COLUMNS["smoker"]})
    mechanism = dc.NoisyScore(epsilon=100.0, delta=1e-6, steps=20)
    bad = table[["age"]].astype(float)
    bad.iloc[0, 0] = np.nan

    def events(cells: pd.DataFrame, named: str) -> tuple[str, list[str]]:
        last = PrivateLogisticRegression(schema, ledger=ledger, mechanism=mechanism, id=named)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                make_pipeline(FunctionTransformer(np.sqrt, kw_args=DOUBLES, **told), last).fit(cells, table.smoker)
            except ValueError as problem:
                return type(problem).__name__, [str(each.message) for each in warned]
        return "fitted", [str(each.message) for each in warned]

    class_of_refusal, _ = events(table[["age"]], "a")
    assert class_of_refusal == EstimatorError.__name__
    assert ledger.entries() == ()
    monkeypatch.setattr(public_steps, "_says_nothing", lambda step: True)
    assert events(table[["age"]], "b") == ("fitted", [])
    assert events(bad, "c") != ("fitted", [])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_without_the_check_a_scaler_would_be_paid_for(
    table: pd.DataFrame, estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the refusal is the check's, not an accident of types."""
    monkeypatch.setattr(public_steps, "check_steps", lambda step, name: None)
    Pipeline([("first", LEARNED["scaler"]), ("last", estimator)]).fit(table[["age", "ward"]], table["smoker"])
    assert len(estimator.ledger.entries()) == 1


@pytest.mark.parametrize(
    "fit",
    [
        lambda e, X, y: cross_val_score(e, X, y, cv=3),
        lambda e, X, y: GridSearchCV(e, {"precision": [1.0, 2.0]}, cv=3).fit(X, y),
        lambda e, X, y: cross_val_score(make_pipeline("passthrough", e), X, y, cv=3),
        lambda e, X, y: BaggingClassifier(e, n_estimators=2).fit(X, y),
        lambda e, X, y: CalibratedClassifierCV(e, cv=3).fit(X, y),
    ],
    ids=["cross_val_score", "GridSearchCV", "a pipeline in a search", "bagging", "calibration"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_who_draws_rows_again_is_refused_before_anything_is_spent(
    fit: Any, table: pd.DataFrame, estimator: Any
) -> None:
    with pytest.raises(ValueError, match=r"own cross-validation|inside another estimator"):
        fit(estimator, table[["age", "ward"]], table["smoker"])
    assert estimator.ledger.entries() == ()


JOBS = {
    "bagging": lambda e: BaggingClassifier(e, n_estimators=2, n_jobs=2),
    "calibration": lambda e: CalibratedClassifierCV(e, cv=3, n_jobs=2),
    "one against the rest": lambda e: OneVsRestClassifier(e, n_jobs=2),
    "a pipeline in bagging": lambda e: BaggingClassifier(make_pipeline("passthrough", e), n_estimators=2, n_jobs=2),
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_jobs_that_run_at_once_have_no_estimator_on_their_stack_and_are_refused(
    name: str, table: pd.DataFrame, estimator: Any
) -> None:
    with joblib.parallel_config("threading"), pytest.raises(ValueError, match="inside another estimator"):
        JOBS[name](estimator.set_params(reuse=True)).fit(table[["age", "ward"]], table["smoker"])
    assert estimator.ledger.entries() == ()


def test_with_estimators_looked_for_alone_jobs_would_be_paid_for(
    table: pd.DataFrame, estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: rows that bagging drew more than once, under the guarantee of one row each."""
    monkeypatch.setattr(public_steps, "HANDS_ON", ("sklearn.",))
    with joblib.parallel_config("threading"):
        JOBS["bagging"](estimator.set_params(reuse=True)).fit(table[["age", "ward"]].to_numpy(), table["smoker"])
    assert len(estimator.ledger.entries()) > 0
