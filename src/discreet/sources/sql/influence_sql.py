"""The second stage as SQL: psi of every row in 64 bits, summed over the rows of a person in 128, cut, squared, summed.

    cells     SELECT code or grid steps of every column, person FROM used rows
    centred   SELECT centred numbers, codes FROM cells without those that exclude their row
    psi       SELECT products of two forms, less an offset; in every group its own
    units     SELECT sums of psi GROUP BY person                        where units are persons
              SELECT sum(least(|psi| rounded to divisors, STEPS)²) of every function and group

No cell decides which operations are done, and none can overflow: `LARGEST_FORM` says how large forms are.
"""

from collections.abc import Callable, Mapping, Sequence
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
    numbers = range(len(query.functions[0]))
    group = _wide(0) if query.by is None else exp.column(place[query.by])
    cells = {"g": group}
    cells |= {f"v_{a}": _centred(exp.column(place[axis.column]), axis) for a, axis in enumerate(query.axes)}
    cells |= {f"level_{f}": exp.column(place[name]) for f, name in enumerate(query.categories)}
    whose = {"person": exp.column("person")} if of_persons else {}
    rows = _selected({**whose, **cells}, used_cells(query, held, relation, id))
    known = [exp.Not(this=exp.Is(this=exp.column(place[name]), expression=exp.null())) for name in excluding]
    found = _selected(
        {**whose, "g": exp.column("g")} | {f"psi_{f}": _of_groups(query, f, _psi) for f in numbers},
        rows.where(*known, copy=False),
    )
    if of_persons:
        totals: dict[str, exp.Expr] = {f"psi_{f}": exp.Sum(this=exp.column(f"psi_{f}")) for f in numbers}
        found = _selected({"g": exp.column("g")} | totals, found).group_by("person", "g", copy=False)
    found = _selected({"g": exp.column("g")} | {f"root_{f}": _of_groups(query, f, _root) for f in numbers}, found)
    squares = {f"sum_{f}": exp.Mul(this=exp.column(f"root_{f}"), expression=exp.column(f"root_{f}")) for f in numbers}
    sums: dict[str, exp.Expr] = {name: exp.Sum(this=square) for name, square in squares.items()}
    return _selected({"g": exp.column("g")} | sums, found).group_by("g", copy=False)


def _of_groups(query: Influences, place: int, written: "Callable[[Influence, int], exp.Expr]") -> "exp.Expr":
    """One function as it is written in each group."""
    own = [written(group[place], place) for group in query.functions]
    if len(own) == 1:
        return own[0]
    return _chosen("g", own)


def _psi(function: Influence, place: int) -> "exp.Expr":  # noqa: ARG001 - the forms say which cells they need
    from sqlglot import exp

    factors = [exp.Paren(this=_form(form)) for form in (function.left, function.right)]
    return exp.Sub(this=exp.Mul(this=factors[0], expression=factors[1]), expression=_whole(function.offset))


def _root(function: Influence, place: int) -> "exp.Expr":
    from sqlglot import exp

    size = exp.Add(this=exp.Abs(this=exp.column(f"psi_{place}")), expression=_whole(function.divisor // 2))
    steps = exp.IntDiv(this=exp.Paren(this=size), expression=_whole(function.divisor))
    return cast(exp.Least(this=steps, expressions=[_whole(STEPS)], ignore_nulls=False), "bigint")


def _form(form: Form) -> "exp.Expr":
    from sqlglot import exp

    found = _wide(form.constant)
    for a, number in enumerate(form.numbers):
        term = exp.Mul(this=_whole(number), expression=exp.column(f"v_{a}"))
        found = exp.Add(this=found, expression=term)
    for f, levels in enumerate(form.levels):
        effect = _chosen(f"level_{f}", [_whole(number) for number in levels])
        found = exp.Add(this=found, expression=effect)
    return found


def _chosen(code: str, choices: "Sequence[exp.Expr]") -> "exp.Expr":
    """What goes with the code, the last of all where it is none of those before."""
    from sqlglot import exp

    *others, last = choices
    ifs = [
        exp.If(this=exp.EQ(this=exp.column(code), expression=_whole(k)), true=choice) for k, choice in enumerate(others)
    ]
    return exp.Case(ifs=ifs, default=last)


def _centred(steps: "exp.Expr", axis: Axis) -> "exp.Expr":
    """`Axis.centred` in whole numbers: steps are never below the lowest, so that division cuts downwards."""
    from sqlglot import exp

    index: exp.Expr = exp.Paren(this=exp.Add(this=steps, expression=_whole(((1 << axis.shift) >> 1) - axis.low)))
    if axis.shift:
        index = exp.Paren(this=exp.IntDiv(this=index, expression=_whole(1 << axis.shift)))
    return exp.Sub(this=exp.Mul(this=_whole(2), expression=index), expression=_whole(axis.reach))


def _selected(columns: "Mapping[str, exp.Expr]", inside: "exp.Select") -> "exp.Select":
    """The expressions under their names; nodes are made by hand, since the builders copy what they are given."""
    from sqlglot import exp

    aliased = [exp.Alias(this=this, alias=exp.to_identifier(name)) for name, this in columns.items()]
    return exp.select(*aliased, copy=False).from_(inside.subquery("inside", copy=False), copy=False)


def _whole(number: int) -> "exp.Expr":
    """A whole number, of the type that it needs."""
    from sqlglot import exp

    return exp.Literal(this=str(number), is_string=False)


def _wide(number: int) -> "exp.Expr":
    """A whole number in 64 bits, which make 64 bits of all that is added to it."""
    return cast(_whole(number), "bigint")
