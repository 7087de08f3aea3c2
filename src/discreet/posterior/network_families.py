"""A discrete network from its noisy family tables, each read by itself: exact independent draws.

The table of node j counts the records by the levels of its parents and of j. Its cells are multinomial, with

    probability of (parents, level) = π[parents] θ_j[parents, level]
    π ~ Dirichlet(Σ_level alpha_j),   rows of θ_j ~ Dirichlet(alpha_j)

which is one Dirichlet(alpha_j) over all cells: counts given the release are a sum over compositions, drawn exactly, and
θ_j given counts is Dirichlet. What the tables of other nodes say of the same margins is left out, so this conditions on
less than the joint chain of `network_tables`: a posterior given the node's own table, and nothing has to converge. The
prior of the parents' levels is the declared one above, not the one that the rest of the network implies.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.inference.counts.compositions import Compositions, Total
from discreet.inference.counts.noisy_counts import NoisyCells, Polya
from discreet.inference.counts.simplex import dirichlet_draws
from discreet.inference.network.network_problem import NetworkProblem
from discreet.noise import NoiseLaw
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.network_tables import NetworkRecords, network_axes
from discreet.schema.row_counts import Sizes

__all__ = ["network_from_families"]

SEED = 0  # public and fixed: the same release gives the same answers
DRAWS = (4, 2000)  # independent ones, in the form of chains


def network_from_families(
    tables: Mapping[str, ArrayLike],
    sizes: Sizes,
    parents: Mapping[str, Sequence[str]],
    alphas: Mapping[str, ArrayLike],
    laws: Mapping[str, NoiseLaw],
    levels: Mapping[str, Sequence[str]],
) -> ChainsPosterior:
    """Posterior of one array (parents' levels…, levels) for each node, given its own table alone.

    The parameters are those of `network_from_tables`.
    """
    axes = network_axes(tables, parents, levels)
    problem = NetworkProblem.build(alphas, parents, tables, laws, sizes)
    rng, found = np.random.default_rng(SEED), {}
    for name, alpha in problem.alphas.items():
        total = Total(sizes, float(alpha.sum()))
        cells = NoisyCells(problem.tables[name].ravel(), problem.laws[name], Polya(alpha.ravel()), total.highest)
        counts = Compositions.build(cells, total).sample(DRAWS[0] * DRAWS[1], rng)
        found[name] = dirichlet_draws(counts.reshape(*DRAWS, *alpha.shape) + alpha, rng)
    title = f"posterior of a network of {len(axes)} nodes, each from its own table"
    return ChainsPosterior(found, axes, title, NetworkRecords(problem.parents))
