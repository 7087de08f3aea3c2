"""`dc.audit`: attack a mechanism on the worst neighbours found and report what privacy loss is certain."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.change_of_a_unit import l1_length, squared_length
from discreet.auditing.loss_attack import attack_loss
from discreet.auditing.loss_bounds import Audit, threshold_audit
from discreet.auditing.neighbours import Pair, neighbouring_pairs, worst_pair
from discreet.errors import QueryError
from discreet.mechanisms import GibbsPosterior, Mechanism, NoisyStatistics
from discreet.models import Model
from discreet.noise import DiscreteLaplace
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.pipeline import query_of
from discreet.queries.families.base import (
    BoundedMean,
    Dirichlet,
    DirichletTables,
    ExponentialRate,
    HiddenMarkov,
    PoissonRate,
    SumFamily,
)
from discreet.queries.losses.base import Loss
from discreet.queries.statistics import Counts, Statistics
from discreet.schema import Person, Schema
from discreet.sources import Dataset, Source
from discreet.sources.dataset import IntegerArray
from discreet.sources.design import Design

__all__ = ["attack_pair", "audit"]

Values = Sequence[Mapping[str, Any]]
Score = Callable[[Values], NDArray[np.float64]]

HOARD = 10  # a person who owns this many times the rows that are used must not show more than others


@dataclass(frozen=True, eq=False)
class Remembered:
    """A source that is read once for each question, so that a run of an attack costs noise only."""

    source: Source
    _answers: list[tuple[Statistics, dict[str, IntegerArray]]] = field(default_factory=list, init=False, repr=False)

    def count(self) -> int:
        """The number of units."""
        return self.source.count()

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """The answers of the source itself."""
        for asked, answers in self._answers:
            if asked == query:  # mostly the same object, which is cheaper to see than a hash
                return answers
        self._answers.append((query, self.source.statistics(query)))
        return self._answers[-1][1]

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The rows of the source itself."""
        return self.source.design(query)


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

    For noisy statistics the pair is the one that their noise hides least; for draws, pilot runs pick it; for a loss,
    the one that moves coefficients furthest. The log-likelihood ratio of the two tables is the test statistic, the best
    there is, or for a loss its linear part. Without a seed the real noise
    source is used, so the audit tests what ships. The tables are made up: nothing private is involved.
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 100:
        raise QueryError(f"audit runs must be a whole number from 100, got {runs!r}")
    query = query_of(model, mechanism, schema)
    mechanism.guarantee(query)  # refuses what could not be released either
    noise: NoiseSource = SystemNoise() if seed is None else SeededNoise(seed)
    if isinstance(query, Loss):
        assert isinstance(mechanism, GibbsPosterior)  # query_of sees to it
        return attack_loss(mechanism, query, noise=noise, runs=runs, delta=delta, confidence=confidence)
    pairs = _suspects(query)

    def pilot(pair: Pair) -> float:
        if isinstance(mechanism, NoisyStatistics):
            return _expected_loss(mechanism, pair)
        few = max(runs // 20, 100)
        return attack_pair(mechanism, pair, noise=noise, runs=few, delta=delta, confidence=confidence).epsilon

    return attack_pair(mechanism, max(pairs, key=pilot), noise=noise, runs=runs, delta=delta, confidence=confidence)


def attack_pair(
    mechanism: Mechanism, pair: Pair, *, noise: NoiseSource, runs: int, delta: float = 0.0, confidence: float = 0.999
) -> Audit:
    """Release `runs` times on each table of the pair, as a release does it, and bound the loss that the values show."""
    score = _draw_score(pair) if not isinstance(mechanism, NoisyStatistics) else _noise_score(mechanism, pair)
    tables = [replace(table, source=Remembered(table.source)) for table in (pair.dataset, pair.neighbour)]
    draws, others = (score(_released(mechanism, pair.query, table, noise, runs)) for table in tables)
    return threshold_audit(draws, others, delta=delta, confidence=confidence)


def _released(
    mechanism: Mechanism, query: Statistics, dataset: Dataset, noise: NoiseSource, runs: int
) -> list[Mapping[str, Any]]:
    return [mechanism.apply(noise, query, dataset) for _ in range(runs)]


def _suspects(query: Statistics) -> list[Pair]:
    """The furthest of some corner and random pairs, and what the search finds in both norms."""
    pairs = sorted(neighbouring_pairs(query, limit=60), key=lambda pair: pair.moved, reverse=True)[:6]
    pairs += [worst_pair(query, measure) for measure in (l1_length, squared_length)]
    if isinstance(query.schema.unit, Person):
        pairs.append(worst_pair(query, owned=HOARD * query.schema.unit.max_records))
    return pairs


def _expected_loss(mechanism: NoisyStatistics, pair: Pair) -> float:
    """How far the pair is apart, measured in noise: distances over scales, or squares over variances."""
    loss = 0.0
    for name, law in mechanism.laws(pair.query).items():
        move = np.ravel(np.asarray(pair.exact[name] - pair.other[name], dtype=float))
        loss += l1_length(move / law.scale) if isinstance(law, DiscreteLaplace) else squared_length(move / law.sigma)
    return loss


def _noise_score(mechanism: NoisyStatistics, pair: Pair) -> Score:
    """The log-likelihood ratio of the pair by the exact laws of the noise; sums are Python integers of any size."""
    laws = mechanism.laws(pair.query)

    def score(values: Values) -> NDArray[np.float64]:
        ratios = np.zeros(len(values))
        for name, law in laws.items():
            released = np.array([np.ravel(value[name]) for value in values], dtype=object)
            here, there = (released - np.ravel(np.asarray(side[name])) for side in (pair.exact, pair.other))
            ratios += (law.log_density(here) - law.log_density(there)).sum(axis=1)
        return np.round(ratios, 9)  # equal ratios stay equal, whatever the order of the sums

    return score


def _draw_score(pair: Pair) -> Score:
    """The log-likelihood ratio of the pair for draws of a parameter, up to constants and a positive factor."""
    family = pair.query.family
    assert family is not None
    if isinstance(family, HiddenMarkov):
        raise QueryError("audit must have noisy statistics, or draws of parameters, got a chain of hidden states")
    if isinstance(family, DirichletTables):
        return _table_score(pair, family)
    if not isinstance(family, Dirichlet):
        return _sum_score(pair, family)
    (table,) = pair.query.statistics
    assert isinstance(table, Counts)
    full = replace(pair.query, statistics=(replace(table, cell=None),))
    here, there = (side.source.statistics(full)[table.name] for side in (pair.dataset, pair.neighbour))

    def score(values: Values) -> NDArray[np.float64]:
        theta = np.array([value[family.parameter] for value in values], dtype=float)
        if family.coordinate is not None:
            theta = np.stack([1 - theta, theta], axis=-1)
        return np.asarray((np.log(np.clip(theta, 1e-300, None)) @ (here - there)).sum(axis=1))

    return score


def _table_score(pair: Pair, family: DirichletTables) -> Score:
    """The same for several tables of probabilities: their log-ratios add."""
    moves = {
        table.parameter: np.ravel(
            np.asarray(pair.exact[table.statistic] - pair.other[table.statistic]).reshape(*table.shape, -1).sum(axis=-1)
        )
        for table in family.tables
    }

    def score(values: Values) -> NDArray[np.float64]:
        ratios = np.zeros(len(values))
        for name, move in moves.items():
            theta = np.array([np.asarray(value[name], dtype=float) for value in values])
            cells = theta.reshape(len(values), -1, move.size)  # draws of one release are independent
            ratios += (np.log(np.clip(cells, 1e-300, None)) @ move).sum(axis=1)
        return np.asarray(ratios)

    return score


def _sum_score(pair: Pair, family: SumFamily) -> Score:
    """The same for a parameter that follows one sum: the ratio is monotone in the family's natural statistic."""
    (name,) = pair.query.names
    sign = float(np.sign(int(pair.exact[name]) - int(pair.other[name])))
    low, high = family.axis.ends

    def score(values: Values) -> NDArray[np.float64]:
        theta = np.array([value[family.parameter] for value in values], dtype=float)
        if isinstance(family, PoissonRate):
            theta = np.log(np.maximum(theta, 1e-300))
        elif isinstance(family, BoundedMean):
            theta = np.log(np.maximum(theta - low, 1e-300)) - np.log(np.maximum(high - theta, 1e-300))
        elif isinstance(family, ExponentialRate):
            theta = -theta
        return np.asarray(sign * theta.sum(axis=1))

    return score
