"""scikit-learn's own conformance suite, on subclasses that declare wide bounds from the shape of X alone.

What is expected to fail is listed with its reason; nothing else may, and no list is longer than ten.
"""

from collections.abc import Mapping

import pytest
from sklearn.base import ClassifierMixin
from sklearn.utils.estimator_checks import check_estimator
from wide import ESTIMATORS

CELLS = "no error may depend on a cell: what a bad cell means is declared"
NOISE = "two fits are two releases, each with noise of its own; the check compares them to many digits"

EVERY = {
    "check_complex_data": CELLS,
    "check_dtype_object": CELLS,
    "check_supervised_y_no_nan": CELLS,
    "check_fit_idempotent": NOISE,
}
CLASSIFIERS = EVERY | {
    "check_classifiers_regression_target": f"which labels y holds is a matter of cells; {CELLS}",
    "check_classifier_data_not_an_array": f"four of its twelve rows have a probability of .498 ± .001; {NOISE}",
}
REGRESSORS = EVERY | {
    "check_supervised_y_2d": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_regressors_int": NOISE,
}
POISSON = REGRESSORS | {
    "check_regressors_train": "asks for R² > 0.5 on 200 rows whose y, a shifted normal variable, is no count: 0.1 to 0.3",
}


@pytest.mark.filterwarnings("ignore")  # the suite warns on purpose, and hands over odd rows
@pytest.mark.parametrize("name", ["logistic", "bayes", "poisson", pytest.param("linear", marks=pytest.mark.audit)])
def test_the_conformance_suite_passes_but_for_what_is_listed(name: str) -> None:
    estimator = ESTIMATORS[name]
    expected: Mapping[str, str] = CLASSIFIERS if isinstance(estimator, ClassifierMixin) else REGRESSORS
    expected = POISSON if name == "poisson" else expected
    assert len(expected) <= 10
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert {check: told for check, told in failed.items() if check not in expected} == {}
    assert sum(result["status"] == "passed" for result in results) >= 36
