"""A Beta law between two bounds, on the logit scale of its place in them."""

from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array
from discreet.numerics.link import Link

__all__ = ["LogitBeta"]


@dataclass(frozen=True)
class LogitBeta:
    """Beta(a, b) on the interval that the link maps."""

    a: float
    b: float
    link: Link

    def __call__(self, eta: Array) -> Array:
        """Log-density of the logit."""
        from scipy.special import betaln

        return np.asarray(-self.a * np.logaddexp(0.0, -eta) - self.b * np.logaddexp(0.0, eta) - betaln(self.a, self.b))

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and deviation of the logit."""
        from scipy.special import digamma, polygamma

        mean, variance = digamma(self.a) - digamma(self.b), polygamma(1, self.a) + polygamma(1, self.b)
        return float(mean), float(np.sqrt(variance))

    def draw(self, rng: np.random.Generator) -> float:
        """One number."""
        return float(self.link.lower + (self.link.upper - self.link.lower) * rng.beta(self.a, self.b))
