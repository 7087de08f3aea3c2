"""What became of the cells of declared columns: class ~ Categorical(theta), theta ~ Dirichlet(prior), for each column.

One joint release of D tables of counts, one for each column: a row is in one class of each, so L1 = 2D and L2 = √(2D)
under replace-one. The classes are those of `queries.cell_classes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import QueryError
from discreet.models.base import (
    Laws,
    Progress,
    Simulated,
    StatisticsModel,
    Value,
    column_names,
    dirichlet_prior,
    prior_number,
)
from discreet.numerics.arrays import Array
from discreet.posterior import DirichletPosterior, SharesByColumn, dirichlet_from_counts
from discreet.queries.cell_classes import cell_class_query, cell_classes
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["BadCells"]


@dataclass(frozen=True)
class BadCells(StatisticsModel):
    """How many cells of each column are bad, clipped, or on a bound: the share of every class, noisily counted.

    All rows count, also those that a bad cell of these columns excludes from other statistics. Each column's shares are
    given its own table. With `by` they are shares of a group: a row whose group is no declared level is where that
    column's `missing` says, and in no group where it says "exclude".

    Parameters
    ----------
    columns
        The columns whose cells are counted.
    prior
        Dirichlet prior of the classes of every column: one number, or a list for every column by name.
    by
        A column of levels that is not counted itself: the classes are then counted in each of its groups.
    """

    columns: tuple[str, ...]
    prior: float | Mapping[str, tuple[float, ...]] = 1.0
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names("BadCells.columns", self.columns))
        if not isinstance(self.prior, Mapping):
            object.__setattr__(self, "prior", prior_number("BadCells.prior", self.prior))
        elif set(self.prior) != set(self.columns):
            raise QueryError(f"BadCells.prior must name exactly the columns, got {sorted(map(str, self.prior))}")

    def __hash__(self) -> int:
        return hash((self.columns, self.by))

    def query(self, schema: Schema) -> Statistics:
        """The tables of all columns, released together."""
        self._priors(schema)  # refuses priors that do not fit the classes
        return cell_class_query(schema, self.columns, self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> SharesByColumn:
        """The exact posterior of each column's shares over the lattice of true counts of its table."""
        parts = {
            name: dirichlet_from_counts(
                np.asarray(value[name], dtype=float), query.sizes, prior, laws[name], cell_classes(query.schema, name)
            )
            for name, prior in self._priors(query.schema).items()
        }
        return SharesByColumn(parts)

    def plug_in(self, query: Statistics, value: Value) -> SharesByColumn:
        """Clip the noisy counts at zero and update the priors with them."""
        parts = {
            name: DirichletPosterior(
                np.maximum(np.asarray(value[name], dtype=float), 0.0) + prior, cell_classes(query.schema, name)
            )
            for name, prior in self._priors(query.schema).items()
        }
        return SharesByColumn(parts)

    def strengthened(self, query: Statistics, value: Value) -> "BadCells":
        """The same model with the counts of a public dataset added to its priors."""
        priors = self._priors(query.schema)
        return replace(self, prior={name: tuple((prior + value[name]).tolist()) for name, prior in priors.items()})

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Shares from their priors, then the classes of n rows, each column on its own."""
        truth = {name: rng.dirichlet(prior) for name, prior in self._priors(schema).items()}
        return dict(truth), {name: rng.choice(theta.size, size=n, p=theta) for name, theta in truth.items()}

    def _priors(self, schema: Schema) -> dict[str, Array]:
        found = {}
        for name in self.columns:
            prior = tuple(self.prior[name]) if isinstance(self.prior, Mapping) else self.prior
            classes = cell_classes(schema, name)
            found[name] = np.asarray(dirichlet_prior(f"BadCells.prior of {name!r}", prior, len(classes)))
        return found
