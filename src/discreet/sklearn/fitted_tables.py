"""What scikit-learn hands over, X and y, as one table with the declared names.

Frames keep their columns. Of an array, columns are called by the schema, in its order. Nothing here looks at a cell to
decide anything: shapes and names alone are checked, and what a cell means is the schema's business.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning  # type: ignore[import-untyped]

from discreet.errors import QueryError, warn_caller
from discreet.schema.arrow_cell import package_of
from discreet.schema.cell import Truths, object_texts
from discreet.schema.columns import TRUTHS

__all__ = ["EstimatorError", "as_columns", "check_dense", "chosen", "column_names_of", "is_frame", "joined", "named"]

NUMBERS: Truths = ("0", "1")  # truth values in a table that is one array, where one beside a number is a number
NO_COLUMN = "must be one column of cells, as long as X has rows"


class EstimatorError(QueryError, ValueError):
    """An argument that an estimator cannot use: scikit-learn expects a ValueError."""


def is_frame(held: Any) -> bool:
    """Whether columns have names of their own."""
    return package_of(held) is not None


def column_names_of(frame: Any) -> list[Any]:
    """The names of a frame's columns."""
    return list(getattr(frame, "column_names", None) or frame.columns)


def chosen(frame: Any, names: Sequence[str]) -> Any:
    """Some columns of a frame, in this order."""
    return frame.select(list(names)) if hasattr(frame, "select") else frame[list(names)]


def named(frame: Any, names: Sequence[str]) -> Any:
    """A pandas frame whose columns are only numbered gets the declared names, in order, as an array does."""
    numbered = column_names_of(frame) == list(range(len(names)))
    return frame.set_axis(list(names), axis=1) if numbered else frame


def check_dense(kind: str, held: Any) -> None:
    """Refuse sparse matrices."""
    if hasattr(held, "toarray"):
        raise EstimatorError(f"{kind}.fit X must be a frame or a dense array, got a sparse one: a table has all cells")


def as_columns(kind: str, held: Any, names: Sequence[str]) -> dict[str, Any]:
    """The columns of an array, called by the schema."""
    array = held if isinstance(held, np.ndarray) else np.asarray(held, dtype=getattr(held, "dtype", None) or object)
    if array.ndim != 2:
        raise EstimatorError(
            f"Expected 2D array, got {array.ndim}D array instead: {kind} must have a table. Reshape your data."
        )
    if array.shape[1] == 0:
        raise EstimatorError(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required by {kind}.")
    if array.shape[1] != len(names):
        raise EstimatorError(
            f"X has {array.shape[1]} features, but {kind} is expecting {len(names)} features as input: the columns of "
            f"the schema but the target, {list(names)}, in this order"
        )
    return {name: _settled(array[:, place], NUMBERS) for place, name in enumerate(names)}


def joined(kind: str, features: Any, labels: Any, target: str, truths: Truths) -> Any:
    """One frame of a table of features and its target, of which `truths` are the texts of False and True.

    Messages of libraries, which quote cells, are not passed on.
    """
    try:
        return _JOINS[package_of(features) or "array"](features, labels, target, truths)
    except EstimatorError as problem:
        told = str(problem)
    except Exception:
        told = NO_COLUMN
    raise EstimatorError(f"{kind}.fit y {told}")


def _of_pandas(features: Any, labels: Any, target: str, truths: Truths) -> Any:
    import pandas as pd

    if isinstance(labels, pd.DataFrame):
        labels = _one_column(labels).iloc[:, 0]
    typed = isinstance(labels, pd.Series) and not isinstance(labels.dtype, np.dtype)
    cells = labels.array if typed else _flat(labels, truths)
    held = features.copy(deep=False)
    # by place, as scikit-learn reads y; with its type, or pandas would look at the objects in it to find another
    held[target] = pd.Series(cells, index=features.index, dtype=cells.dtype)
    return held


def _of_polars(features: Any, labels: Any, target: str, truths: Truths) -> Any:
    import polars as pl

    if isinstance(labels, pl.DataFrame):
        labels = _one_column(labels).to_series()
    if not isinstance(labels, pl.Series):
        cells = _flat(labels, truths)
        objects = cells.dtype.kind == "O"
        labels = pl.Series(target, list(cells), dtype=pl.Object) if objects else pl.Series(target, cells)
    return features.with_columns(labels.alias(target))


def _of_arrow(features: Any, labels: Any, target: str, truths: Truths) -> Any:
    import pyarrow as pa

    table = pa.table(features)
    cells = labels if isinstance(labels, pa.Array | pa.ChunkedArray) else _cells(_flat(labels, truths))
    return table.append_column(target, cells)


def _of_arrays(features: Mapping[str, Any], labels: Any, target: str, truths: Truths) -> Any:
    import pyarrow as pa

    columns = {name: _cells(cells) for name, cells in features.items()}
    return pa.table({**columns, target: _cells(_flat(labels, truths))})


_JOINS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow, "array": _of_arrays}


def _flat(labels: Any, truths: Truths) -> np.ndarray[Any, Any]:
    """The cells of a target, in a row."""
    cells = np.asarray(labels) if hasattr(labels, "dtype") else np.asarray(labels, dtype=object)
    if cells.ndim == 2:
        cells = np.asarray(_one_column(cells))[:, 0]
    if cells.ndim != 1:
        raise EstimatorError(f"{NO_COLUMN}, got {cells.ndim} dimensions")
    return _settled(cells, truths)


def _settled(cells: np.ndarray[Any, Any], truths: Truths) -> np.ndarray[Any, Any]:
    """The same cells, as they are read whatever the others are: an array has a type that all of its cells choose.

    Beside one that is missing truth values are objects, beside a number they are numbers, and beside one complex number
    all are complex.
    """
    if cells.dtype.kind == "c":
        return np.asarray(np.where(cells.imag == 0, cells.real, np.nan), dtype=np.float64)
    if cells.dtype.kind not in "bO":
        return cells
    told = np.empty(cells.size, dtype=object)
    for place, cell in enumerate(cells.tolist() if cells.dtype.kind == "b" else cells):
        told[place] = truths[bool(cell)] if type(cell) is bool or type(cell) is np.bool_ else cell
    return told


def _one_column(table: Any) -> Any:
    """A table of one column, which scikit-learn takes for a target with a warning."""
    if table.shape[1] != 1:
        raise EstimatorError(f"{NO_COLUMN}, got {table.shape[1]} columns")
    warn_caller(DataConversionWarning("A column-vector y was passed when a 1d array was expected"))
    return table


def _cells(cells: np.ndarray[Any, Any]) -> Any:
    """A column of an array as Arrow holds it, in memory of its own; every object means what it does in a frame."""
    import pyarrow as pa

    if cells.dtype.kind in "iuf":
        return pa.array(cells.astype(np.float64, copy=True))
    return object_texts(cells.astype(object), TRUTHS)
