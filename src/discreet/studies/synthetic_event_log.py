"""Synthetic event logs whose hidden states are known: regions × months, several fields of levels, no real person.

states of a region    a Markov chain in time: it starts anywhere alike, stays with probability `stay`, else moves
events of a cell      log-normal in number; every field is an independent draw from the profile of the cell's state
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.schema import Categorical, Schema

__all__ = ["EventLog", "adjusted_rand", "synthetic_event_log"]

Codes = NDArray[np.int64]

FIRST_YEAR = 2020


@dataclass(frozen=True, eq=False)
class EventLog:
    """A table of events and the truth it was drawn from.

    Parameters
    ----------
    table
        A pyarrow table: region, month and one column for every field; one row for every event, in random order.
    states
        The hidden state of every cell, (regions, months), from 0.
    profiles
        For every field the probabilities of its levels in every state, (states, levels).
    transitions
        Row k: where the chain of a region goes from state k.
    schema
        The declared levels of all columns, and the number of events.
    """

    table: Any = field(repr=False)
    states: Codes = field(repr=False)
    profiles: Mapping[str, Array] = field(repr=False)
    transitions: Array = field(repr=False)
    schema: Schema = field(repr=False)

    def adjusted_rand(self, states: ArrayLike) -> float:
        """How well a map of states (regions, months) finds the true one: 1 if equal up to names, 0 if by chance."""
        found = np.asarray(states, dtype=np.int64)
        if found.shape != self.states.shape or found.size == 0 or found.min() < 0:
            raise QueryError(f"EventLog.adjusted_rand states must have shape {self.states.shape}, got {found.shape}")
        return adjusted_rand(self.states, found)


def synthetic_event_log(
    regions: int = 18,
    months: int = 60,
    levels: Sequence[int] = (8, 30, 2, 2, 2),
    states: int = 2,
    stay: float = 0.9,
    median: float = 972,
    spread: float = 0.5,
    seed: int = 0,
) -> EventLog:
    """A log of events in `regions` × `months` cells, for studies and examples: the same for the same arguments.

    Parameters
    ----------
    levels
        How many levels each field has.
    states
        How many hidden states there are; profiles are uniform on the simplex, one for each state and field.
    stay
        The probability that a region keeps its state from one month to the next.
    median, spread
        Of the number of events in a cell: its median, and the deviation of its logarithm.
    """
    _check(regions, months, levels, states, stay, median, spread)
    rng = np.random.default_rng(seed)
    transitions = _transitions(states, stay)
    hidden = _paths(transitions, regions, months, rng)
    names = [f"field_{number}" for number in range(1, len(levels) + 1)]
    profiles = {name: rng.dirichlet(np.ones(count), states) for name, count in zip(names, levels, strict=True)}
    sizes = np.maximum(np.rint(median * np.exp(spread * rng.standard_normal(regions * months))), 1).astype(np.int64)
    cells = rng.permutation(np.repeat(np.arange(regions * months), sizes))
    codes = {"region": cells // months, "month": cells % months}
    state = hidden.ravel()[cells]
    codes |= {name: _drawn(profile, state, rng) for name, profile in profiles.items()}
    texts = {
        "region": [f"region {number:0{len(str(regions))}d}" for number in range(1, regions + 1)],
        "month": [f"{FIRST_YEAR + number // 12}-{number % 12 + 1:02d}" for number in range(months)],
        **{name: _level_names(count) for name, count in zip(names, levels, strict=True)},
    }
    schema = Schema({name: Categorical(of) for name, of in texts.items()}, n=int(cells.size))
    return EventLog(_table(codes, texts), hidden, profiles, transitions, schema)


def _check(
    regions: int, months: int, levels: Sequence[int], states: int, stay: float, median: float, spread: float
) -> None:
    """Refuse what cannot be drawn, in the order of the arguments."""
    for name, value, least in (("regions", regions, 2), ("months", months, 2), ("states", states, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise QueryError(f"synthetic_event_log.{name} must be a whole number from {least}, got {value!r}")
    if not levels or any(not isinstance(count, int) or count < 2 for count in levels):
        raise QueryError(f"synthetic_event_log.levels must be whole numbers from 2, got {levels!r}")
    if not 0.0 <= stay <= 1.0:
        raise QueryError(f"synthetic_event_log.stay must be from 0 to 1, got {stay!r}")
    if not 0.0 < median < 1e9:
        raise QueryError(f"synthetic_event_log.median must be above 0 and below 1e9, got {median!r}")
    if not 0.0 <= spread <= 5.0:
        raise QueryError(f"synthetic_event_log.spread must be from 0 to 5, got {spread!r}")


def _transitions(states: int, stay: float) -> Array:
    if states == 1:
        return np.ones((1, 1))
    moves = np.full((states, states), (1.0 - stay) / (states - 1))
    np.fill_diagonal(moves, stay)
    return moves


def _paths(transitions: Array, regions: int, months: int, rng: np.random.Generator) -> Codes:
    """One chain for every region, all of them a month at a time."""
    hidden = np.empty((regions, months), dtype=np.int64)
    hidden[:, 0] = rng.integers(len(transitions), size=regions)
    for month in range(1, months):
        hidden[:, month] = _drawn(transitions, hidden[:, month - 1], rng)
    return hidden


def _drawn(profile: Array, state: Codes, rng: np.random.Generator) -> Codes:
    """One code for every event: a uniform in [k, k + 1) is looked up among the bounds of all states at once."""
    states, levels = profile.shape
    ends = np.arange(states)[:, np.newaxis] + np.cumsum(profile, axis=1)
    ends[:, -1] = np.arange(1, states + 1)
    found = np.searchsorted(ends.ravel(), state + rng.random(state.size), side="right") - state * levels
    return np.asarray(np.clip(found, 0, levels - 1), dtype=np.int64)  # a sum may round up to the next state


def _level_names(count: int) -> list[str]:
    return ["no", "yes"] if count == 2 else [f"kind {number}" for number in range(1, count + 1)]


def _table(codes: Mapping[str, Codes], texts: Mapping[str, list[str]]) -> Any:
    """Codes and their texts as an Arrow table of dictionaries."""
    import pyarrow as pa

    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), pa.array(texts[name]))
        for name, values in codes.items()
    }
    return pa.table(columns)


def adjusted_rand(states: Codes, found: Codes) -> float:
    """How alike two maps of states are, whatever the states are called: 1 if equal, 0 as by chance."""
    width = int(found.max()) + 1
    together = np.bincount((states * width + found).ravel(), minlength=width).astype(float)
    both, ours, theirs, whole = (
        _pairs(counts) for counts in (together, np.bincount(states.ravel()), np.bincount(found.ravel()), found.size)
    )
    chance, best = ours * theirs / whole, 0.5 * (ours + theirs)
    return 1.0 if best == chance else (both - chance) / (best - chance)


def _pairs(counts: ArrayLike) -> float:
    """How many pairs of cells are in the same group."""
    sizes = np.asarray(counts, dtype=float)
    return float(np.sum(sizes * (sizes - 1.0)) / 2.0)
