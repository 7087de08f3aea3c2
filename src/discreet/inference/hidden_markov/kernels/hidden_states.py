"""Compiled sweeps over the hidden states of Markov chains, one chain of T cells for each of R regions.

    z[r, 0] ~ start,  z[r, t] ~ A[z[r, t-1]],  log p(counts of cell | z = k) = power Σ_l counts[l] log θ[k, l]

blocked     a region's states at once given start, A, θ: forward filtering, backward sampling
collapsed   one cell at a time, start and A integrated out: Dirichlet-multinomial rows, the start as a row of its own

Everything is in logs: neither many events nor concentrations far below 1 underflow. Levels of all fields lie end to
end, field d has first_level[d]..first_level[d+1]-1; cells are region × time, a region's times next to each other.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.numerics.arrays import Array, Integers
from discreet.numerics.kernels.hidden_pass import collapsed_pass, count_moves, draw_index, relative

__all__ = [
    "Hidden",
    "Prior",
    "blocked_sweep",
    "collapsed_sweep",
    "draw_chains",
    "draw_parameters",
    "draw_profiles",
    "log_likelihoods",
]


TINY = 1e-250  # below this a sum of products is taken again in logs


class Hidden(NamedTuple):
    """One chain: states (R, T), and logs of start (K,), transitions (K, K) and profiles (K, levels)."""

    states: Integers
    log_start: Array
    log_transitions: Array
    log_profiles: Array


class Prior(NamedTuple):
    """Concentrations of the transitions and of the profiles, and where the levels of each field begin."""

    transition: float
    emission: float
    first_level: Integers


@njit(cache=True, nogil=True)
def blocked_sweep(hidden: Hidden, counts: Array, prior: Prior, power: float, rng: np.random.Generator) -> None:
    """States of every region given the parameters, then the parameters given the states; counts are (cells, levels)."""
    draw_states(hidden, log_likelihoods(counts, hidden.log_profiles, power), rng)
    draw_parameters(hidden, counts, prior, power, rng)


@njit(cache=True, nogil=True)
def collapsed_sweep(hidden: Hidden, counts: Array, prior: Prior, power: float, rng: np.random.Generator) -> None:
    """Every state given all others and the profiles, then the parameters given the states."""
    collapsed_pass(hidden.states, log_likelihoods(counts, hidden.log_profiles, power), prior.transition, rng)
    draw_parameters(hidden, counts, prior, power, rng)


@njit(cache=True, nogil=True)
def log_likelihoods(counts: Array, log_profiles: Array, power: float) -> Array:
    """For every cell and state, power × Σ_l counts[c, l] log θ[k, l]."""
    by_level = np.ascontiguousarray(counts.T)  # the longest loop innermost, side by side in memory
    out = np.zeros((log_profiles.shape[0], counts.shape[0]))
    for k in range(out.shape[0]):
        for level in range(by_level.shape[0]):
            weight = power * log_profiles[k, level]
            for c in range(out.shape[1]):
                out[k, c] += weight * by_level[level, c]
    return np.ascontiguousarray(out.T)


@njit(cache=True, nogil=True)
def draw_states(hidden: Hidden, likelihoods: Array, rng: np.random.Generator) -> None:
    """Forward filtering, backward sampling of every region."""
    regions, times = hidden.states.shape
    start, transitions = np.exp(hidden.log_start), np.exp(hidden.log_transitions)
    forward, scratch = np.empty((times, start.size)), np.empty(start.size)
    for r in range(regions):
        region = likelihoods[r * times : (r + 1) * times]
        if filter_shares(start, transitions, region, forward):
            draw_back(transitions, forward, scratch, hidden.states[r], rng)
            continue
        filter_region(hidden, transitions, region, forward, scratch)
        for t in range(times - 1, -1, -1):
            if t + 1 < times:
                after = hidden.states[r, t + 1]
                for k in range(scratch.size):
                    forward[t, k] += hidden.log_transitions[k, after]
            largest = forward[t].max()
            for k in range(scratch.size):
                scratch[k] = relative(forward[t, k] - largest)
            hidden.states[r, t] = draw_index(scratch, rng)


@njit(cache=True, nogil=True)
def filter_shares(start: Array, transitions: Array, region: Array, forward: Array) -> bool:
    """P(z_t = k | cells 0..t) without logs, three times as fast; False if anything underflows on the way."""
    times, size = forward.shape
    for t in range(times):
        ahead = forward[t]
        if t == 0:
            ahead[:] = start
        else:
            ahead[:] = 0.0
            for j in range(size):
                share = forward[t - 1, j]
                for k in range(size):
                    ahead[k] += share * transitions[j, k]
        largest, total = region[t].max(), 0.0
        for k in range(size):
            ahead[k] *= relative(region[t, k] - largest)
            total += ahead[k]
        if not total > TINY:
            return False
        for k in range(size):
            ahead[k] /= total
    return True


@njit(cache=True, nogil=True)
def draw_back(transitions: Array, forward: Array, scratch: Array, states: Integers, rng: np.random.Generator) -> None:
    """States of one region from the last to the first, given their filtered probabilities."""
    times = states.size
    for t in range(times - 1, -1, -1):
        for k in range(scratch.size):
            scratch[k] = forward[t, k] * (transitions[k, states[t + 1]] if t + 1 < times else 1.0)
        states[t] = draw_index(scratch, rng)


@njit(cache=True, nogil=True)
def filter_region(hidden: Hidden, transitions: Array, region: Array, forward: Array, scratch: Array) -> None:
    """Logs, up to a constant, of P(z_t = k, cells 0..t)."""
    forward[0] = hidden.log_start + region[0]
    for t in range(1, region.shape[0]):
        step(forward[t - 1], transitions, hidden.log_transitions, scratch, forward[t])
        for k in range(scratch.size):
            forward[t, k] += region[t, k]


@njit(cache=True, nogil=True)
def step(logs: Array, matrix: Array, log_matrix: Array, scratch: Array, out: Array) -> None:
    """Logs of exp(logs - largest) @ matrix; where the products underflow, they are summed in logs."""
    size = out.size
    largest = logs.max()
    for j in range(size):
        scratch[j] = relative(logs[j] - largest)
    out[:] = 0.0
    for j in range(size):
        for k in range(size):
            out[k] += scratch[j] * matrix[j, k]
    for k in range(size):
        if out[k] > TINY:
            out[k] = np.log(out[k])
        else:
            terms = logs + log_matrix[:, k] - largest
            top = terms.max()
            out[k] = top + np.log(np.exp(terms - top).sum())


@njit(cache=True, nogil=True)
def draw_parameters(hidden: Hidden, counts: Array, prior: Prior, power: float, rng: np.random.Generator) -> None:
    """Start, transitions and profiles from their Dirichlet laws given states and counts."""
    draw_chains(hidden, prior.transition, rng)
    draw_profiles(hidden, counts, prior, power, rng)


@njit(cache=True, nogil=True)
def draw_chains(hidden: Hidden, concentration: float, rng: np.random.Generator) -> None:
    """Start and transitions given the states."""
    size = hidden.log_start.size
    moves = count_moves(hidden.states, size)
    draw_log_simplex(concentration + moves[size], rng, hidden.log_start)
    for k in range(size):
        draw_log_simplex(concentration + moves[k], rng, hidden.log_transitions[k])


@njit(cache=True, nogil=True)
def draw_profiles(hidden: Hidden, counts: Array, prior: Prior, power: float, rng: np.random.Generator) -> None:
    """Profiles given states: noisy counts are summed first, and only a negative sum is raised to 0."""
    sums = np.zeros_like(hidden.log_profiles)
    states = hidden.states.ravel()
    for c in range(counts.shape[0]):
        sums[states[c]] += counts[c]
    sums = prior.emission + power * np.maximum(sums, 0.0)
    for k in range(sums.shape[0]):
        for d in range(prior.first_level.size - 1):
            field = slice(prior.first_level[d], prior.first_level[d + 1])
            draw_log_simplex(sums[k, field], rng, hidden.log_profiles[k, field])


@njit(cache=True, nogil=True)
def draw_log_simplex(shapes: Array, rng: np.random.Generator, out: Array) -> None:
    """Log of a Dirichlet draw: small concentrations would underflow all at once outside logs."""
    for i in range(out.size):
        out[i] = np.log(rng.standard_gamma(shapes[i] + 1.0)) - rng.standard_exponential() / shapes[i]
    largest = out.max()
    out -= largest + np.log(np.exp(out - largest).sum())
