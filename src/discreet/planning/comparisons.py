"""Which mechanism serves a model best: `compare` ranks them on the same simulated tables, and by what they take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.models import Model
from discreet.numerics.arrays import Array
from discreet.pipeline import check_types, query_of
from discreet.planning.draw_errors import draw_errors
from discreet.planning.plans import Plan, check_schema, named, plan_of
from discreet.planning.shares import shares_of
from discreet.planning.simulated_runs import Runs, simulated_runs
from discreet.planning.wanted_width import least_budget
from discreet.recipe import spelled
from discreet.schema import Schema
from discreet.visible import Told

__all__ = ["Candidate", "Comparison", "compare"]

By = Literal["estimate", "draw"]

DROWNED = 0.9  # an estimate whose error is this share of the prior's spread has learned next to nothing
SAME = 1e-9  # of what exact sums say
CLOSE = 2.0  # Monte Carlo errors within which two mechanisms are called a tie


@dataclass(frozen=True)
class Candidate:
    """One mechanism of a comparison; `score` is the mean log error or log width against the best, `tie` with it."""

    mechanism: Mechanism
    plan: Plan
    score: float
    score_error: float
    tie: bool
    drowned: bool


@dataclass(frozen=True)
class Comparison(Told):
    """Mechanisms that fit a model and a budget, best first."""

    candidates: tuple[Candidate, ...]
    refused: dict[str, str]

    @property
    def best(self) -> Mechanism:
        """The mechanism that ranks first."""
        return self.candidates[0].mechanism

    def __str__(self) -> str:
        rows = [f"{rank}. {what}: {words}" if rank else f"-  {what}: {words}" for rank, what, words in self._ranked()]
        return "\n".join(rows)

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        lines = [(f"{rank or '-'}  {what}", words) for rank, what, words in self._ranked()]
        return "Comparison, best first: nothing is read, nothing is spent", lines

    def _ranked(self) -> list[tuple[int, str, str]]:
        """Rank, mechanism and words of each; rank 0 where it was refused."""
        rows = []
        for rank, one in enumerate(self.candidates, start=1):
            width = "no interval" if one.plan.width is None else f"width {named(one.plan.width)}"
            notes = [
                note for note, says in (("tie", one.tie and rank > 1), ("noise drowns the signal", one.drowned)) if says
            ]
            notes += [] if one.plan.share is None else [one.plan.share.words]
            notes += [] if one.plan.draw is None else [str(one.plan.draw)]
            coverage = "" if one.plan.coverage is None else f", covers {one.plan.coverage:.1%}"
            told = f"{width}{coverage}, error {named(one.plan.error)}" + (f" ({'; '.join(notes)})" if notes else "")
            rows.append((rank, spelled(one.mechanism), told))
        return [*rows, *((0, name, reason) for name, reason in self.refused.items())]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "candidates": [
                {**vars(one), "mechanism": spelled(one.mechanism), "plan": one.plan.to_json()}
                for one in self.candidates
            ],
            "refused": self.refused,
        }


def compare(
    model: Model,
    budget: Budget,
    *,
    schema: Schema,
    mechanisms: Sequence[Mechanism] | None = None,
    also: Sequence[Mechanism] = (),
    runs: int = 200,
    width: float | Mapping[str, float] | None = None,
    ledger: Ledger | None = None,
    by: By = "estimate",
) -> Comparison:
    """Rank mechanisms on the same simulated tables: by the width of 90% intervals where all have them, else by error.

    With `by="draw"` they are ranked by how far one draw is from the truth on average over the prior, which is summed
    exactly for a probability of at most 2,000 rows: for whoever wants a single draw, not an estimate. Of noisy counts
    it is the better of a draw of the posterior and one of the counts at face value, and `plan.draw.reading` says which.

    With `width`, every mechanism is taken at the least budget that reaches it, and they are ranked by the share that
    this takes of the ledger: of `ledger` as it is now or, without one, of a new one of the budget.

    Without `mechanisms`, those that the budget alone determines are compared, and those in `also`: a
    `PosteriorSample`, which needs a declared parameter space, is compared only where it is given there. One that
    spends more than the budget, or does not fit the model, is listed as refused. Differences within two Monte Carlo
    errors are ties.
    """
    if not isinstance(budget, Budget):
        raise QueryError(f"compare budget must be a Budget, got a {type(budget).__name__}")
    check_schema("compare", schema)
    if by not in get_args(By) or (by == "draw" and width is not None):
        raise QueryError(f'compare by must be "estimate", or "draw" without a width, got by={by!r}, width={width!r}')
    made: list[tuple[Mechanism, Plan, Runs]] = []
    refused: dict[str, str] = {}
    query = model.query(schema)
    every = (kind.within(budget, query) for kind in MECHANISMS.values() if kind.answers == query.asks)
    fitting = [mechanism for found in every for mechanism in found] if mechanisms is None else mechanisms
    for mechanism in dict.fromkeys((*fitting, *also)):
        check_types("compare", model, mechanism)
        try:
            if width is not None:
                reached, solved, found = least_budget(model, mechanism, schema, "width", width, runs)
                share = shares_of([solved.guarantee(query)], ledger or budget)[0]
                made.append(
                    (solved, replace(plan_of(model, solved, schema, found), reached=reached, share=share), found)
                )
                continue
            spent = mechanism.guarantee(query_of(model, mechanism, schema)).epsilon(budget.delta or 0.0)
            if spent > budget.epsilon * (1 + 1e-9):
                pure = spent < math.inf or budget.delta is not None
                told = f"would spend epsilon = {spent:.4g} of {budget.epsilon:g}"
                refused[spelled(mechanism)] = told if pure else "has a delta, and the budget has none"
                continue
        except (GuaranteeError, QueryError) as problem:
            refused[spelled(mechanism)] = str(problem)
            continue
        drawn = draw_errors(model, mechanism, query)[0] if by == "draw" else None
        found = simulated_runs(model, mechanism, schema, runs)
        share = shares_of([mechanism.guarantee(query)], ledger or budget)[0]
        made.append((mechanism, replace(plan_of(model, mechanism, schema, found), share=share, draw=drawn), found))
    if not made:
        raise QueryError(f"compare must have a mechanism that fits the model and the budget, got {refused}")
    ranked = _by_draw(_ranked(made)) if by == "draw" else _ranked(made)
    return Comparison(ranked if width is None else tuple(sorted(ranked, key=_share)), refused)


def _share(candidate: Candidate) -> float:
    """What a candidate takes of the ledger; one that is refused comes last."""
    share = candidate.plan.share
    return math.inf if share is None or share.fraction is None else share.fraction


def _by_draw(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Best first by the error of one draw: exact sums, so that only equal laws tie."""
    errors = {id(one): one.plan.draw.error for one in candidates if one.plan.draw is not None}
    best = min(errors.values())
    ranked = sorted(candidates, key=lambda one: errors[id(one)])
    scores = [math.log(errors[id(one)] / best) for one in ranked]
    return tuple(
        replace(one, score=score, score_error=0.0, tie=score <= SAME) for one, score in zip(ranked, scores, strict=True)
    )


def _ranked(made: list[tuple[Mechanism, Plan, Runs]]) -> tuple[Candidate, ...]:
    """Best first, by the mean over parameters of log width (log root mean square error, if some have no interval)."""
    by_width = all(runs.widths for _, _, runs in made)
    scores = [_log_scores(runs.widths if by_width else runs.errors) * (1.0 if by_width else 0.5) for _, _, runs in made]
    order = sorted(range(len(made)), key=lambda i: float(scores[i].mean()))
    best = scores[order[0]]
    candidates = []
    for i in order:
        mechanism, planned, runs = made[i]
        gap = scores[i] - best
        error = float(gap.std() / np.sqrt(gap.size))
        drowned = all(planned.error[name] > DROWNED * runs.spread[name] for name in planned.error)
        candidates.append(
            Candidate(mechanism, planned, float(gap.mean()), error, abs(float(gap.mean())) <= CLOSE * error, drowned)
        )
    return tuple(candidates)


def _log_scores(values: dict[str, Array]) -> Array:
    return np.asarray(np.mean([np.log(np.maximum(array, 1e-300)) for array in values.values()], axis=0))
