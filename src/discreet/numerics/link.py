"""Links between a scalar parameter and the unconstrained coordinate on which its posterior is integrated."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.errors import QueryError
from discreet.numerics.arrays import Array

__all__ = ["Link"]


FARTHEST = {"identity": np.inf, "log": 690.0, "logit": 690.0}  # e^690 is the edge of double precision


@dataclass(frozen=True)
class Link:
    """theta = eta ("identity"), e^eta ("log"), or lower + (upper - lower) / (1 + e^-eta) ("logit")."""

    kind: Literal["identity", "log", "logit"]
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in FARTHEST:
            raise QueryError(f'Link.kind must be "identity", "log" or "logit", got {self.kind!r}')
        if not self.lower < self.upper:
            raise QueryError(f"Link.upper must be above lower = {self.lower!r}, got {self.upper!r}")

    @property
    def farthest(self) -> float:
        """How far from 0 the coordinate may go."""
        return FARTHEST[self.kind]

    def to_theta(self, eta: Array) -> Array:
        """The parameter at each coordinate."""
        if self.kind == "identity":
            return eta
        if self.kind == "log":
            return np.asarray(np.exp(eta))
        return np.asarray(self.lower + (self.upper - self.lower) / (1.0 + np.exp(-eta)))

    def to_eta(self, theta: Array) -> Array:
        """The coordinate of each parameter; -inf and inf at the ends of its range, nan outside."""
        if self.kind == "identity":
            return theta
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "log":
                return np.asarray(np.log(theta))
            return np.asarray(np.log(theta - self.lower) - np.log(self.upper - theta))

    def log_slope(self, eta: Array) -> Array:
        """Log of d theta / d eta."""
        if self.kind == "identity":
            return np.zeros_like(eta)
        if self.kind == "log":
            return eta
        return np.asarray(np.log(self.upper - self.lower) - np.logaddexp(0.0, eta) - np.logaddexp(0.0, -eta))
