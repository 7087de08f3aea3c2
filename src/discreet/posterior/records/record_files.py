"""Public records in files: new rows to predict for are read, synthetic tables and predictions are written.

A CSV file has a header, commas and quotes, and its cells are texts: what they mean is declared. No private table is
read here: those have a reader that no cell can make fail.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from discreet.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_written", "numbered", "read_records", "write_records"]

KINDS = (".csv", ".parquet")


def read_records(path: str | Path) -> "pa.Table":
    """A CSV or Parquet file of public records."""
    from csv import Error as CsvError

    import pyarrow as pa

    file = _known(path)
    try:
        return _read_csv(file) if file.suffix == ".csv" else _read_parquet(file)
    except (OSError, ValueError, CsvError, pa.ArrowException) as problem:
        kind = type(problem).__name__
    raise QueryError(f"new rows must be a readable CSV or Parquet file, got {str(file)!r}, which is not ({kind})")


def write_records(tables: Mapping[Path, Any]) -> None:
    """Arrow tables as CSV or Parquet files, by the end of each name: all of them, or none and nothing half-written.

    They are written beside their places first. A file that has come to be there in the meantime stays as it is.
    """
    made, placed = [], list[Path]()
    try:
        try:
            for path, table in tables.items():
                file = check_written(path)
                made.append((file.with_name(f".discreet-{secrets.token_hex(8)}"), file))
                with made[-1][0].open("xb") as stream:
                    _write(table, stream, file.suffix)
            for beside, file in made:
                _place(beside, file)
                placed.append(file)
            return
        except BaseException:  # an interrupt too
            for file in placed:
                file.unlink(missing_ok=True)
            raise
        finally:
            for beside, _ in made:
                beside.unlink(missing_ok=True)
    except (OSError, ValueError) as problem:
        kind = type(problem).__name__
    raise QueryError(f"out must be a file that can be written, got {str(file)!r} ({kind})")


def check_written(path: str | Path) -> Path:
    """Refuse a file that is there already, if only as a link to nowhere, or whose folder is not."""
    file = _known(path)
    try:
        how = "which is there already" if os.path.lexists(file) else ""
        how = how or ("" if file.parent.is_dir() else "whose folder is not there")
    except (OSError, ValueError):  # no name of a file
        how = "which cannot be one"
    if how:
        raise QueryError(f"out must be a new file in a folder that exists, got {str(file)!r}, {how}")
    return file


def numbered(path: Path, count: int) -> list[Path]:
    """The names of so many files: the path itself, or with the numbers from 1."""
    file = _known(path)
    return [file.with_stem(f"{file.stem}-{i + 1}") for i in range(count)] if count > 1 else [file]


def _write(table: Any, stream: IO[bytes], kind: str) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    if kind == ".csv":
        pyarrow.csv.write_csv(table, stream, pyarrow.csv.WriteOptions(quoting_style="needed"))
    else:
        pyarrow.parquet.write_table(table, stream)


def _place(beside: Path, file: Path) -> None:
    """Give the finished file its name; unlike renaming, a link replaces nothing."""
    try:
        os.link(beside, file)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        check_written(file)
        beside.rename(file)


def _known(path: str | Path) -> Path:
    file = Path(path)
    if file.suffix not in KINDS:
        raise QueryError(f"a file of records must end in {' or '.join(KINDS)}, got {str(file)!r}")
    return file


def _read_csv(file: Path) -> "pa.Table":
    """All cells as texts; an empty one is an empty text, which no column takes for a level."""
    import csv

    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, read_csv

    with file.open(encoding="utf-8-sig", newline="") as opened:
        header = next(csv.reader(opened), [])
    texts = ConvertOptions(column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False)
    return read_csv(file, convert_options=texts)


def _read_parquet(file: Path) -> "pa.Table":
    from pyarrow.parquet import read_table

    return read_table(file)
