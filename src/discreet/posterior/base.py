"""What every posterior answers. One-parameter posteriors answer with numbers or vectors, others by parameter name."""

from typing import Any, Protocol

import numpy as np

from discreet.posterior.summary import Summary

__all__ = ["Posterior"]


class Posterior(Protocol):
    """Free post-processing of a release: nothing here costs privacy, and nothing here sees a row."""

    def mean(self) -> Any:
        """Posterior mean."""

    def sd(self) -> Any:
        """Posterior standard deviation."""

    def interval(self, level: float = 0.9) -> Any:
        """Lower and upper ends of equal-tailed intervals."""

    def quantile(self, q: float) -> Any:
        """The q-quantile."""

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """Independent draws."""

    def log_density(self, x: Any) -> Any:
        """Log posterior density."""

    def predict(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """New records from the posterior predictive law."""

    def summary(self) -> Summary:
        """Mean, deviation and 90% interval of every parameter."""

    def log_evidence(self) -> float:
        """Log-probability of the release under the model."""

    def to_datatree(self) -> Any:
        """Draws as an xarray DataTree with the ArviZ groups."""
