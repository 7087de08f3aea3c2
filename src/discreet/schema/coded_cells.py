"""The meaning of cells, applied to a declared column: level codes and grid steps of Python objects and of numbers.

Plain rows and new records of predictions, which are public, are coded here; `sources.sql` says the same in SQL.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.schema.cell import Codes, clipped_steps, longest_text, number_of, text_of
from discreet.schema.columns import Binary, Bounded, Categorical, Column, Count, level_numbers, level_texts

__all__ = ["coded_objects", "steps_or_default"]


def coded_objects(column: Column, cells: Iterable[object]) -> Codes:
    """The level codes or grid steps of Python objects; a bad one is the default, or `column.excluded`."""
    longest = longest_text(column.compared)
    texts = [text_of(cell, column.truths, longest) for cell in cells]
    if column.holds == "levels":
        return _level_codes(column, texts)
    numbers = [None if text is None else number_of(text) for text in texts]
    return steps_or_default(column, np.array([np.nan if value is None else value for value in numbers]))


def steps_or_default(column: Bounded | Count, values: NDArray[np.float64]) -> Codes:
    """The grid steps of each number; a bad one, NaN, is the default, or `column.excluded`."""
    default = column.default_value
    held = np.where(np.isnan(values), column.lower if default is None else default, values)
    steps = clipped_steps(held, column.lower, column.upper, column.step).astype(np.int64)
    return np.where(np.isnan(values), column.excluded, steps) if default is None else np.asarray(steps)


def _level_codes(column: Binary | Categorical, texts: Iterable[str | None]) -> Codes:
    """The level of each text, by text, else by number, else `other`; a bad one is the default, or `excluded`."""
    by_text, by_number = level_texts(column), level_numbers(column)
    missing = column.excluded if column.default_code is None else column.default_code
    other = missing if column.other_code is None else column.other_code

    def code(text: str | None) -> int:
        if text is None:
            return missing
        found = by_text.get(text.lower() if column.any_case else text)
        if found is None and by_number:
            found = by_number.get(number_of(text))  # type: ignore[arg-type]
        if found is None:
            return other if text else missing
        return found

    return np.array([code(text) for text in texts], dtype=np.int64)
