"""The straight line: `release`, and the two verbs that need no ledger, `plan` and `simulate`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import QueryError, ReleaseError
from discreet.guarantee import Guarantee
from discreet.ledger import Ledger
from discreet.mechanisms import MECHANISMS, Mechanism, NoisyStatistics
from discreet.models import MODELS, Model
from discreet.query import Statistics
from discreet.randomness import NoiseSource, SeededNoise, SystemNoise
from discreet.release import Release, recipe_of
from discreet.schema import Binary, Categorical, Column, Schema
from discreet.sources import CodedRows, Dataset

__all__ = ["Plan", "plan", "release", "simulate"]


def release(model: Model, dataset: Dataset, mechanism: Mechanism, ledger: Ledger) -> Release:
    """Pay for a private answer, then compute it: the only function that turns rows into something that leaves.

    The same request (recipe, dataset id, label) returns the stored release and spends nothing.
    """
    _check_types("release", model, mechanism)
    if not isinstance(dataset, Dataset):
        raise QueryError(f"release dataset must be what dc.open returns, got a {type(dataset).__name__}")
    if not isinstance(ledger, Ledger):
        raise QueryError(f"release ledger must be a Ledger, got a {type(ledger).__name__}")
    query = model.query(dataset.schema)
    guarantee = mechanism.guarantee(query)
    recipe = recipe_of(model, dataset.id, dataset.schema, mechanism)
    entry = ledger.reserve(guarantee, recipe)  # durable before any row is read; may refuse
    if entry.release is not None:
        return Release.from_json(entry.release)
    value = _apply(mechanism, query, dataset)  # the only line that touches rows
    return Release.from_json(ledger.settle(entry, Release(recipe, guarantee, value, entry.id).to_json()))


def _check_types(verb: str, model: Any, mechanism: Any) -> None:
    """Arguments in the wrong place get words, not an AttributeError."""
    for name, thing, registry in (("model", model, MODELS), ("mechanism", mechanism, MECHANISMS)):
        if type(thing).__name__ not in registry:
            raise QueryError(f"{verb} {name} must be one of {sorted(registry)}, got {thing!r}")


def _apply(mechanism: Mechanism, query: Statistics, dataset: Dataset) -> dict[str, Any]:
    """Apply the mechanism; whatever goes wrong becomes one sentence, with nothing attached that has seen a row."""
    try:
        return mechanism.apply(SystemNoise(), query, dataset)
    except Exception:  # noqa: S110  # its text and its frames may hold private values
        pass
    raise ReleaseError("the release could not be computed: it stays charged, and the same request may be made again")


def simulate(
    model: Model,
    dataset: Dataset | None,
    mechanism: Mechanism,
    *,
    runs: int,
    seed: int | None = None,
    n: int | None = None,
    schema: Schema | None = None,
) -> list[Release]:
    """Test-mode releases in one process, for audits and studies: no ledger, `private=False`, cannot be saved.

    With a dataset every run answers on it. With `n` instead, every run draws parameters from the prior (kept in
    `release.truth`) and rows from the model; `schema` declares its columns where the model does not imply them. Without
    a seed the real noise source is used.
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise QueryError(f"simulate runs must be a whole number from 1, got {runs!r}")
    if (dataset is None) == (n is None):
        raise QueryError("simulate must get either a dataset or n=, got both or neither")
    _check_types("simulate", model, mechanism)
    facts = dataset.schema if dataset is not None else _sized(schema or model.implied_schema(), n)
    query = model.query(facts)
    guarantee = mechanism.guarantee(query)
    recipe = recipe_of(model, "simulation" if dataset is None else dataset.id, facts, mechanism)
    rng = np.random.default_rng(seed)
    noise: NoiseSource = SystemNoise() if seed is None else SeededNoise(np.random.SeedSequence([seed, 1]))
    releases = []
    for _ in range(runs):
        truth, table = (None, dataset) if dataset is not None else _draw(model, facts, n or 0, rng)
        assert table is not None
        value = mechanism.apply(noise, query, table)
        releases.append(Release(recipe, guarantee, value, "", private=False, truth=truth))
    return releases


@dataclass(frozen=True)
class Plan:
    """What a release would give, before any row is read; figures are averages over the prior, simulated."""

    guarantee: Guarantee
    noise: dict[str, float]
    width: float | None
    coverage: float | None
    coverage_error: float | None
    error: float
    runs: int
    complete: dict[str, str]

    def __str__(self) -> str:
        lines = [f"guarantee   {self.guarantee}"]
        lines += [f"noise       {name}: standard deviation {scale:.4g}" for name, scale in self.noise.items()]
        if self.width is None:
            lines.append("width       no interval: the release is a draw of a tempered posterior")
        else:
            covered = f"{self.coverage:.1%} ± {self.coverage_error:.1%}"
            lines.append(f"width       {self.width:.4g} on average for 90% intervals, which cover {covered}")
        lines.append(f"error       {self.error:.4g} root mean square of the estimate ({self.runs} simulated runs)")
        for name, level in self.complete.items():
            lines.append(f"complete    {name} is declared complete: a bad cell counts as {level}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "guarantee": self.guarantee.to_json()}


def plan(model: Model, mechanism: Mechanism, *, schema: Schema, runs: int = 200) -> Plan:
    """What to expect of a release, from public facts alone: no data, no ledger, nothing spent."""
    _check_types("plan", model, mechanism)
    if not isinstance(schema, Schema):
        raise QueryError(f"plan schema must be a Schema, got a {type(schema).__name__}")
    query = model.query(schema)
    laws = mechanism.laws(query) if isinstance(mechanism, NoisyStatistics) else {}
    widths, hits, errors = [], [], []
    for run in simulate(model, None, mechanism, runs=runs, seed=0, n=query.largest_total, schema=schema):
        posterior = run.posterior()
        truth = run.truth or {}
        means = _by_name(posterior.mean(), truth)
        errors += [np.mean((means[name] - truth[name]) ** 2) for name in truth]
        if laws:
            low_high = _by_name(posterior.interval(0.9), truth)
            widths += [np.mean(high - low) for low, high in low_high.values()]
            hits += [np.mean((low_high[name][0] <= truth[name]) & (truth[name] <= low_high[name][1])) for name in truth]
    return Plan(
        guarantee=mechanism.guarantee(query),
        noise={name: float(law.variance) ** 0.5 for name, law in laws.items()},
        width=float(np.mean(widths)) if widths else None,
        coverage=float(np.mean(hits)) if hits else None,
        coverage_error=2 * float(np.sqrt(0.09 / runs)) if hits else None,
        error=float(np.sqrt(np.mean(errors))),
        runs=runs,
        complete=_complete(schema.only(query.columns)),
    )


def _complete(schema: Schema) -> dict[str, str]:
    """The columns that are declared complete, and what a bad cell of each counts as."""
    declared = {name: column for name, column in schema.columns.items() if column.missing is None}
    return {name: _fallback(column) for name, column in declared.items()}


def _fallback(column: Column) -> str:
    return repr(column.levels[0]) if isinstance(column, Binary | Categorical) else f"{column.lower:g}"


def _by_name(answer: Any, truth: Any) -> dict[str, Any]:
    """Answers of one-parameter posteriors are bare; of others, by name."""
    return answer if isinstance(answer, dict) else {next(iter(truth)): answer}


def _sized(schema: Schema | None, n: int | None) -> Schema:
    if schema is None:
        raise QueryError("simulate without a dataset must get schema=, the declaration of the model's columns")
    assert n is not None
    return schema.with_n(n) if schema.relation == "replace-one" else schema


def _draw(model: Model, schema: Schema, n: int, rng: np.random.Generator) -> tuple[dict[str, Any], Dataset]:
    truth, columns = model.simulate(schema, n, rng)
    return truth, Dataset("simulation", schema, CodedRows(columns))
