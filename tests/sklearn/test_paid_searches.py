"""Searches tell their whole price before the first fit, charge exactly that, and choose by what was released alone."""

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import discreet as dc
from conftest import COLUMNS
from discreet.sklearn import EstimatorError, PrivateGridSearchCV, PrivateNaiveBayes, private_cross_val_score
from discreet.sklearn.paid_folds import FoldStudy

SCHEMA = dc.Schema({name: COLUMNS[name] for name in ("age", "ward", "smoker")})
SCORES = dc.NoisyStatistics(epsilon=20.0)


def bayes(ledger: Any, **options: Any) -> PrivateNaiveBayes:
    mechanism = options.pop("mechanism", dc.NoisyStatistics(epsilon=20.0))
    return PrivateNaiveBayes(
        options.pop("schema", SCHEMA), target="smoker", ledger=ledger, mechanism=mechanism, id="patients", **options
    )


def search(ledger: Any, **options: Any) -> PrivateGridSearchCV:
    how = {"mechanism": SCORES, "cv": 2, **options}
    return PrivateGridSearchCV(bayes(ledger), {"feature_prior": [1.0, 1000.0]}, **how)


def parts(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    return table[["age", "ward"]], table["smoker"]


def test_the_price_is_told_first_and_is_what_is_charged(
    table: pd.DataFrame, ledger: dc.Ledger, capsys: pytest.CaptureFixture
) -> None:
    X, y = parts(table)
    searched = search(ledger)
    told = searched.price(X, y)
    assert ledger.entries() == ()
    assert re.search("4 fits .* 4 scores .* 1 refit take at most", told)
    searched.fit(X, y)
    assert capsys.readouterr().out == told + "\n"
    assert searched.price_ == told
    assert len(ledger.entries()) == 9
    left = re.search(r"; (.*) will be left", told)
    assert left is not None
    assert left[1] == ledger.filter.describe(ledger.remaining(), ledger.budget)
    assert searched.best_params_ == {"feature_prior": 1.0}  # the other says next to nothing
    assert searched.best_estimator_.release_.recipe["dataset"] == "patients"
    assert searched.score(X, y) > 0.65
    again = pickle.loads(pickle.dumps(searched))
    assert np.array_equal(again.predict_proba(X), searched.predict_proba(X))


def test_what_does_not_fit_is_refused_before_anything_is_charged(table: pd.DataFrame, tmp_path: Any) -> None:
    """Eight of nine requests would fit: none is made."""
    small = dc.Ledger.create(tmp_path / "small.ledger", dc.Budget(epsilon=170.0))
    with pytest.raises(dc.BudgetExceeded, match="1 refit do not fit, and nothing was charged"):
        search(small).fit(*parts(table))
    assert small.entries() == ()
    search(small, refit=False).fit(*parts(table))
    assert len(small.entries()) == 8


def test_scores_by_fold_are_releases(table: pd.DataFrame, ledger: dc.Ledger, capsys: pytest.CaptureFixture) -> None:
    X, y = parts(table)
    found = private_cross_val_score(bayes(ledger), X, y, mechanism=SCORES, cv=2)
    assert "2 fits + 2 scores" in capsys.readouterr().out
    assert found.shape == (2,)
    assert np.all((found > 0.7) & (found < 1.0))
    names = [entry.recipe["dataset"] for entry in ledger.entries()]
    assert names == [
        "patients: all but fold 1 of 2, seed 0",
        "patients: fold 1 of 2, seed 0",
        "patients: all but fold 2 of 2, seed 0",
        "patients: fold 2 of 2, seed 0",
    ]
    spent = ledger.spent()
    with pytest.raises(EstimatorError, match="reuse=True"):
        private_cross_val_score(bayes(ledger), X, y, mechanism=SCORES, cv=2)
    again = private_cross_val_score(bayes(ledger, reuse=True), X, y, mechanism=SCORES, cv=2)
    assert np.array_equal(again, found)
    assert ledger.spent() == spent


def test_folds_are_dealt_by_place_and_never_by_label(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """Neighbouring tables have the same folds, of the same sizes; every row is held out once."""
    X, y = parts(table)
    how = {"cv": 3, "seed": 4, "metric": "auc", "mechanism": SCORES}
    one = FoldStudy.of("x", [bayes(ledger)], X, y, how).folds
    other = FoldStudy.of("x", [bayes(ledger)], X[::-1], y[::-1].replace("no", "yes"), how).folds
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    assert sorted(np.concatenate(one)) == list(range(len(y)))


def test_a_row_that_leaves_would_deal_all_others_anew(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """Why add-remove is refused: a guarantee of a fold is about one row, and half of the fold would be others."""
    how = {"cv": 2, "seed": 0, "metric": "auc", "mechanism": SCORES}
    sides = []
    for rows in (table, table.drop(index=table.index[7])):
        study = FoldStudy.of("x", [bayes(ledger)], *parts(rows), how)
        sides.append([set(rows.index[fold]) for fold in study.folds])
    assert min(len(one ^ other) for one, other in zip(*sides, strict=True)) > len(table) / 4


def test_what_is_kept_and_shown_of_a_search_holds_no_row(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """A cell that no other has is looked for in pickles and in texts; in the table's own pickle it is found."""
    rows = table.assign(age=np.where(np.arange(len(table)) == 3, 61.70318245, table.age))
    cell = np.float64(61.70318245).tobytes()
    searched = search(ledger).fit(*parts(rows))
    how = {"cv": 2, "seed": 0, "metric": "auc", "mechanism": SCORES}
    study = FoldStudy.of("x", [bayes(ledger)], *parts(rows), how)
    assert cell in pickle.dumps(rows)
    assert cell not in pickle.dumps(searched)
    assert "61.7031" in repr(rows.iloc[3:4])
    assert "61.7031" not in f"{study!r} {searched!r} {vars(searched)!r}"


def test_several_ledgers_and_lengths_are_refused_before_one_is_paid(
    table: pd.DataFrame, ledger: dc.Ledger, tmp_path: Any
) -> None:
    """A price is of one ledger; a row of X without a label has no fold."""
    X, y = parts(table)
    other = dc.Ledger.create(tmp_path / "other.ledger", dc.Budget(epsilon=1000.0))
    with pytest.raises(EstimatorError, match="one ledger pays"):
        PrivateGridSearchCV(bayes(ledger), {"ledger": [ledger, other]}, mechanism=SCORES, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        private_cross_val_score(bayes(ledger), X, y[:-5], mechanism=SCORES, cv=2)
    assert ledger.entries() == other.entries() == ()


def test_public_steps_may_stand_before(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    X, y = parts(table)
    found = private_cross_val_score(make_pipeline(FunctionTransformer(), bayes(ledger)), X, y, mechanism=SCORES, cv=2)
    assert found.mean() > 0.7


REFUSED = {
    "a scaler": (lambda ledger: make_pipeline(StandardScaler(), bayes(ledger)), {}, "public transform"),
    "another estimator": (lambda ledger: LogisticRegression(), {}, "must be a private classifier"),
    "one fold": (bayes, {"cv": 1}, "folds from 2"),
    "no mechanism of fits": (lambda ledger: bayes(ledger, mechanism=None), {}, "mechanism must be"),
    "another metric": (bayes, {"metric": "accuracy"}, "must be one of"),
    "persons": (
        lambda ledger: bayes(ledger, schema=dc.Schema(SCHEMA.columns, unit=dc.Person("who", 2))), {}, "tear the rows"
    ),
    "rows that come and go": (
        lambda ledger: bayes(ledger, schema=dc.Schema(SCHEMA.columns, relation="add-remove", n_max=10**4)),
        {}, "deal all others anew",
    ),
    "no ledger": (lambda ledger: bayes(None), {}, "ledger must be"),
    "no mechanism of scores": (bayes, {"mechanism": None}, "mechanism must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_searched_is_refused_unpaid(name: str, table: pd.DataFrame, ledger: dc.Ledger) -> None:
    make, options, words = REFUSED[name]
    how = {"mechanism": SCORES, **options}
    with pytest.raises(dc.DiscreetError, match=words):
        private_cross_val_score(make(ledger), *parts(table), **how)
    assert ledger.entries() == ()


def test_a_search_inside_a_search_is_refused(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    with pytest.raises(ValueError, match="own cross-validation"):
        cross_val_score(search(ledger), *parts(table), cv=2, error_score="raise")
    assert ledger.entries() == ()


def test_a_clone_is_a_search_that_was_not_fitted(ledger: dc.Ledger) -> None:
    searched = search(str(ledger.path), metric="auc")
    assert clone(searched).get_params()["metric"] == "auc"
    assert clone(searched).set_params(estimator__prior=2.0).estimator.prior == 2.0


def test_candidates_that_ask_the_same_are_refused_before_one_is_paid(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    same = PrivateGridSearchCV(bayes(ledger), {"prior": [1, 1.0]}, mechanism=SCORES, cv=2)
    with pytest.raises(EstimatorError, match="two candidates ask the same"):
        same.fit(*parts(table))
    assert ledger.entries() == ()


def test_a_search_says_nothing_of_a_cell_that_a_transform_cannot_take(table: pd.DataFrame, ledger: dc.Ledger) -> None:
    """The twin is scikit-learn's own pipeline, which the search keeps silent: NumPy tells of the one row with a 0."""
    X, y = parts(table)
    X = X[["age"]].assign(age=[0.0, *X["age"][1:]])
    schema = dc.Schema({"age": dc.Bounded(0, 5, cut=[2, 4], missing=0), "smoker": COLUMNS["smoker"]})
    piped = make_pipeline(FunctionTransformer(np.log, kw_args={"dtype": np.float64}), bayes(ledger, schema=schema))
    grid = {"privatenaivebayes__feature_prior": [1.0]}
    PrivateGridSearchCV(piped, grid, mechanism=SCORES, cv=2, verbose=False).fit(X, y)  # a warning is an error
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        piped[:-1].fit_transform(X)
