"""Private estimators for scikit-learn: what is fitted is one `dc.release`, and its posterior predicts.

Needs the extra `sklearn`.
"""

try:
    import sklearn  # type: ignore[import-untyped]  # noqa: F401
except ImportError:
    raise ImportError("discreet.sklearn needs scikit-learn: pip install 'discreet[sklearn]'") from None

from discreet.sklearn.fitted_tables import EstimatorError
from discreet.sklearn.paid_searches import PrivateGridSearchCV, private_cross_val_score
from discreet.sklearn.private_classifiers import PrivateLogisticRegression, PrivateNaiveBayes
from discreet.sklearn.private_regressions import PrivateLinearRegression, PrivatePoissonRegression
from discreet.sklearn.public_steps import check_steps

__all__ = [
    "EstimatorError",
    "PrivateGridSearchCV",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateNaiveBayes",
    "PrivatePoissonRegression",
    "check_steps",
    "private_cross_val_score",
]
