"""Arrow columns as the engine scans them: the accepted types, and texts that are certainly UTF-8."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.sources.readers.identifiers import identifier_texts
from discreet.sources.readers.matched_columns import wrong_type
from discreet.sources.sql.cell_sql import Storage
from discreet.sources.sql.relation import RAW

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIGITS = 38  # of DuckDB's decimals

__all__ = ["ArrowRows", "is_bytes", "scannable", "scannable_type", "scanned_type", "storage_of"]


@dataclass(frozen=True, eq=False)
class ArrowRows:
    """A table in memory, as DuckDB scans it, and the view that hands it over."""

    rows: "pa.Table" = field(repr=False)
    view: str
    files: tuple[str, ...] = ()  # DuckDB opens none

    def count(self) -> int:
        """The number of rows."""
        return int(self.rows.num_rows)

    def attach(self, connection: Any, name: str) -> None:
        """The table under `name`."""
        connection.register(RAW, self.rows)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "list[pa.RecordBatch]":
        """These columns, in order."""
        return list(self.rows.select(list(columns)).to_batches())


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


def scannable(name: str, rows: Any, longest: int) -> Any:
    """A column (array or chunked array) in its scannable type; bytes that are not UTF-8 become U+FFFD.

    Texts of more than `longest` bytes are missing.
    """
    import pyarrow as pa

    kind = scannable_type(name, rows.type)
    if _is_view(rows.type):
        rows = rows.dictionary_encode()  # rows may share one long text
    if pa.types.is_dictionary(rows.type):  # long texts go before they are copied to every row that has them
        parts = rows.chunks if isinstance(rows, pa.ChunkedArray) else [rows]
        columns = [_texts_once(name, part.dictionary, longest).take(part.indices) for part in parts]
        return pa.chunked_array(columns, kind) if isinstance(rows, pa.ChunkedArray) else columns[0]
    if pa.types.is_decimal(rows.type) and storage_of(kind) == "text":
        return identifier_texts(rows.to_pylist())
    if storage_of(rows.type) == "text":
        octets = _short(rows.cast(pa.large_binary()), longest)
        try:
            return octets.cast(kind)
        except pa.ArrowInvalid:  # not all are UTF-8
            cells = octets.to_pylist()
            return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in cells], kind)
    return rows.cast(kind)


def _is_view(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _texts_once(name: str, values: Any, longest: int) -> Any:
    """The different cells of a column in their scannable type."""
    import pyarrow as pa

    return scannable(name, values.cast(pa.large_binary()) if _is_view(values.type) else values, longest)


def _short(rows: Any, longest: int) -> Any:
    """Texts longer than any level are missing: one cell must not exhaust the memory of the engine."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = pc.binary_length(rows)
    if (pc.max(length).as_py() or 0) <= longest:
        return rows
    return pc.if_else(pc.greater(length, longest), pa.scalar(None, rows.type), rows)
