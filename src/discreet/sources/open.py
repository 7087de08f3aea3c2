"""`dc.open`: a path or a frame, seen through a schema, becomes a dataset.

Under replace-one the units (rows, or persons) are counted here, once, because n is public; under add-remove nothing is
counted. A source that cannot be read is refused with one constant sentence: the messages of readers quote rows.
"""

import os
from collections.abc import Callable
from glob import glob
from typing import Any, TypeVar

from discreet.errors import SchemaError
from discreet.schema import Schema
from discreet.schema.arrow_cell import UNREADABLE
from discreet.schema.frame_columns import package_of
from discreet.sources.dataset import Dataset, Source
from discreet.sources.engines.duckdb import DuckDB, Origin
from discreet.sources.readers.csv import csv_files
from discreet.sources.readers.frames import frame_rows
from discreet.sources.readers.parquet import parquet_files
from discreet.sources.sql.relation import Held

__all__ = ["open_dataset"]

T = TypeVar("T")


def open_dataset(source: Any, schema: Schema, *, id: str | None = None) -> Dataset:  # noqa: A002
    """A dataset from a path (CSV, Parquet, or a glob of either), a pandas, polars or pyarrow frame.

    `id` is the public name under which the ledger knows the dataset: required for a frame, else the path as typed.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"open.schema must be a Schema, got {type(schema).__name__}")
    typed = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(typed, str) and package_of(source) is None:
        raise SchemaError(
            f"open.source must be a path or a pandas, polars or pyarrow frame, got {type(source).__name__}"
            + (": collect it first" if type(source).__name__ == "LazyFrame" else "")
        )
    name = typed if id is None else id
    if not isinstance(name, str) or not name:
        raise SchemaError(f"open.id must be a text that names the dataset, got {name!r}")
    origins, held = _or_refuse(lambda: frame_rows(source, schema) if typed is None else _files(typed, schema))
    reader: Source = DuckDB(origins, held, name, schema.unit.identifier is not None)
    if schema.relation == "replace-one":
        schema = schema.with_n(_or_refuse(reader.count))
    return Dataset(name, schema, reader)


def _files(typed: str, schema: Schema) -> tuple[tuple[Origin, ...], dict[str, Held]]:
    found = [typed] if os.path.isfile(typed) else sorted(filter(os.path.isfile, glob(typed, recursive=True)))
    if not found:
        raise SchemaError(f"open.source must be an existing file or a glob that matches one, got {typed!r}")
    paths = tuple(os.path.abspath(file) for file in found)
    formats = {os.path.splitext(file)[1].lower() for file in paths}
    if formats == {".csv"}:
        return csv_files(paths, schema)
    if formats == {".parquet"}:
        return parquet_files(paths, schema)
    raise SchemaError(f"open.source must be files that all end in .csv or all end in .parquet, got {typed!r}")


def _or_refuse(read: Callable[[], T]) -> T:
    """The result of reading, or a refusal raised anew, so that no reader's exception, frame or variable hangs on it."""
    try:
        return read()
    except SchemaError as error:
        refusal = str(error)
    except Exception:
        refusal = UNREADABLE
    raise SchemaError(refusal)
