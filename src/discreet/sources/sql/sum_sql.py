"""Exact sums of cells as SQL.

Sums of centred numbers and of their products are whole numbers all the way, in the cheapest exact arithmetic.

A double holds every whole number up to 2^53. Where the public bound on the number of rows times the largest term stays
below that, a sum of doubles is exact, whatever the order of its terms; otherwise terms are 64-bit integers or decimals.

Of one column, its grid steps are added, and twice the sum less the centres of all rows is that of its axis v. What is
multiplied is half of an axis, v / 2 = floor((k + offset) / 2^shift), less 1/2 where `reach` is odd: one operation
fewer for every cell than v itself, and as exact, since halves and quarters are exact in doubles too.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics
from discreet.sources.sql.cell_sql import cast, double

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "HALVES",
    "LARGEST_EXACT_DOUBLE",
    "WITHIN",
    "adds_steps",
    "halved",
    "most_rows",
    "sum_of_doubles",
    "sum_of_steps",
    "total",
]

LARGEST_EXACT_DOUBLE = 2**53
LARGEST_PRODUCT = 2**62  # of two axes in 64 bits

# What a sum over rows knows: the public number of rows, or None, and the largest term. And, where halves of axes are
# whole numbers, its terms without their power of two, and that: a sum of so few bits more has room in 64.
WITHIN, HALVES = "within", "halves"


def most_rows(query: Statistics) -> int | None:
    """A public bound on the number of rows that are summed; None where the schema knows none."""
    units = query.schema.n if query.schema.n_max is None else query.schema.n_max
    return None if units is None else units * query.schema.unit.max_records


def adds_steps(axes: tuple[Axis, ...], rows_at_most: int | None) -> bool:
    """Whether these are one axis v = 2 k - centre whose grid steps k doubles add up exactly, and the centres too."""
    axis, largest = axes[0], 2 * max(abs(axes[0].low), abs(axes[0].low + axes[0].reach))
    is_alone = len(axes) == 1 and axis.shift == 0
    return is_alone and rows_at_most is not None and rows_at_most * largest < LARGEST_EXACT_DOUBLE


def sum_of_steps(steps: "exp.Expr", axis: Axis) -> "exp.Expr":
    """The sum of such an axis: the centre is taken off all rows at once, not off every cell."""
    from sqlglot import exp

    twice = exp.Mul(this=sum_of_doubles(steps), expression=double(2))
    rows = cast(exp.Count(this=exp.Star()), "double")
    centres = exp.Mul(this=rows, expression=double(2 * axis.low + axis.reach))
    return cast(exp.Sub(this=twice, expression=centres), "bigint")


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
        return cast(exp.Mul(this=sum_of_doubles(_product(halves)), expression=scale), "bigint")
    if unit < LARGEST_EXACT_DOUBLE:  # a product is exact, if not the sum
        terms = cast(exp.Mul(this=_product(halves), expression=double(2 ** len(axes))), "bigint")
    else:
        values = [exp.Mul(this=half, expression=double(2)) for half in halves]
        wide = unit >= LARGEST_PRODUCT
        terms = _product([exp.cast(v, "decimal(19, 0)") if wide else cast(v, "bigint") for v in values])
    found = exp.Sum(this=terms)
    found.meta[WITHIN] = (rows_at_most, unit)
    if unit < LARGEST_EXACT_DOUBLE and all(axis.reach % 2 == 0 for axis in axes):
        found.meta[HALVES] = (cast(_product([half.copy() for half in halves]), "bigint"), 2 ** len(axes))
    return found


def sum_of_doubles(value: "exp.Expr") -> "exp.Expr":
    """An engine's own sum; `exp.Sum` is one of whole numbers, which engines may have to widen."""
    from sqlglot import exp

    return exp.Anonymous(this="SUM", expressions=[value])


def _product(factors: "Sequence[exp.Expr]") -> "exp.Expr":
    from sqlglot import exp

    first, *others = factors
    for factor in others:
        first = exp.Mul(this=first, expression=factor)
    return first
