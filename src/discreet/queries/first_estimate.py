"""Means and covariances from released moments, for choosing what a second stage asks: public, and never failing.

Whatever integers the noise gave, there is an estimate: means within the declared ranges, shares within 0..1, and a
covariance matrix that is possible there, with eigenvalues no smaller than the noise could tell from 0. It decides how
well the second stage is asked, never how private it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.numerics.arrays import Array

if TYPE_CHECKING:
    from discreet.queries.statistics import Statistics

__all__ = ["FirstEstimate", "Spread", "first_estimate", "floored"]

LARGEST_RELEASED = 2**300  # a release file may hold any integer; doubles end at 2^1024
LEAST_VARIANCE, LARGEST_FLOOR = 1e-8, 1e-2  # in squares of half a range; axes of 12 bits tell no less from 0


class Spread(Protocol):
    """What is asked of a law of noise."""

    @property
    def variance(self) -> float:
        """Its second moment."""


@dataclass(frozen=True, eq=False)
class FirstEstimate:
    """Of the numeric columns in half-ranges about their middle, and of the indicators of all levels but the first."""

    n: float
    means: Array
    covariance: Array
    floor: float


def first_estimate(
    query: "Statistics",
    value: Mapping[str, Any],
    laws: Mapping[str, Spread],
    numbers: tuple[str, ...],
    categories: tuple[str, ...],
) -> FirstEstimate:
    """The estimate of one group, from the released numbers of that group."""
    moments = _moments(query, value, numbers, categories)
    n = min(max(moments[0, 0], 1.0), float(max(query.largest_total, 1)))
    deviations = [laws[s.name].variance ** 0.5 / s.unit for s in query.statistics]
    floor = min(max(max(deviations) / n, LEAST_VARIANCE), LARGEST_FLOOR)
    scaled = np.clip(moments / n, -1.0, 1.0)
    means = scaled[0, 1:]
    for dummies in _dummies(query, numbers, categories):
        shares = np.maximum(means[dummies], 0.0)
        means[dummies] = shares / max(1.0, float(shares.sum()))
        scaled[1:, 1:][dummies, dummies] = np.diag(means[dummies])
    covariance = floored(scaled[1:, 1:] - np.outer(means, means), floor)
    largest = np.maximum(1.0 - means**2, floor)
    largest[len(numbers) :] = np.maximum(means[len(numbers) :] * (1.0 - means[len(numbers) :]), floor)
    shrink = np.minimum(np.sqrt(largest / np.diag(covariance)), 1.0)
    return FirstEstimate(n, means, floored(covariance * np.outer(shrink, shrink), floor), floor)


def floored(matrix: Array, floor: float) -> Array:
    """The nearest symmetric matrix whose eigenvalues are at least the floor."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def _moments(
    query: "Statistics", value: Mapping[str, Any], numbers: tuple[str, ...], categories: tuple[str, ...]
) -> Array:
    """The sums of products of (1, numbers in half-ranges, indicators); of one category's levels those of all rows."""
    starts = [1 + len(numbers) + dummies.start for dummies in _dummies(query, (), categories)]
    width = 1 + len(numbers) + sum(len(query.schema.column(name).levels) - 1 for name in categories)
    moments = np.zeros((width, width))
    for statistic in query.statistics:
        within = [name for name in statistic.categories if name != query.by]
        numeric = [1 + numbers.index(axis.column) for axis in statistic.axes]
        for cell, released in np.ndenumerate(np.asarray(value[statistic.name], dtype=object)):
            amount = _double(released) / statistic.unit
            levels = [starts[categories.index(name)] + code - 1 for name, code in zip(within, cell, strict=True)]
            if len(within) == 1 and within[0] == categories[0]:
                moments[0, sum(numeric)] += amount  # at most one number is summed within levels
            if 0 in cell:
                continue  # a first level has no indicator
            row, column = [0, 0, *numeric, *levels][-2:]
            moments[row, column] = moments[column, row] = amount
    moments[:, 0] = moments[0]
    if query.total is not None:
        moments[0, 0] = query.total
    return moments


def _dummies(query: "Statistics", numbers: tuple[str, ...], categories: tuple[str, ...]) -> list[slice]:
    """Where the indicators of each category stand among all columns."""
    sizes = [len(query.schema.column(name).levels) - 1 for name in categories]
    ends = [len(numbers) + end for end in accumulate(sizes)]
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def _double(released: Any) -> float:
    """A whole number of any size as a double."""
    return float(min(max(int(released), -LARGEST_RELEASED), LARGEST_RELEASED))
