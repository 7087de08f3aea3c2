"""What a model asks of the rows when it has a loss instead of statistics: convex losses of a margin.

A row costs phi(z · w, y): phi is convex in the margin t = z · w, its slope is at most `steepest` and rises by at most
`curvature` per unit of t. With rows no longer than R that gives, for every conceivable row,

    |gradient| ≤ L = R steepest,      Hessian ≤ M = R² curvature,      |difference of two gradients| ≤ G ≤ 2 L

| loss | phi | steepest | curvature | apart |
|---|---|---|---|---|
| logistic | log(1 + e^t) - y t, y in {0, 1} | 1 | 1/4 | 1 |
| hinge | max(0, 1 - y t) smoothed over a width, y = ±1 | 1 | 1/width, infinite for width 0 | 2 |
| huber | (t - y)²/2, linear beyond ±threshold, y in [-1, 1] | threshold | 1 | 2 |
| binomial | log(1 + e^t) - y t, y in [0, 1] | 1 | 1/4 | 1 |
| poisson | e^t - y t on [-T, T], y in [0, Y] | max(e^T, Y) | e^T | Y |
| table | slopes given at equally spaced margins, linear between them | largest entry | largest rise | of a margin |
| quadratic | half the squared distance of w and z: no margin; G the diameter of all rows, convexity 1 | | 1 | |

`apart` is how far apart the slopes of two targets are at one margin: where only labels are private, G follows from it.
Everything that depends on the loss is written in the file of the loss; a new one also gets its branch in the kernels.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis, level_column
from discreet.queries.features import Features
from discreet.queries.scores.score_branch import ScoreBranch
from discreet.queries.scores.score_terms import ScoreLink
from discreet.queries.scores.score_units import WORTH
from discreet.queries.statistics import Statistics, most_rows_used, used_rows
from discreet.schema import LabelOnly, Schema
from discreet.schema.row_counts import KnownSize, UniformSizes

__all__ = ["CHUNK", "Branch", "Loss", "Margins", "Query", "Target"]


CHUNK = 128  # rows are kept and batched in runs of so many
NO_TABLE = np.zeros((2, 2))


@dataclass(frozen=True)
class Target:
    """How the target is read: a label as one of two numbers, or a number on its axis times a scale."""

    column: str
    labels: tuple[float, float] | None = None
    axis: Axis | None = None


@dataclass(frozen=True)
class Margins:
    """The mean of a target at every margin, and how fast it rises."""

    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]


class Branch(NamedTuple):
    """What compiled kernels know of a loss: its code, and the number and the table that its formula has."""

    code: int
    setting: float = 0.0
    table: Array = NO_TABLE


@dataclass(frozen=True)
class Loss(ABC):
    """The loss of a model on declared columns: constants for every conceivable row, and where coefficients live.

    `ball` is the declared bound on the length of the coefficients (infinite: none); `precision` is that of the normal
    prior of every coefficient, None where it is to be recommended from public facts.
    """

    schema: Schema
    features: Features
    target: Target | None
    precision: float | None
    ball: float = math.inf

    name: ClassVar[str]
    code: ClassVar[int]  # of its branch in the kernels; never given to another loss: compiled kernels are kept on disk
    asks: ClassVar[str] = "loss"
    labels: ClassVar[tuple[str, ...]] = ()
    parameter: ClassVar[str] = "coefficients"  # the name under which draws are released
    convexity: ClassVar[float] = 0.0  # the least curvature that every conceivable row adds
    normal: ClassVar[bool] = False  # whether the Gibbs posterior is a normal law
    plain_target: ClassVar[bool] = False  # whether a numeric target is taken as it is, not as its place in [-1, 1]
    share_target: ClassVar[bool] = False  # whether it is taken as its place in [0, 1]
    by: ClassVar[None] = None
    family: ClassVar[None] = None
    groups: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        unit = self.schema.unit
        if isinstance(unit, LabelOnly) and (self.target is None or self.target.column != unit.column):
            raise QueryError(f"the target must be {unit.column!r}, the only private column, got another")
        if self.target is not None and self.target.labels is not None:  # a number may be cut into two levels
            labels = {self.target.column: level_column(self.schema, self.target.column)}
            object.__setattr__(self, "schema", self.schema.seen_as(labels))

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest slope of phi."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest second derivative of phi; infinite where phi has a corner."""

    @property
    @abstractmethod
    def apart(self) -> float:
        """How far apart the slopes of two targets can be at one margin."""

    @property
    def axis(self) -> Axis:
        """Of a numeric target."""
        axis = None if self.target is None else self.target.axis
        assert axis is not None
        return axis

    @property
    def branch(self) -> Branch:
        """What compiled kernels know of the loss."""
        return Branch(self.code)

    @property
    def means(self) -> Margins | None:
        """The mean of the target at a margin, where the loss is a likelihood."""
        return None

    @property
    def meanings(self) -> dict[str, dict[str, Any]]:
        """What a whole step of noisy totals, moments and scores is worth, by their names."""
        return {name: {"unit": worth} for name, worth in WORTH.items()}

    @property
    def score_link(self) -> ScoreLink | None:
        """The same of the target's place between its bounds, 0 to 1, where noisy scores can ask for it."""
        return None

    @property
    def score_branch(self) -> ScoreBranch | None:
        """What compiled kernels know of that mean."""
        return None

    def predicted(self, margins: Array) -> NDArray[Any]:
        """The target's value within its bounds, or its more probable level, of records with these margins."""
        assert self.target is not None
        if self.target.axis is None:
            return self._levels(margins.mean(axis=0) > 0.0)
        axis = self.axis
        return np.asarray(np.clip(axis.centre + axis.unit * axis.reach * margins.mean(axis=0), axis.lower, axis.upper))

    def check_smooth(self) -> None:
        """Refuse a loss that Langevin steps cannot draw with: they need a curvature that is finite."""
        if not math.isfinite(self.smoothness):
            raise QueryError("GibbsPosterior.sampler must be exact for a loss with a corner, got langevin")

    def check_here(self) -> None:
        """Refuse exact draws of rows that are not here, and say what else there is for a table that stays in Spark."""
        if math.isfinite(self.smoothness):
            raise QueryError("GibbsPosterior.sampler must be langevin for a table that stays in Spark, got exact")
        raise QueryError(
            "GibbsPosterior must have a loss without a corner for a table that stays in Spark, got one with it: smooth "
            "it, as HingeClassifier(width=0.5) does, and ask by langevin"
        )

    def recommended_precision(self, mu: float) -> float:
        """The prior precision that a public guess of the problem makes best for one draw of cost mu.

        Guess: margins deviate by about 2 and information is spread evenly, j = R² c / d a row, c = min(curvature, 1).
        The expected excess loss of a draw, (n j / 2) (d / H + (λ / H)² |w|²) with H = β n j + λ, is noise plus
        shrinkage; β is mu √λ / G at most 1. A larger λ allows a larger β and shrinks more.
        """
        n, d, reach = max(self.largest_total, 1), self.features.size, self.features.reach
        information = reach**2 * min(self.curvature, 1.0) / d
        precision = reach**2 * 2.0 ** np.arange(-20, 21)
        beta = np.minimum(1.0, mu * np.sqrt(precision) / self.gradient)
        hessian = beta * n * information + precision
        excess = d / hessian + (precision / hessian) ** 2 * 4.0 * d / reach**2
        return float(precision[np.argmin(excess)])

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the loss touches."""
        return (*self.features.columns, *((self.target.column,) if self.target is not None else ()))

    @property
    def cells(self) -> int:
        """How many numbers a draw has."""
        return self.features.size

    @property
    def lipschitz(self) -> float:
        """L: the largest gradient of one row's loss."""
        return self.features.reach * self.steepest

    @property
    def smoothness(self) -> float:
        """The largest curvature that one row adds to the potential."""
        return self.features.reach**2 * self.curvature

    @property
    def gradient(self) -> float:
        """G of one unit: k rows of a person, or rows that appear and disappear by a bad cell, move at most k G."""
        label = isinstance(self.schema.unit, LabelOnly)
        return self.schema.unit.max_records * (self.features.reach * self.spread if label else self.row_gradient)

    @property
    def row_gradient(self) -> float:
        """How far apart the gradients of two rows can be."""
        return 2.0 * self.lipschitz

    @property
    def spread(self) -> float:
        """How far apart the slopes of two cells of the target can be; one that is no target has slope 0."""
        assert self.target is not None
        disappears = self.schema.column(self.target.column).missing == "exclude"
        return min(max(self.apart, self.steepest if disappears else 0.0), 2.0 * self.steepest)

    @property
    def total(self) -> int | None:
        """The public number of rows, or None where it is private."""
        return used_rows(self.schema, self.columns)

    @property
    def largest_total(self) -> int:
        """A public upper bound on the number of used rows."""
        return most_rows_used(self.schema)

    @property
    def sizes(self) -> KnownSize | UniformSizes:
        """What is known of the number of used rows."""
        return UniformSizes(self.largest_total) if self.total is None else KnownSize(self.total)

    def _levels(self, upper: NDArray[np.bool_]) -> NDArray[Any]:
        """The second level of the target where `upper`, else the first."""
        assert self.target is not None
        column = self.schema.column(self.target.column)
        return np.asarray(np.asarray(column.levels)[upper.astype(int)])


Query = Statistics | Loss
