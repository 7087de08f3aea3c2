"""Columns of an Arrow table: the accepted types, texts that are certainly UTF-8, and what their cells mean.

Functions here take a column of cells, an array or a chunked array, and know nothing of whose cells they are.

Which columns a source must hold, and how long their texts may be; refusals name columns and types, never content.

pandas, polars and pyarrow frames as Arrow columns of the declared cells, by a total conversion.

A pandas column changes its type with its content: one missing cell turns integers into floats and booleans into
objects, one text turns numbers into objects, one complex number makes all complex. The other cells must not change
their meaning with it, so

* integers are read as floats, and whole floats print as integers; identifiers are told apart exactly (`owners`);
* complex numbers are read as the floats they are, as missing where they are none;
* a column of objects is read cell by cell (`object_cell`), in pandas and in polars.

Private tables and new records of predictions, which are public, are read by the same functions.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.schema.cell import (
    LONGEST_IDENTIFIER,
    LONGEST_TEXT,
    Codes,
    Storage,
    Truths,
    exact_digits,
    longest_text,
    number_of,
    object_texts,
)
from discreet.schema.coded_cells import NumberReader, coded_numbers, coded_objects
from discreet.schema.columns import Seen
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MOST_DIGITS",
    "UNREADABLE",
    "arrow_coded",
    "columns_read",
    "frame_columns",
    "is_bytes",
    "longest_texts",
    "package_of",
    "require_columns",
    "scannable",
    "scannable_type",
    "scanned_type",
    "storage_of",
    "wrong_type",
]

MOST_DIGITS = 38  # of DuckDB's decimals

# The messages of libraries quote cells: whatever they refuse is refused with this.
UNREADABLE = (
    "open.source must be a readable CSV or Parquet file or frame; this one could not be read "
    "(a name ends in .csv or .parquet)"
)

_FRAMES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("RecordBatch", "Table")}
_TRUTHS: Truths = ("false", "true")


def scannable_type(name: str, kind: "pa.DataType") -> "pa.DataType":
    """The Arrow type in which column `name` of type `kind` is scanned; nested and time types are refused."""
    scanned = scanned_type(kind)
    if scanned is None:
        raise wrong_type(name, str(kind))
    return scanned


def scanned_type(kind: "pa.DataType") -> "pa.DataType | None":
    """The Arrow type in which cells of type `kind` are scanned, None if they are neither texts, numbers nor booleans.

    One cell of bytes among texts makes writers declare all of them bytes: they are read as the texts they are.
    """
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(kind):
        return scanned_type(kind.value_type)
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind) or is_.is_null(kind):
        return pa.large_string()
    if is_bytes(kind):
        return pa.large_string()
    if is_.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= MOST_DIGITS else pa.large_string()
    if is_.is_boolean(kind) or is_.is_integer(kind):
        return kind
    if is_.is_floating(kind):
        return pa.float32() if is_.is_float16(kind) else kind
    return None


def is_bytes(kind: "pa.DataType") -> bool:
    """Whether cells of this type are bytes of any length."""
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def storage_of(kind: "pa.DataType") -> Storage:
    """How cells of a scannable type are read."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "float"
    return "decimal" if pa.types.is_decimal(kind) else "text"


def scannable(name: str, cells: Any, longest: int) -> Any:
    """A column (array or chunked array) in its scannable type; bytes that are not UTF-8 become U+FFFD.

    Texts of more than `longest` bytes are missing.
    """
    import pyarrow as pa

    kind = scannable_type(name, cells.type)
    if _is_view(cells.type):
        cells = cells.dictionary_encode()  # rows may share one long text
    if pa.types.is_dictionary(cells.type):  # long texts go before they are copied to every row that has them
        parts = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
        columns = [_texts_once(name, part.dictionary, longest).take(part.indices) for part in parts]
        return pa.chunked_array(columns, kind) if isinstance(cells, pa.ChunkedArray) else columns[0]
    if pa.types.is_decimal(cells.type) and storage_of(kind) == "text":
        return pa.array([_digits(cell) for cell in cells.to_pylist()], kind)
    if storage_of(cells.type) == "text":
        octets = _short(cells.cast(pa.large_binary()), longest)
        try:
            return octets.cast(kind)
        except pa.ArrowInvalid:  # not all are UTF-8
            held = octets.to_pylist()
            return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in held], kind)
    return cells.cast(kind)


def arrow_coded(column: Seen, cells: Any, number: NumberReader = number_of) -> Codes:
    """The level codes or grid steps of a column; what must be printed or parsed is so once for each different cell."""
    import pyarrow as pa

    held = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if (column.holds == "numbers" or column.holds == "ranges") and storage_of(held.type) not in ("decimal", "text"):
        floats = held.cast(pa.float64(), safe=False).fill_null(np.nan)
        return coded_numbers(column, floats.to_numpy(zero_copy_only=False))
    if pa.types.is_dictionary(held.type) and len(held.dictionary) > len(held):
        held = held.dictionary_decode()  # of a whole file, of which this is a part
    once = held if pa.types.is_dictionary(held.type) else held.dictionary_encode()
    different = coded_objects(column, [*once.dictionary.to_pylist(), None], number)
    return np.asarray(different[once.indices.cast(pa.int64()).fill_null(different.size - 1).to_numpy()])


def _digits(cell: Any) -> str | None:
    """The text of a decimal that is longer than the engine's: exact, since identifiers are held so too."""
    digits = None if cell is None else exact_digits(cell)
    return None if digits is None or len(digits) > LONGEST_IDENTIFIER else digits


def _is_view(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _texts_once(name: str, values: Any, longest: int) -> Any:
    """The different cells of a column in their scannable type."""
    import pyarrow as pa

    return scannable(name, values.cast(pa.large_binary()) if _is_view(values.type) else values, longest)


def _short(cells: Any, longest: int) -> Any:
    """Texts longer than any level are missing: one cell must not exhaust the memory of the engine."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = pc.binary_length(cells)
    if (pc.max(length).as_py() or 0) <= longest:
        return cells
    return pc.if_else(pc.greater(length, longest), pa.scalar(None, cells.type), cells)


def columns_read(schema: Schema) -> tuple[str, ...]:
    """The columns a source must hold: the declared ones, and the identifiers of persons where they are the unit."""
    identifier = schema.unit.identifier
    return tuple(dict.fromkeys((*schema.columns, *(() if identifier is None else (identifier,)))))


def longest_texts(schema: Schema) -> dict[str, int]:
    """How many bytes a text of each column that is read may have; a longer one means what a missing cell does.

    Readers that copy texts ask this first: one text that many rows share would be as many long ones.
    """
    longest = {name: longest_text(column.compared) for name, column in schema.columns.items()}
    identifier = schema.unit.identifier
    if identifier is not None:
        longest[identifier] = max(longest.get(identifier, 0), LONGEST_IDENTIFIER)
    return {name: min(length, LONGEST_TEXT) for name, length in longest.items()}


def require_columns(declared: Iterable[str], held: Sequence[object]) -> None:
    """Refuse a source in which a declared column is missing or there twice; the source's other names stay unsaid."""
    for name in declared:
        times = held.count(name)
        if times != 1:
            how = f"which it has {times} times" if times else "which it does not have"
            raise SchemaError(f"Schema.columns must be columns of the source, got {name!r}, {how}")


def wrong_type(name: str, kind: str) -> SchemaError:
    """The error for a column whose cells cannot be levels or numbers; nested types are not spelled out."""
    head = kind.partition("<")[0].partition("(")[0].partition("[")[0]
    return SchemaError(f"Schema.columns[{name!r}] must be texts, numbers or booleans in the source, got type {head}")


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
