"""Releases simulated from the prior and the schema, and how far they were from the truth: what a plan is made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, cast

import numpy as np

from discreet.errors import QueryError
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.noise import DiscreteNoise
from discreet.noise.sources import SeededNoise
from discreet.numerics.arrays import Array
from discreet.pipeline import drawn_table, query_of, simulate, simulations
from discreet.planning.adjusted_averages import FEWEST, adjusted
from discreet.planning.noisy_moments import NoisyMoments
from discreet.planning.table_features import MOST_NOISES, MOST_ROWS, Sketch, features, parameter_features, sketch
from discreet.queries.losses import Query
from discreet.queries.statistics import Statistics
from discreet.release import Release
from discreet.schema import Schema
from discreet.sources import Dataset

__all__ = [
    "Runs",
    "adjusted_runs",
    "affordable_runs",
    "chance",
    "expected_squared_error",
    "measured",
    "measured_as_expected",
    "public_total",
    "simulated_runs",
    "true_values",
]

Error = Callable[[Any, dict[str, Array], tuple[str, ...]], dict[str, Array]]

FEWEST_RUNS, MOST_WORK = 3, 10**10  # of chains: runs, and cells that all their steps see together
MOST_HIDDEN_CELLS = 10**5  # of event logs, whose posteriors are chains: cells of all runs together
FURTHER_TABLES = 5000  # that are looked at beside those whose intervals are read


@dataclass(frozen=True)
class Runs:
    """Per run and parameter: squared error, width and hit, averaged over coordinates; and the truths' spread.

    `averages` are widths on average over more tables than these, with their standard errors, where they are known.
    """

    errors: dict[str, Array]
    widths: dict[str, Array]
    hits: Array
    spread: dict[str, float]
    averages: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def width(self, name: str) -> float:
        """On average over tables."""
        return self.averages[name][0] if name in self.averages else float(self.widths[name].mean())

    def width_error(self, name: str) -> float:
        """How far the average may be off by chance: one standard error."""
        return self.averages[name][1] if name in self.averages else chance(self.widths[name])


def simulated_runs(model: Model, mechanism: Mechanism, schema: Schema, runs: int) -> Runs:
    """`runs` releases of tables that were drawn from the prior; a parameter's coordinates are averaged."""
    query = query_of(model, mechanism, schema)
    runs = affordable_runs(model, mechanism, query, runs)
    return measured(
        model, query, simulate(model, None, mechanism, runs=runs, seed=0, n=public_total(query), schema=schema)
    )


def adjusted_runs(model: Model, mechanism: Mechanism, schema: Schema, runs: int) -> Runs:
    """The same runs, and the average widths over thousands of tables that were only looked at."""
    query = query_of(model, mechanism, schema)
    n, largest = public_total(query), query.largest_total
    some = np.random.default_rng(1)
    seen: list[Sketch] = []
    truths: list[dict[str, Array]] = []

    def releases() -> Iterator[Release]:
        count = affordable_runs(model, mechanism, query, runs)
        for release, table in simulations(model, None, mechanism, runs=count, seed=0, n=n, schema=schema):
            seen.append(sketch(table, largest, _noise(mechanism, query, release, table), some))
            truths.append(true_values(model, release))
            yield release

    found = measured(model, query, releases())
    if not found.widths or len(seen) < FEWEST:
        return found
    rng, drawn = np.random.default_rng(2), SeededNoise(2)
    for _ in range(FURTHER_TABLES):
        truth, table = drawn_table(model, query, n, rng, most=MOST_ROWS)
        seen.append(sketch(table, min(largest, MOST_ROWS), _fresh_noise(mechanism, query, drawn), some))
        truths.append(_estimands(model, mechanism.reported(query, truth)))
    told = [features(seen, _moments(mechanism, query))]
    told += [parameter_features(truths)] if query.asks != "statistics" else []
    averages = {
        name: min((adjusted(values, every[: values.size], every[values.size :]) for every in told), key=itemgetter(1))
        for name, values in found.widths.items()
    }
    return replace(found, averages=averages)


def _noise(mechanism: Mechanism, query: Query, release: Release, table: Dataset) -> Array:
    """What was added to the statistics of a simulated table, in deviations; nothing where no statistics are asked."""
    laws = mechanism.laws(query) if query.asks == "statistics" else {}
    if not laws:
        return np.empty(0)
    sums = table.source.statistics(cast(Statistics, query))
    added = [
        np.ravel(np.asarray(release.value[name] - sums[name], dtype=float)) / float(laws[name].variance) ** 0.5
        for name in sums
        if name in laws
    ]
    return np.concatenate([np.empty(0), *added])


def _fresh_noise(mechanism: Mechanism, query: Query, source: SeededNoise) -> Array:
    """As much of it, drawn alone; none where it is more than is looked at."""
    laws = mechanism.laws(query) if query.asks == "statistics" else {}
    asked = cast(Statistics, query).statistics if laws else ()
    sizes = {each.name: int(np.prod(each.shape)) for each in asked if each.name in laws}
    if not 0 < sum(sizes.values()) <= MOST_NOISES:
        return np.empty(0)
    drawn = []
    for name, size in sizes.items():
        law = cast(DiscreteNoise, laws[name])
        drawn.append(np.asarray(source.integers(law, size), dtype=float) / float(law.variance) ** 0.5)
    return np.concatenate(drawn)


def _moments(mechanism: Mechanism, query: Query) -> NoisyMoments | None:
    """How second moments are released, where they are."""
    laws = mechanism.laws(query) if query.asks == "statistics" else {}
    return NoisyMoments.of(cast(Statistics, query), laws) if laws else None


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


def measured_as_expected(names: tuple[str, ...], groups: tuple[str, ...], releases: Iterable[Release]) -> Runs:
    """What releases say of tables that no parameter was drawn for: widths, and the errors that posteriors expect."""
    errors: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    asked = dict.fromkeys(names, np.zeros(()))
    for run in releases:
        posterior = run.posterior()
        bounds = _intervals(posterior, asked, groups)
        if not bounds:
            raise QueryError("Plan.expect must be said of a release with intervals, got one of tempered draws")
        squares = expected_squared_error(posterior, asked, groups)
        for name in names:
            lower, upper = np.moveaxis(bounds[name], 1, 0) if groups else bounds[name]
            widths.setdefault(name, []).append(float(np.mean(upper - lower)))
            errors.setdefault(name, []).append(float(np.mean(squares[name])))
    return Runs(_arrays(errors), _arrays(widths), np.empty(0), {})


def true_values(model: Model, run: Release) -> dict[str, Array]:
    """The parameters that a table was simulated from."""
    return _estimands(model, run.truth or {})


def _estimands(model: Model, truth: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.asarray(value, dtype=float) for name, value in model.estimands(truth).items()}


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
