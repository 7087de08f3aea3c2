"""Laws of simulated records: a share, a mean vector and one covariance for every cell of levels, clamped to the bounds.

Drawn from the same priors that posteriors use, in half-ranges. What is true of such a law, and so what a posterior of
its records is compared with, are the moments *after* clamping: of one number in closed form, of two by an average over
quantiles of the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.gaussian.gaussian_system import GaussianSystem
from discreet.inference.gaussian.unseen_moments import BoxPrior, cells_of, dummies, priors_of
from discreet.numerics.arrays import Array, Integers
from discreet.queries.counts_and_sums import Axis

__all__ = ["ClampedLaw", "draw_law"]

QUANTILES = 512


@dataclass(frozen=True, eq=False)
class ClampedLaw:
    """Normal numbers within cells, before clamping."""

    cells: Integers  # (cells, factors)
    design: Array
    shares: Array
    means: Array  # (numbers, cells)
    within: Array

    def records(self, n: int, rng: np.random.Generator) -> tuple[Array, Integers]:
        """N records: numbers (n, numbers), clamped to [-1, 1], and codes (n, factors)."""
        cell = rng.choice(len(self.shares), size=n, p=self.shares)
        root = np.linalg.cholesky(self.within + 1e-12 * np.eye(len(self.within)))
        drawn = self.means.T[cell] + rng.standard_normal((n, len(self.within))) @ root.T
        return np.clip(drawn, -1.0, 1.0), self.cells[cell]

    def moments(self) -> Array:
        """Second moments of (constant and dummies, clamped numbers), per record."""
        from scipy.special import ndtri

        deviation = np.sqrt(np.diag(self.within))
        q, p = self.design.shape[1], len(self.within)
        total = np.zeros((q + p, q + p))
        total[:q, :q] = np.einsum("c,ca,cb->ab", self.shares, self.design, self.design)
        normal = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
        for i in range(p):
            at = self.means[i] + deviation[i] * normal[:, np.newaxis]  # (quantiles, cells)
            clamped = np.clip(at, -1.0, 1.0)
            total[:q, q + i] = total[q + i, :q] = np.einsum(
                "c,ca,c->a", self.shares, self.design, _clamped_mean(self.means[i], deviation[i])
            )
            total[q + i, q + i] = self.shares @ np.mean(clamped**2, axis=0)
            for j in range(i):
                slope = self.within[i, j] / self.within[i, i]
                rest = np.sqrt(max(self.within[j, j] - slope * self.within[i, j], 1e-18))
                other = _clamped_mean(self.means[j] + slope * (at - self.means[i]), rest)
                total[q + i, q + j] = total[q + j, q + i] = self.shares @ np.mean(clamped * other, axis=0)
        return total


def draw_law(
    system: GaussianSystem,
    axes: Sequence[Axis],
    box: BoxPrior,
    conjugate: Sequence[bool],
    concentration: float,
    rng: np.random.Generator,
) -> ClampedLaw:
    """A law of records from the priors of a posterior; what has no room within the bounds is drawn anew, all of it."""
    while True:
        law = _tried(system, axes, box, conjugate, concentration, rng)
        if law is not None:
            return law


def _tried(
    system: GaussianSystem,
    axes: Sequence[Axis],
    box: BoxPrior,
    conjugate: Sequence[bool],
    concentration: float,
    rng: np.random.Generator,
) -> ClampedLaw | None:
    levels = tuple(factor.levels for factor in system.factors)
    cells, p = cells_of(levels), len(axes)
    design = dummies(levels, cells)
    nodes, conjugates = priors_of(system, axes, box, tuple(conjugate))
    basis = design if len(levels) > 1 else np.eye(len(cells))
    shares = rng.dirichlet(np.full(len(cells), concentration))
    means, within = np.zeros((p, len(cells))), np.zeros((p, p))
    features = p - 1 if box.slopes else p
    boxed = [j for j in range(features) if not nodes.conjugate[j]]
    for j in boxed:
        means[j] = np.tanh(basis @ np.arctanh(2.0 * rng.beta(box.means, box.means, basis.shape[1]) - 1.0))
    if boxed:
        room = np.array([shares @ (1.0 - means[j] ** 2) for j in boxed])
        deviation = np.sqrt(room * rng.beta(box.low, box.high, len(boxed)))
        within[np.ix_(boxed, boxed)] = np.outer(deviation, deviation) * box.correlations.drawn(len(boxed), rng)
    for j in range(p):
        if conjugates is not None and nodes.conjugate[j]:
            k = design.shape[1] + j
            variance = conjugates.rate[j] / rng.gamma(conjugates.shape[j])
            root = np.linalg.cholesky(np.linalg.inv(conjugates.precision[j, :k, :k]))
            found = conjugates.mean[j, :k] + np.sqrt(variance) * root @ rng.standard_normal(k)
            q = design.shape[1]
            means[j] = design @ found[:q] + found[q:] @ means[:j]
            _append(within, j, found[q:], variance)
        elif j >= features:
            means[j], slopes, variance, fits = _boxed_target(basis, shares, within[:j, :j], box, rng)
            if not fits:
                return None
            _append(within, j, slopes, variance)
    return ClampedLaw(cells, design, shares, means, within)


def _append(within: Array, j: int, slopes: Array, variance: float) -> None:
    """Row and column j of a covariance, of a number on the earlier ones."""
    cross = within[:j, :j] @ slopes
    within[j, :j] = within[:j, j] = cross
    within[j, j] = variance + slopes @ cross


def _boxed_target(
    basis: Array, shares: Array, features: Array, box: BoxPrior, rng: np.random.Generator
) -> tuple[Array, Array, float, bool]:
    """Means, slopes and residual variance of a target, and whether it fits: the weak prior by rejection."""
    low, high = box.residual
    means = np.tanh(basis @ np.arctanh(2.0 * rng.beta(box.means, box.means, basis.shape[1]) - 1.0))
    slopes = box.slopes * rng.standard_cauchy(len(features))
    room = float(shares @ (1.0 - means**2))
    variance = room * rng.beta(low, high)
    rest = room - variance - slopes @ features @ slopes
    fits = rest > 0.0 and rng.random() < (rest / (room - variance)) ** (high - 1.0)
    return means, slopes, float(variance), bool(fits)


def _clamped_mean(mean: Array, deviation: Array | float) -> Array:
    """E clip(x, -1, 1) of a normal x."""
    from scipy.special import ndtr

    low, high = (-1.0 - mean) / deviation, (1.0 - mean) / deviation
    density = (np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)) / np.sqrt(2.0 * np.pi)
    return np.asarray(mean * (ndtr(high) - ndtr(low)) + deviation * density - ndtr(low) + ndtr(-high))
