"""Noisy statistics: exact integer sums plus integer noise. Proof: noisy_statistics.md.

    y = s(X) + noise,   discrete Laplace of scale L1 / epsilon: epsilon-DP       (Theorem 1)
                        discrete Gaussian, sigma² = L2² / (2 rho): rho-zCDP      (Theorem 2)

A robust model asks again, of functions that y chooses: 95% of the budget for y, 5% for the second answer (Theorem 3).

What is released is a full posterior: any number of draws, any public prior, no further cost.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from discreet.accounting.conversions import zcdp_rho
from discreet.accounting.rounding import rational, root_up, round_up
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import ZCDP, Basis, Budget, Guarantee, PureDP
from discreet.mechanisms.base import Argument, Calibration, Delta, Mechanism, Progress, Reading, Released, Score
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.noise.sources import NoiseSource
from discreet.queries.counts_and_sums import RowMove
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["NoisyStatistics", "noise_scale"]

PROOF = "in units of the statistics (noisy_statistics.md"

affordable_rho = lru_cache(maxsize=64)(zcdp_rho)  # a pure function of public facts; every run of an audit asks for it


def noise_scale(
    *,
    l1: Annotated[float | None, Argument("L1 sensitivity, for discrete Laplace noise.")] = None,
    l2: Annotated[float | None, Argument("L2 sensitivity, for discrete Gaussian noise.")] = None,
    epsilon: Annotated[float | None, Argument("Requested epsilon.")] = None,
    delta: Delta = None,
    rho: Annotated[float | None, Argument("Requested zCDP.")] = None,
) -> Calibration:
    """Scale of the noise.

    Example:
      discreet calibrate noisy-statistics --l1 2 --epsilon 0.5
      discreet calibrate noisy-statistics --l2 1.4142135623730951 --epsilon 1 --delta 1e-6
    """
    if l1 is not None and l2 is None and epsilon is not None and delta is None and rho is None:
        scale = rational(positive("calibrate.l1", l1)) / rational(positive("calibrate.epsilon", epsilon))
        return Calibration("scale", round_up(scale), PureDP(epsilon))
    if l2 is None or l1 is not None or (rho is None) == (epsilon is None) or (epsilon is None) != (delta is None):
        raise GuaranteeError("calibrate must get l1 and epsilon, or l2 with rho or with epsilon and delta, got others")
    level = rho if rho is not None else _zcdp(epsilon, delta)
    squared = rational(positive("calibrate.l2", l2)) ** 2 / (2 * rational(positive("calibrate.rho", level)))
    return Calibration("sigma", root_up(squared), ZCDP(level))


@dataclass(frozen=True)
class NoisyStatistics(Mechanism):
    """Statistics with integer noise.

    Parameters
    ----------
    epsilon
        Alone: pure DP by discrete Laplace noise. With `delta`: discrete Gaussian noise at the largest zCDP within both.
    rho
        zCDP by discrete Gaussian noise, instead of epsilon.
    delta
        Only with epsilon.
    split
        Share of the budget for each statistic of the model, by name; only proportions count. Without it one joint noise
        scale serves all statistics. A robust model's second stage has its 5% in any case.
    label
        A different label asks for an independent second release, which is paid.
    """

    calibrate = staticmethod(noise_scale)

    epsilon: float | None = None
    rho: float | None = None
    delta: float | None = None
    split: Mapping[str, float] | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta is not None):
            named = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
            given = {name: value for name, value in named.items() if value is not None}
            raise GuaranteeError(
                "NoisyStatistics must get epsilon, epsilon and delta, or rho, got "
                + (f"{given}" if given else "none of them: write one, as in epsilon = 0.1")
            )
        for name, limit in (("epsilon", math.inf), ("rho", math.inf), ("delta", 1.0)):
            if getattr(self, name) is not None:  # 1 and 1.0 are the same request
                object.__setattr__(self, name, positive(f"NoisyStatistics.{name}", getattr(self, name), below=limit))
        if self.split is not None:
            shares = {name: positive(f"NoisyStatistics.split[{name!r}]", share) for name, share in self.split.items()}
            object.__setattr__(self, "split", shares)
        check_label("NoisyStatistics", self.label)

    def __hash__(self) -> int:
        return hash((self.epsilon, self.rho, self.delta, tuple((self.split or {}).items()), self.label))

    @property
    def paid_by(self) -> str:
        """Rho, or epsilon at the delta that was given."""
        return "epsilon" if self.rho is None else "rho"

    def guarantee(self, query: Statistics) -> Guarantee:
        """PureDP(epsilon) by Theorem 1, or ZCDP(rho) by Theorem 2; neither a split nor a second stage adds to it."""
        self.laws(query)  # refuses a split or a scale that does not fit before anything is reserved
        schema = query.schema
        if self._rho() is None:
            assert self.epsilon is not None
            theorem = f"discrete Laplace noise, integers of L1 sensitivity {query.l1} {PROOF}, Theorem 1)"
            theorem += _second_words(query, "epsilon", "L1 sensitivity")
            sampler = "OpenDP discrete Laplace in exact arithmetic"
            return PureDP(self.epsilon, Basis(schema.relation, str(schema.unit), theorem, sampler))
        rho = self._rho()
        assert rho is not None
        squared = query.squared_l2
        theorem = f"discrete Gaussian noise, squared L2 sensitivity {squared} {PROOF}, Theorem 2)"
        theorem += _second_words(query, "rho", "squared L2 sensitivity")
        sampler = "OpenDP discrete Gaussian in exact arithmetic"
        return ZCDP(rho, Basis(schema.relation, str(schema.unit), theorem, sampler))

    def laws(self, query: Statistics) -> Mapping[str, DiscreteLaplace | DiscreteGaussian]:
        """The noise of each statistic: public, and all that a noise-aware posterior needs to know."""
        if query.asks != self.answers:
            raise QueryError("NoisyStatistics must have a model of statistics, got a convex loss")
        rho, second = self._rho(), query.second
        first = Fraction(1) if second is None else 1 - second.share  # of the budget
        if rho is None:
            assert self.epsilon is not None
            ratios = self._ratios(query, query.l1, query.unit_l1)
            budget = rational(self.epsilon)
            scales = {s.name: s.unit * ratios[s.name] / (first * budget) for s in query.statistics}
            if second is not None:
                scales[second.name] = second.unit * second.sensitivity(query) / (second.share * budget)
            return {name: DiscreteLaplace(round_up(scale)) for name, scale in scales.items()}
        ratios = self._ratios(query, query.squared_l2, query.unit_squared)
        budget = 2 * rational(rho)
        squares = {s.name: s.unit**2 * ratios[s.name] / (first * budget) for s in query.statistics}
        if second is not None:
            squares[second.name] = second.unit**2 * second.sensitivity(query) / (second.share * budget)
        return {name: DiscreteGaussian(root_up(square)) for name, square in squares.items()}

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """The declared shape of every statistic, and of what a second stage adds."""
        later = {} if query.second is None else {query.second.name: query.second.shape(query)}
        return {statistic.name: statistic.shape for statistic in query.statistics} | later

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact sums once and add the noise in Python integers, which neither wrap nor saturate.

        A second stage reads the rows again, and knows of the first only what is released of it.
        """
        exact = dataset.source.statistics(query)
        laws = self.laws(query)
        released = {}
        for statistic in query.statistics:
            kind = object if statistic.axes else np.int64  # sums of products outgrow 64 bits
            noisy = _noisy(noise, laws[statistic.name], np.asarray(exact[statistic.name]))
            released[statistic.name] = np.array(noisy, dtype=kind).reshape(statistic.shape)
        if query.second is not None:
            asked = query.second.query(query, released, laws)
            noisy = _noisy(noise, laws[query.second.name], dataset.source.influences(asked))
            released[query.second.name] = np.array(noisy, dtype=object).reshape(asked.shape)
        return released

    def holds(self, query: Statistics, value: Mapping[str, Any]) -> bool:
        """Sums and their noise are whole numbers."""
        return all(np.asarray(array).dtype.kind in "iuO" for array in value.values())

    def read(self, model: Any, query: Statistics, value: Mapping[str, Any], reading: Reading) -> Any:
        """The posterior given the noise, for the model's prior or another: nothing was drawn from it."""
        laws = self.laws(query)  # of what was asked, whatever is read of it
        if reading.prior is not None:
            model = model.with_prior(reading.prior)
            query = model.query(query.schema)
        how = {"kind": reading.kind, "pooling": reading.pooling, "progress": reading.progress}
        return model.given_statistics(query, value, laws, **how)

    @classmethod
    def within(cls, budget: Budget, query: Statistics) -> tuple[Mechanism, ...]:
        """Laplace noise, and with a delta Gaussian noise."""
        laplace = cls(epsilon=budget.epsilon)
        return (laplace, cls(epsilon=budget.epsilon, delta=budget.delta)) if budget.delta else (laplace,)

    def score(self, pair: Any) -> Score:
        """The log-likelihood ratio of the pair by the exact laws of the noise; sums are Python integers of any size."""
        laws = self.laws(pair.query)

        def score(values: Sequence[Mapping[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
            ratios = np.zeros(len(values))
            for name in pair.query.names:
                released = np.array([np.ravel(value[name]) for value in values], dtype=object)
                here, there = (released - np.ravel(np.asarray(side[name])) for side in (pair.exact, pair.other))
                ratios += (laws[name].log_density(here) - laws[name].log_density(there)).sum(axis=1)
            if pair.query.second is not None:
                ratios += [_second_ratio(pair, value, laws) for value in values]
            return np.round(ratios, 9)  # equal ratios stay equal, whatever the order of the sums

        return score

    def apart(self, pair: Any) -> float:
        """Measured in noise: distances over scales, or squares over variances."""
        laws, second = self.laws(pair.query), pair.query.second
        moves = {name: np.asarray(pair.exact[name] - pair.other[name], dtype=float) for name in pair.query.names}
        if second is not None:  # as it would be asked if the first stage had no noise
            here, there = _second_sums(pair, pair.exact, laws)
            moves[second.name] = np.asarray(here - there, dtype=float)
        return sum(laws[name].loss(np.ravel(move)) for name, move in moves.items())

    def _rho(self) -> float | None:
        if self.epsilon is not None and self.delta is not None:
            return affordable_rho(self.epsilon, self.delta)
        return self.rho

    def _ratios(self, query: Statistics, joint: Fraction, unit: Callable[[RowMove], Fraction]) -> dict[str, Fraction]:
        """Sensitivity over budget share: the joint one for all statistics, or each its own over its declared share."""
        if self.split is None:
            return dict.fromkeys(query.names, joint)
        if set(self.split) != set(query.names):
            raise GuaranteeError(
                f"NoisyStatistics.split must name exactly {sorted(query.names)}, got {sorted(self.split)}"
            )
        shares = {name: rational(share) for name, share in self.split.items()}
        whole = sum(shares.values())
        return {s.name: unit(s.move) * whole / shares[s.name] for s in query.statistics}


def _noisy(noise: NoiseSource, law: DiscreteLaplace | DiscreteGaussian, exact: np.ndarray[Any, Any]) -> list[int]:
    """Every exact sum plus its own noise."""
    draws = noise.integers(law, exact.size)
    return [int(value) + draw for value, draw in zip(exact.ravel().tolist(), draws, strict=True)]


def _second_sums(pair: Any, value: Mapping[str, Any], laws: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
    """The exact sums of both tables of a pair in the second stage, after the first has released `value`."""
    asked = pair.query.second.query(pair.query, value, laws)
    return [np.ravel(table.source.influences(asked)).astype(object) for table in (pair.dataset, pair.neighbour)]


def _second_ratio(pair: Any, value: Mapping[str, Any], laws: Mapping[str, Any]) -> float:
    """The log-likelihood ratio of the second stage, given the first."""
    name = pair.query.second.name
    released = np.ravel(np.asarray(value[name], dtype=object))
    here, there = (float(laws[name].log_density(released - sums).sum()) for sums in _second_sums(pair, value, laws))
    return here - there


def _second_words(query: Statistics, budget: str, distance: str) -> str:
    """What a privacy officer must know of a second stage."""
    if query.second is None:
        return ""
    share = f"{float(query.second.share):.0%} of {budget}"
    numbers = f"sums of numbers in [0, 1] of each unit, {distance} {query.second.sensitivity(query)}"
    return f" with all but {share}; then {share} for {numbers}, of functions that the first release chooses (Theorem 3)"


def _zcdp(epsilon: float | None, delta: float | None) -> float:
    return zcdp_rho(positive("calibrate.epsilon", epsilon), positive("calibrate.delta", delta, below=1.0))
