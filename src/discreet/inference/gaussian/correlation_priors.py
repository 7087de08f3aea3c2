"""Weak priors of correlations R, as two powers and a draw.

    Lkj(a)            |R|^(a-1): every correlation of p columns is Beta(a + p/2 - 1) on (-1, 1), ever nearer to 0
                      the more columns there are [Lewandowski, Kurowicka, Joe 2009]
    EqualMargins(a)   the correlations of an inverse Wishart law with p - 1 + 2a degrees of freedom and the unit matrix:
                      each is Beta(a, a) on (-1, 1), and a correlation of two columns has the same law whatever others
                      stand beside them [Barnard, McCulloch, Meng 2000]

Both are |R|^whole Π (R^-1)_jj^-single, and the same law for two columns.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["CorrelationPrior", "EqualMargins", "Lkj"]


class CorrelationPrior(Protocol):
    """What chains and simulations ask of it."""

    def powers(self, size: int) -> tuple[float, float]:
        """Of the determinant and of one over each diagonal entry of the inverse, for so many columns."""

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """A correlation matrix."""


@dataclass(frozen=True)
class Lkj:
    """By the determinant alone."""

    shape: float

    def powers(self, size: int) -> tuple[float, float]:
        """The determinant's."""
        return self.shape - 1.0, 0.0

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """Row by row of its Cholesky factor."""
        root = np.eye(size)
        for j in range(1, size):
            squared = rng.beta(0.5 * j, self.shape + 0.5 * (size - 1 - j))
            direction = rng.standard_normal(j)
            root[j, :j] = np.sqrt(squared) * direction / np.linalg.norm(direction)
            root[j, j] = np.sqrt(1.0 - squared)
        return root @ root.T


@dataclass(frozen=True)
class EqualMargins:
    """Each correlation Beta(shape, shape) between -1 and 1, however many columns there are."""

    shape: float

    def powers(self, size: int) -> tuple[float, float]:
        """Those of the inverse Wishart law; of two columns the determinant's alone, which is the same."""
        if size <= 2:
            return Lkj(self.shape).powers(size)
        return -size - self.shape, self.shape + 0.5 * (size - 1.0)

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """From the inverse of a Wishart matrix, by Bartlett's decomposition."""
        if size <= 2:
            return Lkj(self.shape).drawn(size, rng)
        root = np.tril(rng.standard_normal((size, size)), -1)
        root[np.diag_indices(size)] = np.sqrt(rng.chisquare(size - 1.0 + 2.0 * self.shape - np.arange(size)))
        half = np.linalg.inv(root)
        covariance = half.T @ half
        spread = np.sqrt(np.diag(covariance))
        return np.asarray(covariance / np.outer(spread, spread))
