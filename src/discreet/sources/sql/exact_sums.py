"""Sums of centred numbers and of their products, as SQL: whole numbers all the way, in the cheapest exact arithmetic.

A double holds every whole number up to 2^53. Where the public bound on the number of rows times the largest term stays
below that, a sum of doubles is exact, whatever the order of its terms; otherwise terms are 64-bit integers or decimals.

What is summed is half of an axis, v / 2 = floor((k + offset) / 2^shift), less 1/2 where `reach` is odd: one operation
fewer for every cell than v itself, and as exact, since halves and quarters are exact in doubles too.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from discreet.queries.centred_columns import Axis
from discreet.queries.statistics import Statistics
from discreet.sources.sql.cell_sql import cast, double

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["halved", "most_rows", "total"]

LARGEST_EXACT_DOUBLE = 2**53
LARGEST_PRODUCT = 2**62  # of two axes in 64 bits


def most_rows(query: Statistics) -> int | None:
    """A public bound on the number of rows that are summed; None where the schema knows none."""
    units = query.schema.n if query.schema.n_max is None else query.schema.n_max
    return None if units is None else units * query.schema.unit.max_records


def halved(steps: "exp.Expr", axis: Axis) -> "exp.Expr":
    """Half of the axis of a cell on its grid: `Axis.centred` / 2, bit for bit."""
    from sqlglot import exp

    offset = ((1 << axis.shift) >> 1) - axis.low - ((axis.reach // 2) << axis.shift)
    value: exp.Expr = exp.Add(this=steps, expression=double(offset))
    if axis.shift:  # the factor is a power of two: nothing is rounded
        value = exp.Floor(this=exp.Mul(this=exp.paren(value), expression=double(2.0**-axis.shift)))
    return exp.Sub(this=value, expression=double(0.5)) if axis.reach % 2 else value


def total(halves: "Sequence[exp.Expr]", axes: tuple[Axis, ...], rows_at_most: int | None) -> "exp.Expr":
    """The sum over rows of the product of axes, given half of each."""
    from sqlglot import exp

    unit = prod(axis.reach for axis in axes)
    if rows_at_most is not None and rows_at_most * unit < LARGEST_EXACT_DOUBLE:
        scale = double(2 ** len(axes))
        return cast(exp.Mul(this=exp.Sum(this=_product(halves)), expression=scale), "bigint")
    values = [exp.Mul(this=half, expression=double(2)) for half in halves]
    if unit < LARGEST_PRODUCT:
        return exp.Sum(this=_product([cast(value, "bigint") for value in values]))
    return exp.Sum(this=_product([exp.cast(value, "decimal(19, 0)") for value in values]))


def _product(factors: "Sequence[exp.Expr]") -> "exp.Expr":
    from sqlglot import exp

    first, *others = factors
    for factor in others:
        first = exp.Mul(this=first, expression=factor)
    return first
