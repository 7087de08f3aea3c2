"""A discrete Bayesian network with a known graph: every column depends on its declared parents and on nothing else.

    column | parents ~ Categorical(theta[parents]),   theta[parents] ~ Dirichlet(prior)

One joint release of all family tables (parents × column): a row is in one cell of each, so L1 = 2D and L2 = √(2D) under
replace-one for D columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.counts.simplex import dirichlet_draws, draw_codes
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value
from discreet.numerics.arrays import Array
from discreet.posterior import (
    ChainsPosterior,
    NetworkPosterior,
    NetworkRecords,
    network_from_families,
    network_from_tables,
)
from discreet.posterior.records.declared_records import DeclaredRecords
from discreet.queries.counts_and_sums import Counts, level_column, levels_of
from discreet.queries.families import ConditionalTable, DirichletTables
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["BayesianNetwork"]


PLUG_IN_DRAWS = (4, 1000)


@dataclass(frozen=True)
class BayesianNetwork(StatisticsModel):
    """Conditional probabilities of every column given its parents.

    Parameters
    ----------
    parents
        The graph: the parents of every column, by name; columns without parents have an empty list.
    prior
        Dirichlet concentration: one number, or for every column a table (parents' levels …, its levels).
    """

    parents: Mapping[str, tuple[str, ...]]
    prior: float | Mapping[str, Any] = 1.0
    by: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parents, Mapping) or not self.parents:
            raise QueryError(f"BayesianNetwork.parents must name the parents of every column, got {self.parents!r}")
        graph = {name: (of,) if isinstance(of, str) else tuple(of) for name, of in self.parents.items()}
        if "n" in graph:
            raise QueryError('BayesianNetwork.parents must not name a column "n", the name of the number of rows')
        for name, of in graph.items():
            if len(set(of)) != len(of) or not set(of) <= set(graph) or name in of:
                raise QueryError(
                    f"BayesianNetwork.parents[{name!r}] must be other columns of the graph, got {list(of)!r}"
                )
        try:
            order = tuple(TopologicalSorter(graph).static_order())
        except CycleError:
            raise QueryError("BayesianNetwork.parents must form a graph without cycles, got a cycle") from None
        object.__setattr__(self, "parents", {name: graph[name] for name in order})
        if not isinstance(self.prior, Mapping):
            object.__setattr__(self, "prior", positive("BayesianNetwork.prior", self.prior, error=QueryError))

    def __hash__(self) -> int:
        return hash((tuple(self.parents.items()), self.by))

    def query(self, schema: Schema) -> Statistics:
        """All family tables, released together."""
        tables = tuple(Counts.over(schema, name, *of, name) for name, of in self.parents.items())
        family = DirichletTables(
            tuple(
                ConditionalTable(name, name, prior.shape, tuple(prior.ravel().tolist()))
                for name, prior in self._priors(schema).items()
            )
        )
        return Statistics(schema, tables, family).grouped(self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Exact independent draws of every node's probabilities, given the table of the node and its parents."""
        schema = query.schema
        facts = (value, query.sizes, self.parents, self._priors(schema), laws, self._levels(schema))
        return self._answers(schema, network_from_families(*facts))

    def joint(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Draws given all tables together, by augmentation of the unseen records: exact at any n once they mixed."""
        facts = (value, query.sizes, self.parents, self._priors(query.schema), laws, self._levels(query.schema))
        return self._answers(query.schema, network_from_tables(*facts, progress=progress))

    def plug_in(self, query: Statistics, value: Value) -> ChainsPosterior:
        """Clip the noisy tables at zero and update the priors with them."""
        rng, chains = np.random.default_rng(0), {}
        for name, prior in self._priors(query.schema).items():
            alpha = prior + np.maximum(np.asarray(value[name], dtype=float), 0.0)
            chains[name] = dirichlet_draws(np.broadcast_to(alpha, (*PLUG_IN_DRAWS, *alpha.shape)), rng)
        levels = self._levels(query.schema)
        axes = {name: {f"{node}_level": levels[node] for node in (*of, name)} for name, of in self.parents.items()}
        read = ChainsPosterior(chains, axes, "plug-in posterior of a network", NetworkRecords(self.parents))
        return self._answers(query.schema, read)

    def strengthened(self, query: Statistics, value: Value) -> "BayesianNetwork":
        """The same model with the family tables of a public dataset added to its priors."""
        priors = {name: (prior + value[name]).tolist() for name, prior in self._priors(query.schema).items()}
        return replace(self, prior={name: _frozen(table) for name, table in priors.items()})

    def record_law(self, schema: Schema) -> NetworkRecords:
        """Codes of all columns, parents before children."""
        return NetworkRecords(self.parents)

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """All columns of the graph."""
        return DeclaredRecords.levels(schema, *self.parents)

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Conditional probabilities from their priors, then n rows in the order of the graph."""
        truth: dict[str, Any] = {}
        rows: dict[str, NDArray[np.int64]] = {}
        for name, prior in self._priors(schema).items():
            flat = prior.reshape(-1, prior.shape[-1])
            truth[name] = np.array([rng.dirichlet(row) for row in flat]).reshape(prior.shape)
            given = tuple(rows[parent] for parent in self.parents[name])
            rows[name] = draw_codes(np.broadcast_to(truth[name][given], (n, prior.shape[-1])), rng)
        return truth, rows

    def _answers(self, schema: Schema, chains: ChainsPosterior) -> NetworkPosterior:
        return NetworkPosterior.of(chains, self.parents, {name: level_column(schema, name) for name in self.parents})

    def _levels(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        return {name: levels_of(schema, name) for name in self.parents}

    def _priors(self, schema: Schema) -> dict[str, Array]:
        """Concentrations by column: arrays (parents' levels …, levels)."""
        priors = {}
        for name, of in self.parents.items():
            shape = tuple(len(levels_of(schema, column)) for column in (*of, name))
            if not isinstance(self.prior, Mapping):
                priors[name] = np.full(shape, self.prior)
                continue
            table = np.asarray(self.prior.get(name, np.nan), dtype=float)
            if table.shape != shape or not np.all((table > 0) & np.isfinite(table)):
                raise QueryError(f"BayesianNetwork.prior[{name!r}] must be a table {shape} of numbers above 0")
            priors[name] = table
        return priors


def _frozen(table: Any) -> Any:
    return tuple(_frozen(row) for row in table) if isinstance(table, list) else table
