"""Declared parameter spaces, on which likelihoods are bounded: a smallest probability, or an interval.

How far one record can move a log-likelihood there, R, is the family's to say.

The temperature of one posterior sample on probabilities that are each at least `truncation`  [F-OPS].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from discreet.accounting.bounded_losses import log_ratio
from discreet.checks import positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import BoundedRange
from discreet.mechanisms.base import Argument, Calibration, Epsilon
from discreet.queries.families import Family, Interval, OneConjugate

__all__ = ["DeclaredSpace", "checked_truncation", "one_temperature"]

SMALLEST_TRUNCATION = 2.0**-40  # 1 - truncation has digits of it: the upper end of the space is not 1


@dataclass(frozen=True)
class DeclaredSpace:
    """What the custodian declared: a smallest probability (one, or one for each table) or an interval.

    `owner` is the mechanism whose arguments these are, for messages.
    """

    owner: str
    truncation: float | Mapping[str, float] | None
    interval: Interval | None

    def check(self, family: Family) -> None:
        """Refuse the wrong declaration for a family, and one that leaves no room."""
        if not family.levels:
            self._check_interval(family)
            return
        if self.interval is not None:
            raise QueryError(f"{self.owner}.interval must be left out for probabilities, got {self.interval!r}")
        if self.truncation is None:
            raise QueryError(f"{self.owner}.truncation must be given for probabilities, got nothing")
        if isinstance(self.truncation, Mapping) and set(self.truncation) != set(family.levels):
            raise QueryError(f"{self.owner}.truncation must name {list(family.levels)}, got {list(self.truncation)}")
        for parameter, levels in family.levels.items():
            lower = self.lower(parameter)
            if levels * Fraction(lower) >= 1:
                limit = f"below 1/{levels} for {levels} levels"
                raise QueryError(f"{self.owner}.truncation must be {limit}, got {lower!r}")

    def _check_interval(self, family: Family) -> None:
        noun = "mean" if family.law == "normal" else "rate"
        if self.truncation is not None:
            raise QueryError(f"{self.owner}.truncation must be left out for a {noun}, got {self.truncation!r}")
        if self.interval is None:
            raise QueryError(f"{self.owner}.interval must be given for a {noun}, got nothing")
        if family.law == "gamma" and self.interval[0] <= 0.0:
            raise QueryError(f"{self.owner}.interval must be above 0 for a rate, got {self.interval!r}")

    def lower(self, parameter: str) -> float:
        """The smallest probability of one table."""
        assert self.truncation is not None
        return self.truncation[parameter] if isinstance(self.truncation, Mapping) else self.truncation

    def spaces(self, family: Family) -> dict[str, Interval]:
        """The space of every parameter; of a bounded mean, of its place between the bounds."""
        self.check(family)
        if family.levels:
            return {name: (self.lower(name), 1.0 - self.lower(name)) for name in family.levels}
        assert self.interval is not None
        return dict.fromkeys(family.shapes, self.interval)

    def of(self, family: OneConjugate) -> Interval:
        """The space of one real parameter."""
        return self.spaces(family)[family.parameter]

    def released(self, family: OneConjugate) -> tuple[Fraction, Fraction]:
        """The same on the scale on which it is released, in rationals."""
        if not family.levels:
            low, high = self.of(family)
            return Fraction(low), Fraction(high)
        start, width = (Fraction(number) for number in family.unit)
        lower = Fraction(self.lower(family.parameter))
        return start + width * lower, start + width * (1 - lower)

    def log_range(self, family: Family) -> float:
        """R, up to the rounding of a few operations in double precision."""
        return family.log_range(self.spaces(family))

    def words(self, family: Family) -> str:
        """The space, for a privacy officer."""
        return family.space_words(self.spaces(family))


def checked_truncation(kind: str, truncation: Any) -> float | dict[str, float] | None:
    """A smallest probability, one or by table, or None."""
    if isinstance(truncation, Mapping):
        named = {str(name): _checked_probability(kind, truncation[name]) for name in truncation}
        return dict(sorted(named.items()))  # the order in which tables are named is no other request
    return None if truncation is None else _checked_probability(kind, truncation)


def _checked_probability(kind: str, truncation: Any) -> float:
    least = positive(f"{kind}.truncation", truncation, below=0.5)
    if least < SMALLEST_TRUNCATION:
        raise GuaranteeError(f"{kind}.truncation must be at least 2^-40, got {truncation!r}")
    return least


def one_temperature(
    *,
    truncation: Annotated[float, Argument("Smallest probability of the parameter space.")],
    epsilon: Epsilon,
    levels: Annotated[int, Argument("Number of levels.", 2, 2**31)] = 2,
) -> Calibration:
    """Temperature of one posterior sample.

    Example:
      discreet calibrate posterior-sample --truncation 0.2 --epsilon 1
    """
    positive("calibrate.epsilon", epsilon)
    if levels < 2 or not 0 < positive("calibrate.truncation", truncation) < 1 / levels:
        raise GuaranteeError(f"calibrate.truncation must be below 1/{levels} for {levels} levels, got {truncation!r}")
    spread = 2 * log_ratio(levels, truncation) * (1 + 1e-14)
    temperature = max(1.0, spread / epsilon * (1 + 1e-15))
    return Calibration("temperature", temperature, BoundedRange(min(epsilon, spread)))
