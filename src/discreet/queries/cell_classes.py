"""What became of the cells of each column, counted: one table for each, and every row is in one class of each table.

| column | classes |
|---|---|
| levels | declared; other, where the column declares what takes unlisted levels; bad |
| numbers | below the bounds; on the lower bound; inside; on the upper bound; above the bounds; bad |

A bad cell is one that follows the rule `missing` of its column. Here no cell excludes its row, whatever that rule says:
the tables are about all rows. So D columns move by 2 D in L1 when a row is replaced, and by D when it comes or goes
(mechanisms/noisy_statistics/proof.md, Lemma 4).
"""

from typing import Protocol

from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["cell_class_query", "cell_classes", "cells_in_words"]


class Asked(Protocol):
    """A query of any kind."""

    @property
    def schema(self) -> Schema:
        """The columns as it sees them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that it uses."""


def cell_classes(schema: Schema, column: str) -> tuple[str, ...]:
    """The classes of a column's cells, in the order of its table."""
    return schema.column(column).told_apart.levels


def cell_class_query(schema: Schema, columns: tuple[str, ...], by: str | None = None) -> Statistics:
    """The table of every column, named after it; for every level of `by` where it is given."""
    seen = schema.seen_as({name: schema.column(name).told_apart for name in columns})
    return Statistics(seen, tuple(Counts.over(seen, name, name) for name in columns)).grouped(by)


def cells_in_words(schema: Schema, query: Asked) -> dict[str, str]:
    """What each column that is used does with cells that are no level or no number: from declarations alone.

    That is what its declaration says, also where a number is cut; where classes of cells are counted, no cell counts as
    a level and none excludes its row.
    """
    found = {}
    for name in query.columns:
        declared, seen = schema.column(name), query.schema.column(name)
        found[name] = (seen if seen == declared.told_apart else declared).other_cells()
    return found
