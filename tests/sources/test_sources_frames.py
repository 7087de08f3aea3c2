"""A frame's column may change its type with one cell; what the other rows mean must not change with it."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cell_oracle import plain

from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Count, Schema
from discreet.sources.open import open_dataset
from thinned import thinned

LEVELS = ["0", "1", "01", "1.0", "7", "0.5", ".5", "9007199254740993", "9007199254740992", "1e17", "true", "other"]
SCHEMA = Schema({"k": Categorical(LEVELS, missing="other")})
INTEGERS = [0, 1, 7, 2**53 + 1, 2**53, 10**17, -1, 2**62]
FLOATS = [0.0, -0.0, 1.0, 7.0, 0.5, 0.1, 2.0**53, 1e17, 1e300, 1e-300, float("inf")]


def table_of(column, schema=SCHEMA):
    query = Statistics(schema, (Counts.over(schema, "k", "k"),))
    return open_dataset(column.to_frame("k"), schema, id="x").source.statistics(query)["k"]


def number_of(column):
    schema = Schema({"k": Bounded(-10, 10)})
    query = Statistics(schema, (Sum.of(schema, "k", "k"),))
    return int(open_dataset(column.to_frame("k"), schema, id="x").source.statistics(query)["k"])


KEPT = ("int64", "float64", "bool", "category")


@pytest.mark.parametrize(
    "column",
    thinned(
        [
            pd.Series(INTEGERS),
            pd.Series([0, 1, 7, 2**63], dtype=np.uint64),
            pd.Series([0, 1, 7, -1, 127], dtype=np.int8),
            pd.Series(FLOATS),
            pd.Series([0.5, 0.1, 1.0, 7.0], dtype=np.float32),
            pd.Series([True, False, True]),
            pd.Series(["1", "01", "true", "zzz"]),
            pd.Series(["1", "01", "zzz"], dtype="string"),
            pd.Series([7, 1, 1], dtype="category"),
            pd.Series(["7", "1", "1"], dtype=pd.CategoricalDtype()),
        ],
        lambda column: column.dtype in KEPT and column[0] != "7",
    ),
    ids=lambda column: str(column.dtype),
)
def test_another_cell_moves_one_row_whatever_it_does_to_the_type_of_its_column(column):
    alone, base = table_of(column), number_of(column)
    for intruder in (None, "a text", 0.25, 10**400, True, Decimal("7.00"), [1]):
        widened = pd.Series([*column, intruder], dtype=object)
        if intruder != 10**400:  # pandas itself fails on it
            widened = widened.infer_objects()
        assert (table_of(widened) - alone).sum() == np.abs(table_of(widened) - alone).sum() == 1
        assert abs(number_of(widened) - base) <= 20 / Bounded(-10, 10).step


def test_integers_and_whole_floats_are_the_same_level():
    schema = Schema({"k": Categorical([1, 2, 30])})
    one = [2, 3, 1]
    columns = [
        pd.Series([1, 1, 2, 2, 2, 30]),
        pd.Series([1.0, 1.0, 2.0, 2.0, 2.0, 30.0]),
        pd.Series([1, 1, 2, 2, 2, 30], dtype="Int64"),
        pd.Series([1, 1, 2, 2, 2, 30], dtype="Float64"),
        pd.Series([1, 1.0, "2", "2.0", Decimal("2.00"), np.float32(30)], dtype=object),
        pd.Series([1, 1, 2, 2, 2, 30], dtype="category"),
        pd.Series([1, 1, 2, 2, 2, 30], dtype=pd.ArrowDtype(pa.int32())),
        pd.Series(["1", "1", "2", "2", "2", "30"], dtype=pd.ArrowDtype(pa.string())),
    ]
    for column in columns:
        assert table_of(column, schema).tolist() == one
    for kind in (
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.decimal128(9, 2),
        pa.decimal256(50, 1),
    ):
        column = pa.array([1, 1, 2, 2, 2, 30]).cast(pa.float64()).cast(pa.float32()).cast(kind)
        query = Statistics(schema, (Counts.over(schema, "k", "k"),))
        assert plain(open_dataset(pa.table({"k": column}), schema, id="x").source.statistics(query)) == {"k": one}
        if not pa.types.is_float16(kind) and kind != pa.decimal256(50, 1):
            frame = pl.from_arrow(pa.table({"k": column}))
            assert plain(open_dataset(frame, schema, id="x").source.statistics(query)) == {"k": one}


def test_missing_cells_of_every_type_follow_the_declared_rule():
    schema = Schema({"k": Categorical([1, 2], missing=2), "x": Bounded(0, 8, missing=3, grid=1.0)})
    query = Statistics(schema, (Counts.over(schema, "k", "k"), Sum.of(schema, "x", "x")))
    answer = {"k": [1, 2], "x": 2 * (1 + 3 + 3) - 3 * 8}
    nan = float("nan")
    frames = [
        pd.DataFrame({"k": [1, None, nan], "x": [1, None, nan]}),
        pd.DataFrame({"k": [1, None, pd.NA], "x": [1, None, pd.NA]}, dtype="Int64"),
        pd.DataFrame({"k": [1, None, nan], "x": [1, None, nan]}, dtype=object),
        pd.DataFrame({"k": [1, None, nan], "x": [1, None, nan]}, dtype="category"),
        pl.DataFrame({"k": [1.0, None, nan], "x": [1.0, None, nan]}),
        pa.table({"k": [1.0, None, nan], "x": [1.0, None, nan]}),
    ]
    for frame in frames:
        assert plain(open_dataset(frame, schema, id="x").source.statistics(query)) == answer
    nothing = pa.table({"k": pa.nulls(3), "x": pa.nulls(3)})
    assert plain(open_dataset(nothing, schema, id="x").source.statistics(query)) == {"k": [0, 3], "x": 2 * 9 - 3 * 8}


def test_booleans_are_binary_cells_and_numbers():
    schema = Schema({"b": Binary(missing=1), "x": Count(5)})
    query = Statistics(schema, (Counts.over(schema, "b", "b"), Sum.of(schema, "x", "x")))
    values = [True, False, None, True]
    frames = [
        pd.DataFrame({"b": values, "x": values}),
        pd.DataFrame({"b": values, "x": values}, dtype="boolean"),
        pl.DataFrame({"b": values, "x": values}),
        pa.table({"b": values, "x": values}),
    ]
    for frame in frames:
        assert plain(open_dataset(frame, schema, id="x").source.statistics(query)) == {"b": [1, 3], "x": 2 * 2 - 4 * 5}


def test_frames_are_read_when_opened():
    schema = Schema({"k": Categorical(["a", "b"]), "x": Count(9)})
    query = Statistics(schema, (Counts.over(schema, "k", "k"), Sum.of(schema, "x", "x")))
    frame = pd.DataFrame({"k": ["a", "a"], "x": [1.0, 2.0]})
    dataset = open_dataset(frame, schema, id="x")
    frame.loc[:, "k"] = "b"
    frame.loc[:, "x"] = 9.0
    assert plain(dataset.source.statistics(query)) == {"k": [2, 0], "x": 2 * 3 - 2 * 9}
