"""Posteriors of a temperature on a declared space: what their prior adds to the exponents, and draws of their tables.

The exponents of a conjugate law are a prior part plus `weight` times the data. At temperature T the weight is 1/T, and

    joint        (prior - e)/T + e    e = the exponents of a flat density of the parameter as it is released
    natural      (prior - e)/T + e    e = those of a flat density of the natural parameter (logit, log rate, …)
    likelihood   prior                the prior is left as it is

What is flat in a rate is not flat in its logarithm: raising a density to a power depends on the parametrisation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.draws.truncated_probabilities import truncated_dirichlet
from discreet.numerics.arrays import Array
from discreet.queries.families import ConditionalTable, OneConjugate, Tempering

__all__ = ["on_scale", "prior_part", "vector_draws"]


def prior_part(piece: OneConjugate | ConditionalTable, temperature: float, tempering: Tempering) -> Array:
    """What the prior adds to the exponents at a temperature."""
    prior = piece.exponents
    if tempering == "likelihood":
        return prior
    flat = piece.flat(tempering)
    return np.asarray((prior - flat) / temperature + flat)


def vector_draws(
    part: Array, weight: float, exact: NDArray[Any], lower: float, draws: int, noise: np.random.Generator
) -> Array:
    """Independent draws of every row of a table of counts: (draws, *shape), each entry at least `lower`."""
    alpha = part.reshape(exact.shape) + weight * np.asarray(exact, dtype=float)
    drawn = [truncated_dirichlet(row, lower, draws, noise) for row in alpha.reshape(-1, alpha.shape[-1])]
    return np.stack(drawn, axis=1).reshape(draws, *alpha.shape)


def on_scale(family: OneConjugate, places: Array) -> Array:
    """Places between the bounds of a bounded mean as values; every other parameter as it is."""
    low, width = family.unit
    return low + width * places if family.is_place else places
