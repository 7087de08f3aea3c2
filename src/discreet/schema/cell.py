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

Nothing here knows rows. `coded_cell` applies it to a declared column: to plain rows and to new records of predictions,
which are public; `sources.sql.cell_sql` says the same in SQL, and one test holds all of them against one oracle.
"""

import re
from collections.abc import Iterable
from math import isnan
from typing import Any, Literal

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
    "Storage",
    "Truths",
    "clipped_steps",
    "longest_text",
    "number_of",
    "number_text",
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
    re.ASCII | re.IGNORECASE,  # else a dotless ı is an i
)


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


def clipped_steps(values: ArrayLike, lower: float, upper: float, step: float) -> Any:
    """Numbers within their bounds and on their grid, floor(value / step + 1/2): doubles that are whole; NaN stays."""
    return np.floor(np.clip(values, lower, upper) / step + 0.5)
