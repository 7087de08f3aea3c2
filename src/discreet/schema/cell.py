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

Nothing here knows rows. `columns` applies it to a declared column: to plain rows and to new records of predictions,
which are public; `sources.sql.cell_sql` says the same in SQL, and one test holds all of them against one oracle.

The text of one Python object: a text, a number or a truth value, by its exact type, or nothing.

| object | text |
|---|---|
| text, also of a derived type such as an enumeration | itself; none if UTF-8 cannot write it or it is too long |
| whole number, float, decimal, numpy scalar of these | the text of the nearest double; NaN is missing |
| truth value | the texts of False and True that are due in its column |
| anything else | none |

Methods of a cell are never called: a class of the user's own may do anything in them, and whatever happens there would
depend on a row. What is read is read by the methods of the built-in types themselves, which ask no decimal context and
no limit on digits. So one object is one cell, whatever stands in the other rows.
"""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

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
    "comma_number_of",
    "declared_texts",
    "exact_digits",
    "longest_text",
    "number_of",
    "number_text",
    "object_texts",
    "text_of",
]

Codes = NDArray[np.int64]

# The texts of False and True.
Truths = tuple[str, str]

# How a source may hold cells. A field is a text of a file without types; what it is, only identifiers ask. A comma text
# is one of a file with decimal commas: as a text it is itself, as a number its commas are points and its points commas.
Storage = Literal["boolean", "comma", "decimal", "field", "float", "integer", "text"]

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

_SWAPPED = str.maketrans(",.", ".,")
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


def comma_number_of(text: str) -> float | None:
    """The number that a text of a file with decimal commas is; one with a point is none."""
    return number_of(text.translate(_SWAPPED))


def longest_text(levels: Iterable[str]) -> int:
    """How many bytes a cell may have: the longest level and room for a number, since 1.0 is a 1."""
    return max((len(level.encode()) for level in levels), default=0) + ROOM_FOR_A_NUMBER


def declared_texts(where: str, values: tuple[Any, ...]) -> tuple[str, ...]:
    """Declared levels as texts, with which cells can be compared."""
    if not all(isinstance(level, str | int) and not isinstance(level, bool) for level in values):
        raise SchemaError(f"{where} must be texts or whole numbers, got {values!r}")
    texts = tuple(str(level) for level in values)
    if any(len(text) > LONGEST_LEVEL for text in texts):
        raise SchemaError(f"{where} must be at most {LONGEST_LEVEL} characters long, got a longer one")
    if any(0xD800 <= ord(letter) <= 0xDFFF for text in texts for letter in text):
        raise SchemaError(f"{where} must be texts that UTF-8 can write, got half a surrogate pair")
    return texts


def clipped_steps(values: ArrayLike, lower: float, upper: float, step: float) -> Any:
    """Numbers within their bounds and on their grid, floor(value / step + 1/2): doubles that are whole; NaN stays."""
    return np.floor(np.clip(values, lower, upper) / step + 0.5)


def object_texts(cells: Any, truths: Truths, longest: int = LONGEST_TEXT) -> "pa.Array":
    """A sequence of objects as texts: at once where all are texts, else one by one, with the same result.

    Texts of more than `longest` bytes are missing: many rows may hold one object, and each would have a copy.
    """
    import pyarrow as pa

    plain = all(type(cell) is str or cell is None or type(cell) is float for cell in cells)
    if plain and max((len(cell) for cell in cells if type(cell) is str), default=0) <= longest // 4:
        try:
            return pa.array(cells, type=pa.large_string(), from_pandas=True)  # NaN is missing
        except (UnicodeError, pa.ArrowException):
            pass  # half a surrogate pair, or a number: read below
    return pa.array([text_of(cell, truths, longest) for cell in cells], type=pa.large_string())


def text_of(cell: object, truths: Truths, longest: int = LONGEST_TEXT) -> str | None:
    """The text of one object, equal to what the engine prints for the same number; None is missing."""
    kind = type(cell)  # never isinstance: it asks the object for its class
    if issubclass(kind, str):
        return _written(str.__str__(cell), longest)
    if kind is bool or kind is np.bool_:
        return truths[bool(cell)]
    read = _NUMBERS.get(id(kind)) or next((_BASES[base] for base in _BASES if issubclass(kind, base)), None)
    return None if read is None else number_text(read(cell))


def exact_digits(value: Any) -> str | None:
    """The shortest plain text of a decimal, exactly; None if it is too long to be one. Formatting asks no context."""
    if not Decimal.is_finite(value) or abs(Decimal.adjusted(value)) > LONGEST_IDENTIFIER:
        return "0" if Decimal.is_finite(value) and not Decimal.__bool__(value) else None
    written = Decimal.__format__(value, "f")
    shortest = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if shortest == "-0" else shortest


def _written(text: str, longest: int) -> str | None:
    if len(text) > longest:
        return None
    if text.isascii():
        return text
    try:
        return text if len(text.encode()) <= longest else None
    except UnicodeEncodeError:
        return None


def _of_int(cell: Any) -> float:
    value = int.__int__(cell)
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _of_decimal(cell: Any) -> float:
    return float("nan") if Decimal.is_nan(cell) else Decimal.__float__(cell)  # through its text, rounded once


def _of_numpy(cell: Any) -> float:
    with np.errstate(all="ignore"):
        return float(cell)


_BASES: dict[type, Callable[[Any], float]] = {int: _of_int, float: float.__float__, Decimal: _of_decimal}

# by the identity of the type: to hash or compare a type of the user's own may run its metaclass
_NUMBERS: dict[int, Callable[[Any], float]] = (
    {id(np.dtype(code).type): _of_numpy for code in np.typecodes["AllInteger"] + np.typecodes["Float"]}
    | {id(base): read for base, read in _BASES.items()}
    | {id(np.float64): float.__float__}
)
