"""Moves of the coordinates that leave a density with a frozen covariance of the sums invariant.

slices         of a block, on ellipses of a normal law: no tuning, and long tails are reached when that law is wide
trajectories   of all coordinates, with the linear model's precision as mass: many dimensions at once
"""

from math import cos, exp, pi, sin
from typing import NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.clamped import TermLayout
from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates
from discreet.inference.gaussian.kernels.density import NoisySums, log_density, log_density_slopes
from discreet.inference.gaussian.kernels.triangular import backward, cholesky, distance, forward, square
from discreet.numerics.arrays import Array, Integers

__all__ = ["Surrogate", "information_of", "move_along", "move_block", "reference_law"]


LENGTH = 1.6  # of a trajectory: a quarter turn of a standard normal law
MOST_STEPS = 20


class Surrogate(NamedTuple):
    """A linear model of the sums around `centre`, their frozen covariance, and a normal law near the prior."""

    centre: Array
    fitted: Array
    slopes: Array  # (terms, coordinates)
    covariance: Array
    prior_mean: Array
    prior_precision: Array


@inner
def information_of(noisy: NoisySums, surrogate: Surrogate, root: Array) -> Array:
    """What the linear model says about theta: precision, and in the last column the pull away from the centre."""
    order = surrogate.centre.size
    terms = root.shape[0]
    whitened, column = np.empty((terms, order + 1)), np.empty(terms)
    for c in range(order + 1):
        for t in range(terms):
            column[t] = surrogate.slopes[t, c] if c < order else noisy.released[t] - surrogate.fitted[t]
        solved = forward(root, column)
        for t in range(terms):
            whitened[t, c] = solved[t]
    return np.dot(whitened.T, whitened)


@inner
def reference_law(surrogate: Surrogate, information: Array, share: float) -> tuple[Array, Array]:
    """Mean and precision of the normal law that a share of the linear model's information and the prior give theta."""
    order = surrogate.centre.size
    precision, pull = surrogate.prior_precision.copy(), np.empty(order)
    for a in range(order):
        pull[a] = share * information[a, order]
        for b in range(order):
            pull[a] += surrogate.prior_precision[a, b] * (surrogate.prior_mean[b] - surrogate.centre[b])
            precision[a, b] += share * information[a, b]
    root = cholesky(precision, np.zeros(order))
    mean = backward(root, forward(root, pull))
    for a in range(order):
        mean[a] += surrogate.centre[a]
    return mean, precision


@inner
def _conditional(mean: Array, precision: Array, theta: Array, block: Integers) -> tuple[Array, Array]:
    """Mean and root of the precision of the block's coordinates given the others, under the normal law."""
    own, pull = np.empty((block.size, block.size)), np.zeros(block.size)
    for a in range(block.size):
        for b in range(theta.size):
            pull[a] -= precision[block[a], b] * (theta[b] - mean[b])
        for b in range(block.size):
            own[a, b] = precision[block[a], block[b]]
    root = cholesky(own, np.zeros(block.size))
    centre = backward(root, forward(root, pull))
    for a in range(block.size):
        centre[a] += theta[block[a]]
    return centre, root


@inner
def move_block(
    rng: np.random.Generator,
    layout: TermLayout,
    coordinates: Coordinates,
    noisy: NoisySums,
    root: Array,
    mean: Array,
    precision: Array,
    block: Integers,
    theta: Array,
) -> Array:
    """Move the block on the ellipse through it and a draw of the normal law given the other coordinates."""
    centre, fit = _conditional(mean, precision, theta, block)
    normal, gap, moved = np.empty(block.size), np.empty(block.size), theta.copy()
    for a in range(block.size):
        normal[a] = rng.standard_normal()
        gap[a] = theta[block[a]] - centre[a]
    other = backward(fit, normal)
    level = log_density(layout, coordinates, noisy, root, theta) + 0.5 * distance(fit, gap)
    level -= rng.standard_exponential()
    angle = 2.0 * pi * rng.random()
    lower, upper = angle - 2.0 * pi, angle
    turned = np.empty(block.size)
    while upper - lower > 1e-12:
        for a in range(block.size):
            turned[a] = gap[a] * cos(angle) + other[a] * sin(angle)
            moved[block[a]] = centre[a] + turned[a]
        if log_density(layout, coordinates, noisy, root, moved) + 0.5 * distance(fit, turned) > level:
            return moved
        if angle < 0.0:
            lower = angle
        else:
            upper = angle
        angle = lower + (upper - lower) * rng.random()
    return theta.copy()


@inner
def move_along(
    rng: np.random.Generator,
    layout: TermLayout,
    coordinates: Coordinates,
    noisy: NoisySums,
    root: Array,
    precision: Array,
    step: float,
    theta: Array,
) -> tuple[Array, float]:
    """Move all coordinates along a trajectory (leapfrog steps, mass `precision`), and the chance of acceptance."""
    mass = cholesky(precision, np.zeros(theta.size))
    momentum, moved = np.empty(theta.size), theta.copy()  # in units where the mass is one
    for a in range(theta.size):
        momentum[a] = rng.standard_normal()
    start = log_density(layout, coordinates, noisy, root, theta) - 0.5 * square(momentum)
    size = step * (0.5 + rng.random())
    steps = min(int(LENGTH / step) + 1, MOST_STEPS)
    push = forward(mass, log_density_slopes(layout, coordinates, noisy, root, moved))
    for _ in range(steps):
        for a in range(theta.size):
            momentum[a] += 0.5 * size * push[a]
        drift = backward(mass, momentum)
        for a in range(theta.size):
            moved[a] += size * drift[a]
        push = forward(mass, log_density_slopes(layout, coordinates, noisy, root, moved))
        for a in range(theta.size):
            momentum[a] += 0.5 * size * push[a]
    gain = log_density(layout, coordinates, noisy, root, moved) - 0.5 * square(momentum) - start
    chance = exp(min(gain, 0.0)) if gain == gain else 0.0
    return (moved if rng.random() < chance else theta.copy()), chance
