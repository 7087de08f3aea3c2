"""Columns of an Arrow table: the accepted types, texts that are certainly UTF-8, and what their cells mean.

Functions here take a column of cells, an array or a chunked array, and know nothing of whose cells they are.

Which columns a source must hold, and how long their texts may be; refusals name columns and types, never content.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import SchemaError
from discreet.schema.cell import LONGEST_IDENTIFIER, LONGEST_TEXT, Codes, Storage, exact_digits, longest_text
from discreet.schema.columns import Column, coded_objects, steps_or_default
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MOST_DIGITS",
    "UNREADABLE",
    "arrow_coded",
    "columns_read",
    "is_bytes",
    "longest_texts",
    "require_columns",
    "scannable",
    "scannable_type",
    "scanned_type",
    "storage_of",
    "wrong_type",
]

MOST_DIGITS = 38  # of DuckDB's decimals

# The messages of libraries quote cells: whatever they refuse is refused with this.
UNREADABLE = "open.source must be a readable CSV or Parquet file or frame; this one could not be read"


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


def arrow_coded(column: Column, cells: Any) -> Codes:
    """The level codes or grid steps of a column; what must be printed or parsed is so once for each different cell."""
    import pyarrow as pa

    held = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if column.holds == "numbers" and storage_of(held.type) not in ("decimal", "text"):
        floats = held.cast(pa.float64(), safe=False).fill_null(np.nan)
        return steps_or_default(column, floats.to_numpy(zero_copy_only=False))
    if pa.types.is_dictionary(held.type) and len(held.dictionary) > len(held):
        held = held.dictionary_decode()  # of a whole file, of which this is a part
    once = held if pa.types.is_dictionary(held.type) else held.dictionary_encode()
    different = coded_objects(column, [*once.dictionary.to_pylist(), None])
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
    longest = {name: longest_text(column.levels) for name, column in schema.columns.items()}
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
