"""Regressions of a bounded column and of a count; predictions are posterior means of the target, within its bounds."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin  # type: ignore[import-untyped]

from discreet.models import LinearRegression, Model, PoissonRegression
from discreet.numerics.arrays import Array
from discreet.schema import Schema
from discreet.sklearn.base import PrivateEstimator

__all__ = ["PrivateLinearRegression", "PrivatePoissonRegression"]


class PrivateLinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Least-squares coefficients of a bounded column on others, as one release, in the units of the columns.

    Parameters
    ----------
    schema, target, ledger, mechanism, id, reuse
        As of `PrivateLogisticRegression`; the mechanism is `dc.NoisyStatistics`.
    prior, feature_prior, level_prior, robust
        Of `dc.LinearRegression`.

    Attributes
    ----------
    coef_, intercept_
        Posterior means; `coef_names_` names them: numeric features, then all levels but the first of each category.
    intervals_, guarantee_, release_, posterior_
        90% intervals by name; what was promised; what left; what it says.
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        target: Any = None,
        ledger: Any = None,
        mechanism: Any = None,
        id: Any = None,  # noqa: A002
        reuse: Any = False,
        prior: Any = None,
        feature_prior: Any = None,
        level_prior: Any = 1.0,
        robust: Any = None,
    ) -> None:
        self.schema = schema
        self.target = target
        self.ledger = ledger
        self.mechanism = mechanism
        self.id = id
        self.reuse = reuse
        self.prior = prior
        self.feature_prior = feature_prior
        self.level_prior = level_prior
        self.robust = robust

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The expected target of new rows."""
        records = self._records(X)
        return np.asarray(self.posterior_.predict(records)["mean"])

    def _model(self, schema: Schema, target: str, features: tuple[str, ...]) -> Model:
        return LinearRegression(
            target,
            features,
            prior=self.prior,
            feature_prior=self.feature_prior,
            level_prior=self.level_prior,
            robust=self.robust,
        )

    def _learn(self, release: Any) -> Self:
        super()._learn(release)
        means = self.posterior_.mean()["coefficients"]
        self.coef_names_ = np.array(self._names[1:], dtype=object)
        self.coef_, self.intercept_ = means[1:], float(means[0])
        return self

    @property
    def _names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.release_.model.coefficient_names(self.release_.query.schema)
        return names

    def _named_intervals(self, found: Any) -> dict[str, Any]:
        lower, upper = found["coefficients"]
        return {**dict(zip(self._names, zip(lower, upper, strict=True), strict=True)), "variance": found["variance"]}


class PrivatePoissonRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Log-mean of a count, linear in the features, as one release.

    Parameters
    ----------
    schema, target, ledger, mechanism, id, reuse
        As of `PrivateLogisticRegression`.
    precision, intercept, interval, radius, ball
        Of `dc.PoissonRegression`.

    Attributes
    ----------
    coef_, intercept_
        Posterior means, of features scaled to `interval`; `coef_names_` names them.
    intervals_, guarantee_, release_, posterior_
        90% intervals by name; what was promised; what left; what it says.
    """

    _EXAMPLE = "dc.NoisyScore(epsilon=1.0, delta=1e-6)"

    def __init__(
        self,
        schema: Any = None,
        *,
        target: Any = None,
        ledger: Any = None,
        mechanism: Any = None,
        id: Any = None,  # noqa: A002
        reuse: Any = False,
        precision: Any = None,
        intercept: Any = True,
        interval: Any = (-1.0, 1.0),
        radius: Any = None,
        ball: Any = 1.0,
    ) -> None:
        self.schema = schema
        self.target = target
        self.ledger = ledger
        self.mechanism = mechanism
        self.id = id
        self.reuse = reuse
        self.precision = precision
        self.intercept = intercept
        self.interval = interval
        self.radius = radius
        self.ball = ball

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The expected count of new rows."""
        records = self._records(X)
        return np.asarray(self.posterior_.predict(records), dtype=float)

    def _model(self, schema: Schema, target: str, features: tuple[str, ...]) -> Model:
        return PoissonRegression(
            target,
            features,
            intercept=self.intercept,
            interval=self.interval,
            radius=self.radius,
            precision=self.precision,
            ball=self.ball,
        )

    def _learn(self, release: Any) -> Self:
        super()._learn(release)
        first = int(release.model.intercept)
        self.coef_names_ = np.array(self.posterior_.names[first:], dtype=object)
        means = self.posterior_.mean()
        self.coef_, self.intercept_ = means[first:], float(means[0]) if first else 0.0
        return self

    def _named_intervals(self, found: Any) -> dict[str, Any]:
        return dict(zip(self.posterior_.names, zip(*found, strict=True), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
