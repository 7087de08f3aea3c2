"""Second moments of several columns at once: the statistics of every normal model, and how far a row moves them.

With p numeric columns in [-1, 1] (each in units of its reach) and F categorical columns the statistics are

    no categories   Σ u_j, Σ u_i u_j (i ≤ j), and the number of rows where it is private
    categories      rows per level, Σ u_j within every level, rows per pair of levels, Σ u_i u_j (i ≤ j)

| one row | L1 | squared L2 |
|---|---|---|
| replaced, sums and products | p (p + 2)² / 2(p + 1) | (p + 1)² |
| replaced, products only | p (p + 1) / 2 | p² |
| toggled, sums and products | p (p + 3) / 2 | p (p + 3) / 2 |
| toggled, products only | p (p + 1) / 2 | p (p + 1) / 2 |

plus, for each category and each pair of categories, the table of its rows, and for each category the p sums within its
levels (proofs: mechanisms/noisy_statistics.md, Lemmas 1 to 3).
"""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement

from discreet.queries.centred_columns import PRODUCT_BITS, Axis
from discreet.queries.counts_and_sums import Counts, RowMove, Statistic, Sum
from discreet.queries.statistics import Statistics, used_rows
from discreet.schema import Schema

__all__ = ["moment_axes", "moment_query"]


def moment_query(schema: Schema, numbers: tuple[str, ...], categories: tuple[str, ...], by: str | None) -> Statistics:
    """All second moments of the columns, for every level of `by` where it is given."""
    every = (*numbers, *categories) if by is None else (*numbers, *categories, by)
    counted = not categories and (by is not None or used_rows(schema, every) is None)
    statistics: list[Statistic] = [Counts.over(schema, "n")] if counted else []
    statistics += [Counts.over(schema, name, name) for name in categories]
    statistics += [Counts.over(schema, f"{a} x {b}", a, b) for a, b in combinations(categories, 2)]
    for within in categories or (None,):
        suffix = "" if within is None else f" in {within}"
        statistics += [Sum.of(schema, f"{name}{suffix}", name, bits=PRODUCT_BITS, within=within) for name in numbers]
    for a, b in combinations_with_replacement(numbers, 2):
        statistics.append(Sum.of(schema, f"{a} * {b}", a, b, bits=PRODUCT_BITS))
    tables = [s for s in statistics if not s.axes or s.categories]
    joint = sum((table.move for table in tables), _numbers_move(len(numbers), sums=not categories))
    return Statistics(schema, tuple(statistics), joint=joint).grouped(by)


def moment_axes(schema: Schema, numbers: tuple[str, ...]) -> tuple[Axis, ...]:
    """The axes on which the columns are summed and multiplied."""
    return tuple(Axis.of(schema, name, PRODUCT_BITS) for name in numbers)


def _numbers_move(p: int, *, sums: bool) -> RowMove:
    if sums:
        toggle = Fraction(p * (p + 3), 2)
        return RowMove(Fraction(p * (p + 2) ** 2, 2 * (p + 1)), toggle, Fraction((p + 1) ** 2), toggle)
    triangle = Fraction(p * (p + 1), 2)
    return RowMove(triangle, triangle, Fraction(p**2), triangle)
