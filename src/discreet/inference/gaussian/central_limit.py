"""Noise-aware posteriors of Gaussian systems with many records: their clamped sums are normal by the central limit.

    s | theta, N ≈ N(N m(theta), N C(theta)),   y = s + noise,   Laplace noise = normal noise of exponential variance w

m and C are the mean and covariance of what one clamped record adds to the terms (`clamped_moments`). The sums are
integrated out: y | theta, w ~ N(N m, N C + diag(w)). A linear model of N m around a central theta makes theta given
(w, y) nearly normal, whether the release or the prior decides. That normal law shapes the moves of theta: slices on its
ellipses, one node or factor at a time, and trajectories of everything with its precision as mass
(`kernels.slice_moves`).
The centre is found by least squares, replaced twice during warm-up by the mean of the chains, and then kept, as is the
length of the trajectories' steps. C is frozen at the centre inside a sweep and corrected by acceptance at its end, so
that the chains are exact for the law above. Rare levels need some tens of records for sums to be near normal.

Nothing here sees records: all of it is post-processing of the release.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import QueryError
from discreet.inference.gaussian.clamped_moments import flatten, layout_of, quasi_random, term_units
from discreet.inference.gaussian.coordinates import (
    coordinates_of,
    encode,
    likely_size,
    name_draws,
    prior_moments,
    small_steps,
)
from discreet.inference.gaussian.first_guess import first_guess
from discreet.inference.gaussian.gaussian_system import GaussianSystem, Parameters
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.clamped import TermLayout
    from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates, Records
    from discreet.inference.gaussian.kernels.density import NoisySums
    from discreet.inference.gaussian.kernels.slice_moves import Surrogate

__all__ = ["CentralLimit", "central_limit"]


POINTS = 2048  # quasi-random records behind a covariance
MOVES = 3  # per sweep, and one more for every four blocks of coordinates
FIRST_STEP, LEARNING = 0.4, 0.05  # of trajectories: their first length of steps, and how fast it adapts in warm-up
ROUNDS = 2  # times the centre is replaced during warm-up
BLOCK = 100  # sweeps between two reports of progress
LEAST_VARIANCE = 0.01  # of noise: far below the integers it is added to


def central_limit(
    system: GaussianSystem,
    axes: Sequence[Axis],
    terms: Sequence[Term],
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    warmup: int = 200,
    chains: int = 4,
    progress: Callable[[int], None] | None = None,
) -> Parameters:
    """Draws of all parameters given the released terms: arrays (chains, draws, …), and "size" (chains, draws).

    Parameters
    ----------
    axes
        One for each node, in their order.
    sizes
        The public number of records, or the prior of a private one.
    draws, warmup
        Kept and dropped sweeps of every chain.
    progress
        Told, now and then, how many sweeps of all chains were done since the last time.
    """
    import scipy.linalg  # noqa: F401 - limits apply to the libraries that are loaded
    from threadpoolctl import threadpool_limits

    if len(axes) != len(system.nodes):
        raise QueryError(f"central_limit.axes must be one for each of {len(system.nodes)} nodes, got {len(axes)}")
    if draws < 1 or warmup < 2 * ROUNDS or chains < 1:
        raise QueryError(f"central_limit must run at least one chain and one draw, got {chains} and {draws}")
    with threadpool_limits(1):
        target = CentralLimit.of(system, axes, terms, sizes)
        surrogate = target.linearised(target.centre())
        states = [target.start(surrogate, child) for child in rng.spawn(chains)]
        for _ in range(ROUNDS):
            warm = target.advance(states, surrogate, LEARNING, warmup // ROUNDS, progress)
            surrogate = target.linearised(warm[:, warm.shape[1] // 2 :].mean(axis=(0, 1)))
        kept = target.advance(states, surrogate, 0.0, draws, progress)
    return name_draws(system, target.coordinates, kept)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where one chain stands; its arrays are updated in place."""

    rng: np.random.Generator
    theta: Array
    variance: Array  # of the noise: fixed for normal noise, moving for Laplace noise
    step: Array  # one entry


@dataclass(frozen=True, eq=False)
class CentralLimit:
    """A posterior given released terms, packed for the compiled chains."""

    layout: "TermLayout"
    coordinates: "Coordinates"
    noisy: "NoisySums"
    records: "Records"
    guess: Array
    steps: Array  # so small that the law of a record hardly changes
    prior_mean: Array
    prior_precision: Array

    @classmethod
    def of(cls, system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term], sizes: Sizes) -> "CentralLimit":
        """Pack a system and what was released of it."""
        from discreet.inference.gaussian.kernels.density import NoisySums

        units, coordinates = term_units(axes, terms), coordinates_of(system, terms, sizes)
        noisy = NoisySums(
            released=np.array([term.released for term in terms]) / units,
            variance=np.array([max(term.law.variance, LEAST_VARIANCE) for term in terms]) / units**2,
            laplace=np.array([not term.law.gaussian for term in terms]),
        )
        guess = first_guess(system, axes, terms, likely_size(terms, sizes))
        *_, probabilities = flatten(system, guess)
        return cls(
            layout_of(system, axes, terms),
            coordinates,
            noisy,
            quasi_random(system, probabilities, POINTS),
            encode(system, coordinates, guess),
            small_steps(system, coordinates, axes),
            *prior_moments(system, coordinates, sizes),
        )

    def centre(self) -> Array:
        """The most likely coordinates under normal noise and the prior's moments, from two starts."""
        from scipy.linalg import solve_triangular
        from scipy.optimize import least_squares

        prior_root = np.linalg.cholesky(self.prior_precision)

        def fit(start: Array) -> tuple[float, Array]:
            root = np.linalg.cholesky(self.covariance(start) + np.diag(self.noisy.variance))

            def residuals(theta: Array) -> Array:
                gap = solve_triangular(root, self.noisy.released - self.expected(theta), lower=True)
                return np.concatenate([gap, prior_root.T @ (theta - self.prior_mean)])

            def slopes(theta: Array) -> Array:
                return np.concatenate(
                    [-solve_triangular(root, self.slopes(theta, self.steps), lower=True), prior_root.T]
                )

            found = least_squares(residuals, start, jac=slopes, x_scale="jac", max_nfev=40)
            return float(found.cost), self.inside(found.x)

        fits = [fit(fit(start)[1]) for start in (self.guess, self.inside(self.prior_mean))]
        return min(fits, key=lambda found: found[0])[1]

    def linearised(self, centre: Array) -> "Surrogate":
        """The linear model around `centre`, with slopes over distances of half a posterior deviation."""
        from discreet.inference.gaussian.kernels.slice_moves import Surrogate

        covariance, slopes = self.covariance(centre), self.slopes(centre, self.steps)
        total = covariance + np.diag(self.noisy.variance)
        precision = np.sum(slopes * np.linalg.solve(total, slopes), axis=0) + np.diag(self.prior_precision)
        slopes = self.slopes(centre, 0.5 / np.sqrt(precision))
        return Surrogate(centre, self.expected(centre), slopes, covariance, self.prior_mean, self.prior_precision)

    def start(self, surrogate: "Surrogate", rng: np.random.Generator) -> Chain:
        """A chain that starts at a draw of the normal law near the posterior."""
        total = surrogate.covariance + np.diag(self.noisy.variance)
        precision = surrogate.slopes.T @ np.linalg.solve(total, surrogate.slopes) + surrogate.prior_precision
        normal = rng.standard_normal(surrogate.centre.size)
        theta = self.inside(surrogate.centre + np.linalg.solve(np.linalg.cholesky(precision).T, normal))
        return Chain(rng, theta, self.noisy.variance.copy(), np.array([FIRST_STEP]))

    def advance(
        self,
        states: Sequence[Chain],
        surrogate: "Surrogate",
        learning: float,
        sweeps: int,
        progress: Callable[[int], None] | None,
    ) -> Array:
        """Move the chains; draws (chains, sweeps, coordinates)."""
        from discreet.inference.gaussian.kernels.central_steps import run_chain

        draws = np.empty((len(states), sweeps, surrogate.centre.size))
        moves = MOVES + (self.coordinates.blocks.size - 1) // 4
        fixed = (self.layout, self.coordinates, self.noisy, self.records, surrogate)

        def run(state: Chain, block: Array) -> None:
            run_chain(state.rng, *fixed, state.theta, state.variance, state.step, learning, moves, block)

        with ThreadPoolExecutor(min(len(states), os.cpu_count() or 1)) as pool:
            for first in range(0, sweeps, BLOCK):
                block = draws[:, first : first + BLOCK]
                list(pool.map(run, states, block))
                if progress is not None:
                    progress(block.shape[0] * block.shape[1])
        return draws

    def expected(self, theta: Array) -> Array:
        """Expected sums, in units of their terms."""
        from discreet.inference.gaussian.kernels.coordinate_maps import expected_sums

        return np.asarray(expected_sums(self.layout, self.coordinates, theta))

    def covariance(self, theta: Array) -> Array:
        """Covariance of the sums, in units of their terms."""
        from discreet.inference.gaussian.kernels.coordinate_maps import sums_covariance

        return np.asarray(sums_covariance(self.layout, self.coordinates, self.records, theta))

    def slopes(self, theta: Array, steps: Array) -> Array:
        """Central differences of the expected sums (terms, coordinates)."""
        columns = []
        for c, distance in enumerate(steps):
            shift = np.zeros(theta.size)
            shift[c] = distance
            columns.append((self.expected(theta + shift) - self.expected(theta - shift)) / (2.0 * distance))
        return np.stack(columns, axis=1)

    def inside(self, theta: Array) -> Array:
        """The same coordinates with a private number of records moved to where its prior allows it."""
        grid, moved = self.coordinates.size_grid, theta.copy()
        if grid.size > 1:
            moved[-1] = np.clip(moved[-1], grid[0] / self.coordinates.size_unit, grid[-1] / self.coordinates.size_unit)
        return moved
