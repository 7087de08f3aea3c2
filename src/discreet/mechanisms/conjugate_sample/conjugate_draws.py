"""Exact draws of conjugate posteriors whose data are scaled by r and whose prior is divided by m.

    eta = eta0 / m + r (statistics, n)

Draws are made by numpy's own samplers on the generator that is given; nothing is rejected or clipped here. A Gamma of
small shape is one of shape + 1 times a power of a uniform number. numpy's own is that power alone for the smallest
shapes, and up to about 12 its small values come from the difference of two numbers near 1: both are lattices that
released numbers would show.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.families.base import BoundedMean, Dirichlet, Family, GaussianMean, PoissonRate

__all__ = ["SMALL_SHAPE", "beta_parameters", "conjugate_draws", "gamma_draws", "normal_posterior"]

Array = NDArray[np.float64]

SMALL_SHAPE = 12.0


def conjugate_draws(
    family: Family, statistic: Any, n: int, scale: float, shrink: float, draws: int, rng: np.random.Generator
) -> Array:
    """Independent draws of the parameter: (draws,), or (draws, cells) for a vector of probabilities.

    A bounded mean is drawn as its place between the bounds: what maps it to them is public and comes after rounding.
    `statistic` is the table of counts, or the sum of a column on its centred axis.
    """
    if isinstance(family, Dirichlet):
        alpha = np.asarray(family.prior) / shrink + scale * np.ravel(np.asarray(statistic, dtype=float))
        if family.coordinate is None:
            return np.asarray(rng.dirichlet(alpha, size=draws))
        # the others are added up: their difference from the total would have no digits left where one level has all
        others = float(np.delete(alpha, family.coordinate).sum())
        return np.asarray(rng.beta(float(alpha[family.coordinate]), others, size=draws))
    first, second = family.prior
    if isinstance(family, BoundedMean):
        return np.asarray(rng.beta(*beta_parameters(family, statistic, n, scale, shrink), size=draws))
    total = float(family.axis.total(int(statistic), n))
    if isinstance(family, GaussianMean):
        mean, sd = normal_posterior(family, total, n, scale, shrink)
        return np.asarray(mean + sd * rng.standard_normal(draws))
    if isinstance(family, PoissonRate):
        return gamma_draws(first / shrink + scale * total, second / shrink + scale * n, draws, rng)
    return gamma_draws(first / shrink + scale * n, second / shrink + scale * total, draws, rng)


def gamma_draws(shape: float, rate: float, draws: int, rng: np.random.Generator) -> Array:
    """Draws of Gamma(shape, rate); one that doubles cannot hold is infinite."""
    small = shape < SMALL_SHAPE
    standard = rng.standard_gamma(shape + small, size=draws)
    if small:
        standard = standard * np.exp(-rng.standard_exponential(draws) / shape)
    with np.errstate(over="ignore"):
        return np.asarray(standard / rate)


def normal_posterior(family: GaussianMean, total: float, n: int, scale: float, shrink: float) -> tuple[float, float]:
    """Mean and deviation of the draw of a mean."""
    mean, sd = family.prior
    prior, data = 1.0 / (shrink * sd**2), scale / family.sd**2
    precision = prior + n * data
    return (prior * mean + data * total) / precision, precision**-0.5


def beta_parameters(family: BoundedMean, statistic: Any, n: int, scale: float, shrink: float) -> tuple[float, float]:
    """Successes and failures of a bounded mean. A cell is (v + reach) / 2 reach of a success: never more than one.

    Fractions of the declared bounds would not do: a bound that is off the grid lets a cell reach beyond it.
    """
    centred, most, whole = int(statistic), n * family.axis.reach, 2 * family.axis.reach
    first, second = family.prior
    return first / shrink + scale * ((most + centred) / whole), second / shrink + scale * ((most - centred) / whole)
