"""Compiled moves on the unseen counts of a hidden Markov model, given noisy ones.

    n[c, d, :] ~ Multinomial(N[c], θ[z[c], d]),  y = n + noise;  all ways to split the whole number of events are alike

shuffle    events of a cell go from one level of a field to another
exchange   events die in one cell and are born in another
resize     events are born or die in a cell; the whole number changes with it, or the ignored cells balance it

Events are born from the profile of their cell's state and die at random: the multinomial laws then cancel, and the
ratio of noise densities, and of priors of the totals, decides. The scales of all moves depend only on what the move
leaves as it is. The counts of ignored cells are integrated out: only the sum of their events is kept.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.inference.hidden_markov.kernels.hidden_states import Hidden, Prior
from discreet.inference.network.kernels.network_layout import Released, draw_counts, gain, level_at
from discreet.numerics.arrays import Array, Integers

__all__ = [
    "EventCounts",
    "EventPlan",
    "Noisy",
    "change_cell",
    "exchange",
    "gains",
    "resize",
    "resize_ignored",
    "shuffle",
]


class EventCounts(NamedTuple):
    """Events by cell and level, end to end; events of every cell; and (events in all cells, in ignored cells)."""

    levels: Integers
    totals: Integers
    sums: Integers


class EventPlan(NamedTuple):
    """The cells that are not ignored, how far events move at once, and prior log-weights of the whole by its number."""

    cells: Integers
    ignored: int
    block: int
    ignored_block: int
    variances: Array  # of the noise of each field
    log_sizes: Array  # begins with the number `smallest`; of length 1 when the whole is known
    smallest: int
    log_factorials: Array


class Noisy(NamedTuple):
    """All a move reads or changes; `profiles` are the exponentials of the log-profiles in `hidden`."""

    hidden: Hidden
    profiles: Array
    counts: EventCounts
    prior: Prior
    released: Released
    plan: EventPlan


@njit(cache=True, nogil=True)
def shuffle(noisy: Noisy, cell: int, rng: np.random.Generator) -> None:
    """In every field as many times as it has levels, some events of one level become events of another."""
    state, levels, plan = noisy.hidden.states.ravel()[cell], noisy.counts.levels, noisy.plan
    theta, logs, total = noisy.profiles[state], noisy.hidden.log_profiles[state], noisy.counts.totals[cell]
    for d in range(noisy.prior.first_level.size - 1):
        first, width = noisy.prior.first_level[d], noisy.prior.first_level[d + 1] - noisy.prior.first_level[d]
        for _ in range(width if width > 2 else width - 1):
            one, other = two_levels(first, width, rng)
            spread = 1.0 / (total * theta[one] + 0.5) + 1.0 / (total * theta[other] + 0.5)
            events = 1 + int(rng.random() * 4.0 / np.sqrt(2.0 / plan.variances[d] + spread))
            here, there = cell * theta.size + one, cell * theta.size + other
            if levels[here] < events:
                continue
            ratio = events * (logs[other] - logs[one])
            ratio += log_factorial(levels[here], plan) - log_factorial(levels[here] - events, plan)
            ratio += log_factorial(levels[there], plan) - log_factorial(levels[there] + events, plan)
            ratio += gain(noisy.released, levels, d, here, -events) + gain(noisy.released, levels, d, there, events)
            if ratio > -rng.standard_exponential():
                levels[here] -= events
                levels[there] += events


@njit(cache=True, nogil=True)
def exchange(noisy: Noisy, cell: int, lost: Integers, won: Integers, rng: np.random.Generator) -> None:
    """Some events die in this cell and as many are born in another, or the other way round."""
    counts = noisy.counts
    giver, taker = cell, noisy.plan.cells[int(rng.random() * noisy.plan.cells.size)]
    if giver == taker:
        return
    if rng.random() < 0.5:
        giver, taker = taker, giver
    events = log_uniform(noisy.plan.block, rng)
    if counts.totals[giver] < events:
        return
    die(noisy, giver, events, lost, rng)
    bear(noisy, taker, events, won, rng)
    if gains(noisy, giver, lost) + gains(noisy, taker, won) > -rng.standard_exponential():
        change_cell(counts, giver, lost)
        change_cell(counts, taker, won)
        counts.totals[giver] -= events
        counts.totals[taker] += events


@njit(cache=True, nogil=True)
def resize(noisy: Noisy, cell: int, whole: bool, change: Integers, rng: np.random.Generator) -> None:
    """Some events are born in this cell or die in it; the whole changes with it, or the ignored cells against it."""
    counts = noisy.counts
    events = log_uniform(noisy.plan.block, rng) * (1 if rng.random() < 0.5 else -1)
    grown, ignored = (events, 0) if whole else (0, -events)
    ratio = size_ratio(counts, noisy.plan, grown, ignored)
    if counts.totals[cell] + events < 0 or ratio == -np.inf:
        return
    if events < 0:
        die(noisy, cell, -events, change, rng)
    else:
        bear(noisy, cell, events, change, rng)
    if ratio + gains(noisy, cell, change) > -rng.standard_exponential():
        change_cell(counts, cell, change)
        counts.totals[cell] += events
        counts.sums[0] += grown
        counts.sums[1] += ignored


@njit(cache=True, nogil=True)
def resize_ignored(counts: EventCounts, plan: EventPlan, rng: np.random.Generator) -> None:
    """The events of ignored cells change, and the whole with them."""
    events = log_uniform(plan.ignored_block, rng) * (1 if rng.random() < 0.5 else -1)
    if size_ratio(counts, plan, events, events) > -rng.standard_exponential():
        counts.sums[0] += events
        counts.sums[1] += events


@njit(cache=True, nogil=True)
def size_ratio(counts: EventCounts, plan: EventPlan, grown: int, ignored: int) -> float:
    """What changes of the whole and of the ignored cells add to the log prior of the totals.

    All splits of a whole are alike: `log_sizes` has its weight over their number, and the ignored cells have
    C(events + cells - 1, cells - 1) splits.
    """
    before, after = counts.sums[0] - plan.smallest, counts.sums[0] - plan.smallest + grown
    now, then = counts.sums[1], counts.sums[1] + ignored
    if not 0 <= after < plan.log_sizes.size or then < 0:
        return -np.inf
    ratio = plan.log_sizes[after] - plan.log_sizes[before]
    if ignored != 0:
        ratio += lgamma(then + plan.ignored) - lgamma(then + 1.0) - lgamma(now + plan.ignored) + lgamma(now + 1.0)
    return ratio


@njit(cache=True, nogil=True)
def bear(noisy: Noisy, cell: int, events: int, change: Integers, rng: np.random.Generator) -> None:
    """The levels of new events, from the profile of the cell's state."""
    theta = noisy.profiles[noisy.hidden.states.ravel()[cell]]
    for d in range(noisy.prior.first_level.size - 1):
        first, width = noisy.prior.first_level[d], noisy.prior.first_level[d + 1] - noisy.prior.first_level[d]
        if events > width:
            draw_counts(events, theta, first, width, rng, change)
        else:
            change[first : first + width] = 0
            for _ in range(events):
                change[first + level_at(theta, first, width, rng.random())] += 1


@njit(cache=True, nogil=True)
def die(noisy: Noisy, cell: int, events: int, change: Integers, rng: np.random.Generator) -> None:
    """Events of a cell chosen without replacement, in every field by themselves: minus their number by level."""
    present = noisy.counts.levels[cell * change.size : (cell + 1) * change.size]
    change[:] = 0
    for d in range(noisy.prior.first_level.size - 1):
        for taken in range(events):
            level = noisy.prior.first_level[d]
            position = int(rng.random() * (noisy.counts.totals[cell] - taken))
            while position >= present[level] + change[level]:
                position -= present[level] + change[level]
                level += 1
            change[level] -= 1


@njit(cache=True, nogil=True)
def gains(noisy: Noisy, cell: int, change: Integers) -> float:
    """What a change of a cell's counts adds to the log-density of the noise."""
    total, first_level = 0.0, noisy.prior.first_level
    for d in range(first_level.size - 1):
        for level in range(first_level[d], first_level[d + 1]):
            if change[level] != 0:
                place = cell * change.size + level
                total += gain(noisy.released, noisy.counts.levels, d, place, change[level])
    return total


@njit(cache=True, nogil=True)
def change_cell(counts: EventCounts, cell: int, change: Integers) -> None:
    """Add to a cell's counts."""
    for level in range(change.size):
        counts.levels[cell * change.size + level] += change[level]


@njit(cache=True, nogil=True)
def two_levels(first: int, width: int, rng: np.random.Generator) -> tuple[int, int]:
    """Two different levels of a field, every ordered pair alike."""
    one, other = int(rng.random() * width), int(rng.random() * (width - 1))
    return first + one, first + other + (1 if other >= one else 0)


@njit(cache=True, nogil=True)
def log_uniform(block: int, rng: np.random.Generator) -> int:
    """A number from 1 to block, small ones more often."""
    return min(int(np.exp(rng.random() * np.log(block + 1.0))), block)


@njit(cache=True, nogil=True)
def log_factorial(number: int, plan: EventPlan) -> float:
    """The log of number!, from a table while it lasts."""
    return plan.log_factorials[number] if number < plan.log_factorials.size else lgamma(number + 1.0)
