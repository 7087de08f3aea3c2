"""Cells as codes: the level that a text matches, the grid steps of a number, and what a bad one counts as."""

from collections import Counter
from collections.abc import Iterable
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from discreet.schema.cell import Codes, clipped_steps, longest_text, number_of
from discreet.schema.columns import Binary, Bounded, Categorical, Column, Count
from discreet.schema.object_cell import text_of

__all__ = ["coded_objects", "level_numbers", "level_texts", "steps_or_default"]


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
    finite = [(value + 0.0, code) for value, code in numbers if value is not None and isfinite(value)]  # one zero
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
