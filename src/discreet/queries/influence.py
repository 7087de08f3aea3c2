"""The second stage of a robust release: bounded sums whose functions are chosen by what the first stage released.

Every reported variance and coefficient has an influence psi of a row: how the row moves it, to first order. The width
of a posterior assumes E psi² = that of normal errors with one variance, `reference`; the second stage releases

    Σ over units of min(psi², B reference) / (B reference),     psi summed over the rows of a person

so that a reader learns how much more (or less) the table itself varies. psi is a product of two linear forms of a row,
less an offset: slope times residual for a coefficient, square less its mean for a variance. In integers:

    t² with t = min(round(|Σ (left · right - offset)| / divisor), STEPS)          from 0 to STEPS²

The forms are whole numbers, computed once from released numbers, so that every engine adds up the same bits. How far a
unit moves the sums does not depend on them: mechanisms/noisy_statistics/proof.md, Theorem 3.
"""

from dataclasses import dataclass

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import Axis
from discreet.schema import Schema

__all__ = ["LARGEST_FORM", "STEPS", "Form", "Influence", "Influences"]

STEPS = 4096  # of the root of a number in [0, 1]
LARGEST_FORM = 2**29


@dataclass(frozen=True)
class Form:
    """A whole number of every row: constant + Σ numbers · centred cells + the number of its level in each category."""

    constant: int
    numbers: tuple[int, ...]
    levels: tuple[tuple[int, ...], ...]

    def largest(self, axes: tuple[Axis, ...]) -> int:
        """No conceivable row has a larger one."""
        linear = sum(abs(number) * axis.reach for number, axis in zip(self.numbers, axes, strict=True))
        return abs(self.constant) + linear + sum(max(map(abs, codes)) for codes in self.levels)


@dataclass(frozen=True)
class Influence:
    """One number of every unit; `bound` is how many times the reference psi² may be before it is cut."""

    left: Form
    right: Form
    offset: int
    divisor: int
    bound: float


@dataclass(frozen=True)
class Influences:
    """What is asked of the rows in the second stage: public, and the same question whatever the rows are.

    `columns` are those of the first stage in its order, so that the same rows of a person are used; `functions` are
    the influences in every group, or in the one that everybody is in.
    """

    schema: Schema
    columns: tuple[str, ...]
    axes: tuple[Axis, ...]
    categories: tuple[str, ...]
    functions: tuple[tuple[Influence, ...], ...]
    by: str | None = None

    def __post_init__(self) -> None:
        for function in (function for group in self.functions for function in group):
            left, right = function.left.largest(self.axes), function.right.largest(self.axes)
            if max(left, right) > LARGEST_FORM or abs(function.offset) > LARGEST_FORM**2 or function.divisor < 1:
                raise QueryError("Influences.functions must fit 64 bits on every row, got larger ones")

    @property
    def shape(self) -> tuple[int, ...]:
        """One sum for each function, for each group where there are some."""
        size = (len(self.functions[0]),)
        return size if self.by is None else (len(self.functions), *size)
