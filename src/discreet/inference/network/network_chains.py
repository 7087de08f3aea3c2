"""Exact chains for a discrete network of known graph, given noisy tables of every node and its parents.

    θ_j[parents, :] ~ Dirichlet(alpha_j[parents, :]);  record_i ~ Π_j θ_j[parents of j, level of j];  i = 1..N
    y_j = T_j + noise, T_j counts the records by the levels of j's parents and of j

The unseen records are part of the state, so every conditional law is simple and the posterior is exact at any N: new
records are proposed from the network and accepted by the noise density of the tables they would give; probabilities
given tables are Dirichlet. The moves are in `kernels.network_records` and `kernels.network_counts`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.network.network_problem import NetworkProblem
from discreet.inference.network.network_walk import Walk, start_walk
from discreet.inference.parallel_chains import REPORTED, Progress, run_chains
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array, Integers
from discreet.schema.row_counts import Sizes

__all__ = ["network_chains"]


WARM_UP = 250  # states discarded at the start of each chain


def network_chains(
    alphas: Mapping[str, ArrayLike],
    parents: Mapping[str, Sequence[str]],
    tables: Mapping[str, ArrayLike],
    laws: Mapping[str, NoiseLaw],
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    chains: int = 4,
    progress: Progress | None = None,
) -> dict[str, NDArray[Any]]:
    """Posterior draws (chains, draws, parents' levels…, levels) by node; "n" (chains, draws) is the number of records.

    Parameters
    ----------
    alphas
        Dirichlet concentrations of each node, in the shape of its table or broadcast to it.
    parents
        The parents of each node; the nodes are in the order of this mapping, every parent before its children.
    tables
        Released counts of each node, one axis for each parent and the last for the node.
    laws
        The noise that was added to each table.
    progress
        Told, now and then, how many states of all chains were made since the last time.
    """
    problem = NetworkProblem.build(alphas, parents, tables, laws, sizes)
    problem.graph, problem.released, problem.alpha  # noqa: B018 - made once, before threads share them

    results = run_chains(lambda own: _run(problem, start_walk(problem, own), draws, progress), chains, rng)
    flat = np.split(np.stack([theta for theta, _ in results]), problem.graph.first_cell[1:-1], axis=-1)
    by_node = {
        name: part.reshape(chains, draws, *problem.tables[name].shape)
        for name, part in zip(problem.tables, flat, strict=True)
    }
    return {**by_node, "n": np.stack([totals for _, totals in results])}


def _run(problem: NetworkProblem, walk: Walk, draws: int, progress: Progress | None) -> tuple[Array, Integers]:
    """One chain: flat probabilities (draws, cells) and the number of records (draws,)."""
    theta, totals = np.empty((draws, walk.theta.size)), np.empty(draws, dtype=np.int64)
    smallest, log_sizes = 0, np.zeros(0)
    for state in range(-WARM_UP, draws):
        n = int(walk.total[0])
        if not smallest <= max(n - walk.reach, 0) <= n + walk.reach < smallest + log_sizes.size:
            smallest = max(n - 4 * walk.reach, 0)
            log_sizes = problem.sizes.log_weight(np.arange(smallest, n + 4 * walk.reach + 1))
        walk.advance(log_sizes, smallest)
        if state >= 0:
            theta[state], totals[state] = walk.theta, walk.total[0]
        if progress is not None and (state + 1) % REPORTED == 0:
            progress(REPORTED)
    return theta, totals
