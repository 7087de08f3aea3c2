"""A cell of a new record counts as what it trained as; what means nothing is refused, in words about the column.

What single cells mean, in every holder, is in `tests/sources/test_one_meaning_of_a_cell.py`.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.noise import DiscreteLaplace
from discreet.posterior import CoefficientDraws, NaiveBayesPosterior, naive_bayes_from_tables
from discreet.posterior.new_rows import new_rows
from discreet.schema.row_counts import KnownSize

MIXED = ["yes", "no", 1, 2.0, None, True, "1.0", "YES", math.nan]
COLUMNS: dict[str, Any] = {
    "words": dc.Categorical(["yes", "no"], missing="no"),
    "numbers": dc.Categorical([1, 2], missing=2),
    "binary": dc.Binary(missing=1),
}


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
def test_regression_and_classifier_take_a_cell_for_the_same_level() -> None:
    for records in (
        dict.fromkeys(COLUMNS, MIXED),
        pd.DataFrame(dict.fromkeys(COLUMNS, pd.Series(MIXED, dtype=object))),
    ):
        query = dc.LogisticRegression("y", tuple(COLUMNS)).query(dc.Schema({**COLUMNS, "y": dc.Binary()}, n=9))
        z = new_rows(query, records)
        codes = classifier(COLUMNS)._read(records).T
        for name, offset, row in zip(query.features.categories, query.features.offsets, codes, strict=True):
            assert z[:, offset : offset + 2].argmax(axis=1).tolist() == row.tolist(), name
        assert codes.tolist() == [
            [0, 1, 1, 1, 1, 1, 1, 1, 1],
            [1, 1, 0, 1, 1, 1, 0, 1, 1],
            [1, 1, 1, 1, 1, 1, 1, 1, 1],
        ]


def test_a_missing_cell_predicts_as_the_level_it_trained_as() -> None:
    frame = pd.DataFrame({"y": [0, 1] * 20, "ward": ["A", "B", None, "C"] * 10})
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"], missing="B")})
    data = dc.open(frame, schema, id="wards")
    (made,) = dc.simulate(dc.NaiveBayes("y", ("ward",)), data, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=0)
    for posterior in (made.posterior(), coefficients(schema)):
        with pytest.warns(dc.UnknownLevels, match="5 in column 'ward'") as told:
            unsaid = posterior.predict_proba({"ward": [None, math.nan, "Z", "b", ""]})
        assert told[0].message.counts == {"ward": 5}
        np.testing.assert_array_equal(unsaid, posterior.predict_proba({"ward": ["B"] * 5}))


def test_an_unknown_level_is_refused_in_words_about_the_column() -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    with pytest.raises(dc.QueryError) as told:
        coefficients(schema).predict_proba({"ward": ["A", "A", "secret-4217", None]})
    assert str(told.value) == (
        "new rows must have a declared level, ['A', 'B', 'C'], in column 'ward', which declares no `missing` value for "
        "other cells, got one in row 2: fill it in, or declare what such cells count as"
    )
    many = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(range(1000))})
    with pytest.raises(dc.QueryError, match=r"'11'\] and 988 more, in column 'ward'"):
        coefficients(many).predict_proba({"ward": ["-1"]})


def test_no_records_have_no_predictions() -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    assert coefficients(schema).predict_proba({"ward": []}).shape == (0, 2)
    assert classifier({"x": dc.Binary()}).predict_proba({"x": []}).shape == (0, 2)


@pytest.mark.parametrize("records", [{}, {"ward": 3}, None, {"ward": pl.LazyFrame()}, pd.DataFrame({"word": ["A"]})])
def test_records_without_the_columns_are_refused(records: Any) -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    with pytest.raises(dc.QueryError, match=r"new rows must have the columns \['ward'\]"):
        coefficients(schema).predict_proba(records)


def coefficients(schema: dc.Schema) -> CoefficientDraws:
    query = dc.LogisticRegression("y", ("ward",)).query(schema.with_n(40))
    values = {query.parameter: np.random.default_rng(1).normal(size=(3, query.features.size))}
    return CoefficientDraws(values, query, 0.3, 2.0, stationary=True)


def classifier(columns: dict[str, Any]) -> NaiveBayesPosterior:
    tables = {name: np.full((2, len(column.levels)), 3.0) for name, column in columns.items()}
    laws, levels = (
        dict.fromkeys(columns, DiscreteLaplace(1.0)),
        {name: column.levels for name, column in columns.items()},
    )
    priors = dict.fromkeys(columns, 1.0)
    return naive_bayes_from_tables(tables, KnownSize(6), 1.0, priors, laws, ("A", "B"), levels, columns)
