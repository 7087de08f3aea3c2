"""Counts of events in cells: every cell has a hidden state; the states of a region form a chain."""

from dataclasses import dataclass

from discreet.queries.families.base import Family

__all__ = ["HiddenMarkov"]


@dataclass(frozen=True)
class HiddenMarkov(Family):
    """Events in the cells region × time; the hidden states of a region's cells are a Markov chain in time.

    The law of the first state and every row of the transition matrix are Dirichlet(`transition`); the profile of a
    field in a state, the probabilities of its levels, is Dirichlet(`emission`). `fields` are (statistic, levels), and a
    statistic counts the events by region, time and level.
    """

    is_hidden = True

    regions: int
    times: int
    states: int
    fields: tuple[tuple[str, int], ...]
    transition: float
    emission: float

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The profile of every field in every state."""
        return {field: (self.states, levels) for field, levels in self.fields}
