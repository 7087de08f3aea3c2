"""Simulation-based calibration: if parameters come from the prior, posterior ranks of the truth are uniform.

Two tests see different errors: Kolmogorov–Smirnov on the ranks sees shifts, and the mean of the squared normal score
z² = Phi^{-1}(u)² sees a wrong scale: its mean is 1 under calibration, and a posterior too wide by s moves it to 1/s².
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError

__all__ = ["Ranks", "normal_score", "rank_uniformity"]


@dataclass(frozen=True)
class Ranks:
    """p-values of both tests, and the estimated scale: below 1 the posterior is too narrow."""

    shift: float
    scale: float
    narrowness: float
    size: int

    def uniform(self, alpha: float = 1e-4) -> bool:
        """Whether neither test rejects at `alpha` in total."""
        return min(self.shift, self.scale) > alpha / 2

    def __str__(self) -> str:
        return f"{self.size} ranks: p = {self.shift:.3g} (shift), {self.scale:.3g} (scale), scale {self.narrowness:.3f}"


def normal_score(ranks: ArrayLike) -> tuple[float, float]:
    """Two-sided p-value that the mean squared normal score is 1, and the implied scale of the posterior."""
    from scipy.special import chdtr, chdtrc, ndtri

    u = _ranks(ranks)
    total = float((ndtri(np.clip(u, 1e-15, 1 - 1e-15)) ** 2).sum())
    p_value = 2 * min(float(chdtr(u.size, total)), float(chdtrc(u.size, total)))
    return min(p_value, 1.0), float(np.sqrt(u.size / total))


def rank_uniformity(ranks: ArrayLike) -> Ranks:
    """Both tests on ranks in (0, 1): posterior CDF values at the true parameters."""
    from scipy.stats import kstest

    u = _ranks(ranks)
    scale, narrowness = normal_score(u)
    return Ranks(float(kstest(u, "uniform").pvalue), scale, narrowness, int(u.size))


def _ranks(ranks: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    u = np.asarray(ranks, dtype=float).ravel()
    if u.size == 0 or not np.all((u >= 0) & (u <= 1)):
        raise QueryError("rank_uniformity ranks must lie in [0, 1], got others or none")
    return u
