"""Public facts about a table: its columns, its privacy unit, its neighbour relation and its size. No rows.

A privacy unit says who is protected: one record, one person with at most k records, or the label of a record alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, cast

from discreet.checks import is_integer, meant, told
from discreet.errors import SchemaError
from discreet.recipe import build, without_none
from discreet.schema.columns import KINDS, Column, Seen, declared_words
from discreet.visible import Told

__all__ = ["UNITS", "LabelOnly", "Person", "Record", "Relation", "Schema", "SeenSchema", "Unit"]

Relation = Literal["replace-one", "add-remove"]


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


@dataclass(frozen=True)
class Schema(Told):
    """Columns, privacy unit, neighbour relation and public size of a table.

    Under `"replace-one"` neighbours differ in one unit and share `n`, which is public: `dc.open` counts it, or
    refuses when a declared `n` differs. Under `"add-remove"` n is private; `n_max` bounds it and nothing counts it.
    Where the number of used rows is private (add-remove, persons, excluded rows), posteriors average over it:
    `n_prior`, a guess and its standard deviation, says what is known beforehand; without one every number is alike.
    """

    columns: Mapping[str, Column]
    unit: Unit = field(default_factory=Record)
    relation: Relation = "replace-one"
    n: int | None = None
    n_max: int | None = None
    n_prior: tuple[float, float] | None = None
    _kinds: ClassVar[Any] = Column

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        if not self.columns:
            raise SchemaError("Schema.columns must declare at least one column, got none")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise SchemaError(f"Schema.columns must have names that are texts, got {name!r}")
            if not isinstance(column, self._kinds):
                how = "; that is how a query sees one, declare the column itself" if isinstance(column, Seen) else ""
                raise SchemaError(f"Schema.columns[{name!r}] must be a column such as dc.Binary(), got {column!r}{how}")
        if not isinstance(self.unit, Unit):
            raise SchemaError(
                f"Schema.unit must be Record(), Person(column, max_records) or LabelOnly(column), got {self.unit!r}"
            )
        if self.relation not in ("replace-one", "add-remove"):
            raise SchemaError(f'Schema.relation must be "replace-one" or "add-remove", got {self.relation!r}')
        if isinstance(self.unit, LabelOnly):
            if self.unit.column not in self.columns:
                raise SchemaError(f"LabelOnly.column must be a declared column, got {self.unit.column!r}")
            if self.relation != "replace-one":
                raise SchemaError(f"Schema.relation must be replace-one where units are labels, got {self.relation!r}")
        for name in ("n", "n_max"):
            size = getattr(self, name)
            if size is not None and not (is_integer(size) and 0 <= size < 2**48):
                raise SchemaError(f"Schema.{name} must be a whole number from 0 to 2^48, got {size!r}")
        if self.relation == "add-remove" and self.n is not None:
            raise SchemaError("Schema.n must not be given under add-remove, where n is private: declare n_max")
        if self.relation == "add-remove" and self.n_max is None:
            raise SchemaError("Schema.n_max must be declared under add-remove, got None")
        if self.relation == "replace-one" and self.n_max is not None:
            raise SchemaError("Schema.n_max must not be given under replace-one, where n is public: declare n")
        if self.n_prior is not None:
            object.__setattr__(self, "n_prior", _guess(self.n_prior))

    def __hash__(self) -> int:
        return hash((tuple(self.columns.items()), self.unit, self.relation, self.n, self.n_max, self.n_prior))

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        size = "n is counted when a table is opened" if self.n is None else f"n = {self.n:,}, public"
        if self.relation == "add-remove":
            size = f"n is private, at most {self.n_max:,}"
        lines = [(name, f"{declared_words(column)}; {column.other_cells()}") for name, column in self.columns.items()]
        return f"Schema: {self.relation} of one {self.unit}; {size}", lines

    def column(self, name: str) -> Seen:
        """The declaration of one column."""
        if name not in self.columns:
            raise SchemaError(
                f"Schema.columns must contain {told(name)}, got {sorted(self.columns)}{meant(name, self.columns)}"
            )
        return self.columns[name]

    def only(self, names: Sequence[str]) -> Self:
        """The same facts about some of the columns."""
        return replace(self, columns=cast(Any, {name: self.column(name) for name in names}))

    def seen_as(self, views: Mapping[str, Seen]) -> "Schema":
        """The same facts, with some columns as a query sees them."""
        if all(view is self.columns.get(name) for name, view in views.items()):
            return self
        facts = {part.name: getattr(self, part.name) for part in fields(self)}
        return SeenSchema(**{**facts, "columns": {**self.columns, **views}})

    def with_n(self, n: int) -> Self:
        """The same schema with the public number of units filled in."""
        if self.n is not None and self.n != n:
            raise SchemaError(
                f"Schema.n must be the number of units in the source, {n}, got {self.n}: declare n = {n}, or none, and "
                "they are counted"
            )
        return replace(self, n=n)

    def to_json(self) -> dict[str, Any]:
        """A plain description; `from_json` reads it back."""
        return without_none(
            {
                "columns": {name: column.to_json() for name, column in self.columns.items()},
                "unit": self.unit.to_json(),
                "relation": self.relation,
                "n": self.n,
                "n_max": self.n_max,
                "n_prior": None if self.n_prior is None else list(self.n_prior),
            }
        )

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read a schema; unknown keys and kinds are errors."""
        given = dict(body)
        columns = {
            name: build(f"Schema.columns[{name!r}]", KINDS, spec, SchemaError)
            for name, spec in given.pop("columns", {}).items()
        }
        unit = build("Schema.unit", UNITS, given.pop("unit", {"kind": "record"}), SchemaError)
        try:
            return cls(columns, unit=unit, **given)
        except TypeError as error:
            raise SchemaError(f"Schema must have keys it knows, got {sorted(body)} ({error})") from None


class SeenSchema(Schema):
    """The facts as a query sees them: views may stand for columns. Nobody declares it, and no recipe holds it."""

    _kinds: ClassVar[Any] = Seen


def _guess(prior: Any) -> tuple[float, float]:
    """A mean of at least 0 and a deviation above 0, as floats."""
    try:
        mean, sd = (float(value) for value in prior)
    except (TypeError, ValueError):
        mean, sd = math.nan, math.nan
    if not (0.0 <= mean < 2**48 and 0.0 < sd < 2**48):
        raise SchemaError(f"Schema.n_prior must be a pair (guess, standard deviation above 0), got {prior!r}")
    return mean, sd
