"""One SQL text for every engine: the rules for cells are applied to groups of equal rows, not to rows.

A query runs in three steps, whose cost is that of the first one, a plain GROUP BY:

    grouped   SELECT raw cells, count(*), sum(grid steps) FROM rows GROUP BY raw cells
    mapped    raw cells -> level codes by LEFT JOINs on small tables of declared levels; no match: the default code
    coded     SELECT codes, sum(...) FROM mapped WHERE no code IS NULL GROUP BY codes

Each statistic is then a small marginal of `coded`. Names in the text are positions (raw_0, code_0, ...): only the names
of source columns and the declared levels come from outside, as quoted identifiers and literals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from discreet.query import Counts, Statistic, Statistics, Sum
from discreet.schema import Binary, Bounded, Categorical, Count, Schema
from discreet.sources.cells import Cell, is_bad, number, number_levels, parsed, steps, text, text_levels

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Grouping", "coded", "groupings", "marginal", "total"]

# A joint table up to this many declared cells is grouped in one scan; a larger one costs a scan per set of columns.
LARGEST_JOINT_TABLE = 200_000


@dataclass(frozen=True)
class Grouping:
    """Statistics that share one scan, and the categorical columns that the scan groups by."""

    columns: tuple[str, ...]
    statistics: tuple[Statistic, ...]

    @property
    def sums(self) -> tuple[str, ...]:
        """The numeric columns summed in this scan."""
        return tuple(dict.fromkeys(s.column for s in self.statistics if isinstance(s, Sum)))


def groupings(query: Statistics) -> tuple[Grouping, ...]:
    """The scans of a query, chosen from declarations only.

    A column that excludes rows is part of every grouping: its bad cells remove the row from all statistics.
    """
    categorical = {
        name: column for name in query.columns if isinstance(column := query.schema.column(name), Binary | Categorical)
    }
    if prod(len(column.levels) + 1 for column in categorical.values()) <= LARGEST_JOINT_TABLE:
        return (Grouping(tuple(categorical), query.statistics),)
    excluding = {name for name, column in categorical.items() if column.default_code is None}
    shared: dict[tuple[str, ...], list[Statistic]] = {}
    for statistic in query.statistics:
        needed = excluding.union(statistic.columns)
        shared.setdefault(tuple(name for name in categorical if name in needed), []).append(statistic)
    return tuple(Grouping(columns, tuple(statistics)) for columns, statistics in shared.items())


def coded(query: Statistics, grouping: Grouping, cells: Mapping[str, Cell], relation: str) -> "exp.Select":
    """Codes of the grouping's columns, with `n` and the sums of every combination that occurs in `relation`."""
    from sqlglot import exp

    mapped = _mapped(query.schema, grouping, cells, _grouped(query, grouping, cells, relation))
    codes = [exp.column(name) for name in _names("code", grouping.columns)]
    totals = [exp.Sum(this=exp.column(name)).as_(name) for name in ("n", *_names("sum", grouping.sums))]
    used = [code.is_(exp.null()).not_() for code in codes]
    return _from(exp.select(*codes, *totals).where(*used).group_by(*codes), mapped)


def marginal(grouping: Grouping, table: Counts, relation: str) -> "exp.Select":
    """The cells of one count table that hold rows, from the coded `relation`: axis_0, axis_1, ... and n."""
    from sqlglot import exp

    codes = [exp.column(f"code_{grouping.columns.index(column)}") for column in table.columns]
    axes = [code.as_(f"axis_{i}") for i, code in enumerate(codes)]
    count = exp.cast(exp.func("coalesce", exp.Sum(this=exp.column("n")), exp.Literal.number(0)), "bigint")
    return exp.select(*axes, count.as_("n")).from_(exp.to_table(relation)).group_by(*codes)


def total(grouping: Grouping, statistic: Sum, relation: str) -> "exp.Select":
    """The sum of one numeric column over the coded `relation`, in grid steps."""
    from sqlglot import exp

    column = exp.column(f"sum_{grouping.sums.index(statistic.column)}")
    return exp.select(exp.func("coalesce", exp.Sum(this=column), exp.Literal.number(0))).from_(exp.to_table(relation))


def _grouped(query: Statistics, grouping: Grouping, cells: Mapping[str, Cell], relation: str) -> "exp.Select":
    """Count and sum the rows of equal raw cells, without the rows that a bad number excludes."""
    from sqlglot import exp

    raw = {name: exp.column(cells[name].column, relation, quoted=True) for name in query.columns}
    numeric = {
        name: column for name in query.columns if isinstance(column := query.schema.column(name), Bounded | Count)
    }
    keys = [raw[name].as_(f"raw_{i}") for i, name in enumerate(grouping.columns)]
    sums = [
        exp.Sum(this=steps(raw[name], cells[name].storage, numeric[name])).as_(f"sum_{i}")
        for i, name in enumerate(grouping.sums)
    ]
    used = [
        is_bad(number(raw[name], cells[name].storage)).not_()
        for name, column in numeric.items()
        if column.default_value is None
    ]
    rows = exp.select(*keys, exp.Count(this=exp.Star()).as_("n"), *sums).from_(exp.to_table(relation)).where(*used)
    return rows.group_by(*(raw[name] for name in grouping.columns))


def _mapped(schema: Schema, grouping: Grouping, cells: Mapping[str, Cell], grouped: "exp.Select") -> "exp.Select":
    """Raw cells to level codes: by text, else by number, else the default code (NULL: the group is excluded)."""
    from sqlglot import exp

    kept = [exp.column(name) for name in ("n", *_names("sum", grouping.sums))]
    keys, codes, joins = [], [], []
    for i, name in enumerate(grouping.columns):
        column, raw = schema.column(name), exp.column(f"raw_{i}")
        assert isinstance(column, Binary | Categorical)  # groupings hold no other kind
        written = text(raw, cells[name].storage)
        keys.append((exp.Lower(this=written) if isinstance(column, Binary) else written).as_(f"text_{i}"))
        keys.append(parsed(written).as_(f"number_{i}"))
        candidates: list[exp.Expr] = []
        for key, levels in ((f"text_{i}", text_levels(column)), (f"number_{i}", number_levels(column))):
            if levels:
                joins.append((key, levels))
                candidates.append(exp.column("code", f"{key}_levels"))
        if column.default_code is not None:
            candidates.append(exp.Literal.number(column.default_code))
        codes.append(exp.func("coalesce", *candidates).as_(f"code_{i}"))
    result = _from(exp.select(*codes, *kept), _from(exp.select(*keys, *kept), grouped))
    for key, levels in joins:
        table = exp.values(levels, alias=f"{key}_levels", columns=["level", "code"])
        result = result.join(
            table, on=exp.column(key).eq(exp.column("level", f"{key}_levels")), join_type="left", copy=False
        )
    return result


def _from(outer: "exp.Select", inner: "exp.Select") -> "exp.Select":
    """`outer` over `inner`, without the deep copies that make up most of the time of building a nested query."""
    return outer.from_(inner.subquery("inside", copy=False), copy=False)


def _names(stem: str, columns: tuple[str, ...]) -> list[str]:
    return [f"{stem}_{i}" for i in range(len(columns))]
