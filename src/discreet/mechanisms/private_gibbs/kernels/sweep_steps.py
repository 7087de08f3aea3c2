"""Compiled updates of a hidden Markov model of events: profiles by rejection, and one pass over the hidden states."""

from math import log
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.numerics.arrays import Array, Integers
from discreet.numerics.kernels.hidden_pass import collapsed_pass, draw_index

__all__ = ["Chained", "draw_profiles", "prior_states", "round_profiles", "sweep"]


class Chained(NamedTuple):
    """Public numbers: both priors, where the levels of each field end, and the space of its profiles on the grid."""

    transition: float
    emission: float
    ends: Integers
    lower: Array
    grid_bounds: Array  # (level, first and last), in steps of the grid
    grid: float


@njit(cache=True)
def sweep(
    exact: Array,
    temperatures: Array,
    model: Chained,
    tries: int,
    first: int,
    ready: bool,
    noise: np.random.Generator,
    z: Integers,
    profiles: Array,
    hidden: Integers,
) -> tuple[int, Array, NDArray[np.bool_]]:
    """Sweeps from number `first` on, kept in `profiles` and `hidden`, until all are made or a profile is missing.

    Returns the number of the next sweep, and what its missing profiles should be drawn from; when they are filled in,
    `ready` says that the first sweep has its profiles.
    """
    (cells, levels), states = exact.shape, profiles.shape[1]
    alpha, log_weight, logs = np.empty((states, levels)), np.empty((cells, states)), np.empty((states, levels))
    missing = np.zeros((states, model.lower.size), dtype=np.bool_)
    for s in range(first, temperatures.size):
        if s > first or not ready:
            alpha[:] = model.emission
            for c in range(cells):
                k = z[c // z.shape[1], c % z.shape[1]]
                for j in range(levels):
                    alpha[k, j] += exact[c, j] / temperatures[s]
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
                if exact[c, j] > 0.0:
                    for k in range(states):
                        log_weight[c, k] += exact[c, j] * logs[k, j]
        collapsed_pass(z, log_weight, model.transition, noise)
        hidden[s] = z
    return temperatures.size, alpha, missing


@njit(cache=True)
def round_profiles(model: Chained, profiles: Array) -> None:
    """To the nearest points of the grid inside the space, in place."""
    for k in range(profiles.shape[0]):
        for j in range(profiles.shape[1]):
            steps = np.rint(profiles[k, j] / model.grid)
            profiles[k, j] = min(max(steps, model.grid_bounds[j, 0]), model.grid_bounds[j, 1]) * model.grid


@njit(cache=True)
def draw_profiles(
    alpha: Array, ends: Integers, lower: Array, tries: int, noise: np.random.Generator, drawn: Array
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
            z[r, t] = draw_index(weights, noise)
            counts[before, z[r, t]] += 1
            before = z[r, t]
