"""Several numeric columns, jointly normal and clamped to their declared bounds.

x ~ N(mean, covariance),   covariance ~ InverseWishart(degrees, scale)
mean | covariance ~ N(m, covariance / strength)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.inference.gaussian.gaussian_system import GaussianSystem, Parameters, from_niw
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, column_names
from discreet.models.gaussian import (
    Niw,
    chains_of,
    checked_niw,
    default_niw,
    exact_moments,
    independent_draws,
    moment_entries,
    moment_terms,
    plug_in_moments,
    system_rows,
    to_niw,
)
from discreet.models.plausible_priors import elsewhere, share_of_records
from discreet.posterior import ChainsPosterior
from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics, moment_axes, moment_query
from discreet.schema import Schema

__all__ = ["MultivariateNormal"]


@dataclass(frozen=True)
class MultivariateNormal(StatisticsModel):
    """Mean vector and covariance matrix of bounded columns.

    `prior` is (mean, strength, degrees, scale): a vector, two numbers and a matrix. Without one: the middle of the
    declared ranges with the strength of one record, and independent columns whose ranges are six standard deviations.
    """

    columns: tuple[str, ...]
    prior: Niw | None = None
    by: str | None = None

    def __post_init__(self) -> None:
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
        """All sums and products, jointly."""
        self._system(schema)  # refuses a prior that does not fit
        return moment_query(schema, self.columns, (), self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Draws of mean and covariance given the noisy moments of the clamped records."""
        system = self._system(query.schema)
        terms = moment_terms(moment_entries(query, value, self.columns), laws)
        return self._answers(system, chains_of(system, self._axes(query.schema), terms, query, progress))

    def plug_in(self, query: Statistics, value: Value) -> ChainsPosterior:
        """The conjugate posterior that takes the noisy moments at face value."""
        system, entries = self._system(query.schema), moment_entries(query, value, self.columns)
        updated = plug_in_moments(system, self._axes(query.schema), entries, query.total)
        return self._answers(system, independent_draws(updated))

    def strengthened(self, query: Statistics, value: Value) -> "MultivariateNormal":
        """The same model with its prior strengthened by the records of a public dataset."""
        entries = moment_entries(query, value, self.columns)
        system = exact_moments(self._system(query.schema), self._axes(query.schema), entries, query.total)
        return replace(self, prior=to_niw(system.nodes))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Mean and covariance from the prior, then n records."""
        system = self._system(schema)
        parameters, rows, _ = system_rows(system, self._axes(schema), n, rng)
        mean, covariance = system.mean_and_covariance(parameters)
        return {"mean": mean, "covariance": covariance}, rows

    def _axes(self, schema: Schema) -> tuple[Axis, ...]:
        return moment_axes(schema, self.columns)

    def _system(self, schema: Schema) -> GaussianSystem:
        return GaussianSystem(from_niw(self.columns, *(self.prior or default_niw(self._axes(schema)))))

    def _answers(self, system: GaussianSystem, parameters: Parameters) -> ChainsPosterior:
        mean, covariance = system.mean_and_covariance(parameters)
        labels = {"mean": {"column": self.columns}, "covariance": {"column": self.columns, "other": self.columns}}
        found = {"mean": mean, "covariance": covariance}
        return ChainsPosterior(found, labels, "posterior of mean and covariance", _NormalRecords(self.columns))


@dataclass(frozen=True)
class _NormalRecords:
    """New records, before clamping: a column of cells by name."""

    columns: tuple[str, ...]

    def draw(
        self, parameters: Mapping[str, NDArray[np.float64]], rng: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """One record for every mean and covariance."""
        roots = np.linalg.cholesky(parameters["covariance"])
        steps = np.einsum("nij,nj->ni", roots, rng.standard_normal(parameters["mean"].shape))
        return dict(zip(self.columns, (parameters["mean"] + steps).T, strict=True))
