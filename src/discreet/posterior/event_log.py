"""What a private event log says: the hidden state of every cell, the profiles of the states, and how states follow.

Draws of several chains are given the same names of states first (`label_alignment`). Where chains sit in different
modes no names can make them agree: the R-hat of the summary shows it, and every output says it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.inference.convergence import Mixing
from discreet.inference.hidden_markov.hidden_chains import HiddenDraws
from discreet.inference.hidden_markov.label_alignment import state_frequencies, under_one_name
from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.chains import Answers, ChainsPosterior
from discreet.posterior.exports.datatree import Axes, Exported
from discreet.posterior.records.event_records import EventGrid, EventRecords
from discreet.posterior.records.hidden_pictures import hidden_pictures
from discreet.posterior.summary import SUMMARY_LEVEL
from discreet.report.charts import tiles
from discreet.report.pictures import Picture
from discreet.report.quantities import Quantity
from discreet.visible import visible

__all__ = ["EventGrid", "EventLogPosterior"]

Codes = NDArray[np.int64]

SIGNS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of states in the printed map
WIDTH, LONGEST_NAME = 80, 20
STATES_ABREAST, LEVELS_SHOWN = 4, 10
SURE = 0.9


@dataclass(frozen=True, eq=False)
class EventLogPosterior(Posterior):
    """Draws of hidden states, profiles and transitions; state 1 (code 0) is the one that most cells are in.

    Parameters
    ----------
    cells
        The states of the cells, (chains, draws, regions, times), codes from 0.
    parameters
        Chains of "start", "transition" and of the profile of every field, under the same names of states.
    coordinates
        The declared levels that the arrays run over.
    title
        What the posterior is of, in words.
    totals
        The true number of events of every cell, in the shape of `cells`, where the draws know of it.
    """

    cells: Codes = field(repr=False)
    parameters: ChainsPosterior = field(repr=False)
    coordinates: EventGrid
    title: str = "posterior of an event log"
    totals: Codes | None = field(default=None, kw_only=True, repr=False)

    _no_density = "must not be asked: chains give draws, no density"
    _no_evidence = "must not be asked: chains do not know the normaliser"

    @classmethod
    def from_draws(cls, draws: HiddenDraws, coordinates: EventGrid, title: str = "posterior of an event log") -> Self:
        """Give all draws the same names of states, the most frequent state first."""
        profiles = {name: draws.profiles[name] for name in coordinates.fields}
        cells, parameters = under_one_name(draws.states, draws.start, draws.transitions, profiles)
        axes = _axes(coordinates, draws.start.shape[-1])
        return cls(cells, ChainsPosterior(parameters, axes, title), coordinates, title, totals=draws.totals)

    @property
    def count(self) -> int:
        """How many hidden states the model has."""
        return int(self.parameters.chains["start"].shape[-1])

    def states(self) -> Codes:
        """The most frequent state of every cell, (regions, times), from 0."""
        return np.asarray(np.argmax(self._probabilities, axis=-1))

    def state_probabilities(self) -> Array:
        """The posterior probability of every state in every cell, (regions, times, states)."""
        return self._probabilities.copy()

    def profiles(self) -> dict[str, Array]:
        """The mean profile of every field, (states, levels)."""
        means = self.mean()
        return {name: means[name] for name in self.coordinates.fields}

    def transitions(self) -> Array:
        """The mean transition matrix; row k says where a region goes from state k."""
        return np.asarray(self.mean()["transition"])

    def start(self) -> Array:
        """The mean law of the first state."""
        return np.asarray(self.mean()["start"])

    def used_states(self) -> int:
        """How many states hold at least one cell of the map."""
        return int(np.unique(self.states()).size)

    def mean(self) -> Answers:
        """Posterior mean of start, transition and every profile; what a cell is in, `state_probabilities` says."""
        return self.parameters.mean()

    def sd(self) -> Answers:
        """Posterior standard deviation of start, transition and every profile."""
        return self.parameters.sd()

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, Any]:
        """Joint draws (n, …) of all parameters and of "state", the codes of all cells."""
        drawn = self._everything.sample(n, rng)
        return {**drawn, "state": drawn["state"].astype(np.int64)}

    def simulate(
        self,
        n: int,
        rng: np.random.Generator | None = None,
        *,
        region: str | None = None,
        time: str | None = None,
    ) -> Any:
        """N new events by column, each from its own draw, in one declared region and time.

        Where region or time is left out, events fall as the posterior of the true counts says; a plug-in posterior or
        a paid chain has no such counts, and every declared region and time is then alike.
        """
        self._warn()
        return self._simulated(n, np.random.default_rng(rng), region, time)

    def _simulated(self, n: int, rng: np.random.Generator, region: str | None = None, time: str | None = None) -> Any:
        records = self._records
        draws = rng.integers(len(records.states), size=n)
        return self._as_declared(records.events(draws, records.cells(draws, region, time, rng), rng))

    def _one_by_one(self, m: int, rng: np.random.Generator) -> list[Any]:
        """The numbers of different draws, and the shares of the cells given each."""
        return self._records.different(m, rng)

    def _given(self, parameters: Any, n: int, rng: np.random.Generator) -> Any:
        draw, shares = parameters
        return self._records.events(np.full(n, draw), rng.choice(shares.size, size=n, p=shares), rng)

    @cached_property
    def _records(self) -> EventRecords:
        profiles = {name: _flat(self.parameters.chains[name]) for name in self.coordinates.fields}
        counts = None if self.totals is None else _flat(self.totals)
        return EventRecords(self.coordinates, _flat(self.cells), profiles, counts)

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        """All parameters, "state", and an event for every draw."""
        flat = {name: _flat(values) for name, values in self._everything.chains.items()}
        count = len(flat["state"])
        chosen = np.arange(count) if draws is None else rng.choice(count, size=draws, replace=draws > count)
        cells = self._records.cells(chosen, None, None, rng)
        events = {} if self.declared is None else self.declared.by_name(self._records.events(chosen, cells, rng))
        shape = self.cells.shape[:2] if draws is None else (1, draws)
        arrays = {name: values[chosen].reshape(*shape, *values.shape[1:]) for name, values in flat.items()}
        arrays["state"] = arrays["state"].astype(np.int64)
        records = {name: values.reshape(shape) for name, values in events.items()}
        return Exported(arrays, self._everything.axes, records)

    def table(self, n: int | None = None, rng: np.random.Generator | None = None) -> Any:
        """A synthetic table of n events; without a number the map of states, as `map()`."""
        return self.map() if n is None else super().table(n, rng)

    def map(self) -> str:
        """The map of states as text: regions down, times across, one sign for every cell."""
        grid, states = self.coordinates, self.states()
        names = _columns([grid.time, *grid.regions])
        width = WIDTH - len(names[0]) - 1
        blocks = []
        for begin in range(0, len(grid.times), width):
            times = [visible(time) for time in grid.times[begin : begin + width]]
            head = times[0] if len(times) == 1 else f"{times[0]} {times[-1]:>{max(len(times) - len(times[0]) - 1, 1)}}"
            rows = ["".join(SIGNS[state] for state in row[begin : begin + width]) for row in states]
            blocks.append("\n".join(f"{name} {row}" for name, row in zip(names, [head, *rows], strict=True)))
        return "\n\n".join(blocks)

    def __str__(self) -> str:
        parts = [self.title, "\n".join(self._state_lines()), self.map()]
        used = np.unique(self.states()).tolist()
        for begin in range(0, len(used), STATES_ABREAST):
            parts += [self._bars(name, used[begin : begin + STATES_ABREAST]) for name in self.coordinates.fields]
        if self.mixing is not None and not self.mixing.converged:
            parts.append(self.mixing.words)
        return "\n\n".join(parts)

    @property
    def mixing(self) -> Mixing | None:
        """Of start, transitions and profiles, all of which the summary reports; chains may sit in different modes."""
        return self.parameters.mixing

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """Start, transitions and profiles."""
        return self.parameters.quantities(level)

    def plot(self) -> Any:
        """The map of states over the profiles of the states."""
        return tiles(*(picture.chart() for picture in self.pictures()), columns=1)

    def pictures(self) -> tuple[Picture, ...]:
        """The map of states and the profiles of the states."""
        return hidden_pictures(self.coordinates, self.states(), self.state_probabilities(), self.profiles())

    def _title(self) -> str:
        return self.title

    def _axes(self) -> Axes:
        return self.parameters.axes

    def _quantiles(self, orders: Array) -> list[Answers]:
        return self.parameters._quantiles(orders)

    def _columns(self) -> dict[str, Answers]:
        return self.parameters._columns()

    def _state_lines(self) -> list[str]:
        cells = np.bincount(self.states().ravel(), minlength=self.count)
        used = np.flatnonzero(cells)
        stays = self._stays()
        lines = [f"state {SIGNS[k]}  {cells[k]} cells, stays with probability {stays[k]}" for k in used]
        if used.size < self.count:
            lines.append(f"{self.count - used.size} of {self.count} states hold no cell")
        unsure = int(np.sum(self._probabilities.max(axis=-1) < SURE))
        return [*lines, f"{unsure} of {cells.sum()} cells are in their state with probability below {SURE:g}"]

    def _stays(self) -> list[str]:
        stays, (lower, upper) = self.transitions(), self._interval(0.9)["transition"]
        ends = zip(stays.diagonal(), lower.diagonal(), upper.diagonal(), strict=True)
        return [f"{mean:.3f} ({low:.3f} to {high:.3f})" for mean, low, high in ends]

    def _bars(self, name: str, shown: list[int]) -> str:
        """The profiles of one field side by side; of many levels the most frequent ones."""
        means = self.profiles()[name][shown]
        kept = np.sort(np.argsort(-means.max(axis=0), kind="stable")[:LEVELS_SHOWN])
        labels = _columns([name, *(self.coordinates.fields[name][level] for level in kept)])
        width = (WIDTH - len(labels[0])) // len(shown)
        rows = [f"{labels[0]}" + "".join(f" {f'state {SIGNS[k]}':<{width - 1}}" for k in shown)]
        for label, level in zip(labels[1:], kept, strict=True):
            bars = (f" {share:.3f} {_bar(share / means.max(), width - 8):<{width - 7}}" for share in means[:, level])
            rows.append(label + "".join(bars))
        hidden = means.shape[1] - kept.size
        return "\n".join(row.rstrip() for row in [*rows, *([f"and {hidden} rarer levels"] if hidden else [])])

    @cached_property
    def _probabilities(self) -> Array:
        shape = self.cells.shape[2:]
        return state_frequencies(_flat(self.cells).reshape(-1, shape[0] * shape[1]), self.count).reshape(*shape, -1)

    @cached_property
    def _everything(self) -> ChainsPosterior:
        """Parameters and states in one: what is drawn jointly and exported."""
        grid = self.coordinates
        axes = {"state": {f"{grid.region}_level": grid.regions, f"{grid.time}_level": grid.times}}
        chains = {**self.parameters.chains, "state": self.cells.astype(float)}
        return ChainsPosterior(chains, {**self.parameters.axes, **axes}, self.title)


def _axes(grid: EventGrid, count: int) -> dict[str, dict[str, tuple[str, ...]]]:
    hidden = {"hidden_state": tuple(str(k + 1) for k in range(count))}
    profiles = {name: {**hidden, f"{name}_level": levels} for name, levels in grid.fields.items()}
    return {"start": hidden, "transition": {**hidden, "next_hidden_state": hidden["hidden_state"]}, **profiles}


def _flat(values: NDArray[Any]) -> NDArray[Any]:
    """Chains one after the other."""
    return np.asarray(values).reshape(-1, *np.shape(values)[2:])


def _columns(names: list[str]) -> list[str]:
    """Names of one width, long ones cut."""
    shown = [visible(name) for name in names]
    cut = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in shown]
    return [f"{name:<{max(map(len, cut))}}" for name in cut]


def _bar(share: float, width: int) -> str:
    """A bar in eighths of a character."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
