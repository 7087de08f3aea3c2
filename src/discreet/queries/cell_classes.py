"""What became of the cells of each column, counted: one table for each, and every row is in one class of each table.

| column | classes |
|---|---|
| levels | declared; other, where the column declares what takes unlisted levels; bad |
| numbers | below the bounds; on the lower bound; inside; on the upper bound; above the bounds; bad |

A bad cell is one that follows the rule `missing` of its column. Here no cell excludes its row, whatever that rule says:
the tables are about all rows. So D columns move by 2 D in L1 when a row is replaced, and by D when it comes or goes
(mechanisms/noisy_statistics/proof.md, Lemma 4).
"""

from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["cell_class_query", "cell_classes"]


def cell_classes(schema: Schema, column: str) -> tuple[str, ...]:
    """The classes of a column's cells, in the order of its table."""
    return schema.column(column).told_apart.levels


def cell_class_query(schema: Schema, columns: tuple[str, ...], by: str | None = None) -> Statistics:
    """The table of every column, named after it; for every level of `by` where it is given."""
    seen = schema.seen_as({name: schema.column(name).told_apart for name in columns})
    return Statistics(seen, tuple(Counts.over(seen, name, name) for name in columns)).grouped(by)
