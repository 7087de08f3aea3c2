"""Records that look like the private ones: what a score is on average follows from the law of the features.

What is known of that law are noisy counts, sums and second moments. A draw is a covariance and a mean that they allow:

* Second moments Y = C + noise, the noise normal and the same in every direction. In the axes of Y the eigenvalues of C
  are drawn under an inverse-gamma prior (an inverse-Wishart law has them) and the rest around 0, C_ij as far from it
  as noise and C_ii C_jj allow. What shrinking to the length c took from normal vectors is given back.
* Without second moments: an inverse-Wishart law around what counts say.
* Blocks keep the covariance that their shares of levels give.

Records are normal vectors and levels drawn by their shares. Numbers whose mean lies near a bound are skewed as a beta
law of that mean and variance would be.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_frame import ScoreFrame, floored_shares
from discreet.queries.scores.score_spectrum import unshrunk
from discreet.queries.scores.score_terms import ScoreTerms, Totals

__all__ = ["FeatureLaw", "feature_law"]

FEWEST, EACH = 1000, 6  # records, and for every direction
SHAPE, MODE = 1.5, 0.5  # of the inverse-gamma prior of an eigenvalue over the average one
TIGHT = 3.0  # how much closer to 0 than sqrt(C_ii C_jj) the rest is
LOOSE_NUMBERS, LOOSE_BLOCKS = 8.0, 60.0  # degrees of freedom around what counts say
GRID = np.exp(np.linspace(np.log(1e-3), np.log(30.0), 400))  # eigenvalues over the average one
SKEWS = np.linspace(0.0, 0.9, 91)  # sigma of a log-normal law, by its skewness
SKEWNESS = (np.exp(SKEWS**2) + 2.0) * np.sqrt(np.expm1(SKEWS**2))


@dataclass(frozen=True)
class FeatureLaw:
    """What is known; `records` (records, dz) have mean 0 and covariance 1."""

    terms: ScoreTerms
    totals: Totals
    frame: ScoreFrame
    moments: Array | None
    records: Array

    def likely(self, spread: Array) -> Array:
        """Records z of the most plausible law, whose covariance is this."""
        return np.asarray(self.records @ root(spread))

    def drawn(self, rng: np.random.Generator) -> Array:
        """Records z under one law that the release allows, (records, dz)."""
        frame, noise, size = self.frame, self.terms.totals_sd, self.totals.size
        offset, spread, start = np.zeros(self.terms.directions), frame.spread.copy(), frame.numbers
        offset[:start] = noise / max(size, 1.0) * rng.normal(size=start)
        at = start
        for counts, share in zip(self.totals.levels, frame.shares, strict=True):
            found = floored_shares(counts + noise * rng.normal(size=len(counts)), size, noise)
            inside, width = slice(start, start + len(share) - 1), len(share)
            b = frame.basis[at : at + width, inside]
            offset[inside] = b.T @ (found - share)
            spread[inside, inside] = b.T @ (np.diag(found) - np.outer(found, found)) @ b
            start, at = start + width - 1, at + width
        covariance = self._around(spread, rng) if self.moments is None else self._seen(rng)
        return np.asarray(self.records @ root(self._with_blocks(covariance, spread)) + offset)

    def _around(self, spread: Array, rng: np.random.Generator) -> Array:
        """Inverse-Wishart around what counts say."""
        d, numbers = len(spread), self.frame.numbers
        loose = LOOSE_NUMBERS if numbers else LOOSE_BLOCKS
        g = rng.normal(size=(d + 1 + int(loose), d))
        if numbers:
            energy = max(self.frame.energy + self.frame.slack * rng.normal(), 0.2 * self.frame.energy)
            spread = spread * energy / self.frame.energy
        half = root(spread)
        return np.asarray(half @ np.linalg.inv(g.T @ g / loose) @ half)

    def _seen(self, rng: np.random.Generator) -> Array:
        """Around noisy second moments."""
        seen = self._spectrum
        d = len(seen.values)
        places = (rng.random((d, 1)) * seen.cumulated[:, -1:] > seen.cumulated).sum(axis=1)
        drawn = np.where(seen.known, seen.values + seen.deviation * rng.normal(size=d), seen.grid[places])
        allowed = 1.0 / np.sqrt(2.0 / seen.deviation**2 + TIGHT / np.outer(drawn, drawn))
        rest = np.triu(allowed * rng.normal(size=(d, d)), 1)
        found = (np.diag(drawn) + rest + rest.T) * seen.back
        least, turn = np.linalg.eigh(found)
        turned = seen.axes @ turn
        return np.asarray((turned * np.maximum(least, 0.01 * seen.average)) @ turned.T * self.frame.unit)

    @cached_property
    def _spectrum(self) -> "_Spectrum":
        """What all draws around noisy second moments have in common."""
        assert self.moments is not None
        assert self.terms.moments_sd is not None
        size = max(self.totals.size, 1.0)
        values, axes = np.linalg.eigh(self.moments / size)
        deviation = max(self.terms.moments_sd / size, 1e-9)
        average = max(float(values.sum()), 0.2) / self.terms.directions
        grid = GRID * average
        log_weight = -0.5 * ((values[:, np.newaxis] - grid) / deviation) ** 2
        log_weight = log_weight - SHAPE * np.log(grid) - MODE * average / grid  # per unit of log C
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        known = np.maximum(values, 0.0) > 8.0 * deviation  # the grid is coarser than the noise
        central = np.where(known, values, (weight @ grid) / weight.sum(axis=1))
        back = np.sqrt(unshrunk(central, self.terms.reach) / central)
        cumulated = np.cumsum(weight, axis=1)
        return _Spectrum(values, axes, known, deviation, average, grid, cumulated, np.outer(back, back))

    def _with_blocks(self, covariance: Array, spread: Array) -> Array:
        """The same, with every block's own covariance put in its place."""
        change, start = np.eye(len(covariance)), self.frame.numbers
        for share in self.frame.shares:
            inside = slice(start, start + len(share) - 1)
            change[inside, inside] = root(spread[inside, inside]) @ inverse_root(covariance[inside, inside])
            start += len(share) - 1
        return np.asarray(change @ covariance @ change.T)


class _Spectrum(NamedTuple):
    """Noisy second moments along their axes, and where on a grid their eigenvalues may lie."""

    values: Array
    axes: Array
    known: NDArray[np.bool_]  # which are far above the noise
    deviation: float
    average: float
    grid: Array
    cumulated: Array  # weights of the grid, by eigenvalue
    back: Array  # what shrinking took from every entry


def feature_law(
    terms: ScoreTerms, totals: Totals, frame: ScoreFrame, spread: Array, moments: Array | None, rng: np.random.Generator
) -> FeatureLaw:
    """Records of the right shape: skewed numbers, levels by their shares; then whitened exactly."""
    d, many = terms.numbers, max(FEWEST, EACH * terms.directions)
    normal = rng.normal(size=(many // 2, d))
    columns = [_skewed(np.vstack([normal, -normal]), frame.centre[:d], spread[:d, :d], terms.interval)]
    at, start = d, d
    for share in frame.shares:
        width = len(share)
        levels = np.minimum(np.searchsorted(np.cumsum(share), (np.arange(2 * (many // 2)) + 0.5) / many), width - 1)
        rng.shuffle(levels)
        columns.append(frame.basis[at + levels, start : start + width - 1])
        at, start = at + width, start + width - 1
    z = np.concatenate(columns, axis=1)
    z = z - z.mean(axis=0)
    return FeatureLaw(terms, totals, frame, moments, z @ inverse_root(z.T @ z / len(z)))


def _skewed(normal: Array, mean: Array, covariance: Array, interval: tuple[float, float]) -> Array:
    """Numbers of this covariance: log-normal of the skewness that a beta law on the interval has, clipped to it."""
    if not len(mean):
        return normal
    low, high = interval
    place = np.clip((mean - low) / (high - low), 0.01, 0.99)
    spread = np.minimum(np.diag(covariance) / (high - low) ** 2, 0.5 * place * (1.0 - place))
    total = place * (1.0 - place) / spread - 1.0
    skewness = 2.0 * (1.0 - 2.0 * place) * np.sqrt(total + 1.0) / ((total + 2.0) * np.sqrt(place * (1.0 - place)))
    sigma = np.maximum(np.interp(np.abs(skewness), SKEWNESS, SKEWS), 1e-3)
    scale = np.sqrt(np.diag(covariance))
    g = normal @ root(covariance / np.outer(scale, scale)) * np.where(skewness < 0.0, -1.0, 1.0)
    shaped = (np.exp(sigma * g) - np.exp(0.5 * sigma**2)) / np.sqrt(np.expm1(sigma**2) * np.exp(sigma**2))
    return np.asarray(np.clip(mean + scale * shaped * np.where(skewness < 0.0, -1.0, 1.0), low, high))


def root(matrix: Array) -> Array:
    """The symmetric square root."""
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)


def inverse_root(matrix: Array) -> Array:
    """The inverse of the symmetric square root."""
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes / np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))) @ axes.T)
