"""Convex losses of a margin, and what a model asks of the rows when it has a loss instead of statistics.

A row costs phi(z · w, y): phi is convex in the margin t = z · w, its slope is at most `steepest` and rises by at most
`curvature` per unit of t. With rows no longer than R that gives, for every conceivable row,

    |gradient| ≤ L = R steepest,      Hessian ≤ M = R² curvature,      |difference of two gradients| ≤ G ≤ 2 L

| loss | phi | steepest | curvature | spread |
|---|---|---|---|---|
| logistic | log(1 + e^t) - y t, y in {0, 1} | 1 | 1/4 | 1 |
| hinge | max(0, 1 - y t) smoothed over a width, y = ±1 | 1 | 1/width, infinite for width 0 | 2 |
| huber | (t - y)²/2, linear beyond ±threshold, y in [-1, 1] | threshold | 1 | 2 threshold, at most 2 |
| poisson | e^t - y t on [-T, T], y in [0, Y] | max(e^T, Y) | e^T | Y |
| table | slopes given at equally spaced margins, linear between them | largest entry | largest rise | of a margin |
| quadratic | half the squared distance of w and z: no margin; G the diameter of all rows, convexity 1 | | 1 | |

`spread` is how far apart the slopes of two targets are at one margin: where only labels are private, G = R spread.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE
from discreet.errors import QueryError
from discreet.queries.centred_columns import Axis
from discreet.queries.features import ROUNDED_UP, Features
from discreet.queries.statistics import Statistics, used_rows
from discreet.schema import LabelOnly, Schema
from discreet.schema.row_counts import KnownSize, UniformSizes

__all__ = ["CHUNK", "Loss", "LossKind", "Query", "Target"]

CHUNK = 128  # rows are kept and batched in runs of so many

LossKind = Literal["logistic", "hinge", "huber", "poisson", "table", "quadratic"]


@dataclass(frozen=True)
class Target:
    """How the target is read: a label as one of two numbers, or a number on its axis times a scale."""

    column: str
    labels: tuple[float, float] | None = None
    axis: Axis | None = None


@dataclass(frozen=True)
class Loss:
    """The loss of a model on declared columns: constants for every conceivable row, and where coefficients live.

    `setting` is the width, the threshold or the reach of the table; `ball` is the declared bound on the length of the
    coefficients (infinite: none); `precision` is that of the normal prior of every coefficient, None where it is to be
    recommended from public facts.
    """

    schema: Schema
    kind: LossKind
    features: Features
    target: Target | None
    precision: float | None
    setting: float = 0.0
    table: tuple[tuple[float, ...], ...] = ()
    ball: float = math.inf

    asks: ClassVar[str] = "loss"
    labels: ClassVar[tuple[str, ...]] = ()
    by: ClassVar[None] = None
    family: ClassVar[None] = None
    statistics: ClassVar[tuple[()]] = ()
    groups: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.kind == "quadratic" and self.total is None:
            raise QueryError("QuadraticMean must have a public number of rows: records, and no column that excludes")
        unit = self.schema.unit
        if isinstance(unit, LabelOnly) and (self.target is None or self.target.column != unit.column):
            raise QueryError(f"the target must be {unit.column!r}, the only private column, got another")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the loss touches."""
        return (*self.features.columns, *((self.target.column,) if self.target is not None else ()))

    @property
    def parameter(self) -> str:
        """The name under which draws are released."""
        return "mean" if self.kind == "quadratic" else "coefficients"

    @property
    def cells(self) -> int:
        """How many numbers a draw has."""
        return self.features.size

    @property
    def steepest(self) -> float:
        """The largest slope of phi."""
        if self.kind == "huber":
            return self.setting
        if self.kind == "poisson":
            assert self.target is not None
            assert self.target.axis is not None
            return max(math.exp(self.ball * self.features.reach), self.target.axis.ends[1]) * ROUNDED_UP
        return float(np.abs(self.table).max()) if self.kind == "table" else 1.0

    @property
    def curvature(self) -> float:
        """The largest second derivative of phi; infinite where phi has a corner."""
        if self.kind == "logistic":
            return 0.25
        if self.kind == "hinge":
            return 1.0 / self.setting if self.setting > 0 else math.inf
        if self.kind == "poisson":
            return math.exp(self.ball * self.features.reach) * ROUNDED_UP
        if self.kind == "table":
            step = 2.0 * self.setting / (len(self.table[0]) - 1)
            return float(np.diff(self.table, axis=1).max()) / step * ROUNDED_UP
        return 1.0

    @property
    def lipschitz(self) -> float:
        """L: the largest gradient of one row's loss."""
        return self.features.reach * self.steepest

    @property
    def smoothness(self) -> float:
        """The largest curvature that one row adds to the potential."""
        return self.curvature if self.kind == "quadratic" else self.features.reach**2 * self.curvature

    @property
    def convexity(self) -> float:
        """The least curvature that every conceivable row adds: none, but for the quadratic loss."""
        return 1.0 if self.kind == "quadratic" else 0.0

    @property
    def gradient(self) -> float:
        """G of one unit: k rows of a person, or rows that appear and disappear by a bad cell, move at most k G."""
        return self.schema.unit.max_records * self._row_gradient

    @property
    def spread(self) -> float:
        """How far apart the slopes of two targets can be at one margin; a target that is no target has slope 0."""
        assert self.target is not None
        widest = 2.0
        if self.kind == "logistic":
            widest = 1.0
        elif self.kind == "poisson":
            assert self.target.axis is not None
            low, high = self.target.axis.ends
            widest = (high - low) * ROUNDED_UP
        elif self.kind == "table":  # linear between targets and between margins: widest where a margin is listed
            apart = max(max(slopes) - min(slopes) for slopes in zip(*self.table, strict=True))
            widest = apart + self.steepest * (ROUNDED_UP - 1.0)  # slopes are rounded at their own size
        disappears = self.schema.column(self.target.column).missing == "exclude"
        return min(max(widest, self.steepest if disappears else 0.0), 2.0 * self.steepest)

    @property
    def _row_gradient(self) -> float:
        if isinstance(self.schema.unit, LabelOnly):
            return self.features.reach * self.spread
        if self.kind == "quadratic":
            return self.features.diameter
        if self.kind == "logistic" and self.features.size == 1 and not self.features.intercept:
            return LOGISTIC_OF_ONE_FEATURE * self.features.radius
        return 2.0 * self.lipschitz

    @property
    def excludes(self) -> bool:
        """Whether some bad cell removes its row."""
        return any(self.schema.column(name).missing == "exclude" for name in self.columns)

    @property
    def total(self) -> int | None:
        """The public number of rows, or None where it is private."""
        return used_rows(self.schema, self.columns)

    @property
    def largest_total(self) -> int:
        """A public upper bound on the number of used rows."""
        if self.schema.relation != "replace-one":
            raise QueryError(f"a convex loss must be asked under replace-one, got {self.schema.relation}")
        if self.schema.n is None:
            raise QueryError(
                "Schema.n must be declared (or counted by dc.open) before a model can be queried, got None"
            )
        return self.schema.n * self.schema.unit.max_records

    @property
    def sizes(self) -> KnownSize | UniformSizes:
        """What is known of the number of used rows."""
        return UniformSizes(self.largest_total) if self.total is None else KnownSize(self.total)


Query = Statistics | Loss
