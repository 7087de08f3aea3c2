"""Poisson regression: counts of mean exp(z · w), with w in a declared ball, which bounds slope and curvature."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.margin_model import Array, MarginModel
from discreet.queries.losses.base import Loss, LossKind, Target
from discreet.schema import Count, Schema

__all__ = ["PoissonRegression"]

LARGEST_MARGIN = 20.0


@dataclass(frozen=True)
class PoissonRegression(MarginModel):
    """Log-mean of a count, linear in the features; `ball` is the largest length of the coefficients."""

    ball: float | None = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ball is None:
            raise QueryError("PoissonRegression.ball must be a number above 0, got None")

    @property
    def kind(self) -> LossKind:
        """e^t - y t."""
        return "poisson"

    def query(self, schema: Schema) -> Loss:
        """The loss, with its constants for every conceivable row and every w of the ball."""
        asked = super().query(schema)
        if asked.ball * asked.features.reach > LARGEST_MARGIN:
            limit = LARGEST_MARGIN / asked.features.reach
            raise QueryError(
                f"PoissonRegression.ball must be at most {limit:.4g} for these features, got {self.ball!r}"
            )
        return asked

    def _target(self, schema: Schema) -> Target:
        return self._number(schema, Count)

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        assert query.target is not None
        assert query.target.axis is not None
        return np.minimum(rng.poisson(np.exp(np.minimum(margins, LARGEST_MARGIN))), int(query.target.axis.upper))
