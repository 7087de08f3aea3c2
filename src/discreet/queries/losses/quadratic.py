"""The loss |w - z|²/2 of a mean: no margin and no target, and a Gibbs posterior that is exactly normal."""

import math
from dataclasses import dataclass

from discreet.errors import QueryError
from discreet.queries.losses.base import Loss

__all__ = ["Quadratic"]


@dataclass(frozen=True)
class Quadratic(Loss):
    """Gradients w - z: unbounded, but those of two rows differ by the diameter of all rows at most, for every w."""

    name = "quadratic"
    parameter = "mean"
    normal = True
    steepest = math.inf
    curvature = smoothness = convexity = 1.0  # of every row, in every direction
    apart = 0.0  # there are no targets

    def __post_init__(self) -> None:
        if self.total is None:
            raise QueryError("QuadraticMean must have a public number of rows: records, and no column that excludes")
        super().__post_init__()

    @property
    def row_gradient(self) -> float:
        """The diameter of all rows."""
        return self.features.diameter

    def check_smooth(self) -> None:
        """Its normal law is drawn as it is."""
        raise QueryError("GibbsPosterior.sampler must be exact for a quadratic mean, got langevin")

    def check_here(self) -> None:
        """Sums of the columns say as much, and these Spark adds up."""
        raise QueryError(
            "GibbsPosterior must have its rows in this process for a quadratic mean, got a table that stays in Spark: "
            "ask for the mean there by Normal or MultivariateNormal with NoisyStatistics"
        )

    def recommended_precision(self, mu: float) -> float:
        """What one record says."""
        return 1.0
