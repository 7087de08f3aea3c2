"""Noisy scores: sums of bounded-influence scores at points that the release itself chooses. Proof: noisy_score.md.

    psi = w (f(u·v) - y) u,   |psi| ≤ rho/2 for every v and y,   Σ psi + discrete Gaussian noise, T times

Before them, noisy totals and second moments of the features, which choose what u is. All of it together is rho-zCDP
(Theorem 1). What is released is a full posterior of the coefficients, for any public prior.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.accounting.conversions import zcdp_rho
from discreet.accounting.rounding import rational, root_up
from discreet.checks import check_label, is_integer, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import ZCDP, Basis, Budget, Guarantee
from discreet.mechanisms.base import (
    Argument,
    Calibration,
    Delta,
    Mechanism,
    Progress,
    Reading,
    Released,
    Score,
    check_workers,
)
from discreet.noise import DiscreteGaussian
from discreet.noise.sources import NoiseSource
from discreet.queries.losses.base import Loss
from discreet.queries.scores import first_map, walk
from discreet.queries.scores.score_law import ScoreFigures, ScoreLaw, score_law, score_move
from discreet.queries.scores.score_units import RELEASED
from discreet.sources import Dataset

__all__ = ["NoisyScore", "noise_of_scores"]

MOST_STEPS = 10**4
MOST_HEADROOM = 10.0
FARTHEST_POINT = 2.0**40  # of a released point; a rule stays far below

affordable_rho = lru_cache(maxsize=64)(zcdp_rho)  # a pure function of public facts; every run of an audit asks for it


def noise_of_scores(
    *,
    directions: Annotated[int, Argument("Numbers of a score: one, the numeric features, and all levels but one.", 1)],
    epsilon: Annotated[float | None, Argument("Requested epsilon.")] = None,
    delta: Delta = None,
    rho: Annotated[float | None, Argument("Requested zCDP.")] = None,
    steps: Annotated[int, Argument("Number of scores.", 1)] = 40,
    share: Annotated[float, Argument("Of the budget for scores.")] = 0.70,
    records: Annotated[int, Argument("Records of one person.", 1)] = 1,
) -> Calibration:
    """Noise of one score, in units of a sum of vectors no longer than sqrt(directions) / 2, under replace-one.

    Example:
      discreet calibrate noisy-score --directions 5 --epsilon 1 --delta 1e-6
    """
    for name, number in (("directions", directions), ("records", records)):
        if not is_integer(number) or number < 1:
            raise GuaranteeError(f"calibrate.{name} must be a whole number from 1, got {number!r}")
    level = NoisyScore(epsilon=epsilon, delta=delta, rho=rho, steps=steps).total
    part = rational(positive("calibrate.share", share))
    if part > 1:
        raise GuaranteeError(f"calibrate.share must be at most 1, got {share!r}")
    square = steps * score_move(directions, records * RELEASED) / (2 * part * rational(level))
    return Calibration("sigma", root_up(square) / RELEASED, ZCDP(level))


@dataclass(frozen=True)
class NoisyScore(Mechanism):
    """A regression by noisy bounded-influence scores.

    Parameters
    ----------
    epsilon, delta
        The budget: the largest zCDP within both is spent.
    rho
        zCDP, instead of them.
    steps
        Number of scores; each has the noise for its share.
    shares
        Of the budget for totals, second moments and scores; only proportions count. Where public numbers say that
        second moments would be all noise, or where there are no numbers, their share goes to the scores.
    headroom
        From 1, which is meant by None, to 10. Records whose features are longer than this many typical ones count less
        than others. Where the model is not exactly true, that moves the coefficients: 1 fits records near the centre
        best. With 3 nearly all count fully and coefficients are those of maximum likelihood, under three times the
        noise: for tables of many rows.
    label
        A different label asks for an independent second release, which is paid.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    steps: int = 40
    shares: tuple[float, float, float] = (0.08, 0.22, 0.70)
    label: str = ""
    headroom: float | None = None

    calibrate = staticmethod(noise_of_scores)
    answers: ClassVar[str] = "loss"
    attacked_by: ClassVar[str] = "scores"

    def __post_init__(self) -> None:
        given = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        if (self.epsilon is None) == (self.rho is None) or (self.epsilon is None) != (self.delta is None):
            raise GuaranteeError(f"NoisyScore must get epsilon and delta, or rho, got {given}")
        for name, limit in (("epsilon", math.inf), ("delta", 1.0), ("rho", math.inf)):
            if getattr(self, name) is not None:  # 1 and 1.0 are the same request
                object.__setattr__(self, name, positive(f"NoisyScore.{name}", getattr(self, name), below=limit))
        if not is_integer(self.steps) or not 1 <= self.steps <= MOST_STEPS:
            raise GuaranteeError(f"NoisyScore.steps must be a whole number from 1 to {MOST_STEPS}, got {self.steps!r}")
        if not isinstance(self.shares, tuple | list) or len(self.shares) != 3:
            raise GuaranteeError(f"NoisyScore.shares must be three numbers above 0, got {self.shares!r}")
        shares = tuple(positive("NoisyScore.shares", share) for share in self.shares)
        object.__setattr__(self, "shares", shares)
        if self.headroom is not None:
            object.__setattr__(self, "headroom", positive("NoisyScore.headroom", self.headroom))
            if not 1.0 <= self.headroom <= MOST_HEADROOM:
                raise GuaranteeError(f"NoisyScore.headroom must be from 1 to {MOST_HEADROOM:g}, got {self.headroom!r}")
            if self.headroom == 1.0:  # the same request as none
                object.__setattr__(self, "headroom", None)
        check_label("NoisyScore", self.label)

    @property
    def paid_by(self) -> str:
        """Rho, or epsilon at the delta that was given."""
        return "epsilon" if self.rho is None else "rho"

    @classmethod
    def within(cls, budget: Budget, query: Loss) -> tuple[Mechanism, ...]:
        """One, where the budget has a delta and the target a declared mean."""
        return () if budget.delta is None or query.score_link is None else (cls(budget.epsilon, budget.delta),)

    def constants(self, query: Loss) -> ScoreLaw:
        """Every public constant: sensitivities, shares and noise."""
        if query.asks != self.answers:
            raise QueryError("NoisyScore must have a model with a loss, got another")
        return _law(replace(self, label=""), query)

    def reported(self, query: Loss, parameters: dict[str, Any]) -> dict[str, Any]:
        """Levels against the average of their category: what scores of rows with a constant can tell."""
        return {name: query.features.from_averages(value) for name, value in parameters.items()}

    def law(self, query: Loss) -> ScoreFigures:
        """What a plan shows."""
        law, size = self.constants(query), max(query.largest_total, 1)
        terms = law.terms
        told = terms.clarity(size), terms.counts_only(size)
        return ScoreFigures(law.steps, law.directions + 1, 0.5 * terms.bound, terms.scores_sd, law.has_moments, *told)

    def guarantee(self, query: Loss) -> Guarantee:
        """ZCDP of all stages together, by Theorem 1."""
        law, schema = self.constants(query), query.schema
        self.laws(query)  # refuses noise that the samplers cannot draw before anything is reserved
        stages = ["totals"] * (not law.by_label) + ["second moments"] * (law.has_moments and not law.by_label)
        stages += [f"{law.steps} scores of {law.directions + 1} numbers, each record's shorter than their bound"]
        theorem = f"discrete Gaussian noise on {', '.join(stages)}, sums of whole numbers, Theorem 1 (noisy_score.md)"
        sampler = "OpenDP discrete Gaussian in exact arithmetic"
        return ZCDP(self.total, Basis(schema.relation, str(schema.unit), theorem, sampler))

    def laws(self, query: Loss) -> dict[str, DiscreteGaussian]:
        """The noise of each released statistic, in whole steps; those of public features have none."""
        return {name: DiscreteGaussian(sigma) for name, sigma in self.constants(query).sigmas.items()}

    def shapes(self, query: Loss) -> dict[str, tuple[int, ...]]:
        """Statistics of every stage, the points, and the scores at them."""
        return self.constants(query).shapes

    def holds(self, query: Loss, value: Mapping[str, Any]) -> bool:
        """Statistics are whole numbers; points lie on their grid."""
        points = np.asarray(value["points"], dtype=float)
        found = [np.asarray(value[name]) for name in self.constants(query).units]
        whole = [array.size == 0 or array.dtype.kind in "iuO" for array in found]
        return all(whole) and bool((np.abs(points) <= FARTHEST_POINT).all() and (_gridded(points) == points).all())

    def work(self, query: Loss) -> int:
        """The public number of passes over the rows."""
        return self.steps

    def check_source(self, query: Loss, dataset: Dataset) -> None:
        """Scores are computed where the rows are: what computes them must be there."""
        if not dataset.source.at_hand:
            check_workers("NoisyScore", dataset)

    def apply(self, noise: NoiseSource, query: Loss, dataset: Dataset, progress: Progress = None) -> Released:
        """Stage by stage: what is asked next depends on what has been released, and on nothing else."""
        law, laws = self.constants(query), self.laws(query)

        def noisy(exact: Mapping[str, Any]) -> Released:
            return {name: _noisy(noise, laws.get(name), np.asarray(exact[name], dtype=object)) for name in exact}

        with dataset.source.scores(query, law) as rows:
            released = noisy(rows.totals())
            totals = law.totals(released)
            if law.has_moments:
                asked = first_map(law.terms, totals)
                assert asked is not None
                released |= noisy(rows.moments(asked))
            path = walk(law.terms, totals, law.moments(released))
            score = rows.scores(path.map)
            points, scores = [], []
            for _ in range(self.steps):
                point = _gridded(path.point)
                found = noisy({"scores": score(point)})["scores"]
                path = path.after(found.astype(float) * law.units["scores"])
                points.append(point)
                scores.append(found)
                if progress is not None:
                    progress(1)
        return {**released, "points": np.array(points), "scores": np.array(scores, dtype=object)}

    def read(self, model: Any, query: Loss, value: Mapping[str, Any], reading: Reading) -> Any:
        """The posterior of the coefficients given totals, moments, points and scores; another prior is free."""
        if reading.kind != "noise-aware" or reading.pooling is not None:
            raise QueryError(f"Release.posterior of noisy scores must be noise-aware, got {reading.kind!r}")
        if reading.prior is not None:
            model = model.with_prior(reading.prior)
        return model.given_scores(query, self.constants(query), value, progress=reading.progress)

    def score(self, pair: Any) -> Score:
        """The log-likelihood ratio of the pair: each stage given what the earlier ones released."""
        law, laws = self.constants(pair.query), self.laws(pair.query)

        def score(values: Sequence[Mapping[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
            asked = [_asked(law, value) for value in values]
            tables = (pair.dataset.source, pair.neighbour.source)
            sides = [_log_densities(law, laws, pair.query, source, values, asked) for source in tables]
            return np.asarray(np.round(sides[0] - sides[1], 9))

        return score

    @property
    def total(self) -> float:
        """What is spent, as zCDP."""
        if self.rho is not None:
            return self.rho
        assert self.epsilon is not None
        assert self.delta is not None
        return float(affordable_rho(self.epsilon, self.delta))


@lru_cache(maxsize=64)  # a pure function of public facts
def _law(mechanism: NoisyScore, query: Loss) -> ScoreLaw:
    return score_law(query, mechanism.total, mechanism.steps, mechanism.shares, mechanism.headroom or 1.0)


def _gridded(point: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A point on the public grid; whatever a rule says, it is finite."""
    found = np.clip(np.nan_to_num(np.asarray(point, dtype=float)), -FARTHEST_POINT, FARTHEST_POINT)
    return np.asarray(np.rint(found * RELEASED) / RELEASED)


def _noisy(noise: NoiseSource, law: DiscreteGaussian | None, exact: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whole numbers plus noise, in Python integers; features that everybody knows need none."""
    if law is None:
        return exact
    draws = noise.integers(law, exact.size)
    noisy = [int(value) + draw for value, draw in zip(exact.ravel().tolist(), draws, strict=True)]
    return np.array(noisy, dtype=object).reshape(exact.shape)


def _asked(law: ScoreLaw, value: Mapping[str, Any]) -> tuple[Any, Any]:
    """The maps of stages 1 and 2 that a release has chosen."""
    totals = law.totals(value)
    return first_map(law.terms, totals), walk(law.terms, totals, law.moments(value)).map


def _log_densities(
    law: ScoreLaw,
    laws: Mapping[str, DiscreteGaussian],
    query: Loss,
    source: Any,
    values: Sequence[Mapping[str, Any]],
    asked: Sequence[tuple[Any, Any]],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Of released values on one table, up to what is the same for every table."""
    found = np.zeros(len(values))
    with source.scores(query, law) as rows:
        first = rows.totals()
        for i, (value, (of_moments, of_scores)) in enumerate(zip(values, asked, strict=True)):
            exact = first | (rows.moments(of_moments) if law.has_moments else {})
            score = rows.scores(of_scores)
            exact["scores"] = np.array([score(point) for point in np.asarray(value["points"], dtype=float)])
            for name in laws:
                apart = np.asarray(value[name], dtype=object) - np.asarray(exact[name], dtype=object)
                found[i] += laws[name].log_density(np.asarray(apart, dtype=float)).sum()
    return found
