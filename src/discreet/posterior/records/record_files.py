"""Public records in files: new rows to predict for are read, synthetic tables and predictions are written.

A CSV file has a header and is written as a `Csv` says; its cells are texts: what they mean is declared. No private
table is read here: those have a reader that no cell can make fail.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from discreet.errors import QueryError
from discreet.schema.csv_format import Csv

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_written", "has_commas", "numbered", "read_records", "write_records", "written_as"]

KINDS = (".csv", ".parquet")
NOTATION, DECIMAL = b"discreet.csv", b"discreet.decimal"  # what a table that comes from a CSV file says of it


def read_records(path: str | Path, csv: Csv | None = None) -> "pa.Table":
    """A CSV or Parquet file of public records; `csv` says how the first is written, with commas if it does not."""
    from csv import Error as CsvError

    import pyarrow as pa

    file = _known(path)
    if csv is not None and file.suffix != ".csv":
        raise QueryError(f"new rows must be a CSV file where it is said how it is written, got {str(file)!r}")
    try:
        return _read_csv(file, csv or Csv()) if file.suffix == ".csv" else _read_parquet(file)
    except (OSError, ValueError, CsvError, pa.ArrowException) as problem:
        kind = type(problem).__name__
    how = f" as {csv or Csv()}" if file.suffix == ".csv" else ""
    say = '; say how it is written, as in --delimiter ";" --decimal ","' if how and csv is None else ""
    raise QueryError(
        f"new rows must be a readable CSV or Parquet file, got {str(file)!r}, which is not{how} ({kind}){say}"
    )


def has_commas(table: Any) -> bool:
    """Whether numbers in the texts of new records have decimal commas."""
    return _said(table).get(DECIMAL) == b","


def written_as(table: Any) -> str:
    """How the CSV file of new records was read, in words; none of other records."""
    return _said(table).get(NOTATION, b"").decode()


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


def _read_csv(file: Path, written: Csv) -> "pa.Table":
    """All cells as texts; an empty one is an empty text, which no column takes for a level."""
    import csv

    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    signs: dict[str, Any] = {"delimiter": written.delimiter, "quotechar": written.quote or None}
    signs |= {} if written.quote else {"quoting": csv.QUOTE_NONE}
    with file.open(encoding="utf-8-sig" if written.encoding == "utf-8" else written.encoding, newline="") as opened:
        header = next(csv.reader(opened, **signs), [])
    texts = ConvertOptions(column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False)
    parsed = ParseOptions(delimiter=written.delimiter, quote_char=written.quote or False)
    made = read_csv(file, ReadOptions(encoding=written.encoding), parsed, texts)
    return made.replace_schema_metadata({NOTATION: str(written), DECIMAL: written.decimal})


def _read_parquet(file: Path) -> "pa.Table":
    from pyarrow.parquet import read_table

    return read_table(file).replace_schema_metadata(None)


def _said(table: Any) -> dict[bytes, bytes]:
    metadata = getattr(getattr(table, "schema", None), "metadata", None)
    return metadata if isinstance(metadata, dict) else {}
