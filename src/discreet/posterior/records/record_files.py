"""Public records in files: new rows to predict for are read, synthetic tables and predictions are written.

A CSV file has a header, commas and quotes, and its cells are texts: what they mean is declared. No private table is
read here: those have a reader that no cell can make fail.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_written", "read_records", "write_records"]

KINDS = (".csv", ".parquet")


def read_records(path: str | Path) -> "pa.Table":
    """A CSV or Parquet file of public records."""
    import pyarrow as pa

    file = _known(path)
    try:
        return _read_csv(file) if file.suffix == ".csv" else _read_parquet(file)
    except (OSError, UnicodeError, pa.ArrowException) as problem:
        kind = type(problem).__name__
    raise QueryError(f"new rows must be a readable CSV or Parquet file, got {str(file)!r}, which is not ({kind})")


def write_records(table: Any, path: str | Path) -> None:
    """An Arrow table as a CSV or Parquet file, by the end of its name."""
    import pyarrow.csv
    import pyarrow.parquet

    file = check_written(path)
    try:
        if file.suffix == ".csv":
            pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(quoting_style="needed"))
        else:
            pyarrow.parquet.write_table(table, file)
        return
    except OSError as problem:
        kind = type(problem).__name__
    raise QueryError(f"out must be a file that can be written, got {str(file)!r} ({kind})")


def check_written(path: str | Path) -> Path:
    """Refuse a file that is there already, or whose folder is not."""
    file = _known(path)
    if file.exists() or not file.parent.is_dir():
        how = "which is there already" if file.exists() else "whose folder is not there"
        raise QueryError(f"out must be a new file in a folder that exists, got {str(file)!r}, {how}")
    return file


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
