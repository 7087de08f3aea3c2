"""Langevin chains on private rows: many steps in a compiled loop, a public number of them, the last state only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.mechanisms.gibbs_posterior.packed_codes import packing_of, unpacked
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss

__all__ = ["langevin_chains", "projected", "threads"]


PIECES = 50  # how often progress is reported
WORTH_THREADS = 3 * 10**5  # cells of one step below which threads would mostly wait for each other


def langevin_chains(
    query: Loss,
    law: GibbsLaw,
    batches: int,
    rows: Any,
    chains: int,
    noise: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """The last states of independent chains from 0, (chains, size); `progress` gets the steps since its last call.

    Every state but the last is projected to the ball: the last is rounded first, and then `projected`.
    """
    from discreet.mechanisms.gibbs_posterior.kernels.langevin_steps import steps_of_langevin
    from discreet.mechanisms.gibbs_posterior.kernels.margins import Rows

    features, loss = query.features, query.branch
    w = np.zeros((chains, features.size))
    in_files = isinstance(rows.codes, np.memmap)  # too large to be written once more
    packing = (unpacked if in_files else packing_of)(features.offsets, features.size)
    packed = Rows(rows.numbers, packing.codes(rows.codes), rows.targets, rows.weights, rows.shrink)
    where, fixed = (int(features.intercept), packed, packing.members), (law.beta, law.precision, law.step)
    piece = max(1, -(-law.steps // PIECES))
    with threads(rows.targets.size * (rows.numbers.shape[1] + packed.codes.shape[1] + 4) * chains):
        for first in range(0, law.steps, piece):
            steps = min(piece, law.steps - first)
            steps_of_langevin(loss, w, *where, *fixed, steps, query.ball, batches, first, noise)
            if progress is not None:
                progress(steps)
    return w


def projected(states: Array, ball: float) -> Array:
    """States (chains, size) brought into the ball."""
    lengths = np.sqrt((states**2).sum(axis=1, keepdims=True))
    return np.asarray(states * np.where(lengths > ball, ball / np.maximum(lengths, np.finfo(float).tiny), 1.0))


@contextmanager
def threads(cells: int) -> Iterator[None]:
    """One thread for a small step, all of them for a large one; what a step computes does not depend on it."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(before if cells >= WORTH_THREADS else 1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
