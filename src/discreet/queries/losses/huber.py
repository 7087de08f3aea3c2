"""Huber's loss (t - y)²/2, linear where t is further than a threshold from the target y in [-1, 1]."""

from dataclasses import dataclass

from discreet.queries.losses.base import Branch, Loss

__all__ = ["Huber"]


@dataclass(frozen=True, kw_only=True)
class Huber(Loss):
    """Slopes t - y, clipped to ±threshold."""

    threshold: float

    name = "huber"
    code = 2
    curvature = 1.0
    apart = 2.0  # as targets are

    @property
    def steepest(self) -> float:
        """Where it is linear."""
        return self.threshold

    @property
    def branch(self) -> Branch:
        """The formula has a threshold."""
        return Branch(self.code, self.threshold)
