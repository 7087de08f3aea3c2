"""Private Metropolis chains: a public random walk whose every acceptance, by Barker's rule, is paid.

    accept theta' with probability 1/(1 + e^-l),   l = (u_X(theta') - u_X(theta))/T + log prior ratio

T = max(1, R / epsilon), R the range of log p(x|theta) - log p(x'|theta) over the declared space.
The logit l moves by at most R/T, so that each step is bounded-range. Proof: private_metropolis.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.accounting.bounded_losses import ROUND_UP
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Basis, BoundedRange, Guarantee, Repeated
from discreet.mechanisms.base import (
    Drawing,
    Progress,
    Released,
    check_grid,
    check_records,
    checked_interval,
    public_grid,
)
from discreet.mechanisms.draws.declared_space import DeclaredSpace
from discreet.mechanisms.draws.exact_grid import grid_ends
from discreet.mechanisms.private_metropolis.barker_walk import barker_walk
from discreet.noise.sources import NoiseSource
from discreet.queries.families import OneConjugate
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["PrivateMetropolis"]


@dataclass(frozen=True)
class PrivateMetropolis(Drawing):
    """All states of a Metropolis chain with Barker's acceptance, for a model of one parameter.

    Parameters
    ----------
    epsilon_per_step
        Cost of *each* step.
    steps
        Number of steps from the middle of the declared space; the states after all of them are released and paid.
    truncation
        The declared space of a probability: it and its complement are at least this.
    interval
        The declared space (lo, hi) of a mean or a rate.
    scale
        Standard deviation of a proposed step, as a share of the declared space.
    grid
        States are multiples of this public power of two; by default, and at least, 2^-24 of the deviation of a step and
        2^-32 of the largest state.
    label
        A different label asks for an independent second release, which is paid.
    """

    epsilon_per_step: float
    steps: int
    truncation: float | None = None
    interval: tuple[float, float] | None = None
    scale: float = 0.25
    grid: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        settled = {
            "epsilon_per_step": positive("PrivateMetropolis.epsilon_per_step", self.epsilon_per_step),
            "scale": positive("PrivateMetropolis.scale", self.scale, below=10.0),
            "interval": checked_interval("PrivateMetropolis", self.interval),
            "grid": check_grid("PrivateMetropolis", self.grid),
        }
        if self.truncation is not None:
            settled["truncation"] = positive("PrivateMetropolis.truncation", self.truncation, below=0.5)
        for name, value in settled.items():  # 1 and 1.0 are the same request
            object.__setattr__(self, name, value)
        if not isinstance(self.steps, int) or isinstance(self.steps, bool) or not 1 <= self.steps <= 10**7:
            raise GuaranteeError(f"PrivateMetropolis.steps must be a whole number from 1 to 10^7, got {self.steps!r}")
        check_label("PrivateMetropolis", self.label)

    @property
    def paid_by(self) -> str:
        """The cost of a step."""
        return "epsilon_per_step"

    def temperature(self, query: Statistics) -> float:
        """T = max(1, R / epsilon_per_step), rounded up: a hotter chain is the more private one."""
        return max(1.0, self._space.log_range(self._family(query)) / self.epsilon_per_step * ROUND_UP)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        heat = self.temperature(query)
        return f"{self.steps} steps of a Metropolis chain with the likelihood at temperature {heat:.4g}"

    def guarantee(self, query: Statistics) -> Guarantee:
        """Every step is BoundedRange(epsilon_per_step), or the smaller R if nothing is tempered."""
        schema, family = query.schema, self._family(query)
        spread = self._space.log_range(family) * ROUND_UP
        if not 0.0 < spread < math.inf:
            raise QueryError(f"PrivateMetropolis.interval must bound the likelihood in doubles, got {self.interval!r}")
        grid, (first, last) = self._grid(query), self._ends(query)
        theorem = (
            f"Barker's acceptance of public proposals on {self._space.words(family)}, every step of the chain composed "
            "(private_metropolis.md, Theorem 1)"
        )
        sampler = (
            f"a walk on the {last - first + 1} multiples of {grid:g} in the declared space, from a ChaCha20 generator "
            "keyed by the operating system, in double precision (the residual rounding error is not charged)"
        )
        basis = Basis(schema.relation, str(schema.unit), theorem, sampler)
        return Repeated(BoundedRange(min(self.epsilon_per_step, spread), basis), self.steps)

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """One state after each step."""
        return {self._family(query).parameter: (self.steps,)}

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact statistic once and walk."""
        family = self._family(query)
        exact, n = family.statistic(dataset.source.statistics(query.whole), query.largest_total)
        first, second = family.update(family.exponents, 1.0 / self.temperature(query), exact, n)
        law, ends, grid = (float(first), float(second)), self._ends(query), self._grid(query)
        least = self._space.of(family)[0]
        states = barker_walk(family, law, ends, grid, self.scale, self.steps, least, noise.stream())
        return {family.parameter: states}

    @property
    def _space(self) -> DeclaredSpace:
        return DeclaredSpace("PrivateMetropolis", self.truncation, self.interval)

    def _bounds(self, query: Statistics) -> tuple[Fraction, Fraction]:
        family = self._family(query)
        self._space.check(family)
        return self._space.released(family)

    def _ends(self, query: Statistics) -> tuple[int, int]:
        """The first and the last multiple of the grid in the declared space."""
        return grid_ends(*self._bounds(query), self._grid(query))

    def _grid(self, query: Statistics) -> float:
        """The public grid: as asked, or what suits the noise of a step; all states have the same step."""
        low, high = self._bounds(query)
        largest, width = max(abs(low), abs(high)), high - low
        noise = max(self.scale * float(width), float(largest) / 2**8)
        return public_grid("PrivateMetropolis", self.grid, noise, width)

    def _family(self, query: Statistics) -> OneConjugate:
        """The family of the query, if it has one real parameter and this relation."""
        family = query.family
        check_records("PrivateMetropolis", query)
        if family is None or not family.is_conjugate:
            kinds = "one probability, or a mean or rate of a public number of rows"
            raise QueryError(f"PrivateMetropolis must have a model of {kinds}, got another query")
        if not family.law:
            raise QueryError("PrivateMetropolis must have a model of one parameter, got several probabilities")
        return cast(OneConjugate, family)
