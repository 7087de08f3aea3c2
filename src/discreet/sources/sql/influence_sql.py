"""The second stage as SQL: psi of every row in 64 bits, summed over the rows of a person in 128, cut, squared, summed.

    cells     SELECT code or grid steps of every column, person FROM used rows
    centred   SELECT centred numbers, codes FROM cells without those that exclude their row
    forms     SELECT every form once; in every group its own             one of them is in many products
    psi       SELECT products of two forms, less an offset
    units     SELECT sums of psi GROUP BY person                        where units are persons
              SELECT sum(least(|psi| rounded to divisors, STEPS)²) of every function and group

No cell decides which operations are done, and none can overflow: `LARGEST_FORM` says how large forms are.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.queries.counts_and_sums import Axis
from discreet.queries.influence import STEPS, Form, Influences
from discreet.sources.sql.cell_sql import ONCE, Held, cast
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
    forms = _forms(query)
    written = {name: _of_groups([_form(form) for form in own]) for own, name in forms.items()}
    found = _selected({**whose, "g": exp.column("g"), **written}, rows.where(*known, copy=False))
    psi = {f"psi_{f}": _psi(query, f, forms) for f in numbers}
    found = _selected({**whose, "g": exp.column("g"), **psi}, found)
    if of_persons:
        totals: dict[str, exp.Expr] = {f"psi_{f}": exp.Sum(this=exp.column(f"psi_{f}")) for f in numbers}
        found = _selected({"g": exp.column("g")} | totals, found).group_by("person", "g", copy=False)
    found = _selected({"g": exp.column("g")} | {f"root_{f}": _root(query, f) for f in numbers}, found)
    squares = {f"sum_{f}": exp.Mul(this=exp.column(f"root_{f}"), expression=exp.column(f"root_{f}")) for f in numbers}
    sums: dict[str, exp.Expr] = {name: exp.Sum(this=square) for name, square in squares.items()}
    return _selected({"g": exp.column("g")} | sums, found).group_by("g", copy=False)


def _forms(query: Influences) -> dict[tuple[Form, ...], str]:
    """The names of all different forms; one is a form in each group."""
    places = zip(*query.functions, strict=True)
    sides = [side for own in places for side in (tuple(f.left for f in own), tuple(f.right for f in own))]
    return {form: f"form_{i}" for i, form in enumerate(dict.fromkeys(sides))}


def _of_groups(own: "Sequence[exp.Expr]") -> "exp.Expr":
    """What is written in each group."""
    return own[0] if len(own) == 1 else _chosen("g", own)


def _psi(query: Influences, place: int, forms: Mapping[tuple[Form, ...], str]) -> "exp.Expr":
    from sqlglot import exp

    own = [group[place] for group in query.functions]
    left, right = (exp.column(forms[side]) for side in (tuple(f.left for f in own), tuple(f.right for f in own)))
    offset = _of_groups([_whole(function.offset) for function in own])
    return exp.Sub(this=exp.Mul(this=left, expression=right), expression=offset)


def _root(query: Influences, place: int) -> "exp.Expr":
    from sqlglot import exp

    divisors = [group[place].divisor for group in query.functions]
    half, whole = (_of_groups([_whole(d // part) for d in divisors]) for part in (2, 1))
    size = exp.Add(this=exp.Abs(this=exp.column(f"psi_{place}")), expression=half)
    steps = exp.IntDiv(this=exp.Paren(this=size), expression=whole)
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
    """The expressions under their names, each computed once, however often it is used in what is around.

    Nodes are made by hand, since the builders copy what they are given.
    """
    from sqlglot import exp

    aliased = [exp.Alias(this=this, alias=exp.to_identifier(name)) for name, this in columns.items()]
    found = exp.select(*aliased, copy=False).from_(inside.subquery("inside", copy=False), copy=False)
    found.meta[ONCE] = True
    return found


def _whole(number: int) -> "exp.Expr":
    """A whole number, of the type that it needs."""
    from sqlglot import exp

    return exp.Literal(this=str(number), is_string=False)


def _wide(number: int) -> "exp.Expr":
    """A whole number in 64 bits, which make 64 bits of all that is added to it."""
    return cast(_whole(number), "bigint")
