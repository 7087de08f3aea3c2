"""Where the features lie: their centre, energy, and what counts alone say of their covariance.

A one-hot block of L levels has L - 1 directions: an orthonormal basis of what sums to 0. With shares pi its covariance
is known from counts, diag(pi) - pi pi'. Numbers are taken to be spread evenly until second moments say more.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_terms import ScoreTerms, Totals

__all__ = ["ScoreFrame", "contrasts", "floored_shares", "frame_of"]

LEAST_ENERGY = 1e-3  # of the squared radius: a floor under the spread of numbers
FEWEST = 0.5  # rows that a level has at least, or as many as its noise


@dataclass(frozen=True)
class ScoreFrame:
    """z = B'(x - m): `basis` is B, (features, directions); `spread` the covariance of z that totals know."""

    basis: Array
    centre: Array
    shares: tuple[Array, ...]
    spread: Array
    numbers: int
    slack: float  # a deviation of what totals say of the energy

    @property
    def energy(self) -> float:
        """The energy t = E|z|^2."""
        return float(np.trace(self.spread))

    @property
    def unit(self) -> float:
        """What second moments are divided by: rather above the energy than below it, where shrinking hides it."""
        return self.energy + self.slack

    @cached_property
    def known(self) -> Array:
        """Which entries of the covariance follow from counts: those within a block."""
        found, start = np.zeros(self.spread.shape, dtype=bool), self.numbers
        for share in self.shares:
            inside = slice(start, start + len(share) - 1)
            found[inside, inside] = True
            start += len(share) - 1
        return found

    def map_of(self, rows_of: Array) -> Array:
        """The matrix of M B'(x - m) as a function of (1, x)."""
        slopes = rows_of @ self.basis.T
        return np.column_stack([-slopes @ self.centre, slopes])


def contrasts(levels: int) -> Array:
    """Orthonormal columns that sum to 0, (levels, levels - 1): each level against those before it."""
    found = np.zeros((levels, levels - 1))
    for j in range(1, levels):
        found[:j, j - 1], found[j, j - 1] = 1.0, -float(j)
        found[:, j - 1] /= np.sqrt(j * (j + 1.0))
    return found


def floored_shares(counts: Array, size: float, deviation: float) -> Array:
    """Shares of levels: noisy counts, moved by one number to the sum they must have, floored and renormalised."""
    moved = counts - (counts.sum() - size) / len(counts)
    share = np.maximum(moved, max(FEWEST, 0.5 * deviation))
    return np.asarray(share / share.sum())


def frame_of(terms: ScoreTerms, totals: Totals) -> ScoreFrame:
    """Centre and energy are shrunk by the known noise, shares of levels floored and renormalised."""
    n, d, noise = max(totals.size, 1.0), terms.numbers, terms.totals_sd
    features = d + sum(terms.blocks)
    basis, spread = np.zeros((features, terms.directions)), np.zeros((terms.directions, terms.directions))
    centre, shares = np.zeros(features), []
    if d:
        mean = totals.sums / n
        length = float(mean @ mean)
        kept = max(0.0, 1.0 - d * (noise / n) ** 2 / max(length, 1e-300))
        centre[:d] = kept * mean
        energy = min(max(totals.squares / n, 0.0), terms.radius**2) - kept * length
        floor = LEAST_ENERGY * terms.radius**2
        basis[:d, :d] = np.eye(d)
        spread[:d, :d] = np.eye(d) * max(energy, floor) / d
    at, to = d, d
    for size, counts in zip(terms.blocks, totals.levels, strict=True):
        share = floored_shares(counts, n, noise)
        b = contrasts(size)
        basis[at : at + size, to : to + size - 1] = b
        spread[to : to + size - 1, to : to + size - 1] = b.T @ (np.diag(share) - np.outer(share, share)) @ b
        centre[at : at + size] = share
        shares.append(share)
        at, to = at + size, to + size - 1
    return ScoreFrame(basis, centre, tuple(shares), spread, d, noise * max(terms.radius, 1.0) / n if d else 0.0)
