"""Conjugate families of released statistics: what a posterior draw needs besides the rows. All of it is public.

Dirichlet       counts c of K cells            theta ~ Dirichlet(prior + c)
GaussianMean    sum of n clipped numbers       mean ~ normal; the numbers have a known deviation
PoissonRate     sum s of n clipped counts      rate ~ Gamma(shape + s, rate + n)
ExponentialRate sum s of n clipped times       rate ~ Gamma(shape + n, rate + s)
BoundedMean     sum of n numbers in an interval, each as a fraction of one success: a Beta on the interval
DirichletTables counts of several tables       every row of every table ~ Dirichlet(prior + c)
HiddenMarkov    counts of events in cells      every cell has a hidden state; the states of a region form a chain
"""

from dataclasses import dataclass

from discreet.queries.centred_columns import Axis

__all__ = [
    "BoundedMean",
    "ConditionalTable",
    "Dirichlet",
    "DirichletTables",
    "ExponentialRate",
    "Family",
    "GaussianMean",
    "HiddenMarkov",
    "PoissonRate",
    "SumFamily",
]


@dataclass(frozen=True)
class Dirichlet:
    """A conjugate Dirichlet prior on the cell probabilities of one count table, in the order of its cells."""

    parameter: str
    prior: tuple[float, ...]
    coordinate: int | None = None  # a single probability is the parameter, e.g. that of the level "1"


@dataclass(frozen=True)
class GaussianMean:
    """A normal prior (mean, sd) on the mean of numbers of known deviation."""

    parameter: str
    prior: tuple[float, float]
    sd: float
    axis: Axis


@dataclass(frozen=True)
class PoissonRate:
    """A Gamma prior (shape, rate) on the mean of counts."""

    parameter: str
    prior: tuple[float, float]
    axis: Axis


@dataclass(frozen=True)
class ExponentialRate:
    """A Gamma prior (shape, rate) on the rate of waiting times."""

    parameter: str
    prior: tuple[float, float]
    axis: Axis


@dataclass(frozen=True)
class BoundedMean:
    """A Beta prior (a, b) on the place of a mean in the bounds of its column."""

    parameter: str
    prior: tuple[float, float]
    axis: Axis


@dataclass(frozen=True)
class ConditionalTable:
    """Probabilities of a column's levels for every combination of its parents' levels: a Dirichlet for each row.

    Its counts are those of `statistic`, summed over the axes that the table does not have; `prior` lists its cells in
    the order of `shape`, whose last axis are the levels.
    """

    parameter: str
    statistic: str
    shape: tuple[int, ...]
    prior: tuple[float, ...]


@dataclass(frozen=True)
class DirichletTables:
    """Several tables of the same rows: a record is in one cell of each."""

    tables: tuple[ConditionalTable, ...]


@dataclass(frozen=True)
class HiddenMarkov:
    """Events in the cells region × time; the hidden states of a region's cells are a Markov chain in time.

    The law of the first state and every row of the transition matrix are Dirichlet(`transition`); the profile of a
    field in a state, the probabilities of its levels, is Dirichlet(`emission`). `fields` are (statistic, levels), and a
    statistic counts the events by region, time and level.
    """

    regions: int
    times: int
    states: int
    fields: tuple[tuple[str, int], ...]
    transition: float
    emission: float


SumFamily = BoundedMean | ExponentialRate | GaussianMean | PoissonRate
Family = Dirichlet | SumFamily  # of one parameter
