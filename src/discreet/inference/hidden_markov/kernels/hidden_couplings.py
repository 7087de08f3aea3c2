"""Compiled moves of states and profiles that take the unseen counts with them, and the sweep of all moves.

recouple   a cell changes its state, and as few of its events as possible change their level
transfer   a state's profile moves share from one level to another, and events in all its cells go along

Counts remember the state and the profile they were drawn from. Here events change level by a coupling of the old and
the new profile, which read backwards is the coupling of the way back: the multinomial laws cancel, and the ratio of
noise densities, and of the priors, decides.
"""

import numpy as np
from numba import njit

from discreet.inference.hidden_markov.kernels.hidden_counts import (
    EventCounts,
    EventPlan,
    Noisy,
    change_cell,
    exchange,
    gains,
    resize,
    resize_ignored,
    shuffle,
    two_levels,
)
from discreet.inference.hidden_markov.kernels.hidden_redivisions import redivide
from discreet.inference.hidden_markov.kernels.hidden_states import (
    Hidden,
    Prior,
    draw_parameters,
    draw_states,
    log_likelihoods,
)
from discreet.inference.network.kernels.network_layout import Released, draw_counts, gain
from discreet.numerics.arrays import Integers
from discreet.numerics.kernels.hidden_pass import draw_index

__all__ = ["advance", "recouple", "transfer"]


EXCHANGES = 1  # for each cell, between two kept states
RESIZES = 16  # of the ignored cells together
HOPELESS = 20.0  # a new state that changes the noise by so many squared deviations is not tried


@njit(cache=True, nogil=True)
def advance(
    hidden: Hidden, counts: EventCounts, prior: Prior, released: Released, plan: EventPlan, rng: np.random.Generator
) -> None:
    """From one kept state to the next: counts given states and profiles, then these given counts."""
    noisy = Noisy(hidden, np.exp(hidden.log_profiles), counts, prior, released, plan)
    size = hidden.log_profiles.shape[1]
    free = plan.log_sizes.size > 1
    lost, won = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for cell in plan.cells:
        shuffle(noisy, cell, rng)
        if hidden.log_start.size > 1:
            recouple(noisy, cell, won, rng)
        for _ in range(EXCHANGES):
            exchange(noisy, cell, lost, won, rng)
        if free:
            resize(noisy, cell, True, won, rng)
        if plan.ignored > 0:
            resize(noisy, cell, False, won, rng)
    if free and plan.ignored > 0:
        for _ in range(RESIZES):
            resize_ignored(counts, plan, rng)
    transfer(noisy, rng)
    redivide(noisy, rng)
    exact = counts.levels.reshape((-1, size)).astype(np.float64)
    draw_states(hidden, log_likelihoods(exact, hidden.log_profiles, 1.0), rng)
    draw_parameters(hidden, exact, prior, 1.0, rng)


@njit(cache=True, nogil=True)
def recouple(noisy: Noisy, cell: int, moved: Integers, rng: np.random.Generator) -> None:
    """Another state, drawn given its neighbours; an event keeps its level wherever both profiles allow it.

    Events leave a level whose share shrinks with the probability by which it shrinks, and go to the levels whose
    shares grow, in proportion to that growth.
    """
    hidden, first_level, total = noisy.hidden, noisy.prior.first_level, noisy.counts.totals[cell]
    states = hidden.states.ravel()
    new, ratio = another_state(hidden, cell, rng)
    before, after = noisy.profiles[states[cell]], noisy.profiles[new]
    growth = np.maximum(after - before, 0.0)
    misfit = 0.0
    for d in range(first_level.size - 1):
        misfit += total * growth[first_level[d] : first_level[d + 1]].sum() / noisy.plan.variances[d]
    if new == states[cell] or misfit > HOPELESS:
        return
    present = noisy.counts.levels[cell * moved.size : (cell + 1) * moved.size]
    arrived = np.zeros_like(moved)
    moved[:] = 0
    for d in range(first_level.size - 1):
        events, first, end = 0, first_level[d], first_level[d + 1]
        for level in range(first, end):
            if after[level] < before[level] and present[level] > 0:
                moved[level] = -rng.binomial(present[level], 1.0 - after[level] / before[level])
                events -= moved[level]
        if events > 0:
            draw_counts(events, growth / growth[first:end].sum(), first, end - first, rng, arrived)
    moved += arrived
    if ratio + gains(noisy, cell, moved) > -rng.standard_exponential():
        states[cell] = new
        change_cell(noisy.counts, cell, moved)


@njit(cache=True, nogil=True)
def another_state(hidden: Hidden, cell: int, rng: np.random.Generator) -> tuple[int, float]:
    """A state other than the present, in proportion to its probability given the neighbours, and what that corrects.

    As q(new | old) = p(new) / (1 - p(old)), targets and proposals leave the log of (1 - p(old)) / (1 - p(new)).
    """
    states, times = hidden.states.ravel(), hidden.states.shape[1]
    old = states[cell]
    logs = hidden.log_start.copy() if cell % times == 0 else hidden.log_transitions[states[cell - 1]].copy()
    if cell % times + 1 < times:
        logs += hidden.log_transitions[:, states[cell + 1]]
    weights = np.exp(logs - logs.max())
    own, weights[old] = weights[old], 0.0
    away = weights.sum()
    if away == 0.0:
        return old, 0.0
    new = draw_index(weights, rng)
    weights[new] = 0.0
    return new, np.log(away) - np.log(weights.sum() + own)


@njit(cache=True, nogil=True)
def transfer(noisy: Noisy, rng: np.random.Generator) -> None:
    """Where noise hides the sampling error, profiles given events hardly move: here share and events move together.

    Level `one` gives share x to level `other`, and each of its events goes along with probability x / θ[one].
    """
    first_level = noisy.prior.first_level
    states = noisy.hidden.states.ravel()[noisy.plan.cells]
    for state in range(noisy.profiles.shape[0]):
        cells = noisy.plan.cells[states == state]
        events, theta = noisy.counts.totals[cells].sum(), noisy.profiles[state]
        if events == 0:
            continue
        for d in range(first_level.size - 1):
            first, width, variance = first_level[d], first_level[d + 1] - first_level[d], noisy.plan.variances[d]
            for _ in range(width if width > 1 else 0):
                one, other = two_levels(first, width, rng)
                both = theta[one] + theta[other]
                if variance**2 < both * events:  # profiles given events take longer steps
                    continue
                deviation = np.sqrt(0.25 * both / events + 0.5 * variance * cells.size / events**2)
                share = rng.random() * min(2.5 * deviation, 2.0 * variance / events, both)
                if share < theta[one]:
                    transfer_share(noisy, state, cells, d, one, other, share, rng)


@njit(cache=True, nogil=True)
def transfer_share(
    noisy: Noisy, state: int, cells: Integers, d: int, one: int, other: int, share: float, rng: np.random.Generator
) -> None:
    """Propose one transfer; the share itself is measured alike before and after."""
    theta, logs, levels = noisy.profiles[state], noisy.hidden.log_profiles[state], noisy.counts.levels
    less, more = np.log(theta[one] - share), np.log(theta[other] + share)
    ratio = (noisy.prior.emission - 1.0) * (less + more - logs[one] - logs[other])
    moved = np.zeros_like(cells)
    for i in range(cells.size):
        here, there = cells[i] * theta.size + one, cells[i] * theta.size + other
        if levels[here] > 0:
            moved[i] = rng.binomial(levels[here], share / theta[one])
            ratio += gain(noisy.released, levels, d, here, -moved[i]) + gain(noisy.released, levels, d, there, moved[i])
    if ratio > -rng.standard_exponential():
        theta[one], theta[other] = theta[one] - share, theta[other] + share
        logs[one], logs[other] = less, more
        for i in range(cells.size):
            levels[cells[i] * theta.size + one] -= moved[i]
            levels[cells[i] * theta.size + other] += moved[i]
