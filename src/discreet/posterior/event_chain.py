"""A released chain of hidden states: draws of a tempered posterior of an event log, and what may be said from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.inference.counts.simplex import dirichlet_draws
from discreet.inference.hidden_markov.hidden_chains import HiddenDraws
from discreet.posterior.chains import Answers
from discreet.posterior.event_log import EventGrid, EventLogPosterior
from discreet.posterior.exports.pictured import quantities_by_name
from discreet.posterior.summary import SUMMARY_LEVEL
from discreet.queries.families import HiddenMarkov
from discreet.report.quantities import Quantity

__all__ = ["EventLogChain"]

SEED = 0  # public and fixed: the same release gives the same answers


@dataclass(frozen=True, eq=False)
class EventLogChain(EventLogPosterior):
    """States and profiles of a tempered chain; their spread is not the uncertainty of the parameters."""

    @classmethod
    def from_chain(
        cls,
        family: HiddenMarkov,
        coordinates: EventGrid,
        states: NDArray[np.int64],
        profiles: Mapping[str, NDArray[np.float64]],
        note: str,
    ) -> Self:
        """A released chain of states (draws, regions, times) and profiles (draws, states, levels).

        Start and transitions are drawn given the states, from their Dirichlet laws: they cost nothing.
        """
        rng, count, draws = np.random.default_rng(SEED), family.states, len(states)
        each = np.arange(draws)[:, np.newaxis]
        first = np.bincount((each * count + states[:, :, 0]).ravel(), minlength=draws * count).astype(float)
        moves = ((each[..., np.newaxis] * count + states[:, :, :-1]) * count + states[:, :, 1:]).ravel()
        then = np.bincount(moves, minlength=draws * count**2).astype(float)
        start = dirichlet_draws(first.reshape(1, draws, count) + family.transition, rng)
        transitions = dirichlet_draws(then.reshape(1, draws, count, count) + family.transition, rng)
        found = {name: np.asarray(profile, dtype=float)[np.newaxis] for name, profile in profiles.items()}
        return cls.from_draws(HiddenDraws(states[np.newaxis], start, transitions, found), coordinates, note)

    _draws_are_released = True

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """Averages over the chain, and its states: no interval is read off them."""
        return quantities_by_name(self, self._axes(), level)

    @property
    def mixing(self) -> None:
        """A released chain is what it is: it was paid for, and no interval is read off it."""
        return

    def _stays(self) -> list[str]:
        return [f"{mean:.3f}" for mean in self.transitions().diagonal()]

    def _columns(self) -> dict[str, Answers]:
        """Average over the states of the chain and their number; no deviation and no interval."""
        means = self.mean()
        return {"mean": means, "draws": {name: np.full(np.shape(m), self.cells.shape[1]) for name, m in means.items()}}

    def sd(self) -> NoReturn:
        """Refused: the spread of a tempered chain."""
        raise _refusal("sd")

    def quantile(self, q: float) -> NoReturn:
        """Refused: the spread of a tempered chain."""
        raise _refusal("quantile")

    def _interval(self, level: float) -> NoReturn:
        """Refused: the spread of a tempered chain."""
        raise _refusal("interval")


def _refusal(asked: str) -> Any:
    return QueryError(
        f"EventLogChain.{asked} must not be read off a tempered chain: its spread is not the uncertainty of the "
        "parameters; release noisy statistics to get intervals"
    )
