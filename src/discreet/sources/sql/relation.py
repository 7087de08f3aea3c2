"""What readers hand to the engine: every declared column, its texts no longer than declared, and who owns each row.

    c0, c1, …   the declared columns, in order; a text longer than `longest_text` is NULL or still too long for a level
    person      who the row belongs to (`identifiers`), NULL if nobody, where units are persons

So memory does not depend on what rows hold: a text that is grouped, sorted or joined has a public length, far below
what the engine may take, before anything else is done with it. Nothing is shortened into something else: two long
names that are cut could be one person, and a cut text a level.

Sums of centred numbers and of their products, as SQL: whole numbers all the way, in the cheapest exact arithmetic.

A double holds every whole number up to 2^53. Where the public bound on the number of rows times the largest term stays
below that, a sum of doubles is exact, whatever the order of its terms; otherwise terms are 64-bit integers or decimals.

What is summed is half of an axis, v / 2 = floor((k + offset) / 2^shift), less 1/2 where `reach` is odd: one operation
fewer for every cell than v itself, and as exact, since halves and quarters are exact in doubles too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.schema.cell import Storage, longest_text
from discreet.schema.columns import level_numbers
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.sql.cell_sql import cast, double

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["RAW", "Held", "halved", "handed_over", "most_rows", "total"]

RAW = "raw"  # the relation that a reader found

LARGEST_EXACT_DOUBLE = 2**53
LARGEST_PRODUCT = 2**62  # of two axes in 64 bits


@dataclass(frozen=True)
class Held:
    """How a source holds the cells of one declared column: the name it has there, and the kind of its type."""

    column: str
    storage: Storage


def handed_over(schema: Schema, held: Mapping[str, Held], owners: Sequence[Owner], *, by_text: bool = False) -> str:
    """The query that hands over the relation RAW, which holds the columns so and the identifier in one of `owners`.

    Where equal texts are kept once (`by_text`), as in Parquet files, some ways to say the same are far cheaper.
    """
    from sqlglot import exp

    columns: list[exp.Expr] = []
    for i, (name, column) in enumerate(schema.columns.items()):
        cell: exp.Expr = exp.column(held[name].column, RAW, quoted=True)
        if held[name].storage == "text":
            cut = by_text and column.holds == "levels" and not level_numbers(column)
            cell = (_begun if cut else _short)(cell, longest_text(column.levels))
        columns.append(cell.as_(f"c{i}", copy=False))
    if owners:
        persons = [identifier(owner, RAW) for owner in owners]
        person = persons[0] if len(persons) == 1 else exp.func("coalesce", *persons)
        columns.append(person.as_("person", copy=False))
    return exp.select(*columns, copy=False).from_(exp.to_table(RAW), copy=False).sql(dialect="duckdb", copy=False)


def _short(text: "exp.Expr", longest: int) -> "exp.Expr":
    from sqlglot import exp

    is_short = exp.func("bit_length", text) <= exp.Literal.number(8 * longest)
    return exp.Case(ifs=[exp.If(this=is_short, true=text)])


def _begun(text: "exp.Expr", longest: int) -> "exp.Expr":
    """The beginning of a text, one letter longer than any level: of one that is too long it says that, and no more.

    Only where no level is a number: the beginning of a number is another number.
    """
    from sqlglot import exp

    first, letters = exp.Literal.number(1), exp.Literal.number(longest + 1)
    return exp.Substring(this=text, start=first, length=letters)


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
