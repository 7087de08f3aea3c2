"""Private Gibbs chains: every update of a tempered Gibbs sampler is paid, and all of the chain is released.

    theta | z, X   and   z | theta, X   with the likelihood to the power 1/T,   T = max(1, 2C / epsilon_per_update)

C = Σ_d log((1 - (L_d - 1) a_d)/a_d) bounds how far one event moves a log-likelihood; s sweeps are 2s bounded-range
updates  [Foulds et al. 2016, §4]. Proof: private_gibbs.md.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from discreet.accounting.bounded_losses import LARGEST_TRUNCATION, ROUND_UP, log_ratio
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Basis, BoundedRange, Guarantee, Repeated
from discreet.mechanisms.base import (
    RATIO_ERROR,
    Argument,
    Calibration,
    Drawing,
    Progress,
    Reading,
    Released,
    check_grid,
    check_records,
    public_grid,
    rounding_words,
)
from discreet.mechanisms.private_gibbs.paid_sweeps import ProfileSpace, public_start, stacked_counts, tempered_sweeps
from discreet.noise.sources import NoiseSource
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["HIDDEN", "SAMPLER", "PrivateGibbs", "chain_temperature", "profile_space"]

HIDDEN = "hidden state"
PROFILE_DEVIATION = 2.0**-8  # its part of 2^-24 is 2^-32, to which a probability is rounded anyway
MOST_NUMBERS = 10**9  # that a release may hold: more is a slip of the keyboard
SAMPLER = (
    "exact conditional draws from a ChaCha20 generator keyed by the operating system, in double precision; before they "
    "are used, profiles are {rounding}"
)


def chain_temperature(
    *,
    levels: Annotated[tuple[int, ...], Argument("Levels of every field, comma-separated: 8,30,2.")],
    epsilon_per_update: Annotated[float, Argument("Cost of each update.")],
    sweeps: Annotated[int, Argument("Number of sweeps, of two updates each.", 1, 10**6)],
    truncation: Annotated[float, Argument("Smallest probability, as a share of an even one.")] = 0.1,
) -> Calibration:
    """Temperature of a Gibbs chain that pays for every update, and what the chain costs.

    Example:
      discreet calibrate private-gibbs --levels 8,30,2,2,2 --epsilon-per-update 0.05 --sweeps 200
    """
    positive("calibrate.truncation", truncation, below=LARGEST_TRUNCATION)
    positive("calibrate.epsilon_per_update", epsilon_per_update)
    if not levels or any(count < 2 for count in levels) or sweeps < 1:
        raise GuaranteeError("calibrate must get fields of two levels or more and at least one sweep, got others")
    spread = 2 * math.fsum(log_ratio(count, truncation / count) for count in levels) * ROUND_UP
    temperature = max(1.0, spread / epsilon_per_update * ROUND_UP)
    each = BoundedRange(min(epsilon_per_update, spread))
    return Calibration("temperature", temperature, Repeated(each, 2 * sweeps))


class PaidChain(Drawing):
    """States of a chain of hidden states, of which `kept` are read as draws."""

    @abstractmethod
    def kept(self, value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Of a released value the hidden states (draws, …) to be read, and profiles by field."""

    def read(self, model: Any, query: Statistics, value: Mapping[str, Any], reading: Reading) -> Any:
        """What a chain of hidden states says."""
        reading.check_plain()
        return model.given_chain(query, *self.kept(value), self.note(query))


@dataclass(frozen=True)
class PrivateGibbs(PaidChain):
    """All states of a tempered Gibbs chain of a hidden Markov model, from a public start.

    Parameters
    ----------
    epsilon_per_update
        Cost of *each* update, of which every sweep has two: all profiles, and one pass over the hidden states.
    sweeps
        Number of sweeps; all of them are released and paid.
    truncation
        The declared space of profiles: no probability is below this share of an even one, truncation / levels.
    grid
        Released profiles are multiples of this public power of two; by default, and at least, 2^-32.
    label
        A different label asks for an independent second release, which is paid.
    """

    calibrate = staticmethod(chain_temperature)

    epsilon_per_update: float
    sweeps: int
    truncation: float = 0.1
    grid: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        epsilon = positive("PrivateGibbs.epsilon_per_update", self.epsilon_per_update)
        object.__setattr__(self, "epsilon_per_update", epsilon)  # 1 and 1.0 are the same request
        object.__setattr__(
            self, "truncation", positive("PrivateGibbs.truncation", self.truncation, below=LARGEST_TRUNCATION)
        )
        object.__setattr__(self, "grid", check_grid("PrivateGibbs", self.grid))
        if not isinstance(self.sweeps, int) or isinstance(self.sweeps, bool) or not 1 <= self.sweeps <= 10**6:
            raise GuaranteeError(f"PrivateGibbs.sweeps must be a whole number from 1 to 10^6, got {self.sweeps!r}")
        check_label("PrivateGibbs", self.label)

    @property
    def paid_by(self) -> str:
        """The cost of an update."""
        return "epsilon_per_update"

    def temperature(self, query: Statistics) -> float:
        """T = max(1, 2C / epsilon_per_update), rounded up: a hotter chain is the more private one."""
        return max(1.0, self._space(query).log_range / self.epsilon_per_update * ROUND_UP)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        heat = self.temperature(query)
        return f"{self.sweeps} sweeps of a Gibbs chain with the likelihood at temperature {heat:.4g}, from the prior"

    def guarantee(self, query: Statistics) -> Guarantee:
        """Two updates a sweep, each BoundedRange(epsilon_per_update), or the smaller 2C if nothing is tempered."""
        space, schema = self._space(query), query.schema
        loss = min(self.epsilon_per_update, space.log_range * ROUND_UP)
        theorem = (
            f"tempered Gibbs updates, profiles ≥ {self.truncation:g} of even ones, each of the pure level and the "
            "Rényi curve of bounded range, every update of the chain composed (private_gibbs.md, Theorem 1)"
        )
        sampler = SAMPLER.format(rounding=rounding_words(space.grid, RATIO_ERROR))
        basis = Basis(schema.relation, str(schema.unit), theorem, sampler)
        return Repeated(BoundedRange(loss, basis), 2 * self.sweeps)

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """Hidden states by sweep, region and time; profiles of every field by sweep, state and level."""
        family = self._space(query).family
        return {
            HIDDEN: (self.sweeps, family.regions, family.times),
            **{field: (self.sweeps, family.states, levels) for field, levels in family.fields},
        }

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact counts once and run the chain from the prior."""
        space, stream = self._space(query), noise.stream()
        exact = stacked_counts(space.family, dataset.source.statistics(query))
        temperatures = [self.temperature(query)] * self.sweeps
        chain = tempered_sweeps(space, exact, temperatures, public_start(space, stream), stream)
        return {HIDDEN: chain.hidden, **space.by_field(chain.profiles)}

    def holds(self, query: Statistics, value: Mapping[str, Any]) -> bool:
        """Whether hidden states are codes of states, and profiles points of the declared space."""
        return self._space(query).holds(value[HIDDEN], value)

    def kept(self, value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The second half of the chain: the first still shows the start."""
        late = {name: array[self.sweeps // 2 :] for name, array in value.items()}
        return late.pop(HIDDEN), late

    def _space(self, query: Statistics) -> ProfileSpace:
        return profile_space("PrivateGibbs", query, self.truncation, self.grid, self.sweeps)


def profile_space(owner: str, query: Statistics, truncation: float, grid: float | None, kept: int) -> ProfileSpace:
    """The declared profiles of a query that chains of hidden states can answer, `kept` states in one release."""
    family = query.family
    if family is None or not family.is_hidden:
        raise QueryError(f"{owner} must have a model of events with hidden states (EventLogHMM), got another query")
    family = cast(HiddenMarkov, family)
    check_records(owner, query)
    if query.excludes:
        raise QueryError(f'{owner} must have columns that exclude no row, got one with missing="exclude"')
    if HIDDEN in (field for field, _ in family.fields):
        raise QueryError(f"{owner} must have fields that are not called {HIDDEN!r}, which is what it releases")
    # no update may need more than the loss that was charged: the grid must have points inside the space
    settled = public_grid(owner, grid, PROFILE_DEVIATION)
    least = min(truncation / levels for _, levels in family.fields)
    coarsest = min(least, (1.0 - truncation) / 2.0)
    if not settled <= coarsest:
        raise QueryError(f"{owner}.grid must be at most {coarsest:g} at truncation {truncation:g}, got {settled!r}")
    size = kept * (family.regions * family.times + family.states * sum(levels for _, levels in family.fields))
    if size > MOST_NUMBERS:
        raise QueryError(f"{owner} must release at most {MOST_NUMBERS} numbers, got {size}")
    return ProfileSpace.truncated(family, truncation, settled)
