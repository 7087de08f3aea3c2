"""A public score of a row: its probability of the second level, averaged over draws of a released posterior, in bins.

    p(row) = 1/D Σ_d 1 / (1 + e^{-margin_d}),    margin_d = w_d0 + Σ_j w_dj x_j + Σ_c w_d,code(c)

All of it is public but the row. `places` turns margins into whole numbers; see Lemma 5 of noisy_statistics.md.
"""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array, Integers
from discreet.queries.losses.base import Loss

__all__ = ["CUTS", "ScoredMargins", "bin_names", "checked_cuts"]

CUTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # more bins tell more and are noisier: empty cells then decide how wide intervals are
MOST_CUTS = 99
FARTHEST, PLACES, WHOLE = 32.0, 2**16, 2**40  # margins that are told apart, in so many places; 1 as a whole number


@dataclass(frozen=True, eq=False)
class ScoredMargins:
    """What scores a row.

    Parameters
    ----------
    query
        Which columns, as a logistic loss reads them: features, their scale and the two levels of the target.
    weights
        Coefficients of every draw, (draws, coefficients), in the order of the features' names; the intercept first.
        They are rounded to 24 bits: what linear algebra leaves in the last ones, which differs between machines, makes
        no other rule of them, and no sum of them and of scaled numbers is too large for a double, whatever a row holds.
    cuts
        Rising probabilities between which the bins lie.
    """

    query: Loss
    weights: Array = field(repr=False)
    cuts: tuple[float, ...] = CUTS

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float32).astype(np.float64))
        if np.shape(self.weights)[1:] != (self.query.features.size,) or not np.all(np.isfinite(self.weights)):
            raise QueryError(
                f"ScoredMargins.weights must be finite, {self.query.features.size} for each draw, got others"
            )
        object.__setattr__(self, "cuts", checked_cuts(self.cuts))

    @cached_property
    def table(self) -> Integers:
        """Probabilities as whole numbers, at evenly spread margins."""
        margins = np.linspace(-FARTHEST, FARTHEST, PLACES + 1)
        return np.asarray(np.round(WHOLE / (1.0 + np.exp(-margins))), dtype=np.int64)

    @cached_property
    def thresholds(self) -> Integers:
        """The cuts as sums over the draws."""
        return np.array([round(cut * WHOLE) * len(self.weights) for cut in self.cuts], dtype=np.int64)

    def places(self, margins: Array) -> NDArray[np.int64]:
        """The place of each margin in the table: one product, one sum and one floor of doubles for each."""
        scaled = (np.clip(margins, -FARTHEST, FARTHEST) + FARTHEST) * (PLACES / (2.0 * FARTHEST))
        return np.asarray(np.floor(scaled + 0.5), dtype=np.int64)

    @property
    def digest(self) -> str:
        """One name for the whole rule: the same exactly if every weight and cut is."""
        parts: list[Any] = [",".join(self.query.features.names), self.query.columns[-1], self.cuts, self.weights.shape]
        held = sha256(repr(parts).encode())
        held.update(np.ascontiguousarray(self.weights, dtype="<f8").tobytes())
        return held.hexdigest()


def bin_names(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """The bins in words, lowest first."""
    ends = (0.0, *cuts, 1.0)
    return tuple(f"{low:g} to {high:g}" for low, high in pairwise(ends))


def checked_cuts(cuts: Any) -> tuple[float, ...]:
    """Rising probabilities."""
    found = tuple(cuts) if isinstance(cuts, tuple | list) else ()
    known = [cut for cut in found if isinstance(cut, int | float) and not isinstance(cut, bool) and 0.0 < cut < 1.0]
    if not (1 <= len(known) == len(found) <= MOST_CUTS) or list(found) != sorted(set(found)):
        raise QueryError(f"score cuts must be 1 to {MOST_CUTS} rising numbers between 0 and 1, got {cuts!r}")
    return tuple(float(cut) for cut in found)
