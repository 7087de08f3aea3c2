"""Count tables and sums over rows: exact integers, and how far one row moves each of them.

A table is one-hot: a row is in one cell. A sum is of one numeric column, or of the product of two, as whole numbers
symmetric about zero: a cell is clipped to its bounds and rounded to its grid (`steps`); neighbouring steps may be
merged, 2^shift at a time, to keep products small; and the index j = 0..reach that results is centred, v = 2j - reach.
So in units of `reach` every column lies in [-1, 1], whatever its bounds were, and a row adds a number in [-1, 1] to a
sum: this is where the sensitivity of a clamped sum is decided.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.schema import LevelColumn, Schema
from discreet.schema.cell import clipped_steps
from discreet.schema.columns import Bounded, Count

__all__ = [
    "PRODUCT_BITS",
    "Axis",
    "Counts",
    "RowMove",
    "Statistic",
    "Sum",
    "above",
    "level_column",
    "levels_of",
    "row_move",
]

# Axes that are multiplied have at most this many bits: products of two then sum exactly in doubles up to 2^29 rows.
PRODUCT_BITS = 12


@dataclass(frozen=True)
class Axis:
    """The centred whole numbers of one column; x ≈ centre + unit · v."""

    lower: float
    upper: float
    grid: float
    low: int
    shift: int
    reach: int
    column: str = ""

    def __post_init__(self) -> None:
        if not (self.lower < self.upper and self.grid > 0 and self.shift >= 0 and self.reach > 0):
            raise QueryError(f"Axis must have lower < upper, and grid and reach above 0, got {self}")

    @classmethod
    def of(cls, schema: Schema, column: str, bits: int | None = None) -> "Axis":
        """The axis of a bounded or count column, with at most 2^bits values where `bits` is given."""
        declared = schema.column(column)
        if not isinstance(declared, Bounded | Count):
            kind = type(declared).__name__
            raise QueryError(
                f"a column that is summed must be bounded or count, got {column!r}, a {kind}: for shares of its levels "
                "ask BetaBernoulli (binary) or DirichletCategorical"
            )
        low, high = declared.steps(declared.lower), declared.steps(declared.upper)
        shift = 0 if bits is None else max(0, (high - low).bit_length() - bits)
        reach = _index(high, low, shift)
        if reach == 0:
            raise QueryError(f"Bounded.grid must leave at least two values in the bounds of {column!r}, got one")
        return cls(float(declared.lower), float(declared.upper), declared.step, low, shift, reach, column)

    def centred(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """V of grid steps: what the sources compute in SQL."""
        return np.asarray(2 * _index(steps, self.low, self.shift) - self.reach)

    @property
    def unit(self) -> float:
        """How much x one unit of v is worth."""
        return 0.5 * self.grid * 2.0**self.shift

    @property
    def centre(self) -> float:
        """The x of v = 0."""
        return self.grid * (self.low + 0.5 * 2.0**self.shift * self.reach)

    @property
    def ends(self) -> tuple[float, float]:
        """The x of v = -reach and of v = reach: the bounds, as the grid can say them."""
        # not as differences from the centre: a lower end of 0 must be 0, because certificates multiply it by n
        return self.grid * self.low, self.grid * (self.low + self.reach * 2**self.shift)

    def total(self, centred: ArrayLike, n: int) -> NDArray[np.float64]:
        """The sum of x over n rows, given that of v: counted from the lower end, where nothing cancels."""
        return np.asarray(n * (self.grid * self.low) + self.unit * above(centred, n * self.reach))

    def values(self, x: ArrayLike) -> NDArray[np.float64]:
        """V of real values, as floats."""
        return np.asarray(self.centred(self.of_values(x)), dtype=float)

    def of_values(self, x: ArrayLike) -> NDArray[np.int64]:
        """Grid steps of real values, clipped and rounded as the sources do it."""
        steps = clipped_steps(np.asarray(x, dtype=float), self.lower, self.upper, self.grid)
        return np.asarray(steps, dtype=np.int64)


def above(centred: ArrayLike, lowest: int) -> NDArray[np.float64]:
    """How far sums lie above their lowest value -lowest: whole numbers are added before they become doubles."""
    values = np.asarray(centred)
    return np.asarray((values.astype(object) if values.dtype.kind in "iu" else values) + lowest, dtype=float)


def _index(steps: Any, low: int, shift: int) -> Any:
    """Indices from 0: half a merged step is added, so that merging rounds to the nearest."""
    return (steps - low + ((1 << shift) >> 1)) >> shift


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
    """The levels of a column that must have some."""
    return level_column(schema, column).levels


def level_column(schema: Schema, column: str) -> LevelColumn:
    """A column as levels: as it is declared, or a number by its ranges."""
    declared = schema.column(column)
    seen = declared.as_levels
    if seen is None:
        kind = type(declared).__name__
        raise QueryError(f"Counts.columns must be binary or categorical, got {column!r}, a {kind} without cut=")
    return seen
