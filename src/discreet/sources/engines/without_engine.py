"""Rows that need no engine: Arrow columns straight to level codes and grid steps, for losses that ask for all rows.

A query is plain if its units are rows and no column of numbers is held as texts or decimals, which would be parsed row
by row. Whether it is follows from the schema and the types of the source, never from a cell, and every row is read on
its own; what a cell means is what `schema.cell` says of it. So it does not matter where a plain query is read after
all: files with texts too long for Arrow go to the engine. Tables of many columns gain most: there is no SQL to plan.
"""

from collections.abc import Mapping
from typing import Any

from discreet.queries.losses.base import Loss
from discreet.schema.arrow_cell import arrow_coded
from discreet.schema.cell import Codes
from discreet.sources.sql.relation import Held

__all__ = ["coded_batch", "is_plain"]


def is_plain(query: Loss, held: Mapping[str, Held]) -> bool:
    """Whether the rows of this query can be read without an engine."""
    parsed = [name for name in query.columns if held[name].storage in ("decimal", "text")]
    return query.schema.unit.identifier is None and all(query.schema.column(name).levels for name in parsed)


def coded_batch(query: Loss, held: Mapping[str, Held], rows: Any) -> dict[str, Codes]:
    """Level codes and grid steps of one Arrow batch of a plain query; `excluded` where a cell excludes its row."""
    columns = {name: query.schema.column(name) for name in query.columns}
    return {name: arrow_coded(column, rows.column(held[name].column)) for name, column in columns.items()}
