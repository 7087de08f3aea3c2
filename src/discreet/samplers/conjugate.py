"""Exact draws of conjugate posteriors whose data are scaled by r and whose prior is divided by m.

    eta = eta0 / m + r (statistics, n)

Draws are made by numpy's own samplers on the generator that is given; nothing is rejected or clipped here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.families import BoundedMean, Dirichlet, ExponentialRate, Family, GaussianMean, PoissonRate

__all__ = ["conjugate_draws", "normal_posterior"]

Array = NDArray[np.float64]


def conjugate_draws(
    family: Family, statistic: Any, n: int, scale: float, shrink: float, draws: int, rng: np.random.Generator
) -> Array:
    """Independent draws of the parameter: (draws,), or (draws, cells) for a vector of probabilities.

    `statistic` is the table of counts, or the sum of a column on its centred axis.
    """
    if isinstance(family, Dirichlet):
        alpha = np.asarray(family.prior) / shrink + scale * np.ravel(np.asarray(statistic, dtype=float))
        if family.coordinate is None:
            return np.asarray(rng.dirichlet(alpha, size=draws))
        one = float(alpha[family.coordinate])
        return np.asarray(rng.beta(one, float(alpha.sum()) - one, size=draws))
    total = n * family.axis.centre + family.axis.unit * float(statistic)
    first, second = family.prior
    if isinstance(family, GaussianMean):
        mean, sd = normal_posterior(family, total, n, scale, shrink)
        return np.asarray(rng.normal(mean, sd, size=draws))
    if isinstance(family, PoissonRate):
        shape, rate = first / shrink + scale * total, second / shrink + scale * n
        return np.asarray(rng.gamma(shape, 1.0 / rate, size=draws))
    if isinstance(family, ExponentialRate):
        shape, rate = first / shrink + scale * n, second / shrink + scale * total
        return np.asarray(rng.gamma(shape, 1.0 / rate, size=draws))
    successes = share_sum(family, total, n)
    a, b = first / shrink + scale * successes, second / shrink + scale * (n - successes)
    return np.asarray(family.axis.lower + (family.axis.upper - family.axis.lower) * rng.beta(a, b, size=draws))


def normal_posterior(family: GaussianMean, total: float, n: int, scale: float, shrink: float) -> tuple[float, float]:
    """Mean and deviation of the draw of a mean."""
    mean, sd = family.prior
    prior, data = 1.0 / (shrink * sd**2), scale / family.sd**2
    precision = prior + n * data
    return (prior * mean + data * total) / precision, precision**-0.5


def share_sum(family: BoundedMean, total: float, n: int) -> float:
    """The sum of the cells as fractions of their range: a number from 0 to n."""
    width = family.axis.upper - family.axis.lower
    return float(np.clip((total - n * family.axis.lower) / width, 0.0, n))
