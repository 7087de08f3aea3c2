"""Huber's loss (t - y)²/2, linear where t is further than a threshold from the target y in [-1, 1]."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.queries.losses.base import Branch, Loss

__all__ = ["Huber"]


@dataclass(frozen=True, kw_only=True)
class Huber(Loss):
    """Slopes t - y, clipped to ±threshold."""

    threshold: float

    name: ClassVar[str] = "huber"
    code: ClassVar[int] = 2

    @property
    def steepest(self) -> float:
        """Where it is linear."""
        return self.threshold

    @property
    def curvature(self) -> float:
        """Where it is a parabola."""
        return 1.0

    @property
    def apart(self) -> float:
        """Targets are at most 2 apart, and slopes no further."""
        return 2.0

    @property
    def branch(self) -> Branch:
        """The formula has a threshold."""
        return Branch(self.code, self.threshold)
