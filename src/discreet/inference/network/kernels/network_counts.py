"""Compiled moves on the joint counts of a discrete network: as `kernels.network_records`, many at a time.

Records have no order, so the number of records of each code says everything. Where there are few codes, moving a
thousand records costs no more than moving one, and the number of records does not matter at all.

    exchange   every record is drawn afresh with probability `share`, all others stay
    leap       rows of probabilities move, and the records in them are drawn afresh
    resize     a few records are born from the network, or a few die
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.inference.network.kernels.network_layout import Graph, Released, draw_rows, gain, locate, pull_row
from discreet.numerics.arrays import Array, Integers

__all__ = ["CountsPlan", "CountsState", "advance_counts", "count_tables", "locate_codes"]


HIDDEN = 8.0  # rows with more records than this × levels × noise variance know their probabilities well enough


class CountsState(NamedTuple):
    """One chain: how many records exist, how many of each code, the tables they give, and the probabilities."""

    total: Integers
    joint: Integers
    tables: Integers
    theta: Array


class CountsPlan(NamedTuple):
    """How many moves of each kind lie between two kept states."""

    exchanges: int
    share: float  # exchanges draw afresh this share of the records, or its half, its quarter, …
    halvings: int
    resizes: int
    block: int  # the most records that are born or die at once
    leaps: int


@njit(cache=True, nogil=True)
def advance_counts(
    state: CountsState,
    alpha: Array,
    graph: Graph,
    places: Integers,
    released: Released,
    log_sizes: Array,
    smallest: int,
    plan: CountsPlan,
    rng: np.random.Generator,
) -> None:
    """From one kept state to the next; log_sizes[k - smallest] is the log prior weight of k records."""
    for _ in range(plan.exchanges):
        exchange(state, graph, places, released, plan.share / 2.0 ** rng.integers(0, plan.halvings + 1), rng)
        draw_rows(alpha, state.tables, graph, rng, state.theta)
    for _ in range(plan.leaps):
        leap(state, alpha, graph, places, released, int(rng.integers(0, graph.levels.size)), rng)
    for _ in range(plan.resizes):
        resize(state, graph, places, released, log_sizes, smallest, plan.block, rng)
    draw_rows(alpha, state.tables, graph, rng, state.theta)


@njit(cache=True, nogil=True)
def locate_codes(graph: Graph, codes: int) -> Integers:
    """The cells (codes, nodes) of every code."""
    places, record = np.empty((codes, graph.levels.size), dtype=np.int64), np.empty_like(graph.levels)
    for code in range(codes):
        locate(code, graph, record, places[code])
    return places


@njit(cache=True, nogil=True)
def count_tables(joint: Integers, places: Integers, tables: Integers) -> None:
    """Add the family tables of joint counts (or of their changes)."""
    for code in range(joint.size):
        if joint[code] != 0:
            for j in range(places.shape[1]):
                tables[places[code, j]] += joint[code]


@njit(cache=True, nogil=True)
def exchange(
    state: CountsState, graph: Graph, places: Integers, released: Released, share: float, rng: np.random.Generator
) -> None:
    """Choose records independently of their values, draw them afresh: the ratio of noise densities decides."""
    change = np.empty_like(state.joint)
    chosen = 0
    for code in range(change.size):
        change[code] = -rng.binomial(state.joint[code], share) if state.joint[code] > 0 else 0
        chosen -= change[code]
    add_records(chosen, state.theta, places, 0, graph.first_cell[1], 0, 1.0, rng, change)
    accept(state, change, graph, places, released, 0.0, rng)


@njit(cache=True, nogil=True)
def leap(
    state: CountsState,
    alpha: Array,
    graph: Graph,
    places: Integers,
    released: Released,
    node: int,
    rng: np.random.Generator,
) -> None:
    """Move the rows of one node's probabilities in turn and draw the records in that row afresh.

    Where noise hides the sampling error of a row's records, probabilities given records hardly move; here both move.
    The step is reversible under the prior, and how likely it is to be in a row does not depend on its probabilities, so
    the ratio of noise densities alone decides. The number of records in a row, which sets the step, does not change.
    """
    size = graph.levels[node]
    proposed = state.theta.copy()
    variance = released.scale[node] ** 2 * (1.0 if released.gaussian[node] else 2.0)
    for row in range(graph.first_cell[node], graph.first_cell[node + 1], size):
        count = state.tables[row : row + size].sum()
        if count > HIDDEN * size * variance:
            continue
        depth = int(np.log2(1.0 + min(count * count / variance, float(count))))
        pull_row(alpha, state.theta, row, size, depth, rng, proposed)
        change, mass = np.zeros_like(state.joint), 0.0
        for code in range(change.size):
            if row <= places[code, node] < row + size:
                change[code] = -state.joint[code]
                mass += code_probability(code, proposed, places)
        add_records(count, proposed, places, row, row + size, node, mass, rng, change)
        if accept(state, change, graph, places, released, 0.0, rng):
            state.theta[row : row + size] = proposed[row : row + size]
        else:
            proposed[row : row + size] = state.theta[row : row + size]


@njit(cache=True, nogil=True)
def resize(
    state: CountsState,
    graph: Graph,
    places: Integers,
    released: Released,
    log_sizes: Array,
    smallest: int,
    block: int,
    rng: np.random.Generator,
) -> None:
    """Some records, a log-uniform number of them, are born from the network, or as many die, chosen at random.

    The ways to be chosen cancel the ways to be placed, and a birth from the network cancels its own probability: what
    is left is the ratio of prior sizes and of noise densities.
    """
    sign = 1 if rng.random() < 0.5 else -1
    count = int(np.exp(rng.random() * np.log(block + 1.0)))
    now = state.total[0]
    then = now + sign * count
    if then < 0 or log_sizes[then - smallest] == -np.inf:
        return
    change = np.zeros_like(state.joint)
    if sign > 0:
        add_records(count, state.theta, places, 0, graph.first_cell[1], 0, 1.0, rng, change)
    else:
        remove_records(count, state, rng, change)
    if accept(state, change, graph, places, released, log_sizes[then - smallest] - log_sizes[now - smallest], rng):
        state.total[0] = then


@njit(cache=True, nogil=True)
def add_records(
    count: int,
    theta: Array,
    places: Integers,
    begin: int,
    end: int,
    node: int,
    mass: float,
    rng: np.random.Generator,
    change: Integers,
) -> None:
    """Draw records from the network given that their cell in the table of `node` is one of begin..end-1.

    `mass` is the probability of that; multinomial counts, one binomial after the other.
    """
    last = 0
    for code in range(change.size):
        if count > 0 and begin <= places[code, node] < end:
            probability = code_probability(code, theta, places)
            if probability > 0.0:
                drawn = rng.binomial(count, min(probability / mass, 1.0)) if mass > 0.0 else 0
                change[code] += drawn
                count -= drawn
                mass -= probability
                last = code
    change[last] += count


@njit(cache=True, nogil=True, inline="always")
def code_probability(code: int, theta: Array, places: Integers) -> float:
    """The probability of one code."""
    probability = 1.0
    for j in range(places.shape[1]):
        probability *= theta[places[code, j]]
    return probability


@njit(cache=True, nogil=True)
def remove_records(count: int, state: CountsState, rng: np.random.Generator, change: Integers) -> None:
    """Choose records without replacement, one after the other."""
    for taken in range(count):
        position = rng.integers(0, state.total[0] - taken)
        code = 0
        while position >= state.joint[code] + change[code]:
            position -= state.joint[code] + change[code]
            code += 1
        change[code] -= 1


@njit(cache=True, nogil=True)
def accept(
    state: CountsState,
    change: Integers,
    graph: Graph,
    places: Integers,
    released: Released,
    log_ratio: float,
    rng: np.random.Generator,
) -> bool:
    """Change the joint counts with the probability that the noise densities, and a further log-ratio, give."""
    steps = np.zeros_like(state.tables)
    count_tables(change, places, steps)
    for j in range(graph.levels.size):
        for cell in range(graph.first_cell[j], graph.first_cell[j + 1]):
            log_ratio += gain(released, state.tables, j, cell, steps[cell])
    if log_ratio <= -rng.standard_exponential():
        return False
    for code in range(change.size):
        state.joint[code] += change[code]
    for cell in range(steps.size):
        state.tables[cell] += steps[cell]
    return True
