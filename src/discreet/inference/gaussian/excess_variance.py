"""How much more a table varies than normal errors of one variance would: kappa, given the sums of a second stage.

A unit adds t = min(psi² / reference, B) / B, and its released sum is

    Σ t + noise,     Σ t ~ N(n p, n p (1 - p)),     p = (E min(kappa · spread · W, B) + shift) / B, at most 1

where `spread` is 1 and `shift` 0 if the first estimate, at which psi was taken, is right; given draws of the moments,
for normal columns, with F and R the second moments of the two forms whose product psi is and C that of their product,

    spread = (F R + C²) / reference,     shift = (C - offset)² / reference

The variance is the largest that numbers in [0, 1] of mean p can have, whatever their tails. What the cap cuts off is
guessed: W is lognormal of mean 1 and log-variance 2.7 + 3.5 log kappa (2.7 where kappa < 1), which for squares
of normal, gamma, lognormal and t columns is about what kappa goes with; without it kappa 4 would be read as 2.6 at
n = 3,000 and epsilon = 10. Prior: log kappa ~ N(.25, .8²). On a grid of tenths of log kappa, which draws of the moments
that are alike to a fifth of that share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.influence import STEPS, Form
from discreet.queries.statistics import Statistics

__all__ = ["ExcessVariance", "excess_variances", "kappa_draws", "log_noisy_normal"]

PRIOR_MEAN, PRIOR_DEVIATION = 0.25, 0.8
TAIL, TAIL_SLOPE = 2.7, 3.5  # fixed on simulated columns: a normal one has E W² = 15 = e^2.7, an exponential one more
GRID = np.linspace(PRIOR_MEAN - 5.0 * PRIOR_DEVIATION, PRIOR_MEAN + 7.0 * PRIOR_DEVIATION, 97)
ALIKE = np.array([0.02, 0.01, 1e-4])  # of logarithms of spread, 1 + shift and 1 + rows: what is nearer has one grid
LARGEST_RELEASED = 2**100  # in steps; a release file may hold any integer


@dataclass(frozen=True, eq=False)
class ExcessVariance:
    """What was released about one reported number; forms are of (1, columns in half-ranges, indicators of levels).

    `left · right - offset` is psi in units of the root of its reference, and `bound` the B above.
    """

    released: float
    law: NoiseLaw
    unit: float
    bound: float
    left: Array
    right: Array
    offset: float

    def spread_and_shift(self, means: Array, covariances: Array) -> tuple[Array, Array]:
        """For draws (…, p) of the means and (…, p, p) of the covariances of the columns that the forms are of."""
        ones = np.ones((*means.shape[:-1], 1))
        raw = np.concatenate([ones, means], axis=-1)
        moments = raw[..., :, None] * raw[..., None, :]
        moments[..., 1:, 1:] += covariances
        both = moments @ self.right
        squares = np.einsum("...i,i->...", moments @ self.left, self.left) * np.einsum("...i,i->...", both, self.right)
        product = np.einsum("...i,i->...", both, self.left)
        return np.asarray(squares + product**2), np.asarray((product - self.offset) ** 2)


def excess_variances(
    query: Statistics, value: Mapping[str, Any], laws: Mapping[str, NoiseLaw]
) -> dict[str, ExcessVariance]:
    """One for each number that a robust model reports, in order, from the release of the table or of one group.

    Without a second stage there are none.
    """
    second = query.second
    if second is None:
        return {}
    released = [
        float(min(max(int(number), -LARGEST_RELEASED), LARGEST_RELEASED))
        for number in np.ravel(np.asarray(value[second.name], dtype=object))
    ]
    found = {}
    functions = second.functions(query, value, laws)
    for name, number, function in zip(second.reported, released, functions, strict=True):
        deviation = function.divisor * STEPS / function.bound**0.5
        left, right = (_vector(form, second.axes) for form in (function.left, function.right))
        found[name] = ExcessVariance(
            number,
            laws[second.name],
            float(second.unit),
            function.bound,
            left / deviation,
            right,
            function.offset / deviation,
        )
    return found


def kappa_draws(
    excess: ExcessVariance,
    n: float | Array,
    rng: np.random.Generator,
    size: int,
    moments: tuple[Array, Array] | None = None,
) -> Array:
    """Draws of kappa, given the number of rows, or draws of it.

    `moments` are draws of the means and the covariances of the columns; without them the first estimate is taken as
    right.
    """
    rows = np.maximum(np.broadcast_to(np.asarray(n, dtype=float), (size,) if np.ndim(n) else (1,)), 0.0)
    spread, shift = (np.ones(1), np.zeros(1)) if moments is None else excess.spread_and_shift(*moments)
    logs = np.stack(np.broadcast_arrays(np.log(np.maximum(spread, 1e-12)), np.log1p(shift), np.log1p(rows)), axis=1)
    groups, group = np.unique(np.round(logs / ALIKE), axis=0, return_inverse=True)
    spread, shift, rows = (column[:, np.newaxis] for column in (groups * ALIKE).T)
    rows = np.expm1(rows)
    mean = _capped(np.exp(GRID), np.exp(spread), excess.bound) + np.expm1(shift)
    share = np.minimum(mean / excess.bound, 1.0)
    expected, variance = rows * share, rows * share * (1.0 - share)
    weights = log_noisy_normal(excess.released / excess.unit - expected, variance, excess.law, excess.unit)
    weights = weights - 0.5 * ((GRID - PRIOR_MEAN) / PRIOR_DEVIATION) ** 2
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    sums = np.broadcast_to(np.cumsum(weights, axis=1)[np.ravel(group)], (size, GRID.size))
    chosen = (sums < rng.random((size, 1)) * sums[:, -1:]).sum(axis=1)
    step = GRID[1] - GRID[0]
    return np.asarray(np.exp(GRID[np.minimum(chosen, GRID.size - 1)] + step * (rng.random(size) - 0.5)))


def log_noisy_normal(distance: Array, variance: Array, law: NoiseLaw, unit: float) -> Array:
    """Log-density, up to a constant, of normal error plus noise of this law in steps of 1/unit.

    Laplace plus normal noise has a closed form; noise of whole numbers is as good as continuous: a step is tiny.
    """
    if law.gaussian:
        whole = variance + law.variance / unit**2
        return np.asarray(-0.5 * distance**2 / whole - 0.5 * np.log(whole))
    scale = law.width / unit
    deviation = np.sqrt(np.maximum(variance, (1e-6 * scale) ** 2))
    ratio, z = deviation / scale, distance / deviation
    sides = [0.5 * ratio**2 - sign * z * ratio + log_ndtr(sign * z - ratio) for sign in (1.0, -1.0)]
    return np.asarray(np.logaddexp(*sides))


def _capped(kappa: Array, spread: Array, bound: float) -> Array:
    """E min(kappa · spread · W, bound) for the lognormal W that goes with kappa."""
    variance = TAIL + TAIL_SLOPE * np.maximum(np.log(kappa), 0.0)
    mean, deviation = kappa * np.maximum(spread, 1e-12), np.sqrt(variance)
    room = np.log(bound / mean)
    below, above = ndtr((room - 0.5 * variance) / deviation), ndtr(-(room + 0.5 * variance) / deviation)
    return np.asarray(mean * below + bound * above)


def _vector(form: Form, axes: tuple[Axis, ...]) -> Array:
    """The form as a function of (1, columns in half-ranges, indicators of all levels but the first)."""
    numbers = [number * axis.reach for number, axis in zip(form.numbers, axes, strict=True)]
    effects = [effect for levels in form.levels for effect in levels[1:]]
    return np.array([form.constant, *numbers, *effects], dtype=float)
