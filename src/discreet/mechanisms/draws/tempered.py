"""Posteriors of a temperature on a declared space: their parameters, their densities, and draws in double precision.

The exponents of a conjugate law are a prior part plus `weight` times the data. At temperature T the weight is 1/T, and

    joint        (prior - e)/T + e    e = the exponents of a flat density of the parameter as it is released
    natural      (prior - e)/T + e    e = those of a flat density of the natural parameter (logit, log rate, …)
    likelihood   prior                the prior is left as it is

What is flat in a rate is not flat in its logarithm: raising a density to a power depends on the parametrisation.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.draws.truncated_probabilities import log_mass, truncated_beta_draws, truncated_dirichlet
from discreet.mechanisms.draws.truncated_reals import (
    log_gamma_mass,
    log_normal_mass,
    truncated_gamma_draws,
    truncated_normal_draws,
)
from discreet.queries.centred_columns import above
from discreet.queries.families.base import (
    BoundedMean,
    ConditionalTable,
    Dirichlet,
    ExponentialRate,
    Family,
    GaussianMean,
    SumFamily,
)

__all__ = [
    "Interval",
    "Tempering",
    "log_density",
    "on_scale",
    "parameters",
    "plain_prior",
    "prior_part",
    "scalar_draws",
    "unit_of",
    "vector_draws",
]

Array = NDArray[np.float64]
Interval = tuple[float, float]  # where the parameter lies; of a bounded mean, where its place between the bounds lies
Tempering = Literal["joint", "natural", "likelihood"]


def plain_prior(family: Family | ConditionalTable) -> Array:
    """The prior as exponents, which add to the data: of a normal prior, its precision and precision times mean."""
    if isinstance(family, GaussianMean):
        mean, sd = family.prior
        return np.array([1.0, mean]) / sd**2
    return np.asarray(family.prior, dtype=float)


def prior_part(family: Family | ConditionalTable, temperature: float, tempering: Tempering) -> Array:
    """What the prior adds to the exponents at a temperature."""
    prior = plain_prior(family)
    if tempering == "likelihood":
        return prior
    flat = _flat_exponents(family, tempering)
    return np.asarray((prior - flat) / temperature + flat)


def parameters(family: Family, part: Array, weight: float, statistic: ArrayLike, n: int) -> tuple[Array, Array]:
    """Both textbook parameters of the law for given exact statistics: the count of the level, or the centred sum.

    (a, b) of a Beta, (shape, rate) of a Gamma, (mean, sd) of a normal law.
    """
    first, second = float(part[0]), float(part[1])
    if isinstance(family, Dirichlet):
        s = np.asarray(statistic, dtype=float)
        return second + weight * s, first + weight * (n - s)
    axis = family.axis
    if isinstance(family, BoundedMean):  # a cell is (v + reach) / 2 reach of a success: never more than one
        whole, most = 2.0 * axis.reach, n * axis.reach
        successes, failures = above(statistic, most), above(np.negative(statistic), most)
        return first + weight * successes / whole, second + weight * failures / whole
    total = axis.total(statistic, n)
    if isinstance(family, GaussianMean):
        precision = first + weight * n / family.sd**2
        return (second + weight * total / family.sd**2) / precision, np.full(total.shape, precision**-0.5)
    if isinstance(family, ExponentialRate):
        return np.full(total.shape, first + weight * n), second + weight * total
    return first + weight * total, np.full(total.shape, second + weight * n)


def log_density(family: Family, draws: ArrayLike, law: tuple[Array, Array], space: Interval | None = None) -> Array:
    """Log-density of all `draws` together under every law of the family, cut to `space` where it is given.

    Draws on the very ends of the unit interval are moved inside by half of the smallest step that doubles have there.
    """
    from scipy.special import betaln, gammaln

    theta, (first, second) = np.ravel(np.asarray(draws, dtype=float)), law
    if isinstance(family, GaussianMean):
        mean, sd = first, second
        centre, spread = theta.mean(), theta.var()
        square = theta.size * ((centre - mean) ** 2 + spread) / sd**2
        mass = 0.0 if space is None else log_normal_mass(mean, sd, *space)
        return np.asarray(-0.5 * square - theta.size * (np.log(sd) + 0.5 * np.log(2 * np.pi) + mass))
    if isinstance(family, Dirichlet | BoundedMean):
        a, b = first, second
        low, width = unit_of(family)
        place = np.clip((theta - low) / width, 2.0**-60, 1.0 - 2.0**-53)
        cut = 0.0 if space is None else log_mass(a, b, *space)
        kernel = (a - 1.0) * np.log(place).sum() + (b - 1.0) * np.log1p(-place).sum()
        return np.asarray(kernel - theta.size * (betaln(a, b) + np.log(width) + cut))
    shape, rate = first, second
    theta = np.maximum(theta, np.finfo(float).tiny)
    mass = 0.0 if space is None else log_gamma_mass(shape, rate, *space)
    kernel = (shape - 1.0) * np.log(theta).sum() - rate * theta.sum()
    return np.asarray(kernel + theta.size * (shape * np.log(rate) - gammaln(shape) - mass))


def scalar_draws(
    family: SumFamily, law: tuple[Array, Array], space: Interval, draws: int, generator: np.random.Generator
) -> Array:
    """Independent draws of one law, cut to the declared space; of a bounded mean, of its place between the bounds."""
    first, second = (float(value) for value in law)
    if isinstance(family, BoundedMean):
        return truncated_beta_draws(first, second, *space, draws, generator)
    truncated = truncated_normal_draws if isinstance(family, GaussianMean) else truncated_gamma_draws
    return truncated(first, second, *space, draws, generator)


def vector_draws(
    part: Array, weight: float, counts: NDArray[Any], lower: float, draws: int, generator: np.random.Generator
) -> Array:
    """Independent draws of every row of a table of counts: (draws, *shape), each entry at least `lower`."""
    alpha = part.reshape(counts.shape) + weight * np.asarray(counts, dtype=float)
    rows = [truncated_dirichlet(row, lower, draws, generator) for row in alpha.reshape(-1, alpha.shape[-1])]
    return np.stack(rows, axis=1).reshape(draws, *alpha.shape)


def on_scale(family: Family, places: Array) -> Array:
    """Places between the bounds of a bounded mean as values; every other parameter as it is."""
    low, width = unit_of(family)
    return low + width * places if isinstance(family, BoundedMean) else places


def unit_of(family: Family) -> tuple[float, float]:
    """Where the place 0 lies on the scale of the released parameter, and how wide the step to the place 1 is."""
    if not isinstance(family, BoundedMean):
        return 0.0, 1.0
    low, high = family.axis.ends
    return low, high - low


def _flat_exponents(family: Family | ConditionalTable, tempering: Tempering) -> Array:
    """The exponents of a flat density: 1 for a power of the parameter itself, 0 for a power of its logarithm."""
    if isinstance(family, GaussianMean):
        return np.zeros(2)
    if isinstance(family, ExponentialRate):  # the rate is its own natural parameter, up to the sign
        return np.array([1.0, 0.0])
    own = 1.0 if tempering == "joint" else 0.0
    if isinstance(family, Dirichlet | BoundedMean | ConditionalTable):
        return np.full(len(family.prior), own)
    return np.array([own, 0.0])
