"""What a reproduced figure or table is: who printed it, how it is made again, what it found, what must be true of it.

A reproduction reads public tables or made-up ones, pays nothing and releases nothing. Its claims are the paper's
statement about its own figure, and our numbers against reference values that were computed by other means.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.studies.panels import Panel
from discreet.studies.paper_tables import PaperTables

__all__ = ["Claim", "Finding", "Reproduction", "Setting", "close", "holds"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """A statement that can fail, whether it holds, and the numbers that decide it."""

    text: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Setting:
    """The tables a reproduction may read, and how often it repeats what it simulates."""

    tables: PaperTables
    runs: int


@dataclass(frozen=True, eq=False)
class Finding:
    """What a reproduction hands over: one paragraph in three parts, tables of numbers, a picture, and its claims."""

    reported: str
    found: str
    differs: str
    tables: Mapping[str, Sequence[Row]]
    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...] = ()
    synthetic: bool = False


@dataclass(frozen=True)
class Reproduction:
    """One figure or table of a paper.

    Parameters
    ----------
    name
        What the command line calls it; it begins with the first author.
    source
        The paper and the number of the figure, table or theorem.
    title
        What it shows, in a line.
    make
        The computation. It is a function of the setting alone: the same setting gives the same numbers.
    runs
        Repetitions at full size; 1 where nothing is simulated.
    steps
        Its public cost at full size, in hundredths of a second of one core.
    """

    name: str
    source: str
    title: str
    make: Callable[[Setting], Finding] = field(repr=False)
    runs: int = 1
    steps: int = 10

    def run(self, tables: PaperTables, runs: int | None = None) -> Finding:
        """Make it, at full size unless `runs` says otherwise."""
        return self.make(Setting(tables, self.runs if runs is None else runs))


def holds(text: str, condition: bool, numbers: str) -> Claim:
    """A claim that a comparison decides."""
    return Claim(text, bool(condition), numbers)


def close(text: str, value: float, reference: float, within: float) -> Claim:
    """A number is within an absolute distance of its reference: four Monte Carlo errors, or the printed digits."""
    near = math.isfinite(value) and abs(value - reference) <= within
    return Claim(text, bool(near), f"{value:.12g} against {reference:.12g}, within {within:.2g}")
