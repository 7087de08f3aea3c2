"""Langevin chains on rows that stay where they are: a step asks for one gradient, a sum of whole numbers.

    w ← w - h (β g(w) + λ w) + √(2h) N(0, I),    g(w) = Σ_i floor(gradient of row i / u + 1/2) u

The rounding unit u is public, at most L 2^-44 for gradients no longer than L. The sum is exact: the same chain comes of
the same noise, whatever blocks the rows are in, wherever these are, and however often a part of the work is done again.
What rounding does to the guarantee is Lemma 1 of gibbs_posterior.md.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.mechanisms.gibbs_posterior.langevin_chains import projected
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch, Loss

__all__ = ["distant_chains", "steps_of_gradients"]

BITS = 45  # of what one row adds: 2^16 rows need 61


def distant_chains(
    query: Loss,
    law: GibbsLaw,
    rows: Any,
    chains: int,
    noise: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """The last states of independent chains from 0, (chains, size), on the sums that `rows` can be asked for."""
    w, scale = np.zeros((chains, query.features.size)), steps_of_gradients(query)
    for _ in range(law.steps):
        w = projected(w, query.ball)
        asked = partial(block_gradients, query.branch, w, int(query.features.intercept), scale)
        slope = rows.summed(asked).reshape(w.shape).astype(float) / scale
        centre = w - law.step * (law.beta * slope + law.precision * w)
        w = centre + math.sqrt(2.0 * law.step) * noise.standard_normal(w.shape)
        if progress is not None:
            progress(1)
    return w


def steps_of_gradients(query: Loss) -> float:
    """1/u, a power of two: no gradient of a row has more than 2^45 units."""
    return math.ldexp(1.0, BITS - math.frexp(query.lipschitz)[1])


def block_gradients(loss: Branch, w: Array, intercept: int, scale: float, rows: Any) -> NDArray[np.int64]:
    """What a block of rows adds to the gradients at every row of w."""
    from discreet.mechanisms.gibbs_posterior.kernels.margins import Rows
    from discreet.mechanisms.gibbs_posterior.kernels.whole_gradients import whole_gradients

    block = Rows(rows.numbers, rows.codes, rows.targets, rows.weights, rows.shrink)
    return np.ravel(whole_gradients(loss, w, intercept, block, scale))
