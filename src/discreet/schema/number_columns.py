"""Columns of numbers, and where they are cut to be used as levels.

A number is clipped to its bounds and rounded to a public grid. Where a model wants levels, `cut` says at which values
one ends and the next begins: each level holds its lower end. Bad cells follow `missing` first, then they are cut.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

from discreet.checks import is_integer, is_number
from discreet.errors import SchemaError
from discreet.recipe import without_none
from discreet.schema.cell import LARGEST_STEPS, NO_NUMBER, Truths, clipped_steps
from discreet.schema.cell_words import count_labels, number_words, range_labels
from discreet.schema.views import Ranges, bound_ranges

__all__ = ["Bounded", "Count"]


class _OfNumbers:
    """What columns of numbers have in common; `excluded` stands for the steps of a cell that excludes its row.

    `self` is one of the two kinds below, which have bounds, a step, `missing`, `cut` and `labels` of the ranges.
    """

    holds: ClassVar[Literal["numbers"]] = "numbers"
    levels: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[tuple[str, ...]] = ()
    truths: ClassVar[Truths] = ("0", "1")
    excluded: ClassVar[int] = NO_NUMBER

    @property
    def as_levels(self: Any) -> Ranges | None:
        """The ranges into which the number is cut; None if it is not."""
        return None if self.cut is None else _ranges(self, self.labels)

    @property
    def range_steps(self: Any) -> tuple[tuple[int, int], ...]:
        """The first and the last grid step of every range."""
        firsts = [self.steps(point) for point in (self.lower, *(self.cut or ()))]
        return tuple(zip(firsts, [*(step - 1 for step in firsts[1:]), self.steps(self.upper)], strict=True))

    @property
    def told_apart(self: Any) -> Ranges:
        """What becomes of a cell: clipped, on a bound, between them, or bad."""
        return bound_ranges(float(self.lower), float(self.upper))

    def steps(self: Any, value: float) -> int:
        """`value` clipped and on the grid, as the source rounds it."""
        return int(clipped_steps(value, self.lower, self.upper, self.step))

    def other_cells(self: Any) -> str:
        """What cells count as that are no number within the bounds, in words."""
        return number_words(self.lower, self.upper, self.missing)


@dataclass(frozen=True)
class Bounded(_OfNumbers):
    """A number clipped to [lower, upper] and rounded to the nearest multiple of the public `grid`.

    The default grid is the power of two next below (upper - lower) / 2^20: sums are then exact integers. With
    `cut=[18, 65]` it is also a column of levels, "[0, 18)", "[18, 65)" and "[65, 110]", for models that want levels.
    """

    lower: float
    upper: float
    missing: float | Literal["exclude"] | None = None
    grid: float | None = None
    cut: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            value = getattr(self, name)
            if not is_number(value):
                raise SchemaError(f"Bounded.{name} must be a finite number, got {value!r}")
        if not self.lower < self.upper:
            raise SchemaError(f"Bounded.upper must be above lower = {self.lower!r}, got {self.upper!r}")
        width = float(self.upper) - float(self.lower)
        if not 1e-280 < width < math.inf:
            raise SchemaError(f"Bounded.upper - lower must be within double precision, got {width!r}")
        object.__setattr__(self, "lower", float(self.lower))  # 0 and 0.0 are the same declaration
        object.__setattr__(self, "upper", float(self.upper))
        grid = 2.0 ** math.floor(math.log2(width / 2**20)) if self.grid is None else self.grid
        if not is_number(grid) or grid <= 0:
            raise SchemaError(f"Bounded.grid must be a number above 0, got {grid!r}")
        if max(abs(self.lower), abs(self.upper)) / grid > LARGEST_STEPS:
            raise SchemaError(f"Bounded.grid must keep the bounds within 2^31 steps of 0, got {grid!r}")
        object.__setattr__(self, "grid", float(grid))
        if self.missing not in (None, "exclude") and not (
            is_number(self.missing) and self.lower <= float(self.missing) <= self.upper
        ):
            raise SchemaError(f'Bounded.missing must be within the bounds or "exclude", got {self.missing!r}')
        if self.cut is not None:
            object.__setattr__(self, "cut", self._checked_cut(self.cut))

    def _checked_cut(self, cut: Any) -> tuple[float, ...]:
        points = tuple(cut) if hasattr(cut, "__iter__") and not isinstance(cut, str) else ()
        if not points or not all(is_number(point) and self.lower < point < self.upper for point in points):
            raise SchemaError(f"Bounded.cut must be a list of numbers strictly between the bounds, got {cut!r}")
        steps = [self.steps(point) for point in (self.lower, *points)]
        if any(here >= there for here, there in pairwise(steps)):
            raise SchemaError(f"Bounded.cut must increase, by a step of the grid at least, got {list(points)!r}")
        return tuple(float(point) for point in points)

    @property
    def step(self) -> float:
        """The grid as a plain number."""
        assert self.grid is not None  # set by __post_init__
        return self.grid

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""
        if self.missing == "exclude":
            return None
        return self.lower if self.missing is None else float(self.missing)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the ranges into which the number is cut."""
        return range_labels(self.lower, tuple(self.cut or ()), self.upper)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        cut = None if self.cut is None else list(self.cut)
        bounds = {"lower": self.lower, "upper": self.upper}
        return without_none({"kind": "bounded", **bounds, "missing": self.missing, "grid": self.grid, "cut": cut})


@dataclass(frozen=True)
class Count(_OfNumbers):
    """A whole number from 0 to `upper`: clipped to that range and rounded to the nearest integer.

    With `cut=[1, 5]` it is also a column of levels, "0", "1 to 4" and "5 to 20", for models that want levels.
    """

    upper: int
    missing: int | Literal["exclude"] | None = None
    cut: Sequence[int] | None = None
    lower: ClassVar[int] = 0
    step: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not (is_integer(self.upper) and 0 < self.upper <= LARGEST_STEPS):
            raise SchemaError(f"Count.upper must be a whole number from 1 to 2^31, got {self.upper!r}")
        if self.missing not in (None, "exclude") and not (
            is_integer(self.missing) and 0 <= int(self.missing) <= self.upper
        ):
            raise SchemaError(
                f'Count.missing must be a whole number up to {self.upper} or "exclude", got {self.missing!r}'
            )
        if self.cut is not None:
            object.__setattr__(self, "cut", self._checked_cut(self.cut))

    def _checked_cut(self, cut: Any) -> tuple[int, ...]:
        points = tuple(cut) if hasattr(cut, "__iter__") and not isinstance(cut, str) else ()
        if not points or not all(is_integer(point) and 1 <= point <= self.upper for point in points):
            raise SchemaError(f"Count.cut must be a list of whole numbers from 1 to {self.upper}, got {cut!r}")
        if any(here >= there for here, there in pairwise(points)):
            raise SchemaError(f"Count.cut must increase, got {list(points)!r}")
        return tuple(int(point) for point in points)

    @property
    def default_value(self) -> float | None:
        """The value of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else float(self.missing or 0)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the ranges into which the number is cut."""
        return count_labels(tuple(self.cut or ()), self.upper)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        cut = None if self.cut is None else list(self.cut)
        return without_none({"kind": "count", "upper": self.upper, "missing": self.missing, "cut": cut})


def _ranges(column: "Bounded | Count", labels: tuple[str, ...]) -> Ranges:
    """Which range holds a number, said about the number itself."""
    breaks = tuple(_least(column.lower, column.upper, column.step, point) for point in column.cut or ())
    default = column.lower if column.default_value is None else column.default_value
    return Ranges(labels, breaks, bisect_right(breaks, default), column.missing, column)


@cache
def _least(lower: float, upper: float, step: float, point: float) -> float:
    """The least double that is rounded to the grid step of `point`, or to a higher one, by halving: rounding rises."""
    reached = clipped_steps(point, lower, upper, step)
    below, found = float(lower), float(point)
    while below < (middle := below + (found - below) / 2) < found:
        if clipped_steps(middle, lower, upper, step) >= reached:
            found = middle
        else:
            below = middle
    return found
