"""pandas, polars and pyarrow frames as Arrow tables of the declared columns, by a total conversion.

A pandas column changes its type with its content: one missing cell turns integers into floats and booleans into
objects, one text turns numbers into objects, one complex number makes all complex. The other rows must not change their
meaning with it, so

* integers are read as floats, and whole floats print as integers; identifiers are told apart exactly (`owners`);
* complex numbers are read as the floats they are, as missing where they are none;
* a column of objects is read cell by cell (`objects`), in pandas and in polars.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Bounded, Count, Person, Schema
from discreet.sources.readers.arrow import ArrowRows, scannable, storage_of
from discreet.sources.readers.identifiers import Owner
from discreet.sources.readers.matched_columns import columns_read, require_columns, wrong_type
from discreet.sources.readers.objects import object_texts
from discreet.sources.readers.owners import is_typed, pandas_owners, pandas_typed, polars_owners
from discreet.sources.readers.parts import slot_of
from discreet.sources.sql.cell_sql import Cell
from discreet.sources.sql.relation import handed_over, longest_texts

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
    cells = {name: Cell(f"c{i}", storage_of(columns[name].type)) for i, name in enumerate(schema.columns)}
    table, owners = {cells[name].column: columns[name] for name in schema.columns}, []
    if isinstance(schema.unit, Person):
        table["owner"], owner = _owners(rows, schema.unit.column, columns[schema.unit.column])
        owners = [owner]
    return (ArrowRows(pa.table(table), handed_over(schema, cells, owners)),), cells


def _owners(rows: Any, name: str, read: Any) -> tuple[Any, Owner]:
    """The column of identifiers, which was `read` as a column of cells, and how it is held."""
    package = _package(rows)
    if package == "pandas":
        column = pandas_owners(rows[name], read)
        return column, Owner("owner", storage_of(column.type), pandas_typed(rows[name].dtype))
    if package == "polars":
        column = polars_owners(rows.get_column(name), read)
        return column, Owner("owner", storage_of(column.type))
    slot = slot_of(rows.schema.field(name).type)  # long decimals are texts here, but not names
    return read, Owner("owner", "text" if slot is None else slot.storage, is_typed(rows.schema, name))


def _package(source: object) -> str | None:
    """The library a frame belongs to, told without importing any of them."""
    for base in type(source).__mro__:
        package = base.__module__.partition(".")[0]
        if base.__name__ in _FRAMES.get(package, ()):
            return package
    return None


def _pyarrow(rows: Any, schema: Schema) -> dict[str, Any]:
    columns, longest = columns_read(schema), longest_texts(schema)
    require_columns(columns, rows.schema.names)
    return {name: scannable(name, rows.column(name), longest[name]) for name in columns}


def _polars(rows: Any, schema: Schema) -> dict[str, Any]:
    columns, truths, longest = columns_read(schema), _truths(schema), longest_texts(schema)
    require_columns(columns, rows.columns)
    return {name: _polars_series(name, rows.get_column(name), truths[name], longest[name]) for name in columns}


def _polars_series(name: str, rows: Any, truth: tuple[str, str], longest: int) -> Any:
    import polars

    if rows.dtype == polars.Object:
        return object_texts(rows.to_list(), truth, longest)
    if rows.dtype in (polars.String, polars.Binary):  # rows share long texts here, and Arrow would copy them
        cell = polars.col("cell")
        length = cell.str.len_bytes() if rows.dtype == polars.String else cell.bin.size()
        rows = rows.alias("cell").to_frame().select(polars.when(length <= longest).then(cell)).to_series()
    if str(rows.dtype) in ("Int128", "UInt128"):  # one number beyond 64 bits widens all; Arrow has no such type
        rows = rows.cast(polars.Float64)
    return scannable(name, rows.to_arrow(), longest)


def _pandas(rows: Any, schema: Schema) -> dict[str, Any]:
    columns, truths, longest = columns_read(schema), _truths(schema), longest_texts(schema)
    require_columns(columns, list(rows.columns))
    return {name: _series(name, rows[name], truths[name], longest[name]) for name in columns}


def _truths(schema: Schema) -> dict[str, tuple[str, str]]:
    """The texts of False and True among the objects of each column: numbers where numbers are due."""
    numeric = {name for name, column in schema.columns.items() if isinstance(column, Bounded | Count)}
    return {name: ("0", "1") if name in numeric else ("false", "true") for name in columns_read(schema)}


def _series(name: str, rows: Any, truth: tuple[str, str], longest: int) -> Any:
    """One pandas column."""
    import pandas as pd
    import pyarrow as pa

    kind = rows.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = rows.cat.codes.to_numpy()
        return _series(name, pd.Series(kind.categories), truth, longest).take(pa.array(codes, mask=codes < 0))
    if isinstance(kind, pd.ArrowDtype) or (isinstance(kind, pd.StringDtype) and kind.storage != "python"):
        return scannable(name, rows.array.__arrow_array__(), longest)  # texts may hold any bytes
    if isinstance(kind, pd.StringDtype):
        return object_texts(rows.to_numpy(dtype=object, na_value=None), truth, longest)
    if kind == np.dtype(object):
        return object_texts(rows.to_numpy(), truth, longest)
    if isinstance(kind, np.dtype) and kind.kind in "iufc":
        return pa.array(_floats(rows.to_numpy()))
    if kind.kind in "biuf" and not isinstance(kind, pd.SparseDtype):  # booleans, numbers with their own missing cell
        return scannable(name, pa.array(rows.array), longest)
    raise wrong_type(name, str(kind))


def _floats(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as floats, in memory of their own: the frame may change; too large is infinite, and nothing warns."""
    with np.errstate(all="ignore"):
        if rows.dtype.kind != "c":
            return rows.astype(np.float64, copy=True)
        return np.where(rows.imag == 0, rows.real, np.nan).astype(np.float64)
