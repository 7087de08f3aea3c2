"""Public facts about a table: its columns, its privacy unit, its neighbour relation and its size. No rows.

Every column declares a *total* rule: each conceivable cell has exactly one meaning, so nothing that happens later
can depend on whether a cell was well formed (design rule 4.3). Numbers clip to their bounds; a cell that is
not a number or not a declared level follows `missing`:

* a level or value: the cell counts as that one;
* `"exclude"`: the row adds nothing to statistics that use the column, and the number of used rows is private;
* not given: the custodian declares the column complete, and a bad cell falls on the lower bound or first level.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from discreet.errors import SchemaError
from discreet.recipe import build

__all__ = ["Binary", "Bounded", "Categorical", "Column", "Count", "Record", "Relation", "Schema", "Unit"]

Relation = Literal["replace-one", "add-remove"]

# The largest fixed-point magnitude of one cell: sums of 2^63 rows of products of two cells stay inside 128 bits.
LARGEST_CELL = 2**31


@dataclass(frozen=True)
class Categorical:
    """A column with declared levels, in the order in which every released vector lists them.

    A cell matches a level if their texts are equal, or if both are the same number ("1.0" is the level "1").
    """

    levels: tuple[str, ...]
    missing: str | None = None

    def __init__(self, levels: Any, missing: str | int | None = None) -> None:
        if isinstance(levels, str) or not hasattr(levels, "__iter__"):
            raise SchemaError(f"Categorical.levels must be a list of levels, got {levels!r}")
        values = tuple(levels)
        if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in values):
            raise SchemaError(f"Categorical.levels must be texts or whole numbers, got {values!r}")
        texts = tuple(str(level) for level in values)
        if any(0xD800 <= ord(letter) <= 0xDFFF for text in texts for letter in text):
            raise SchemaError("Categorical.levels must be texts that UTF-8 can write, got half a surrogate pair")
        if len(texts) < 2 or len(set(texts)) != len(texts):
            raise SchemaError(f"Categorical.levels must be at least two different levels, got {list(texts)!r}")
        chosen = None if missing is None else str(missing)
        if chosen not in (None, "exclude", *texts):
            raise SchemaError(f'Categorical.missing must be a declared level or "exclude", got {missing!r}')
        object.__setattr__(self, "levels", texts)
        object.__setattr__(self, "missing", chosen)

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        if self.missing == "exclude":
            return None
        return 0 if self.missing is None else self.levels.index(self.missing)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return _without_none({"kind": "categorical", "levels": list(self.levels), "missing": self.missing})


@dataclass(frozen=True)
class Binary:
    """A column of 0 and 1 (or false and true, in any case); levels are "0" and "1" in that order."""

    missing: int | Literal["exclude"] | None = None

    def __post_init__(self) -> None:
        if self.missing not in (None, "exclude", 0, 1):
            raise SchemaError(f'Binary.missing must be 0, 1 or "exclude", got {self.missing!r}')
        if isinstance(self.missing, bool):
            object.__setattr__(self, "missing", int(self.missing))

    @property
    def levels(self) -> tuple[str, ...]:
        """The two levels, zero first."""
        return ("0", "1")

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else int(self.missing or 0)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return _without_none({"kind": "binary", "missing": self.missing})


@dataclass(frozen=True)
class Bounded:
    """A number clipped to [lower, upper] and rounded to the nearest multiple of the public `grid`.

    The default grid is the power of two next below (upper - lower) / 2^20: sums are then exact integers.
    """

    lower: float
    upper: float
    missing: float | Literal["exclude"] | None = None
    grid: float | None = None

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            value = getattr(self, name)
            if not _is_number(value):
                raise SchemaError(f"Bounded.{name} must be a finite number, got {value!r}")
        if not self.lower < self.upper:
            raise SchemaError(f"Bounded.upper must be above lower = {self.lower!r}, got {self.upper!r}")
        grid = 2.0 ** math.floor(math.log2((self.upper - self.lower) / 2**20)) if self.grid is None else self.grid
        if not _is_number(grid) or grid <= 0:
            raise SchemaError(f"Bounded.grid must be a number above 0, got {grid!r}")
        if max(abs(self.lower), abs(self.upper)) / grid > LARGEST_CELL:
            raise SchemaError(f"Bounded.grid must keep the bounds within 2^31 steps of 0, got {grid!r}")
        object.__setattr__(self, "grid", float(grid))
        if self.missing is None or self.missing == "exclude":
            return
        if not (_is_number(self.missing) and self.lower <= self.missing <= self.upper):
            raise SchemaError(f'Bounded.missing must be within the bounds or "exclude", got {self.missing!r}')

    @property
    def step(self) -> float:
        """The grid as a plain number."""
        assert self.grid is not None  # set by __post_init__
        return self.grid

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""
        if self.missing == "exclude":
            return None
        return self.lower if self.missing is None else float(self.missing)

    def steps(self, value: float) -> int:
        """`value` on the grid, as the source rounds it: floor(value / grid + 1/2) in double arithmetic."""
        return math.floor(min(max(value, self.lower), self.upper) / self.step + 0.5)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return _without_none(
            {"kind": "bounded", "lower": self.lower, "upper": self.upper, "missing": self.missing, "grid": self.grid}
        )


@dataclass(frozen=True)
class Count:
    """A whole number from 0 to `upper`: clipped to that range and rounded to the nearest integer."""

    upper: int
    missing: int | Literal["exclude"] | None = None

    def __post_init__(self) -> None:
        if not (_is_integer(self.upper) and 0 < self.upper <= LARGEST_CELL):
            raise SchemaError(f"Count.upper must be a whole number from 1 to 2^31, got {self.upper!r}")
        if self.missing not in (None, "exclude") and not (
            _is_integer(self.missing) and 0 <= int(self.missing) <= self.upper
        ):
            raise SchemaError(
                f'Count.missing must be a whole number up to {self.upper} or "exclude", got {self.missing!r}'
            )

    @property
    def lower(self) -> int:
        """Counts start at zero."""
        return 0

    @property
    def step(self) -> float:
        """Counts live on the integers."""
        return 1.0

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else float(self.missing or 0)

    def steps(self, value: float) -> int:
        """`value` clipped and rounded, as the source does it."""
        return math.floor(min(max(value, 0), self.upper) + 0.5)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return _without_none({"kind": "count", "upper": self.upper, "missing": self.missing})


Column = Binary | Bounded | Categorical | Count
KINDS: dict[str, type[Column]] = {"binary": Binary, "bounded": Bounded, "categorical": Categorical, "count": Count}


@dataclass(frozen=True)
class Record:
    """The privacy unit is one row of the table."""

    def __str__(self) -> str:
        return "record"

    def to_json(self) -> dict[str, Any]:
        """The unit as the study file writes it."""
        return {"kind": "record"}


Unit = Record


@dataclass(frozen=True)
class Schema:
    """Columns, privacy unit, neighbour relation and public size of a table.

    Under `"replace-one"` neighbours differ in one unit and share `n`, which is public: `dc.open` counts it, or
    refuses when a declared `n` differs. Under `"add-remove"` n is private; `n_max` bounds it and nothing counts it.
    """

    columns: Mapping[str, Column]
    unit: Unit = field(default_factory=Record)
    relation: Relation = "replace-one"
    n: int | None = None
    n_max: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        if not self.columns:
            raise SchemaError("Schema.columns must declare at least one column, got none")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise SchemaError(f"Schema.columns must have names that are texts, got {name!r}")
            if not isinstance(column, Column):
                raise SchemaError(f"Schema.columns[{name!r}] must be one of {sorted(KINDS)}, got {column!r}")
        if not isinstance(self.unit, Unit):
            raise SchemaError(f"Schema.unit must be Record(), got {self.unit!r}")
        if self.relation not in ("replace-one", "add-remove"):
            raise SchemaError(f'Schema.relation must be "replace-one" or "add-remove", got {self.relation!r}')
        for name in ("n", "n_max"):
            size = getattr(self, name)
            if size is not None and not (_is_integer(size) and 0 <= size < 2**48):
                raise SchemaError(f"Schema.{name} must be a whole number from 0 to 2^48, got {size!r}")
        if self.relation == "add-remove" and self.n is not None:
            raise SchemaError("Schema.n must not be given under add-remove, where n is private: declare n_max")
        if self.relation == "add-remove" and self.n_max is None:
            raise SchemaError("Schema.n_max must be declared under add-remove, got None")
        if self.relation == "replace-one" and self.n_max is not None:
            raise SchemaError("Schema.n_max must not be given under replace-one, where n is public: declare n")

    def __hash__(self) -> int:
        return hash((tuple(self.columns.items()), self.unit, self.relation, self.n, self.n_max))

    def column(self, name: str) -> Column:
        """The declaration of one column."""
        if name not in self.columns:
            raise SchemaError(f"Schema.columns must contain {name!r}, got {sorted(self.columns)}")
        return self.columns[name]

    def with_n(self, n: int) -> Self:
        """The same schema with the public number of units filled in."""
        if self.n is not None and self.n != n:
            raise SchemaError(f"Schema.n must be the number of units in the source, {n}, got {self.n}")
        return replace(self, n=n)

    def to_json(self) -> dict[str, Any]:
        """A plain description; `from_json` reads it back."""
        return _without_none(
            {
                "columns": {name: column.to_json() for name, column in self.columns.items()},
                "unit": self.unit.to_json(),
                "relation": self.relation,
                "n": self.n,
                "n_max": self.n_max,
            }
        )

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Read a schema; unknown keys and kinds are errors."""
        fields = dict(body)
        columns = {
            name: build(f"Schema.columns[{name!r}]", KINDS, spec, SchemaError)
            for name, spec in fields.pop("columns", {}).items()
        }
        unit = build("Schema.unit", {"record": Record}, fields.pop("unit", {"kind": "record"}), SchemaError)
        try:
            return cls(columns, unit=unit, **fields)
        except TypeError as error:
            raise SchemaError(f"Schema must have keys it knows, got {sorted(body)} ({error})") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _without_none(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}
