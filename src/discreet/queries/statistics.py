"""What a model asks of the rows, and how far one privacy unit can move the answer.

A `Statistics` query is a tuple of count tables and of sums over rows, all exact integers. How far *one row* moves them
is a `RowMove`: in L1 and in squared L2, when the row is replaced and when it appears or disappears, every statistic in
its own unit. From it follows what one *unit* moves, k rows at most, for every relation:

| relation, unit and groups | L1 | squared L2 |
|---|---|---|
| add-remove | k toggle | k² toggle |
| replace-one, records, the number of used rows public | replace | replace |
| replace-one otherwise | k max(replace, toggle) | k² max(replace, toggle) |
| replace-one in groups: a row may change its group | k 2 toggle | k² max(replace, 2 toggle) |

Proofs: mechanisms/noisy_statistics/proof.md.

Second moments of several columns at once: the statistics of every normal model, and how far a row moves them.

With p numeric columns in [-1, 1] (each in units of its reach) and F categorical columns the statistics are

    no categories   Σ u_j, Σ u_i u_j (i ≤ j), and the number of rows where it is private
    categories      rows per level, Σ u_j within every level, rows per pair of levels, Σ u_i u_j (i ≤ j)

| one row | L1 | squared L2 |
|---|---|---|
| replaced, sums and products | p (p + 2)² / 2(p + 1) | (p + 1)² |
| replaced, products only | p (p + 1) / 2 | p² |
| toggled, sums and products | p (p + 3) / 2 | p (p + 3) / 2 |
| toggled, products only | p (p + 1) / 2 | p (p + 1) / 2 |

plus, for each category and each pair of categories, the table of its rows, and for each category the p sums within its
levels (proofs: mechanisms/noisy_statistics/proof.md, Lemmas 1 to 3).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from math import prod
from typing import Any, ClassVar

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import (
    PRODUCT_BITS,
    Axis,
    Counts,
    RowMove,
    Statistic,
    Sum,
    level_column,
    levels_of,
    row_move,
)
from discreet.queries.families.base import Family
from discreet.queries.second_stage import SecondStage
from discreet.schema import LabelOnly, Person, Schema
from discreet.schema.row_counts import KnownSize, NormalSizes, ShareSizes, Sizes, UniformSizes

__all__ = ["Statistics", "moment_axes", "moment_query", "most_rows_used", "used_rows"]


@dataclass(frozen=True)
class Statistics:
    """Statistics released together, and the conjugate family they feed where there is one.

    `columns` are all the columns whose bad cells exclude a row from *every* statistic of the query, so that all of them
    are about the same rows. `joint` is a proved bound on the move of a row that is better than the sum over the
    statistics; `by` asks for every statistic in every level of a column. `second` is what is asked once these are
    released: bounded sums, of functions that the released numbers choose. A number that is counted by its ranges is a
    column of levels in the schema of the query.
    """

    asks: ClassVar[str] = "statistics"

    schema: Schema
    statistics: tuple[Statistic, ...]
    family: Family | None = None
    joint: RowMove | None = None
    by: str | None = None
    second: SecondStage | None = None

    def __post_init__(self) -> None:
        if isinstance(self.schema.unit, LabelOnly):
            raise QueryError("Schema.unit must be Record or Person for statistics, got LabelOnly: it is for losses")
        if len(set(self.names)) != len(self.names):
            raise QueryError(
                f"the statistics of a model must have different names, got {list(self.names)}: "
                'rename the column that is called like a statistic, such as "n"'
            )
        categories = dict.fromkeys(name for statistic in self.statistics for name in statistic.categories)
        seen = {name: level_column(self.schema, name) for name in categories}
        views = {name: column for name, column in seen.items() if column is not self.schema.column(name)}
        object.__setattr__(self, "schema", self.schema.seen_as(views))

    def grouped(self, by: str | None) -> "Statistics":
        """Every statistic for every level of `by`; with None, the query itself."""
        if by is None:
            return self
        if by in self.columns:
            raise QueryError(f"by must be a column the model does not use itself, got {by!r}")
        levels = levels_of(self.schema, by)
        return replace(self, statistics=tuple(s.grouped(by, levels) for s in self.statistics), joint=self.move, by=by)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column the query touches, once, in order."""
        return tuple(dict.fromkeys(name for statistic in self.statistics for name in statistic.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the released statistics, in order."""
        return tuple(statistic.name for statistic in self.statistics)

    @property
    def whole(self) -> "Statistics":
        """The same with all cells of every table: what draws are made from."""
        return replace(self, statistics=tuple(statistic.whole for statistic in self.statistics))

    @property
    def labels(self) -> list[str]:
        """What every parameter is the probability of; nothing where parameters are not all such probabilities."""
        summed = any(statistic.axes for statistic in self.statistics)
        return [] if self.family is None or self.by is not None or summed else self.family.labels(self._tables)

    @property
    def draw_levels(self) -> dict[str, tuple[str, ...]]:
        """The declared levels of the last axis of a draw, by parameter."""
        return {} if self.family is None else self.family.draw_levels(self._tables)

    @property
    def _tables(self) -> tuple[Counts, ...]:
        return tuple(statistic for statistic in self.statistics if isinstance(statistic, Counts))

    @property
    def groups(self) -> tuple[str, ...]:
        """The levels of the column that groups the rows; none without one."""
        return () if self.by is None else levels_of(self.schema, self.by)

    @property
    def move(self) -> RowMove:
        """How far one row moves all statistics together: the proved joint bound, or the sum over them."""
        return self.joint or sum((statistic.move for statistic in self.statistics), row_move(0, 0, 0, 0))

    @property
    def l1(self) -> Fraction:
        """Joint L1 sensitivity to one unit, every statistic in its own unit."""
        return self.unit_l1(self.move)

    @property
    def squared_l2(self) -> Fraction:
        """Joint squared L2 sensitivity to one unit, every statistic in its own unit (D one-hot fields: 2 D)."""
        return self.unit_squared(self.move)

    def unit_l1(self, move: RowMove) -> Fraction:
        """What one unit moves in L1, given what one row moves."""
        across = 2 * move.toggle_l1 if self.groups else move.replace_l1
        return self._rows(across, move.toggle_l1)

    def unit_squared(self, move: RowMove) -> Fraction:
        """What one unit moves in squared L2, given what one row moves."""
        across = max(move.replace_squared, 2 * move.toggle_squared if self.groups else Fraction(0))
        return self._rows(across, move.toggle_squared, power=2)

    def _rows(self, replaced: Fraction, toggled: Fraction, power: int = 1) -> Fraction:
        records = Fraction(self.schema.unit.max_records**power)
        if self.schema.relation == "add-remove":
            return records * toggled
        varies = self.excludes or isinstance(self.schema.unit, Person)
        return records * max(replaced, toggled if varies else Fraction(0))

    @property
    def cells(self) -> int:
        """How many integers are released."""
        later = 0 if self.second is None else prod(self.second.shape(self))
        return sum(prod(statistic.shape) for statistic in self.statistics) + later

    @property
    def meanings(self) -> dict[str, dict[str, Any]]:
        """What the released whole numbers mean, by name."""
        later = {} if self.second is None else {self.second.name: self.second.meaning}
        return {statistic.name: statistic.meaning for statistic in self.statistics} | later

    @property
    def excludes(self) -> bool:
        """Whether some bad cell removes its row, which makes the number of used rows private."""
        return any(self.schema.column(name).missing == "exclude" for name in self.columns)

    @property
    def total(self) -> int | None:
        """The public number of rows each statistic is about, or None when it is private."""
        return None if self.by is not None else used_rows(self.schema, self.columns)

    @property
    def largest_total(self) -> int:
        """A public upper bound on the number of used rows."""
        return most_rows_used(self.schema)

    @property
    def sizes(self) -> Sizes:
        """What is known beforehand of the number of rows that each statistic (of each group) is about."""
        known = used_rows(self.schema, self.columns)
        whole: KnownSize | NormalSizes | UniformSizes
        if known is not None:
            whole = KnownSize(known)
        elif self.schema.n_prior is None:
            whole = UniformSizes(self.largest_total)
        else:
            whole = NormalSizes(*self.schema.n_prior, self.largest_total)
        return whole if len(self.groups) <= 1 else ShareSizes(whole, len(self.groups))  # one group is everybody


def most_rows_used(schema: Schema) -> int:
    """A public upper bound on the number of used rows."""
    bound = schema.n if schema.relation == "replace-one" else schema.n_max
    if bound is None:
        raise QueryError("Schema.n must be declared (or counted by dc.open) before a model can be queried, got None")
    return bound * schema.unit.max_records


def used_rows(schema: Schema, columns: tuple[str, ...]) -> int | None:
    """The public number of rows a query on these columns uses; None where it is private."""
    varies = isinstance(schema.unit, Person) or any(schema.column(name).missing == "exclude" for name in columns)
    return None if varies else schema.n


def moment_query(schema: Schema, numbers: tuple[str, ...], categories: tuple[str, ...], by: str | None) -> Statistics:
    """All second moments of the columns, for every level of `by` where it is given."""
    every = (*numbers, *categories) if by is None else (*numbers, *categories, by)
    counted = not categories and (by is not None or used_rows(schema, every) is None)
    statistics: list[Statistic] = [Counts.over(schema, "n")] if counted else []
    statistics += [Counts.over(schema, name, name) for name in categories]
    statistics += [Counts.over(schema, f"{a} x {b}", a, b) for a, b in combinations(categories, 2)]
    for within in categories or (None,):
        suffix = "" if within is None else f" in {within}"
        statistics += [Sum.of(schema, f"{name}{suffix}", name, bits=PRODUCT_BITS, within=within) for name in numbers]
    for a, b in combinations_with_replacement(numbers, 2):
        statistics.append(Sum.of(schema, f"{a} * {b}", a, b, bits=PRODUCT_BITS))
    tables = [s for s in statistics if not s.axes or s.categories]
    joint = sum((table.move for table in tables), _numbers_move(len(numbers), sums=not categories))
    return Statistics(schema, tuple(statistics), joint=joint).grouped(by)


def moment_axes(schema: Schema, numbers: tuple[str, ...]) -> tuple[Axis, ...]:
    """The axes on which the columns are summed and multiplied."""
    return tuple(Axis.of(schema, name, PRODUCT_BITS) for name in numbers)


def _numbers_move(p: int, *, sums: bool) -> RowMove:
    if sums:
        toggle = Fraction(p * (p + 3), 2)
        return RowMove(Fraction(p * (p + 2) ** 2, 2 * (p + 1)), toggle, Fraction((p + 1) ** 2), toggle)
    triangle = Fraction(p * (p + 1), 2)
    return RowMove(triangle, triangle, Fraction(p**2), triangle)
