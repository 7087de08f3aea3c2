"""A discrete network of known graph given only noisy tables of every node and its parents.

The conditional probabilities θ_j[parents, level] have independent Dirichlet(alpha_j) rows. Two ways to read the tables:

families   every node by itself. The cells of its table are multinomial, of probabilities π[parents] θ_j[parents, level]
           and π ~ Dirichlet(Σ_level alpha_j), which is one Dirichlet(alpha_j) over all cells: the counts given the
           release are a sum over compositions, drawn exactly and independently. What the tables of other nodes say of
           the same margins is left out, so this conditions on less, and nothing has to converge; the prior of the
           parents' levels is the declared one above, not the one that the rest of the network implies
tables     all together, and the number of records where it is private, by the chains of `inference.network`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.counts.compositions import Compositions, Total
from discreet.inference.counts.noisy_counts import NoisyCells, Polya
from discreet.inference.counts.simplex import dirichlet_draws, draw_codes
from discreet.inference.network.network_chains import network_chains
from discreet.inference.network.network_problem import NetworkProblem
from discreet.noise import NoiseLaw
from discreet.posterior.chains import ChainsPosterior
from discreet.schema.row_counts import Sizes

__all__ = ["NetworkRecords", "network_from_families", "network_from_tables"]

FIRST, MOST = 1000, 16_000  # draws of each chain before it is asked whether they mixed, and at most
INDEPENDENT = (4, 2000)  # draws, in the form of chains
SEED = 0  # public and fixed: the same release gives the same answers


@dataclass(frozen=True)
class NetworkRecords:
    """New records of a network: level codes by node, parents before children."""

    parents: Mapping[str, tuple[str, ...]]

    def draw(
        self, parameters: Mapping[str, NDArray[np.float64]], rng: np.random.Generator
    ) -> dict[str, NDArray[np.int64]]:
        """One record for each entry along the first axis of the parameters."""
        records: dict[str, NDArray[np.int64]] = {}
        for name, above in self.parents.items():
            each = np.arange(len(parameters[name]))
            records[name] = draw_codes(parameters[name][(each, *(records[parent] for parent in above))], rng)
        return records


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
    axes = _axes(tables, parents, levels)
    problem = NetworkProblem.build(alphas, parents, tables, laws, sizes)
    rng, found = np.random.default_rng(SEED), {}
    for name, alpha in problem.alphas.items():
        total = Total(sizes, float(alpha.sum()))
        cells = NoisyCells(problem.tables[name].ravel(), problem.laws[name], Polya(alpha.ravel()), total.highest)
        counts = Compositions.build(cells, total).sample(INDEPENDENT[0] * INDEPENDENT[1], rng)
        found[name] = dirichlet_draws(counts.reshape(*INDEPENDENT, *alpha.shape) + alpha, rng)
    title = f"posterior of a network of {len(axes)} nodes, each from its own table"
    return ChainsPosterior(found, axes, title, NetworkRecords(problem.parents))


def network_from_tables(
    tables: Mapping[str, ArrayLike],
    sizes: Sizes,
    parents: Mapping[str, Sequence[str]],
    alphas: Mapping[str, ArrayLike],
    laws: Mapping[str, NoiseLaw],
    levels: Mapping[str, Sequence[str]],
    *,
    draws: int | None = None,
    chains: int = 4,
    progress: Callable[[int], None] | None = None,
) -> ChainsPosterior:
    """Posterior of one array (parents' levels…, levels) for each node, and of "n" where that number is private.

    Parameters
    ----------
    tables
        Released counts of each node, one axis for each parent and the last for the node.
    sizes
        What is known beforehand of the number of records.
    parents
        The parents of each node; the nodes are in the order of this mapping, every parent before its children.
    alphas
        Dirichlet concentrations of each node, in the shape of its table or broadcast to it.
    levels
        The declared levels of each node.
    draws
        How many states of each chain are kept; without it, until they mixed, up to `MOST`.
    """
    axes, above = _axes(tables, parents, levels), {name: tuple(nodes) for name, nodes in parents.items()}
    rng = np.random.default_rng(SEED)
    length = {"draws": FIRST, "most": MOST} if draws is None else {"draws": draws}
    found = network_chains(alphas, above, tables, laws, sizes, rng, chains=chains, progress=progress, **length)
    if sizes.lowest == sizes.highest:
        del found["n"]
    title = f"posterior of a network of {len(above)} nodes, from all tables together"
    return ChainsPosterior(found, axes, title, NetworkRecords(above))


def _axes(
    tables: Mapping[str, ArrayLike], parents: Mapping[str, Sequence[str]], levels: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """The dimensions of every node's table: its parents' levels, then its own."""
    for name in parents:
        if name not in levels or name not in tables or np.shape(tables[name])[-1:] != (len(levels[name]),):
            raise QueryError(f"network_from_tables.levels[{name!r}] must name the last axis of its table")
    return {
        name: {f"{node}_level": tuple(map(str, levels[node])) for node in (*nodes, name)}
        for name, nodes in parents.items()
    }
