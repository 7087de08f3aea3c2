"""What may stand before a private estimator, and around it.

A transform that learns from rows, a scaler's mean or an imputer's median, carries every row into every other: then one
person moves more than the one row that a guarantee is about, and the guarantee would be false. Only transforms that
treat each cell by itself, by numbers that are written in the program, are public.

An estimator is not told what stands before it. Who called its `fit` is on the stack of this process, and there
pipelines and searches are looked for. Jobs that run at once (`n_jobs`) have a stack of their own, on which there is no
estimator, but still the function of scikit-learn that was handed to them. What was transformed by hand before `fit`
cannot be seen: that is the caller's word.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreet.sklearn.fitted_tables import EstimatorError

__all__ = ["check_callers", "check_steps"]

PAYS_FOR_FOLDS = "discreet.sklearn.paid_searches"  # tells the whole price before its first fit
DOUBLES = (np.float64, float, "float64")
HANDS_ON = ("sklearn.base", "sklearn.pipeline", "sklearn.utils.")  # of scikit-learn, what changes and draws no rows

LEARNS = (
    "learns from the rows, or may: then one row moves all others and the guarantee would be false. Bounds and levels "
    "that the schema declares do the scaling, encoding and filling in; transforms that may stay are passthrough, drop, "
    "ColumnTransformer of columns by name or place, and FunctionTransformer without a function or of one NumPy ufunc "
    "in doubles, kw_args={'dtype': np.float64}, and nothing else"
)
SEARCHED = (
    "must not be fitted by scikit-learn's own cross-validation, got a fold: each fold is another table, which is paid "
    "for, and a score of held-out private rows is not private. PrivateGridSearchCV and private_cross_val_score tell "
    "their whole price first, and release their scores"
)


def check_steps(step: Any, name: str = "") -> None:
    """Refuse a transform, or a pipeline of transforms, that learns from rows before the private estimator does."""
    from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
    from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import FunctionTransformer  # type: ignore[import-untyped]

    kind = type(step)  # not isinstance: a subclass could do anything
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return
    if kind is Pipeline:
        for inner, each in step.steps:
            check_steps(each, inner)
        return
    if kind is ColumnTransformer:
        for inner, each, columns in step.transformers:
            check_steps(each, inner)
            if callable(columns):
                raise EstimatorError(
                    f"Pipeline step {name!r} must choose columns by name or place, got a function of them for {inner!r}"
                )
        check_steps(step.remainder, "remainder")
        return
    if kind is FunctionTransformer and _says_nothing(step) and _is_of_one_cell(step.func, step.kw_args or {}):
        return
    raise EstimatorError(f"Pipeline step {name!r} must be a public transform, got {kind.__name__}, which {LEARNS}")


def check_callers(estimator: Any) -> None:
    """Refuse to be fitted on rows that a transform, a search or another estimator has learned from, chosen or drawn."""
    from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
    from sklearn.pipeline import Pipeline

    kind = type(estimator).__name__
    for module, caller in _callers():
        if module.startswith("sklearn.model_selection"):
            raise EstimatorError(f"{kind} {SEARCHED}")
        if type(caller) is Pipeline:
            for name, step in caller.steps[:-1]:
                check_steps(step, name)
        elif (
            isinstance(caller, BaseEstimator) and caller is not estimator and type(caller).__module__ != PAYS_FOR_FOLDS
        ):
            raise EstimatorError(f"{kind} {wrapped(type(caller).__name__)}")
        elif module.startswith("sklearn.") and not module.startswith(HANDS_ON):
            raise EstimatorError(f"{kind} {wrapped(module)}")


def _says_nothing(step: Any) -> bool:
    """Whether no cell makes it refuse (`validate`), and only its function is called (`inverse_func` is tried)."""
    return not step.validate and step.inverse_func is None


def _is_of_one_cell(function: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether this is a function of NumPy's own of one cell: of whole matrices, or made of one in Python, is none.

    What it makes of a whole number is up to the type of the column, 1/3 of 3 or 0, and one missing cell makes floats of
    all. So it must say that it computes in doubles.
    """
    if function is None:
        return not arguments
    own = isinstance(function, np.ufunc) and function.signature is None and function.types != ["O->O"]
    in_doubles = list(arguments) == ["dtype"] and arguments["dtype"] in DOUBLES
    return own and in_doubles and (function.nin, function.nout) == (1, 1)


def wrapped(kind: str) -> str:
    """Why another estimator may not hand over rows, in words."""
    return (
        f"must not be fitted inside another estimator but a Pipeline, got {kind}: it may draw rows twice, or change "
        "them by what it has seen of others, and then one row is more than the one that the guarantee is about"
    )


def _callers() -> Iterator[tuple[str, Any]]:
    """The modules of the functions that led here, and the objects whose methods they are."""
    frame = sys._getframe(2)
    while frame is not None:
        yield str(frame.f_globals.get("__name__")), frame.f_locals.get("self")
        frame = frame.f_back  # type: ignore[assignment]  # None above the first
