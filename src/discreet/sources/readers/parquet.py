"""Parquet files, scanned by DuckDB; files of one glob are matched by column name, and may differ in types (`parts`).

DuckDB refuses a whole file for one text that is not UTF-8. `RepairedParquet` then reads the same files through Arrow
and puts U+FFFD in place of such bytes, so that a single cell cannot stop a release. So it does where texts are longer
than DuckDB's memory, which holds a few thousand of them at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.schema import Schema
from discreet.schema.arrow_cell import (
    columns_read,
    longest_texts,
    require_columns,
    scannable,
    scannable_type,
    storage_of,
)
from discreet.sources.engines.duckdb import Origin
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.readers.owners import is_typed
from discreet.sources.readers.parts import Slot, alike, place, slot_of, slots_of, storage_together, together
from discreet.sources.sql.cell_sql import RAW, Held, begun, handed_over

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

__all__ = ["ParquetFiles", "RepairedParquet", "parquet_files"]

MOST_TEXT = 2**26  # bytes of one column in one row group
FEW_ROWS, MANY_ROWS = 2**4, 2**12  # in memory at once, with long texts and without
BUFFER = 2**20  # bytes of a file
PARTS = "parts"  # the relation of a stream of files


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
        return _number_of_rows(self.paths)

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
    """The same rows read through Arrow, with bytes that are not UTF-8 replaced and few long texts at a time.

    Files are streamed one after the other, each by its own types, and put `together` as the `view` expects it.
    """

    paths: tuple[str, ...]
    slots: Mapping[str, tuple[Slot, ...]]
    longest: Mapping[str, int]  # texts, in bytes
    together: str
    view: str
    files: Sequence[str] = ()  # read here, not by DuckDB

    def count(self) -> int:
        """The number of rows."""
        return _number_of_rows(self.paths)

    def attach(self, connection: Any, name: str) -> None:
        """A view of the stream under `name`."""
        connection.register(PARTS, _stream(self.paths, self.slots, self.longest))
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {RAW} AS {self.together}")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """Refused: what is kept in several types is put together by the engine."""
        raise SchemaError("open.source must be Parquet files of equal types to be read as they are")


def parquet_files(paths: tuple[str, ...], schema: Schema) -> tuple[tuple[Origin, ...], dict[str, Held]]:
    """The files, one of which at least must hold every declared column, and how they hold it together."""
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    columns = columns_read(schema)
    schemas = [read_schema(path) for path in paths]
    files = [_types(file, columns) for file in schemas]
    require_columns(columns, list(dict.fromkeys(name for types in files for name in types)))
    kinds = {name: [types.get(name, pa.null()) for types in files] for name in columns}  # no column, no value
    slots = {name: slots_of(name, kinds[name]) for name in columns}
    owner = schema.unit.identifier
    held = {
        name: Held(f"c{i}", storage_together(column, slots[name]))
        for i, (name, column) in enumerate(schema.columns.items())
    }
    owners: list[Owner] = []
    if owner is not None:
        at = columns.index(owner)
        typed = all(is_typed(file, owner) for file in schemas if owner in file.names)  # one rule for all files
        owners = [Owner(place(at, k), slot.storage, typed) for k, slot in enumerate(slots[owner])]
    put_together, view = (
        together(schema, slots, owner, PARTS),
        handed_over(schema, held, [identifier(who, RAW) for who in owners]).sql(dialect="duckdb"),
    )
    repaired = RepairedParquet(paths, slots, longest_texts(schema), put_together, view)
    if not all(alike(kinds[name]) for name in columns):
        return (repaired,), held
    named = {name: Held(name, slots[name][0].storage) for name in columns}
    # alike: one slot stands for all
    persons = [identifier(replace(who, column=owner), RAW) for who in owners[:1] if owner is not None]
    view = handed_over(schema, named, persons, begun).sql(dialect="duckdb")
    return (ParquetFiles(paths, columns, view), repaired), held


def _types(schema: "pa.Schema", columns: Sequence[str]) -> "dict[str, pa.DataType]":
    """The types of the columns that one file has."""
    # DuckDB renames a column whose name differs from another's only in case
    lower = [name.lower() for name in schema.names]
    present = [name for name in columns if name.lower() in lower]
    require_columns(present, schema.names)
    require_columns([name.lower() for name in present], lower)
    return {name: schema.field(name).type for name in present}


def _number_of_rows(paths: Sequence[str]) -> int:
    from pyarrow.parquet import read_metadata

    return sum(read_metadata(path).num_rows for path in paths)


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


def _stream(
    paths: Sequence[str], slots: Mapping[str, tuple[Slot, ...]], longest: Mapping[str, int]
) -> "pa.RecordBatchReader":
    """All files as batches of one column for each slot; texts stay codes until those that are too long are gone."""
    import pyarrow as pa

    names = [place(i, k) for i, held in enumerate(slots.values()) for k, _ in enumerate(held)]
    kinds = [slot.kind for held in slots.values() for slot in held]
    schema = pa.schema(list(zip(names, kinds, strict=True)))

    def batches() -> "Iterator[pa.RecordBatch]":
        for path in paths:
            for batch in _batches(path, list(slots)):
                own = {name: batch.column(name) for name in batch.schema.names}
                nothing = pa.nulls(batch.num_rows)
                columns = [_in_slots(name, own.get(name, nothing), held, longest[name]) for name, held in slots.items()]
                yield pa.record_batch([array for column in columns for array in column], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _in_slots(name: str, rows: Any, slots: Sequence[Slot], longest: int) -> list[Any]:
    """One column of a file in the slot of its type, and nothing in the others."""
    import pyarrow as pa

    own = slot_of(rows.type)
    return [scannable(name, rows, longest) if slot == own else pa.nulls(len(rows), slot.kind) for slot in slots]


def _batches(path: str, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
    """Few rows of one file at a time where its texts are long."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        present = [name for name in columns if name in file.schema_arrow.names]
        slots = {name: slot_of(file.schema_arrow.field(name).type) for name in present}
        texts = [name for name, slot in slots.items() if slot is not None and slot.storage == "text"]
        once = _kept_once(file, texts)
        sizes = [_bytes_of_texts(file, group, texts) for group in range(file.num_row_groups)]
    with ParquetFile(path, read_dictionary=once, buffer_size=BUFFER) as file:
        for group, size in enumerate(sizes):
            rows = FEW_ROWS if size > MOST_TEXT else MANY_ROWS
            yield from file.iter_batches(rows, row_groups=[group], columns=present)
