"""How the compiled moves on a network's unseen records are started and how many lie between two kept states.

Rules on noise, cells and number of records alone, D tables with noise variances v_j and c_j cells:

    records   an independent state takes about v Σc moves of one record, or 2N D when noise hides the records
    counts    about v̄ = 1 / Σ 1/v_j records can be exchanged at once before the noise densities refuse; 4 Σc exchanges
    births    v̄ at once at most, nor more than the deviation (Σ 1 / v_j c_j)^{-1/2} with which the tables tell N
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.inference.network.network_problem import NetworkProblem
from discreet.numerics.arrays import Array, Integers

__all__ = ["Walk", "start_walk", "walk_counts", "walk_records"]


SHARE = 8  # kept states for each independent one where the chain is slowest
EXCHANGES = 4  # for each cell, between two kept states
APPROACHES = 10  # rounds after which it is asked whether the start came closer to the released tables
RESIZES = 32  # birth and death moves between two kept states
FEW_CODES = 64
MANY_CODES = 2**16


@dataclass(frozen=True)
class Walk:
    """A chain on its way: `advance(log_sizes, smallest)` changes `total` (one entry) and `theta` in place.

    `reach` bounds how far the number of records can move in one call.
    """

    advance: Callable[[Array, int], None]
    total: Integers
    theta: Array
    reach: int


def start_walk(problem: NetworkProblem, rng: np.random.Generator) -> Walk:
    """The cheaper of the two ways, which have the same law."""
    n, spread = problem.likely_size()
    cells = float(problem.cells.sum())
    record_moves = min(float(problem.variances.max()) * cells, 4.0 * (n + spread)) / SHARE * len(problem.cells)
    few = problem.codes <= FEW_CODES or (problem.codes <= MANY_CODES and problem.codes * cells < record_moves)
    return (walk_counts if few else walk_records)(problem, n, spread, rng)


def walk_counts(problem: NetworkProblem, n: int, spread: float, rng: np.random.Generator) -> Walk:
    """A walk on the number of records of each code."""
    from discreet.inference.network.kernels.network_counts import (
        CountsPlan,
        CountsState,
        advance_counts,
        count_tables,
        locate_codes,
    )

    graph, released, alpha = problem.graph, problem.released, problem.alpha
    theta = problem.crude_theta()
    places = locate_codes(graph, problem.codes)
    joint = rng.multinomial(n, _joint_probabilities(theta, places))
    state = CountsState(np.array([n]), joint, np.zeros(alpha.size, dtype=np.int64), theta)
    count_tables(joint, places, state.tables)

    size, at_once = max(n + spread, 1.0), 1.0 / float(np.sum(1.0 / problem.variances))
    share = float(np.clip(2.0 * at_once / size, 1.0 / size, 1.0))
    leaps = 2 * len(problem.cells)
    resizes, block = _births(problem)
    plan = CountsPlan(EXCHANGES * alpha.size, share, 4, resizes, block, leaps)
    # towards the released tables by steps of all sizes, while that is easy
    approach = CountsPlan(EXCHANGES * alpha.size, 1.0, int(np.log2(size)) + 1, 0, 1, 0)
    scales = np.repeat(released.scale, problem.cells)
    distance, before = np.sum(np.abs(released.counts - state.tables) / scales), np.inf
    while distance < 0.99 * before and distance > alpha.size:
        for _ in range(APPROACHES):
            advance_counts(state, alpha, graph, places, released, np.zeros(1), 0, approach, rng)
        distance, before = np.sum(np.abs(released.counts - state.tables) / scales), distance

    def advance(log_sizes: Array, smallest: int) -> None:
        advance_counts(state, alpha, graph, places, released, log_sizes, smallest, plan, rng)

    return Walk(advance, state.total, state.theta, resizes * block)


def walk_records(problem: NetworkProblem, n: int, spread: float, rng: np.random.Generator) -> Walk:
    """A walk on the records themselves, one integer for each."""
    from discreet.inference.network.kernels.network_layout import draw_rows
    from discreet.inference.network.kernels.network_records import RecordsPlan, RecordsState, advance, fill, replace

    graph, released, alpha = problem.graph, problem.released, problem.alpha
    state = RecordsState(
        np.array([n]), np.empty(n, dtype=np.int64), np.zeros(alpha.size, dtype=np.int64), problem.crude_theta()
    )
    fill(state, graph, rng)
    batch = 1000 + 10 * alpha.size
    for _ in range(20 + 20 * n // batch):  # towards the released tables, while that is easy
        if replace(state, graph, released, 0.0, batch, rng) < batch // 50:
            break
    draw_rows(alpha, state.tables, graph, rng, state.theta)

    size = max(n + spread, 1.0)
    each = 16 + alpha.size // 4  # so many moves cost a few times as much as new probabilities
    moves = min(float(problem.variances.max()) * alpha.size, 2.0 * size * len(problem.cells)) / SHARE
    resizes, block = _births(problem)
    # each recoupling visits all records: as many as cost about what the moves cost, two for each node at most
    recouplings = int(min(5.0 * moves / size, 2.0 * len(problem.cells)))
    plan = RecordsPlan(int(np.ceil(moves / each)), each, resizes, block, recouplings)
    room = [state]

    def step(log_sizes: Array, smallest: int) -> None:
        needed = int(state.total[0]) + resizes * block
        if needed > room[0].records.size:
            room[0] = state._replace(records=np.resize(room[0].records, 2 * needed))
        advance(room[0], alpha, graph, released, log_sizes, smallest, plan, rng)

    return Walk(step, state.total, state.theta, resizes * block)


def _joint_probabilities(theta: Array, places: Integers) -> Array:
    """The probability of every code."""
    products = np.prod(theta[places], axis=1)
    return np.asarray(products / products.sum())


def _births(problem: NetworkProblem) -> tuple[int, int]:
    """How often records are born or die between kept states, and how many at once at most."""
    if problem.sizes.lowest == problem.sizes.highest:
        return 0, 1
    at_once = 1.0 / float(np.sum(1.0 / problem.variances))
    deviation = float(np.sum(1.0 / (problem.variances * problem.cells))) ** -0.5
    return RESIZES, int(np.clip(min(at_once, deviation), 1.0, 1 + problem.sizes.highest // 2))
