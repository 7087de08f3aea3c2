"""Classifiers: probabilities are averages over the posterior, classes are the declared levels of the target."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin  # type: ignore[import-untyped]

from discreet.models import LogisticRegression, Model, NaiveBayes
from discreet.numerics.arrays import Array
from discreet.schema import Schema
from discreet.sklearn.base import PrivateEstimator
from discreet.sklearn.fitted_tables import EstimatorError

__all__ = ["PrivateLogisticRegression", "PrivateNaiveBayes"]


class _PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What classifiers share."""

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """P(class | features, release) of new rows, averaged over the posterior: (rows, classes)."""
        records = self._records(X)
        return np.asarray(self.posterior_.predict_proba(records))

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The most probable class of new rows."""
        likely = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likely])

    def _learn(self, release: Any) -> Self:
        column = release.query.schema.column(release.model.target)
        self.classes_ = level_values(column.levels)
        return super()._learn(release)


class PrivateLogisticRegression(_PrivateClassifier):
    """Log-odds of the second of two levels, linear in the features, as one release.

    Parameters
    ----------
    schema
        The declared columns of X and y: bounds do the scaling, levels the encoding.
    target
        The column that is predicted. Without it, what y is called, else the last declared column.
    ledger
        What pays, or its path.
    mechanism
        `dc.NoisyScore` for a whole posterior, or `dc.GibbsPosterior` for draws.
    id
        The public name of the table that X and y are. Other rows have another name.
    reuse
        Whether a release that the ledger has of this table may be returned, for free: say so only for the same rows.
    precision, intercept, interval, radius, ball
        Of `dc.LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_
        Posterior means, (1, coefficients) and (1,), of features scaled to `interval`; `coef_names_` names them.
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
        ball: Any = None,
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

    def _model(self, schema: Schema, target: str, features: tuple[str, ...]) -> Model:
        column = schema.column(target).as_levels
        if column is not None and len(column.levels) > 2:
            raise EstimatorError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"PrivateLogisticRegression.target must be a column of two levels, got {len(column.levels)}: "
                "PrivateNaiveBayes takes more"
            )
        return LogisticRegression(
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
        names, means = self.posterior_.names, self.posterior_.mean()
        first = int(release.model.intercept)
        self.coef_names_ = np.array(names[first:], dtype=object)
        self.coef_ = means[np.newaxis, first:]
        self.intercept_ = means[:first] if first else np.zeros(1)
        return self

    def _named_intervals(self, found: Any) -> dict[str, Any]:
        return dict(zip(self.posterior_.names, zip(*found, strict=True), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class PrivateNaiveBayes(_PrivateClassifier):
    """Naive Bayes on declared levels, as one release; numbers take part by the ranges their column declares (`cut=`).

    Parameters
    ----------
    schema, target, ledger, mechanism, id, reuse
        As of `PrivateLogisticRegression`; the mechanism is `dc.NoisyStatistics` or `dc.PosteriorSample`.
    prior, feature_prior
        Of `dc.NaiveBayes`.

    Attributes
    ----------
    intervals_, guarantee_, release_, posterior_
        90% intervals by parameter, those of the classes under "class"; what was promised; what left; what it says.
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
        prior: Any = 1.0,
        feature_prior: Any = 1.0,
    ) -> None:
        self.schema = schema
        self.target = target
        self.ledger = ledger
        self.mechanism = mechanism
        self.id = id
        self.reuse = reuse
        self.prior = prior
        self.feature_prior = feature_prior

    def _model(self, schema: Schema, target: str, features: tuple[str, ...]) -> Model:
        return NaiveBayes(target, features, prior=self.prior, feature_prior=self.feature_prior)


def level_values(levels: tuple[str, ...]) -> Array:
    """Declared levels as Python would write them: whole numbers where all of them are, else texts."""
    whole = all(level.removeprefix("-").isdecimal() and str(int(level)) == level for level in levels)
    return np.array([int(level) for level in levels]) if whole else np.array(levels)
