"""Candidates on folds of one table: which rows each is fitted and scored on, what all of it costs, and doing it.

Folds are by place, with a public seed: never by label, and never where units are persons, whose rows would be torn
apart. A place is a row's own only where rows are replaced: one that comes or goes moves all behind it to other places,
and with their number changes every fold, so tables under add-remove are refused. Every fold is a table of its own with
an id of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.utils import _safe_indexing, check_consistent_length  # type: ignore[import-untyped]

from discreet.checks import told
from discreet.errors import BudgetExceeded
from discreet.guarantee import Guarantee
from discreet.ledger import Ledger
from discreet.ledger.events import request_key
from discreet.mechanisms import MECHANISMS
from discreet.numerics.arrays import Array
from discreet.pipeline import check_types, query_of
from discreet.planning.held_out import score, score_view
from discreet.queries.scored_margins import CUTS
from discreet.release import recipe_of
from discreet.sklearn.base import PrivateEstimator
from discreet.sklearn.fitted_tables import EstimatorError
from discreet.sklearn.public_steps import check_steps

__all__ = ["SIGNS", "FoldStudy"]

SIGNS = {"auc": 1.0, "log_loss": -1.0}  # greater is better


@dataclass(frozen=True)
class FoldStudy:
    """Candidates on folds of one table: what is asked, and what it costs."""

    kind: str
    candidates: tuple[Any, ...]
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    folds: tuple[Array, ...]
    seed: int
    mechanism: Any

    @classmethod
    def of(cls, kind: str, candidates: Sequence[Any], table: Any, labels: Any, how: Mapping[str, Any]) -> Self:
        """Checked; rows are dealt to the folds."""
        cv, seed, metric = how["cv"], how["seed"], how["metric"]
        if metric not in SIGNS:
            raise EstimatorError(f"{kind}.metric must be one of {sorted(SIGNS)}, got {metric!r}")
        n = len(labels) if hasattr(labels, "__len__") else 0
        if not isinstance(cv, int) or isinstance(cv, bool) or not 2 <= cv <= max(n, 2):
            raise EstimatorError(f"{kind}.cv must be a whole number of folds from 2, got {cv!r}")
        check_consistent_length(table, labels)
        for one in map(_last, candidates):
            if not isinstance(one, PrivateEstimator) or not hasattr(one, "predict_proba"):
                raise EstimatorError(
                    f"{kind}.estimator must be a private classifier, or a Pipeline of public steps that ends in one, "
                    f"got {type(one).__name__}"
                )
            if getattr(getattr(one.schema, "unit", None), "identifier", None) is not None:
                raise EstimatorError(f"{kind} must have records as units: folds would tear the rows of a person apart")
            if getattr(one.schema, "relation", None) == "add-remove":
                raise EstimatorError(
                    f"{kind} must have a schema whose relation is 'replace-one', got 'add-remove': a row that comes or "
                    "goes would deal all others anew, and each fold would be another table"
                )
        if len({str(getattr(one.ledger, "path", one.ledger)) for one in map(_last, candidates)}) > 1:
            raise EstimatorError(f"{kind} must have candidates that one ledger pays for, got several ledgers")
        if type(how["mechanism"]) not in MECHANISMS.values():
            raise EstimatorError(
                f"{kind}.mechanism must be a mechanism, got {told(how['mechanism'])}: it pays for each score, as in "
                "mechanism=dc.NoisyStatistics(epsilon=0.5, delta=1e-6)"
            )
        places = np.array_split(np.random.default_rng(seed).permutation(n), cv)
        return cls(kind, tuple(candidates), table, labels, tuple(map(np.sort, places)), seed, how["mechanism"])

    def part(self, candidate: Any, fold: int | None, *, held_out: bool = False) -> tuple[Any, Any, Any]:
        """A clone that is to be fitted, or whose rows are to be scored, on a part of the table under its own name."""
        made, held, labels = clone(candidate), self.X, self.y
        if fold is not None:
            rest = np.setdiff1d(np.arange(len(self.y)), self.folds[fold])
            chosen = self.folds[fold] if held_out else rest
            held, labels = _safe_indexing(self.X, chosen), _safe_indexing(self.y, chosen)
            named = f"fold {fold + 1} of {len(self.folds)}, seed {self.seed}"
            _last(made).set_params(
                id=f"{_last(made).id}: {named}" if held_out else f"{_last(made).id}: all but {named}"
            )
        return made, held, labels

    def asked(self, candidate: Any, fold: int | None, *, held_out: bool = False) -> tuple[Any, Any, Any]:
        """The last step of such a clone, with its rows as a dataset and its model."""
        made, held, labels = self.part(candidate, fold, held_out=held_out)
        if isinstance(made, Pipeline) and len(made) > 1:
            with np.errstate(all="ignore"):  # a logarithm of 0 would say that there is one
                held = made[:-1].fit_transform(held)
        dataset, model = _last(made)._asked(held, labels)
        return _last(made), dataset, model

    def guarantees(self, *, refit: bool) -> tuple[list[Guarantee], list[str]]:
        """Everything that will be charged at most, in turn, and how much there is of what, in words."""
        fits, scores, last = [], [], []
        bought = {entry.request for entry in self.ledger.entries()}
        for candidate in self.candidates:
            for fold in range(len(self.folds)):
                fits += self._fit(candidate, fold, bought)
                _, dataset, model = self.asked(candidate, fold, held_out=True)
                view, schema, _ = score_view(model.margin_query(dataset.schema), dataset.schema, CUTS)
                check_types("score", view, self.mechanism)
                scores.append(self.mechanism.guarantee(query_of(view, self.mechanism, schema)))
        if refit:  # the dearest of the candidates may be chosen
            every = [found for candidate in self.candidates for found in self._fit(candidate, None, bought)]
            last = sorted(every, key=lambda found: self.ledger.price(found))[-1:]
        words = [f"{len(fits)} fits", f"{len(scores)} scores", *([f"{len(last)} refit"] if refit else [])]
        return [*fits, *scores, *last], words

    def _fit(self, candidate: Any, fold: int | None, bought: set[str]) -> list[Guarantee]:
        """What a fit costs: nothing where it was made before and may be used again."""
        one, dataset, model = self.asked(candidate, fold)
        check_types("release", model, one.mechanism)
        found = one.mechanism.guarantee(query_of(model, one.mechanism, dataset.schema))
        key = request_key(recipe_of(model, dataset.id, dataset.schema, one.mechanism))
        if key not in bought:
            bought.add(key)
            return [found]
        if not one.reuse:
            raise EstimatorError(
                f"{self.kind}: this ledger has a release of {dataset.id!r} by this model and mechanism, or two "
                "candidates ask the same: nothing was charged. For the same rows set reuse=True, which costs nothing; "
                "other rows need another id"
            )
        return []

    @property
    def ledger(self) -> Ledger:
        """What pays."""
        found: Ledger = _last(self.candidates[0])._ledger()
        return found

    def price(self, *, refit: bool) -> str:
        """The whole price in words; refused where it does not fit."""
        guarantees, words = self.guarantees(refit=refit)
        ledger, counted = self.ledger, " + ".join(words)
        try:
            charges = ledger.quote_in_turn(guarantees)
        except BudgetExceeded as refusal:
            told = str(refusal)
        else:
            spend = sum((charge.spend for charge in charges), start=Decimal(0))
            amount, left = (ledger.filter.describe(x, ledger.budget) for x in (spend, ledger.remaining() - spend))
            return f"{self.kind}: {counted} take at most {amount} of {ledger.budget}; {left} will be left"
        raise BudgetExceeded(f"{self.kind}: {counted} do not fit, and nothing was charged: {told}")

    def scores(self, metric: str) -> tuple[Array, Array]:
        """Posterior means of the metric and their deviations, (candidates, folds): every fit and score is paid."""
        found, ledger = [], self.ledger
        for candidate in self.candidates:
            row = []
            for fold in range(len(self.folds)):
                made, held, labels = self.part(candidate, fold)
                with np.errstate(all="ignore"):
                    made.fit(held, labels)
                _, dataset, _ = self.asked(candidate, fold, held_out=True)
                answers: Any = score(_last(made).posterior_, dataset, self.mechanism, ledger).posterior()
                row.append([answers.mean()[metric], answers.sd()[metric]])
            found.append(row)
        both = np.array(found, dtype=float)
        return both[..., 0], both[..., 1]


def _last(estimator: Any) -> Any:
    """The private estimator itself; what stands before it must be public."""
    if not isinstance(estimator, Pipeline):
        return estimator
    for name, step in estimator.steps[:-1]:
        check_steps(step, name)
    return estimator.steps[-1][1]
