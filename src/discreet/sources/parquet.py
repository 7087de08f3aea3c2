"""Parquet files, scanned by DuckDB; files of one glob are matched by column name.

DuckDB refuses a whole file for one text that is not UTF-8. `RepairedParquet` then reads the same files through Arrow
and puts U+FFFD in place of such bytes, so that a single cell cannot stop a release.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.sources.arrow import scannable, scannable_type, storage_of
from discreet.sources.cells import Cell, Storage
from discreet.sources.columns import require_columns
from discreet.sources.duckdb import Origin

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

__all__ = ["ParquetFiles", "RepairedParquet", "parquet_files"]

MOST_DIGITS = 38  # of DuckDB's decimals
MOST_TEXT = 2**26  # bytes of one column in one row group

# Types that every value of each other's widens to.
ALIKE = ({"int8", "int16", "int32", "int64"}, {"float", "double"}, {"string", "large_string"})


@dataclass(frozen=True)
class ParquetFiles:
    """The rows of all files, in DuckDB's own reader."""

    paths: tuple[str, ...]

    @property
    def files(self) -> Sequence[str]:
        """The files, as such and as the patterns that match only them: DuckDB expands wildcards in names."""
        return list(dict.fromkeys((*self.paths, *map(escape, self.paths))))

    def count(self) -> int:
        """The number of rows, from the files' footers."""
        from pyarrow.parquet import read_metadata

        return sum(read_metadata(path).num_rows for path in self.paths)

    def attach(self, connection: Any, name: str) -> None:
        """A view of the files under `name`."""
        _relation(connection, self.paths).create_view(name, replace=True)

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """These columns, in order; texts as codes of the texts that occur, which is how files keep them.

        All texts of a row group are then held at once, of one group at a time: files with very long ones are refused.
        """
        from pyarrow.parquet import ParquetFile

        for path in self.paths:
            with ParquetFile(path) as file:
                texts = _texts(file, columns)
            with ParquetFile(path, read_dictionary=texts) as file:
                for group in range(file.num_row_groups):  # else a batch would gather the texts of many groups
                    yield from file.iter_batches(row_groups=[group], columns=list(columns))


@dataclass(frozen=True)
class RepairedParquet:
    """The same rows read through Arrow, with bytes that are not UTF-8 replaced."""

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    files: Sequence[str] = ()  # read here, not by DuckDB

    def count(self) -> int:
        """The number of rows."""
        return ParquetFiles(self.paths).count()

    def attach(self, connection: Any, name: str) -> None:
        """The union of one stream per file under `name`."""
        parts = []
        for i, path in enumerate(self.paths):
            connection.register(f"{name}_{i}", _stream(path, self.columns))
            parts.append(f"FROM {name}_{i}")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {' UNION ALL BY NAME '.join(parts)}")

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """These columns, in order."""
        return ParquetFiles(self.paths).batches(columns)


def parquet_files(paths: tuple[str, ...], columns: Sequence[str]) -> tuple[tuple[Origin, ...], dict[str, Cell]]:
    """The files, each of which must hold every declared column, and how they hold it together."""
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    seen: dict[str, dict[str, pa.DataType]] = {name: {} for name in columns}
    for path in paths:
        schema = read_schema(path)
        held = schema.names
        require_columns(columns, held)
        # DuckDB renames a column whose name differs from another's only in case
        require_columns([name.lower() for name in columns], [name.lower() for name in held])
        for name in columns:
            kind = schema.field(name).type
            seen[name][str(kind)] = kind
    for name, types in seen.items():
        # a cast between other types may fail on a value
        if len(types) > 1 and not any(types.keys() <= alike for alike in ALIKE):
            raise SchemaError(f"Schema.columns[{name!r}] must have one type in all files of the source, got several")
    kinds = {name: next(iter(types.values())) for name, types in seen.items()}
    cells = {name: Cell(name, _storage(name, kind)) for name, kind in kinds.items()}
    repaired = RepairedParquet(paths, tuple(columns))
    # DuckDB has doubles for decimals of so many digits, and a cell must mean the same however it is read
    wide = any(pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS for kind in kinds.values())
    return (repaired,) if wide else (ParquetFiles(paths), repaired), cells


def _texts(file: "ParquetFile", columns: Sequence[str]) -> list[str]:
    """Which of the columns hold texts; refuses those of which one row group holds more than `MOST_TEXT` bytes."""
    from pyarrow.types import is_large_string, is_string, is_string_view

    kinds = {name: file.schema_arrow.field(name).type for name in columns}
    texts = [name for name, kind in kinds.items() if storage_of(scannable_type(name, kind)) == "text"]
    place = {file.schema.column(i).path: i for i in range(len(file.schema))}
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    if any(group.column(place[name]).total_uncompressed_size > MOST_TEXT for group in groups for name in texts):
        raise SchemaError("open.source must be Parquet files of short texts to be read as they are")
    return [name for name in texts if any(is_(kinds[name]) for is_ in (is_string, is_large_string, is_string_view))]


def _relation(connection: Any, paths: Sequence[str]) -> Any:
    return connection.read_parquet([escape(path) for path in paths], union_by_name=True, hive_partitioning=False)


def _storage(name: str, kind: "pa.DataType") -> Storage:
    """How DuckDB reads a column of this type, from the file's own declaration: no cell is looked at."""
    import pyarrow as pa

    scanned = scannable_type(name, kind)
    return "decimal" if pa.types.is_decimal(kind) and kind.precision <= MOST_DIGITS else storage_of(scanned)


def _stream(path: str, columns: Sequence[str]) -> "pa.RecordBatchReader":
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    schema = pa.schema([(name, scannable_type(name, file.schema_arrow.field(name).type)) for name in columns])

    def batches() -> "Iterator[pa.RecordBatch]":
        for batch in file.iter_batches(columns=list(columns)):
            arrays = [scannable(name, batch.column(name)) for name in columns]
            yield pa.record_batch(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
