"""Chains over unseen moments: where they start, which directions they learn, and when they have run long enough.

Every chain starts at the moments of the release plus *fresh* noise of the same laws, made positive: the starts are as
far apart as the noise is wide, so that chains which agree have forgotten them. Three windows of warm-up learn along
which directions shares and means move together. Draws go on until every reported number has mixed, up to a public cap.
One number needs no chains (`one_number`).
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from discreet.inference.convergence import until_mixed
from discreet.inference.gaussian.one_number import draw_one_number, is_one_number
from discreet.inference.gaussian.unseen_moments import MomentTarget, likely_rows
from discreet.numerics.arrays import Array

__all__ = ["SampleMoments", "sample_moments"]

CHAINS = 4
WINDOWS = ((60, 20.0), (60, 4.0), (120, 1.0))  # sweeps, and how much wider the windows of entries are
DRAWS, MOST_DRAWS = 500, 32_000
FIRST_DIRECTION = 0.3
SHRUNK = 4.0  # draws that independent coordinates are worth, for each of them
INSIDE = 0.98  # of the room of means and variances, at the start


@dataclass(frozen=True, eq=False)
class SampleMoments:
    """Draws of the rows' own moments, per row and in half-ranges; the first two axes are chains and draws.

    `shares` (…, cells), `means` (…, numbers, cells), `within` (…, numbers, numbers), `size` (…).
    """

    size: Array
    shares: Array
    means: Array
    within: Array

    def design_moments(self, design: Array) -> Array:
        """Second moments (…, k, k) of (dummies with a constant, numbers)."""
        crossed = np.einsum("ca,...c,...jc->...aj", design, self.shares, self.means)
        squares = np.einsum("...c,...ic,...jc->...ij", self.shares, self.means, self.means) + self.within
        levels = np.einsum("ca,...c,cb->...ab", design, self.shares, design)
        top = np.concatenate([levels, crossed], axis=-1)
        return np.concatenate([top, np.concatenate([np.swapaxes(crossed, -1, -2), squares], axis=-1)], axis=-2)


def sample_moments(
    target: MomentTarget,
    rng: np.random.Generator,
    reported: Callable[[SampleMoments], Mapping[str, Array]],
    progress: Callable[[int], None] | None = None,
    *,
    draws: int = DRAWS,
    most: int = MOST_DRAWS,
) -> SampleMoments:
    """Draws of the unseen moments given the release, from four chains; what users see of them is what must mix.

    Of one number there is a better way than chains: its draws are independent, and look like four short chains.
    """
    if is_one_number(target):
        return _independent(target, rng, draws)
    chains = _Chains.started(target, rng)
    for sweeps, wide in WINDOWS:
        chains = chains.redirected(chains.advance(sweeps, wide, progress)["points"])
    found = until_mixed(
        lambda count: chains.advance(count, 1.0, progress), draws, most, lambda drawn: reported(_named(target, drawn))
    )
    return _named(target, found)


def _independent(target: MomentTarget, rng: np.random.Generator, draws: int) -> SampleMoments:
    mean, variance = (found.reshape(CHAINS, draws) for found in draw_one_number(target, CHAINS * draws, rng))
    size = np.full((CHAINS, draws), target.unseen.size)
    shares, means = np.ones((CHAINS, draws, 1)), mean[..., np.newaxis, np.newaxis]
    return SampleMoments(size, shares, means, variance[..., np.newaxis, np.newaxis])


@dataclass(frozen=True, eq=False)
class _Chains:
    """Where the chains stand; points, covariances and generators move in place."""

    target: MomentTarget
    rngs: tuple[np.random.Generator, ...]
    points: Array
    covariances: Array
    root: Array

    @classmethod
    def started(cls, target: MomentTarget, rng: np.random.Generator) -> "_Chains":
        """At the release plus fresh noise."""
        rngs = tuple(rng.spawn(CHAINS))
        starts = [_start(target, own) for own in rngs]
        points = np.array([point for point, _ in starts]).reshape(CHAINS, -1)
        root = np.diag(np.full(points.shape[1], FIRST_DIRECTION))
        if target.unseen.size_grid.size:
            root[-1, -1] = 1.0 + 0.05 * points[:, -1].mean()
        return cls(target, rngs, points, np.array([within for _, within in starts]), root)

    def advance(self, count: int, wide: float, progress: Callable[[int], None] | None = None) -> dict[str, Array]:
        """The next draws of all chains, (chains, draws, …): points, covariances, slopes and residual of the last."""
        from discreet.inference.gaussian.kernels.moment_moves import run_sweeps

        p, dimension = self.target.numbers, self.points.shape[1]
        points = np.empty((CHAINS, count, dimension))
        covariances, rows = np.empty((CHAINS, count, p, p)), np.empty((CHAINS, count, p))
        fixed = (self.target.released, *self.target.priors, self.root, wide)

        def run(c: int) -> None:
            made = points[c], covariances[c], rows[c]
            run_sweeps(self.rngs[c], *fixed, self.points[c], self.covariances[c], *made)

        with ThreadPoolExecutor(min(CHAINS, os.cpu_count() or 1)) as pool:
            list(pool.map(run, range(CHAINS)))
        if progress is not None:
            progress(CHAINS * count)
        return {"points": points, "covariances": covariances, "slopes": rows}

    def redirected(self, points: Array) -> "_Chains":
        """The same chains along the principal directions of the newer half of these draws."""
        newer = points[:, points.shape[1] // 2 :]
        flat = newer.reshape(-1, newer.shape[-1])
        weight = len(flat) / (len(flat) + SHRUNK * flat.shape[1])
        spread = np.maximum(flat.std(axis=0), 1e-12)
        moved = spread > 1e-12
        found = np.eye(len(spread))
        found[np.ix_(moved, moved)] = np.corrcoef(flat[:, moved].T).reshape(moved.sum(), -1)
        values, vectors = np.linalg.eigh(weight * found + (1.0 - weight) * np.eye(len(spread)))
        root = spread[:, np.newaxis] * vectors * np.sqrt(values)
        if len(self.target.unseen.links) > 1:  # rare cells have long tails of their own: also one by one
            root = np.concatenate([root, np.diag(spread)], axis=1)
        root = np.ascontiguousarray(root)
        return _Chains(self.target, self.rngs, self.points, self.covariances, root)


def _start(target: MomentTarget, rng: np.random.Generator) -> tuple[Array, Array]:
    """A point and a covariance: the moments of the release plus fresh noise, within their bounds and positive."""
    released, unseen, p = target.released, target.unseen, target.numbers
    deviation = np.where(released.laplace, np.sqrt(2.0), 1.0) * released.scale
    value = released.value + deviation * rng.standard_normal(deviation.size)
    grid = unseen.size_grid
    low, high = (grid[0], grid[-1]) if grid.size else (unseen.size, unseen.size)
    n = likely_rows(released._replace(value=value), low, high)
    n = float(np.clip(n, low + 1e-3 * (high - low), high - 1e-3 * (high - low)))
    counts, cells = released.first < 0, len(unseen.links)
    # of every term its part of a cell, as if rows were spread evenly over the cells that it counts
    tables = counts & (released.members.sum(axis=1) < cells)
    even = released.members / released.members.sum(axis=1, keepdims=True)
    shares = np.full(cells, 1.0 / cells)
    if tables.any():
        shares = np.maximum(np.mean(even[tables] * value[tables, np.newaxis], axis=0), 0.05 * max(n, 1.0) / cells)
        shares /= shares.sum()
    links = np.linalg.lstsq(unseen.links, np.log(shares) - np.log(shares[0]), rcond=None)[0]
    etas = []
    for j in range(p):
        sums = (released.first == j) & (released.second < 0)
        rows = n * released.members[sums] @ shares
        inside = 1.0 - np.minimum(0.5 * deviation[sums] / np.maximum(rows, 1.0), 1.0 - INSIDE)
        means = np.clip(value[sums] / np.maximum(rows, 1.0), -inside, inside)
        weights = released.members[sums]
        by_cell = weights.T @ means / weights.sum(axis=0)
        etas.append(np.linalg.lstsq(unseen.basis, np.arctanh(by_cell), rcond=None)[0])
    point = np.concatenate([links, *etas, [n] if grid.size else []])
    return point, _positive(target, point, value / max(n, 1.0), deviation / max(n, 1.0))  # also of no rows


def _positive(target: MomentTarget, point: Array, moments: Array, widths: Array) -> Array:
    """The covariance that goes with released products, its eigenvalues no smaller than noise, within its room."""
    shares, means = _placed(target, point[np.newaxis])
    crossed = np.einsum("c,ic,jc->ij", shares[0], means[0], means[0])
    pairs = target.released.pairs
    values, vectors = np.linalg.eigh(moments[pairs] - crossed)
    least = 0.3 * float(np.median(widths[pairs])) + 1e-9
    within = (vectors * np.maximum(values, least)) @ vectors.T
    room = np.maximum(np.sum(shares[0] * (1.0 - means[0] ** 2), axis=1), 1e-9)
    shrink = np.minimum(np.sqrt(INSIDE * room / np.diag(within)), 1.0)
    return np.ascontiguousarray(within * np.outer(shrink, shrink))


def _named(target: MomentTarget, drawn: Mapping[str, Array]) -> SampleMoments:
    points, covariances = drawn["points"], drawn["covariances"]
    shares, means = _placed(target, np.ascontiguousarray(points.reshape(-1, points.shape[-1])))
    leading = points.shape[:2]
    size = points[..., -1] if target.unseen.size_grid.size else np.full(leading, target.unseen.size)
    return SampleMoments(size, shares.reshape(*leading, -1), means.reshape(*leading, *means.shape[1:]), covariances)


def _placed(target: MomentTarget, points: Array) -> tuple[Array, Array]:
    """Shares (draws, cells) and means (draws, numbers, cells)."""
    from discreet.inference.gaussian.kernels.unseen_layout import place_all

    cells = len(target.unseen.links)
    shares, means = np.empty((len(points), cells)), np.empty((len(points), target.numbers, cells))
    place_all(target.unseen, points, shares, means)
    return shares, means
