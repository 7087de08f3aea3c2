"""Second moments of a simulated table as its release would hold them, and how much of each is noise.

What a model of moments reads are noisy sums. How wide its answers are depends on what noise leaves of the variance of
each column, of what others do not explain of it, and of correlations: by these, tables that were read tell of tables
that were not. Where noise is more than a moment, differences are measured in it: an asinh of a moment over its noise is
its logarithm where it is large, and ends where there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics

__all__ = ["NoisyMoments"]

INSIDE = 0.999  # of a range


@dataclass(frozen=True)
class NoisyMoments:
    """Where the noise on means, squares and products of some columns stands among all noises, and how large it is.

    `places` and `deviations` are by the numbers of the axes of a sum; deviations are those of a mean over the largest
    number of rows, in half-ranges. Sums within levels have none: noise on them is not part of these moments.
    """

    axes: tuple[Axis, ...]
    places: Mapping[tuple[int, ...], int]
    deviations: Mapping[tuple[int, ...], float]

    @classmethod
    def of(cls, query: Statistics, laws: Mapping[str, NoiseLaw]) -> "NoisyMoments | None":
        """Those of a query that asks for the square of every number it sums; None of any other."""
        axes = tuple(dict.fromkeys(axis for each in query.statistics for axis in each.axes))
        places: dict[tuple[int, ...], int] = {}
        deviations: dict[tuple[int, ...], float] = {}
        at = 0
        for each in query.statistics:
            if each.axes and not each.categories and each.name in laws:
                names = tuple(axes.index(axis) for axis in each.axes)
                places[names] = at
                deviations[names] = float(laws[each.name].variance) ** 0.5 / each.unit / max(query.largest_total, 1)
            at += int(np.prod(each.shape)) if each.name in laws else 0
        squares = all((j, j) in places for j in range(len(axes)))
        return cls(axes, places, deviations) if axes and squares else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are summed."""
        return tuple(axis.column for axis in self.axes)

    def features(self, columns: Sequence[Mapping[str, Array]], added: Array, shares: Array) -> list[Array]:
        """One number a table each; `added` are the noises of every table, in deviations, `shares` of the most rows."""
        means, moments = (np.array(found) for found in zip(*map(self._moments, columns), strict=True))
        for names, place in self.places.items():
            noise = added[:, place] * self.deviations[names] / shares
            if len(names) == 1:
                means[:, names[0]] += noise
            else:
                j, k = names
                moments[:, j, k] += noise
                moments[:, k, j] = moments[:, j, k]
        covariances = moments - means[:, :, np.newaxis] * means[:, np.newaxis, :]
        numbers = range(len(self.axes))
        floors = np.array([max(self.deviations[j, j], 1e-9) for j in numbers])
        variances = np.maximum(np.diagonal(covariances, axis1=1, axis2=2), floors)
        found = [np.arctanh(INSIDE * np.clip(means[:, j], -1.0, 1.0)) for j in numbers]
        found += [np.arcsinh(covariances[:, j, j] / floors[j]) for j in numbers]
        for j, k in combinations(numbers, 2):
            together = covariances[:, j, k] / np.sqrt(variances[:, j] * variances[:, k])
            found.append(np.arctanh(INSIDE * np.clip(together, -1.0, 1.0)))
        return found + [np.arcsinh(_unexplained(covariances, j, floors.max()) / floors[j]) for j in numbers[1:]]

    def _moments(self, columns: Mapping[str, Array]) -> tuple[Array, Array]:
        """Of one table, in half-ranges, before noise; zeros of an empty one."""
        steps = [axis.centred(columns[axis.column].astype(np.int64)) / axis.reach for axis in self.axes]
        values = np.array(steps, dtype=float)
        rows = max(values.shape[1], 1)
        return values.sum(axis=1) / rows, values @ values.T / rows


def _unexplained(covariances: Array, j: int, floor: float) -> Array:
    """The variance of a number beyond what those before it explain, which is no more than variances above the noise."""
    values, vectors = np.linalg.eigh(covariances[:, :j, :j])
    along = np.einsum("tki,tk->ti", vectors, covariances[:, :j, j])
    explained = np.sum(along**2 / np.maximum(values, floor), axis=1)
    return np.asarray(covariances[:, j, j] - explained)
