"""The laws of one real parameter, by the name that a family gives: how they are drawn, and what released draws say.

| law | parameters | where |
|---|---|---|
| normal | mean, sd | the line |
| beta | a, b | the unit interval |
| gamma | shape, rate | the half-line |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.mechanisms.draws.draw_laws import HALF_LINE, LINE, UNIT, log_beta_draws, log_gamma_draws, log_normal_draws
from discreet.mechanisms.draws.public_grid import NORMAL_ERROR, RATIO_ERROR, rounded
from discreet.mechanisms.draws.truncated_probabilities import log_mass, truncated_beta_draws
from discreet.mechanisms.draws.truncated_reals import (
    log_gamma_mass,
    log_normal_mass,
    truncated_gamma_draws,
    truncated_normal_draws,
)
from discreet.numerics.arrays import Array
from discreet.queries.families import Interval, OneConjugate

__all__ = ["LAWS", "SMALL_SHAPE", "RealLaw", "gamma_draws", "log_density", "log_draws"]


SMALL_SHAPE = 12.0


@dataclass(frozen=True)
class RealLaw:
    """Functions of both parameters (first, second) of a law; `error` is what doubles still show of a rounded draw."""

    error: float
    whole: Interval
    draws: Callable[[float, float, int, np.random.Generator], Array]
    truncated: Callable[[float, float, float, float, int, np.random.Generator], Array]
    log_mass: Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], Array]
    log_kernel: Callable[[Array, Array, Array], tuple[Array, Array]]
    log_rounded: Callable[..., Array]
    deviation: Callable[[Array, Array], Array]


def log_density(family: OneConjugate, draws: ArrayLike, law: tuple[Array, Array], space: Interval) -> Array:
    """Log-density of all `draws` together under every law of the family, cut to `space`."""
    own, (first, second), (low, width) = LAWS[family.law], law, family.unit
    places = (np.ravel(np.asarray(draws, dtype=float)) - low) / width
    kernel, constant = own.log_kernel(places, first, second)
    return np.asarray(kernel - places.size * (constant + np.log(width) + own.log_mass(first, second, *space)))


def log_draws(
    family: OneConjugate, draws: ArrayLike, grid: float, law: tuple[Array, Array], space: Interval | None = None
) -> Array:
    """Log-probability of all released draws together under every law of the family, cut to `space` where it is given.

    The space and the grid of a bounded mean are those of its place between the bounds.
    """
    values, own = np.ravel(np.asarray(draws, dtype=float)), LAWS[family.law]
    within, (low, width) = own.whole if space is None else space, family.unit
    if family.is_place:  # it was rounded before it was mapped
        values = rounded(np.clip((values - low) / width, *within), grid)
    return np.asarray(own.log_rounded(values, grid, *law, within) - values.size * np.log(width))


def gamma_draws(shape: float, rate: float, draws: int, noise: np.random.Generator) -> Array:
    """Draws of Gamma(shape, rate); one that doubles cannot hold is infinite.

    A Gamma of small shape is one of shape + 1 times a power of a uniform number. numpy's own is that power alone for
    the smallest shapes, and up to about 12 its small values come from the difference of two numbers near 1: both are
    lattices that released numbers would show.
    """
    small = shape < SMALL_SHAPE
    standard = noise.standard_gamma(shape + small, size=draws)
    if small:
        standard = standard * np.exp(-noise.standard_exponential(draws) / shape)
    with np.errstate(over="ignore"):
        return np.asarray(standard / rate)


def _log_normal(theta: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """The logarithm of the density of all draws: a kernel, and a constant to be taken off for each of them."""
    square = theta.size * ((theta.mean() - mean) ** 2 + theta.var()) / sd**2
    return -0.5 * square, np.log(sd) + 0.5 * np.log(2 * np.pi)


def _log_beta(theta: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """Draws on the very ends are moved inside by half of the smallest step that doubles have there."""
    from scipy.special import betaln

    place = np.clip(theta, 2.0**-60, 1.0 - 2.0**-53)
    return (a - 1.0) * np.log(place).sum() + (b - 1.0) * np.log1p(-place).sum(), betaln(a, b)


def _log_gamma(theta: Array, shape: Array, rate: Array) -> tuple[Array, Array]:
    from scipy.special import gammaln

    theta = np.maximum(theta, np.finfo(float).tiny)
    return (shape - 1.0) * np.log(theta).sum() - rate * theta.sum(), gammaln(shape) - shape * np.log(rate)


LAWS = {
    "normal": RealLaw(
        NORMAL_ERROR,
        LINE,
        lambda mean, sd, draws, noise: mean + sd * noise.standard_normal(draws),
        truncated_normal_draws,
        log_normal_mass,
        _log_normal,
        log_normal_draws,
        lambda mean, sd: sd,  # noqa: ARG005
    ),
    "beta": RealLaw(
        RATIO_ERROR,
        UNIT,
        lambda a, b, draws, noise: noise.beta(a, b, size=draws),
        truncated_beta_draws,
        log_mass,
        _log_beta,
        log_beta_draws,
        lambda a, b: np.asarray(np.sqrt(a * b / (a + b + 1.0)) / (a + b)),
    ),
    "gamma": RealLaw(
        RATIO_ERROR,
        HALF_LINE,
        gamma_draws,
        truncated_gamma_draws,
        log_gamma_mass,
        _log_gamma,
        log_gamma_draws,
        lambda shape, rate: np.asarray(np.sqrt(shape) / rate),
    ),
}
