"""New events of an event log: where, when and of what kind, given draws of the states, profiles and true counts.

Given the number of events, all ways to split it over the cells are alike beforehand, so that given the true counts N of
the cells the shares of new events are Dirichlet(N + 1). Draws that know of no true counts (the plug-in posterior and
paid chains) say nothing of where events occur, and every declared cell is then alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.inference.counts.simplex import dirichlet_draws, draw_codes
from discreet.numerics.arrays import Array, Integers

__all__ = ["EventGrid", "EventRecords"]


@dataclass(frozen=True)
class EventGrid:
    """The declared levels of an event log: regions, times in their order, and the levels of every field."""

    region: str
    time: str
    regions: tuple[str, ...]
    times: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class EventRecords:
    """States and, where they are known, true counts of the cells, (draws, regions, times); profiles by field."""

    grid: EventGrid
    states: Integers
    profiles: Mapping[str, Array]  # (draws, states, levels)
    counts: Integers | None

    def different(self, m: int, rng: np.random.Generator) -> list[tuple[int, Array]]:
        """Different draws by their number, each with a draw of the shares of all cells given its counts."""
        count = len(self.states)
        chosen = [int(draw) for draw in rng.choice(count, size=m, replace=m > count)]
        shares = [self._weights(draw) if self.counts is None else self._drawn(draw, rng) for draw in chosen]
        return [(draw, share / share.sum()) for draw, share in zip(chosen, shares, strict=True)]

    def cells(self, draws: Integers, region: str | None, time: str | None, rng: np.random.Generator) -> Integers:
        """A cell for each of these draws, averaged over its shares; of one region or time, where one is given."""
        allowed = np.outer(_allowed(self.grid.regions, region), _allowed(self.grid.times, time)).ravel()
        found = np.empty(draws.size, dtype=np.int64)
        for draw in np.unique(draws):
            mine, weights = np.flatnonzero(draws == draw), self._weights(int(draw)) * allowed
            found[mine] = rng.choice(weights.size, size=mine.size, p=weights / weights.sum())
        return found

    def events(self, draws: Integers, cells: Integers, rng: np.random.Generator) -> dict[str, Integers]:
        """Codes of events in these cells, by column."""
        region, time = np.divmod(cells, len(self.grid.times))
        states = self.states[draws, region, time]
        fields = {name: draw_codes(profile[draws, states], rng) for name, profile in self.profiles.items()}
        return {self.grid.region: region, self.grid.time: time, **fields}

    def _weights(self, draw: int) -> Array:
        return np.ones(self.states[draw].size) if self.counts is None else self.counts[draw].ravel() + 1.0

    def _drawn(self, draw: int, rng: np.random.Generator) -> Array:
        return dirichlet_draws(self._weights(draw), rng)


def _allowed(levels: tuple[str, ...], level: str | None) -> NDArray[np.bool_]:
    """The one level that is asked for, or all of them."""
    if level is not None and str(level) not in levels:
        raise QueryError(f"EventLogPosterior.simulate must be asked for a declared level, got {level!r}")
    return np.array([level is None or each == str(level) for each in levels])
