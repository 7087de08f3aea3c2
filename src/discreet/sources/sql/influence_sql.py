"""The second stage as SQL: psi of every row in 64 bits, summed over the rows of a person in 128, cut, squared, summed.

    cells     SELECT code or grid steps of every column, person FROM used rows
    centred   SELECT centred numbers, codes FROM cells without those that exclude their row
    psi       SELECT products of two forms, less an offset; in every group its own
    units     SELECT sums of psi GROUP BY person                        where units are persons
              SELECT sum(least(|psi| rounded to divisors, STEPS)²) of every function and group

No cell decides which operations are done, and none can overflow: `LARGEST_FORM` says how large forms are.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from discreet.queries.counts_and_sums import Axis
from discreet.queries.influence import STEPS, Form, Influence, Influences
from discreet.sources.sql.cell_sql import Held, cast
from discreet.sources.sql.statements import used_cells

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["influence_sums"]


def influence_sums(query: Influences, held: Mapping[str, Held], relation: str, id: str) -> "exp.Select":  # noqa: A002
    """The code of the group, 0 where there are none, and the sum of every function in it; empty groups are absent."""
    from sqlglot import exp

    place = {name: f"cell_{i}" for i, name in enumerate(query.columns)}
    excluding = [name for name in query.columns if query.schema.column(name).missing == "exclude"]
    of_persons = query.schema.unit.identifier is not None
    kept: list[exp.Expr] = [exp.column("person")] if of_persons else []
    group = exp.column(place[query.by]) if query.by is not None else _whole(0)
    centred = [_centred(exp.column(place[axis.column]), axis).as_(f"v_{a}") for a, axis in enumerate(query.axes)]
    codes = [exp.column(place[name]).as_(f"level_{f}") for f, name in enumerate(query.categories)]
    cells = used_cells(query, held, relation, id)
    rows = exp.select(*kept, group.as_("g"), *centred, *codes).from_(cells.subquery("inside"))
    rows = rows.where(*(exp.column(place[name]).is_(exp.null()).not_() for name in excluding))
    found = exp.select(*kept, "g", *(_of_groups(query, f, _psi).as_(f"psi_{f}") for f in _functions(query)))
    found = found.from_(rows.subquery("inside"))
    if of_persons:
        totals = [exp.Sum(this=exp.column(f"psi_{f}")).as_(f"psi_{f}") for f in _functions(query)]
        found = exp.select("g", *totals).from_(found.subquery("inside")).group_by("person", "g")
    roots = [_of_groups(query, f, _root).as_(f"root_{f}") for f in _functions(query)]
    found = exp.select("g", *roots).from_(found.subquery("inside"))
    squares = [exp.Sum(this=exp.column(f"root_{f}") * exp.column(f"root_{f}")) for f in _functions(query)]
    return exp.select("g", *squares).from_(found.subquery("inside")).group_by("g")


def _functions(query: Influences) -> range:
    return range(len(query.functions[0]))


def _of_groups(query: Influences, place: int, written: "Callable[[Influence, int], exp.Expr]") -> "exp.Expr":
    """One function as it is written in each group."""
    from sqlglot import exp

    own = [written(group[place], place) for group in query.functions]
    if len(own) == 1:
        return own[0]
    ifs = [exp.If(this=exp.column("g").eq(_whole(g)), true=each) for g, each in enumerate(own)]
    return exp.Case(ifs=ifs, default=_whole(0))


def _psi(function: Influence, place: int) -> "exp.Expr":  # noqa: ARG001 - every row has all the cells it needs
    from sqlglot import exp

    product = exp.Paren(this=_form(function.left)) * exp.Paren(this=_form(function.right))
    return product - _whole(function.offset)


def _root(function: Influence, place: int) -> "exp.Expr":
    from sqlglot import exp

    size = exp.Abs(this=exp.column(f"psi_{place}")) + _whole(function.divisor // 2)
    steps = exp.IntDiv(this=exp.Paren(this=size), expression=_whole(function.divisor))
    return cast(exp.Least(this=steps, expressions=[_whole(STEPS)], ignore_nulls=False), "bigint")


def _form(form: Form) -> "exp.Expr":
    from sqlglot import exp

    found = _whole(form.constant)
    for a, number in enumerate(form.numbers):
        found = exp.Add(this=found, expression=_whole(number) * exp.column(f"v_{a}"))
    for f, levels in enumerate(form.levels):
        ifs = [
            exp.If(this=exp.column(f"level_{f}").eq(_whole(code)), true=_whole(number))
            for code, number in enumerate(levels)
        ]
        found = exp.Add(this=found, expression=exp.Case(ifs=ifs, default=_whole(0)))
    return found


def _centred(steps: "exp.Expr", axis: Axis) -> "exp.Expr":
    """`Axis.centred` in whole numbers: steps are never below the lowest, so that division cuts downwards."""
    from sqlglot import exp

    index: exp.Expr = exp.Paren(this=steps + _whole(((1 << axis.shift) >> 1) - axis.low))
    if axis.shift:
        index = exp.Paren(this=exp.IntDiv(this=index, expression=_whole(1 << axis.shift)))
    return _whole(2) * index - _whole(axis.reach)


def _whole(number: int) -> "exp.Expr":
    """A whole number in 64 bits."""
    from sqlglot import exp

    return cast(exp.Literal.string(str(number)), "bigint")
