"""Langevin steps on the Gibbs posterior of a margin loss: theta - h grad U(theta) + sqrt(2h) N(0, I), many of them."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, Rows, gradients
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Branch

__all__ = ["steps_of_langevin"]

Members = NDArray[np.int64]


@njit(cache=True)
def steps_of_langevin(
    loss: Branch,
    w: Array,
    intercept: int,
    rows: Rows,
    members: Members,
    beta: float,
    precision: float,
    step: float,
    steps: int,
    ball: float,
    batches: int,
    first: int,
    noise: np.random.Generator,
) -> None:
    """Move the chains w (chains, coefficients) by `steps` steps; step number `first` is the first of them.

    U = beta Σ phi + precision ||w||²/2. With several batches a step sees one of them, scaled up by their number, in a
    fixed order. Every chain is projected to the ball before each step. Codes are packed coordinates, each the sum of
    the coefficients that `members` (members, coordinates) lists; those past the last are 0.
    """
    numbers, codes, targets, weights, shrink = rows
    chains, size = w.shape
    width, packed = members.shape
    wide, padded, slope = np.zeros((chains, packed)), np.zeros(size + 1), np.zeros(size + 1)
    parts = np.zeros((BLOCKS, chains, packed))
    spread = math.sqrt(2.0 * step)
    chunks = numbers.shape[0]
    for k in range(first, first + steps):
        batch = k % batches
        low, high = batch * chunks // batches, (batch + 1) * chunks // batches  # runs of whole chunks
        for chain in range(chains):
            length = 0.0
            for j in range(size):
                length += w[chain, j] ** 2
            if length > ball * ball:
                for j in range(size):
                    w[chain, j] *= ball / math.sqrt(length)
            for j in range(size):  # assigning arrays would compile the text of an error, for seconds
                padded[j] = w[chain, j]
            for e in range(packed):
                total = 0.0
                for m in range(width):
                    total += padded[members[m, e]]
                wide[chain, e] = total
        seen = Rows(numbers[low:high], codes[low:high], targets[low:high], weights[low:high], shrink[low:high])
        found = gradients(loss, wide, intercept, seen, parts)
        for chain in range(chains):
            slope[:] = 0.0
            for m in range(width):
                member, total = members[m, 0], 0.0
                for e in range(packed):  # neighbours often share a member: their sum is written once
                    if members[m, e] != member:
                        slope[member] += total
                        member, total = members[m, e], 0.0
                    total += found[chain, e]
                slope[member] += total
            for j in range(size):
                drift = beta * batches * slope[j] + precision * w[chain, j]
                centre = w[chain, j] - step * drift  # noise comes last: its cells are measured by its own deviation
                w[chain, j] = centre + spread * noise.standard_normal()
