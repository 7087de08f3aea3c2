"""pandas, polars and pyarrow frames as Arrow tables of the declared columns, by a total conversion.

A pandas column changes its type with its content: one missing cell turns integers into floats and booleans into
objects, one text turns numbers into objects. The other rows must not change their meaning with it, so

* integers are read as floats, and whole floats print as integers (identifiers of persons from 2^53 on are therefore
  better kept as texts, or as pandas' own `Int64`);
* an object column is read cell by cell: texts, numbers and booleans by their texts, everything else as missing.
"""

from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.schema import Bounded, Count, Schema
from discreet.sources.arrow import ArrowRows, scannable, storage_of
from discreet.sources.cells import LARGEST_WHOLE_FLOAT, Cell
from discreet.sources.columns import columns_read, require_columns, wrong_type

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["frame_rows", "is_frame"]

_FRAMES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("RecordBatch", "Table")}


def is_frame(source: object) -> bool:
    """Whether the object is a frame this module reads."""
    return _package(source) is not None


def frame_rows(rows: Any, schema: Schema) -> tuple[tuple[ArrowRows], dict[str, Cell]]:
    """The declared columns of a frame, under positional names, and how each is held."""
    import pyarrow as pa

    read = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}[_package(rows) or "pyarrow"]
    columns = read(rows, schema)
    cells = {name: Cell(f"c{i}", storage_of(column.type)) for i, (name, column) in enumerate(columns.items())}
    return (ArrowRows(pa.table({cells[name].column: column for name, column in columns.items()})),), cells


def _package(source: object) -> str | None:
    """The library a frame belongs to, told without importing any of them."""
    for base in type(source).__mro__:
        package = base.__module__.partition(".")[0]
        if base.__name__ in _FRAMES.get(package, ()):
            return package
    return None


def _pyarrow(rows: Any, schema: Schema) -> dict[str, Any]:
    columns = columns_read(schema)
    require_columns(columns, rows.schema.names)
    return {name: scannable(name, rows.column(name)) for name in columns}


def _polars(rows: Any, schema: Schema) -> dict[str, Any]:
    import polars

    kinds, columns = rows.collect_schema(), columns_read(schema)
    require_columns(columns, kinds.names())
    for name in columns:
        if kinds[name] == polars.Object:
            raise wrong_type(name, "Object")
    table = rows.lazy().select(polars.selectors.by_name(*columns)).collect().to_arrow()
    return _pyarrow(table, schema)


def _pandas(rows: Any, schema: Schema) -> dict[str, Any]:
    columns = columns_read(schema)
    require_columns(columns, list(rows.columns))
    numeric = {name for name, column in schema.columns.items() if isinstance(column, Bounded | Count)}
    return {name: _series(name, rows[name], ("0", "1") if name in numeric else ("false", "true")) for name in columns}


def _series(name: str, rows: Any, truth: tuple[str, str]) -> Any:
    """One pandas column; `truth` are the texts of False and True among objects: numbers where numbers are due."""
    import pandas as pd
    import pyarrow as pa

    kind = rows.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = rows.cat.codes.to_numpy()
        return _series(name, pd.Series(kind.categories), truth).take(pa.array(codes, mask=codes < 0))
    if isinstance(kind, pd.ArrowDtype):
        return scannable(name, pa.array(rows.array))
    if kind == np.dtype(object) or isinstance(kind, pd.StringDtype):
        return _objects(rows, truth)
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        return pa.array(rows.to_numpy(dtype=np.float64, copy=True))
    if kind.kind in "biuf" and not isinstance(
        kind, pd.SparseDtype
    ):  # booleans, and numbers with their own missing cell
        return scannable(name, pa.array(rows.array))
    raise wrong_type(name, str(kind))


def _objects(rows: Any, truth: tuple[str, str]) -> "pa.Array":
    """Objects as texts: fast where all are well-formed texts, else cell by cell, with the same result."""
    import pyarrow as pa
    from pandas.api.types import infer_dtype

    if infer_dtype(rows, skipna=True) == "string":
        try:
            return pa.array(rows, type=pa.large_string(), from_pandas=True)
        except (UnicodeError, pa.ArrowException):
            pass  # a text with half a surrogate pair: read below
    return pa.array([_text(cell, truth) for cell in rows], type=pa.large_string())


def _text(cell: object, truth: tuple[str, str]) -> str | None:
    """The text of one object, equal to what the engine prints for the same number; None is missing."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    if isinstance(cell, bool | np.bool_):
        return truth[bool(cell)]
    if isinstance(cell, int | np.integer):
        return _float_text(_nearest_float(int(cell)))
    if isinstance(cell, float | np.floating):
        with np.errstate(over="ignore"):
            return _float_text(float(cell))
    if isinstance(cell, Decimal):
        return None if not cell.is_finite() else f"{cell.normalize():f}"  # 1, 1.0 and 1.00 are one number
    return None


def _float_text(value: float) -> str | None:
    if isnan(value):
        return None
    return str(int(value)) if abs(value) < LARGEST_WHOLE_FLOAT and value == int(value) else repr(value)


def _nearest_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
