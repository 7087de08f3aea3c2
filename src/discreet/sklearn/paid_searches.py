"""Grid search and cross-validation that tell their whole price before the first fit, and release what they score.

scikit-learn's own read the held-out rows without noise, and their choice leaks them; an estimator inside cannot know
how often it will be fitted. So the estimators refuse them, and these take their place. A row is in all fits but one
and in one score of each candidate; the ledger charges all of them, each when its turn comes, exactly as quoted. What
does not fit is refused before anything is charged.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone  # type: ignore[import-untyped]
from sklearn.model_selection import ParameterGrid  # type: ignore[import-untyped]
from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from discreet.numerics.arrays import Array
from discreet.sklearn.paid_folds import SIGNS, FoldStudy
from discreet.sklearn.public_steps import check_callers

__all__ = ["PrivateGridSearchCV", "private_cross_val_score"]


def private_cross_val_score(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    mechanism: Any,
    metric: str = "auc",
    cv: int = 3,
    seed: int = 0,
    verbose: bool = True,
) -> Array:
    """Scores of a private classifier on folds, each a release: posterior means of "auc" or "log_loss", by fold.

    The whole price is printed before the first fit, and refused where it does not fit. `mechanism` pays for each score.
    """
    how = {"cv": cv, "seed": seed, "metric": metric, "mechanism": mechanism}
    study = FoldStudy.of("private_cross_val_score", [estimator], X, y, how)
    told = study.price(refit=False)
    if verbose:
        print(told)
    (means,), _ = study.scores(metric)
    return np.asarray(means)


def _can(name: str) -> Any:
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name))


class PrivateGridSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses the parameters of a private classifier by scores that are released, not by rows.

    Parameters
    ----------
    estimator
        A private classifier, or a Pipeline of public steps that ends in one.
    param_grid
        As of scikit-learn's `GridSearchCV`. What the model is asked with may vary: `precision`, `radius`, `mechanism`.
    mechanism
        Pays for each score, `dc.NoisyStatistics`; fits are paid for by the estimator's own.
    metric
        "log_loss" or "auc".
    cv, seed
        How many folds, and the public seed that deals rows to them by their place.
    refit
        Whether the best candidate is fitted on all rows: one more release, under the estimator's own id.
    verbose
        Whether `fit` prints the price.

    Attributes
    ----------
    price_
        The whole price, as it was told before the first fit.
    best_params_, best_index_, best_score_, best_estimator_
        What was chosen; of "log_loss" the score is its negative.
    cv_results_
        By candidate: `params`, `mean_test_score`, `sd_test_score` (how well the mean is known), `rank_test_score`.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        mechanism: Any = None,
        metric: Any = "log_loss",
        cv: Any = 3,
        refit: Any = True,
        seed: Any = 0,
        verbose: Any = True,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.mechanism = mechanism
        self.metric = metric
        self.cv = cv
        self.refit = refit
        self.seed = seed
        self.verbose = verbose

    def price(self, X: Any, y: Any) -> str:  # noqa: N803
        """What `fit` would cost, in words; refused where it does not fit. Nothing is charged."""
        return self._study(X, y)[1].price(refit=bool(self.refit))

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Tell the price, or refuse; then pay for every fit and score, and choose by what was released."""
        check_callers(self)
        grid, study = self._study(X, y)
        self.price_ = study.price(refit=bool(self.refit))
        if self.verbose:
            print(self.price_)
        means, deviations = study.scores(self.metric)
        scores = SIGNS[self.metric] * means
        self.best_index_ = int(np.argmax(scores.mean(axis=1)))
        self.best_params_, self.best_score_ = grid[self.best_index_], float(scores[self.best_index_].mean())
        self.cv_results_ = {
            "params": grid,
            **{f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])},
            "mean_test_score": scores.mean(axis=1),
            "sd_test_score": np.sqrt((deviations**2).sum(axis=1)) / deviations.shape[1],
            "rank_test_score": 1 + (-scores.mean(axis=1)).argsort().argsort(),
        }
        if self.refit:
            with np.errstate(all="ignore"):
                self.best_estimator_ = clone(study.candidates[self.best_index_]).fit(X, y)
        return self

    @_can("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:  # noqa: N803
        """Of the best candidate."""
        return self._best().predict(X)

    @_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Of the best candidate."""
        return self._best().predict_proba(X)

    @property
    def classes_(self) -> Any:
        """Of the best candidate."""
        return self._best().classes_

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """Accuracy of the best candidate on rows that are yours: nothing protects them."""
        return float(self._best().score(X, y))

    def _study(self, held: Any, labels: Any) -> tuple[list[dict[str, Any]], FoldStudy]:
        grid = list(ParameterGrid(self.param_grid))
        candidates = [clone(self.estimator).set_params(**params) for params in grid]
        how = {"cv": self.cv, "seed": self.seed, "metric": self.metric, "mechanism": self.mechanism}
        return grid, FoldStudy.of(type(self).__name__, candidates, held, labels, how)

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_
