"""Posterior samples: draws of the tempered posterior on a declared parameter space. Proof: posterior_sample.md.

    theta ~ p(theta, X)^{1/T} on the space,   T = max(1, R / epsilon),   R = range of log p(x|theta) - log p(x'|theta)

is epsilon-bounded-range, hence epsilon-DP and epsilon²/8-zCDP per draw  [Foulds et al. 2016, Thm 2; DDR2020]. R follows
from the declared space alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from discreet.accounting.tempered_beta import Cooled
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import AllOf, Basis, BoundedRange, Guarantee, IndependentDraws, PureDP
from discreet.mechanisms.base import (
    RATIO_ERROR,
    Drawing,
    Progress,
    Released,
    check_draws,
    check_grid,
    check_records,
    checked_interval,
    public_grid,
    rounding_words,
)
from discreet.mechanisms.draws.declared_space import DeclaredSpace, checked_truncation, one_temperature
from discreet.mechanisms.draws.exact_grid import MOST_POINTS, GridLaw, default_grid, grid_ends, grid_law, log_grid_law
from discreet.mechanisms.draws.public_grid import finest_grid, rounded
from discreet.mechanisms.draws.real_laws import LAWS, log_draws
from discreet.mechanisms.draws.tempered import on_scale, prior_part, vector_draws
from discreet.mechanisms.posterior_sample.public_worst_case import tempered_at
from discreet.noise.sources import NoiseSource
from discreet.numerics.arrays import Array
from discreet.queries.families import ConditionalTable, Family, OneConjugate, Tempering
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["PosteriorSample"]

Arithmetic = Literal["double", "exact"]
WorstCase = Literal["n"]

ROUND_UP = 1 + 1e-14  # above the rounding error of the few operations that make a range
SMALLEST_LOSS = 2.0**-30  # of integer weights, whose rounding costs 2^-36
HOTTEST = 2.0**60


@dataclass(frozen=True)
class PosteriorSample(Drawing):
    """Exact draws of the tempered posterior.

    Parameters
    ----------
    epsilon
        Cost of *each* draw.
    truncation
        The declared space of probabilities: each is at least this; of several tables, by the name of the parameter or
        the same for all. It is 2^-40 or more, part of the model and public.
    interval
        The declared space (lo, hi) of a mean or a rate.
    tempering
        What is raised to the power 1/T: "joint", the joint density of the rows and the parameter as it is released;
        "natural", the same in its natural parametrisation; "likelihood", the likelihood alone.
    arithmetic
        "double" draws in double precision and rounds; "exact" draws a point of the grid by whole numbers, with nothing
        idealised, for a parameter that is a single number.
    draws
        Number of independent draws; k draws cost k times.
    grid
        Draws are rounded to multiples of this public power of two, and to 32 bits; by default, and at least, 2^-24 of a
        deviation that no table falls below. Of a bounded mean its place between the bounds is rounded. If exact, the
        points themselves, by default about 2^16 of them.
    label
        A different label asks for an independent second release, which is paid.
    worst_case
        "n" solves the temperature for the worst two tables of the public number of records, which is cooler the fewer
        they are: of one probability, or the mean of a bounded column. Left out, it is safe for every n.
    """

    calibrate = staticmethod(one_temperature)

    epsilon: float
    truncation: float | Mapping[str, float] | None = None
    interval: tuple[float, float] | None = None
    tempering: Tempering = "joint"
    arithmetic: Arithmetic = "double"
    draws: int = 1
    grid: float | None = None
    label: str = ""
    worst_case: WorstCase | None = None

    def __post_init__(self) -> None:
        settled = {
            "epsilon": positive("PosteriorSample.epsilon", self.epsilon),  # 1 and 1.0 are the same request
            "truncation": checked_truncation("PosteriorSample", self.truncation),
            "interval": checked_interval("PosteriorSample", self.interval),
            "grid": check_grid("PosteriorSample", self.grid),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        for name, choices in (("tempering", get_args(Tempering)), ("arithmetic", get_args(Arithmetic))):
            if getattr(self, name) not in choices:
                raise GuaranteeError(f"PosteriorSample.{name} must be one of {choices}, got {getattr(self, name)!r}")
        if self.worst_case not in (None, *get_args(WorstCase)):
            raise GuaranteeError(f'PosteriorSample.worst_case must be "n" or left out, got {self.worst_case!r}')
        if self.worst_case is not None and self.arithmetic == "exact":
            raise GuaranteeError('PosteriorSample.worst_case must be left out in exact arithmetic, got "n"')
        check_draws("PosteriorSample", self.draws)
        check_label("PosteriorSample", self.label)

    def __hash__(self) -> int:
        values = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(tuple(value.items()) if isinstance(value, Mapping) else value for value in values))

    def temperature(self, query: Statistics) -> float:
        """T = max(1, R / epsilon), rounded up: a hotter posterior is the more private one. For the public n, cooler."""
        if self.worst_case is not None:
            return self._at_n(query).temperature
        return max(1.0, self._space.log_range(self._family(query)) / self.epsilon * ROUND_UP)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        heated = {"joint": "", "natural": " of the natural parameter", "likelihood": " of the likelihood alone"}
        return f"draws of the posterior at temperature {self.temperature(query):.4g}{heated[self.tempering]}"

    def guarantee(self, query: Statistics) -> Guarantee:
        """BoundedRange(R / T) per draw: epsilon, or the smaller R when the posterior is private enough untempered.

        For the public n alone it is R / T still, above epsilon, and PureDP(epsilon) besides.
        """
        schema, family, loss, grid = query.schema, self._family(query), self._loss(query), self._grid(query)
        if not all(piece.is_proper(self._part(query, piece)) for piece in _pieces(family)):
            reason = "a prior that is not negligible beside 1, got one that vanishes"
            raise QueryError(f"PosteriorSample must have {reason}")
        theorem = f"exponential mechanism on {self._space.words(family)} (posterior_sample.md, Theorem 1)"
        if self.arithmetic == "exact":
            first, last = grid_ends(*self._bounds(query), grid)
            sampler = (
                f"integer weights of the {last - first + 1} multiples of {grid:g} in the declared space and a whole "
                "number from the operating system: nothing is idealised (posterior_sample.md, Theorem 3)"
            )
        else:
            error = LAWS[family.law].error if family.law else RATIO_ERROR
            sampler = (
                "exact draw by rejection from a ChaCha20 generator keyed by the operating system, in double precision, "
                f"{rounding_words(grid, error)}"
            )
        one: Guarantee = BoundedRange(loss, Basis(schema.relation, str(schema.unit), theorem, sampler))
        if self.worst_case is not None:
            exactly = f"worst two tables of {query.largest_total} records (posterior_sample.md, Theorem 5)"
            pure = PureDP(self._at_n(query).epsilon, Basis(schema.relation, str(schema.unit), exactly, sampler))
            one = AllOf((pure, one))
        return one if self.draws == 1 else IndependentDraws(one, self.draws)

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """One row per draw; vectors in the order of the declared levels."""
        return {name: (self.draws, *shape) for name, shape in self._family(query).shapes.items()}

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact statistics once, temper, draw, round to the public grid."""
        family, grid, exact = self._family(query), self._grid(query), dataset.source.statistics(query.whole)
        if self.arithmetic == "exact":
            one = cast(OneConjugate, family)
            (numbers,) = (tuple(int(number) for number in np.ravel(values)) for values in exact.values())
            return {one.parameter: self._grid_law(query).draw(numbers, self.draws, noise)}
        weight, stream, spaces = 1.0 / self.temperature(query), noise.stream(), self._space.spaces(family)
        if not family.tables:
            one = cast(OneConjugate, family)
            law = one.update(self._part(query, one), weight, *one.statistic(exact, query.largest_total))
            first, second = (float(number) for number in law)
            drawn = LAWS[one.law].truncated(first, second, *spaces[one.parameter], self.draws, stream)
            return {one.parameter: on_scale(one, rounded(drawn, grid))}
        vectors = {
            table.parameter: vector_draws(
                self._part(query, table), weight, table.counts(exact), spaces[table.parameter][0], self.draws, stream
            )
            for table in family.tables
        }
        one_of = getattr(family, "coordinate", None)  # of two levels, where that is the parameter
        return {name: rounded(v if one_of is None else v[..., one_of], grid) for name, v in vectors.items()}

    def log_law(self, query: Statistics, draws: ArrayLike, exact: ArrayLike) -> Array:
        """Log-density of the released draws together for every given value of the exact statistic; one real parameter.

        The statistic is the count of the one level, or the centred sum. In exact arithmetic it is a log-probability.
        """
        *laws, space = self.law_given(query, exact)
        one, both = cast(OneConjugate, self._family(query)), (laws[0], laws[1])
        if self.arithmetic == "exact":
            values = np.asarray(exact, dtype=float)
            return log_grid_law(one, self._grid_law(query), draws, both, values, query.largest_total)
        return log_draws(one, draws, self._grid(query), both, space)

    def law_given(self, query: Statistics, exact: ArrayLike) -> tuple[Array, Array, tuple[float, float]]:
        """The tempered posterior on the declared space; of points of a grid, the law that they follow closely."""
        family, values = self._family(query), np.asarray(exact, dtype=float)
        if not family.is_conjugate:
            raise QueryError("PosteriorSample.log_law must have a single real parameter, got several tables")
        one = cast(OneConjugate, family)
        weight = 1.0 / self.temperature(query)
        return *one.update(self._part(query, one), weight, values, query.largest_total), self._space.of(one)

    @property
    def _space(self) -> DeclaredSpace:
        return DeclaredSpace("PosteriorSample", self.truncation, self.interval)

    def _loss(self, query: Statistics) -> float:
        """What one draw is charged, rounded up."""
        spread = self._space.log_range(self._family(query)) * ROUND_UP
        if not 0.0 < spread < math.inf:
            raise QueryError(f"PosteriorSample.interval must bound the likelihood in doubles, got {self.interval!r}")
        if self.worst_case is not None:
            return spread / self.temperature(query) * ROUND_UP
        if self.arithmetic == "double":
            return min(self.epsilon, spread)
        if self.epsilon < SMALLEST_LOSS or spread > HOTTEST * self.epsilon:
            limit = max(SMALLEST_LOSS, spread / HOTTEST)
            raise QueryError(f"PosteriorSample.epsilon must be at least {limit:g} if exact, got {self.epsilon!r}")
        return min(self.epsilon, max(spread, SMALLEST_LOSS))

    def _at_n(self, query: Statistics) -> Cooled:
        """For the worst two tables of the public number of records."""
        return tempered_at(query, self._family(query), self._space, self.epsilon, self.tempering)

    def _part(self, query: Statistics, piece: OneConjugate | ConditionalTable) -> Array:
        return prior_part(piece, self.temperature(query), self.tempering)

    def _grid(self, query: Statistics) -> float:
        """The public grid: as asked, or a power of two that suits the declared space if exact, and the noise if not."""
        low, high = self._bounds(query)
        largest = max(abs(low), abs(high))
        if self.arithmetic == "exact":
            grid = default_grid(low, high) if self.grid is None else self.grid
            finest = float(max((high - low) / MOST_POINTS, largest / 2**52))
        else:
            deviation = self._deviation(query)
            grid, finest = public_grid("PosteriorSample", self.grid, deviation), finest_grid(deviation)
            if largest / 2**31 > (high - low) / 2:  # the widest step of a released number
                limit = "wider than 2^-30 of its larger end"
                raise QueryError(f"PosteriorSample.interval must be {limit}, got {self.interval!r}")
        if not finest <= grid <= (high - low) / 2:
            limit = f"from {finest:g} to {float((high - low) / 2):g}, half of the declared space"
            raise QueryError(f"PosteriorSample.grid must be {limit}, got {grid!r}")
        return grid

    def _deviation(self, query: Statistics) -> float:
        """What no table makes the deviation of a draw fall below."""
        family, weight, n = self._family(query), 1.0 / self.temperature(query), query.largest_total
        spaces = self._space.spaces(family)
        return min(
            piece.tempered_deviation(self._part(query, piece), weight, n, spaces[piece.parameter])
            for piece in _pieces(family)
        )

    def _bounds(self, query: Statistics) -> tuple[Fraction, Fraction]:
        """The ends of the declared space on the scale that is rounded, or on that of the points if exact."""
        family = self._family(query)
        self._space.check(family)
        if not family.is_conjugate:
            return Fraction(0), Fraction(1)
        one = cast(OneConjugate, family)
        if self.arithmetic == "exact":
            return self._space.released(one)
        low, high = self._space.of(one)
        return Fraction(low), Fraction(high)

    def _grid_law(self, query: Statistics) -> GridLaw:
        family, temperature = cast(OneConjugate, self._family(query)), self.temperature(query)
        grid, n, loss = self._grid(query), query.largest_total, self._loss(query)
        ends = grid_ends(*self._bounds(query), grid)
        return grid_law(family, n, ends, grid, temperature, self.tempering, loss)

    def _family(self, query: Statistics) -> Family:
        """The family of the query, if its posterior has a bounded version for this relation and arithmetic."""
        family = query.family
        check_records("PosteriorSample", query)
        if family is None or not family.has_space:
            kinds = "probabilities, or a mean or rate of a public number of rows"
            raise QueryError(f"PosteriorSample must have a model of {kinds}, got another query")
        if self.arithmetic == "exact" and not family.law:
            raise QueryError('PosteriorSample.arithmetic must be "double" for vectors of probabilities, got "exact"')
        return family


def _pieces(family: Family) -> tuple[OneConjugate | ConditionalTable, ...]:
    """What is drawn on its own: every table, or the one real parameter."""
    return family.tables or (cast(OneConjugate, family),)
