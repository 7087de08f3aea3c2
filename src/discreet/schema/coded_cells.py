"""The meaning of cells, applied to a column or a view of it: level codes and grid steps of objects and of numbers.

Plain rows and new records of predictions, which are public, are coded here; `sources.sql` says the same in SQL.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.schema.cell import NO_LEVEL, Codes, clipped_steps, longest_text, number_of, text_of
from discreet.schema.columns import Binary, Bounded, Categorical, Count, Seen, level_numbers, level_texts
from discreet.schema.views import Matches, Ranges

__all__ = ["NumberReader", "coded_numbers", "coded_objects"]

NumberReader = Callable[[str], float | None]  # the number that a text is: with a decimal point, or with a comma


def coded_objects(column: Seen, cells: Iterable[object], number: NumberReader = number_of) -> Codes:
    """The level codes or grid steps of Python objects; a bad one is the default, or `column.excluded`."""
    longest = longest_text(column.compared)
    texts = [text_of(cell, column.truths, longest) for cell in cells]
    if column.holds == "levels":
        return _level_codes(column, texts, number)
    if column.holds == "matches":
        return _classes(column, texts, number)
    numbers = [None if text is None else number(text) for text in texts]
    return coded_numbers(column, np.array([np.nan if value is None else value for value in numbers], dtype=float))


def coded_numbers(column: Bounded | Count | Ranges, values: NDArray[np.float64]) -> Codes:
    """The grid steps, or the ranges, of numbers; a bad one, NaN, is the default, or `column.excluded`."""
    if column.holds == "numbers":
        return _steps_or_default(column, values)
    codes = np.searchsorted(np.array(column.breaks), values, side="right").astype(np.int64)
    bad = column.excluded if column.default_code is None else column.default_code
    return np.where(np.isnan(values), bad, codes)


def _steps_or_default(column: Bounded | Count, values: NDArray[np.float64]) -> Codes:
    """The grid steps of each number; a bad one, NaN, is the default, or `column.excluded`."""
    default = column.default_value
    held = np.where(np.isnan(values), column.lower if default is None else default, values)
    steps = clipped_steps(held, column.lower, column.upper, column.step).astype(np.int64)
    return np.where(np.isnan(values), column.excluded, steps) if default is None else np.asarray(steps)


def _level_codes(column: Binary | Categorical, texts: Iterable[str | None], number: NumberReader) -> Codes:
    """The level of each text, by text, else by number, else `other`; a bad one is the default, or `excluded`."""
    missing = column.excluded if column.default_code is None else column.default_code
    return _found(column, texts, number, missing if column.other_code is None else column.other_code, missing)


def _classes(column: Matches, texts: Iterable[str | None], number: NumberReader) -> Codes:
    """Whether each text is a declared level, one that `other` takes, or bad."""
    bad = len(column.levels) - 1
    other = NO_LEVEL if column.column.other_code is None else NO_LEVEL - 1
    codes = _found(column.column, texts, number, other, NO_LEVEL)
    return np.select([codes >= 0, codes < NO_LEVEL], [0, 1], bad).astype(np.int64)


def _found(
    column: Binary | Categorical, texts: Iterable[str | None], number: NumberReader, other: int, missing: int
) -> Codes:
    """The code of each text's level; of those that are none, one for texts and one for what is missing or empty."""
    by_text, by_number = level_texts(column), level_numbers(column)

    def code(text: str | None) -> int:
        found = None if text is None else by_text.get(text.lower() if column.any_case else text)
        if found is None and by_number and text is not None:
            found = by_number.get(number(text))  # type: ignore[arg-type]
        if found is None:
            return other if text else missing
        return found

    return np.array([code(text) for text in texts], dtype=np.int64)
