"""What a mechanism is: it states its guarantee from public facts alone, then answers a query once.

A mechanism that can be calibrated without a table has a function for it, its `calibrate`: from a requested guarantee to
its parameter, and the guarantee that parameter then carries. The command line reads its options from the signature.
Every search is monotone and returns its safe end: more noise, a hotter posterior, a smaller scale.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Budget, Guarantee
from discreet.mechanisms.draws.public_grid import FINEST, NORMAL_ERROR, RATIO_ERROR, finest_grid
from discreet.noise import NoiseLaw
from discreet.noise.sources import NoiseSource
from discreet.schema import Record
from discreet.sources import Dataset

__all__ = [
    "NORMAL_ERROR",
    "RATIO_ERROR",
    "Argument",
    "Calibration",
    "Delta",
    "Drawing",
    "Epsilon",
    "Mechanism",
    "Order",
    "Progress",
    "Reading",
    "Records",
    "Released",
    "Score",
    "Shares",
    "check_draws",
    "check_grid",
    "check_records",
    "check_workers",
    "checked_interval",
    "public_grid",
    "rounding_words",
]

Array = np.ndarray[Any, Any]
Released = dict[str, Array]
Progress = Callable[[int], None] | None
Score = Callable[[Sequence[Mapping[str, Any]]], np.ndarray[Any, np.dtype[np.float64]]]

LARGEST = 1.79e308  # of numbers that doubles hold


@dataclass(frozen=True)
class Argument:
    """What the command line says of an argument, and the range of a whole number."""

    help: str
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Calibration:
    """One parameter by name, the guarantee it carries, and whether a proof stands behind it.

    `proved` is False only for a printed bound of the literature outside its proved range.
    """

    name: str
    value: float
    guarantee: Guarantee
    proved: bool = True

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise GuaranteeError(f"calibrate.{self.name} must be a finite number, got {self.value!r}: ask for less")

    def to_json(self) -> dict[str, Any]:
        """Plain data: the parameter under its own name."""
        return {self.name: self.value, "guarantee": self.guarantee.to_json(), "proved": self.proved}


@dataclass(frozen=True)
class Reading:
    """How a release is asked to be read: what `Release.posterior` was given."""

    kind: Literal["noise-aware", "plug-in", "joint"] = "noise-aware"
    prior: Any = None
    pooling: Literal["partial"] | None = None
    progress: Progress = None

    def check_plain(self) -> None:
        """Refuse what only noisy statistics can do: draws have been drawn from one prior, and hold no noise."""
        if self.prior is not None or self.kind != "noise-aware" or self.pooling is not None:
            raise QueryError("Release.posterior of released draws must keep their own prior and kind, got another")


class Mechanism(ABC):
    """The socket between a query and a release: everything that depends on the kind of a mechanism is asked of it.

    A new mechanism writes the abstract methods, and overrides the others where their answer is not the plain one.
    """

    answers: ClassVar[str] = "statistics"  # which queries: those that `asks` this
    calibrate: ClassVar[Callable[..., Calibration] | None] = None  # its parameter for a guarantee, without a table
    short_name: ClassVar[str] = ""  # on the command line, where that is not the class name with hyphens
    attacked_by: ClassVar[str] = ""  # the search for neighbours, where what is asked does not say it
    is_strengthened: ClassVar[bool] = False  # whether public records in the prior make it cheaper

    @property
    @abstractmethod
    def label(self) -> str:
        """Default ""; another label is another, paid, release."""

    @property
    def paid_by(self) -> str:
        """The argument that says how much is spent; "" where nothing, or more than one number, can be chosen."""
        return "epsilon"

    def at(self, level: float) -> Self:
        """The same mechanism with this number in the argument that it is paid by."""
        return replace(self, **{self.paid_by: level})  # type: ignore[type-var]  # a dataclass

    @abstractmethod
    def guarantee(self, query: Any) -> Guarantee:
        """What `apply` will satisfy, before any row is read."""

    @abstractmethod
    def shapes(self, query: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what leaves: public, the same for every table."""

    @abstractmethod
    def apply(self, noise: NoiseSource, query: Any, dataset: Dataset, progress: Progress = None) -> Released:
        """The released arrays by name. The only code that touches rows, through `dataset.source`.

        `progress` is called with the part of `work` that was done since its last call.
        """

    @abstractmethod
    def read(self, model: Any, query: Any, value: Mapping[str, Array], reading: Reading) -> Any:
        """The posterior: a call of the method of the model that knows what to do with this kind of value."""

    @abstractmethod
    def score(self, pair: Any) -> Score:
        """The test statistic that tells the two tables of a pair apart best, as a function of released values."""

    def check_source(self, query: Any, dataset: Dataset) -> None:
        """Refuse, before anything is paid, a table that cannot be read as `apply` reads it."""
        return

    @classmethod
    def within(cls, budget: Budget, query: Any) -> "tuple[Mechanism, ...]":
        """The mechanisms that the budget alone determines, for `compare`; none where more must be declared."""
        return ()

    def laws(self, query: Any) -> Mapping[str, NoiseLaw]:
        """The law of the noise on each released statistic; nothing where no noise was added to statistics."""
        return {}

    def reported(self, query: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters that a table was simulated from, as posteriors of these releases report them."""
        return parameters

    def law_given(self, query: Any, exact: Any) -> "tuple[Array, Array, tuple[float, float]] | None":
        """The law of one released draw at every value of the exact statistic: both parameters, and where it is cut.

        None where what leaves is no draw of one real parameter.
        """
        return None

    def law(self, query: Any) -> Any:
        """The public numbers of a draw that a plan shows, a frozen dataclass with words; None where there are none."""
        return None

    def holds(self, query: Any, value: Mapping[str, Array]) -> bool:
        """Whether a value of the right shapes is one that could have been released."""
        return True

    def work(self, query: Any) -> int:
        """The public number of steps that `apply` reports to `progress`; 0 where nothing takes long."""
        return 0

    def apart(self, pair: Any) -> float | None:
        """How far the tables of a pair are apart for this mechanism; None where only runs can tell."""
        return None

    def repeated(self, noise: NoiseSource, query: Any, dataset: Dataset, runs: int) -> list[Released]:
        """Independent releases of one table, for audits."""
        return [self.apply(noise, query, dataset) for _ in range(runs)]


class Drawing(Mechanism):
    """A mechanism that releases draws of parameters; whether their law is known is all that differs in reading them."""

    @abstractmethod
    def note(self, query: Any) -> str:
        """What was drawn, in words."""

    def log_draws(self, query: Any, value: Mapping[str, Array]) -> Callable[[Any], Array] | None:
        """Log-probability of the released draws at every value of the exact statistic, by the `log_law` of a real one.

        None where the mechanism does not know it.
        """
        law = getattr(self, "log_law", None) if query.family.law else None
        return None if law is None else partial(law, query, value[query.family.parameter])

    def read(self, model: Any, query: Any, value: Mapping[str, Array], reading: Reading) -> Any:
        """The draws, and what their law says of the parameter."""
        reading.check_plain()
        return model.given_draws(query, value, self.note(query), self.log_draws(query, value))

    def score(self, pair: Any) -> Score:
        """The log-likelihood ratio of the two tables, up to a positive factor."""
        exact, other = (table.source.statistics(pair.query.whole) for table in (pair.dataset, pair.neighbour))
        found: Score = pair.query.family.score(exact, other)
        return found


def check_grid(kind: str, grid: object) -> float | None:
    """A power of two, so that every released number is a double; None leaves it to the public noise."""
    if grid is None:
        return None
    known = isinstance(grid, int | float) and not isinstance(grid, bool)
    if not known or not FINEST <= grid <= 1.0 / FINEST or math.frexp(grid)[0] != 0.5:  # type: ignore[operator,arg-type]
        raise GuaranteeError(f"{kind}.grid must be a power of two from 2^-1000 to 2^1000, got {grid!r}")
    return float(grid)  # type: ignore[arg-type]


def public_grid(kind: str, grid: float | None, deviation: float, width: float | Fraction = math.inf) -> float:
    """The grid that was asked for, or the finest that hides the lattice of doubles: 2^-24 of the noise.

    A declared space of this width must have points on both sides of its middle.
    """
    finest = finest_grid(deviation)
    if grid is not None and grid < finest:
        limit = f"at least {finest:g}, since a finer one shows how doubles were rounded"
        raise GuaranteeError(f"{kind}.grid must be {limit}, got {grid!r}")
    settled = finest if grid is None else grid
    if settled > width / 2:
        limit = f"at most {float(width / 2):g}, half of the declared space"
        raise QueryError(f"{kind}.grid must be {limit}, got {settled!r}")
    return settled


def rounding_words(grid: float, error: float) -> str:
    """How draws are rounded, and what remains, for a privacy officer."""
    return (
        f"rounded to multiples of {grid:g} and to 32 bits; but for tails of mass 1e-5, what doubles still show changes "
        f"the probability of a released number by a factor within 1 ± {error:.2g}, which is not charged"
    )


def check_records(kind: str, query: Any) -> None:
    """Refuse what proofs about replaced records do not cover: other relations, persons, groups."""
    schema = query.schema
    if schema.relation != "replace-one" or not isinstance(schema.unit, Record):
        got = f"{schema.relation} of a {schema.unit}"
        raise QueryError(f"{kind} must have records that are replaced (replace-one), got {got}")
    if query.by is not None:
        raise QueryError(f"{kind} must have a model without groups, got by={query.by!r}")


def check_workers(kind: str, dataset: Dataset) -> None:
    """Refuse rows that are elsewhere, with workers that cannot compute what this library asks of them."""
    if not dataset.source.can_sum():
        raise QueryError(
            f"{kind} must have workers of Spark that have this library in the version of this process, got others: "
            "install it there, or name their interpreter (spark.pyspark.python)"
        )


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


Epsilon = Annotated[float, Argument("Requested epsilon.")]
Delta = Annotated[float | None, Argument("Requested delta.")]
Order = Annotated[float | None, Argument("Rényi order at which epsilon is meant.")]
Shares = Annotated[tuple[float, ...], Argument("Beta or Dirichlet prior, comma-separated: 6,12.")]
Records = Annotated[int, Argument("Public number of records.", 0, 2**48)]
