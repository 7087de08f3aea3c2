"""A numeric column as whole numbers that are symmetric about zero: what sums and products of columns are made of.

A cell is clipped to its bounds and rounded to its grid (`steps`); neighbouring steps may be merged, 2^shift at a time,
to keep products small; and the index j = 0..reach that results is centred: v = 2j - reach, a whole number from -reach
to reach. In units of `reach` every column lies in [-1, 1], whatever its bounds were. All of it is integer arithmetic.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.schema import Schema
from discreet.schema.cell import clipped_steps
from discreet.schema.columns import Bounded, Count

__all__ = ["PRODUCT_BITS", "Axis", "above"]

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
            raise QueryError(f"a column that is summed must be bounded or count, got {column!r}, a {kind}")
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
