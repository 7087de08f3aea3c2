"""Private annealed importance sampling: particles go from the prior to a tempered posterior, and all is released.

    log w = Σ_j (1/T_j - 1/T_{j-1}) u_X(state before the sweep of level j),   T_j = max(1, 2C / epsilon_j),   1/T_0 = 0

Every level is a Gibbs sweep of two paid updates for every particle; weights are shown by paid resampling or with paid
noise, never as they are  [Foulds et al. 2016, supplement; Neal 2001]. Proof: private_annealing.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from discreet.accounting.bounded_losses import LARGEST_TRUNCATION, ROUND_UP, weight_sensitivity
from discreet.accounting.rounding import rational, round_up
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Basis, BoundedRange, Composed, Guarantee, PureDP, Repeated
from discreet.mechanisms.base import (
    RATIO_ERROR,
    Progress,
    Released,
    check_draws,
    check_grid,
    rounding_words,
)
from discreet.mechanisms.private_gibbs.paid_sweeps import ProfileSpace, annealed, log_weight, stacked_counts
from discreet.mechanisms.private_gibbs.private_gibbs import HIDDEN, SAMPLER, PaidChain, profile_space
from discreet.noise import DiscreteLaplace
from discreet.noise.sources import NoiseSource
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["PrivateAnnealing"]

Weights = Literal["resample", "noisy"]

WEIGHT_GRID = 2.0**-32
RELEASED = {"resample": "index", "noisy": "weight"}


@dataclass(frozen=True)
class PrivateAnnealing(PaidChain):
    """All states of annealed particles of a hidden Markov model, and what may be known of their weights.

    Parameters
    ----------
    epsilons
        The path from the prior: increasing levels, each the cost of one update; a particle has two updates a level.
    particles
        Number of independent particles; each of them is paid.
    weights
        "resample" draws indices of particles in proportion to their weights, each at the last level's cost; "noisy"
        releases the normalised weights with discrete Laplace noise.
    weight_epsilon
        Cost of noisy weights.
    draws
        Number of indices that are drawn.
    truncation
        The declared space of profiles: no probability is below this share of an even one, truncation / levels.
    grid
        Released profiles are multiples of this public power of two; by default, and at least, 2^-32.
    label
        A different label asks for an independent second release, which is paid.
    """

    epsilons: tuple[float, ...]
    particles: int
    weights: Weights = "resample"
    weight_epsilon: float | None = None
    draws: int = 1
    truncation: float = 0.1
    grid: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilons", _checked_path(self.epsilons))
        object.__setattr__(
            self, "truncation", positive("PrivateAnnealing.truncation", self.truncation, below=LARGEST_TRUNCATION)
        )
        object.__setattr__(self, "grid", check_grid("PrivateAnnealing", self.grid))
        count = self.particles
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 10**6:
            raise GuaranteeError(f"PrivateAnnealing.particles must be a whole number from 1 to 10^6, got {count!r}")
        if self.weights not in get_args(Weights):
            raise GuaranteeError(f"PrivateAnnealing.weights must be one of {get_args(Weights)}, got {self.weights!r}")
        check_draws("PrivateAnnealing", self.draws)
        if self.weights == "noisy":
            cost = positive("PrivateAnnealing.weight_epsilon", self.weight_epsilon)
            object.__setattr__(self, "weight_epsilon", cost)
            if self.draws != 1:
                raise GuaranteeError(f"PrivateAnnealing.draws must be left out for noisy weights, got {self.draws!r}")
        elif self.weight_epsilon is not None:
            got = self.weight_epsilon
            raise GuaranteeError(f"PrivateAnnealing.weight_epsilon must be left out for resampling, got {got!r}")
        check_label("PrivateAnnealing", self.label)

    @property
    def paid_by(self) -> str:
        """A path of costs is no single number."""
        return ""

    def temperatures(self, query: Statistics) -> tuple[float, ...]:
        """T_j = max(1, 2C / epsilon_j) of every level, rounded up."""
        spread = self._space(query).log_range
        return tuple(max(1.0, spread / epsilon * ROUND_UP) for epsilon in self.epsilons)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        heat = self.temperatures(query)[-1]
        return f"{self.particles} particles annealed from the prior to the likelihood at temperature {heat:.4g}"

    def guarantee(self, query: Statistics) -> Guarantee:
        """Two updates for every particle at every level, and the weights."""
        schema, levels = query.schema, self._levels(query)
        theorem = (
            f"tempered Gibbs updates, profiles ≥ {self.truncation:g} of even ones, all states of {self.particles} "
            "particles composed (private_annealing.md, Theorem 1)"
        )
        sampler = SAMPLER.format(rounding=rounding_words(self._space(query).grid, RATIO_ERROR))
        basis = Basis(schema.relation, str(schema.unit), theorem, sampler)
        parts: list[Guarantee] = [Repeated(BoundedRange(level, basis), 2 * self.particles) for level in levels]
        return Composed((*parts, self._weight_cost(levels[-1], basis)))

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """By particle and level, the start first: hidden states and profiles; then indices or weights."""
        family, kept = self._space(query).family, (self.particles, len(self.epsilons) + 1)
        return {
            HIDDEN: (*kept, family.regions, family.times),
            **{field: (*kept, family.states, levels) for field, levels in family.fields},
            RELEASED[self.weights]: (self.draws if self.weights == "resample" else self.particles,),
        }

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact counts once, anneal every particle from the prior, and show the weights as they are paid."""
        space, stream, temperatures = self._space(query), noise.stream(), self.temperatures(query)
        exact = stacked_counts(space.family, dataset.source.statistics(query))
        paths = [annealed(space, exact, temperatures, stream) for _ in range(self.particles)]
        hidden, profiles = np.stack([path.hidden for path in paths]), np.stack([path.profiles for path in paths])
        logs = np.array([log_weight(exact, path, temperatures) for path in paths])
        weights = np.exp(logs - logs.max())
        shares = weights / weights.sum()
        shown: np.ndarray[Any, Any]
        if self.weights == "resample":
            shown = stream.choice(self.particles, size=self.draws, p=shares)
        else:
            noisy = noise.integers(self._noise(self._levels(query)[-1]), self.particles)
            steps = [round(share / WEIGHT_GRID) + more for share, more in zip(shares.tolist(), noisy, strict=True)]
            shown = np.array(steps, dtype=float) * WEIGHT_GRID
        return {HIDDEN: hidden, **space.by_field(profiles), RELEASED[self.weights]: shown}

    def holds(self, query: Statistics, value: Mapping[str, Any]) -> bool:
        """Whether states and profiles are such, and indices are of particles."""
        chosen = np.asarray(value.get("index", 0))
        known = np.all((chosen == np.floor(chosen)) & (chosen >= 0) & (chosen < self.particles))
        return bool(known) and self._space(query).holds(value[HIDDEN], value)

    def kept(self, value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Last states of particles: those that were drawn, or as many as there are, by weights above zero."""
        last = {name: array[:, -1] for name, array in value.items() if name != RELEASED[self.weights]}
        shown = value[RELEASED[self.weights]]
        if self.weights == "resample":
            chosen = np.asarray(shown, dtype=np.int64)
        else:
            shares = np.maximum(shown, 0.0)
            steps = (
                np.cumsum(shares) / shares.sum() if shares.sum() > 0 else np.arange(1, 1 + len(shares)) / len(shares)
            )
            chosen = np.searchsorted(steps, (np.arange(len(shares)) + 0.5) / len(shares))
        drawn = {name: array[chosen] for name, array in last.items()}
        return drawn.pop(HIDDEN), drawn

    def _levels(self, query: Statistics) -> list[float]:
        """What one update costs at each level: as asked, or the smaller 2C where nothing is tempered."""
        most = self._space(query).log_range * ROUND_UP
        return [min(epsilon, most) for epsilon in self.epsilons]

    def _weight_cost(self, last: float, basis: Basis) -> Guarantee:
        """What is shown of the weights, given all states: indices of bounded range, or noise that hides the rest."""
        if self.weights == "resample":
            one = BoundedRange(last, basis)
            return one if self.draws == 1 else Repeated(one, self.draws)
        assert self.weight_epsilon is not None
        self._noise(last)  # refuses a scale that cannot be drawn before anything is reserved
        theorem = f"discrete Laplace noise on weights of L1 sensitivity {weight_sensitivity(0.0, last):g}"
        sampler = f"OpenDP discrete Laplace on multiples of {WEIGHT_GRID:g}"
        proof = f"{theorem} (private_annealing.md, Theorem 1)"
        return PureDP(self.weight_epsilon, Basis(basis.relation, basis.unit, proof, sampler))

    def _noise(self, last: float) -> DiscreteLaplace:
        """Sensitivity in steps of the grid, of which rounding adds one for each particle, over the cost."""
        assert self.weight_epsilon is not None
        steps = math.ceil(Fraction(weight_sensitivity(0.0, last)) / Fraction(WEIGHT_GRID)) + self.particles
        return DiscreteLaplace(round_up(steps / rational(self.weight_epsilon)))

    def _space(self, query: Statistics) -> ProfileSpace:
        kept = self.particles * (len(self.epsilons) + 1)
        space = profile_space("PrivateAnnealing", query, self.truncation, self.grid, kept)
        name = RELEASED[self.weights]
        if name in (field for field, _ in space.family.fields):
            raise QueryError(f"PrivateAnnealing must have fields that are not called {name!r}, which is released")
        return space


def _checked_path(epsilons: Any) -> tuple[float, ...]:
    levels = tuple(epsilons) if isinstance(epsilons, tuple | list) else ()
    path = tuple(positive("PrivateAnnealing.epsilons", level) for level in levels)
    if not path or len(path) > 10**4 or any(later <= earlier for earlier, later in pairwise(path)):
        raise GuaranteeError(f"PrivateAnnealing.epsilons must be increasing numbers above 0, got {epsilons!r}")
    return path
