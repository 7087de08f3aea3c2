"""`dc.audit`: attack a mechanism on the worst neighbours found and report what privacy loss is certain."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.audit.bounds import Audit, threshold_audit
from discreet.audit.neighbours import Pair, neighbouring_pairs
from discreet.errors import QueryError
from discreet.mechanisms import Mechanism, NoisyStatistics
from discreet.models import Model
from discreet.query import Counts, Statistics
from discreet.randomness import NoiseSource, SeededNoise, SystemNoise
from discreet.schema import Schema

__all__ = ["audit"]

Score = Callable[[Mapping[str, Any]], float]


def audit(
    model: Model,
    mechanism: Mechanism,
    *,
    schema: Schema,
    runs: int = 10_000,
    delta: float = 0.0,
    confidence: float = 0.999,
    seed: int | None = None,
) -> Audit:
    """An empirical lower bound on epsilon over the worst neighbour pair found.

    Pilot runs pick the pair; the log-likelihood ratio of the two tables is the test statistic, the best there is.
    Without a seed the real noise source is used, so the audit tests what ships. The tables are made up: nothing private
    is involved.
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 100:
        raise QueryError(f"audit runs must be a whole number from 100, got {runs!r}")
    query = model.query(schema)
    mechanism.guarantee(query)  # refuses what could not be released either
    noise: NoiseSource = SystemNoise() if seed is None else SeededNoise(seed)
    pairs = sorted(neighbouring_pairs(query, limit=60), key=lambda pair: pair.moved, reverse=True)[:8]
    pilot = max(
        pairs, key=lambda pair: _attack(mechanism, query, pair, noise, max(runs // 20, 100), delta, confidence).epsilon
    )
    return _attack(mechanism, query, pilot, noise, runs, delta, confidence)


def _attack(
    mechanism: Mechanism,
    query: Statistics,
    pair: Pair,
    noise: NoiseSource,
    runs: int,
    delta: float,
    confidence: float,
) -> Audit:
    score = _score(mechanism, query, pair)
    draws = [score(mechanism.apply(noise, query, pair.dataset)) for _ in range(runs)]
    others = [score(mechanism.apply(noise, query, pair.neighbour)) for _ in range(runs)]
    return threshold_audit(draws, others, delta=delta, confidence=confidence)


def _score(mechanism: Mechanism, query: Statistics, pair: Pair) -> Score:
    """The log-likelihood ratio of the pair, up to what does not depend on the released value."""
    if isinstance(mechanism, NoisyStatistics):
        laws = mechanism.laws(query)

        def by_noise(value: Mapping[str, Any]) -> float:
            return sum(
                float(np.sum(laws[name].log_density(value[name] - pair.exact[name])))
                - float(np.sum(laws[name].log_density(value[name] - pair.other[name])))
                for name in query.names
            )

        return by_noise
    family, (table,) = query.family, query.statistics
    assert family is not None
    assert isinstance(table, Counts)
    full = replace(query, statistics=(replace(table, cell=None),))
    moved = pair.dataset.source.statistics(full)[table.name] - pair.neighbour.source.statistics(full)[table.name]

    def by_draws(value: Mapping[str, Any]) -> float:
        theta = np.asarray(value[family.parameter], dtype=float)
        if family.coordinate is not None:
            theta = np.column_stack([1 - theta, theta])
        return float((np.log(np.clip(theta, 1e-300, None)) @ moved).sum())

    return by_draws
