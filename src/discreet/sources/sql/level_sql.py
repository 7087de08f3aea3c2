"""Levels as SQL: a cell finds its level by its text or else by its number, and counts as the code that this decides.

A number is compared as a number only. The text that it would have is that of one double at most, since different
doubles print differently, and so the levels that its text matches are known beforehand: no engine prints a double here.

A few levels are written into a statement. Many are a table of their own, in which engines look up what is grouped: to
read ten thousand texts in a statement takes longer than to group a million rows, and to try each of them for every
group far longer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from discreet.schema import Binary, Categorical
from discreet.schema.cell import Storage, number_of, number_text
from discreet.schema.columns import level_numbers, level_texts
from discreet.sources.sql.cell_sql import cast, double, is_bad, number, parsed, swapped, text

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["LISTED", "Level", "counted_code", "found_level", "left_join", "level_code"]

T = TypeVar("T", float, str)

MOST_WRITTEN = 500  # levels of a column in a statement

# What a table of levels knows: the code of each. One without it has them written out.
LISTED = "listed"


@dataclass(frozen=True)
class Level:
    """The code of a cell's level, over what must be selected and joined first; `there` says that it has a text."""

    code: "exp.Expr"
    there: "exp.Expr | None"
    selected: "list[exp.Expr]" = field(default_factory=list)
    joined: "list[exp.Join]" = field(default_factory=list)


def found_level(i: int, storage: Storage, column: Binary | Categorical) -> Level:
    """The level of the cell raw_i."""
    from sqlglot import exp

    raw, key = exp.column(f"raw_{i}"), f"number_{i}"
    level: exp.Expr
    there: exp.Expr | None
    if storage in ("decimal", "float", "integer"):
        there = None if column.other_code is None else exp.Not(this=is_bad(exp.column(key)))
        levels = _printed_levels(column)
        level = exp.column("code", f"{key}_levels") if levels else cast(exp.null(), "bigint")
        joins = [left_join(key, levels, double)] if levels else []
        return Level(level, there, [number(raw, storage).as_(key, copy=False)], joins)
    written = text(raw, storage, column.truths)
    level, there, joins = exp.column(f"level_{i}"), None, []
    if len(level_texts(column)) > MOST_WRITTEN:
        selected = [_compared(written, column).as_(f"text_{i}", copy=False)]
        joins.append(left_join(f"text_{i}", level_texts(column), exp.Literal.string))
        level = exp.column("code", f"text_{i}_levels")
    else:
        selected = [level_code(written, column).as_(f"level_{i}", copy=False)]
    if level_numbers(column):
        digits = swapped(written) if storage == "comma" else written
        selected.append(parsed(digits).as_(key, copy=False))
        joins.append(left_join(key, level_numbers(column), double))
        level = exp.func("coalesce", level, exp.column("code", f"{key}_levels"))
    if column.other_code is not None:  # a text that is no level, not even the empty one
        filled = exp.NEQ(this=written, expression=exp.Literal.string(""))
        selected.append(filled.as_(f"there_{i}", copy=False))
        there = exp.column(f"there_{i}")
    return Level(level, there, selected, joins)


def _printed_levels(column: Binary | Categorical) -> dict[float, int]:
    """The code of every number that has the text of a level, or else is one."""
    found = level_numbers(column)
    for written, code in level_texts(column).items():
        value = number_of(written)
        printed = None if value is None else number_text(value)
        if value is not None and (printed.lower() if printed and column.any_case else printed) == written:
            found[value + 0.0] = code  # one zero
    return found


def level_code(written: "exp.Expr", column: Binary | Categorical) -> "exp.Expr":
    """The code of the level with this very text, NULL if it is none; engines without enumerations replace it.

    An enumeration is a look-up in a hash table: no join to plan, and no comparison with every level.
    """
    from sqlglot import exp

    texts = level_texts(column)
    levels = exp.DataType(this=exp.DataType.Type.ENUM, expressions=[exp.Literal.string(level) for level in texts])
    place = exp.Anonymous(this="enum_code", expressions=[exp.TryCast(this=_compared(written, column), to=levels)])
    rounds = exp.Literal.number(len(column.levels))  # the texts go through the codes in order, once or twice
    return exp.Mod(this=place, expression=rounds) if len(texts) > len(column.levels) else place


def _compared(written: "exp.Expr", column: Binary | Categorical) -> "exp.Expr":
    from sqlglot import exp

    return exp.Lower(this=written) if column.any_case else written


def counted_code(level: "exp.Expr", there: "exp.Expr | None", column: Binary | Categorical) -> "exp.Expr":
    """The code that a cell counts as: its level's, that of other texts, that of bad cells."""
    from sqlglot import exp

    candidates = [level]
    if there is not None:
        candidates.append(exp.Case(ifs=[exp.If(this=there, true=exp.Literal.number(column.other_code))]))
    if column.default_code is not None:
        candidates.append(exp.Literal.number(column.default_code))
    return exp.func("coalesce", *candidates)


def left_join(key: str, levels: Mapping[T, int], constant: "Callable[[T], exp.Expr]") -> "exp.Join":
    """The codes of levels beside each `key`, which are `constant` in a statement."""
    from sqlglot import exp

    names = [exp.to_identifier(name) for name in ("level", "code")]
    table = exp.Values(expressions=[], alias=exp.TableAlias(this=exp.to_identifier(f"{key}_levels"), columns=names))
    if len(levels) > MOST_WRITTEN:
        table.meta[LISTED] = levels
    else:
        rows = [[constant(level), exp.Literal.number(code)] for level, code in levels.items()]
        table.set("expressions", [exp.Tuple(expressions=row) for row in rows])
    same = exp.EQ(this=exp.column(key), expression=exp.column("level", f"{key}_levels"))
    return exp.Join(this=table, side="LEFT", on=same)
