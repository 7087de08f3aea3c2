"""Several numeric columns, jointly normal and clamped to their declared bounds.

x ~ N(mean, covariance),   covariance ~ InverseWishart(degrees, scale)
mean | covariance ~ N(m, covariance / strength)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem, NormalNode, Parameters, from_niw
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, column_names
from discreet.models.gaussian import (
    SIGMAS,
    centres,
    chains_of,
    exact_moments,
    half_widths,
    independent_draws,
    moment_entries,
    moment_terms,
    numbers,
    plug_in_moments,
    system_rows,
    vector,
)
from discreet.posterior import ChainsPosterior
from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics, moment_axes, moment_query
from discreet.schema import Schema

__all__ = ["MultivariateNormal", "Niw", "checked_niw", "default_niw", "to_niw"]

# mean, strength, degrees, scale matrix
Niw = tuple[tuple[float, ...], float, float, tuple[tuple[float, ...], ...]]


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


def default_niw(axes: tuple[Axis, ...]) -> Niw:
    """One record in the middle of the ranges; covariances around independence, three standard deviations to a bound."""
    size = len(axes)
    spread = 2.0 * np.diag((half_widths(axes) / SIGMAS) ** 2)  # degrees of size + 3: the mean covariance is half of it
    return tuple(centres(axes).tolist()), 1.0, size + 3.0, tuple(map(tuple, spread.tolist()))


def to_niw(nodes: tuple[NormalNode, ...]) -> Niw:
    """The normal-inverse-Wishart law of nodes that each regress on all earlier ones: the inverse of `from_niw`.

    The last node's prior holds all but one row of the pseudo-data's moment matrix, and its rate closes it.
    """
    last, size = nodes[-1], len(nodes)
    moments = np.zeros((size + 1, size + 1))
    moments[:size, :size] = last.precision
    moments[size, :size] = moments[:size, size] = last.precision @ last.mean
    moments[size, size] = 2.0 * last.rate + last.mean @ last.precision @ last.mean
    strength = float(moments[0, 0])
    mean = moments[0, 1:] / strength
    scale = moments[1:, 1:] - strength * np.outer(mean, mean)
    return tuple(mean.tolist()), strength, 2.0 * last.shape, tuple(map(tuple, scale.tolist()))


def checked_niw(field: str, prior: Any, size: int) -> Niw:
    """A normal-inverse-Wishart prior as plain numbers; whether its matrix is positive definite is checked on use."""
    if not isinstance(prior, tuple | list) or len(prior) != 4:
        raise QueryError(f"{field} must be (mean, strength, degrees, scale matrix), got {prior!r}")
    mean, strength, degrees, scale = prior
    matrix = numbers(field, scale)
    if matrix.shape != (size, size) or not np.all(np.isfinite(matrix)):
        raise QueryError(f"{field} scale must be a matrix of order {size}, got shape {matrix.shape}")
    kappa, nu = (positive(field, x, error=QueryError) for x in (strength, degrees))
    return tuple(vector(f"{field} mean", mean, size).tolist()), kappa, nu, tuple(map(tuple, matrix.tolist()))
