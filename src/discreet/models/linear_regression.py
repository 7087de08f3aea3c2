"""The least-squares coefficients of a numeric column on other columns, all as declared (clamped to their bounds).

    y = intercept + slopes · x + effects of levels + error,   whatever the laws of features and errors

    prior=None           weak, within the bounds (`declared_moments`)
    otherwise            normal errors, variance ~ InverseGamma(shape, scale),
                         coefficients | variance ~ N(m, variance · inv(precision))
    feature_prior=None   weak; otherwise numeric features ~ N(mu + shifts of the levels, Sigma),
                         (mu, Sigma) ~ normal-inverse-Wishart;  shifts ~ normal, in deviations of the feature

What noise does to X'X can only be told against what X may have been: that is what the features' prior is for.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, from_niw
from discreet.inference.gaussian.plausible_priors import too_wide
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, check_robust, column_names
from discreet.models.declared_moments import MOMENTS, REGRESSION, DeclaredMoments, widths
from discreet.models.gaussian import (
    SHAPE,
    SIGMAS,
    Niw,
    centres,
    checked_niw,
    default_niw,
    exact_moments,
    half_widths,
    independent_draws,
    moment_entries,
    moment_terms,
    numbers,
    plug_in_moments,
    to_niw,
    vector,
)
from discreet.numerics.arrays import Array
from discreet.posterior import ChainsPosterior, RegressionPosterior
from discreet.posterior.records.declared_records import NumberColumn
from discreet.queries.counts_and_sums import Axis, levels_of
from discreet.queries.second_stage import followed_by_influences
from discreet.queries.statistics import Statistics, moment_axes, moment_query
from discreet.schema import Binary, Categorical, Schema

__all__ = ["LinearRegression"]

SHIFT_PRECISION = 0.5  # of the shift of a feature between levels, in units of its variance

# mean of the coefficients, their precision in units of the error variance, shape and scale of that variance
Nig = tuple[tuple[float, ...], tuple[tuple[float, ...], ...], float, float]


@dataclass(frozen=True)
class LinearRegression(StatisticsModel):
    """Intercept, slopes, effects of levels (against the first level) and error variance.

    Parameters
    ----------
    target, features
        A bounded column, and bounded, count, binary or categorical ones.
    prior
        (mean, precision, shape, scale) in the order intercept, numeric features, other levels of each category. Without
        one it is weak, within the bounds.
    feature_prior
        (mean, strength, degrees, scale) of the numeric features, as in `MultivariateNormal`.
    level_prior
        Dirichlet concentration of the levels of every category. Numeric features may differ between levels, by one or
        two of their standard deviations a priori.
    robust
        True spends 5% of the budget on how unequal the errors are, how heavy their tails, and how rows of a person go
        together, for the widths of coefficients and variance; None assumes independent errors of one variance. With a
        `prior` of your own it is refused: the widths are then those of normal errors.
    """

    target: str
    features: tuple[str, ...]
    prior: Nig | None = None
    feature_prior: Niw | None = None
    level_prior: float = 1.0
    by: str | None = None
    robust: bool | None = None

    def __post_init__(self) -> None:
        check_robust("LinearRegression", self.robust, self.prior)
        features = column_names("LinearRegression.features", self.features)
        if self.target in features:
            raise QueryError(f"LinearRegression.features must not contain the target, got {list(features)!r}")
        object.__setattr__(self, "features", features)
        level_prior = positive("LinearRegression.level_prior", self.level_prior, error=QueryError)
        object.__setattr__(self, "level_prior", level_prior)
        if self.prior is not None:
            object.__setattr__(self, "prior", _checked_nig(self.prior))

    def implausible(self, schema: Schema) -> tuple[str, ...]:
        """Errors that spread further than the target's bounds allow."""
        if self.prior is None:
            return ()
        *_, shape, scale = self.prior
        return too_wide("the typical error of LinearRegression.prior", (scale / shape) ** 0.5, self._axes(schema)[-1])

    def query(self, schema: Schema) -> Statistics:
        """X'X, X'y and y'y, jointly; then, if robust, how much influence rows have on each coefficient."""
        self._system(schema)  # refuses priors that do not fit the columns
        categories = self._categories(schema)
        query = moment_query(schema, self._numbers(schema), categories, self.by)
        if not self.robust:
            return query
        reported = (*self.coefficient_names(schema), "variance")
        return followed_by_influences(query, reported, self._axes(schema), categories, is_regression=True)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> ChainsPosterior:
        """Draws of coefficients and residual variance of the declared columns given their noisy moments."""
        schema = query.schema
        entries = moment_entries(query, value, self._numbers(schema), self._categories(schema))
        terms = moment_terms(entries, laws)
        return self._answers(schema, *self._declared(schema).coefficients(query, value, laws, terms, progress))

    def plug_in(self, query: Statistics, value: Value) -> ChainsPosterior:
        """The conjugate posterior that takes the noisy moments at face value."""
        schema = query.schema
        entries = moment_entries(query, value, self._numbers(schema), self._categories(schema))
        updated = plug_in_moments(self._system(schema), self._axes(schema), entries, query.total)
        drawn, last = independent_draws(updated), len(updated.nodes) - 1
        return self._answers(schema, drawn[f"coefficients[{last}]"], drawn[f"variance[{last}]"])

    def strengthened(self, query: Statistics, value: Value) -> "LinearRegression":
        """The same model with its prior strengthened by the records of a public dataset."""
        schema = query.schema
        entries = moment_entries(query, value, self._numbers(schema), self._categories(schema))
        system = exact_moments(self._system(schema), self._axes(schema), entries, query.total)
        node = system.nodes[-1]
        prior = (tuple(node.mean.tolist()), tuple(map(tuple, node.precision.tolist())), node.shape, node.rate)
        if len(system.nodes) == 1 or system.factors:
            return replace(self, prior=prior)  # with categories the law of the features has no such short form
        return replace(self, prior=prior, feature_prior=to_niw(system.nodes[:-1]))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A law of records from the priors, its coefficients after clamping, and n records."""
        law = self._declared(schema).drawn_law(rng)
        coefficients, variance = law.coefficients()
        return {"coefficients": coefficients, "variance": variance}, law.rows(n, rng, self._categories(schema))

    def coefficient_names(self, schema: Schema) -> tuple[str, ...]:
        """The order of the coefficients: intercept, numeric features, other levels of each category."""
        levels = [f"{name}={level}" for name in self._categories(schema) for level in levels_of(schema, name)[1:]]
        return ("intercept", *self._numbers(schema)[:-1], *levels)

    def _categories(self, schema: Schema) -> tuple[str, ...]:
        return tuple(name for name in self.features if isinstance(schema.column(name), Binary | Categorical))

    def _numbers(self, schema: Schema) -> tuple[str, ...]:
        """The numeric features, and the target last."""
        return (*(name for name in self.features if name not in self._categories(schema)), self.target)

    def _axes(self, schema: Schema) -> tuple[Axis, ...]:
        return moment_axes(schema, self._numbers(schema))

    def _system(self, schema: Schema) -> GaussianSystem:
        axes, categories = self._axes(schema), self._categories(schema)
        numeric = axes[:-1]
        feature_prior = default_niw(numeric) if self.feature_prior is None else self.feature_prior
        names = tuple(axis.column for axis in numeric)
        nodes = (
            from_niw(names, *checked_niw("LinearRegression.feature_prior", feature_prior, len(numeric)))
            if numeric
            else ()
        )
        levels = [len(levels_of(schema, name)) for name in categories]
        shifted = tuple(_with_shifts(node, len(levels), sum(levels) - len(levels)) for node in nodes)
        factors = tuple(Factor(name, np.full(k, self.level_prior)) for name, k in zip(categories, levels, strict=True))
        effects = sum(levels) - len(levels)
        mean, precision, shape, scale = self.prior or _default_nig(axes, effects)
        size = 1 + len(numeric) + effects
        if len(mean) != size or np.shape(precision) != (size, size):
            raise QueryError(f"LinearRegression.prior must be about {size} coefficients, got {len(mean)}")
        target = NormalNode(
            self.target,
            tuple(range(len(numeric))),
            tuple(range(len(factors))),
            np.asarray(mean),
            np.asarray(precision),
            shape,
            scale,
        )
        return GaussianSystem((*shifted, target), factors)

    def _declared(self, schema: Schema) -> DeclaredMoments:
        axes = self._axes(schema)
        conjugate = (*(self.feature_prior is not None for _ in axes[:-1]), self.prior is not None)
        box = REGRESSION if len(axes) > 1 else MOMENTS
        return DeclaredMoments(self._system(schema), axes, box, conjugate, self.level_prior)

    def _answers(self, schema: Schema, coefficients: Array, variance: Array) -> ChainsPosterior:
        labels = {"coefficients": {"coefficient": self.coefficient_names(schema)}}
        found = {"coefficients": coefficients, "variance": variance}
        assumed = widths(self.robust, self.prior, "and errors of one variance")
        columns = (*self._numbers(schema)[:-1], *self._categories(schema))  # in the order of the coefficients
        return RegressionPosterior(
            found,
            labels,
            f"least-squares coefficients of {self.target}, columns as declared{assumed}",
            features={name: schema.column(name) for name in columns},
            target=NumberColumn.of(schema, self.target),
        )


def _with_shifts(node: NormalNode, factors: int, effects: int) -> NormalNode:
    """A feature that may differ between the levels of every category."""
    precision = np.zeros((node.mean.size + effects, node.mean.size + effects))
    precision[: node.mean.size, : node.mean.size] = node.precision
    precision[range(node.mean.size, len(precision)), range(node.mean.size, len(precision))] = SHIFT_PRECISION
    mean = np.concatenate([node.mean, np.zeros(effects)])
    return replace(node, dummies=tuple(range(factors)), mean=mean, precision=precision)


def _default_nig(axes: tuple[Axis, ...], effects: int) -> Nig:
    """With u = (x - centre) / half-width: value at the centre, slopes in u and effects have deviations of 3 errors."""
    *middles, middle = centres(axes).tolist()
    *halves, half = half_widths(axes).tolist()
    size = 1 + len(middles) + effects
    change = np.eye(size)
    change[0, 1 : 1 + len(middles)] = middles
    change[range(1, 1 + len(middles)), range(1, 1 + len(middles))] = halves
    mean = [middle] + [0.0] * (size - 1)
    scale = (SHAPE - 1.0) * (half / SIGMAS) ** 2
    return tuple(mean), tuple(map(tuple, (change.T @ change / SIGMAS**2).tolist())), SHAPE, scale


def _checked_nig(prior: Any) -> Nig:
    if not isinstance(prior, tuple | list) or len(prior) != 4:
        raise QueryError(f"LinearRegression.prior must be (mean, precision, shape, scale), got {prior!r}")
    mean, precision, shape, scale = prior
    size = len(mean) if isinstance(mean, tuple | list) else 0
    matrix = numbers("LinearRegression.prior precision", precision)
    if matrix.shape != (size, size) or not np.all(np.isfinite(matrix)):
        raise QueryError(f"LinearRegression.prior precision must be a matrix of order {size}, got {matrix.shape}")
    a, b = (positive("LinearRegression.prior", x, error=QueryError) for x in (shape, scale))
    return tuple(vector("LinearRegression.prior mean", mean, size).tolist()), tuple(map(tuple, matrix.tolist())), a, b
