"""Declared parameter spaces on which likelihoods are bounded, and how far one record can move a log-likelihood there.

    R = range over the space of log p(x | theta) - log p(x' | theta), over all records x and x'

| parameter | space | R |
|---|---|---|
| probabilities of K levels | each at least a0 | 2 C,  C = log((1 - (K-1) a0)/a0), added over tables |
| mean of a bounded column | its place in [a0, 1 - a0] | 2 C at K = 2 |
| mean of deviation sd | [lo, hi] | W (hi - lo)/sd², W the width of the column |
| rate of Poisson counts | [lo, hi] | W log(hi/lo) |
| rate of waiting times | [lo, hi] | W (hi - lo) |

Proofs: mechanisms/posterior_sample.md, Lemma 1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.bounded_losses import log_ratio
from discreet.errors import QueryError
from discreet.mechanisms.draws.tempered import Interval, unit_of
from discreet.queries.families.base import (
    BoundedMean,
    ConditionalTable,
    Dirichlet,
    DirichletTables,
    Family,
    GaussianMean,
    PoissonRate,
    SumFamily,
)

__all__ = ["DeclaredSpace", "tables_of"]


def tables_of(family: Dirichlet | DirichletTables) -> tuple[ConditionalTable, ...]:
    """Every table of the family; a single Dirichlet is a table of one row, counted in the one statistic there is."""
    if isinstance(family, DirichletTables):
        return family.tables
    return (ConditionalTable(family.parameter, "", (len(family.prior),), family.prior),)


@dataclass(frozen=True)
class DeclaredSpace:
    """What the custodian declared: a smallest probability (one, or one for each table) or an interval.

    `owner` is the mechanism whose arguments these are, for messages.
    """

    owner: str
    truncation: float | Mapping[str, float] | None
    interval: Interval | None

    def check(self, family: Family | DirichletTables) -> None:
        """Refuse the wrong declaration for a family, and one that leaves no room."""
        if isinstance(family, Dirichlet | DirichletTables | BoundedMean):
            if self.interval is not None:
                raise QueryError(f"{self.owner}.interval must be left out for probabilities, got {self.interval!r}")
            if self.truncation is None:
                raise QueryError(f"{self.owner}.truncation must be given for probabilities, got nothing")
            cells = self._cells(family)
            if isinstance(self.truncation, Mapping) and set(self.truncation) != set(cells):
                raise QueryError(f"{self.owner}.truncation must name {list(cells)}, got {list(self.truncation)}")
            for parameter, levels in cells.items():
                lower = self.lower(parameter)
                if levels * Fraction(lower) >= 1:
                    limit = f"below 1/{levels} for {levels} levels"
                    raise QueryError(f"{self.owner}.truncation must be {limit}, got {lower!r}")
            return
        if self.truncation is not None:
            raise QueryError(f"{self.owner}.truncation must be left out for a {_noun(family)}, got {self.truncation!r}")
        if self.interval is None:
            raise QueryError(f"{self.owner}.interval must be given for a {_noun(family)}, got nothing")
        if not isinstance(family, GaussianMean) and self.interval[0] <= 0.0:
            raise QueryError(f"{self.owner}.interval must be above 0 for a rate, got {self.interval!r}")

    def lower(self, parameter: str) -> float:
        """The smallest probability of one table."""
        assert self.truncation is not None
        return self.truncation[parameter] if isinstance(self.truncation, Mapping) else self.truncation

    def of(self, family: Family) -> Interval:
        """The space of one real parameter; of a bounded mean, of its place between the bounds."""
        if isinstance(family, Dirichlet | BoundedMean):
            lower = self.lower(family.parameter)
            return lower, 1.0 - lower
        assert self.interval is not None
        return self.interval

    def released(self, family: Family) -> tuple[Fraction, Fraction]:
        """The same on the scale on which it is released, in rationals."""
        if not isinstance(family, Dirichlet | BoundedMean):
            low, high = self.of(family)
            return Fraction(low), Fraction(high)
        start, width = (Fraction(number) for number in unit_of(family))
        lower = Fraction(self.lower(family.parameter))
        return start + width * lower, start + width * (1 - lower)

    def log_range(self, family: Family | DirichletTables) -> float:
        """R, up to the rounding of a few operations in double precision."""
        self.check(family)
        if isinstance(family, Dirichlet | DirichletTables | BoundedMean):
            ratios = (log_ratio(levels, self.lower(name)) for name, levels in self._cells(family).items())
            return 2.0 * math.fsum(ratios)
        low, high = self.of(family)
        width = 2.0 * family.axis.unit * family.axis.reach
        if isinstance(family, PoissonRate):
            return width * math.log1p((high - low) / low)
        return width * (high - low) / (family.sd**2 if isinstance(family, GaussianMean) else 1.0)

    def words(self, family: Family | DirichletTables) -> str:
        """The space, for a privacy officer."""
        if isinstance(family, Dirichlet):
            return f"{len(family.prior)} probabilities ≥ {self.lower(family.parameter):g}"
        if isinstance(family, DirichletTables):
            bounds = (f"{table.parameter} ≥ {self.lower(table.parameter):g}" for table in family.tables)
            return f"tables of probabilities ({', '.join(bounds)})"
        low, high = self.of(family)
        place = " of its bounds" if isinstance(family, BoundedMean) else ""
        return f"a {_noun(family)} from {low:g} to {high:g}{place}"

    @staticmethod
    def _cells(family: Dirichlet | DirichletTables | BoundedMean) -> dict[str, int]:
        """The number of levels by parameter."""
        if isinstance(family, BoundedMean):
            return {family.parameter: 2}
        return {table.parameter: table.shape[-1] for table in tables_of(family)}


def _noun(family: SumFamily) -> str:
    return "mean" if isinstance(family, GaussianMean | BoundedMean) else "rate"
