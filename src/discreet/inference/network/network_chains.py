"""Exact chains for a discrete network of known graph, given noisy tables of every node and its parents.

    θ_j[parents, :] ~ Dirichlet(alpha_j[parents, :]);  record_i ~ Π_j θ_j[parents of j, level of j];  i = 1..N
    y_j = T_j + noise, T_j counts the records by the levels of j's parents and of j

The unseen records are part of the state, so every conditional law is simple and the posterior is exact at any N: new
records are proposed from the network and accepted by the noise density of the tables they would give; probabilities
given tables are Dirichlet. The moves are in `kernels.network_records` and `kernels.network_counts`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.convergence import until_mixed
from discreet.inference.network.network_problem import NetworkProblem
from discreet.inference.network.network_walk import Walk, start_walk
from discreet.inference.parallel_chains import REPORTED, Progress, run_chains, side_by_side
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array, Integers
from discreet.schema.row_counts import Sizes

__all__ = ["network_chains"]

Chain = Callable[[int], tuple[Array, Integers]]

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
    most: int | None = None,
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
    draws, most
        How many states of each chain are kept: so many, or up to `most` until they mixed.
    progress
        Told, now and then, how many states of all chains were made since the last time.
    """
    problem = NetworkProblem.build(alphas, parents, tables, laws, sizes)
    problem.graph, problem.released, problem.alpha  # noqa: B018 - made once, before threads share them

    walks = run_chains(lambda own: _started(problem, start_walk(problem, own), progress), chains, rng)

    def more(count: int) -> dict[str, NDArray[Any]]:
        results = side_by_side(walks, count)
        flat = np.split(np.stack([theta for theta, _ in results]), problem.graph.first_cell[1:-1], axis=-1)
        by_node = {
            name: part.reshape(chains, count, *problem.tables[name].shape)
            for name, part in zip(problem.tables, flat, strict=True)
        }
        return {**by_node, "n": np.stack([totals for _, totals in results])}

    return more(draws) if most is None else until_mixed(more, draws, most)


def _started(problem: NetworkProblem, walk: Walk, progress: Progress | None) -> Chain:
    """One chain after its warm-up: flat probabilities (draws, cells) and numbers of records (draws,) as it goes on."""

    def more(draws: int) -> tuple[Array, Integers]:
        theta, totals = np.empty((draws, walk.theta.size)), np.empty(draws, dtype=np.int64)
        smallest, log_sizes = 0, np.zeros(0)
        for state in range(draws):
            n = int(walk.total[0])
            if not smallest <= max(n - walk.reach, 0) <= n + walk.reach < smallest + log_sizes.size:
                smallest = max(n - 4 * walk.reach, 0)
                log_sizes = problem.sizes.log_weight(np.arange(smallest, n + 4 * walk.reach + 1))
            walk.advance(log_sizes, smallest)
            theta[state], totals[state] = walk.theta, walk.total[0]
            if progress is not None and (state + 1) % REPORTED == 0:
                progress(REPORTED)
        return theta, totals

    more(WARM_UP)
    return more
