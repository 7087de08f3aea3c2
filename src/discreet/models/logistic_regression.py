"""Logistic regression: P(y = second level) = 1 / (1 + exp(-z · w)), w ~ N(0, 1/precision)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.models.margin_model import Array, MarginModel
from discreet.queries.losses.base import Loss, LossKind, Target
from discreet.schema import Schema

__all__ = ["LogisticRegression"]


@dataclass(frozen=True)
class LogisticRegression(MarginModel):
    """Log-odds of the second level of the target, linear in the features."""

    @property
    def kind(self) -> LossKind:
        """log(1 + e^t) - y t."""
        return "logistic"

    def _target(self, schema: Schema) -> Target:
        return self._label(schema, (0.0, 1.0))

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:  # noqa: ARG002
        return (rng.logistic(size=margins.size) < margins).astype(np.int64)
