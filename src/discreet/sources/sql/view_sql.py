"""Views as SQL: the range that a number is in, and the class of a cell (`schema.views`)."""

from typing import TYPE_CHECKING

from discreet.schema.views import Matches, Ranges
from discreet.sources.sql.cell_sql import double, is_bad

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["class_code", "range_code"]


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
