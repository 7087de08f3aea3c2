"""What the estimators share: X and y become a dataset, `fit` is one `dc.release`, answers come from its posterior.

The scikit-learn rules: `__init__` only stores, `fit` validates and pays, what is learned ends in an underscore. What
was fitted holds the release, whose posterior is read again where it was pickled, and no row.

`fit` never returns a stored release unless it is told to (`reuse=True`): the ledger knows a request by the name of the
dataset, not by its rows, and clones, folds and second fits may come with other rows under the same name.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence, Set
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]

from discreet.checks import told
from discreet.errors import DiscreetError, QueryError
from discreet.guarantee import Guarantee
from discreet.ledger import Ledger
from discreet.mechanisms import MECHANISMS
from discreet.models import Model
from discreet.pipeline import purchase
from discreet.schema import Schema
from discreet.sklearn.fitted_tables import (
    EstimatorError,
    as_columns,
    check_dense,
    chosen,
    column_names_of,
    is_frame,
    joined,
    named,
)
from discreet.sklearn.public_steps import check_callers
from discreet.sources import Dataset
from discreet.sources.open import open_dataset

__all__ = ["NotAnsweredError", "PrivateEstimator"]

LEVEL = 0.9  # of `intervals_`


class NotAnsweredError(QueryError, AttributeError):
    """What this kind of release cannot say: for Python, an attribute that is not there."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """The socket: a private estimator writes `_model` and how its posterior predicts."""

    schema: Any
    target: Any
    ledger: Any
    mechanism: Any
    id: Any
    reuse: Any

    _EXAMPLE: ClassVar[str] = "dc.NoisyStatistics(epsilon=1.0)"  # a mechanism that it can be asked by

    @abstractmethod
    def _model(self, schema: Schema, target: str, features: tuple[str, ...]) -> Model:
        """The model of these columns with the parameters of the estimator."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Pay for one release and read it. Without `y`, X has the target among its columns, or is a path of a file.

        Nothing is charged where anything is refused. The rows are read once and are not kept.
        """
        kind = type(self).__name__
        check_callers(self)
        dataset, model = self._asked(X, y)
        if type(self.mechanism) not in MECHANISMS.values():
            raise EstimatorError(
                f"{kind}.mechanism must be a mechanism, got {told(self.mechanism)}: how much privacy is spent is never "
                f"guessed; write one, as in mechanism={self._EXAMPLE}"
            )
        ledger = self._ledger()
        (paid,) = purchase([(model, dataset, self.mechanism)], ledger)
        if not paid.entry.is_new and not self.reuse:
            raise EstimatorError(
                f"{kind}.id must be a name that this ledger has no release of by this model and mechanism, got "
                f"{dataset.id!r}: nothing was charged. For the same rows, set reuse=True, which returns what was "
                "released of them and costs nothing; other rows need another id, and are paid for"
            )
        return self._learn(paid.release())

    @property
    def guarantee_(self) -> Guarantee:
        """What was promised for the rows of `fit`, and paid."""
        return self._learned("release_").guarantee  # type: ignore[no-any-return]

    @property
    def posterior_(self) -> Any:
        """What the release says; reading it is free, and gives the same every time."""
        release = self._learned("release_")
        if getattr(self, "_posterior", None) is None:
            self._posterior = release.posterior()
        return self._posterior

    @property
    def intervals_(self) -> dict[str, Any]:
        """90% intervals (lower, upper), by coefficient or by parameter."""
        posterior = self.posterior_
        try:
            return self._named_intervals(posterior.interval(LEVEL))
        except DiscreetError as problem:
            why = str(problem)
        raise NotAnsweredError(why)

    def _learn(self, release: Any) -> Self:
        """What is learned from a release: also of one that was loaded from a file."""
        self.release_, self._posterior = release, release.posterior()
        return self

    def _named_intervals(self, found: Any) -> dict[str, Any]:
        return dict(found)

    def _asked(self, held: Any, labels: Any) -> tuple[Dataset, Model]:
        """The rows as a dataset, and what is asked of them; sets what scikit-learn wants to know of X."""
        kind = type(self).__name__
        check_dense(kind, held)
        schema = self._declared(held, labels)
        target = self._target(schema, labels)
        features = tuple(name for name in schema.columns if name != target)
        if isinstance(held, str | os.PathLike):
            if labels is not None:
                raise EstimatorError(f"{kind}.fit y must be None where X is a path: the target is a column of the file")
            table, seen = held, None
        else:
            table, seen = self._table(schema, held, labels, target, features)
        if self.id is None and seen is not None:
            raise EstimatorError(
                f"{kind}.id must be a public name of these rows, got None: the ledger knows them by it, as in "
                'id="patients-2026"'
            )
        dataset = open_dataset(table, schema, id=self.id)
        if seen is None:
            self.feature_names_in_, self.n_features_in_ = np.array(features, dtype=object), len(features)
        else:
            validate_data(self, seen, reset=True, skip_check_array=True)
        if dataset.schema.n == 0:
            raise EstimatorError(f"Found array with 0 sample(s) while a minimum of 1 is required by {kind}.")
        return dataset, self._model(schema, target, features)

    def _declared(self, held: Any, labels: Any) -> Schema:
        """What the columns mean: public, and never found out from rows."""
        if not isinstance(self.schema, Schema):
            raise EstimatorError(
                f"{type(self).__name__}.schema must be a dc.Schema that declares X and y, got {self.schema!r}"
            )
        return self.schema

    def _ledger(self) -> Ledger:
        """The ledger that pays; a path is opened."""
        if isinstance(self.ledger, str | os.PathLike):
            return Ledger.open(self.ledger)
        if not isinstance(self.ledger, Ledger):
            raise EstimatorError(
                f"{type(self).__name__}.ledger must be a dc.Ledger or the path of one, got {self.ledger!r}: fitting "
                'spends, from what dc.Ledger.create("study.ledger", dc.Budget(epsilon=…, delta=…)) holds'
            )
        return self.ledger

    def _target(self, schema: Schema, labels: Any) -> str:
        """The column that is predicted: as given, else as y is called, else the last declared one."""
        kind, name = type(self).__name__, getattr(labels, "name", None)
        called = name if isinstance(name, str) and name in schema.columns else None
        found = self.target if self.target is not None else called or list(schema.columns)[-1]
        if not isinstance(found, str) or found not in schema.columns:
            raise EstimatorError(f"{kind}.target must be one of the declared columns, got {found!r}")
        if called not in (None, found):
            raise EstimatorError(f"{kind}.target must be the column that y is, got {found!r} and a y called {called!r}")
        return found

    def _table(self, schema: Schema, held: Any, labels: Any, target: str, features: tuple[str, ...]) -> tuple[Any, Any]:
        """One frame with all declared columns, and of X what scikit-learn is shown: the features."""
        kind, owner, truths = type(self).__name__, schema.unit.identifier, schema.columns[target].truths
        if not is_frame(held):
            if owner is not None:
                raise EstimatorError(
                    f"{kind}.fit X must be a frame where units are persons, got an array without names"
                )
            columns = as_columns(kind, held, features)
            if labels is None:
                raise EstimatorError(f"{kind} requires y to be passed, but the target y is None")
            return joined(kind, columns, labels, target, truths), np.empty((1, len(features)))
        held = named(held, features)
        names = column_names_of(held)
        own = {*features, *({owner} if owner is not None else ()), *({target} if labels is None else ())}
        if set(names) != own or len(names) != len(own):
            raise EstimatorError(
                f"{kind}.fit X must have the declared columns {sorted(own)} and no others, got {names[:20]}: "
                f"{_differences(names, own, features, target)}"
            )
        seen = chosen(held, [name for name in names if name not in (owner, target)])
        return (held if labels is None else joined(kind, held, labels, target, truths)), seen

    def _records(self, X: Any) -> Any:  # noqa: N803
        """New rows, by the names that were declared; they are whose who asks, and nothing here protects them."""
        model = self._learned("release_").model
        check_dense(type(self).__name__, X)
        if not is_frame(X):
            columns = as_columns(type(self).__name__, X, model.features)
            validate_data(self, X, reset=False, skip_check_array=True)
            return columns
        others, held = (model.target, self.release_.query.schema.unit.identifier), named(X, model.features)
        seen = chosen(held, [name for name in column_names_of(held) if name not in others])
        validate_data(self, seen, reset=False, skip_check_array=True)
        return chosen(seen, model.features)

    def _learned(self, name: str) -> Any:
        check_is_fitted(self, "release_")
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """Without an open ledger: what was fitted predicts where the ledger is not."""
        state: dict[str, Any] = {**super().__getstate__(), "_posterior": None}
        if isinstance(state.get("ledger"), Ledger):
            state = {**state, "ledger": str(state["ledger"].path)}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True  # a bad cell means what its column declares
        tags.non_deterministic = True  # noise, without a seed
        return tags


def _differences(names: Sequence[Any], own: Set[str], features: Sequence[str], target: str) -> str:
    """What to change where X has other columns than were declared: names alone."""
    missing, more = sorted(own - set(names)), [name for name in names if name not in own]
    if target in more:
        return f"{target!r} is the target; declare the column of y, or name it in target="
    if missing:
        return f"{missing[:20]} are not there; leave them out of the schema, or give them to X"
    return f"choose the declared ones, as in X[{list(features)[:20]}], or declare {more[:20]}, too"
