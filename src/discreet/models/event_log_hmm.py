"""An event log with hidden states: the cells region × time of a region form a Markov chain of states.

    state[r, 1] ~ start,   state[r, t] | state[r, t-1] = k ~ transition[k]      Dirichlet(transition_prior)
    field d of an event in (r, t) ~ Categorical(profile_d[state[r, t]])         Dirichlet(prior)

One joint release of the D tables region × time × field: an event is in one cell of each, so L1 = 2D and L2 = √(2D)
under replace-one, also when it moves to another region or time. Whatever runs on the noisy tables afterwards is free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np

from discreet.checks import is_integer
from discreet.errors import QueryError
from discreet.inference.counts.simplex import dirichlet_draws, draw_codes
from discreet.inference.hidden_markov.hidden_chains import hidden_chains
from discreet.inference.hidden_markov.hidden_noise import noise_aware_chains
from discreet.inference.hidden_markov.label_alignment import frequency_order
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, column_names, prior_number
from discreet.posterior import EventGrid, EventLogChain, EventLogPosterior
from discreet.posterior.records.declared_records import DeclaredRecords
from discreet.queries.counts_and_sums import Counts, levels_of
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["EventLogHMM"]

SEED = 0  # public and fixed: the same release gives the same answers
MOST_STATES = 50
TAKEN = ("state", "start", "transition", "hidden state", "hidden_state", "next_hidden_state")  # used by posteriors


@dataclass(frozen=True)
class EventLogHMM(StatisticsModel):
    """Hidden states of the cells region × time, and the profile of every field in every state.

    Levels of region and time are declared, and every declared cell is released, also one without events: to drop empty
    months after looking at the table would not be private. The order of the levels of `time` is the order of time.

    Parameters
    ----------
    region, time
        The columns that say where and when an event happened.
    fields
        The columns that describe an event; each has its own table, named after it.
    states
        The number of hidden states, from 1 (one profile for all cells) to 50.
    prior
        Symmetric Dirichlet concentration of every profile.
    transition_prior
        Symmetric Dirichlet concentration of the first state and of every row of the transition matrix.
    sampler
        The sampler of the plug-in posterior: "blocked" draws the states of a region at once given profiles, "collapsed"
        one cell at a time without transitions. The noise-aware posterior has a sampler of its own.
    """

    region: str
    time: str
    fields: tuple[str, ...]
    states: int = 2
    prior: float = 1.0
    transition_prior: float = 1.0
    sampler: Literal["blocked", "collapsed"] = "blocked"
    by: None = None

    def __post_init__(self) -> None:
        fields = column_names("EventLogHMM.fields", self.fields)
        for name in ("region", "time"):
            if not isinstance(getattr(self, name), str):
                raise QueryError(f"EventLogHMM.{name} must be the name of a column, got {getattr(self, name)!r}")
        object.__setattr__(self, "fields", fields)
        if self.region == self.time or {self.region, self.time} & set(fields):
            raise QueryError(
                "EventLogHMM.fields must be other columns than region and time, which differ, "
                f"got {list(fields)!r}, {self.region!r} and {self.time!r}"
            )
        if set(TAKEN) & set(fields):
            raise QueryError(f"EventLogHMM.fields must not have the names {list(TAKEN)}, got {list(fields)!r}")
        if not (is_integer(self.states) and 1 <= self.states <= MOST_STATES):
            raise QueryError(f"EventLogHMM.states must be a whole number from 1 to {MOST_STATES}, got {self.states!r}")
        for name in ("prior", "transition_prior"):
            object.__setattr__(self, name, prior_number(f"EventLogHMM.{name}", getattr(self, name)))
        if self.sampler not in ("blocked", "collapsed"):
            raise QueryError(f'EventLogHMM.sampler must be "blocked" or "collapsed", got {self.sampler!r}')
        if self.by is not None:
            raise QueryError(f"EventLogHMM.by must not be given: region plays that part, got {self.by!r}")

    def query(self, schema: Schema) -> Statistics:
        """The events of every cell by level, one table for each field, released together."""
        tables = tuple(Counts.over(schema, name, self.region, self.time, name) for name in self.fields)
        return Statistics(schema, tables, self._family(schema))

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> EventLogPosterior:
        """Draws of states, profiles and transitions given the noisy tables and the law of their noise."""
        counts = {name: np.asarray(value[name], dtype=np.int64) for name in self.fields}
        rng = np.random.default_rng(SEED)
        draws = noise_aware_chains(self._family(query.schema), counts, laws, query.sizes, rng, progress=progress)
        return EventLogPosterior.from_draws(draws, self.coordinates(query.schema), self._title("posterior"))

    def plug_in(self, query: Statistics, value: Value) -> EventLogPosterior:
        """Pretend that the noisy tables are exact; a state's sums, not its cells, are clipped at zero."""
        counts = {name: np.asarray(value[name], dtype=float) for name in self.fields}
        rng = np.random.default_rng(SEED)
        draws = hidden_chains(self._family(query.schema), counts, rng, draws=250, most=1000, sampler=self.sampler)
        return EventLogPosterior.from_draws(draws, self.coordinates(query.schema), self._title("plug-in posterior"))

    def given_chain(self, query: Statistics, states: Any, profiles: Mapping[str, Any], note: str) -> EventLogChain:
        """What a released chain of hidden states says; it is tempered, and the note says how much."""
        family, grid = self._family(query.schema), self.coordinates(query.schema)
        chain = EventLogChain.from_chain(family, grid, np.asarray(states, dtype=np.int64), profiles, note)
        return chain.of_columns(self.record_columns(query.schema))

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """Region and time of an event, and its fields given the state of that cell."""
        return DeclaredRecords.levels(schema, self.region, self.time, *self.fields)

    def updated(self, public: Any) -> NoReturn:
        """Refused: states have no names that a stronger prior could speak of."""
        raise QueryError("EventLogHMM.updated must not be asked: hidden states have no names that a prior could use")

    def estimands(self, truth: Mapping[str, Any]) -> Mapping[str, Any]:
        """All but the states of the cells: the names of hidden states have no average."""
        return {name: value for name, value in truth.items() if name != "state"}

    def reading_work(self, query: Statistics) -> int:
        """The cells of the log."""
        return query.cells

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Parameters from their priors, shares of cells uniform on the simplex, then n events.

        As in a posterior, the state that most cells are in comes first.
        """
        family = self._family(schema)
        count, cells = family.states, family.regions * family.times
        start = dirichlet_draws(np.full(count, family.transition), rng)
        transition = dirichlet_draws(np.full((count, count), family.transition), rng)
        states = np.empty((family.regions, family.times), dtype=np.int64)
        states[:, 0] = draw_codes(np.broadcast_to(start, (family.regions, count)), rng)
        for time in range(1, family.times):
            states[:, time] = draw_codes(transition[states[:, time - 1]], rng)
        order = frequency_order(states.reshape(1, -1), count)
        states = np.argsort(order)[states]
        truth: dict[str, Any] = {"state": states, "start": start[order], "transition": transition[order][:, order]}
        cell = np.repeat(np.arange(cells), rng.multinomial(n, rng.dirichlet(np.ones(cells))))
        events = {self.region: cell // family.times, self.time: cell % family.times}
        for name, levels in family.fields:
            truth[name] = dirichlet_draws(np.full((count, levels), family.emission), rng)
            events[name] = draw_codes(truth[name][states.ravel()[cell]], rng)
        return truth, events

    def coordinates(self, schema: Schema) -> EventGrid:
        """The declared levels that posteriors run over."""
        region, time = (levels_of(schema, name) for name in (self.region, self.time))
        fields = {name: levels_of(schema, name) for name in self.fields}
        return EventGrid(self.region, self.time, region, time, fields)

    def _family(self, schema: Schema) -> HiddenMarkov:
        grid = self.coordinates(schema)
        fields = tuple((name, len(levels)) for name, levels in grid.fields.items())
        priors = {"transition": self.transition_prior, "emission": self.prior}
        return HiddenMarkov(len(grid.regions), len(grid.times), self.states, fields, **priors)

    def _title(self, kind: str) -> str:
        return f"{kind} of an event log with {self.states} hidden state{'s' if self.states > 1 else ''}"
