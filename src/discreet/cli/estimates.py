"""Posteriors as rows to print: one for every parameter; a probability is called by what it is the probability of."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ConvergenceWarning, QueryError

if TYPE_CHECKING:
    from discreet.posterior import CoefficientDraws, Posterior
    from discreet.queries.losses.base import Query

__all__ = ["Estimate", "estimates"]


@dataclass(frozen=True)
class Estimate:
    """The posterior mean of one parameter and its interval; a release of draws has no interval."""

    parameter: str
    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> str:
        """The interval as text."""
        return "" if self.low is None or self.high is None else f"{self.low:.4g} to {self.high:.4g}"

    def contains(self, value: float) -> bool:
        """Whether the interval contains a value."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not known is left out."""
        return {name: value for name, value in vars(self).items() if value is not None}


def estimates(query: "Query", posterior: "Posterior | CoefficientDraws", level: float) -> list[Estimate]:
    """Mean and interval of every parameter, in the order of the declared levels.

    Whether chains converged, commands say in a line of their own: here is no warning.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _estimates(query, posterior, level)


def _estimates(query: "Query", posterior: "Posterior | CoefficientDraws", level: float) -> list[Estimate]:
    names, means = [*query.labels] or [*posterior.summary().index], _flat(posterior.mean())
    names = names[: len(means)]  # a summary may say more than the parameters, e.g. of the population of groups
    try:
        bounds = posterior.interval(level)
    except QueryError:
        return [Estimate(name, mean) for name, mean in zip(names, means, strict=True)]
    lows, highs = (_flat(_side(bounds, side)) for side in (0, 1))
    return [Estimate(*row) for row in zip(names, means, lows, highs, strict=True)]


def _side(bounds: Any, side: int) -> Any:
    """The lower or the upper ends of intervals."""
    return {name: _side(pair, side) for name, pair in bounds.items()} if isinstance(bounds, dict) else bounds[side]


def _flat(answer: Any) -> list[float]:
    """The numbers of a float, an array, or of such by name, in order."""
    import numpy as np

    if isinstance(answer, dict):
        return [number for part in answer.values() for number in _flat(part)]
    return [float(number) for number in np.ravel(answer)]
