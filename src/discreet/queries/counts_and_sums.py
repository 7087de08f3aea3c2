"""Count tables and sums over rows: exact integers, and how far one row moves each of them.

A table is one-hot: a row is in one cell. A sum is of one centred column, or of the product of two, so that in its own
unit a row adds a number in [-1, 1]; this is where the sensitivity of a clamped sum is decided.

How far one row moves statistics, in L1 and in squared L2: replaced by another row, or there and not.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

from discreet.errors import QueryError
from discreet.queries.centred_columns import Axis
from discreet.schema import Binary, Categorical, Schema

__all__ = ["Counts", "RowMove", "Statistic", "Sum", "levels_of", "row_move"]


@dataclass(frozen=True)
class RowMove:
    """How far one row moves statistics: replaced by another row, or toggled (there or not)."""

    replace_l1: Fraction
    toggle_l1: Fraction
    replace_squared: Fraction
    toggle_squared: Fraction

    def __add__(self, other: "RowMove") -> "RowMove":
        """Statistics released together: both distances add."""
        return RowMove(
            self.replace_l1 + other.replace_l1,
            self.toggle_l1 + other.toggle_l1,
            self.replace_squared + other.replace_squared,
            self.toggle_squared + other.toggle_squared,
        )


def row_move(replace_l1: int, toggle_l1: int, replace_squared: int, toggle_squared: int) -> RowMove:
    """A move of whole numbers."""
    return RowMove(Fraction(replace_l1), Fraction(toggle_l1), Fraction(replace_squared), Fraction(toggle_squared))


@dataclass(frozen=True)
class Counts:
    """How many rows fall in each cell of a declared level grid; `cell` keeps a single one of them."""

    name: str
    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    cell: tuple[int, ...] | None = None

    @classmethod
    def over(cls, schema: Schema, name: str, *columns: str, cell: tuple[int, ...] | None = None) -> "Counts":
        """Counts over the declared levels of `columns`; over none of them, the number of used rows."""
        return cls(name, columns, tuple(levels_of(schema, column) for column in columns), cell)

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of levels of each column: the shape of the full table."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released array."""
        return self.grid if self.cell is None else ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Nothing is summed: rows are counted."""
        return ()

    @property
    def unit(self) -> int:
        """Noise is added in whole rows."""
        return 1

    @property
    def meaning(self) -> dict[str, Any]:
        """What a released whole number means, for readers without this library: rows."""
        return {"unit": 1}

    @property
    def move(self) -> RowMove:
        """One-hot: a replaced row leaves one cell and enters another; a single cell changes by one."""
        if not self.columns:
            return row_move(0, 1, 0, 1)
        return row_move(2, 1, 2, 1) if self.cell is None else row_move(1, 1, 1, 1)

    @property
    def whole(self) -> "Counts":
        """All cells of the grid."""
        return replace(self, cell=None)

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns whose levels are the axes of the table."""
        return self.columns

    def grouped(self, by: str, levels: tuple[str, ...]) -> "Counts":
        """The same table for every level of one more column, which becomes the first axis."""
        return replace(self, columns=(by, *self.columns), levels=(levels, *self.levels))


@dataclass(frozen=True)
class Sum:
    """The sum over rows of one axis, or of the product of two, in each cell of a level grid (without one, overall)."""

    name: str
    axes: tuple[Axis, ...]
    categories: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, schema: Schema, name: str, *columns: str, bits: int | None = None, within: str | None = None) -> "Sum":
        """The sum of one or two numeric columns, for every level of `within` where it is given."""
        axes = tuple(Axis.of(schema, column, bits) for column in columns)
        return cls(name, axes, *(((within,), (levels_of(schema, within),)) if within is not None else ((), ())))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column whose bad cells matter, once."""
        return tuple(dict.fromkeys((*self.categories, *(axis.column for axis in self.axes))))

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of levels of each category."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each cell."""
        return self.grid

    @property
    def unit(self) -> int:
        """The largest absolute value one row can add: in this unit a row adds a number in [-1, 1]."""
        return prod(axis.reach for axis in self.axes)

    @property
    def meaning(self) -> dict[str, Any]:
        """What a released whole number means: so many units of the sum of products of (x - centre)."""
        return {"unit": prod(axis.unit for axis in self.axes), "centres": [axis.centre for axis in self.axes]}

    @property
    def move(self) -> RowMove:
        """Within a cell the number may go from -1 to 1 (a square from 0 to 1); or it leaves one cell for another."""
        is_square = len(self.axes) == 2 and self.axes[0] == self.axes[1]
        width = 1 if is_square else 2
        across = 2 if self.categories else 0
        return row_move(max(width, across), 1, max(width**2, across), 1)

    @property
    def whole(self) -> "Sum":
        """The sum itself."""
        return self

    @property
    def cell(self) -> None:
        """Every cell is kept."""
        return

    def grouped(self, by: str, levels: tuple[str, ...]) -> "Sum":
        """The same sum for every level of one more column, which becomes the first axis."""
        return replace(self, categories=(by, *self.categories), levels=(levels, *self.levels))


Statistic = Counts | Sum


def levels_of(schema: Schema, column: str) -> tuple[str, ...]:
    """The declared levels of a column that must have some."""
    declared = schema.column(column)
    if not isinstance(declared, Binary | Categorical):
        kind = type(declared).__name__
        raise QueryError(f"Counts.columns must be binary or categorical, got {column!r}, a {kind}")
    return declared.levels
