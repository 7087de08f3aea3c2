"""A linear classifier by the hinge loss max(0, 1 - y z · w), y = ±1, smoothed over a declared public width."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.base import number
from discreet.models.margin_model import Array, MarginModel
from discreet.queries.losses.base import Loss, LossKind, Target
from discreet.schema import Schema

__all__ = ["HingeClassifier"]


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

    @property
    def kind(self) -> LossKind:
        """The smoothed hinge."""
        return "hinge"

    def query(self, schema: Schema) -> Loss:
        """The loss, with its constants for every conceivable row."""
        return replace(super().query(schema), setting=self.width)

    def _target(self, schema: Schema) -> Target:
        return self._label(schema, (-1.0, 1.0))

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:  # noqa: ARG002
        """Labels that a logistic law gives: a hinge is no likelihood."""
        return (rng.logistic(size=margins.size) < 2.0 * margins).astype(np.int64)
