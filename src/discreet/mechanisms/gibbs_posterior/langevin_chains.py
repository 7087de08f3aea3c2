"""Langevin chains on private rows: many steps in a compiled loop, a public number of them, the last state only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.packed_codes import packing_of, unpacked

__all__ = ["KINDS", "LangevinRun", "langevin_chains", "projected", "threads"]

Array = NDArray[np.float64]

KINDS = {"logistic": 0, "hinge": 1, "huber": 2, "poisson": 3, "table": 4}

PIECES = 50  # how often progress is reported
WORTH_THREADS = 3 * 10**5  # cells of one step below which threads would mostly wait for each other


@dataclass(frozen=True)
class LangevinRun:
    """The public numbers of a run."""

    kind: str
    setting: float
    table: Array
    intercept: bool
    beta: float
    precision: float
    step: float
    steps: int
    ball: float
    batches: int
    starts: tuple[int, ...]  # the first coefficient of every category


def langevin_chains(
    run: LangevinRun,
    design: Any,
    chains: int,
    size: int,
    generator: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """The last states of independent chains from 0, (chains, size); `progress` gets the steps since its last call.

    Every state but the last is projected to the ball: the last is rounded first, and then `projected`.
    """
    from discreet.mechanisms.gibbs_posterior.kernels.langevin_steps import steps_of_langevin

    w = np.zeros((chains, size))
    in_files = isinstance(design.codes, np.memmap)  # too large to be written once more
    packing = (unpacked if in_files else packing_of)(run.starts, size)
    codes, members = packing.codes(design.codes), packing.members
    piece = max(1, -(-run.steps // PIECES))
    with threads(design.targets.size * (design.numbers.shape[1] + codes.shape[1] + 4) * chains):
        for first in range(0, run.steps, piece):
            steps_of_langevin(
                KINDS[run.kind],
                run.setting,
                run.table,
                w,
                int(run.intercept),
                design.numbers,
                codes,
                design.targets,
                design.weights,
                design.shrink,
                members,
                run.beta,
                run.precision,
                run.step,
                min(piece, run.steps - first),
                run.ball,
                run.batches,
                first,
                generator,
            )
            if progress is not None:
                progress(min(piece, run.steps - first))
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
