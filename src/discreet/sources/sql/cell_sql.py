"""What `schema.cell` says of one cell, as SQL: its text, its number, its grid steps, and the code of its level."""

from math import frexp, isfinite
from typing import TYPE_CHECKING, Literal

from discreet.schema import Binary, Bounded, Categorical, Count
from discreet.schema.cell import LARGEST_WHOLE_FLOAT, Storage
from discreet.schema.columns import level_numbers, level_texts

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "cast",
    "clipped",
    "double",
    "is_bad",
    "level_code",
    "number",
    "number_levels",
    "parsed",
    "printed",
    "steps",
    "text",
]


def text(raw: "exp.Expr", storage: Storage) -> "exp.Expr":
    """The text of a cell, compared with the texts of levels."""
    from sqlglot import exp

    if storage in ("boolean", "text"):
        return printed(raw)
    value = number(raw, storage)
    small = exp.Abs(this=value) < exp.Literal.number(LARGEST_WHOLE_FLOAT)
    whole = exp.and_(value.eq(exp.Floor(this=value)), small)
    digits = printed(cast(value, "bigint"))
    return exp.case().when(is_bad(value), exp.null()).when(whole, digits).else_(printed(value))


def number(raw: "exp.Expr", storage: Storage) -> "exp.Expr":
    """The cell as a double; NULL if it is not a number."""
    if storage == "text":
        return parsed(raw)
    return parsed(printed(raw)) if storage == "decimal" else cast(raw, "double")


def clipped(value: "exp.Expr", column: Bounded | Count) -> "exp.Expr":
    """The number within its bounds; a bad one is the default, or NULL where it excludes the row."""
    from sqlglot import exp

    lower, upper = double(column.lower), double(column.upper)
    default = exp.null() if column.default_value is None else double(column.default_value)
    # the common case comes first and alone: engines take LEAST and GREATEST cell by cell, which is five times slower
    within = exp.And(this=exp.GTE(this=value, expression=lower), expression=exp.LTE(this=value, expression=upper))
    below = exp.LT(this=value, expression=lower)
    branches = ((within, value), (below, lower), (is_bad(value), default))
    # nodes are made by hand: the builders copy and parse their arguments, and tables have hundreds of columns
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in branches], default=upper)


def steps(value: "exp.Expr", column: Bounded | Count) -> "exp.Expr":
    """A clipped number on its grid, floor(value / grid + 1/2): a double that is a whole number."""
    from sqlglot import exp

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


def level_code(written: "exp.Expr", column: Binary | Categorical) -> "exp.Expr":
    """The code of the level with this very text, NULL if it is none; engines without enumerations replace it.

    An enumeration is a look-up in a hash table: no join to plan, and no comparison with every level.
    """
    from sqlglot import exp

    texts = level_texts(column)
    levels = exp.DataType(this=exp.DataType.Type.ENUM, expressions=[exp.Literal.string(level) for level in texts])
    compared = exp.Lower(this=written) if column.any_case else written
    place = exp.Anonymous(this="enum_code", expressions=[exp.TryCast(this=compared, to=levels)])
    rounds = exp.Literal.number(len(column.levels))  # the texts go through the codes in order, once or twice
    return exp.Mod(this=place, expression=rounds) if len(texts) > len(column.levels) else place


def number_levels(column: Binary | Categorical) -> "list[exp.Tuple]":
    """(number, code) of the levels that a number can match."""
    from sqlglot import exp

    return [
        exp.Tuple(expressions=[double(value), exp.Literal.number(code)])
        for value, code in level_numbers(column).items()
    ]


def double(value: float) -> "exp.Expr":
    """A constant through its shortest text with an exponent: a literal without one is a decimal, not a double."""
    from sqlglot import exp

    written = repr(float(value))  # as it stands: the library's own builder would print negative numbers as decimals
    return exp.Literal(this=written if "e" in written else f"{written}e0", is_string=False)
