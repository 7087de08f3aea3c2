"""`dc.open`: a path or a frame, seen through a schema, becomes a dataset.

Under replace-one the units (rows, or persons) are counted here, once, because n is public; under add-remove nothing is
counted. A source that cannot be read is refused with one constant sentence: the messages of readers quote rows.

pandas, polars and pyarrow frames: their declared columns and, where units are persons, who owns each row.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from glob import glob
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import SchemaError
from discreet.schema import Csv, Schema
from discreet.schema.arrow_cell import UNREADABLE, frame_columns, package_of, storage_of
from discreet.schema.cell import Storage
from discreet.sources.dataset import Dataset, Source
from discreet.sources.engines.duckdb import DuckDB, Origin
from discreet.sources.readers.csv import csv_files, header_of
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.readers.owners import is_typed, pandas_owners, pandas_typed, polars_owners
from discreet.sources.readers.parquet import parquet_files
from discreet.sources.readers.parts import slot_of
from discreet.sources.sql.cell_sql import RAW, Held, handed_over

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowRows", "declared_types", "frame_rows", "held_columns", "open_dataset", "table_columns"]

T = TypeVar("T")

ADDRESSES = ("postgresql://", "postgres://")


def open_dataset(
    source: Any,
    schema: Schema,
    *,
    id: str | None = None,  # noqa: A002
    csv: Csv | None = None,
    table: str | None = None,
    timeout: float | None = None,
) -> Dataset:
    """A dataset from a path (CSV, Parquet, or a glob), a pandas, polars, pyarrow or Spark frame, or a database.

    `id` is the public name under which the ledger knows the dataset: required for a frame, else the path as typed, or
    the table. A database is an address `postgresql://role@host/database` without a password, with
    `table="schema.table"` and, if statements may not take longer, a `timeout` in seconds.

    `csv` says how CSV files are written where they have other signs than commas and points, or another encoding than
    UTF-8: `dc.Csv(delimiter=";", decimal=",", encoding="latin-1")`. Nothing of it is found out from the file.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"open.schema must be a Schema, got {type(schema).__name__}: dc.Schema({{column: dc.Binary(), …}}) "
            "declares the columns"
        )
    if isinstance(source, str) and source.lower().startswith(ADDRESSES):
        return _of_database(source, schema, id, csv, table, timeout)
    if table is not None or timeout is not None:
        raise SchemaError("open.table and open.timeout must be given with the address of a database only")
    typed = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    in_spark = _is_spark_frame(source)
    if not isinstance(typed, str) and package_of(source) is None and not in_spark:
        raise SchemaError(
            f"open.source must be a path or a pandas, polars, pyarrow or Spark frame, got {type(source).__name__}"
            + (": collect it first" if type(source).__name__ == "LazyFrame" else "")
        )
    if csv is not None and not isinstance(csv, Csv):
        raise SchemaError(f"open.csv must be a Csv, got {type(csv).__name__}")
    if csv is not None and typed is None:
        raise SchemaError("open.csv must be given for CSV files only, got it with a frame")
    name = typed if id is None else id
    if not isinstance(name, str) or not name:
        raise SchemaError(
            f"open.id must be a text that names the dataset, got {name!r}: the ledger knows rows by it, as in "
            'id="patients-2026"'
        )
    reader: Source
    if in_spark:
        from discreet.sources.engines.spark import opened_in_spark

        reader = _or_refuse(lambda: opened_in_spark(source, schema, name))
    else:
        origins, held = _or_refuse(lambda: frame_rows(source, schema) if typed is None else _files(typed, schema, csv))
        reader = DuckDB(origins, held, name, schema.unit.identifier is not None)
    return _counted(name, schema, reader, UNREADABLE)


def _of_database(
    source: str,
    schema: Schema,
    id: str | None,  # noqa: A002
    csv: Csv | None,
    table: Any,
    timeout: Any,
) -> Dataset:
    from discreet.sources.readers.postgres_table import UNREACHED, postgres_table

    if csv is not None:
        raise SchemaError("open.csv must be given for CSV files only, got it with a database")
    name = table if id is None else id
    if not isinstance(name, str) or not name:
        raise SchemaError(f"open.table must be the name of a table, schema.table, got {name!r}")
    reader = _or_refuse(lambda: postgres_table(source, schema, table, name, timeout), UNREACHED)
    return _counted(name, schema, reader, UNREACHED)


def _counted(name: str, schema: Schema, reader: Source, otherwise: str) -> Dataset:
    """The dataset; under replace-one its units are counted."""
    if schema.relation == "replace-one":
        schema = schema.with_n(_or_refuse(reader.count, otherwise))
    return Dataset(name, schema, reader)


def _files(typed: str, schema: Schema, csv: Csv | None) -> tuple[tuple[Origin, ...], dict[str, Held]]:
    paths = _paths(typed)
    formats = {os.path.splitext(file)[1].lower() for file in paths}
    if formats == {".csv"}:
        return csv_files(paths, schema, csv or Csv())
    if csv is not None:
        raise SchemaError(f"open.csv must be given for files that all end in .csv, got it with {typed!r}")
    if formats == {".parquet"}:
        return parquet_files(paths, schema)
    raise SchemaError(f"open.source must be files that all end in .csv or all end in .parquet, got {typed!r}")


def _paths(typed: str) -> tuple[str, ...]:
    found = [typed] if os.path.isfile(typed) else sorted(filter(os.path.isfile, glob(typed, recursive=True)))
    if not found:
        raise SchemaError(f"open.source must be an existing file or a glob that matches one, got {typed!r}")
    return tuple(os.path.abspath(file) for file in found)


def held_columns(typed: str, csv: Csv | None) -> list[str]:
    """The columns of the files, those of the first and then what others have; private where a header is forgotten."""

    def read() -> list[str]:
        from pyarrow.parquet import read_schema

        names = [
            header_of(path, csv or Csv()) if path.lower().endswith(".csv") else list(read_schema(path).names)
            for path in _paths(typed)
        ]
        others = dict.fromkeys(name for header in names[1:] for name in header if name not in names[0])
        return [*names[0], *others]

    return _or_refuse(read)


def table_columns(address: str, table: str) -> list[str]:
    """The columns of a table of a database."""
    from discreet.sources.readers.postgres_table import UNREACHED, postgres_columns

    return _or_refuse(lambda: postgres_columns(address, table), UNREACHED)


def declared_types(typed: str, csv: Csv | None) -> list[tuple[str, Storage | None]]:
    """The columns of the files in order, and what the files declare that they hold; no cell is read to find it.

    A CSV file declares no types. Those of a Parquet file are in its schema; nothing else of its metadata is looked at,
    in which the least and the greatest cell stand, but whether pandas wrote it: one text among numbers makes texts of a
    column there, so that a type which pandas chose says something of every cell. Whole numbers and others are told
    apart by other libraries, too, and so both are "float" here. None: nothing is declared, or what no release can read.
    """
    names = held_columns(typed, csv)
    if csv is not None or any(path.lower().endswith(".csv") for path in _paths(typed)):
        return [(name, None) for name in names]

    def read() -> list[tuple[str, Storage | None]]:
        from pyarrow.parquet import read_schema

        schemas = [read_schema(path) for path in _paths(typed)]
        slots = {
            name: {slot_of(held.field(name).type) for held in schemas if held.names.count(name) == 1}
            for name in names
            if all(is_typed(held, name) for held in schemas)
        }
        kinds = {name: {_general(slot.storage) for slot in found if slot is not None} for name, found in slots.items()}
        known = {name: found.pop() for name, found in kinds.items() if len(found) == 1}
        return [(name, known.get(name)) for name in dict.fromkeys(names)]

    return _or_refuse(read)


def _general(storage: Storage) -> Storage:
    return storage if storage in ("boolean", "text") else "float"


def _or_refuse(read: Callable[[], T], otherwise: str = UNREADABLE) -> T:
    """The result of reading, or a refusal raised anew, so that no reader's exception, frame or variable hangs on it."""
    try:
        return read()
    except SchemaError as error:
        refusal = str(error)
    except Exception:
        refusal = otherwise
    raise SchemaError(refusal)


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


def frame_rows(rows: Any, schema: Schema) -> tuple[tuple[ArrowRows], dict[str, Held]]:
    """The declared columns of a frame, under positional names, and how each is held."""
    import pyarrow as pa

    columns = frame_columns(rows, schema)
    held = {name: Held(f"c{i}", storage_of(columns[name].type)) for i, name in enumerate(schema.columns)}
    table, persons = {held[name].column: columns[name] for name in schema.columns}, []
    owner = schema.unit.identifier
    if owner is not None:
        exactly, typed = _owners(rows, owner)
        table["owner"] = columns[owner] if exactly is None else exactly
        storage = _storage(rows, owner) or storage_of(table["owner"].type)
        persons = [identifier(Owner("owner", storage, typed), RAW)]
    return (ArrowRows(pa.table(table), handed_over(schema, held, persons).sql(dialect="duckdb")),), held


def _owners(rows: Any, name: str) -> tuple[Any | None, bool]:
    """The column of identifiers, None where it is read as cells are, and whether its type was declared."""
    package = package_of(rows)
    if package == "pandas":
        return pandas_owners(rows[name]), pandas_typed(rows[name].dtype)
    return (polars_owners(rows[name]), True) if package == "polars" else (None, is_typed(rows.schema, name))


def _storage(rows: Any, name: str) -> Storage | None:
    """How an Arrow table holds identifiers, None if it is none: long decimals are read as texts, but are not names."""
    slot = slot_of(rows.schema.field(name).type) if package_of(rows) == "pyarrow" else None
    return None if slot is None else slot.storage


def _is_spark_frame(source: object) -> bool:
    """Whether it is a frame of Spark, told without importing it."""
    return any(base.__module__.startswith("pyspark.") and base.__name__ == "DataFrame" for base in type(source).__mro__)
