"""The text of one Python object: a text, a number or a truth value, by its exact type, or nothing.

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

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.schema.cell import LONGEST_IDENTIFIER, LONGEST_TEXT, Truths, number_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["exact_digits", "object_texts", "text_of"]


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
