"""Columns as a query sees them: numbers cut into ranges, and cells by what became of them. Public, like declarations.

A view takes the place of its column in the schema of one query, and is read from the same cells. Its levels are the
axis of a count table; nobody declares it, and no recipe holds it.

`Ranges` says which range a number is in by comparing the cell, as a double, with `breaks`: the code of a cell is how
many of them are not above it. No cell is rounded for it, so engines that compare doubles agree.

* A number that is cut: a break is the least double whose clipped and rounded grid step has reached that of the cut, so
  that a cell is in the range of the value as which it is summed.
* A number whose bad cells are counted: breaks are the bounds, and the doubles next above them.

`Matches` says whether a cell is a declared level, one that `other` takes, or bad.
"""

from dataclasses import dataclass
from math import inf, nextafter
from typing import TYPE_CHECKING, ClassVar, Literal

from discreet.schema.cell import NO_LEVEL, Truths

if TYPE_CHECKING:
    from discreet.schema.columns import Binary, Categorical
    from discreet.schema.number_columns import Bounded, Count

__all__ = ["BAD", "Matches", "Ranges", "bound_ranges"]

BAD = "bad"  # the class of cells that are no number or no level


@dataclass(frozen=True)
class Ranges:
    """A number as levels; a bad cell has the code `bad`, unless `missing` excludes its row."""

    levels: tuple[str, ...]
    breaks: tuple[float, ...]
    bad: int
    missing: float | Literal["exclude"] | None = None
    number: "Bounded | Count | None" = None  # the column that is cut
    holds: ClassVar[Literal["ranges"]] = "ranges"
    excluded: ClassVar[int] = NO_LEVEL
    compared: ClassVar[tuple[str, ...]] = ()
    truths: ClassVar[Truths] = ("0", "1")

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else self.bad

    def other_cells(self) -> str:
        """What cells count as that are no number, in words."""
        told = "excludes its row" if self.missing == "exclude" else f"counts as {self.levels[self.bad]!r}"
        return f"any cell that is no number {told}"

    @property
    def as_levels(self) -> "Ranges":
        """It is one already."""
        return self

    @property
    def told_apart(self) -> "Ranges":
        """Its levels are what is told apart."""
        return self


@dataclass(frozen=True)
class Matches:
    """The cells of a column of levels: declared, taken by `other` where there is one, bad. A row is in one class."""

    column: "Binary | Categorical"
    holds: ClassVar[Literal["matches"]] = "matches"
    excluded: ClassVar[int] = NO_LEVEL
    missing: ClassVar[None] = None
    number: ClassVar[None] = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The classes; a cell that is no level is bad where nothing takes it."""
        return ("declared", BAD) if self.column.other_code is None else ("declared", "other", BAD)

    @property
    def compared(self) -> tuple[str, ...]:
        """The texts of the declared levels."""
        return self.column.compared

    @property
    def truths(self) -> Truths:
        """The texts of False and True."""
        return self.column.truths

    def other_cells(self) -> str:
        """What cells count as that are no declared level, in words."""
        if self.column.other_code is not None:
            return f"unlisted levels count as {self.levels[1]!r}, missing cells count as {BAD!r}"
        return f"any cell that is no declared level counts as {BAD!r}"

    @property
    def as_levels(self) -> "Matches":
        """It is one already."""
        return self

    @property
    def told_apart(self) -> "Matches":
        """Its levels are what is told apart."""
        return self


def bound_ranges(lower: float, upper: float) -> Ranges:
    """What becomes of a number: clipped, on a bound as it is, between them, or bad."""
    levels = ("below the bounds", "on the lower bound", "inside", "on the upper bound", "above the bounds", BAD)
    breaks = (lower, nextafter(lower, inf), upper, nextafter(upper, inf))
    return Ranges(levels, breaks, levels.index(BAD))
