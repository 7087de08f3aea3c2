"""Who is protected: one record, one person with at most k records, or the label of a record alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import SchemaError
from discreet.schema.columns import is_integer

__all__ = ["UNITS", "LabelOnly", "Person", "Record", "Unit"]


@dataclass(frozen=True)
class Record:
    """The privacy unit is one row of the table."""

    identifier: ClassVar[None] = None
    max_records: ClassVar[int] = 1

    def __str__(self) -> str:
        return "record"

    def to_json(self) -> dict[str, Any]:
        """The unit as the study file writes it."""
        return {"kind": "record"}


@dataclass(frozen=True)
class Person:
    """The privacy unit is a person: all rows that share a cell of `column`.

    Of each person at most `max_records` rows are used: those with the smallest md5 of dataset, person, coded cells and,
    among equal rows, their number.
    Rows without an identifier are dropped. The number of used rows is private.
    """

    column: str
    max_records: int

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise SchemaError(f"Person.column must be the name of a column, got {self.column!r}")
        if not (is_integer(self.max_records) and 1 <= self.max_records <= 10**6):
            raise SchemaError(f"Person.max_records must be a whole number from 1 to 10^6, got {self.max_records!r}")

    @property
    def identifier(self) -> str:
        """The column that says whose a row is; other units have none."""
        return self.column

    def __str__(self) -> str:
        return f"person ({self.column})"

    def to_json(self) -> dict[str, Any]:
        """The unit as the study file writes it."""
        return {"kind": "person", "column": self.column, "max_records": self.max_records}


@dataclass(frozen=True)
class LabelOnly:
    """The privacy unit is one cell of the target `column`; every other column is treated as public.

    Weaker than `Record`, and right only where the features of all rows are known to everybody: the logistic loss of
    this target then costs half as much. Only convex losses of it can be asked of such a table.
    """

    column: str
    identifier: ClassVar[None] = None
    max_records: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise SchemaError(f"LabelOnly.column must be the name of a column, got {self.column!r}")

    def __str__(self) -> str:
        return f"label ({self.column}; all other columns are public)"

    def to_json(self) -> dict[str, Any]:
        """The unit as the study file writes it."""
        return {"kind": "label-only", "column": self.column}


Unit = LabelOnly | Person | Record
UNITS: dict[str, type[Unit]] = {"record": Record, "person": Person, "label-only": LabelOnly}
