"""Langevin chains on private rows: many steps in a compiled loop, a public number of them, the last state only.

Several categories packed into one: a step then looks up and adds to few sums of coefficients instead of many.

Categories with a, b, … levels become one with a·b·… combinations, as long as these stay few. In the packed coordinates
the margin of a row needs one sum of coefficients for each pack; `members` says which coefficients a packed coordinate
sums, and the gradient goes back the same way: the margins and gradients are those of the unpacked rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss
from discreet.sources.chunks import let_go

__all__ = ["Packing", "langevin_chains", "packing_of", "projected", "threads", "unpacked"]

PIECES = 50  # how often progress is reported
WORTH_THREADS = 3 * 10**5  # cells of one step below which threads would mostly wait for each other

MOST_COMBINATIONS = 768
MOST_COORDINATES = 4096  # more would take longer to add up than the rows
POSITIONS = 2**16  # that a packed code tells apart, those of the numbers among them


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
    in_files = isinstance(rows.targets, np.memmap)  # too large to be written once more
    packing = (unpacked if in_files else packing_of)(features.offsets, features.size)
    packed = Rows(rows.numbers, packing.codes(rows.codes), rows.targets, rows.weights, rows.shrink)
    where, fixed = (int(features.intercept), packed, packing.members), (law.beta, law.precision, law.step)
    # how many rows of persons there are is private, and so is whether they are in files: progress is told without it
    piece = max(1, -(-law.steps // PIECES))
    at_once = 1 if in_files else piece
    with threads(rows.targets.size * (rows.numbers.shape[1] + packed.codes.shape[1] + 4) * chains):
        for first in range(0, law.steps, piece):
            last = min(first + piece, law.steps)
            for at in range(first, last, at_once):
                steps = min(at_once, last - at)
                steps_of_langevin(loss, w, *where, *fixed, steps, query.ball, batches, at, noise)
                let_go(packed)
            if progress is not None:
                progress(last - first)
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


@dataclass(frozen=True)
class Packing:
    """Which categories share a pack: their positions, and the first coefficient and number of levels of each."""

    packs: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    levels: tuple[int, ...]
    single: int  # coefficients before those of the categories

    @property
    def members(self) -> NDArray[np.int64]:
        """The coefficients that each packed coordinate sums, (members, coordinates); the one past the last is 0."""
        width, nothing = max(map(len, self.packs), default=1), self.single + sum(self.levels)
        found = [np.full((width, self.single), nothing)]
        found[0][0] = np.arange(self.single)
        for pack in self.packs:
            digits = np.indices([self.levels[j] for j in pack]).reshape(len(pack), -1)
            block = np.full((width, digits.shape[1]), nothing)
            block[: len(pack)] = digits + np.array([[self.starts[j]] for j in pack])
            found.append(block)
        return np.concatenate(found, axis=1)

    def codes(self, rows: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """The packed coordinates of rows, (chunks, packs, rows), from the coefficients of their levels."""
        if self.packs == _alone(self.starts):
            return rows
        packed = np.empty((rows.shape[0], len(self.packs), rows.shape[2]), dtype=np.uint16)
        first = self.single
        for place, pack in enumerate(self.packs):
            combined = np.zeros((rows.shape[0], rows.shape[2]), dtype=np.uint16)
            for j in pack:
                # filled-up rows have code 0, below every level's: they have no weight and may stand anywhere
                combined = combined * self.levels[j] + np.maximum(rows[:, j], self.starts[j]) - self.starts[j]
            packed[:, place] = first + combined
            first += prod(self.levels[j] for j in pack)
        return packed


def packing_of(starts: tuple[int, ...], size: int) -> Packing:
    """Put categories, the largest first, where they still fit; `size` is the number of all coefficients."""
    levels = tuple(high - low for low, high in pairwise((*starts, size)))
    packs: list[list[int]] = []
    for j in sorted(range(len(starts)), key=lambda j: -levels[j]):
        fitting = [pack for pack in packs if prod(levels[i] for i in pack) * levels[j] <= MOST_COMBINATIONS]
        fullest = max(fitting, key=lambda pack: prod(levels[i] for i in pack), default=None)
        if fullest is None:
            packs.append([j])
        else:
            fullest.append(j)
    single, coordinates = starts[0] if starts else size, sum(prod(levels[i] for i in pack) for pack in packs)
    few = coordinates <= min(MOST_COORDINATES, POSITIONS - single)
    return Packing(tuple(map(tuple, packs)) if few else _alone(starts), starts, levels, single)


def unpacked(starts: tuple[int, ...], size: int) -> Packing:
    """Every category on its own: packed coordinates are the coefficients, and no row is written again."""
    return replace(packing_of(starts, size), packs=_alone(starts))


def _alone(starts: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple((j,) for j in range(len(starts)))
