"""A categorical column: x ~ Categorical(theta), theta ~ Dirichlet(alpha)."""

from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import QueryError
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, checked_prior, dirichlet_prior
from discreet.posterior import DirichletLattice, DirichletPosterior, LevelRecord, OneParameter, dirichlet_from_counts
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import Dirichlet
from discreet.queries.statistics import Statistics
from discreet.schema import Categorical, Schema

__all__ = ["DirichletCategorical"]


@dataclass(frozen=True)
class DirichletCategorical(StatisticsModel):
    """The probabilities of a column's declared levels; `prior` is one number, or one per level."""

    column: str
    prior: float | tuple[float, ...] = 1.0
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", checked_prior("DirichletCategorical.prior", self.prior))

    def query(self, schema: Schema) -> Statistics:
        """The counts of all levels, jointly (L1 = 2 and L2 = √2 under replace-one)."""
        prior = dirichlet_prior("DirichletCategorical.prior", self.prior, len(self._levels(schema)))
        counts = Counts.over(schema, "counts", self.column)
        return Statistics(schema, (counts,), Dirichlet("probabilities", prior)).grouped(self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> DirichletLattice:
        """The exact posterior over the lattice of true counts."""
        counts = np.asarray(value["counts"], dtype=float)
        prior = np.asarray(self._prior(query))
        levels = self._levels(query.schema)
        return dirichlet_from_counts(counts, query.sizes, prior, laws["counts"], levels)

    def plug_in(self, query: Statistics, value: Value) -> DirichletPosterior:
        """Clip the noisy counts at zero and update the prior with them."""
        counts = np.maximum(np.asarray(value["counts"], dtype=float), 0.0)
        return DirichletPosterior(counts + np.asarray(self._prior(query)), self._levels(query.schema))

    def strengthened(self, query: Statistics, value: Value) -> "DirichletCategorical":
        """The same model with the counts of a public dataset added to its prior."""
        counts = np.asarray(value["counts"], dtype=float)
        return replace(self, prior=tuple((counts + np.asarray(self._prior(query))).tolist()))

    def reads_products(self, query: Statistics) -> bool:
        """Every count is summed over in a window of its own."""
        return query.by is None

    def record_law(self, schema: Schema) -> OneParameter:
        """Codes of the levels."""
        return OneParameter("probabilities", LevelRecord())

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(LevelCells.of(schema, self.column))

    def implied_schema(self) -> Schema | None:
        """As many levels as the prior has numbers; one number for all says nothing about the levels."""
        return Schema({self.column: Categorical(range(len(self.prior)))}) if isinstance(self.prior, tuple) else None

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Theta from the prior, then n rows."""
        query = self.query(schema)
        theta = rng.dirichlet(self._prior(query))
        rows = rng.choice(theta.size, size=n, p=theta)
        return {"probabilities": theta}, {self.column: rows}

    def _prior(self, query: Statistics) -> tuple[float, ...]:
        return dirichlet_prior("DirichletCategorical.prior", self.prior, len(self._levels(query.schema)))

    def _levels(self, schema: Schema) -> tuple[str, ...]:
        column = schema.column(self.column)
        if column.as_levels is None:
            kind = type(column).__name__
            raise QueryError(
                f"DirichletCategorical.column must be categorical, got {self.column!r}, a {kind} without cut=: declare "
                "its ranges, as in cut=[18, 65]"
            )
        return column.as_levels.levels
