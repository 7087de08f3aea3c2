"""Compiled updates of a hidden Markov model of events: profiles by rejection, and one pass over the hidden states."""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Model", "draw_profiles", "draw_states", "prior_states", "round_profiles", "sweep"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Model(NamedTuple):
    """Public numbers: both priors, where the levels of each field end, and the space of its profiles on the grid."""

    transition: float
    emission: float
    ends: Integers
    lower: Floats
    grid_bounds: Floats  # (level, first and last), in steps of the grid
    grid: float


@njit(cache=True)
def sweep(
    counts: Floats,
    temperatures: Floats,
    model: Model,
    tries: int,
    first: int,
    ready: bool,
    noise: np.random.Generator,
    z: Integers,
    profiles: Floats,
    hidden: Integers,
) -> tuple[int, Floats, NDArray[np.bool_]]:
    """Sweeps from number `first` on, kept in `profiles` and `hidden`, until all are made or a profile is missing.

    Returns the number of the next sweep, and what its missing profiles should be drawn from; when they are filled in,
    `ready` says that the first sweep has its profiles.
    """
    (cells, levels), states = counts.shape, profiles.shape[1]
    alpha, log_weight, logs = np.empty((states, levels)), np.empty((cells, states)), np.empty((states, levels))
    missing = np.zeros((states, model.lower.size), dtype=np.bool_)
    for s in range(first, temperatures.size):
        if s > first or not ready:
            alpha[:] = model.emission
            for c in range(cells):
                k = z[c // z.shape[1], c % z.shape[1]]
                for j in range(levels):
                    alpha[k, j] += counts[c, j] / temperatures[s]
            missing = draw_profiles(alpha, model.ends, model.lower, tries, noise, profiles[s])
            if missing.any():
                return s, alpha, missing
        round_profiles(model, profiles[s])
        for k in range(states):
            for j in range(levels):
                logs[k, j] = log(profiles[s, k, j]) / temperatures[s]
        log_weight[:] = 0.0
        for c in range(cells):
            for j in range(levels):
                if counts[c, j] > 0.0:
                    for k in range(states):
                        log_weight[c, k] += counts[c, j] * logs[k, j]
        draw_states(log_weight, model.transition, noise, z)
        hidden[s] = z
    return temperatures.size, alpha, missing


@njit(cache=True)
def round_profiles(model: Model, profiles: Floats) -> None:
    """To the nearest points of the grid inside the space, in place."""
    for k in range(profiles.shape[0]):
        for j in range(profiles.shape[1]):
            steps = np.rint(profiles[k, j] / model.grid)
            profiles[k, j] = min(max(steps, model.grid_bounds[j, 0]), model.grid_bounds[j, 1]) * model.grid


@njit(cache=True)
def draw_profiles(
    alpha: Floats, ends: Integers, lower: Floats, tries: int, noise: np.random.Generator, drawn: Floats
) -> NDArray[np.bool_]:
    """Truncated Dirichlet draws of every state (row) and field, and which of them did not succeed in `tries` proposals.

    A proposal breaks one piece after the other off a stick, which is an untruncated Dirichlet draw, and is given up at
    the first piece below the bound. Whether one succeeds tells nothing about later ones: those that do are exact.
    """
    states, fields = alpha.shape[0], lower.size
    missing = np.ones((states, fields), dtype=np.bool_)
    for k in range(states):
        for d in range(fields):
            first = ends[d - 1] if d > 0 else 0
            last = ends[d] - 1
            total = alpha[k, first : last + 1].sum()
            for _ in range(tries):
                left, rest, inside = 1.0, total, True
                for j in range(first, last):
                    rest -= alpha[k, j]
                    piece = noise.standard_gamma(alpha[k, j])
                    others = noise.standard_gamma(max(rest, alpha[k, last]))  # a difference of sums rounds
                    inside = piece + others > 0.0  # tiny shapes have draws that doubles take for 0
                    if inside:
                        drawn[k, j] = left * (piece / (piece + others))
                        left *= others / (piece + others)
                        inside = drawn[k, j] >= lower[d] and left >= lower[d]
                    if not inside:
                        break
                if inside:
                    drawn[k, last] = left
                    missing[k, d] = False
                    break
    return missing


@njit(cache=True)
def prior_states(transition: float, states: int, noise: np.random.Generator, z: Integers) -> None:
    """Hidden states from their prior with the transition matrix integrated out: an urn for every state."""
    counts, weights = np.zeros((states + 1, states)), np.empty(states)
    for r in range(z.shape[0]):
        before = states  # the row of the first state
        for t in range(z.shape[1]):
            for k in range(states):
                weights[k] = counts[before, k] + transition
            z[r, t] = _chosen(weights, noise)
            counts[before, z[r, t]] += 1
            before = z[r, t]


@njit(cache=True)
def draw_states(log_weight: Floats, transition: float, noise: np.random.Generator, z: Integers) -> None:
    """One pass over all cells in a fixed order: every state from its conditional law given all others.

    log_weight[cell, k] is the tempered log-likelihood of the cell's events in state k.
    """
    states, (regions, times) = log_weight.shape[1], z.shape
    counts = np.zeros((states + 1, states))
    for r in range(regions):
        for t in range(times):
            counts[z[r, t - 1] if t > 0 else states, z[r, t]] += 1
    sums, weights = counts.sum(axis=1), np.empty(states)
    for r in range(regions):
        for t in range(times):
            before, after = z[r, t - 1] if t > 0 else states, z[r, t + 1] if t + 1 < times else -1
            _count(counts, sums, before, z[r, t], after, -1.0)
            for k in range(states):
                weights[k] = log(counts[before, k] + transition) + log_weight[r * times + t, k]
                if after >= 0:
                    same = 1.0 if before == k else 0.0
                    both = same if after == k else 0.0
                    weights[k] += log(counts[k, after] + both + transition)
                    weights[k] -= log(sums[k] + same + states * transition)
            top = weights.max()
            for k in range(states):
                weights[k] = exp(weights[k] - top)
            z[r, t] = _chosen(weights, noise)
            _count(counts, sums, before, z[r, t], after, 1.0)


@njit(cache=True)
def _count(counts: Floats, sums: Floats, before: int, here: int, after: int, by: float) -> None:
    counts[before, here] += by
    sums[before] += by
    if after >= 0:
        counts[here, after] += by
        sums[here] += by


@njit(cache=True)
def _chosen(weights: Floats, noise: np.random.Generator) -> int:
    """An index with probability proportional to its weight."""
    left = noise.random() * weights.sum()
    for k in range(weights.size - 1):
        left -= weights[k]
        if left < 0.0:
            return k
    return int(weights.size - 1)
