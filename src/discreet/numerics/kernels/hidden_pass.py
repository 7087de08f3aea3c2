"""One pass over hidden states, each from its law given all others: start and transitions are integrated out.

Moves a -> b of all regions are counted in a table (K + 1, K) whose last row leads to first states; the law of a state
is a product of two Dirichlet-multinomial terms, the way in and the way out, and of the likelihood of its cell.
"""

import numpy as np
from numba import njit

from discreet.numerics.arrays import Array, Integers

__all__ = ["collapsed_pass", "collapsed_weights", "count_moves", "draw_index", "relative"]


@njit(cache=True, nogil=True)
def collapsed_pass(states: Integers, likelihoods: Array, concentration: float, rng: np.random.Generator) -> None:
    """One pass over all cells in a fixed order: every state from its law given all others, transitions integrated out.

    `likelihoods` are log-likelihoods (cells, K), tempered or not.
    """
    (regions, times), size = states.shape, likelihoods.shape[1]
    moves, weights = count_moves(states, size), np.empty(size)
    for r in range(regions):
        for t in range(times):
            before = states[r, t - 1] if t > 0 else size
            after = states[r, t + 1] if t + 1 < times else -1
            old = states[r, t]
            moves[before, old] -= 1
            if after >= 0:
                moves[old, after] -= 1
            collapsed_weights(moves, before, after, concentration, weights)
            cell = likelihoods[r * times + t]
            largest = cell.max()
            for k in range(size):
                weights[k] *= relative(cell[k] - largest)
            new = draw_index(weights, rng)
            states[r, t] = new
            moves[before, new] += 1
            if after >= 0:
                moves[new, after] += 1


@njit(cache=True, nogil=True)
def collapsed_weights(moves: Integers, before: int, after: int, concentration: float, weights: Array) -> None:
    """Prior weights of one state given all others; `moves` are without the transitions that touch it.

    Row K of `moves` leads to first states (`before` = K); `after` is -1 at the end of a chain.
    """
    size = weights.size
    for k in range(size):
        weights[k] = moves[before, k] + concentration
        if after >= 0:
            into = 1.0 if before == k else 0.0  # the transition before -> k leaves k's row when before = k
            leaving = moves[k, after] + (into if after == k else 0.0) + concentration
            weights[k] *= leaving / (moves[k].sum() + into + size * concentration)


@njit(cache=True, nogil=True)
def count_moves(states: Integers, size: int) -> Integers:
    """Transitions (K + 1, K) of all regions; the last row counts first states."""
    moves = np.zeros((size + 1, size), dtype=np.int64)
    for r in range(states.shape[0]):
        moves[size, states[r, 0]] += 1
        for t in range(1, states.shape[1]):
            moves[states[r, t - 1], states[r, t]] += 1
    return moves


@njit(cache=True, nogil=True, inline="always")
def relative(log_weight: float) -> float:
    """The weight relative to the largest; an exponential that underflows takes three times as long as any other."""
    return np.exp(log_weight) if log_weight > -700.0 else 0.0


@njit(cache=True, nogil=True)
def draw_index(weights: Array, rng: np.random.Generator) -> int:
    """An index with probability proportional to its weight."""
    left = rng.random() * weights.sum()
    for k in range(weights.size):
        left -= weights[k]
        if left < 0.0:
            return k
    return int(np.argmax(weights))
