"""Where the rows of a study are: what its key `data` may be, one class for each form.

data = "patients.parquet"                              files, relative to the folder of the study
data = {url = "postgresql://…", table = "a.b"}         a table of a database; the address has no password
data = {spark = "visits.parquet"}                      a path or a table that Spark reads
"""

import glob
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from discreet import sources
from discreet.errors import SchemaError
from discreet.schema import Csv, Schema

__all__ = ["FORMS", "Database", "Files", "InSpark", "StudyData", "file_name", "study_data"]


class StudyData(Protocol):
    """Where rows are."""

    @property
    def name(self) -> str:
        """What the study calls them, which is their id where it says no other."""

    def file(self, folder: Path) -> Path | None:
        """The file that holds them, if it is one."""

    def columns(self, folder: Path) -> list[str]:
        """The names of all columns that they have."""

    def open(self, folder: Path, schema: Schema, id: str) -> sources.Dataset:  # noqa: A002
        """The dataset; under replace-one its units are counted, and no cell is looked at."""


@dataclass(frozen=True)
class Files:
    """CSV or Parquet files, and how CSV ones are written."""

    name: str
    csv: Csv | None = None

    def file(self, folder: Path) -> Path:
        """One file, or none of this name."""
        return folder / self.name

    def columns(self, folder: Path) -> list[str]:
        """The columns of the first file, and then what others have."""
        from discreet.sources.open import held_columns

        return held_columns(self._pattern(folder), self.csv)

    def open(self, folder: Path, schema: Schema, id: str) -> sources.Dataset:  # noqa: A002
        """All of them as one dataset."""
        pattern = self._pattern(folder)
        if not (os.path.isfile(pattern) or glob.glob(pattern, recursive=True)):
            raise SchemaError(
                f"Study.data must be an existing file or a glob that matches one, got {self.name!r}: put the table at "
                f"{str(folder / self.name)!r}, or write as data where it is from {str(folder)!r}"
            )
        return sources.open(pattern, schema, id=id, csv=self.csv)

    def _pattern(self, folder: Path) -> str:
        """The file of the data, or what matches several."""
        file = folder / self.name
        # only what the study says may be a pattern: its folder may have brackets in its name
        return str(file if file.is_file() else Path(glob.escape(str(folder))) / self.name)


@dataclass(frozen=True)
class Database:
    """A table of a PostgreSQL database; `timeout` bounds its statements, in seconds."""

    url: str
    table: str
    timeout: float | None = None
    required: ClassVar[Mapping[str, Any]] = {
        "url": {"type": "string", "pattern": r"^postgres(ql)?://([^:@/?]*@)?[^@]*$"},  # no password
        "table": {"type": "string", "minLength": 1},
    }
    optional: ClassVar[Mapping[str, Any]] = {"timeout": {"type": "number", "exclusiveMinimum": 0}}

    def __post_init__(self) -> None:
        from discreet.sources.open import ADDRESSES
        from discreet.sources.readers.postgres_table import NO_SECRETS, has_password

        if not self.url.lower().startswith(ADDRESSES):
            raise SchemaError("Study.data.url must be an address postgresql://role@host/database, got another")
        if has_password(self.url):
            raise SchemaError(f"Study.data.url {NO_SECRETS}")

    @property
    def name(self) -> str:
        """The table: an address is nobody's business."""
        return self.table

    def file(self, folder: Path) -> None:
        """None."""

    def columns(self, folder: Path) -> list[str]:
        """The columns of the table."""
        from discreet.sources.open import table_columns

        return table_columns(self.url, self.table)

    def open(self, folder: Path, schema: Schema, id: str) -> sources.Dataset:  # noqa: A002
        """The table as a dataset."""
        return sources.open(self.url, schema, id=id, table=self.table, timeout=self.timeout)


@dataclass(frozen=True)
class InSpark:
    """A path or a table that Spark reads."""

    spark: str
    required: ClassVar[Mapping[str, Any]] = {"spark": {"type": "string", "minLength": 1}}
    optional: ClassVar[Mapping[str, Any]] = {}

    @property
    def name(self) -> str:
        """The path or table as typed."""
        return self.spark

    def file(self, folder: Path) -> None:
        """None."""

    def columns(self, folder: Path) -> list[str]:
        """The columns of the frame."""
        from discreet.sources.readers.spark_named import spark_named

        return list(spark_named(self.spark, folder).columns)

    def open(self, folder: Path, schema: Schema, id: str) -> sources.Dataset:  # noqa: A002
        """The frame as a dataset."""
        from discreet.sources.readers.spark_named import spark_named

        return sources.open(spark_named(self.spark, folder), schema, id=id)


# The forms that are tables, by the key that only they have.
FORMS: dict[str, Callable[..., StudyData]] = {"spark": InSpark, "url": Database}


def study_data(value: Any, csv: Csv | None) -> StudyData:
    """What a study file says; an address is never repeated, since it may hold a password."""
    if not isinstance(value, Mapping):
        return Files(file_name("Study.data", value), csv)
    form: Any = next((FORMS[key] for key in FORMS if key in value), None)
    if form is None:
        raise SchemaError(
            f"Study.data must be a file, or a table with one of the keys {list(FORMS)}, got {list(value)}"
        )
    if csv is not None:
        raise SchemaError("Study.csv must be given for CSV files only, got it with another source")
    known = [*form.required, *form.optional]
    for key in form.required:
        if not (isinstance(value.get(key), str) and value[key] and value[key].isprintable()):
            raise SchemaError(
                f"Study.data.{key} must be a printable text, got {'nothing' if key not in value else 'none'}"
            )
    for key in value:
        if key not in known:
            raise SchemaError(f"Study.data must have only the keys {known}, got {key!r}")
    found: StudyData = form(**value)
    return found


def file_name(field: str, value: Any) -> str:
    """A path; addresses are refused without being repeated, since they may carry a password."""
    if isinstance(value, Mapping) or (isinstance(value, str) and "://" in value):
        raise SchemaError(
            f"{field} must be a file, got another source"
            + (
                ': a database is written {url = "postgresql://…", table = "schema.table"}'
                if field == "Study.data"
                else ""
            )
        )
    if not (isinstance(value, str) and value and value.isprintable()):
        raise SchemaError(f"{field} must be the path of a file, got {value!r}")
    return value
