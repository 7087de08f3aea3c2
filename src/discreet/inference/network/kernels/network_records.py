"""Compiled moves on the unseen records of a discrete network, one integer for each record.

The tables change with every accepted move, so nothing is ever counted again.

    replace     one record is drawn afresh from the network; accepted by the ratio of noise densities
    resize      a few records are born from the network, or a few die; times the ratio of prior sizes
    recouple    rows of probabilities move and take their records with them
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.inference.network.kernels.network_layout import (
    Graph,
    Released,
    draw_record,
    draw_rows,
    first_of_row,
    gain,
    level_at,
    locate,
    pull_row,
)
from discreet.numerics.arrays import Array, Integers

__all__ = ["RecordsPlan", "RecordsState", "advance", "fill", "replace"]


class RecordsState(NamedTuple):
    """One chain: unseen records, of which the first total[0] exist, the tables they give, and the probabilities."""

    total: Integers
    records: Integers
    tables: Integers
    theta: Array


class RecordsPlan(NamedTuple):
    """How many moves of each kind lie between two kept states."""

    rounds: int  # of record moves, then new probabilities
    moves: int
    resizes: int
    block: int  # the most records that are born or die at once
    recouplings: int


HIDDEN = 8.0  # rows with more records than this × levels × noise variance know their probabilities well enough


@njit(cache=True, nogil=True)
def advance(
    state: RecordsState,
    alpha: Array,
    graph: Graph,
    released: Released,
    log_sizes: Array,
    smallest: int,
    plan: RecordsPlan,
    rng: np.random.Generator,
) -> None:
    """From one kept state to the next; log_sizes[k - smallest] is the log prior weight of k records."""
    for _ in range(plan.rounds):
        replace(state, graph, released, 1.0, plan.moves, rng)
        draw_rows(alpha, state.tables, graph, rng, state.theta)
    for _ in range(plan.resizes):
        resize(state, graph, released, log_sizes, smallest, plan.block, rng)
    for _ in range(plan.recouplings):
        recouple(state, alpha, graph, released, rng)
    draw_rows(alpha, state.tables, graph, rng, state.theta)


@njit(cache=True, nogil=True)
def fill(state: RecordsState, graph: Graph, rng: np.random.Generator) -> None:
    """Draw every record from the network and count it into the empty tables."""
    record, cells = np.empty_like(graph.levels), np.empty_like(graph.levels)
    for i in range(state.total[0]):
        state.records[i] = draw_record(state.theta, graph, rng, record, cells)
        for cell in cells:
            state.tables[cell] += 1


@njit(cache=True, nogil=True)
def replace(
    state: RecordsState, graph: Graph, released: Released, heat: float, moves: int, rng: np.random.Generator
) -> int:
    """Draw records afresh, one at a time, and count the accepted; heat 1 is exact, heat 0 takes only improvements.

    One record moves two cells of every table, and differential privacy bounds what that does to the density of the
    release: under ε-DP for replaced records every proposal is accepted with probability e^{-ε} or more.
    """
    record, old, new = np.empty_like(graph.levels), np.empty_like(graph.levels), np.empty_like(graph.levels)
    accepted = 0
    for _ in range(moves if state.total[0] > 0 else 0):
        i = rng.integers(0, state.total[0])
        locate(state.records[i], graph, record, old)
        code = draw_record(state.theta, graph, rng, record, new)
        change = 0.0
        for j in range(old.size):
            if old[j] != new[j]:
                change += gain(released, state.tables, j, old[j], -1) + gain(released, state.tables, j, new[j], 1)
        if change > -heat * rng.standard_exponential():
            accepted += 1
            state.records[i] = code
            for j in range(old.size):
                state.tables[old[j]] -= 1
                state.tables[new[j]] += 1
    return accepted


@njit(cache=True, nogil=True)
def resize(
    state: RecordsState,
    graph: Graph,
    released: Released,
    log_sizes: Array,
    smallest: int,
    block: int,
    rng: np.random.Generator,
) -> None:
    """Some records, a log-uniform number of them, are born from the network, or as many die, chosen at random.

    Records have no order, so the ways to be chosen cancel the ways to be placed, and a birth from the network cancels
    its own probability: what is left is the ratio of prior sizes and of noise densities.
    """
    record, cells = np.empty_like(graph.levels), np.empty_like(graph.levels)
    sign = 1 if rng.random() < 0.5 else -1
    now = state.total[0]
    then = now + sign * int(np.exp(rng.random() * np.log(block + 1.0)))
    if then < 0 or log_sizes[then - smallest] == -np.inf:
        return
    change = log_sizes[then - smallest] - log_sizes[now - smallest]
    for last in range(max(now, then) - 1, min(now, then) - 1, -1):
        if sign > 0:
            state.records[last] = draw_record(state.theta, graph, rng, record, cells)
        else:
            i = rng.integers(0, last + 1)
            state.records[i], state.records[last] = state.records[last], state.records[i]
            locate(state.records[last], graph, record, cells)
        for j in range(cells.size):
            change += gain(released, state.tables, j, cells[j], sign)
            state.tables[cells[j]] += sign
    if change > -rng.standard_exponential():
        state.total[0] = then
        return
    for last in range(min(now, then), max(now, then)):
        locate(state.records[last], graph, record, cells)
        for cell in cells:
            state.tables[cell] -= sign


@njit(cache=True, nogil=True)
def recouple(state: RecordsState, alpha: Array, graph: Graph, released: Released, rng: np.random.Generator) -> None:
    """Move the rows of one node's probabilities in turn and let their records follow.

    Where noise hides the sampling error of a row's records, probabilities given records hardly move; here both move. A
    level is the inverse distribution function at a uniform variable, which is drawn given the level, kept, and read
    again with the proposed probabilities; so are the levels of descendants. The step is reversible under the prior, so
    the ratio of noise densities alone decides. The number of records in a row, which sets the step, does not change.
    """
    node = int(rng.integers(0, graph.levels.size))
    size, begin = graph.levels[node], graph.first_cell[node]
    variance = released.scale[node] ** 2 * (1.0 if released.gaussian[node] else 2.0)
    order, first = records_by_row(state, graph, node)
    codes, steps, proposed = np.empty_like(order), np.zeros_like(state.tables), state.theta.copy()
    scratch = np.empty((3, graph.levels.size), dtype=np.int64)
    for r in range(first.size - 1):
        members, row = order[first[r] : first[r + 1]], begin + r * size
        count = float(members.size)
        if count == 0.0 or count > HIDDEN * size * variance:
            continue
        depth = int(np.log2(1.0 + min(count * count / variance, count)))
        pull_row(alpha, state.theta, row, size, depth, rng, proposed)
        steps[:] = 0
        for k in range(members.size):
            codes[k] = follow(state.records[members[k]], node, state.theta, proposed, graph, rng, scratch, steps)
        change = 0.0
        for j in range(node, graph.levels.size):
            for cell in range(graph.first_cell[j], graph.first_cell[j + 1]):
                if steps[cell] != 0:
                    change += gain(released, state.tables, j, cell, steps[cell])
        if change > -rng.standard_exponential():
            for k in range(members.size):
                state.records[members[k]] = codes[k]
            state.tables[:] += steps
            state.theta[row : row + size] = proposed[row : row + size]
        else:
            proposed[row : row + size] = state.theta[row : row + size]


@njit(cache=True, nogil=True)
def records_by_row(state: RecordsState, graph: Graph, node: int) -> tuple[Integers, Integers]:
    """The records sorted by the row of a node's table, and where each row starts."""
    total, size = state.total[0], graph.levels[node]
    record, cells = np.empty_like(graph.levels), np.empty_like(graph.levels)
    rows = np.empty(total, dtype=np.int64)
    first = np.zeros((graph.first_cell[node + 1] - graph.first_cell[node]) // size + 1, dtype=np.int64)
    for i in range(total):
        locate(state.records[i], graph, record, cells)
        rows[i] = (cells[node] - graph.first_cell[node]) // size
        first[rows[i] + 1] += 1
    first[:] = np.cumsum(first)
    order, filled = np.empty(total, dtype=np.int64), first.copy()
    for i in range(total):
        order[filled[rows[i]]] = i
        filled[rows[i]] += 1
    return order, first


@njit(cache=True, nogil=True)
def follow(
    code: int,
    node: int,
    theta: Array,
    proposed: Array,
    graph: Graph,
    rng: np.random.Generator,
    scratch: Integers,
    steps: Integers,
) -> int:
    """The record that has the same uniform variables under the proposed row of `node`; cells change by `steps`."""
    old, cells, new = scratch[0], scratch[1], scratch[2]
    locate(code, graph, old, cells)
    followed = 0
    for j in range(old.size):
        before, after = cells[j] - old[j], first_of_row(graph, j, new)
        new[j] = old[j]
        if j == node or before != after:
            uniform = theta[cells[j]] * rng.random()
            for cell in range(before, cells[j]):
                uniform += theta[cell]
            new[j] = level_at(proposed, after, graph.levels[j], uniform)
            steps[cells[j]] -= 1
            steps[after + new[j]] += 1
        followed = followed * graph.levels[j] + new[j]
    return int(followed)
