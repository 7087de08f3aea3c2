"""What is asked of the parameter behind released statistics: its update, its range, its certificate, its scores.

A family is public: which law the parameter has a priori, and how statistics change it. Everything that a mechanism, a
plan or an audit would otherwise ask by looking at its type is a method here; a new family is one file and one line in
`FAMILIES`. `exact` are statistics before noise, the table's own or those of a table that might have been.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.guarantee import Basis, Guarantee
from discreet.numerics.arrays import Array

if TYPE_CHECKING:
    from discreet.queries.counts_and_sums import Counts
    from discreet.queries.families.conditional_table import ConditionalTable

__all__ = [
    "UNIFORM",
    "Exponents",
    "Family",
    "Interval",
    "OneConjugate",
    "Tempering",
    "Values",
    "edge_deviation",
    "named_draws",
]

Interval = tuple[float, float]  # where the parameter lies; of a bounded mean, where its place between the bounds lies
Tempering = Literal["joint", "natural", "likelihood"]
Values = Sequence[Mapping[str, Any]]  # of several releases

UNIFORM = 12.0**-0.5  # the deviation of a uniform number on an interval of length 1
SHARE = 1.0 / 11.0  # of the length over which a density falls to a third: the deviation at least


class Family(ABC):
    """The law of one or several parameters given statistics; what it can do is said by the flags."""

    is_conjugate: ClassVar[bool] = False  # one conjugate parameter, which can be drawn
    has_space: ClassVar[bool] = False  # likelihoods are bounded on a declared space
    is_hidden: ClassVar[bool] = False  # a chain of hidden states
    tables: "tuple[ConditionalTable, ...]" = ()  # of probabilities; none where the parameter is a mean or a rate

    @property
    def law(self) -> str:
        """Of one real parameter: "beta", "gamma" or "normal"; nothing where the parameter is no single number."""
        return ""

    @property
    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of one draw, by parameter."""

    @property
    def levels(self) -> dict[str, int]:
        """Of probabilities, how many levels they are of, by parameter: their declared space is a truncation."""
        return {}

    def log_range(self, spaces: Mapping[str, Interval]) -> float:
        """R, how far one record moves a log-likelihood on the declared spaces, up to a few roundings.

        The range over the spaces of log p(x | theta) - log p(x' | theta), over all records x and x'
        (posterior_sample.md, Lemma 1).
        """
        raise NotImplementedError

    def space_words(self, spaces: Mapping[str, Interval]) -> str:
        """The declared spaces, for a privacy officer."""
        raise NotImplementedError

    def labels(self, tables: "Sequence[Counts]") -> list[str]:
        """What every parameter is the probability of; nothing where parameters are not all such probabilities."""
        return []

    def draw_levels(self, tables: "Sequence[Counts]") -> dict[str, tuple[str, ...]]:
        """The declared levels of the last axis of a draw, by parameter."""
        return {}

    def score(self, exact: Mapping[str, Any], other: Mapping[str, Any]) -> Callable[[Values], Array]:
        """The log-likelihood ratio of two tables for draws, up to constants and a positive factor."""
        raise QueryError("audit must have noisy statistics, or draws of parameters, got a chain of hidden states")


class Exponents:
    """A conjugate prior as exponents, which add to the data."""

    prior: tuple[float, ...]

    @property
    def exponents(self) -> Array:
        """The prior, as the law's density writes it."""
        return np.asarray(self.prior, dtype=float)

    def is_proper(self, part: Array) -> bool:
        """Whether what the prior adds to the exponents has not vanished beside 1."""
        return bool(np.all(part > 0))


class OneConjugate(Exponents, Family):
    """One conjugate parameter: a real number, or a vector of probabilities."""

    is_conjugate = True
    has_space = True
    is_place: ClassVar[bool] = False  # drawn as its place between bounds, and mapped to them after rounding
    parameter: str

    @property
    def unit(self) -> tuple[float, float]:
        """Where the place 0 lies on the scale of the released parameter, and how wide the step to the place 1 is."""
        return 0.0, 1.0

    @abstractmethod
    def flat(self, tempering: Tempering) -> Array:
        """The exponents of a flat density: 1 for a power of the parameter itself, 0 for a power of its logarithm."""

    @abstractmethod
    def statistic(self, exact: Mapping[str, Any], n: int) -> tuple[Any, int]:
        """Of the released statistics' exact values the one number that `update` takes, and how many rows it is of."""

    @abstractmethod
    def update(self, part: Array, weight: float, exact: ArrayLike, n: int) -> tuple[Array, Array]:
        """Both textbook parameters of the law for given statistics: the count of the level, or the centred sum.

        (a, b) of a Beta, (shape, rate) of a Gamma, (mean, sd) of a normal law; `part` is what the prior adds to the
        exponents, `weight` what a record counts.
        """

    @abstractmethod
    def certificate(self, n: int, scale: float, shrink: float, basis: Callable[[str], Basis]) -> Guarantee:
        """The strongest proved certificate of a draw with the data scaled and the prior divided by `shrink`."""

    def calibration(self, n: int, scale: float, shrink: float) -> Guarantee:
        """The certificate that fractions are calibrated to. It never changes: a recipe keeps the law of its answer."""
        return self.certificate(n, scale, shrink, lambda _: Basis())

    @property
    def shortened(self) -> "OneConjugate":
        """A family with the same certificates that are quicker to find."""
        return self

    @abstractmethod
    def grid_tables(self, points: Array) -> tuple[tuple[Array, ...], Array, Array, Array]:
        """Per point: what a unit of each statistic adds, what a row adds, the log-prior, log |d natural / d parameter|.

        Sums are centred, which keeps the terms small. Of counts both levels are statistics, and a row adds nothing.
        """

    @abstractmethod
    def statistic_bounds(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How large each statistic can be, and how far a replaced row can move it."""

    @abstractmethod
    def conjugate_deviation(self, n: int, scale: float, shrink: float) -> float:
        """What no table makes the deviation of a conjugate draw fall below (conjugate_sample.md, Lemma 1)."""

    @abstractmethod
    def tempered_deviation(self, part: Array, weight: float, n: int, space: Interval) -> float:
        """The same of a draw on a declared space (posterior_sample.md, Lemma 2)."""

    @abstractmethod
    def strengthened(self, count: int, shares: tuple[float, ...]) -> tuple[float, ...]:
        """The textbook prior after `count` public records that look as expected."""

    @property
    def expected_shares(self) -> tuple[float, ...]:
        """How public records spread over successes and failures or levels, as the prior expects; none for others."""
        return ()


def edge_deviation(width: float, lower: float, exponents: float) -> float:
    """Of a law on an interval from `lower` on whose density changes no faster than a power of this exponent."""
    return SHARE * min(0.5 * width, lower) / (2.0 * max(2.0, exponents))


def named_draws(values: Values, parameter: str) -> Array:
    """The draws of one parameter in every release."""
    return np.array([value[parameter] for value in values], dtype=float)
