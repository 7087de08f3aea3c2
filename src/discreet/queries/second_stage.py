"""What a robust model asks after its first answer: one bounded number of every unit for each reported number.

With m and S the first estimate of means and covariances, in half-ranges, and for a regression e = y - its prediction,
s² the variance of e, and Q the inverse of the features' covariances:

| reported | influence psi | reference |
|---|---|---|
| variance of a column | (x - m)² - S | 2 S² |
| correlation r of two columns | z z' - r (z² + z'²) / 2, z = (x - m) / √S | (1 - r²)² |
| variance of the error | e² - s² | 2 s⁴ |
| slope or effect j | e · row j of Q · (x - m) | s² Q_jj |
| intercept, at x = 0 | e · (1 - a' Q (x - m)), a the mean less that x | s² (1 + a' Q a) |

That of a correlation is a product of two forms: (z cos a - z' sin a) (z' cos a - z sin a) with sin 2a = r.

The cap B lets a noisy sum still tell kappa, E psi² over its reference: as large as the noise allows, half of the
rows over its deviation (which then is half of the reference), and at least 30.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import asin, cos, sin, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.first_estimate import FirstEstimate, Spread, first_estimate, floored
from discreet.queries.influence import LARGEST_FORM, STEPS, Form, Influence, Influences

if TYPE_CHECKING:
    from discreet.queries.statistics import Statistics

__all__ = ["SecondStage", "followed_by_influences"]

LEAST_BOUND, PART = 30.0, 0.5
LARGEST_CORRELATION = 1.0 - 1e-6  # of two columns
FARTHEST = 1e12  # of an intercept from the data, in half-ranges
LEAST_NOISE = 1e-30  # of noise in steps: that of an enormous budget is 0 in doubles


@dataclass(frozen=True)
class SecondStage:
    """The second stage of a query about moments: what is reported, and the columns it is reported of.

    `reported` are the names of the numbers that the model reports: the coefficients of the last number on all other
    columns, then "variance"; or, without a regression, one for the variance of each column, then one for the
    correlation of each pair of columns.
    """

    name: ClassVar[str] = "influence"
    share: ClassVar[Fraction] = Fraction(1, 20)  # of the budget
    unit: ClassVar[int] = STEPS**2

    reported: tuple[str, ...]
    axes: tuple[Axis, ...]
    categories: tuple[str, ...]
    is_regression: bool

    def shape(self, first: "Statistics") -> tuple[int, ...]:
        """One sum for each reported number, for each group where there are some."""
        size = (len(self.reported),)
        return size if first.by is None else (len(first.groups), *size)

    def sensitivity(self, first: "Statistics") -> Fraction:
        """How far one unit moves the sums, in L1 and as well in squared L2: a number moves by 1 at most."""
        records, groups = first.schema.unit.max_records, len(first.groups) if first.by is not None else 1
        touched = min(records if first.schema.relation == "add-remove" else 2 * records, groups)
        return Fraction(len(self.reported) * touched)

    @property
    def meaning(self) -> dict[str, Any]:
        """What a released whole number means: so many parts of a number in [0, 1], for each reported number."""
        return {"unit": 1.0 / self.unit, "of": list(self.reported)}

    def query(self, first: "Statistics", value: Mapping[str, Any], laws: Mapping[str, Spread]) -> Influences:
        """What is asked of the rows, given what the first stage released: a total function of public numbers."""
        groups = [value] if first.by is None else [_group(first, value, g) for g, _ in enumerate(first.groups)]
        functions = tuple(self.functions(first, own, laws) for own in groups)
        if {len(own) for own in functions} != {len(self.reported)}:  # `sensitivity` counts what is reported
            raise QueryError("SecondStage.reported must name every function that is asked, got others")
        return Influences(first.schema, first.columns, self.axes, self.categories, functions, first.by)

    def functions(
        self, first: "Statistics", value: Mapping[str, Any], laws: Mapping[str, Spread]
    ) -> tuple[Influence, ...]:
        """Those of the table, or of one group, given what was released of it."""
        numbers = tuple(axis.column for axis in self.axes)
        estimate = first_estimate(first, value, laws, numbers, self.categories)
        deviation = max(float(laws[self.name].variance), LEAST_NOISE) ** 0.5 / self.unit
        levels = tuple(len(first.schema.column(name).levels) for name in self.categories)
        making = _Making(self.axes, levels, PART * estimate.n / deviation, first.schema.unit.max_records)
        return tuple(_of_regression(making, estimate) if self.is_regression else _of_columns(making, estimate))


def followed_by_influences(
    first: "Statistics",
    reported: Sequence[str],
    axes: tuple[Axis, ...],
    categories: tuple[str, ...] = (),
    *,
    is_regression: bool = False,
) -> "Statistics":
    """The query with a second stage."""
    taken = {*first.names} & {SecondStage.name} or {name for name in reported if [*reported].count(name) > 1}
    if taken:
        raise QueryError(f"the columns of a robust model must have other names, got {min(taken)!r}: rename it")
    return replace(first, second=SecondStage(tuple(reported), axes, categories, is_regression))


@dataclass(frozen=True)
class _Making:
    """How real forms become whole ones."""

    axes: tuple[Axis, ...]
    levels: tuple[int, ...]
    affordable: float  # bound, for the noise
    records: int

    def form(self, constant: float, slopes: Array) -> tuple[Form, float]:
        """A form as large as is allowed on the worst row, and its scale; parts are cut towards 0, never above it."""
        per_level, at = [], len(self.axes)
        for levels in self.levels:
            per_level.append([0.0, *slopes[at : at + levels - 1].tolist()])
            at += levels - 1
        largest = abs(constant) + float(np.abs(slopes[: len(self.axes)]).sum())
        largest += sum(max(map(abs, level)) for level in per_level)
        scale = LARGEST_FORM * (1.0 - 1e-9) / max(largest, 1e-100)
        numbers = tuple(int(scale * slope / axis.reach) for slope, axis in zip(slopes, self.axes, strict=False))
        levels_of = tuple(tuple(int(scale * effect) for effect in own) for own in per_level)
        return Form(int(scale * constant), numbers, levels_of), scale

    def influence(self, left: Form, right: Form, offset: int, reference: float) -> Influence:
        """The number whose psi, in these whole numbers, has this second moment where errors are normal."""
        largest = self.records * (left.largest(self.axes) * right.largest(self.axes) + offset)
        deviation = sqrt(max(reference, 1.0))
        bound = min(max(self.affordable, LEAST_BOUND), max((largest / deviation) ** 2, 1.0))
        divisor = max(1, round(sqrt(bound) * deviation / STEPS))
        return Influence(left, right, offset, divisor, (divisor * STEPS / deviation) ** 2)

    def variance(self, constant: float, slopes: Array, variance: float) -> Influence:
        """Of the variance of a linear form."""
        form, scale = self.form(constant, slopes)
        offset = min(round(variance * scale**2), LARGEST_FORM**2)
        return self.influence(form, form, offset, 2.0 * float(offset) ** 2)


def _of_columns(making: _Making, estimate: FirstEstimate) -> list[Influence]:
    """Of the variances, then of the correlations."""
    variances, unit = np.diag(estimate.covariance), np.eye(len(estimate.means))
    columns = zip(estimate.means.tolist(), unit, variances.tolist(), strict=True)
    found = [making.variance(-mean, own, variance) for mean, own, variance in columns]
    scaled = unit / np.sqrt(variances)[:, np.newaxis]
    for i, j in combinations(range(len(making.axes)), 2):
        r = float(np.clip(scaled[i] @ estimate.covariance @ scaled[j], -LARGEST_CORRELATION, LARGEST_CORRELATION))
        angle = 0.5 * asin(r)
        slopes = cos(angle) * scaled[i] - sin(angle) * scaled[j], cos(angle) * scaled[j] - sin(angle) * scaled[i]
        (left, one), (right, other) = (making.form(-float(own @ estimate.means), own) for own in slopes)
        found.append(making.influence(left, right, 0, ((1.0 - r * r) * one * other) ** 2))
    return found


def _of_regression(making: _Making, estimate: FirstEstimate) -> list[Influence]:
    y, size = len(making.axes) - 1, len(estimate.means)
    features = [j for j in range(size) if j != y]
    means, covariance = estimate.means[features], estimate.covariance
    block = floored(covariance[np.ix_(features, features)], estimate.floor)
    inverse = np.linalg.inv(block)
    slopes = inverse @ covariance[features, y]
    variance = max(float(covariance[y, y] - slopes @ covariance[features, y]), estimate.floor)
    whole = np.zeros(size)
    whole[features], whole[y] = -slopes, 1.0
    constant = float(slopes @ means - estimate.means[y])
    residual, residual_scale = making.form(constant, whole)
    away = means.copy()  # of the means from x = 0
    for j, axis in enumerate(making.axes[:-1]):
        away[j] = min(max(means[j] + axis.centre / (axis.unit * axis.reach), -FARTHEST), FARTHEST)
    found = []
    weights = [(1.0, -inverse @ away), *((0.0, row) for row in inverse)]
    for at_mean, row in weights:
        spread = np.zeros(size)
        spread[features] = row
        left, scale = making.form(at_mean - float(row @ means), spread)
        moment = at_mean**2 + float(row @ block @ row)
        found.append(making.influence(left, residual, 0, moment * variance * (scale * residual_scale) ** 2))
    return [*found, making.variance(constant, whole, variance)]


def _group(first: "Statistics", value: Mapping[str, Any], place: int) -> dict[str, Any]:
    return {name: np.asarray(value[name])[place] for name in first.names}
