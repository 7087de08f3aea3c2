"""Regressions and classifiers whose loss is one of a kind: logistic, hinge, Huber's, Poisson."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.base import number
from discreet.models.loss_model import MarginModel, checked_size
from discreet.numerics.arrays import Array
from discreet.queries.losses import Hinge, Huber, Logistic, Loss, Poisson
from discreet.schema import Bounded, Count, Schema

__all__ = ["HingeClassifier", "HuberRegression", "LogisticRegression", "PoissonRegression"]

LARGEST_MARGIN = 20.0  # of counts


@dataclass(frozen=True)
class LogisticRegression(MarginModel):
    """Log-odds of the second level of the target, linear in the features."""

    def query(self, schema: Schema) -> Logistic:
        """The loss log(1 + e^t) - y t: P(y = second level) = 1 / (1 + exp(-z · w)), w ~ N(0, 1/precision)."""
        return Logistic(schema, self._features(schema), self._label(schema, (0.0, 1.0)), self.precision, self._ball)

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
    """Log-mean of a count, linear in the features; `ball` is the largest length of the coefficients."""

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
