"""Draws of a conjugate posterior, its data scaled down or its prior scaled up. Proof: conjugate_sample.md.

    eta = eta0 / m + r (statistics, n)      direct: r = m = 1;  diffused: r < 1;  concentrated: m < 1      [G-A1..A3]

A draw has a Rényi curve (Theorem 1), a mean Gaussian DP (Theorem 2), and probabilities and rates have exact profiles
(Theorems 3 and 5). Fractions are calibrated to what was proved first, so that a stored request keeps its law.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from discreet.accounting.conversions import smallest_within, solve_decreasing
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import Basis, Budget, ConjugateProfile, GaussianDP, Guarantee, Repeated
from discreet.mechanisms.base import (
    RATIO_ERROR,
    Drawing,
    Progress,
    Released,
    check_draws,
    check_grid,
    public_grid,
    rounding_words,
)
from discreet.mechanisms.conjugate_sample.largest_fraction import cost_of_a_draw, largest_scale, largest_shrink
from discreet.mechanisms.draws.public_grid import rounded
from discreet.mechanisms.draws.real_laws import LAWS, log_draws
from discreet.mechanisms.draws.tempered import on_scale
from discreet.noise.sources import NoiseSource
from discreet.numerics.arrays import Array
from discreet.queries.families import OneConjugate
from discreet.queries.statistics import Statistics
from discreet.schema import Record
from discreet.sources import Dataset

__all__ = ["ConcentratedSample", "ConjugateSample", "DiffusedSample", "DirectSample", "conjugate_draws"]


@dataclass(frozen=True)
class ConjugateSample(Drawing):
    """What the three samplers share: the certificate of (r, m), the exact draw, and its rounding to a public grid.

    Parameters
    ----------
    draws
        Number of independent draws, all of them paid.
    grid
        Draws are rounded to multiples of this public power of two, and to 32 bits; by default, and at least, 2^-24 of
        a deviation that no table falls below. Of a bounded mean its place between the bounds is rounded.
    label
        A different label asks for an independent second release, which is paid.
    """

    is_strengthened = True

    draws: int = 1
    grid: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_draws(name, self.draws)
        check_label(name, self.label)
        object.__setattr__(self, "grid", check_grid(name, self.grid))

    def fractions(self, query: Statistics) -> tuple[float, float]:
        """R and m, from public facts: both 1 here."""
        return 1.0, 1.0

    def guarantee(self, query: Statistics) -> Guarantee:
        """The certificate of all draws together."""
        r, m = self.fractions(query)
        law = _family(self, query).law
        error = LAWS[law].error if law else RATIO_ERROR
        sampler = (
            "exact draw by numpy from a ChaCha20 generator keyed by the operating system, in double precision, "
            f"{rounding_words(self._grid(query), error)}"
        )
        return _certificate(self, query, r, m, sampler)

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        r, m = self.fractions(query)
        return f"draws of the posterior with the data scaled by {r:.4g} and the prior divided by {m:.4g}"

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """One row per draw; vectors in the order of the declared levels."""
        return {name: (self.draws, *shape) for name, shape in _family(self, query).shapes.items()}

    def log_law(self, query: Statistics, draws: ArrayLike, exact: ArrayLike) -> Array:
        """Log-density of the released draws together for every given value of the exact statistic; one real parameter.

        The statistic is the count of the one level, or the centred sum.
        """
        first, second, _ = self.law_given(query, exact)
        return log_draws(_family(self, query), draws, self._grid(query), (first, second))

    def law_given(self, query: Statistics, exact: ArrayLike) -> tuple[Array, Array, tuple[float, float]]:
        """At eta0 / m + r (statistics, n), cut nowhere."""
        family, (r, m) = _family(self, query), self.fractions(query)
        laws = family.update(family.exponents / m, r, exact, query.largest_total)
        return *laws, LAWS[family.law].whole

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset, progress: Progress = None) -> Released:
        """Read the exact statistic once, draw, round to the public grid.

        What maps a place between bounds to them is public and comes after rounding.
        """
        family, (r, m) = _family(self, query), self.fractions(query)
        exact = dataset.source.statistics(query.whole)
        drawn = conjugate_draws(family, exact, query.largest_total, r, m, self.draws, noise.stream())
        return {family.parameter: on_scale(family, rounded(drawn, self._grid(query)))}

    def _grid(self, query: Statistics) -> float:
        deviation = _family(self, query).conjugate_deviation(query.largest_total, *self.fractions(query))
        return public_grid(type(self).__name__, self.grid, deviation)


@dataclass(frozen=True)
class DirectSample(ConjugateSample):
    """Draws of the posterior itself: what they cost follows from prior and n, and nothing can be chosen.

    The prior decides: more concentrated priors cost less. There is no pure differential privacy.
    """

    calibrate = staticmethod(cost_of_a_draw)
    short_name = "direct"

    @property
    def paid_by(self) -> str:
        """Nothing can be chosen."""
        return ""

    @classmethod
    def within(cls, budget: Budget, query: Statistics) -> tuple[Drawing, ...]:
        """What it costs is compared with the budget."""
        return (cls(),) if budget.delta else ()


@dataclass(frozen=True)
class _Calibrated(ConjugateSample):
    """A sampler whose fraction meets a target: epsilon at a Rényi order, or epsilon and delta."""

    epsilon: float = math.nan
    order: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if (self.order is None) == (self.delta is None):
            raise GuaranteeError(f"{name} must get epsilon with order or with delta, got both or neither")
        object.__setattr__(self, "epsilon", positive(f"{name}.epsilon", self.epsilon))
        if self.order is not None:
            if not (isinstance(self.order, int | float) and 1 < self.order < math.inf):
                raise GuaranteeError(f"{name}.order must be a number above 1, got {self.order!r}")
            object.__setattr__(self, "order", float(self.order))
        else:
            object.__setattr__(self, "delta", positive(f"{name}.delta", self.delta, below=1.0))

    @classmethod
    def within(cls, budget: Budget, query: Statistics) -> tuple[Drawing, ...]:
        """The fraction that meets the budget."""
        return (cls(epsilon=budget.epsilon, delta=budget.delta),) if budget.delta else ()

    def pair(self, fraction: float) -> tuple[float, float]:
        """(r, m) at a fraction."""
        raise NotImplementedError

    def fractions(self, query: Statistics) -> tuple[float, float]:
        """The largest fraction whose certificate was seen to meet the target."""
        return _largest_fractions(self, replace(query, family=_family(self, query).shortened))


@dataclass(frozen=True)
class DiffusedSample(_Calibrated):
    """Draws with the data scaled by the largest r in (0, 1] that meets the target."""

    calibrate = staticmethod(largest_scale)
    short_name = "diffused"

    def pair(self, fraction: float) -> tuple[float, float]:
        """The data are scaled."""
        return fraction, 1.0


@dataclass(frozen=True)
class ConcentratedSample(_Calibrated):
    """Draws with the prior divided by the largest m in (0, 1] that meets the target: best where the prior is right."""

    calibrate = staticmethod(largest_shrink)
    short_name = "concentrated"

    def pair(self, fraction: float) -> tuple[float, float]:
        """The prior is divided."""
        return 1.0, fraction


@lru_cache(maxsize=64)  # a pure function of public facts; simulations ask it again for every table
def _largest_fractions(mechanism: _Calibrated, query: Statistics) -> tuple[float, float]:
    family, n = _family(mechanism, query), query.largest_total

    def certificate(inverse: float) -> Guarantee:
        return _all_draws(mechanism, family.calibration(n, *mechanism.pair(1.0 / inverse)))

    epsilon, order, delta = mechanism.epsilon, mechanism.order, mechanism.delta
    if order is not None:
        inverse = solve_decreasing(lambda x: certificate(x).renyi(order), epsilon, low=1.0)
    elif isinstance(certificate(1.0), ConjugateProfile | GaussianDP):
        assert delta is not None
        inverse = solve_decreasing(lambda x: certificate(x).delta(epsilon), delta, low=1.0)
    else:  # what is known is a Rényi curve, whose smallest delta is a search over orders: fewer fractions are tried
        assert delta is not None
        inverse = smallest_within(lambda x: certificate(x).renyi, epsilon, delta, low=1.0)
        while inverse < math.inf and certificate(inverse).epsilon(delta) > epsilon:  # by a rounding error
            inverse *= 1.0 + 1e-14
    if math.isinf(inverse):
        name, at = type(mechanism).__name__, f"order = {order!r}" if delta is None else f"delta = {delta!r}"
        raise GuaranteeError(
            f"{name}.epsilon must be larger at {at}: out of reach of this certificate, got {epsilon!r}"
        )
    return mechanism.pair(1.0 / inverse)


def conjugate_draws(
    family: OneConjugate,
    exact: Mapping[str, Any],
    n: int,
    scale: float,
    shrink: float,
    draws: int,
    noise: np.random.Generator,
) -> Array:
    """Independent draws of the parameter at eta0 / m + r (statistics, n); nothing is rejected or clipped here."""
    if family.law:
        first, second = family.update(family.exponents / shrink, scale, *family.statistic(exact, n))
        return np.asarray(LAWS[family.law].draws(float(first), float(second), draws, noise))
    (table,) = family.tables
    alpha = family.exponents / shrink + scale * np.ravel(np.asarray(table.counts(exact), dtype=float))
    return np.asarray(noise.dirichlet(alpha, size=draws))


def _family(mechanism: ConjugateSample, query: Statistics) -> OneConjugate:
    name, schema, family = type(mechanism).__name__, query.schema, query.family
    if schema.relation != "replace-one" or not isinstance(schema.unit, Record) or query.by is not None:
        raise QueryError(f"{name} must have records that are replaced, and no groups, got {schema.relation}")
    if getattr(query, "excludes", False):  # a loss, which no family answers, does not say
        raise QueryError(
            f"{name} must have a public number of rows, got columns that exclude bad cells: say in missing= what they "
            "count as, or declare the columns complete"
        )
    if family is None or not family.is_conjugate:
        raise QueryError(f"{name} must have a model with one conjugate parameter, got another")
    return cast(OneConjugate, family)


def _certificate(mechanism: ConjugateSample, query: Statistics, r: float, m: float, sampler: str = "") -> Guarantee:
    """The strongest proved certificate of all draws with the data scaled by r and the prior divided by m."""

    def basis(theorem: str) -> Basis:
        return Basis(query.schema.relation, str(query.schema.unit), f"{theorem} (conjugate_sample.md)", sampler)

    return _all_draws(mechanism, _family(mechanism, query).certificate(query.largest_total, r, m, basis))


def _all_draws(mechanism: ConjugateSample, one: Guarantee) -> Guarantee:
    return one if mechanism.draws == 1 else Repeated(one, mechanism.draws)
