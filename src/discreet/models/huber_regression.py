"""Robust regression: (z · w - y)²/2 near zero and linear beyond a threshold; y is the target on [-1, 1]."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.models.loss_model import checked_size
from discreet.models.margin_model import Array, MarginModel
from discreet.queries.losses.base import Loss, LossKind, Target
from discreet.schema import Bounded, Schema

__all__ = ["HuberRegression"]


@dataclass(frozen=True)
class HuberRegression(MarginModel):
    """A bounded target, put on [-1, 1] by its declared bounds; `threshold` is where the loss becomes linear."""

    threshold: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", checked_size("HuberRegression.threshold", self.threshold))

    @property
    def kind(self) -> LossKind:
        """Huber's."""
        return "huber"

    def query(self, schema: Schema) -> Loss:
        """The loss, with its constants for every conceivable row."""
        return replace(super().query(schema), setting=self.threshold)

    def _target(self, schema: Schema) -> Target:
        return self._number(schema, Bounded)

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Normal errors of the size of the threshold."""
        assert query.target is not None
        assert query.target.axis is not None
        axis = query.target.axis
        position = np.clip(margins + self.threshold * rng.normal(size=margins.size), -1.0, 1.0)
        return axis.of_values(axis.centre + axis.unit * axis.reach * position)
