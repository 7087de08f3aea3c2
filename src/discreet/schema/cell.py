"""What one cell means: its text, its number, the level it matches, its grid step, and what a bad one counts as.

| cell | text |
|---|---|
| text | itself; bad if it is longer than `longest_text` |
| truth value | `false`, `true`; where numbers are due `0`, `1` |
| number | the shortest text of the nearest double; whole values print as integers do; NaN is missing |

Whether whole numbers are kept as integers, decimals or doubles, and with how many digits, is up to the library that
wrote them, and one missing cell may decide it for all the others: a number is the double next to it, in every type.

A cell matches a level if their texts are equal, or else if both are the same number, read from the texts. A number that
is summed is clipped, divided by its grid and rounded in doubles. A cell that is no level or no number counts as what
its column declares, or excludes its row.

Nothing here knows rows: engines only translate it, into SQL (`sources.sql.cell_sql`) or Arrow (`sources.engines`), and
new records of predictions, which are public, are read by it as it stands.
"""

import re
from collections import Counter
from collections.abc import Iterable
from math import isfinite, isnan
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LARGEST_STEPS",
    "LARGEST_WHOLE_FLOAT",
    "LONGEST_IDENTIFIER",
    "LONGEST_LEVEL",
    "LONGEST_TEXT",
    "MENDED",
    "NO_LEVEL",
    "NO_NUMBER",
    "Codes",
    "Levels",
    "Numbers",
    "Storage",
    "Truths",
    "clipped_steps",
    "level_codes",
    "level_numbers",
    "level_texts",
    "longest_text",
    "matches",
    "number_of",
    "number_text",
    "steps_or_default",
]

Codes = NDArray[np.int64]

# The texts of False and True.
Truths = tuple[str, str]

# How a source may hold cells. A field is a text of a file without types; what it is, only identifiers ask.
Storage = Literal["boolean", "decimal", "field", "float", "integer", "text"]

NO_LEVEL = -1  # the code of a cell that excludes its row, in a column of levels
NO_NUMBER = int(np.iinfo(np.int64).min)  # the same in a column of numbers

LARGEST_WHOLE_FLOAT = 2**53  # whole floats below it are exact integers
LARGEST_STEPS = 2**31  # of one cell: sums of 2^63 rows of products of two cells stay inside 128 bits

# Public caps on texts: whatever is grouped, sorted or compared has a size that no row decides.
LONGEST_LEVEL = 10_000  # characters
ROOM_FOR_A_NUMBER = 2**10  # bytes
LONGEST_IDENTIFIER = 2**12  # bytes
LONGEST_TEXT = 2**16  # bytes; levels and identifiers are shorter, whatever is declared

MENDED = "\N{REPLACEMENT CHARACTER}"  # stands where bytes were not UTF-8

_DIGITS = "[0-9]+(?:_[0-9]+)*"
_NUMBER = re.compile(
    rf"[ \t\n\v\f\r]*\+?(-?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf|infinity))"
    r"[ \t\n\v\f\r]*",
    re.IGNORECASE,
)


class Levels(Protocol):
    """A column of levels, as far as its cells are concerned."""

    @property
    def levels(self) -> tuple[str, ...]:
        """The declared levels; a code is a place among them."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The texts of the levels in order, once or, in other words, twice."""

    @property
    def any_case(self) -> bool:
        """Whether texts are compared in lower case."""

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""


class Numbers(Protocol):
    """A column of numbers, as far as its cells are concerned."""

    @property
    def lower(self) -> float:
        """The lower bound."""

    @property
    def upper(self) -> float:
        """The upper bound."""

    @property
    def step(self) -> float:
        """The grid."""

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""


def number_text(value: float) -> str | None:
    """The text of a number, as engines print it; NaN has none."""
    if isnan(value):
        return None
    return str(int(value)) if abs(value) < LARGEST_WHOLE_FLOAT and value == int(value) else repr(value)


def number_of(text: str) -> float | None:
    """The number that a text is, None if it is none: what DuckDB makes of it, fuzzed against it text by text."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else float(found[1])


def longest_text(levels: Iterable[str]) -> int:
    """How many bytes a cell may have: the longest level and room for a number, since 1.0 is a 1."""
    return max((len(level.encode()) for level in levels), default=0) + ROOM_FOR_A_NUMBER


def level_texts(column: Levels) -> dict[str, int]:
    """The code of each text of a level."""
    return {text: place % len(column.levels) for place, text in enumerate(column.spellings)}


def level_numbers(column: Levels) -> dict[float, int]:
    """The code of each finite number that is a level, except those that are the same number as another level."""
    numbers = _numbers_of(column.levels)
    times = Counter(numbers)
    return {value: code for code, value in enumerate(numbers) if value is not None and times[value] == 1}


def level_codes(column: Levels, texts: Iterable[str | None]) -> Codes:
    """The level of each text, by text, else by number; a bad one is the default, or NO_LEVEL."""
    by_text, by_number, longest = level_texts(column), level_numbers(column), longest_text(column.levels)
    default = NO_LEVEL if column.default_code is None else column.default_code

    def code(text: str | None) -> int:
        if text is None or len(text.encode()) > longest:
            return default
        found = by_text.get(text.lower() if column.any_case else text)
        return by_number.get(number_of(text), default) if found is None else found  # type: ignore[arg-type]

    return np.array([code(text) for text in texts], dtype=np.int64)


def matches(column: Levels, storage: Storage) -> dict[Any, int] | None:
    """The code of each cell that matches a level, as it is held; None where cells must be printed or parsed to tell."""
    texts, single = level_texts(column), level_numbers(column)
    numbers = [value for value in _numbers_of(column.levels) if value is not None]
    if storage == "text":
        return None if numbers or any(MENDED in text for text in texts) else texts
    if storage == "boolean":
        return {truth: texts[text] for truth, text in ((False, "false"), (True, "true")) if text in texts}
    if storage == "integer" and all(abs(value) < LARGEST_WHOLE_FLOAT for value in numbers):
        whole = {int(value): code for value, code in single.items() if value == int(value)}
        return whole | {int(text): code for text, code in texts.items() if _is_whole(text)}
    if storage == "float" and len(single) == len(numbers):
        return None if "inf" in texts or "-inf" in texts else single
    return None


def clipped_steps(values: ArrayLike, lower: float, upper: float, step: float) -> Any:
    """Numbers within their bounds and on their grid, floor(value / step + 1/2): doubles that are whole; NaN stays."""
    return np.floor(np.clip(values, lower, upper) / step + 0.5)


def steps_or_default(column: Numbers, values: NDArray[np.float64]) -> Codes:
    """The grid steps of each number; a bad one, NaN, is the default, or NO_NUMBER."""
    default = column.default_value
    held = np.where(np.isnan(values), column.lower if default is None else default, values)
    steps = clipped_steps(held, column.lower, column.upper, column.step).astype(np.int64)
    return np.where(np.isnan(values), NO_NUMBER, steps) if default is None else np.asarray(steps)


def _numbers_of(levels: Iterable[str]) -> list[float | None]:
    """The finite number that each level is, or None; there is one zero."""
    numbers = [number_of(level) for level in levels]
    return [value + 0.0 if value is not None and isfinite(value) else None for value in numbers]


def _is_whole(text: str) -> bool:
    """Whether a whole number of 64 bits is printed like this."""
    digits = text.removeprefix("-") if len(text) <= len(str(-(2**63))) else ""
    return text == "0" or (digits.isascii() and digits.isdigit() and digits[0] != "0")
