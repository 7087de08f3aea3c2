"""Levels as SQL: the code of the level that a cell matches, counts as, or falls in, and the class of the cell."""

from typing import TYPE_CHECKING

from discreet.schema import Binary, Categorical
from discreet.schema.columns import level_numbers, level_texts
from discreet.schema.views import Matches, Ranges
from discreet.sources.sql.cell_sql import double, is_bad

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["class_code", "counted_code", "left_join", "level_code", "number_levels", "range_code"]


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


def range_code(value: "exp.Expr", column: Ranges) -> "exp.Expr":
    """How many breaks are not above a number; a bad one has the default, or NULL where it excludes the row."""
    from sqlglot import exp

    default = exp.null() if column.default_code is None else exp.Literal.number(column.default_code)
    branches = [exp.If(this=is_bad(value), true=default)]  # first: NaN is above everything
    for code, point in reversed(list(enumerate(column.breaks, start=1))):
        reached = exp.GTE(this=value, expression=double(point))
        branches.append(exp.If(this=reached, true=exp.Literal.number(code)))
    return exp.Case(ifs=branches, default=exp.Literal.number(0))


def class_code(level: "exp.Expr", there: "exp.Expr | None", column: Matches) -> "exp.Expr":
    """The class of a cell: whether it has a level, NULL if not, or else, where texts are taken, is `there`."""
    from sqlglot import exp

    branches = [exp.If(this=exp.Not(this=exp.Is(this=level, expression=exp.null())), true=exp.Literal.number(0))]
    if there is not None:
        branches.append(exp.If(this=there, true=exp.Literal.number(1)))
    return exp.Case(ifs=branches, default=exp.Literal.number(len(column.levels) - 1))


def counted_code(level: "exp.Expr", there: "exp.Expr | None", column: Binary | Categorical) -> "exp.Expr":
    """The code that a cell counts as: its level's, that of other texts, that of bad cells."""
    from sqlglot import exp

    candidates = [level]
    if there is not None:
        candidates.append(exp.Case(ifs=[exp.If(this=there, true=exp.Literal.number(column.other_code))]))
    if column.default_code is not None:
        candidates.append(exp.Literal.number(column.default_code))
    return exp.func("coalesce", *candidates)


def left_join(key: str, levels: "list[exp.Tuple]") -> "exp.Join":
    """The codes of declared levels beside each `key`."""
    from sqlglot import exp

    names = [exp.to_identifier(name) for name in ("level", "code")]
    alias = exp.TableAlias(this=exp.to_identifier(f"{key}_levels"), columns=names)
    same = exp.EQ(this=exp.column(key), expression=exp.column("level", f"{key}_levels"))
    return exp.Join(this=exp.Values(expressions=levels, alias=alias), side="LEFT", on=same)
