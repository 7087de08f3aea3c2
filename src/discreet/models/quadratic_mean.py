"""The mean of bounded columns by the loss |w - x|²/2: a Gibbs posterior that is exactly normal."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.models.base import Simulated, column_names
from discreet.models.loss_model import LossModel, checked_interval, checked_size
from discreet.queries.features import Features
from discreet.queries.losses import Quadratic
from discreet.schema import Bounded, Count, Schema

__all__ = ["QuadraticMean"]


@dataclass(frozen=True)
class QuadraticMean(LossModel):
    """Means of numeric columns, each put on `interval` by its bounds; rows longer than `radius` are shrunk to it."""

    columns: tuple[str, ...]
    interval: tuple[float, float] = (-1.0, 1.0)
    radius: float | None = None
    precision: float | None = None

    by: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names("QuadraticMean.columns", self.columns))
        object.__setattr__(self, "interval", checked_interval("QuadraticMean", self.interval))
        for name in ("radius", "precision"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked_size(f"QuadraticMean.{name}", getattr(self, name)))
        if self.by is not None:
            raise QueryError(f"QuadraticMean.by must not be given: a loss is asked of the whole table, got {self.by!r}")

    def query(self, schema: Schema) -> Quadratic:
        """The loss; its gradients differ by the diameter of the rows at most, for every w."""
        for name in self.columns:
            if not isinstance(schema.column(name), Bounded | Count):
                raise QueryError(f"QuadraticMean.columns must be bounded or count, got {name!r}")
        options: dict[str, Any] = {"interval": self.interval, "intercept": False, "declared_radius": self.radius}
        return Quadratic(schema, Features.of(schema, self.columns, **options), None, self.precision)

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Means from the prior, cut to the interval; numbers around them, uniform on what the interval leaves."""
        query = self.query(schema)
        low, high = self.interval
        truth = np.clip(rng.normal(size=len(self.columns)) / np.sqrt(self.precision or 1.0), low, high)
        room = np.minimum(truth - low, high - truth)
        x = truth + room * rng.uniform(-1.0, 1.0, size=(n, truth.size))
        position = (x - 0.5 * (low + high)) / (0.5 * (high - low))
        rows = {
            axis.column: axis.of_values(axis.centre + axis.unit * axis.reach * position[:, j])
            for j, axis in enumerate(query.features.numbers)
        }
        return {"mean": truth}, rows
