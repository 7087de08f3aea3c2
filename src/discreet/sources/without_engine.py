"""Rows that need no engine: Arrow columns straight to level codes and grid steps, for losses that ask for all rows.

A query is plain if its units are rows and its columns leave nothing to be printed or parsed:

| column | held as |
|---|---|
| levels | texts, if no level is a number; whole numbers; floats, if no two levels are the same number; truth values |
| numbers | whole numbers, floats, truth values |

Whether a query is plain follows from the schema and the types of the source, never from a cell, and every row is read
on its own; what a cell means is what `cells` says of it. So it does not matter where a plain query is read after all:
files with texts too long for Arrow go to the engine. Tables of many columns gain most: there is no SQL to plan.
"""

from collections import Counter
from collections.abc import Mapping
from math import frexp, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.losses.base import Loss
from discreet.schema import Binary, Bounded, Categorical, Count, Person
from discreet.sources.design import NO_NUMBER
from discreet.sources.readers.identifiers import MENDED
from discreet.sources.sql.cell_sql import LARGEST_WHOLE_FLOAT, Cell, Storage, level_texts, numbers_of

__all__ = ["coded_batch", "is_plain"]

Codes = NDArray[np.int64]

NUMBERS: tuple[Storage, ...] = ("boolean", "float", "integer")
LONGEST_WHOLE = 20  # characters


def is_plain(query: Loss, cells: Mapping[str, Cell]) -> bool:
    """Whether the rows of this query can be read without an engine."""
    if isinstance(query.schema.unit, Person):
        return False
    for name in query.columns:
        column, storage = query.schema.column(name), cells[name].storage
        if isinstance(column, Binary | Categorical):
            if _matches(column, storage) is None:
                return False
        elif storage not in NUMBERS:
            return False
    return True


def coded_batch(query: Loss, cells: Mapping[str, Cell], rows: Any) -> dict[str, Codes]:
    """Level codes (-1: bad) and grid steps (NO_NUMBER: bad) of one Arrow batch of a plain query."""
    found = {}
    for name in query.columns:
        column, held = query.schema.column(name), rows.column(cells[name].column)
        if isinstance(column, Binary | Categorical):
            matches = _matches(column, cells[name].storage)
            assert matches is not None  # the query is plain
            found[name] = _codes(held, matches, -1 if column.default_code is None else column.default_code)
        else:
            found[name] = _steps(held, column)
    return found


def _matches(column: Binary | Categorical, storage: Storage) -> dict[Any, int] | None:
    """The code of each cell that matches a level; None where that takes an engine that prints and parses."""
    texts, numbers = level_texts(column), numbers_of(column.levels)
    times = Counter(numbers)
    single = {value + 0.0: code for code, value in enumerate(numbers) if value is not None and times[value] == 1}
    if storage == "text":
        return None if any(value is not None for value in numbers) or any(MENDED in text for text in texts) else texts
    if storage == "boolean":
        return {truth: texts[text] for truth, text in ((False, "false"), (True, "true")) if text in texts}
    if storage == "integer" and not any(abs(value) >= LARGEST_WHOLE_FLOAT for value in times if value is not None):
        whole = {int(value): code for value, code in single.items() if value == int(value)}
        return whole | {int(text): code for text, code in texts.items() if _is_whole(text)}
    if storage == "float" and all(times[value] == 1 for value in times if value is not None):
        return None if "inf" in texts or "-inf" in texts else single
    return None


def _is_whole(text: str) -> bool:
    """Whether a whole number of 64 bits is printed like this."""
    digits = text.removeprefix("-") if len(text) <= LONGEST_WHOLE else ""
    return text == "0" or (digits.isascii() and digits.isdigit() and digits[0] != "0")


def _codes(rows: Any, matches: Mapping[Any, int], default: int) -> Codes:
    """The codes of one Arrow column of levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(rows.type):
        known = np.append(_codes(rows.dictionary, matches, default), default)
        return np.asarray(known[rows.indices.cast(pa.int64()).fill_null(known.size - 1).to_numpy()])
    if pa.types.is_floating(rows.type):
        rows = pc.add(rows.cast(pa.float64()), 0.0)  # as with levels above: there is one zero
    elif pa.types.is_integer(rows.type):
        least, most = np.iinfo(rows.type.to_pandas_dtype()).min, np.iinfo(rows.type.to_pandas_dtype()).max
        matches = {value: code for value, code in matches.items() if least <= value <= most}
    elif not pa.types.is_boolean(rows.type):
        rows = rows.cast(pa.large_string()) if not pa.types.is_string(rows.type) else rows
    places = pc.index_in(rows, value_set=pa.array(list(matches), rows.type)).fill_null(len(matches))
    return np.asarray(np.array([*matches.values(), default], dtype=np.int64)[places.to_numpy()])


def _steps(rows: Any, column: Bounded | Count) -> Codes:
    """The grid steps of one Arrow column of numbers."""
    import pyarrow as pa

    held = rows.dictionary_decode() if pa.types.is_dictionary(rows.type) else rows
    values = held.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    bad = np.isnan(values)
    default = column.default_value
    within = np.where(bad, column.lower if default is None else default, np.clip(values, column.lower, column.upper))
    is_power_of_two = frexp(column.step)[0] == 0.5 and isfinite(1.0 / column.step)
    scaled = within * (1.0 / column.step) if is_power_of_two else within / column.step
    steps = np.floor(scaled + 0.5).astype(np.int64)
    return np.where(bad, NO_NUMBER, steps) if default is None else steps
