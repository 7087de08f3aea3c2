"""What a release would give, before any row is read: `plan` for one mechanism, `compare` for several.

Everything is simulated from the prior and the schema, which are public: no data, no ledger, nothing spent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Budget, Guarantee
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.models import Model
from discreet.numerics.arrays import Array
from discreet.pipeline import check_types, query_of
from discreet.planning.public_records import PublicRecords, public_records
from discreet.planning.simulated_runs import Runs, simulated_runs
from discreet.planning.wanted_width import Measure, Reached, least_budget
from discreet.recipe import spelled
from discreet.schema import Binary, Categorical, Column, Schema

__all__ = ["Candidate", "Comparison", "Plan", "compare", "plan"]


DROWNED = 0.9  # an estimate whose error is this share of the prior's spread has learned next to nothing
RUNS, SPREAD_RUNS = 200, 100
CLOSE = 2.0  # Monte Carlo errors within which two mechanisms are called a tie


@dataclass(frozen=True)
class Plan:
    """What a release would give; figures are averages over the prior, simulated. Widths are of 90% intervals."""

    guarantee: Guarantee
    noise: dict[str, float]
    width: dict[str, float] | None
    coverage: float | None
    coverage_error: float | None
    error: dict[str, float]
    runs: int
    complete: dict[str, str]
    public: PublicRecords | None = None
    law: Any = None  # of a draw: public numbers, with words
    mechanism: Mechanism | None = None
    reached: Reached | None = None  # where a width or an error was asked for

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Where a width or an error was asked for, pairs: a budget around the one that reaches it, and the figure."""
        return () if self.reached is None else self.reached.curve

    def __str__(self) -> str:
        return "\n".join(f"{head:<12}{text}" for head, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """The plan in words; one line of noise for statistics that share their scale."""
        found = [] if self.reached is None else self.reached.lines()
        found.append(("guarantee", str(self.guarantee)))
        by_scale: dict[float, list[str]] = {}
        for name, scale in self.noise.items():
            by_scale.setdefault(scale, []).append(name)
        found += [
            ("noise", f"standard deviation {scale:.4g} on {', '.join(names)}") for scale, names in by_scale.items()
        ]
        if self.law is not None:
            found.append(("law", str(self.law)))
        if self.width is None or self.coverage is None:
            found.append(("width", "no interval: what is released is a draw of a tempered posterior"))
        else:
            covered = f"{self.coverage:.1%} ± {self.coverage_error:.1%}"
            found.append(("width", f"{_named(self.width)} on average for 90% intervals, which cover {covered}"))
        found.append(
            ("error", f"{_named(self.error)} root mean square of the estimate, over {self.runs} simulated runs")
        )
        for name, level in self.complete.items():
            found.append(
                ("complete", f"{name} is declared complete: a cell that is missing or no level counts as {level}")
            )
        return found + (self.public.lines() if self.public is not None else [])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        public = None if self.public is None else self.public.to_json()
        law = None if self.law is None else vars(self.law)
        reached = None if self.reached is None else {**self.reached.to_json(), "mechanism": spelled(self.mechanism)}
        made = {name: value for name, value in vars(self).items() if name != "mechanism"}
        return {**made, "guarantee": self.guarantee.to_json(), "public": public, "law": law, "reached": reached}


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
class Comparison:
    """Mechanisms that fit a model and a budget, best first."""

    candidates: tuple[Candidate, ...]
    refused: dict[str, str]

    @property
    def best(self) -> Mechanism:
        """The mechanism that ranks first."""
        return self.candidates[0].mechanism

    def __str__(self) -> str:
        rows = []
        for rank, one in enumerate(self.candidates, start=1):
            width = "no interval" if one.plan.width is None else f"width {_named(one.plan.width)}"
            notes = [
                note for note, says in (("tie", one.tie and rank > 1), ("noise drowns the signal", one.drowned)) if says
            ]
            coverage = "" if one.plan.coverage is None else f", covers {one.plan.coverage:.1%}"
            rows.append(
                f"{rank}. {spelled(one.mechanism)}: {width}{coverage}, error {_named(one.plan.error)}"
                + (f" ({'; '.join(notes)})" if notes else "")
            )
        return "\n".join([*rows, *(f"-  {name}: {reason}" for name, reason in self.refused.items())])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "candidates": [
                {**vars(one), "mechanism": spelled(one.mechanism), "plan": one.plan.to_json()}
                for one in self.candidates
            ],
            "refused": self.refused,
        }


def plan(
    model: Model,
    mechanism: Mechanism,
    *,
    schema: Schema,
    runs: int | None = None,
    target: Budget | None = None,
    width: float | Mapping[str, float] | None = None,
    rms: float | Mapping[str, float] | None = None,
) -> Plan:
    """What to expect of a release, from public facts alone: no data, no ledger, nothing spent.

    With `width`, the plan is of the mechanism at the least budget at which 90% intervals are this wide on average: over
    the prior, over groups, and over the levels of a vector. The epsilon or rho that the mechanism has is where the
    search starts; all else of it stays. `plan.mechanism` is the one found, and `plan.curve` pairs of a budget and the
    width there. With `rms`, the same for the root mean square error of the estimate. Of several parameters one is
    named: `width={"mean": 0.5}`.

    With `target`, for direct, diffused and concentrated draws: also how many public records in the prior would make
    the draw meet it, and what the draw costs when some of the table's own records are made public.

    `runs` are simulated tables: 200, or 100 spread evenly over the prior where a width or an error is asked for.
    """
    check_types("plan", model, mechanism)
    _check_schema("plan", schema)
    wanted: dict[Measure, Any] = {"width": width, "rms": rms}
    asked = {measure: value for measure, value in wanted.items() if value is not None}
    if len(asked) > 1:
        raise QueryError(f"plan must get width or rms, got both: width={width!r}, rms={rms!r}")
    for measure, value in asked.items():
        reached, mechanism, found = least_budget(model, mechanism, schema, measure, value, runs or SPREAD_RUNS)
        made = replace(_plan(model, mechanism, schema, found), reached=reached)
    if not asked:
        made = _plan(model, mechanism, schema, simulated_runs(model, mechanism, schema, runs or RUNS))
    public = None if target is None else public_records(model, mechanism, schema, target)
    return replace(made, public=public)


def compare(
    model: Model,
    budget: Budget,
    *,
    schema: Schema,
    mechanisms: Sequence[Mechanism] | None = None,
    also: Sequence[Mechanism] = (),
    runs: int = 200,
) -> Comparison:
    """Rank mechanisms on the same simulated tables: by the width of 90% intervals where all have them, else by error.

    Without `mechanisms`, those that the budget alone determines are compared, and those in `also`: a
    `PosteriorSample`, which needs a declared parameter space, is compared only where it is given there. One that
    spends more than the budget, or does not fit the model, is listed as refused. Differences within two Monte Carlo
    errors are ties.
    """
    if not isinstance(budget, Budget):
        raise QueryError(f"compare budget must be a Budget, got {budget!r}")
    _check_schema("compare", schema)
    made: list[tuple[Mechanism, Plan, Runs]] = []
    refused: dict[str, str] = {}
    query = model.query(schema)
    every = (kind.within(budget, query) for kind in MECHANISMS.values() if kind.answers == query.asks)
    fitting = [mechanism for found in every for mechanism in found] if mechanisms is None else mechanisms
    for mechanism in dict.fromkeys((*fitting, *also)):
        check_types("compare", model, mechanism)
        try:
            spent = mechanism.guarantee(query_of(model, mechanism, schema)).epsilon(budget.delta or 0.0)
            if spent > budget.epsilon * (1 + 1e-9):
                pure = spent < math.inf or budget.delta is not None
                told = f"would spend epsilon = {spent:.4g} of {budget.epsilon:g}"
                refused[spelled(mechanism)] = told if pure else "has a delta, and the budget has none"
                continue
        except (GuaranteeError, QueryError) as problem:
            refused[spelled(mechanism)] = str(problem)
            continue
        found = simulated_runs(model, mechanism, schema, runs)
        made.append((mechanism, _plan(model, mechanism, schema, found), found))
    if not made:
        raise QueryError(f"compare must have a mechanism that fits the model and the budget, got {refused}")
    return Comparison(_ranked(made), refused)


def _ranked(made: list[tuple[Mechanism, Plan, Runs]]) -> tuple[Candidate, ...]:
    """Best first, by the mean over parameters of log width (log root mean square error, if some have no interval)."""
    by_width = all(runs.widths for _, _, runs in made)
    scores = [_log_scores(runs.widths if by_width else runs.errors) * (1.0 if by_width else 0.5) for _, _, runs in made]
    order = sorted(range(len(made)), key=lambda i: float(scores[i].mean()))
    best = scores[order[0]]
    candidates = []
    for i in order:
        mechanism, plan_of, runs = made[i]
        gap = scores[i] - best
        error = float(gap.std() / np.sqrt(gap.size))
        drowned = all(plan_of.error[name] > DROWNED * runs.spread[name] for name in plan_of.error)
        candidates.append(
            Candidate(mechanism, plan_of, float(gap.mean()), error, abs(float(gap.mean())) <= CLOSE * error, drowned)
        )
    return tuple(candidates)


def _log_scores(values: dict[str, Array]) -> Array:
    return np.asarray(np.mean([np.log(np.maximum(array, 1e-300)) for array in values.values()], axis=0))


def _plan(model: Model, mechanism: Mechanism, schema: Schema, runs: Runs) -> Plan:
    query = model.query(schema)
    size = next(iter(runs.errors.values())).size
    return Plan(
        guarantee=mechanism.guarantee(query),
        noise={name: float(law.variance) ** 0.5 for name, law in mechanism.laws(query).items()},
        width={name: float(values.mean()) for name, values in runs.widths.items()} or None,
        coverage=float(runs.hits.mean()) if runs.hits.size else None,
        coverage_error=2 * float(np.sqrt(0.09 / size)) if runs.hits.size else None,
        error={name: float(np.sqrt(values.mean())) for name, values in runs.errors.items()},
        runs=size,
        complete=_complete(schema.only(query.columns)),
        law=mechanism.law(query),
        mechanism=mechanism,
    )


def _named(values: dict[str, float]) -> str:
    if len(values) == 1:
        return f"{next(iter(values.values())):.4g}"
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _check_schema(verb: str, schema: Any) -> None:
    if not isinstance(schema, Schema):
        raise QueryError(f"{verb} schema must be a Schema, got a {type(schema).__name__}")


def _complete(schema: Schema) -> dict[str, str]:
    """The columns that are declared complete, and what a bad cell of each counts as."""
    declared = {name: column for name, column in schema.columns.items() if column.missing is None}
    return {name: _fallback(column) for name, column in declared.items()}


def _fallback(column: Column) -> str:
    return repr(column.levels[0]) if isinstance(column, Binary | Categorical) else f"{column.lower:g}"
