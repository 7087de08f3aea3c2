"""`dc.audit`: attack a mechanism on the worst neighbours found and report what privacy loss is certain."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.auditing.change_of_a_unit import l1_length, squared_length
from discreet.auditing.loss_attack import furthest_pair
from discreet.auditing.loss_bounds import Audit, threshold_audit
from discreet.auditing.neighbours import Pair, neighbouring_pairs, worst_pair
from discreet.auditing.score_attack import score_pairs
from discreet.errors import QueryError
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.pipeline import query_of
from discreet.queries.influence import Influences
from discreet.queries.losses import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema import Person, Schema
from discreet.sources import Source
from discreet.sources.dataset import Design, IntegerArray, RowSums
from discreet.sources.scores.score_sources import ScoreSource

__all__ = ["attack_pair", "audit", "suspected_pairs"]

HOARD = 10  # a person who owns this many times the rows that are used must not show more than others


@dataclass(frozen=True, eq=False)
class Remembered:
    """A source that is read once for each question, so that a run of an attack costs noise only."""

    source: Source
    _answers: list[tuple[Statistics, dict[str, IntegerArray]]] = field(default_factory=list, init=False, repr=False)

    @property
    def at_hand(self) -> bool:
        """Whether rows may come into this process."""
        return self.source.at_hand

    @property
    def has_places(self) -> bool:
        """Whether the place of a row is its own."""
        return self.source.has_places

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

    def influences(self, query: Influences) -> IntegerArray:
        """The sums of the source itself: every run asks another question."""
        return self.source.influences(query)

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The rows of the source itself."""
        return self.source.design(query)

    def can_sum(self) -> bool:
        """Whether the next two can be asked."""
        return self.source.can_sum()

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """The sums of the source itself."""
        return self.source.scores(query, law)

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """The same of what a function finds in the rows."""
        return self.source.sums(query)


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
    how: dict[str, Any] = {"noise": noise, "delta": delta, "confidence": confidence}

    def told_apart(pair: Any) -> float:
        known = mechanism.apart(pair)
        few = max(runs // 20, 100)
        return attack_pair(mechanism, pair, runs=few, **how).epsilon if known is None else known

    pairs = suspected_pairs(mechanism, query)
    worst = pairs[0] if len(pairs) == 1 else max(pairs, key=told_apart)
    return attack_pair(mechanism, worst, runs=runs, **how)


def suspected_pairs(mechanism: Mechanism, query: Any) -> list[Any]:
    """The pairs of neighbours that may tell most, by the search that suits what is asked, or what answers."""
    return SEARCHES[mechanism.attacked_by or query.asks](mechanism, query)


def attack_pair(
    mechanism: Mechanism, pair: Any, *, noise: NoiseSource, runs: int, delta: float = 0.0, confidence: float = 0.999
) -> Audit:
    """Release `runs` times on each table of the pair, as a release does it, and bound the loss that the values show."""
    score = mechanism.score(pair)
    tables = [replace(table, source=Remembered(table.source)) for table in (pair.dataset, pair.neighbour)]
    draws, others = (score(mechanism.repeated(noise, pair.query, table, runs)) for table in tables)
    return threshold_audit(draws, others, delta=delta, confidence=confidence)


def _suspects(mechanism: Mechanism, query: Statistics) -> list[Pair]:  # noqa: ARG001 - the signature of all searches
    """The furthest of some corner and random pairs, and what the search finds in both norms."""
    pairs = sorted(neighbouring_pairs(query, limit=60), key=lambda pair: pair.moved, reverse=True)[:6]
    pairs += [worst_pair(query, measure) for measure in (l1_length, squared_length)]
    if isinstance(query.schema.unit, Person):
        pairs.append(worst_pair(query, owned=HOARD * query.schema.unit.max_records))
    return pairs


def _furthest(mechanism: Mechanism, query: Loss) -> list[Any]:
    return [furthest_pair(mechanism, query)]


# how neighbours are looked for, by what a query asks or a mechanism is attacked by
SEARCHES: dict[str, Callable[[Any, Any], list[Any]]] = {
    "statistics": _suspects,
    "loss": _furthest,
    "scores": score_pairs,
}
