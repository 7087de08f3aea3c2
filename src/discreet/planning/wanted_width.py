"""From what is wanted to what it costs: the least budget at which intervals, or errors, are as small as asked for.

The budget of a mechanism is one of its arguments; the mechanism that is given says which, and its other arguments. On
tables that are the same at every budget the expected width falls steadily as the budget grows, from the prior's to that
of exact statistics. A quarter of the tables searches; all of them, at what it finds, correct it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from discreet.checks import positive
from discreet.errors import GuaranteeError, QueryError
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.numerics.arrays import Array
from discreet.pipeline import query_of
from discreet.planning.simulated_runs import Runs, affordable_runs
from discreet.planning.spread_tables import SpreadTables
from discreet.schema import Schema

__all__ = ["Measure", "Reached", "least_budget"]

Measure = Literal["width", "rms"]
Figure = Callable[[float], float]

FEWEST_TABLES = 16
STEP = 4.0  # of the budget, while it is searched for
FLAT = 0.07  # a power of the budget that no longer changes a width
NEAR_PRIOR = 0.8  # of the prior's width: where a flat curve says that noise drowns everything
SMALLEST, LARGEST = 1e-12, 1e6  # budgets that are tried
WITHIN = 0.004  # of the asked width, relatively
CORRECTIONS, ROOT_STEPS = 4, 25


@dataclass(frozen=True)
class Reached:
    """What was asked for, the argument of the mechanism that reaches it, and figures at other values of it."""

    measure: Measure
    parameter: str
    asked: float
    argument: str
    level: float
    curve: tuple[tuple[float, float], ...]

    def lines(self) -> list[tuple[str, str]]:
        """The answer and the curve in words."""
        named = {"width": "an expected width", "rms": "a root mean square error"}[self.measure]
        points = ", ".join(f"{level:.4g}: {figure:.4g}" for level, figure in self.curve)
        return [
            ("needed", f"{self.argument} = {self.level:.4g} for {named} of {self.asked:.4g} of {self.parameter}"),
            ("curve", f"{self.measure} at other values of {self.argument}: {points}"),
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data; points of the curve under the names of what they are."""
        points = [{self.argument: level, self.measure: figure} for level, figure in self.curve]
        return {**vars(self), "curve": points}


def least_budget(
    model: Model, mechanism: Mechanism, schema: Schema, measure: Measure, asked: Any, runs: int
) -> tuple[Reached, Mechanism, Runs]:
    """The smallest budget that reaches what is asked, the mechanism with it, and what it would give."""
    query = query_of(model, mechanism, schema)
    if not mechanism.paid_by:
        raise QueryError(f"Plan.{measure} must be asked of a mechanism with one epsilon or rho, got {mechanism!r}")
    wanted_runs = max(runs, FEWEST_TABLES)
    afforded = affordable_runs(model, mechanism, query, wanted_runs)
    if afforded < FEWEST_TABLES:
        raise QueryError(
            f"Plan.{measure} must be asked where {FEWEST_TABLES} simulated runs are affordable, got chains that allow "
            f"{afforded}"
        )
    tables = SpreadTables(model, schema, mechanism, afforded)
    name, wanted = _wanted(measure, asked, tables.names)
    seeds = tables.seeds(name)

    @cache
    def whole(level: float) -> Runs:
        return tables.released(mechanism.at(level), seeds)

    @cache
    def quarter(level: float) -> float:
        return _figure(tables.released(mechanism.at(level), seeds[2::4]), measure, name, mechanism)

    search = _Search(measure, wanted, tables.prior(name, PRIOR[measure]), getattr(mechanism, mechanism.paid_by))
    level, ratio, doubted = search.start, 1.0, 0.0
    for _ in range(CORRECTIONS):
        try:
            level = search.root(_scaled(quarter, ratio))
        except _OutOfReach as problem:
            if doubted:
                raise QueryError(str(problem)) from None
            level = doubted = problem.level  # asked of all tables, before it is refused
        found = _figure(whole(level), measure, name, mechanism)
        ratio = found / quarter(level)
        if abs(math.log(found / wanted)) <= WITHIN:
            break
    curve = search.around(_scaled(quarter, ratio), level)
    reached = Reached(measure, name, wanted, mechanism.paid_by, level, curve)
    return reached, mechanism.at(level), whole(level)


class _OutOfReach(Exception):
    """A figure that no budget reaches, as far as the search could see, and the last level at which it looked."""

    def __init__(self, text: str, level: float) -> None:
        super().__init__(text)
        self.level = level


@dataclass(frozen=True)
class _Search:
    """For the level where a falling figure is what is wanted, between powers of the step times the start."""

    measure: Measure
    wanted: float
    prior: float
    start: float

    def root(self, figure: Figure) -> float:
        """By false position in logarithms, an end that stays counting half; levels have four digits, rounded up."""
        low, high = self._bracket(figure)
        a, b = math.log(low), math.log(high)
        above, below = (math.log(figure(end) / self.wanted) for end in (low, high))
        last = 0.0
        for _ in range(ROOT_STEPS):
            share = min(max(above / (above - below), 0.05), 0.95)
            level = _rounded_up(math.exp(a + share * (b - a)))
            gap = math.log(figure(level) / self.wanted)
            if abs(gap) <= WITHIN / 2:
                return level
            if gap > 0:
                a, above = math.log(level), gap
                below *= 0.5 if last > 0 else 1.0
            else:
                b, below = math.log(level), gap
                above *= 0.5 if last < 0 else 1.0
            last = gap
        return _rounded_up(math.exp(b))

    def around(self, figure: Figure, level: float) -> tuple[tuple[float, float], ...]:
        """The curve from a quarter to four times the level, at halvings and doublings of the start."""
        first = math.ceil(math.log2(level / STEP / self.start))
        levels = [self.start * 2.0**k for k in range(first, first + 5) if self.start * 2.0**k <= STEP * level]
        points = {level: figure(level)}
        for other in levels:
            try:
                points[other] = figure(other)
            except GuaranteeError:  # a budget that the mechanism refuses
                continue
        return tuple(sorted(points.items()))

    def _bracket(self, figure: Figure) -> tuple[float, float]:
        """Two neighbours on the ladder, the figure above what is wanted at the first and not at the second."""
        level, here = self.start, figure(self.start)
        up = here > self.wanted
        while True:
            further = level * STEP if up else level / STEP
            try:
                there = figure(further) if SMALLEST <= further <= LARGEST else None
            except GuaranteeError:  # beyond what the mechanism takes
                there = None
            if there is None:
                raise self._out_of_reach(here, level, up=up)
            if (there > self.wanted) != up:
                return min(level, further), max(level, further)
            if up and there < NEAR_PRIOR * self.prior and here <= there * STEP**FLAT:
                fall = max(here**2 - there**2, 0.0)
                if self.wanted**2 < there**2 - fall / (STEP - 1):  # even if variances fell no faster than 1 / level
                    raise self._out_of_reach(math.sqrt(there**2 - fall / (STEP**2 - 1)), further, up=True)
            if not up and there > NEAR_PRIOR * self.prior and there <= here * (1 + WITHIN):
                raise self._out_of_reach(there, further, up=False)
            level, here = further, there

    def _out_of_reach(self, limit: float, level: float, *, up: bool) -> _OutOfReach:
        if up:
            said = f"above about {limit:.4g}, which it is without noise"
        else:
            said = f"below about {limit:.4g}, which the prior alone gives: nothing need be spent"
        return _OutOfReach(f"Plan.{self.measure} must be {said}, got {self.wanted:g}", level)


def _prior_width(values: Array) -> Array:
    lower, upper = np.quantile(values, (0.05, 0.95), axis=0)
    return np.asarray(upper - lower)


def _prior_deviation(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.var(values, axis=0))))


PRIOR: dict[Measure, Callable[[Array], Array]] = {"width": _prior_width, "rms": _prior_deviation}


def _wanted(measure: Measure, asked: Any, names: tuple[str, ...]) -> tuple[str, float]:
    """The one parameter that is meant and its figure: a number where there is no other, else by name."""
    given = asked if isinstance(asked, Mapping) else dict.fromkeys(names, asked)
    if len(given) != 1 or next(iter(given)) not in names:
        raise QueryError(f"Plan.{measure} must be a number, or one of {list(names)} with its number, got {asked!r}")
    ((name, value),) = given.items()
    return name, positive(f"Plan.{measure}", value, error=QueryError)


def _figure(runs: Runs, measure: Measure, name: str, mechanism: Mechanism) -> float:
    if measure == "rms":
        return float(np.sqrt(runs.errors[name].mean()))
    if not runs.widths:
        kind = type(mechanism).__name__
        raise QueryError(f"Plan.width must be asked of a mechanism with intervals, got {kind}: ask for rms")
    return float(runs.widths[name].mean())


def _scaled(figure: Figure, ratio: float) -> Figure:
    return lambda level: ratio * figure(level)


def _rounded_up(level: float) -> float:
    """Four digits, so that what is shown is what is spent."""
    digits = 3 - math.floor(math.log10(level))
    return float(f"{math.ceil(level * 10.0**digits) / 10.0**digits:.4g}")
