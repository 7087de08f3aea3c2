"""Posterior samples: draws of the tempered posterior on a declared parameter space. Proof: posterior_sample.md.

    theta ~ p(theta, X)^{1/T} on the space,   T = max(1, R / epsilon),   R = range of log p(x|theta) - log p(x'|theta)

is epsilon-bounded-range, hence epsilon-DP and epsilon²/8-zCDP per draw  [Foulds et al. 2016, Thm 2; DDR2020]. R follows
from the declared space alone (`samplers.declared_space`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Basis, BoundedRange, Guarantee, Repeated
from discreet.mechanisms.base import (
    NORMAL_ERROR,
    RATIO_ERROR,
    check_draws,
    check_grid,
    check_label,
    checked_interval,
    public_grid,
    rounding_words,
)
from discreet.mechanisms.draws.declared_space import DeclaredSpace, tables_of
from discreet.mechanisms.draws.draw_laws import log_draws
from discreet.mechanisms.draws.exact_grid import MOST_POINTS, GridLaw, default_grid, grid_ends, grid_law, log_grid_law
from discreet.mechanisms.draws.least_deviation import tempered_deviation
from discreet.mechanisms.draws.public_grid import finest_grid, rounded
from discreet.mechanisms.draws.tempered import Tempering, on_scale, parameters, prior_part, scalar_draws, vector_draws
from discreet.noise.sources import NoiseSource
from discreet.queries.families.base import (
    ConditionalTable,
    Dirichlet,
    DirichletTables,
    Family,
    GaussianMean,
    HiddenMarkov,
)
from discreet.queries.statistics import Counts, Statistics
from discreet.schema import Record
from discreet.sources import Dataset

__all__ = ["PosteriorSample"]

Array = np.ndarray[Any, np.dtype[np.float64]]
Arithmetic = Literal["double", "exact"]

ROUND_UP = 1 + 1e-14  # above the rounding error of the few operations that make a range
SMALLEST_LOSS = 2.0**-30  # of integer weights, whose rounding costs 2^-36
HOTTEST = 2.0**60
SMALLEST_TRUNCATION = 2.0**-40  # 1 - truncation has digits of it: the upper end of the space is not 1


@dataclass(frozen=True)
class PosteriorSample:
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
    """

    epsilon: float
    truncation: float | Mapping[str, float] | None = None
    interval: tuple[float, float] | None = None
    tempering: Tempering = "joint"
    arithmetic: Arithmetic = "double"
    draws: int = 1
    grid: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        settled = {
            "epsilon": positive("PosteriorSample.epsilon", self.epsilon),  # 1 and 1.0 are the same request
            "truncation": _checked_truncation(self.truncation),
            "interval": checked_interval("PosteriorSample", self.interval),
            "grid": check_grid("PosteriorSample", self.grid),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        for name, choices in (("tempering", get_args(Tempering)), ("arithmetic", get_args(Arithmetic))):
            if getattr(self, name) not in choices:
                raise GuaranteeError(f"PosteriorSample.{name} must be one of {choices}, got {getattr(self, name)!r}")
        check_draws("PosteriorSample", self.draws)
        check_label("PosteriorSample", self.label)

    def __hash__(self) -> int:
        values = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(tuple(value.items()) if isinstance(value, Mapping) else value for value in values))

    def temperature(self, query: Statistics) -> float:
        """T = max(1, R / epsilon), rounded up: a hotter posterior is the more private one."""
        return max(1.0, self._space.log_range(self._family(query)) / self.epsilon * ROUND_UP)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        heated = {"joint": "", "natural": " of the natural parameter", "likelihood": " of the likelihood alone"}
        return f"draws of the posterior at temperature {self.temperature(query):.4g}{heated[self.tempering]}"

    def guarantee(self, query: Statistics) -> Guarantee:
        """BoundedRange(R / T) per draw: epsilon, or the smaller R when the posterior is private enough untempered."""
        schema, family, loss, grid = query.schema, self._family(query), self._loss(query), self._grid(query)
        tables = tables_of(family) if isinstance(family, Dirichlet | DirichletTables) else (family,)
        for part in (self._part(query, table) for table in tables):
            if not np.all((part[:1] if isinstance(family, GaussianMean) else part) > 0):
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
            error = NORMAL_ERROR if isinstance(family, GaussianMean) else RATIO_ERROR
            sampler = (
                "exact draw by rejection from a ChaCha20 generator keyed by the operating system, in double precision, "
                f"{rounding_words(grid, error)}"
            )
        one = BoundedRange(loss, Basis(schema.relation, str(schema.unit), theorem, sampler))
        return one if self.draws == 1 else Repeated(one, self.draws)

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """One row per draw; vectors in the order of the declared levels."""
        family = self._family(query)
        if isinstance(family, DirichletTables) or (isinstance(family, Dirichlet) and family.coordinate is None):
            return {table.parameter: (self.draws, *table.shape) for table in tables_of(family)}
        return {family.parameter: (self.draws,)}

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset) -> dict[str, np.ndarray[Any, Any]]:
        """Read the exact statistics once, temper, draw, round to the public grid."""
        family, grid = self._family(query), self._grid(query)
        full = tuple(replace(each, cell=None) if isinstance(each, Counts) else each for each in query.statistics)
        exact = dataset.source.statistics(replace(query, statistics=full))
        if self.arithmetic == "exact":
            assert not isinstance(family, DirichletTables)
            (statistic,) = (tuple(int(number) for number in np.ravel(values)) for values in exact.values())
            return {family.parameter: self._grid_law(query).draw(statistic, self.draws, noise)}
        weight, generator, drawn = 1.0 / self.temperature(query), noise.generator(), {}
        if isinstance(family, Dirichlet | DirichletTables):
            for table in tables_of(family):
                (counts,) = exact.values() if isinstance(family, Dirichlet) else (exact[table.statistic],)
                own = np.asarray(counts).reshape(*table.shape, -1).sum(axis=-1)
                part, lower = self._part(query, table), self._space.lower(table.parameter)
                drawn[table.parameter] = vector_draws(part, weight, own, lower, self.draws, generator)
            if isinstance(family, Dirichlet) and family.coordinate is not None:
                drawn[family.parameter] = drawn[family.parameter][:, family.coordinate]
        else:
            (total,) = exact.values()
            law = parameters(family, self._part(query, family), weight, int(total), query.largest_total)
            places = rounded(scalar_draws(family, law, self._space.of(family), self.draws, generator), grid)
            return {family.parameter: on_scale(family, places)}
        return {name: rounded(array, grid) for name, array in drawn.items()}

    def log_law(self, query: Statistics, draws: ArrayLike, statistic: ArrayLike) -> Array:
        """Log-density of the released draws together for every given value of the exact statistic; one real parameter.

        The statistic is the count of the one level, or the centred sum. In exact arithmetic it is a log-probability.
        """
        family, n, values = self._family(query), query.largest_total, np.asarray(statistic, dtype=float)
        if isinstance(family, DirichletTables):
            raise QueryError("PosteriorSample.log_law must have a single real parameter, got several tables")
        laws = parameters(family, self._part(query, family), 1.0 / self.temperature(query), values, n)
        if self.arithmetic == "exact":
            return log_grid_law(family, self._grid_law(query), draws, laws, values, n)
        return log_draws(family, draws, self._grid(query), laws, self._space.of(family))

    @property
    def _space(self) -> DeclaredSpace:
        return DeclaredSpace("PosteriorSample", self.truncation, self.interval)

    def _loss(self, query: Statistics) -> float:
        """What one draw is charged, rounded up."""
        spread = self._space.log_range(self._family(query)) * ROUND_UP
        if not 0.0 < spread < math.inf:
            raise QueryError(f"PosteriorSample.interval must bound the likelihood in doubles, got {self.interval!r}")
        if self.arithmetic == "double":
            return min(self.epsilon, spread)
        if self.epsilon < SMALLEST_LOSS or spread > HOTTEST * self.epsilon:
            limit = max(SMALLEST_LOSS, spread / HOTTEST)
            raise QueryError(f"PosteriorSample.epsilon must be at least {limit:g} if exact, got {self.epsilon!r}")
        return min(self.epsilon, max(spread, SMALLEST_LOSS))

    def _part(self, query: Statistics, family: Family | ConditionalTable) -> Array:
        return prior_part(family, self.temperature(query), self.tempering)

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
        if isinstance(family, Dirichlet | DirichletTables):
            parts = ((table, self._part(query, table)) for table in tables_of(family))
            return min(
                tempered_deviation(table, part, weight, n, self._space.lower(table.parameter)) for table, part in parts
            )
        return tempered_deviation(family, self._part(query, family), weight, n, self._space.of(family))

    def _bounds(self, query: Statistics) -> tuple[Fraction, Fraction]:
        """The ends of the declared space on the scale that is rounded, or on that of the points if exact."""
        family = self._family(query)
        self._space.check(family)
        if isinstance(family, DirichletTables):
            return Fraction(0), Fraction(1)
        if self.arithmetic == "exact":
            return self._space.released(family)
        low, high = self._space.of(family)
        return Fraction(low), Fraction(high)

    def _grid_law(self, query: Statistics) -> GridLaw:
        family, temperature = self._family(query), self.temperature(query)
        assert not isinstance(family, DirichletTables)
        grid, n, loss = self._grid(query), query.largest_total, self._loss(query)
        ends = grid_ends(*self._bounds(query), grid)
        return grid_law(family, n, ends, grid, temperature, self.tempering, loss)

    def _family(self, query: Statistics) -> Family | DirichletTables:
        """The family of the query, if its posterior has a bounded version for this relation and arithmetic."""
        schema, family = query.schema, query.family
        if schema.relation != "replace-one" or not isinstance(schema.unit, Record):
            got = f"{schema.relation} of a {schema.unit}"
            raise QueryError(f"PosteriorSample must have records that are replaced (replace-one), got {got}")
        if query.by is not None:
            raise QueryError(f"PosteriorSample must have a model without groups, got by={query.by!r}")
        if family is None or isinstance(family, HiddenMarkov):
            kinds = "probabilities, or a mean or rate of a public number of rows"
            raise QueryError(f"PosteriorSample must have a model of {kinds}, got another query")
        is_vector = isinstance(family, DirichletTables) or (isinstance(family, Dirichlet) and family.coordinate is None)
        if self.arithmetic == "exact" and is_vector:
            raise QueryError('PosteriorSample.arithmetic must be "double" for vectors of probabilities, got "exact"')
        return family


def _checked_truncation(truncation: Any) -> float | dict[str, float] | None:
    if isinstance(truncation, Mapping):
        named = {str(name): _checked_probability(truncation[name]) for name in truncation}
        return dict(sorted(named.items()))  # the order in which tables are named is no other request
    return None if truncation is None else _checked_probability(truncation)


def _checked_probability(truncation: Any) -> float:
    least = positive("PosteriorSample.truncation", truncation, below=0.5)
    if least < SMALLEST_TRUNCATION:
        raise GuaranteeError(f"PosteriorSample.truncation must be at least 2^-40, got {least!r}")
    return least
