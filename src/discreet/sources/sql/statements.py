"""One SQL text for every engine: the rules for cells of levels are applied to groups of equal rows, not to rows.

A query about records runs in steps, whose cost is that of the second one, a plain GROUP BY:

    values    SELECT raw cells of levels, numbers on their grids FROM rows
    grouped   SELECT raw cells, count(*), sums of numbers, sums of products FROM values GROUP BY raw cells
    mapped    raw cells -> codes of declared levels, by text or else by number; no match: the default code
    coded     SELECT codes, sum(...) FROM mapped GROUP BY codes

A query about persons must know which rows of a person are used before it can group them: `values`, `mapped`, `kept`
(at most k rows of each person), `grouped`. Statistics are then small marginals of the table `coded`, without the codes
that are NULL; asked any earlier, engines would look for those in every row. Names in the text are positions (raw_0,
code_0, ...): only the names of source columns, the declared levels and the dataset's id come from outside, quoted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from discreet.queries.counts_and_sums import Axis, Statistic
from discreet.queries.influence import Influences
from discreet.queries.losses.base import Loss, Query
from discreet.queries.statistics import Statistics
from discreet.sources.sql.cell_sql import ONCE, Held, number, on_grid
from discreet.sources.sql.kept_rows import coded_cells, kept
from discreet.sources.sql.level_sql import counted_code, found_level
from discreet.sources.sql.sum_sql import adds_steps, halved, sum_of_steps, total
from discreet.sources.sql.view_sql import class_code, range_code

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "Grouping",
    "coded",
    "coded_groups",
    "groupings",
    "marginal",
    "number_of_rows",
    "rows_in_order",
    "used_cells",
]

Asked = Query | Influences  # what rows are coded for

# Statistics whose joint table has at most this many declared cells are grouped in one scan.
LARGEST_JOINT_TABLE = 200_000


@dataclass(frozen=True)
class Grouping:
    """Statistics that share one scan, and the categorical columns that the scan groups by."""

    columns: tuple[str, ...]
    statistics: tuple[Statistic, ...]

    @property
    def products(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes whose products this scan sums, once each."""
        return tuple(dict.fromkeys(s.axes for s in self.statistics if s.axes))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis, once."""
        return tuple(dict.fromkeys(axis for axes in self.products for axis in axes))

    @property
    def marginals(self) -> dict[tuple[str, ...], list[Statistic]]:
        """The statistics, by the columns whose levels are the axes of their arrays."""
        found: dict[tuple[str, ...], list[Statistic]] = {}
        for statistic in self.statistics:
            summed = {axis.column for axis in statistic.axes}
            columns = tuple(name for name in statistic.columns if name not in summed)
            found.setdefault(columns, []).append(statistic)
        return found


def groupings(query: Statistics) -> tuple[Grouping, ...]:
    """The scans of a query, chosen from declarations only.

    A column that excludes rows is part of every grouping: its bad cells remove the row from all statistics.
    """
    categorical, _ = _kinds(query, query.columns)
    seen = {name: query.schema.column(name) for name in categorical}
    size = {name: len(column.compared or column.levels) + 1 for name, column in seen.items()}  # raw cells are grouped
    if prod(size.values()) <= LARGEST_JOINT_TABLE:
        return (Grouping(tuple(categorical), query.statistics),)
    needed = {s.name: {*_excluding(query), *s.columns} & size.keys() for s in query.statistics}
    scans: list[tuple[set[str], list[Statistic]]] = []
    for statistic in sorted(query.statistics, key=lambda s: -prod(size[name] for name in needed[s.name])):
        for columns, statistics in scans:  # the largest tables first, each where the joint table stays small
            joint = columns | needed[statistic.name]
            if columns == needed[statistic.name] or prod(size[name] for name in joint) <= LARGEST_JOINT_TABLE:
                columns |= needed[statistic.name]
                statistics.append(statistic)
                break
        else:
            scans.append((set(needed[statistic.name]), [statistic]))
    return tuple(Grouping(tuple(n for n in categorical if n in columns), tuple(found)) for columns, found in scans)


def coded_groups(
    query: Statistics,
    grouping: Grouping,
    held: Mapping[str, Held],
    relation: str,
    id: str,  # noqa: A002
    rows_at_most: int | None,
) -> "exp.Select":
    """Codes of the grouping's columns, `n` and sums of groups of equal cells; a combination may come several times.

    The sums are exact if no more rows are used than `rows_at_most`; None is no bound.
    """
    if query.schema.unit.identifier is not None:
        return _grouped(query, grouping, "code", _of_persons(query, held, relation, id), rows_at_most)
    used = {*grouping.columns, *(axis.column for axis in grouping.axes), *_excluding(query)}
    values = _values(query, [name for name in query.columns if name in used], held, relation, [])
    grouped = _grouped(query, grouping, "raw", values, rows_at_most)
    return _mapped(query, grouping.columns, held, grouped, _totals(grouping)) if grouping.columns else grouped


def coded(query: Statistics, grouping: Grouping, groups: "exp.Select") -> "exp.Select":
    """The same with every combination once: groups of persons' rows are grouped by codes already."""
    from sqlglot import exp

    if query.schema.unit.identifier is not None or not grouping.columns:
        return groups
    codes = [exp.column(name) for name in _names("code", query, grouping.columns)]
    sums = [exp.Sum(this=exp.column(name)).as_(name) for name in _totals(grouping)]
    return _from(exp.select(*codes, *sums).group_by(*codes), groups)


def rows_in_order(query: Loss, held: Mapping[str, Held], relation: str, id: str) -> "exp.Select":  # noqa: A002
    """Level codes and grid steps (NULL: bad) of every used row, in the order of the query's columns."""
    from sqlglot import exp

    found = [cell.as_(f"cell_{i}", copy=False) for i, cell in enumerate(coded_cells(query))]
    if query.schema.unit.identifier is not None:
        return _from(exp.select(*found), _of_persons(query, held, relation, id))
    categorical, numeric = _kinds(query, query.columns)
    place = exp.Window(this=exp.RowNumber()).as_("place")
    values = _values(query, query.columns, held, relation, [place])
    used = _mapped(query, categorical, held, values, ["place", *_names("value", query, numeric)])
    return _from(exp.select(*found, exp.column("place")), used).order_by("place", copy=False)


def used_cells(query: Asked, held: Mapping[str, Held], relation: str, id: str) -> "exp.Select":  # noqa: A002
    """The same cells in no order, and whose each row is where units are persons."""
    from sqlglot import exp

    found = [cell.as_(f"cell_{i}", copy=False) for i, cell in enumerate(coded_cells(query))]
    if query.schema.unit.identifier is not None:
        return _from(exp.select(*found, exp.column("person")), _of_persons(query, held, relation, id))
    categorical, numeric = _kinds(query, query.columns)
    values = _values(query, query.columns, held, relation, [])
    return _from(exp.select(*found), _mapped(query, categorical, held, values, _names("value", query, numeric)))


def number_of_rows(asked: "exp.Select") -> "exp.Select":
    """How many rows a statement gives."""
    from sqlglot import exp

    return _from(exp.select(exp.Count(this=exp.Star())), asked.copy())


def marginal(query: Statistics, grouping: Grouping, columns: tuple[str, ...], relation: str) -> "exp.Select":
    """Codes of `columns`, then n and every sum, for each combination that the coded `relation` holds; NULL excludes."""
    from sqlglot import exp

    codes = [exp.column(name) for name in _names("code", query, columns)]
    totals = [exp.Sum(this=exp.column(name)) for name in _totals(grouping)]
    sums = [exp.Coalesce(this=total, expressions=[exp.Literal.number(0)]) for total in totals]
    whole = [_known(name) for name in _names("code", query, grouping.columns)]
    return exp.select(*codes, *sums).from_(exp.to_table(relation)).where(*whole).group_by(*codes)


def _of_persons(query: Asked, held: Mapping[str, Held], relation: str, id: str) -> "exp.Select":  # noqa: A002
    """Codes and values of at most k rows of every person."""
    from sqlglot import exp

    identifier = exp.column("person", relation).as_("person")
    categorical, numeric = _kinds(query, query.columns)
    values = _values(query, query.columns, held, relation, [identifier]).where(_known("person"), copy=False)
    mapped = _mapped(query, categorical, held, values, ["person", *_names("value", query, numeric)])
    return kept(query, id, query.schema.unit.max_records, mapped)


def _values(
    query: Asked, columns: Iterable[str], held: Mapping[str, Held], relation: str, others: "list[exp.Expr]"
) -> "exp.Select":
    """Raw cells of levels (raw_i), grid steps of numbers (value_i) and the other expressions, of every row."""
    from sqlglot import exp

    raw, values = [], []
    for name in columns:
        i, column = query.columns.index(name), query.schema.column(name)
        cell = exp.column(held[name].column, relation, quoted=True)
        if column.holds == "numbers":
            raw.append(number(cell, held[name].storage).as_(f"number_{i}", copy=False))
            values.append(on_grid(exp.column(f"number_{i}"), column).as_(f"value_{i}", copy=False))
        elif column.holds == "ranges":
            raw.append(number(cell, held[name].storage).as_(f"number_{i}", copy=False))
            values.append(range_code(exp.column(f"number_{i}"), column).as_(f"raw_{i}", copy=False))
        else:
            raw.append(cell.as_(f"raw_{i}", copy=False))
            values.append(exp.column(f"raw_{i}"))
    # numbers are read in a select of their own, so that a text is parsed once and not for each of its bounds
    rows = exp.select(*raw, *others).from_(exp.to_table(relation), copy=False)
    if not raw and not others:
        return rows.select(exp.Literal.number(0).as_("nothing"))
    return _from(exp.select(*values, *(exp.column(other.alias) for other in others)), rows)


def _grouped(
    query: Statistics, grouping: Grouping, stem: str, values: "exp.Select", rows_at_most: int | None
) -> "exp.Select":
    """Count and sum the rows with equal `stem` cells, without those that a bad cell known by now excludes."""
    from sqlglot import exp

    keys = [exp.column(name) for name in _names(stem, query, grouping.columns)]
    value = {axis: f"value_{query.columns.index(axis.column)}" for axis in grouping.axes}
    multiplied = {axis.column for axes in grouping.products for axis in axes if not adds_steps(axes, rows_at_most)}
    half = {axis: f"half_{a}" for a, axis in enumerate(grouping.axes) if axis.column in multiplied}
    halves = [halved(exp.column(value[axis]), axis).as_(name, copy=False) for axis, name in half.items()]
    steps = [exp.column(value[axis]) for axis in grouping.axes if axis not in half]
    categorical, numeric = _kinds(query, _excluding(query))
    excluding = [*_names("value", query, numeric), *(_names("code", query, categorical) if stem == "code" else [])]
    cells = keys + steps + halves or [exp.Literal.number(0).as_("nothing")]
    rows = _from(exp.select(*cells), values).where(*(_known(name) for name in excluding), copy=False)
    rows.meta[ONCE] = sum(map(len, grouping.products)) > len(grouping.axes)
    sums = [
        total([exp.column(half[axis]) for axis in axes], axes, rows_at_most)
        if axes[0] in half
        else sum_of_steps(exp.column(value[axes[0]]), axes[0])
        for axes in grouping.products
    ]
    sums = [found.as_(f"sum_{i}", copy=False) for i, found in enumerate(sums)]
    return _from(exp.select(*keys, exp.Count(this=exp.Star()).as_("n"), *sums), rows).group_by(*keys, copy=False)


def _mapped(
    query: Asked, columns: Iterable[str], held: Mapping[str, Held], inside: "exp.Select", others: list[str]
) -> "exp.Select":
    """Raw cells to level codes: by text, by number, or that of others or bad cells (NULL: the row is excluded)."""
    from sqlglot import exp

    carried = [exp.column(name) for name in others]
    keys, codes, joins = [], [], []
    for name in columns:
        i, column = query.columns.index(name), query.schema.column(name)
        if column.holds == "ranges":  # coded before rows were grouped
            keys.append(exp.column(f"raw_{i}").as_(f"level_{i}", copy=False))
            codes.append(exp.column(f"level_{i}").as_(f"code_{i}", copy=False))
            continue
        assert column.holds != "numbers"  # groupings hold no such kind
        found = found_level(i, held[name].storage, column.column if column.holds == "matches" else column)
        keys += found.selected
        joins += found.joined
        cell = found.code, found.there
        code = class_code(*cell, column) if column.holds == "matches" else counted_code(*cell, column)
        codes.append(code.as_(f"code_{i}", copy=False))
    result = _from(exp.select(*codes, *carried), _from(exp.select(*keys, *carried), inside))
    for join in joins:
        result.append("joins", join)
    return result


def _kinds(query: Asked, columns: Iterable[str]) -> tuple[list[str], list[str]]:
    """The columns of levels and the columns of numbers."""
    names = list(columns)
    numeric = [name for name in names if query.schema.column(name).holds == "numbers"]
    return [name for name in names if name not in numeric], numeric


def _excluding(query: Statistics) -> list[str]:
    return [name for name in query.columns if query.schema.column(name).missing == "exclude"]


def _from(outer: "exp.Select", inner: "exp.Select") -> "exp.Select":
    """`outer` over `inner`, without the deep copies that make up most of the time of building a nested query."""
    return outer.from_(inner.subquery("inside", copy=False), copy=False)


def _known(name: str) -> "exp.Expr":
    from sqlglot import exp

    return exp.column(name).is_(exp.null()).not_()


def _totals(grouping: Grouping) -> list[str]:
    return ["n", *(f"sum_{i}" for i, _ in enumerate(grouping.products))]


def _names(stem: str, query: Asked, columns: Iterable[str]) -> list[str]:
    return [f"{stem}_{query.columns.index(name)}" for name in columns]
