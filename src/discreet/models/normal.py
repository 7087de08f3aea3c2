"""Mean and variance of a numeric column as declared, that is clamped to its bounds, whatever its law.

    prior=None    weak, within the bounds (`declared_moments`)
    otherwise     mean | variance ~ N(m, variance / strength),   variance ~ InverseGamma(shape, scale), of normal cells

The release is Σ u and Σ u² (and the number of rows where it is private), u the column on [-1, 1].
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem, NormalNode
from discreet.inference.gaussian.plausible_priors import elsewhere, share_of_records, too_wide
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, check_robust, number
from discreet.models.declared_moments import MOMENTS, DeclaredMoments, widths
from discreet.models.gaussian import (
    SHAPE,
    SIGMAS,
    centres,
    exact_moments,
    half_widths,
    independent_draws,
    moment_entries,
    moment_terms,
    plug_in_moments,
)
from discreet.numerics.arrays import Array
from discreet.posterior import ChainsPosterior
from discreet.posterior.records.declared_records import DeclaredRecords, NumberColumn
from discreet.queries.counts_and_sums import Axis
from discreet.queries.second_stage import followed_by_influences
from discreet.queries.statistics import Statistics, moment_axes, moment_query
from discreet.schema import Schema

__all__ = ["Normal"]


@dataclass(frozen=True)
class Normal(StatisticsModel):
    """Mean and variance of a bounded column as declared.

    `prior` is (mean, strength, shape, scale); without one it is weak, within the bounds. `robust=True`, which goes with
    the weak prior only, spends 5% of the budget on how heavy the tails are and how rows of a person go together, for
    the variance's width.
    """

    column: str
    prior: tuple[float, float, float, float] | None = None
    by: str | None = None
    robust: bool | None = None

    def __post_init__(self) -> None:
        check_robust("Normal", self.robust, self.prior)
        if self.prior is None:
            return
        if not isinstance(self.prior, tuple | list) or len(self.prior) != 4:
            raise QueryError(f"Normal.prior must be (mean, strength, shape, scale), got {self.prior!r}")
        rest = (positive("Normal.prior", value, error=QueryError) for value in self.prior[1:])
        object.__setattr__(self, "prior", (number("Normal.prior", self.prior[0]), *rest))

    def implausible(self, schema: Schema) -> tuple[str, ...]:
        """A prior whose records lie outside of the bounds, or spread further than any within them."""
        if self.prior is None:
            return ()
        (axis,), (mean, strength, shape, scale) = self._axes(schema), self.prior
        inside = share_of_records(mean, strength, shape, scale, axis)
        deviation = too_wide("the typical deviation of Normal.prior", (scale / shape) ** 0.5, axis)
        return (*deviation, *elsewhere("Normal.prior", self.column, inside))

    def query(self, schema: Schema) -> Statistics:
        """Sum and sum of squares, jointly; then, if robust, how much the squares vary."""
        self._system(schema)  # refuses a prior that does not fit
        query = moment_query(schema, (self.column,), (), self.by)
        return followed_by_influences(query, ("variance",), self._axes(schema)) if self.robust else query

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Draws of mean and variance of the declared column given its noisy moments."""
        terms = moment_terms(moment_entries(query, value, (self.column,)), laws)
        means, covariances = self._declared(query.schema).means_and_covariances(query, value, laws, terms, progress)
        return self._answers(query.schema, means[..., 0], covariances[..., 0, 0])

    def plug_in(self, query: Statistics, value: Value) -> ChainsPosterior:
        """The conjugate posterior that takes the noisy moments at face value."""
        entries = moment_entries(query, value, (self.column,))
        updated = plug_in_moments(self._system(query.schema), self._axes(query.schema), entries, query.total)
        drawn = independent_draws(updated)
        return self._answers(query.schema, drawn["coefficients[0]"][..., 0], drawn["variance[0]"])

    def strengthened(self, query: Statistics, value: Value) -> "Normal":
        """The same model with its prior strengthened by the records of a public dataset."""
        entries = moment_entries(query, value, (self.column,))
        (node,) = exact_moments(self._system(query.schema), self._axes(query.schema), entries, query.total).nodes
        return replace(self, prior=(float(node.mean[0]), float(node.precision[0, 0]), node.shape, node.rate))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A law of records from the prior, its mean and variance after clamping, and n records."""
        law = self._declared(schema).drawn_law(rng)
        means, covariance = law.means_and_covariance()
        return {"mean": means[0], "variance": covariance[0, 0]}, law.rows(n, rng)

    def _declared(self, schema: Schema) -> DeclaredMoments:
        return DeclaredMoments(self._system(schema), self._axes(schema), MOMENTS, (self.prior is not None,))

    def _answers(self, schema: Schema, mean: Array, variance: Array) -> ChainsPosterior:
        title = f"mean and variance of {self.column} as declared{widths(self.robust, self.prior)}"
        return ChainsPosterior({"mean": mean, "variance": variance}, {}, title, _NormalCells())

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(NumberColumn.of(schema, self.column))

    def _axes(self, schema: Schema) -> tuple[Axis, ...]:
        return moment_axes(schema, (self.column,))

    def _system(self, schema: Schema) -> GaussianSystem:
        axes = self._axes(schema)
        sigma = half_widths(axes)[0] / SIGMAS
        default = (float(centres(axes)[0]), 1.0, SHAPE, (SHAPE - 1.0) * float(sigma) ** 2)
        mean, strength, shape, scale = self.prior or default
        node = NormalNode(self.column, (), (), np.array([mean]), np.array([[strength]]), shape, scale)
        return GaussianSystem((node,))


@dataclass(frozen=True)
class _NormalCells:
    """New cells; they are clamped to what is declared afterwards."""

    def draw(self, parameters: Mapping[str, NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
        """One cell for every mean and variance."""
        return np.asarray(rng.normal(parameters["mean"], np.sqrt(parameters["variance"])))
