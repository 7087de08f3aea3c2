"""The hinge loss max(0, 1 - y t), y = ±1, a parabola in a band of a declared public width around its corner."""

import math
from dataclasses import dataclass

from discreet.queries.losses.base import Branch, Loss

__all__ = ["Hinge"]


@dataclass(frozen=True, kw_only=True)
class Hinge(Loss):
    """Slopes from -1 to 1; without a width there is a corner."""

    width: float

    name = "hinge"
    code = 1
    steepest = 1.0  # outside the band, whatever its width
    apart = 2.0

    @property
    def curvature(self) -> float:
        """The slope changes by 1 over the width."""
        return 1.0 / self.width if self.width > 0 else math.inf

    @property
    def branch(self) -> Branch:
        """The formula has a width."""
        return Branch(self.code, self.width)
