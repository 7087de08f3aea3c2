"""Chains over unseen moments: where they start, how they are scaled, and when they have run long enough.

Every chain starts at the mode given the release plus *fresh* noise of the same laws: the starts are as far apart as the
noise is wide, so that chains which agree have forgotten them. Newton's method finds a mode on Gaussian noise of equal
variance, and its curvature is the first scale; three windows of warm-up replace it step by step by the covariance of
all chains. Draws go on until every coordinate has mixed, up to a public cap.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from discreet.inference.convergence import until_mixed
from discreet.inference.gaussian.mode import climb, first_point
from discreet.inference.gaussian.unseen_moments import MomentTarget
from discreet.numerics.arrays import Array

__all__ = ["SampleMoments", "sample_moments"]

CHAINS = 4
WINDOWS = (60, 120, 200)
DRAWS, MOST_DRAWS = 600, 19_200
FIRST_STEP = 0.3
SHRUNK = 4.0  # draws that the correlations of before are worth, for each coordinate


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
    progress: Callable[[int], None] | None = None,
    *,
    draws: int = DRAWS,
    most: int = MOST_DRAWS,
) -> SampleMoments:
    """Draws of the unseen moments given the release, from four chains."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        chains = _Chains.started(target, rng)
        for window in WINDOWS:
            chains = chains.rescaled(chains.advance(window, learn=True, progress=progress))
        found = until_mixed(lambda count: {"theta": chains.advance(count, progress=progress)}, draws, most)
    return _named(target, found["theta"])


@dataclass(frozen=True, eq=False)
class _Chains:
    """Where the chains stand; states, generators and tunings move in place."""

    target: MomentTarget
    rngs: tuple[np.random.Generator, ...]
    states: Array
    tunings: Array
    root: Array

    @classmethod
    def started(cls, target: MomentTarget, rng: np.random.Generator) -> "_Chains":
        """At modes given the release plus fresh noise."""
        released = target.released
        deviation = np.where(released.laplace, np.sqrt(2.0), 1.0) * released.scale
        smooth = released._replace(scale=deviation, laplace=np.zeros_like(released.laplace))
        centre, root = climb(target, smooth, first_point(target))
        rngs = tuple(rng.spawn(CHAINS))
        states = np.empty((CHAINS, centre.size))
        for state, own in zip(states, rngs, strict=True):
            fresh = released.value + deviation * own.standard_normal(deviation.size)
            state[:] = climb(target, smooth._replace(value=fresh), centre)[0]
        tunings = np.zeros((CHAINS, 5))
        tunings[:, [0, 1, 4]] = np.log(FIRST_STEP)
        return cls(target, rngs, states, tunings, root)

    def advance(self, count: int, *, learn: bool = False, progress: Callable[[int], None] | None = None) -> Array:
        """The next draws of all chains, (chains, draws, coordinates)."""
        from discreet.inference.gaussian.kernels.trajectories import run_trajectories

        kept, accepted = np.empty((CHAINS, count, self.states.shape[1])), np.empty((CHAINS, count))
        fixed = (self.target.released, *self.target.priors, self.root)

        def run(c: int) -> None:
            run_trajectories(self.rngs[c], *fixed, self.states[c], self.tunings[c], learn, kept[c], accepted[c])

        with ThreadPoolExecutor(min(CHAINS, os.cpu_count() or 1)) as pool:
            list(pool.map(run, range(CHAINS)))
        if progress is not None:
            progress(CHAINS * count)
        return kept

    def rescaled(self, drawn: Array) -> "_Chains":
        """The same chains with the scale of the newer half of these draws, and tuning that starts again from there."""
        newer = drawn[:, drawn.shape[1] // 2 :]
        flat = newer.reshape(-1, newer.shape[-1])
        weight = len(flat) / (len(flat) + SHRUNK * flat.shape[1])
        spread = np.maximum(flat.std(axis=0), 1e-12)
        before = self.root / np.sqrt(np.sum(self.root**2, axis=1))[:, np.newaxis]
        found = np.corrcoef(flat.T).reshape(flat.shape[1], -1)
        blend = weight * found + (1.0 - weight) * (before @ before.T)
        root = np.ascontiguousarray(spread[:, np.newaxis] * np.linalg.cholesky(blend))
        tunings = np.zeros_like(self.tunings)
        tunings[:, [0, 1, 4]] = np.median(self.tunings[:, 1])
        return _Chains(self.target, self.rngs, self.states, tunings, root)


def _named(target: MomentTarget, thetas: Array) -> SampleMoments:
    from discreet.inference.gaussian.kernels.mode_steps import unseen_draws

    leading, flat = thetas.shape[:2], np.ascontiguousarray(thetas.reshape(-1, thetas.shape[-1]))
    p, cells = target.numbers, len(target.unseen.links)
    size, shares = np.empty(len(flat)), np.empty((len(flat), cells))
    means, factors = np.empty((len(flat), p, cells)), np.empty((len(flat), p, p))
    unseen_draws(target.nodes, target.unseen, flat, size, shares, means, factors)
    within = factors @ np.swapaxes(factors, -1, -2)
    return SampleMoments(
        size.reshape(leading),
        shares.reshape(*leading, -1),
        means.reshape(*leading, p, cells),
        within.reshape(*leading, p, p),
    )
