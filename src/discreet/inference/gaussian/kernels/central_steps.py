"""Chains for many records: the released sums are normal around N m(theta).

One sweep, with r = y - N m(theta) and V = N C(theta) + diag(w), w the noise variances:

    1. w of Laplace noise given the unseen sums s ~ p(s | theta, w, y)                      exact draws
    2. theta by slices of single blocks and by trajectories of all, with V frozen           invariant moves
    3. accept the moved theta by the ratio that puts V(theta) in the place of the frozen V  one covariance per sweep
"""

from math import exp, log, sqrt

import numpy as np

from discreet.inference.gaussian.kernels.clamped import TermLayout
from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates, Records, expected_sums, sums_covariance
from discreet.inference.gaussian.kernels.density import NoisySums, log_density
from discreet.inference.gaussian.kernels.slice_moves import (
    Surrogate,
    information_of,
    move_along,
    move_block,
    reference_law,
)
from discreet.inference.gaussian.kernels.triangular import backward, cholesky, forward
from discreet.numerics.arrays import Array

__all__ = ["run_chain"]


# How much of the release's information shapes the ellipse of a move: all of it, or little or none for long tails, as of
# a mean beyond the bounds where every record is clamped alike.
SHARES = np.array([1.0, 1.0, 0.1, 0.01, 0.0])
WANTED = 0.8  # chance of acceptance that the length of steps is adapted to during warm-up


@inner
def _draw_variances(
    rng: np.random.Generator, noisy: NoisySums, covariance: Array, root: Array, sums: Array, variance: Array
) -> None:
    """Redraw the variances of Laplace noise given unseen sums drawn from their law given all else."""
    spread = cholesky(covariance, np.zeros(sums.size))
    normal, error, gap = np.empty(sums.size), np.empty(sums.size), np.empty(sums.size)
    for t in range(sums.size):
        normal[t] = rng.standard_normal()
        error[t] = sqrt(variance[t]) * rng.standard_normal()
        gap[t] = noisy.released[t] - sums[t] - error[t]
        for k in range(t + 1):
            gap[t] -= spread[t, k] * normal[k]
    pulled = backward(root, forward(root, gap))
    for t in range(sums.size):
        if noisy.laplace[t]:
            gone = abs(error[t] + variance[t] * pulled[t])  # the noise, given the released sums
            scale = sqrt(0.5 * noisy.variance[t])
            chi = rng.standard_normal() ** 2
            # the larger root of the inverse-Gaussian draw of 1 / w, written for w: nothing cancels
            wide = scale * (gone + 0.5 * scale * chi + sqrt(scale * chi * (gone + 0.25 * scale * chi)))
            narrow = (scale * gone) ** 2 / max(wide, 1e-300)
            chosen = wide if rng.random() * (wide + scale * gone) < wide else narrow
            variance[t] = max(chosen, 1e-9 * noisy.variance[t])


@entry
def run_chain(
    rng: np.random.Generator,
    layout: TermLayout,
    coordinates: Coordinates,
    noisy: NoisySums,
    records: Records,
    surrogate: Surrogate,
    theta: Array,
    variance: Array,
    step: Array,
    learning: float,
    moves: int,
    draws: Array,
) -> int:
    """Fill `draws` (sweeps, coordinates), update theta, variance and step in place; how many sweeps were accepted."""
    accepted, everything = 0, np.arange(theta.size)
    covariance = sums_covariance(layout, coordinates, records, theta)
    for sweep in range(draws.shape[0]):
        root = cholesky(covariance, variance)
        _draw_variances(rng, noisy, covariance, root, expected_sums(layout, coordinates, theta), variance)
        frozen = cholesky(surrogate.covariance, variance)
        information = information_of(noisy, surrogate, frozen)
        moved = theta.copy()
        for _ in range(moves):  # each kind at random, so that together they are reversible, as the acceptance needs
            if rng.random() < 0.5:
                _, precision = reference_law(surrogate, information, 1.0)
                moved, chance = move_along(rng, layout, coordinates, noisy, frozen, precision, step[0], moved)
                step[0] *= exp(learning * (chance - WANTED))
            else:
                share = SHARES[int(rng.random() * SHARES.size)]
                mean, precision = reference_law(surrogate, information, share)
                chosen = int(rng.random() * (coordinates.blocks.size - 1))
                block = everything[coordinates.blocks[chosen] : coordinates.blocks[chosen + 1]]
                moved = move_block(rng, layout, coordinates, noisy, frozen, mean, precision, block, moved)
        new_covariance = sums_covariance(layout, coordinates, records, moved)
        old, new = cholesky(covariance, variance), cholesky(new_covariance, variance)
        gain = log_density(layout, coordinates, noisy, new, moved) - log_density(layout, coordinates, noisy, old, theta)
        gain -= log_density(layout, coordinates, noisy, frozen, moved)
        gain += log_density(layout, coordinates, noisy, frozen, theta)
        for t in range(variance.size):
            gain -= log(new[t, t]) - log(old[t, t])
        if -rng.standard_exponential() < gain:
            accepted += 1
            covariance = new_covariance
            for a in range(theta.size):
                theta[a] = moved[a]
        for a in range(theta.size):
            draws[sweep, a] = theta[a]
    return accepted
