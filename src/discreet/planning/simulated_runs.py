"""Releases simulated from the prior and the schema, and how far they were from the truth: what a plan is made of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.numerics.arrays import Array
from discreet.pipeline import query_of, simulate
from discreet.queries.losses import Query
from discreet.release import Release
from discreet.schema import Schema

__all__ = [
    "Runs",
    "affordable_runs",
    "chance",
    "expected_squared_error",
    "measured",
    "public_total",
    "simulated_runs",
    "true_values",
]

Error = Callable[[Any, dict[str, Array], tuple[str, ...]], dict[str, Array]]

FEWEST_RUNS, MOST_WORK = 3, 10**10  # of chains: runs, and cells that all their steps see together
MOST_HIDDEN_CELLS = 10**5  # of event logs, whose posteriors are chains: cells of all runs together


@dataclass(frozen=True)
class Runs:
    """Per run and parameter: squared error, width and hit, averaged over coordinates; and the truths' spread."""

    errors: dict[str, Array]
    widths: dict[str, Array]
    hits: Array
    spread: dict[str, float]


def simulated_runs(model: Model, mechanism: Mechanism, schema: Schema, runs: int) -> Runs:
    """`runs` releases of tables that were drawn from the prior; a parameter's coordinates are averaged."""
    query = query_of(model, mechanism, schema)
    runs = affordable_runs(model, mechanism, query, runs)
    return measured(
        model, query, simulate(model, None, mechanism, runs=runs, seed=0, n=public_total(query), schema=schema)
    )


def affordable_runs(model: Model, mechanism: Mechanism, query: Query, runs: int) -> int:
    """Chains take time: as many of the runs as a public amount of work allows."""
    steps, cells = mechanism.work(query), model.reading_work(query)
    if steps:
        runs = min(runs, max(FEWEST_RUNS, MOST_WORK // (steps * max(query.largest_total, 1) * len(query.columns))))
    if cells:
        runs = min(runs, max(FEWEST_RUNS, MOST_HIDDEN_CELLS // cells))
    return runs


def chance(values: Array) -> float:
    """The standard error of an average over runs, by the differences of neighbours.

    Of runs drawn at random that is what their variance says. Runs spread evenly over the prior come in the order of the
    parameter: what differs between distant ones is no chance, and a variance would count it.
    """
    return float(np.sqrt(np.mean(np.diff(values) ** 2) / 2 / values.size))


def public_total(query: Query) -> int | None:
    """How many rows a simulated table has; None leaves a private number to its prior."""
    return query.largest_total if query.total is not None else None


def measured(model: Model, query: Query, releases: Iterable[Release], error: Error | None = None) -> Runs:
    """What the releases say of the parameters that they were simulated from; `error` in place of the squared error."""
    errors: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    truths: dict[str, list[Array]] = {}
    hits = []
    for run in releases:
        posterior = run.posterior()
        truth = true_values(model, run)
        squares = (error or squared_error)(posterior, truth, query.groups)
        bounds = _intervals(posterior, truth, query.groups)
        inside = []
        for name, value in truth.items():
            truths.setdefault(name, []).append(value)
            errors.setdefault(name, []).append(float(np.mean(squares[name])))
            if bounds:
                lower, upper = np.moveaxis(bounds[name], 1, 0) if query.groups else bounds[name]
                widths.setdefault(name, []).append(float(np.mean(upper - lower)))
                inside.append(np.mean((lower <= value) & (value <= upper)))
        if inside:
            hits.append(float(np.mean(inside)))
    spread = {name: float(np.sqrt(np.mean(np.var(values, axis=0)))) for name, values in truths.items()}
    return Runs(_arrays(errors), _arrays(widths), np.array(hits), spread)


def true_values(model: Model, run: Release) -> dict[str, Array]:
    """The parameters that a table was simulated from."""
    return {name: np.asarray(value, dtype=float) for name, value in model.estimands(run.truth or {}).items()}


def squared_error(posterior: Any, truth: dict[str, Array], groups: tuple[str, ...]) -> dict[str, Array]:
    """How far the estimate is from the truth; of draws, the average of what was drawn."""
    means = _by_name(posterior.mean(), truth, groups)
    return {name: (means[name] - value) ** 2 for name, value in truth.items()}


def expected_squared_error(posterior: Any, truth: dict[str, Array], groups: tuple[str, ...]) -> dict[str, Array]:
    """The same on average over all truths that the release leaves possible: the variance of a posterior that is exact.

    Its average over tables of the prior is the mean squared error, and varies far less than squared errors do.
    """
    return {name: deviation**2 for name, deviation in _by_name(posterior.sd(), truth, groups).items()}


def _by_name(answer: Any, truth: dict[str, Array], groups: tuple[str, ...]) -> dict[str, Array]:
    """Answers of one-parameter posteriors are bare, of others by name; those of groups are stacked first."""
    if groups:
        parts = [_by_name(answer[level], truth, ()) for level in groups]
        return {name: np.array([part[name] for part in parts]) for name in truth}
    named = answer if isinstance(answer, dict) else {next(iter(truth)): answer}
    return {name: np.asarray(named[name], dtype=float) for name in truth}


def _intervals(posterior: Any, truth: dict[str, Array], groups: tuple[str, ...]) -> dict[str, Array]:
    """90% intervals by name; none where a posterior gives none, which its kind decides and no number in it."""
    try:
        bounds = posterior.interval(0.9)
    except QueryError:
        return {}
    return _by_name(bounds, truth, groups)


def _arrays(values: dict[str, list[float]]) -> dict[str, Array]:
    return {name: np.array(numbers) for name, numbers in values.items()}
