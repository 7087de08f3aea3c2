"""What a mechanism is: it states its guarantee from public facts alone, then answers a query once."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import GuaranteeError
from discreet.guarantee import Guarantee
from discreet.randomness import NoiseSource
from discreet.sources import Dataset

__all__ = [
    "FINEST_GRID",
    "Mechanism",
    "PaidChain",
    "check_draws",
    "check_grid",
    "check_label",
    "checked_interval",
    "fine_grid",
    "rounded",
]

# a finer grid divides draws out of the range of doubles, and an error after the draw would tell about it
FINEST_GRID = 2.0**-60

LARGEST = 1.79e308  # of numbers that doubles hold


class Mechanism(Protocol):
    """The socket between a query and a release. `label` tells independent requests apart."""

    @property
    def label(self) -> str:
        """Default ""; another label is another, paid, release."""

    def guarantee(self, query: Any) -> Guarantee:
        """What `apply` will satisfy, before any row is read."""

    def shapes(self, query: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what leaves: public, the same for every table."""

    def apply(self, noise: NoiseSource, query: Any, dataset: Dataset) -> dict[str, np.ndarray[Any, Any]]:
        """The released arrays by name. The only code that touches rows, through `dataset.source`."""


@runtime_checkable
class PaidChain(Protocol):
    """A mechanism whose release holds states of a chain of hidden states."""

    def note(self, query: Any) -> str:
        """What was drawn, in words."""

    def holds(self, query: Any, value: Mapping[str, Any]) -> bool:
        """Whether a value of the right shapes is one that could have been released."""

    def kept(self, value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Of a released value the states to be read as draws: hidden states (draws, …), and profiles by field."""


def check_label(kind: str, label: object) -> None:
    """A label is a short printable text: it is public and appears in ledgers and reports."""
    if not (isinstance(label, str) and len(label) <= 200 and (label == "" or label.isprintable())):
        raise GuaranteeError(f"{kind}.label must be a printable text of at most 200 characters, got {label!r}")


def check_grid(kind: str, grid: object, below: float) -> float:
    """A grid that every draw can be divided by."""
    if not isinstance(grid, int | float) or isinstance(grid, bool) or not FINEST_GRID <= grid < below:
        raise GuaranteeError(f"{kind}.grid must be a number from 2^-60 to {below:g}, got {grid!r}")
    return float(grid)


def fine_grid(low: Fraction, high: Fraction) -> float:
    """2^-32 of the unit, or of larger numbers where the space has some: a power of two."""
    mantissa, exponent = math.frexp(float(max(abs(low), abs(high))))
    return float(2.0**-32 * max(1.0, 2.0 ** (exponent - (mantissa == 0.5))))


def rounded(drawn: np.ndarray[Any, Any], grid: float) -> np.ndarray[Any, Any]:
    """Draws as multiples of the public grid."""
    return np.asarray(np.round(drawn / grid) * grid)


def check_draws(kind: str, draws: object) -> None:
    """Every draw is paid, so their number is small and public."""
    if not isinstance(draws, int) or isinstance(draws, bool) or not 1 <= draws <= 10**7:
        raise GuaranteeError(f"{kind}.draws must be a whole number from 1 to 10^7, got {draws!r}")


def checked_interval(kind: str, interval: Any) -> tuple[float, float] | None:
    """A declared space (lo, hi) as floats, or None."""
    if interval is None:
        return None
    ends = tuple(interval) if isinstance(interval, tuple | list) else ()
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool) and abs(end) < LARGEST]
    if len(ends) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise GuaranteeError(f"{kind}.interval must be two finite numbers, lower first, got {interval!r}")
    return float(numbers[0]), float(numbers[1])
