"""Parquet files, scanned by DuckDB; files of one glob are matched by column name.

DuckDB refuses a whole file for one text that is not UTF-8. `RepairedParquet` then reads the same files through Arrow
and puts U+FFFD in place of such bytes, so that a single cell cannot stop a release. So it does where texts are longer
than DuckDB's memory, which holds a few thousand of them at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.schema import Person, Schema
from discreet.sources.arrow import MOST_DIGITS, scannable, scannable_type, storage_of
from discreet.sources.cells import Cell
from discreet.sources.columns import columns_read, require_columns
from discreet.sources.duckdb import Origin
from discreet.sources.relation import RAW, cells_of, handed_over

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

__all__ = ["ParquetFiles", "RepairedParquet", "parquet_files"]

MOST_TEXT = 2**26  # bytes of one column in one row group
MOST_CODES = 2**28  # bytes that become codes of texts
FEW_ROWS, MANY_ROWS = 2**4, 2**12  # in memory at once, with long texts and without
BUFFER = 2**20  # bytes of a file

# Types that every value of each other's widens to.
ALIKE = ({"int8", "int16", "int32", "int64"}, {"float", "double"}, {"string", "large_string"})


@dataclass(frozen=True)
class ParquetFiles:
    """The rows of all files, in DuckDB's own reader."""

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    view: str  # over the columns of the files

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
        _relation(connection, self.paths).create_view(RAW, replace=True)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """These columns, c0, c1, …, in order; texts as codes of the texts that occur, which is how files keep them.

        All texts of a row group are then held at once, of one group at a time: files with very long ones are refused.
        """
        from pyarrow.parquet import ParquetFile

        names = [self.columns[int(column[1:])] for column in columns]
        for path in self.paths:
            with ParquetFile(path) as file:
                texts = _texts(file, names)
            with ParquetFile(path, read_dictionary=texts) as file:
                for group in range(file.num_row_groups):  # else a batch would gather the texts of many groups
                    for batch in file.iter_batches(row_groups=[group], columns=names):
                        yield batch.select(names).rename_columns(list(columns))


@dataclass(frozen=True)
class RepairedParquet:
    """The same rows read through Arrow, with bytes that are not UTF-8 replaced and few long texts at a time."""

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    view: str  # over the columns of the files
    files: Sequence[str] = ()  # read here, not by DuckDB

    def count(self) -> int:
        """The number of rows."""
        return ParquetFiles(self.paths, self.columns, self.view).count()

    def attach(self, connection: Any, name: str) -> None:
        """The union of one stream per file under `name`."""
        parts = []
        for i, path in enumerate(self.paths):
            connection.register(f"{RAW}_{i}", _stream(path, self.columns))
            parts.append(f"FROM {RAW}_{i}")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {RAW} AS {' UNION ALL BY NAME '.join(parts)}")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """These columns, c0, c1, …, in order."""
        return ParquetFiles(self.paths, self.columns, self.view).batches(columns)


def parquet_files(paths: tuple[str, ...], schema: Schema) -> tuple[tuple[Origin, ...], dict[str, Cell]]:
    """The files, each of which must hold every declared column, and how they hold it together."""
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    columns = columns_read(schema)
    seen: dict[str, dict[str, pa.DataType]] = {name: {} for name in columns}
    for path in paths:
        found = read_schema(path)
        held = found.names
        require_columns(columns, held)
        # DuckDB renames a column whose name differs from another's only in case
        require_columns([name.lower() for name in columns], [name.lower() for name in held])
        for name in columns:
            kind = found.field(name).type
            seen[name][str(kind)] = kind
    for name, types in seen.items():
        # a cast between other types may fail on a value
        if len(types) > 1 and not any(types.keys() <= alike for alike in ALIKE):
            raise SchemaError(f"Schema.columns[{name!r}] must have one type in all files of the source, got several")
    kinds = {name: next(iter(types.values())) for name, types in seen.items()}
    cells = {name: Cell(name, storage_of(scannable_type(name, kind))) for name, kind in kinds.items()}
    owner = cells[schema.unit.column] if isinstance(schema.unit, Person) else None
    whole = ParquetFiles(paths, columns, handed_over(schema, cells, owner, by_text=True))
    repaired = RepairedParquet(paths, columns, handed_over(schema, cells, owner))
    # DuckDB has doubles for decimals of so many digits, and a cell must mean the same however it is read
    wide = any(pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS for kind in kinds.values())
    return (repaired,) if wide else (whole, repaired), cells_of(schema, cells)


def _texts(file: "ParquetFile", columns: Sequence[str]) -> list[str]:
    """Which of the columns hold texts; refuses those of which one row group holds more than `MOST_TEXT` bytes."""
    texts = [name for name in columns if storage_of(scannable_type(name, file.schema_arrow.field(name).type)) == "text"]
    if any(_bytes_of_texts(file, group, texts) > MOST_TEXT for group in range(file.num_row_groups)):
        raise SchemaError("open.source must be Parquet files of short texts to be read as they are")
    return _kept_once(file, texts)


def _kept_once(file: "ParquetFile", columns: Sequence[str]) -> list[str]:
    """Which of the columns Arrow can read as codes of the texts that occur."""
    from pyarrow.types import is_large_string, is_string, is_string_view

    kinds = {name: file.schema_arrow.field(name).type for name in columns}
    return [name for name in columns if any(is_(kinds[name]) for is_ in (is_string, is_large_string, is_string_view))]


def _bytes_of_texts(file: "ParquetFile", group: int, columns: Sequence[str]) -> int:
    """The size of the largest of these columns in one row group, as the file keeps it."""
    place = {file.schema.column(i).path: i for i in range(len(file.schema))}
    held = file.metadata.row_group(group)
    return max((held.column(place[name]).total_uncompressed_size for name in columns), default=0)


def _relation(connection: Any, paths: Sequence[str]) -> Any:
    return connection.read_parquet([escape(path) for path in paths], union_by_name=True, hive_partitioning=False)


def _stream(path: str, columns: Sequence[str]) -> "pa.RecordBatchReader":
    """The columns as scannable batches; texts stay codes until those that are too long are gone."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        kinds = {name: scannable_type(name, file.schema_arrow.field(name).type) for name in columns}
        texts = [name for name, kind in kinds.items() if storage_of(kind) == "text"]
        once = _kept_once(file, texts)
        sizes = [_bytes_of_texts(file, group, texts) for group in range(file.num_row_groups)]
    schema = pa.schema(list(kinds.items()))

    def batches() -> "Iterator[pa.RecordBatch]":
        for group, size in enumerate(sizes):
            # Arrow keeps the texts of a whole group while it reads them as codes
            rows, codes = (MANY_ROWS, once) if size <= MOST_CODES else (FEW_ROWS, [])
            with ParquetFile(path, read_dictionary=codes, buffer_size=BUFFER) as file:
                for batch in file.iter_batches(rows, row_groups=[group], columns=list(columns)):
                    arrays = [scannable(name, batch.column(name)) for name in columns]
                    yield pa.record_batch(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
