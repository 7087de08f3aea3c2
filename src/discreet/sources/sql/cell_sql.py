"""Cells as SQL: how readers hand them over, and what `schema.cell` says of each.

Handed over is every declared column, its texts no longer than declared, and who owns each row:

    c0, c1, …   the declared columns, in order; a text longer than `longest_text` is NULL or still too long for a level
    person      who the row belongs to (`identifiers`), NULL if nobody, where units are persons

So memory does not depend on what rows hold: a text that is grouped, sorted or joined has a public length, far below
what the engine may take, before anything else is done with it. Nothing is shortened into something else: two long
names that are cut could be one person, and a cut text a level. Where a source cannot hold a long text (`whole`), no
cell is measured; its own cap is public, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import frexp, inf, isfinite
from typing import TYPE_CHECKING, Literal

from discreet.schema import Bounded, Count, Schema
from discreet.schema.cell import LARGEST_WHOLE_FLOAT, Storage, Truths, longest_text
from discreet.schema.columns import TRUTHS, level_numbers

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "GRID",
    "ONCE",
    "RAW",
    "Held",
    "begun",
    "cast",
    "double",
    "handed_over",
    "is_bad",
    "number",
    "on_grid",
    "parsed",
    "printed",
    "swapped",
    "text",
    "whole",
]

Cap = Callable[["exp.Expr", int], "exp.Expr"]

RAW = "raw"  # the relation that a reader found

TINY = 2.0**-60  # grid steps, which are lost when 1/2 is added

# What a whole grid step knows: the number that it is of, and the column that says which.
GRID = "grid"

# A select whose columns are used again and again: an engine that would write them out at each use is kept from it.
ONCE = "once"


@dataclass(frozen=True)
class Held:
    """How a source holds the cells of one declared column: the name it has there, and the kind of its type.

    `longest` is how many bytes a text of that type has at most, where the type says so.
    """

    column: str
    storage: Storage
    longest: int | None = None


def handed_over(
    schema: Schema, held: Mapping[str, Held], persons: "Sequence[exp.Expr]", cap: "Cap | None" = None
) -> "exp.Select":
    """The query that hands over the relation RAW, which holds the columns so and says whose a row is by `persons`.

    A text that is too long is NULL. In columns where it then counts as any other text that is no level, `cap` may say
    what it is instead, which is far cheaper in some sources.
    """
    from sqlglot import exp

    columns: list[exp.Expr] = []
    for i, (name, column) in enumerate(schema.columns.items()):
        cell: exp.Expr = exp.column(held[name].column, RAW, quoted=True)
        found, longest = held[name], longest_text(column.compared)
        if found.storage in ("comma", "text") and (found.longest is None or found.longest > longest):
            is_other = column.holds == "levels" and column.other_code is None and not level_numbers(column)
            cell = (cap if cap is not None and is_other else _short)(cell, longest)
        columns.append(cell.as_(f"c{i}", copy=False))
    if persons:
        person = persons[0] if len(persons) == 1 else exp.func("coalesce", *persons)
        columns.append(person.as_("person", copy=False))
    return exp.select(*columns, copy=False).from_(exp.to_table(RAW), copy=False)


def _short(text: "exp.Expr", longest: int) -> "exp.Expr":
    from sqlglot import exp

    is_short = exp.func("bit_length", text) <= exp.Literal.number(8 * longest)
    return exp.Case(ifs=[exp.If(this=is_short, true=text)])


def begun(text: "exp.Expr", longest: int) -> "exp.Expr":
    """The beginning of a text, one letter longer than any level: for sources that keep equal texts once, as Parquet."""
    from sqlglot import exp

    first, letters = exp.Literal.number(1), exp.Literal.number(longest + 1)
    return exp.Substring(this=text, start=first, length=letters)


def whole(text: "exp.Expr", longest: int) -> "exp.Expr":  # noqa: ARG001
    """The text itself, for sources that are known to hold none of an unbounded length."""
    return text


def text(raw: "exp.Expr", storage: Storage, truths: Truths = TRUTHS) -> "exp.Expr":
    """The text of a cell, compared with the texts of levels; `truths` are those of False and True in its column."""
    from sqlglot import exp

    if storage == "boolean" and truths != TRUTHS:
        branches = ((raw, truths[True]), (exp.Not(this=raw), truths[False]))  # NULL is neither
        return exp.Case(ifs=[exp.If(this=when, true=exp.Literal.string(then)) for when, then in branches])
    if storage in ("boolean", "comma", "text"):
        return printed(raw)
    value = number(raw, storage)
    small = exp.Abs(this=value) < exp.Literal.number(LARGEST_WHOLE_FLOAT)
    whole = exp.and_(value.eq(exp.Floor(this=value)), small)
    digits = printed(cast(value, "bigint"))
    return exp.case().when(is_bad(value), exp.null()).when(whole, digits).else_(printed(value))


def number(raw: "exp.Expr", storage: Storage) -> "exp.Expr":
    """The cell as a double; NULL if it is not a number."""
    if storage in ("comma", "text"):
        return parsed(swapped(raw) if storage == "comma" else raw)
    return parsed(printed(raw)) if storage == "decimal" else cast(raw, "double")


def on_grid(value: "exp.Expr", column: Bounded | Count) -> "exp.Expr":
    """A number within its bounds and on its grid, a whole number of steps; of a bad one, as its column says."""
    found = _steps(_clipped(value, column), column)
    found.meta[GRID] = (value, column)
    return found


def _clipped(value: "exp.Expr", column: Bounded | Count) -> "exp.Expr":
    """The number within its bounds; a bad one is the default, or NULL where it excludes the row."""
    from sqlglot import exp

    lower, upper = double(column.lower), double(column.upper)
    default = exp.null() if column.default_value is None else double(column.default_value)
    # the common case comes first, after two comparisons and no more: NaN is above everything. Nodes are made by hand:
    # the builders copy and parse their arguments, and tables have hundreds of columns
    reached = exp.If(this=exp.GTE(this=value, expression=lower), true=value)
    below = exp.If(this=exp.LTE(this=value, expression=upper), true=exp.Case(ifs=[reached], default=lower))
    nan = cast(exp.Literal.string("NaN"), "double")
    above = exp.If(this=exp.LT(this=value, expression=nan), true=upper)
    return exp.Case(ifs=[below, above], default=default)


def _steps(value: "exp.Expr", column: Bounded | Count) -> "exp.Expr":
    """A clipped number on its grid, floor(value / grid + 1/2): a double that is a whole number."""
    from sqlglot import exp

    if column.step > 1:  # a tiny number would be smaller than any double, which engines may refuse
        nothing = exp.LT(this=exp.Abs(this=value), expression=double(column.step * TINY))
        value = exp.Case(ifs=[exp.If(this=nothing, true=double(0))], default=value)
    scaled: exp.Expr = exp.Div(this=value, expression=double(column.step))
    mantissa, _ = frexp(column.step)
    if mantissa == 0.5 and isfinite(1.0 / column.step):  # a power of two: the product is the quotient, and cheaper
        scaled = exp.Mul(this=value, expression=double(1.0 / column.step))
    return exp.Floor(this=exp.Add(this=scaled, expression=double(0.5)))


def is_bad(value: "exp.Expr") -> "exp.Expr":
    """NULL or NaN; NaN equals itself in DuckDB, PostgreSQL and Spark."""
    from sqlglot import exp

    is_null = exp.Is(this=value, expression=exp.null())
    is_nan = exp.EQ(this=value, expression=cast(exp.Literal.string("NaN"), "double"))
    return exp.Paren(this=exp.Or(this=is_null, expression=is_nan))


def printed(value: "exp.Expr") -> "exp.Expr":
    """The value as the engine prints it."""
    return cast(value, "varchar")


def cast(value: "exp.Expr", kind: Literal["bigint", "double", "varchar"]) -> "exp.Expr":
    """The value in another type; `exp.cast` parses the name of the type each time, at six times the cost."""
    from sqlglot import exp

    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type[kind.upper()]))


def parsed(value: "exp.Expr") -> "exp.Expr":
    """A text read as a double, NULL if it is none; the one expression that engines without TRY_CAST replace."""
    from sqlglot import exp

    return exp.TryCast(this=value, to=exp.DataType(this=exp.DataType.Type.DOUBLE))


def swapped(written: "exp.Expr") -> "exp.Expr":
    """The text with points for commas and commas for points: a number with a decimal comma as one with a point."""
    from sqlglot import exp

    return exp.Anonymous(this="translate", expressions=[written, *map(exp.Literal.string, (",.", ".,"))])


def double(value: float) -> "exp.Expr":
    """A constant through its shortest text with an exponent: a literal without one is a decimal, not a double."""
    from sqlglot import exp

    if abs(value) == inf:  # a level, or next above the largest bound
        return cast(exp.Literal.string("Infinity" if value > 0 else "-Infinity"), "double")
    written = repr(float(value))  # as it stands: the library's own builder would print negative numbers as decimals
    return exp.Literal(this=written if "e" in written else f"{written}e0", is_string=False)
