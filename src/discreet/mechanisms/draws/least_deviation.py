"""Public deviations of draws: what no table makes a draw's deviation fall below. They set the finest grid.

Proofs: mechanisms/conjugate_sample.md, Lemma 1, and mechanisms/posterior_sample.md, Lemma 2.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.conjugate_sample.conjugate_draws import normal_posterior
from discreet.mechanisms.draws.tempered import Interval
from discreet.queries.families.base import (
    BoundedMean,
    ConditionalTable,
    Dirichlet,
    ExponentialRate,
    Family,
    GaussianMean,
)

__all__ = ["conjugate_deviation", "tempered_deviation"]

Array = NDArray[np.float64]

UNIFORM = 12.0**-0.5  # the deviation of a uniform number on an interval of length 1
SHARE = 1.0 / 11.0  # of the length over which a density falls to a third: the deviation at least


def conjugate_deviation(family: Family, n: int, scale: float, shrink: float) -> float:
    """Of a conjugate draw with the data scaled and the prior divided; of a vector, of its narrowest entry."""
    if isinstance(family, GaussianMean):
        return normal_posterior(family, 0.0, n, scale, shrink)[1]
    prior = np.asarray(family.prior) / shrink
    if isinstance(family, Dirichlet | BoundedMean):
        total = float(prior.sum()) + scale * n
        rest = [float(np.delete(prior, j).sum()) for j in range(prior.size)]
        fewest = np.array([*prior.tolist(), *rest]) / total
        return math.sqrt(float((fewest * (1.0 - fewest)).min()) / (total + 1.0))
    least, most = (n * end for end in family.axis.ends)
    if isinstance(family, ExponentialRate):
        return math.sqrt(float(prior[0]) + scale * n) / (float(prior[1]) + scale * max(most, 0.0))
    return math.sqrt(float(prior[0]) + scale * max(least, 0.0)) / (float(prior[1]) + scale * n)


def tempered_deviation(
    family: Family | ConditionalTable, part: Array, weight: float, n: int, space: Interval | float
) -> float:
    """Of a draw on a declared space, an interval or the smallest probability; a normal's own where that is public.

    `part` is what the prior adds to the exponents, `weight` what a record counts.
    """
    if isinstance(family, Dirichlet | ConditionalTable | BoundedMean):
        lower = space if isinstance(space, float) else space[0]
        levels = family.shape[-1] if isinstance(family, ConditionalTable) else len(family.prior)
        return _edge(1.0 - levels * lower, lower, levels + float(np.abs(part - 1.0).sum()) + weight * n)
    assert not isinstance(space, float)
    low, high = space
    if isinstance(family, GaussianMean):
        precision = float(part[0]) + weight * n / family.sd**2
        return min(1.0 / math.sqrt(precision), UNIFORM * (high - low))
    most = n * max(family.axis.ends[1], 0.0)
    events, time = (float(n), most) if isinstance(family, ExponentialRate) else (most, float(n))
    exponents = abs(float(part[0]) - 1.0) + weight * events + low * (float(part[1]) + weight * time)
    return _edge(high - low, low, exponents)


def _edge(width: float, lower: float, exponents: float) -> float:
    """Of a law on an interval from `lower` on whose density changes no faster than a power of this exponent."""
    return SHARE * min(0.5 * width, lower) / (2.0 * max(2.0, exponents))
