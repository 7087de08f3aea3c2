"""Means and covariances of several numeric columns as declared, that is clamped to their bounds, whatever their law.

prior=None    weak, within the bounds (`declared_moments`)
otherwise     x ~ N(mean, covariance),   covariance ~ InverseWishart(degrees, scale)
              mean | covariance ~ N(m, covariance / strength)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.gaussian.gaussian_system import GaussianSystem, from_niw
from discreet.inference.gaussian.plausible_priors import elsewhere, share_of_records
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, check_robust, column_names
from discreet.models.declared_moments import MOMENTS, DeclaredMoments, widths
from discreet.models.gaussian import (
    Niw,
    checked_niw,
    default_niw,
    exact_moments,
    independent_draws,
    moment_entries,
    moment_terms,
    plug_in_moments,
    to_niw,
)
from discreet.numerics.arrays import Array
from discreet.posterior import ChainsPosterior
from discreet.posterior.records.declared_records import DeclaredRecords
from discreet.queries.counts_and_sums import Axis
from discreet.queries.second_stage import followed_by_influences
from discreet.queries.statistics import Statistics, moment_axes, moment_query
from discreet.schema import Schema

__all__ = ["MultivariateNormal"]


@dataclass(frozen=True)
class MultivariateNormal(StatisticsModel):
    """Mean vector and covariance matrix of bounded columns as declared.

    `prior` is (mean, strength, degrees, scale): a vector, two numbers and a matrix; without one it is weak, within the
    bounds. `robust=True`, which goes with the weak prior only, spends 5% of the budget on how heavy the tails are and
    how rows of a person go together, for the width of every variance and every correlation.
    """

    columns: tuple[str, ...]
    prior: Niw | None = None
    by: str | None = None
    robust: bool | None = None

    def __post_init__(self) -> None:
        check_robust("MultivariateNormal", self.robust, self.prior)
        object.__setattr__(self, "columns", column_names("MultivariateNormal.columns", self.columns))
        if self.prior is not None:
            object.__setattr__(self, "prior", checked_niw("MultivariateNormal.prior", self.prior, len(self.columns)))

    def implausible(self, schema: Schema) -> tuple[str, ...]:
        """Of every column on its own: a prior whose records lie outside of its bounds."""
        if self.prior is None:
            return ()
        mean, strength, degrees, scale = self.prior
        shape = 0.5 * max(degrees - len(self.columns) + 1.0, 1e-3)
        found: tuple[str, ...] = ()
        for j, axis in enumerate(self._axes(schema)):
            inside = share_of_records(mean[j], strength, shape, 0.5 * scale[j][j], axis)
            found += elsewhere("MultivariateNormal.prior", axis.column, inside)
        return found

    def query(self, schema: Schema) -> Statistics:
        """All sums and products, jointly; then, if robust, how much squares and products vary."""
        self._system(schema)  # refuses a prior that does not fit
        query = moment_query(schema, self.columns, (), self.by)
        if not self.robust:
            return query
        pairs = (f"correlation[{one}, {other}]" for one, other in combinations(self.columns, 2))
        return followed_by_influences(query, (*self.columns, *pairs), self._axes(schema))

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Draws of mean and covariance of the declared columns given their noisy moments."""
        terms = moment_terms(moment_entries(query, value, self.columns), laws)
        found = self._declared(query.schema).means_and_covariances(query, value, laws, terms, progress)
        return self._answers(*found)

    def plug_in(self, query: Statistics, value: Value) -> ChainsPosterior:
        """The conjugate posterior that takes the noisy moments at face value."""
        system, entries = self._system(query.schema), moment_entries(query, value, self.columns)
        updated = plug_in_moments(system, self._axes(query.schema), entries, query.total)
        return self._answers(*system.mean_and_covariance(independent_draws(updated)))

    def strengthened(self, query: Statistics, value: Value) -> "MultivariateNormal":
        """The same model with its prior strengthened by the records of a public dataset."""
        entries = moment_entries(query, value, self.columns)
        system = exact_moments(self._system(query.schema), self._axes(query.schema), entries, query.total)
        return replace(self, prior=to_niw(system.nodes))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A law of records from the prior, its means and covariances after clamping, and n records."""
        law = self._declared(schema).drawn_law(rng)
        mean, covariance = law.means_and_covariance()
        return {"mean": mean, "covariance": covariance}, law.rows(n, rng)

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """All columns."""
        return DeclaredRecords.numbers(schema, *self.columns)

    def _axes(self, schema: Schema) -> tuple[Axis, ...]:
        return moment_axes(schema, self.columns)

    def _system(self, schema: Schema) -> GaussianSystem:
        return GaussianSystem(from_niw(self.columns, *(self.prior or default_niw(self._axes(schema)))))

    def _declared(self, schema: Schema) -> DeclaredMoments:
        conjugate = (self.prior is not None,) * len(self.columns)
        return DeclaredMoments(self._system(schema), self._axes(schema), MOMENTS, conjugate)

    def _answers(self, mean: Array, covariance: Array) -> ChainsPosterior:
        labels = {"mean": {"column": self.columns}, "covariance": {"column": self.columns, "other": self.columns}}
        found = {"mean": mean, "covariance": covariance}
        title = f"means and covariances of {', '.join(self.columns)} as declared{widths(self.robust, self.prior)}"
        return ChainsPosterior(found, labels, title, _NormalRecords(self.columns))


@dataclass(frozen=True)
class _NormalRecords:
    """New records, a column of cells by name; they are clamped to what is declared afterwards."""

    columns: tuple[str, ...]

    def draw(
        self, parameters: Mapping[str, NDArray[np.float64]], rng: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """One record for every mean and covariance."""
        roots = np.linalg.cholesky(parameters["covariance"])
        steps = np.einsum("nij,nj->ni", roots, rng.standard_normal(parameters["mean"].shape))
        return dict(zip(self.columns, (parameters["mean"] + steps).T, strict=True))
