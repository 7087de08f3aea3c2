"""Columns of a table: public declarations that give every conceivable cell exactly one meaning.

Every column declares a *total* rule: each conceivable cell has exactly one meaning, so nothing that happens later
can depend on whether a cell was well formed. Numbers clip to their bounds; a cell that is not a number or
not a declared level follows `missing`:

* a level or value: the cell counts as that one;
* `"exclude"`: the row adds nothing to statistics that use the column, and the number of used rows is private;
* not given: the custodian declares the column complete, and a bad cell falls on the lower bound or first level.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.schema.cell import (
    LARGEST_STEPS,
    LONGEST_LEVEL,
    NO_LEVEL,
    NO_NUMBER,
    Codes,
    Truths,
    clipped_steps,
    longest_text,
    number_of,
    text_of,
)

__all__ = [
    "KINDS",
    "Binary",
    "Bounded",
    "Categorical",
    "Column",
    "Count",
    "coded_objects",
    "is_integer",
    "level_numbers",
    "level_texts",
    "steps_or_default",
    "without_none",
]


class _OfLevels:
    """What columns of levels have in common; `excluded` is the code of a cell that excludes its row."""

    holds: ClassVar[Literal["levels"]] = "levels"
    truths: ClassVar[Truths] = ("false", "true")
    excluded: ClassVar[int] = NO_LEVEL


class _OfNumbers:
    """What columns of numbers have in common; `excluded` stands for the steps of a cell that excludes its row."""

    holds: ClassVar[Literal["numbers"]] = "numbers"
    levels: ClassVar[tuple[str, ...]] = ()
    truths: ClassVar[Truths] = ("0", "1")
    excluded: ClassVar[int] = NO_NUMBER


@dataclass(frozen=True)
class Categorical(_OfLevels):
    """A column with declared levels, in the order in which every released vector lists them.

    A cell matches a level if their texts are equal, or if both are the same number ("1.0" is the level "1").
    """

    levels: tuple[str, ...]
    missing: str | None = None
    any_case: ClassVar[bool] = False

    def __init__(self, levels: Any, missing: str | int | None = None) -> None:
        if isinstance(levels, str) or not hasattr(levels, "__iter__"):
            raise SchemaError(f"Categorical.levels must be a list of levels, got {levels!r}")
        values = tuple(levels)
        if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in values):
            raise SchemaError(f"Categorical.levels must be texts or whole numbers, got {values!r}")
        texts = tuple(str(level) for level in values)
        if any(len(text) > LONGEST_LEVEL for text in texts):
            raise SchemaError(f"Categorical.levels must be at most {LONGEST_LEVEL} characters long, got a longer one")
        if any(0xD800 <= ord(letter) <= 0xDFFF for text in texts for letter in text):
            raise SchemaError("Categorical.levels must be texts that UTF-8 can write, got half a surrogate pair")
        if "exclude" in texts:
            raise SchemaError(
                'Categorical.levels must not contain "exclude", which is the name of a rule for bad cells'
            )
        if len(texts) < 2 or len(set(texts)) != len(texts):
            raise SchemaError(f"Categorical.levels must be at least two different levels, got {list(texts)!r}")
        chosen = None if missing is None else str(missing)
        if chosen not in (None, "exclude", *texts):
            raise SchemaError(f'Categorical.missing must be a declared level or "exclude", got {missing!r}')
        object.__setattr__(self, "levels", texts)
        object.__setattr__(self, "missing", chosen)

    @property
    def spellings(self) -> tuple[str, ...]:
        """A level is written as it is declared."""
        return self.levels

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        if self.missing == "exclude":
            return None
        return 0 if self.missing is None else self.levels.index(self.missing)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none({"kind": "categorical", "levels": list(self.levels), "missing": self.missing})


@dataclass(frozen=True)
class Binary(_OfLevels):
    """A column of 0 and 1 (or false and true, in any case); levels are "0" and "1" in that order."""

    missing: int | Literal["exclude"] | None = None
    levels: ClassVar[tuple[str, ...]] = ("0", "1")
    spellings: ClassVar[tuple[str, ...]] = ("0", "1", "false", "true")
    any_case: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.missing not in (None, "exclude", 0, 1):
            raise SchemaError(f'Binary.missing must be 0, 1 or "exclude", got {self.missing!r}')
        if isinstance(self.missing, bool | float):
            object.__setattr__(self, "missing", int(self.missing))

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else int(self.missing or 0)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none({"kind": "binary", "missing": self.missing})


@dataclass(frozen=True)
class Bounded(_OfNumbers):
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
        width = float(self.upper) - float(self.lower)
        if not 1e-280 < width < math.inf:
            raise SchemaError(f"Bounded.upper - lower must be within double precision, got {width!r}")
        object.__setattr__(self, "lower", float(self.lower))  # 0 and 0.0 are the same declaration
        object.__setattr__(self, "upper", float(self.upper))
        grid = 2.0 ** math.floor(math.log2(width / 2**20)) if self.grid is None else self.grid
        if not _is_number(grid) or grid <= 0:
            raise SchemaError(f"Bounded.grid must be a number above 0, got {grid!r}")
        if max(abs(self.lower), abs(self.upper)) / grid > LARGEST_STEPS:
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
        """`value` on the grid, as the source rounds it."""
        return int(clipped_steps(value, self.lower, self.upper, self.step))

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none(
            {"kind": "bounded", "lower": self.lower, "upper": self.upper, "missing": self.missing, "grid": self.grid}
        )


@dataclass(frozen=True)
class Count(_OfNumbers):
    """A whole number from 0 to `upper`: clipped to that range and rounded to the nearest integer."""

    upper: int
    missing: int | Literal["exclude"] | None = None
    lower: ClassVar[int] = 0
    step: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not (is_integer(self.upper) and 0 < self.upper <= LARGEST_STEPS):
            raise SchemaError(f"Count.upper must be a whole number from 1 to 2^31, got {self.upper!r}")
        if self.missing not in (None, "exclude") and not (
            is_integer(self.missing) and 0 <= int(self.missing) <= self.upper
        ):
            raise SchemaError(
                f'Count.missing must be a whole number up to {self.upper} or "exclude", got {self.missing!r}'
            )

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else float(self.missing or 0)

    def steps(self, value: float) -> int:
        """`value` clipped and rounded, as the source does it."""
        return int(clipped_steps(value, self.lower, self.upper, self.step))

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none({"kind": "count", "upper": self.upper, "missing": self.missing})


Column = Binary | Bounded | Categorical | Count
KINDS: dict[str, type[Column]] = {"binary": Binary, "bounded": Bounded, "categorical": Categorical, "count": Count}


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1000


def is_integer(value: object) -> bool:
    """Whether the value is a whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def without_none(body: dict[str, Any]) -> dict[str, Any]:
    """The entries that say something."""
    return {key: value for key, value in body.items() if value is not None}


def coded_objects(column: Column, cells: Iterable[object]) -> Codes:
    """The level codes or grid steps of Python objects; a bad one is the default, or `column.excluded`."""
    longest = longest_text(column.levels)
    texts = [text_of(cell, column.truths, longest) for cell in cells]
    if column.holds == "levels":
        return _level_codes(column, texts)
    numbers = [None if text is None else number_of(text) for text in texts]
    return steps_or_default(column, np.array([np.nan if value is None else value for value in numbers]))


def level_texts(column: Binary | Categorical) -> dict[str, int]:
    """The code of each text of a level."""
    return {text: place % len(column.levels) for place, text in enumerate(column.spellings)}


def level_numbers(column: Binary | Categorical) -> dict[float, int]:
    """The code of each finite number that is a level, except those that are the same number as another level."""
    numbers = [(number_of(level), code) for code, level in enumerate(column.levels)]
    finite = [(value + 0.0, code) for value, code in numbers if value is not None and math.isfinite(value)]  # one zero
    times = Counter(value for value, _ in finite)
    return {value: code for value, code in finite if times[value] == 1}


def steps_or_default(column: Bounded | Count, values: NDArray[np.float64]) -> Codes:
    """The grid steps of each number; a bad one, NaN, is the default, or `column.excluded`."""
    default = column.default_value
    held = np.where(np.isnan(values), column.lower if default is None else default, values)
    steps = clipped_steps(held, column.lower, column.upper, column.step).astype(np.int64)
    return np.where(np.isnan(values), column.excluded, steps) if default is None else np.asarray(steps)


def _level_codes(column: Binary | Categorical, texts: Iterable[str | None]) -> Codes:
    """The level of each text, by text, else by number; a bad one is the default, or `column.excluded`."""
    by_text, by_number = level_texts(column), level_numbers(column)
    default = column.excluded if column.default_code is None else column.default_code

    def code(text: str | None) -> int:
        if text is None:
            return default
        found = by_text.get(text.lower() if column.any_case else text)
        if found is None and by_number:
            found = by_number.get(number_of(text))  # type: ignore[arg-type]
        return default if found is None else found

    return np.array([code(text) for text in texts], dtype=np.int64)
