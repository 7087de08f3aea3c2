"""Rows that need no engine: Arrow columns straight to level codes and grid steps, for losses that ask for all rows.

A query is plain if its units are rows and its columns leave nothing to be printed or parsed:

| column | held as |
|---|---|
| levels | texts, if no level is a number; whole numbers; floats, if no two levels are the same number; truth values |
| numbers | whole numbers, floats, truth values |

Whether a query is plain follows from the schema and the types of the source, never from a cell, and every row is read
on its own; what a cell means is what `schema.cell` says of it. So it does not matter where a plain query is read after
all: files with texts too long for Arrow go to the engine. Tables of many columns gain most: there is no SQL to plan.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.queries.losses.base import Loss
from discreet.schema.arrow_cell import arrow_floats
from discreet.schema.cell import NO_LEVEL, Codes, matches, steps_or_default
from discreet.sources.sql.relation import Held

__all__ = ["coded_batch", "is_plain"]


def is_plain(query: Loss, held: Mapping[str, Held]) -> bool:
    """Whether the rows of this query can be read without an engine."""
    columns = [(query.schema.column(name), held[name].storage) for name in query.columns]
    return query.schema.unit.identifier is None and all(
        matches(column, storage) is not None if column.holds == "levels" else storage not in ("decimal", "text")
        for column, storage in columns
    )


def coded_batch(query: Loss, held: Mapping[str, Held], rows: Any) -> dict[str, Codes]:
    """Level codes (NO_LEVEL: bad) and grid steps (NO_NUMBER: bad) of one Arrow batch of a plain query."""
    import pyarrow as pa

    found = {}
    for name in query.columns:
        column, own = query.schema.column(name), rows.column(held[name].column)
        if column.holds == "levels":
            known = matches(column, held[name].storage)
            assert known is not None  # the query is plain
            found[name] = _codes(own, known, NO_LEVEL if column.default_code is None else column.default_code)
        else:
            plain = own.dictionary_decode() if pa.types.is_dictionary(own.type) else own
            found[name] = steps_or_default(column, arrow_floats(plain))
    return found


def _codes(rows: Any, known: Mapping[Any, int], default: int) -> Codes:
    """The codes of one Arrow column of levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(rows.type):
        once = np.append(_codes(rows.dictionary, known, default), default)
        return np.asarray(once[rows.indices.cast(pa.int64()).fill_null(once.size - 1).to_numpy()])
    if pa.types.is_floating(rows.type):
        rows = pc.add(rows.cast(pa.float64()), 0.0)  # as with the numbers of levels: there is one zero
    elif pa.types.is_integer(rows.type):
        least, most = np.iinfo(rows.type.to_pandas_dtype()).min, np.iinfo(rows.type.to_pandas_dtype()).max
        known = {value: code for value, code in known.items() if least <= value <= most}
    elif not pa.types.is_boolean(rows.type):
        rows = rows.cast(pa.large_string()) if not pa.types.is_string(rows.type) else rows
    places = pc.index_in(rows, value_set=pa.array(list(known), rows.type)).fill_null(len(known))
    return np.asarray(np.array([*known.values(), default], dtype=np.int64)[places.to_numpy()])
