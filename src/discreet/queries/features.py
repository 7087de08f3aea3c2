"""Columns as one row of features: numbers scaled to a public interval, categories by their declared levels.

    z = (1, s x_1 … s x_p, s one-hot of each category),   s = min(1, radius / length of the features)

The 1 is the intercept, where there is one; it is not shrunk. All of it follows from declarations, so the length of a
row is bounded by public numbers: `reach` = sqrt(radius² + 1) with an intercept, the radius without one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import Axis, levels_of
from discreet.schema import Binary, Categorical, Schema

__all__ = ["MOST_COEFFICIENTS", "Features"]

MOST_COEFFICIENTS = 2**16 - 1  # positions of levels are kept in 16 bits

ROUNDED_UP = 1 + 1e-12  # above the rounding error of a length in doubles


@dataclass(frozen=True)
class Features:
    """Which column is which coefficient: intercept, numeric columns, then the levels of each category."""

    numbers: tuple[Axis, ...]
    categories: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    interval: tuple[float, float] = (-1.0, 1.0)
    intercept: bool = True
    declared_radius: float | None = None

    def __post_init__(self) -> None:
        if self.size > MOST_COEFFICIENTS:
            raise QueryError(f"features must have at most {MOST_COEFFICIENTS} coefficients, got {self.size}")

    @classmethod
    def of(cls, schema: Schema, columns: tuple[str, ...], **options: Any) -> "Features":
        """The features that declared columns make, numbers first."""
        categories = tuple(name for name in columns if isinstance(schema.column(name), Binary | Categorical))
        numbers = tuple(Axis.of(schema, name) for name in columns if name not in categories)
        return cls(numbers, categories, tuple(levels_of(schema, name) for name in categories), **options)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, numbers first."""
        return (*(axis.column for axis in self.numbers), *self.categories)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        levels = (
            f"{name}={level}" for name, levels in zip(self.categories, self.levels, strict=True) for level in levels
        )
        return (*(("intercept",) if self.intercept else ()), *(axis.column for axis in self.numbers), *levels)

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return int(self.intercept) + len(self.numbers) + sum(map(len, self.levels))

    @property
    def offsets(self) -> tuple[int, ...]:
        """The coefficient of the first level of each category."""
        starts = [int(self.intercept) + len(self.numbers)]
        for levels in self.levels:
            starts.append(starts[-1] + len(levels))
        return tuple(starts[:-1])

    @property
    def widest(self) -> float:
        """The largest length that the declarations allow, rounded up: a category has length 1."""
        largest = max(abs(end) for end in self.interval)
        return math.hypot(largest * math.sqrt(len(self.numbers)), math.sqrt(len(self.categories))) * ROUNDED_UP

    @property
    def shrinks(self) -> bool:
        """Whether rows may have to be shrunk."""
        return self.declared_radius is not None and self.declared_radius < self.widest

    @property
    def radius(self) -> float:
        """A bound on the length of the features of every row."""
        return self.declared_radius if self.shrinks and self.declared_radius is not None else self.widest

    @property
    def diameter(self) -> float:
        """A bound on how far apart the features of two rows are, rounded up: shrinking brings nothing further apart.

        Two categories differ by two levels. Numbers far from 0 are rounded at their own size.
        """
        low, high = self.interval
        apart = math.hypot((high - low) * math.sqrt(len(self.numbers)), math.sqrt(2.0 * len(self.categories)))
        return min(2.0 * self.radius, apart * ROUNDED_UP + self.widest * 2.0**-48)

    @property
    def reach(self) -> float:
        """A bound on the length of a whole row, rounded up."""
        return (math.hypot(self.radius, 1.0) if self.intercept else self.radius) * ROUNDED_UP

    def from_averages(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same margins by levels told apart from the plain average of their category, which the intercept takes.

        Of rows that are shrunk no level is redundant, and nothing changes.
        """
        found = np.array(coefficients, dtype=float)
        if self.shrinks or not self.intercept:
            return found
        for first, levels in zip(self.offsets, self.levels, strict=True):
            block = found[..., first : first + len(levels)]
            average = block.mean(axis=-1, keepdims=True)
            found[..., :1] += average
            block -= average
        return found

    def scaled(self, axis: Axis, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """One number of every row on the public interval, from its grid steps."""
        low, high = self.interval
        return np.asarray(0.5 * (low + high) + 0.5 * (high - low) * (axis.centred(steps) / axis.reach))

    def shrink(self, squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """The factor s of every row, from the squared length of its features; no row, not even of zeros, overflows."""
        return np.asarray(self.radius / np.maximum(np.sqrt(squared), self.radius))
