"""`dc.open`: a path or a frame, seen through a schema, becomes a dataset.

Under replace-one the rows are counted here, once, because n is public; under add-remove nothing is counted. A source
that cannot be read is refused with one constant sentence: the messages of readers quote rows.
"""

import os
from collections.abc import Callable
from glob import glob
from typing import Any, TypeVar

from discreet.errors import SchemaError
from discreet.schema import Schema
from discreet.sources.csv import csv_files
from discreet.sources.dataset import Dataset, Source
from discreet.sources.duckdb import DuckDB
from discreet.sources.frames import frame_rows, is_frame
from discreet.sources.parquet import parquet_files

__all__ = ["open_dataset"]

T = TypeVar("T")


def open_dataset(source: Any, schema: Schema, *, id: str | None = None) -> Dataset:  # noqa: A002
    """A dataset from a path (CSV, Parquet, or a glob of either), a pandas, polars or pyarrow frame.

    `id` is the public name under which the ledger knows the dataset: required for a frame, else the path as typed.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"open.schema must be a Schema, got {type(schema).__name__}")
    typed = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(typed, str) and not is_frame(source):
        raise SchemaError(
            f"open.source must be a path or a pandas, polars or pyarrow frame, got {type(source).__name__}"
            + (": collect it first" if type(source).__name__ == "LazyFrame" else "")
        )
    name = typed if id is None else id
    if not isinstance(name, str) or not name:
        raise SchemaError(f"open.id must be a text that names the dataset, got {name!r}")
    reader = _or_refuse(lambda: _frame(source, schema) if typed is None else _files(typed, schema))
    if schema.relation == "replace-one":
        schema = schema.with_n(_or_refuse(reader.count))
    return Dataset(name, schema, reader)


def _frame(rows: Any, schema: Schema) -> Source:
    origin, cells = frame_rows(rows, schema)
    return DuckDB((origin,), cells)


def _files(typed: str, schema: Schema) -> Source:
    found = [typed] if os.path.isfile(typed) else sorted(filter(os.path.isfile, glob(typed, recursive=True)))
    if not found:
        raise SchemaError(f"open.source must be an existing file or a glob that matches one, got {typed!r}")
    paths = tuple(os.path.abspath(file) for file in found)
    formats = {os.path.splitext(file)[1].lower() for file in paths}
    if formats == {".csv"}:
        origin, cells = csv_files(paths, tuple(schema.columns))
        return DuckDB((origin,), cells)
    if formats == {".parquet"}:
        origins, cells = parquet_files(paths, tuple(schema.columns))
        return DuckDB(origins, cells)
    raise SchemaError(f"open.source must be files that all end in .csv or all end in .parquet, got {typed!r}")


def _or_refuse(read: Callable[[], T]) -> T:
    """The result of reading, or a refusal raised anew, so that no reader's exception, frame or variable hangs on it."""
    try:
        return read()
    except SchemaError as error:
        refusal = str(error)
    except Exception:
        refusal = "open.source must be a readable CSV or Parquet file or frame; this one could not be read"
    raise SchemaError(refusal)
