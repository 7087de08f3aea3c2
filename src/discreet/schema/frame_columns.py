"""pandas, polars and pyarrow frames as Arrow columns of the declared cells, by a total conversion.

A pandas column changes its type with its content: one missing cell turns integers into floats and booleans into
objects, one text turns numbers into objects, one complex number makes all complex. The other cells must not change
their meaning with it, so

* integers are read as floats, and whole floats print as integers; identifiers are told apart exactly (`owners`);
* complex numbers are read as the floats they are, as missing where they are none;
* a column of objects is read cell by cell (`object_cell`), in pandas and in polars.

Private tables and new records of predictions, which are public, are read by the same functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema.arrow_cell import columns_read, longest_texts, require_columns, scannable, wrong_type
from discreet.schema.cell import Truths, object_texts
from discreet.schema.schema import Schema

__all__ = ["frame_columns", "package_of"]

_FRAMES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("RecordBatch", "Table")}
_TRUTHS: Truths = ("false", "true")


def package_of(source: object) -> str | None:
    """The library a frame belongs to, told without importing any of them; None if it is no frame."""
    for base in type(source).__mro__:
        package = base.__module__.partition(".")[0]
        if base.__name__ in _FRAMES.get(package, ()):
            return package
    return None


def frame_columns(frame: Any, schema: Schema) -> dict[str, Any]:
    """Every column that the schema reads, in a scannable type (`arrow_cell`)."""
    names, read = _READERS[package_of(frame) or "pyarrow"]
    columns, longest = columns_read(schema), longest_texts(schema)
    require_columns(columns, names(frame))
    # the texts of False and True among objects; an identifier that is no declared column is no number
    truths = {name: column.truths for name, column in schema.columns.items()}
    return {name: read(name, frame[name], truths.get(name, _TRUTHS), longest[name]) for name in columns}


def _polars(name: str, cells: Any, truths: Truths, longest: int) -> Any:
    import polars

    if cells.dtype == polars.Object:
        return object_texts(cells.to_list(), truths, longest)
    if cells.dtype in (polars.String, polars.Binary):  # rows share long texts here, and Arrow would copy them
        cell = polars.col("cell")
        length = cell.str.len_bytes() if cells.dtype == polars.String else cell.bin.size()
        cells = cells.alias("cell").to_frame().select(polars.when(length <= longest).then(cell)).to_series()
    if str(cells.dtype) in ("Int128", "UInt128"):  # one number beyond 64 bits widens all; Arrow has no such type
        cells = cells.cast(polars.Float64)
    return scannable(name, cells.to_arrow(), longest)


def _pandas(name: str, cells: Any, truths: Truths, longest: int) -> Any:
    """One pandas column."""
    import pandas as pd
    import pyarrow as pa

    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = cells.cat.codes.to_numpy()
        return _pandas(name, pd.Series(kind.categories), truths, longest).take(pa.array(codes, mask=codes < 0))
    if isinstance(kind, pd.ArrowDtype) or (isinstance(kind, pd.StringDtype) and kind.storage != "python"):
        return scannable(name, cells.array.__arrow_array__(), longest)  # texts may hold any bytes
    if isinstance(kind, pd.StringDtype):
        return object_texts(cells.to_numpy(dtype=object, na_value=None), truths, longest)
    if kind == np.dtype(object):
        return object_texts(cells.to_numpy(), truths, longest)
    if isinstance(kind, np.dtype) and kind.kind in "iufc":
        return pa.array(_floats(cells.to_numpy()))
    if kind.kind in "biuf" and not isinstance(kind, pd.SparseDtype):  # booleans, numbers with their own missing cell
        return scannable(name, pa.array(cells.array), longest)
    raise wrong_type(name, str(kind))


def _floats(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as floats, in memory of their own: the frame may change; too large is infinite, and nothing warns."""
    with np.errstate(all="ignore"):
        if cells.dtype.kind != "c":
            return cells.astype(np.float64, copy=True)
        return np.where(cells.imag == 0, cells.real, np.nan).astype(np.float64)


# for each library, the names of a frame's columns and how one of them is read
_READERS: dict[str, tuple[Callable[[Any], list[object]], Callable[[str, Any, Truths, int], Any]]] = {
    "pandas": (lambda frame: list(frame.columns), _pandas),
    "polars": (lambda frame: frame.columns, _polars),
    "pyarrow": (lambda frame: frame.schema.names, lambda name, cells, _, longest: scannable(name, cells, longest)),
}
