"""Checks of arguments: one wording for all refusals, `<Type>.<field> must be <range>, got <value>`."""

import math
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import DiscreetError, GuaranteeError, QueryError

__all__ = ["check_label", "check_released", "is_integer", "is_number", "meant", "positive", "told"]

TOLD = (str, bool, int, float, Decimal, np.generic, type(None))


def told(value: object) -> str:
    """What was given, as a refusal tells it; anything but one number or text by its type: a frame would show rows."""
    return repr(value) if isinstance(value, TOLD) else f"a {type(value).__name__}"


def positive(
    field_name: str, value: object, *, below: float = math.inf, error: type[DiscreetError] = GuaranteeError
) -> float:
    """`value` as a float, if it is a finite number above 0 (and below `below`)."""
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (0 < number < below and math.isfinite(number)):
        limit = "a finite number above 0" if math.isinf(below) else f"a number above 0 and below {below:g}"
        raise error(f"{field_name} must be {limit}, got {told(value)}")
    return number


def check_released(field: str, values: ArrayLike) -> None:
    """Released numbers are finite."""
    if not np.all(np.isfinite(np.asarray(values, dtype=float))):
        raise QueryError(f"{field} must be finite, got {values!r}")


def check_label(kind: str, label: object) -> None:
    """A label is a short printable text: it is public and appears in ledgers and reports."""
    if not (isinstance(label, str) and len(label) <= 200 and (label == "" or label.isprintable())):
        raise GuaranteeError(f"{kind}.label must be a printable text of at most 200 characters, got {told(label)}")


def is_integer(value: object) -> bool:
    """Whether the value is a whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether the value is a finite number, and not a truth value."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1000


def meant(word: object, known: Iterable[str]) -> str:
    """Which of the known names somebody meant who wrote another one: the end of a message, or nothing."""
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known}
    asked = word.casefold() if isinstance(word, str) else ""
    inside = [name for name in names if len(asked) > 2 and asked in name]
    near = [*get_close_matches(asked, names, 1, 0.6), *inside]
    return f"; did you mean {names[near[0]]!r}?" if near else ""
