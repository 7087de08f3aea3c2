"""What models with a convex loss share: they have no statistics, so there is nothing to condition on or to update with.

Such a model is asked by `GibbsPosterior`. What it asks of the rows is their loss; released are coefficients, drawn at a
temperature.

Regressions and classifiers whose loss is one of a kind: logistic, hinge, Huber's, Poisson.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.models.base import Model, Simulated, Value, column_names, number
from discreet.models.regressions.score_model import ScoreModel
from discreet.numerics.arrays import Array
from discreet.posterior import CoefficientDraws
from discreet.queries.counts_and_sums import Axis
from discreet.queries.features import Features
from discreet.queries.losses import Hinge, Huber, Logistic, Loss, Poisson, Target
from discreet.schema import Bounded, Count, Schema

__all__ = [
    "HingeClassifier",
    "HuberRegression",
    "LogisticRegression",
    "LossModel",
    "MarginModel",
    "PoissonRegression",
    "checked_interval",
    "checked_size",
]

SMALLEST, LARGEST = 1e-12, 1e12  # of declared lengths and precisions: their squares and products stay within doubles

LARGEST_MARGIN = 20.0  # of counts


class LossModel(Model):
    """A model that `GibbsPosterior` asks: what leaves are draws, at a temperature."""

    @abstractmethod
    def query(self, schema: Schema) -> Loss:
        """The loss, with its constants for every conceivable row."""

    def given_coefficients(
        self, query: Loss, value: Value, beta: float, precision: float, stationary: bool, note: str
    ) -> CoefficientDraws:
        """Draws that were made at this inverse temperature and prior precision; `note` says how, in words."""
        return CoefficientDraws(value, query, beta, precision, stationary, note)

    def updated(self, public: Any) -> NoReturn:
        """Refused: a convex loss has no conjugate prior that public records could strengthen."""
        raise QueryError(f"{type(self).__name__}.updated must not be asked: a convex loss has no conjugate prior")


@dataclass(frozen=True)
class MarginModel(ScoreModel, LossModel):
    """Coefficients of a linear predictor under a normal prior, N(0, 1/precision) each, the intercept included.

    Parameters
    ----------
    target, features
        Declared columns. Bounded and count features are scaled to `interval`; categories have one coefficient a level.
    intercept
        Whether there is one.
    interval
        The public interval on which numeric features lie.
    radius
        Rows of features longer than this are shrunk to it. Without one, the declarations bound their length.
    precision
        Of the prior. Without one, the mechanism takes what `plan` recommends, from public facts.
    ball
        The largest length of the coefficients, part of the model; without one they are unbounded.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool = True
    interval: tuple[float, float] = (-1.0, 1.0)
    radius: float | None = None
    precision: float | None = None
    ball: float | None = None

    by: Any = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        features = column_names(f"{kind}.features", self.features)
        if not isinstance(self.target, str) or not self.target:
            raise QueryError(f"{kind}.target must be the name of a column, got {self.target!r}")
        if self.target in features:
            raise QueryError(f"{kind}.features must not contain the target, got {list(features)!r}")
        object.__setattr__(self, "features", features)
        if not isinstance(self.intercept, bool):
            raise QueryError(f"{kind}.intercept must be true or false, got {self.intercept!r}")
        if self.by is not None:
            raise QueryError(f"{kind}.by must not be given: a loss is asked of the whole table, got {self.by!r}")
        object.__setattr__(self, "interval", checked_interval(kind, self.interval))
        for name in ("radius", "precision", "ball"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked_size(f"{kind}.{name}", getattr(self, name)))

    def from_prior(self, schema: Schema, draws: int, rng: np.random.Generator) -> list[Mapping[str, Any]]:
        """Coefficients; a precision that was only recommended says nothing of them."""
        return [] if self.precision is None else super().from_prior(schema, draws, rng)

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Coefficients from the prior, features uniform over what is declared, targets given both.

        The law of the features is not part of the model; a prior without a precision is taken to be R²/4, which gives
        margins a deviation of about 2 at most.
        """
        query = self.query(schema)
        features = query.features
        precision = self.precision or features.reach**2 / 4.0
        w = self._drawn_coefficients(features.size, precision, rng)
        rows: dict[str, NDArray[Any]] = {}
        margins, squared = np.zeros(n), np.full(n, float(len(features.categories)))
        low, high = self.interval
        for j, axis in enumerate(features.numbers):
            top = int(axis.of_values(np.array(axis.upper)))
            rows[axis.column] = rng.integers(axis.low, top + 1, size=n)
            x = 0.5 * (low + high) + 0.5 * (high - low) * axis.centred(rows[axis.column]) / axis.reach
            margins += x * w[int(self.intercept) + j]
            squared += x**2
        for name, levels, offset in zip(features.categories, features.levels, features.offsets, strict=True):
            rows[name] = rng.integers(len(levels), size=n)
            margins += w[offset + rows[name]]
        if features.shrinks:
            margins *= np.minimum(1.0, features.radius / np.sqrt(np.maximum(squared, 1e-300)))
        if self.intercept:
            margins += w[0]
        rows[self.target] = self._drawn_targets(query, margins, rng)
        return {"coefficients": w}, rows

    def _features(self, schema: Schema) -> Features:
        return Features.of(
            schema, self.features, interval=self.interval, intercept=self.intercept, declared_radius=self.radius
        )

    @property
    def _ball(self) -> float:
        return math.inf if self.ball is None else self.ball

    @abstractmethod
    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Coded targets given the margins of their rows."""

    def _with_errors(self, query: Loss, margins: Array, deviation: float, rng: np.random.Generator) -> NDArray[Any]:
        """Margins as places in [-1, 1] of a numeric target, with normal errors."""
        axis, position = query.axis, np.clip(margins + deviation * rng.normal(size=margins.size), -1.0, 1.0)
        return axis.of_values(axis.centre + axis.unit * axis.reach * position)

    def _drawn_coefficients(self, size: int, precision: float, rng: np.random.Generator) -> Array:
        """From the prior, until they are in the ball."""
        for _ in range(10_000):
            w = rng.normal(size=size) / math.sqrt(precision)
            if self.ball is None or np.linalg.norm(w) <= self.ball:
                return w
        raise QueryError(f"{type(self).__name__}.ball must hold some of the prior's mass, got a ball that holds none")

    def _label(self, schema: Schema, labels: tuple[float, float]) -> Target:
        """A target of two levels."""
        column = schema.column(self.target)
        if column.as_levels is None or len(column.as_levels.levels) != 2:
            got = type(column).__name__
            raise QueryError(
                f"{type(self).__name__}.target must be a column of two levels, got {self.target!r}, a {got}"
            )
        return Target(self.target, labels=labels)

    def _number(self, schema: Schema, kind: type[Bounded] | type[Count]) -> Target:
        """A numeric target."""
        column = schema.column(self.target)
        if not isinstance(column, kind):
            got, due = type(column).__name__, kind.__name__.lower()
            raise QueryError(f"{type(self).__name__}.target must be a {due} column, got {self.target!r}, a {got}")
        return Target(self.target, axis=Axis.of(schema, self.target))


def checked_interval(kind: str, interval: Any) -> tuple[float, float]:
    """Two rising numbers of ordinary size."""
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise QueryError(f"{kind}.interval must be two numbers, got {interval!r}")
    low, high = (number(f"{kind}.interval", end) for end in interval)
    if not (low < high and SMALLEST <= max(abs(low), abs(high)) <= LARGEST):
        raise QueryError(f"{kind}.interval must be two rising numbers within {LARGEST:g}, got {interval!r}")
    return low, high


def checked_size(field: str, value: Any) -> float:
    """A length or a precision of ordinary size."""
    size = positive(field, value, error=QueryError)
    if not SMALLEST <= size <= LARGEST:
        raise QueryError(f"{field} must be from {SMALLEST:g} to {LARGEST:g}, got {value!r}")
    return size


@dataclass(frozen=True)
class LogisticRegression(MarginModel):
    """Log-odds of the second level of the target, linear in the features."""

    def query(self, schema: Schema) -> Logistic:
        """The loss log(1 + e^t) - y t: P(y = second level) = 1 / (1 + exp(-z · w)), w ~ N(0, 1/precision)."""
        return Logistic(schema, self._features(schema), self._label(schema, (0.0, 1.0)), self.precision, self._ball)

    def margin_query(self, schema: Schema) -> Logistic:
        """The columns whose public score is asked for."""
        return self.query(schema)

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        return (rng.logistic(size=margins.size) < margins).astype(np.int64)


@dataclass(frozen=True)
class HingeClassifier(MarginModel):
    """Sign of a linear predictor.

    `width` is that of the band around the corner in which the loss is a parabola: its slope is unchanged outside.
    Width 0 is the hinge itself, which only the exact sampler can draw with.
    """

    width: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", number("HingeClassifier.width", self.width))
        if not 0.0 <= self.width <= 2.0:
            raise QueryError(f"HingeClassifier.width must be from 0 to 2, got {self.width!r}")

    def query(self, schema: Schema) -> Hinge:
        """The loss max(0, 1 - y z · w), y = ±1, smoothed over the width."""
        features, target = self._features(schema), self._label(schema, (-1.0, 1.0))
        return Hinge(schema, features, target, self.precision, self._ball, width=self.width)

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Labels that a logistic law gives: a hinge is no likelihood."""
        return (rng.logistic(size=margins.size) < 2.0 * margins).astype(np.int64)


@dataclass(frozen=True)
class HuberRegression(MarginModel):
    """A bounded target, put on [-1, 1] by its declared bounds; `threshold` is where the loss becomes linear."""

    threshold: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", checked_size("HuberRegression.threshold", self.threshold))

    def query(self, schema: Schema) -> Huber:
        """The loss (z · w - y)²/2 near zero, linear beyond the threshold."""
        features, target = self._features(schema), self._number(schema, Bounded)
        return Huber(schema, features, target, self.precision, self._ball, threshold=self.threshold)

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Normal errors of the size of the threshold."""
        return self._with_errors(query, margins, self.threshold, rng)


@dataclass(frozen=True)
class PoissonRegression(MarginModel):
    """Log-mean of a count, linear in the features; `ball` is the largest length of the coefficients.

    It is for a Gibbs posterior; noisy scores do without, since means end with the declared counts.
    """

    ball: float | None = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ball is None:
            raise QueryError("PoissonRegression.ball must be a number above 0, got None")

    def query(self, schema: Schema) -> Poisson:
        """The loss e^t - y t, with its constants for every conceivable row and every w of the ball."""
        features, target = self._features(schema), self._number(schema, Count)
        asked = Poisson(schema, features, target, self.precision, self._ball)
        if self._ball * features.reach > LARGEST_MARGIN:
            limit = LARGEST_MARGIN / features.reach
            raise QueryError(
                f"PoissonRegression.ball must be at most {limit:.4g} for these features, got {self.ball!r}"
            )
        return asked

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        return np.minimum(rng.poisson(np.exp(np.minimum(margins, LARGEST_MARGIN))), int(query.axis.upper))
