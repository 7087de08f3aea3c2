"""Rates: counts x ~ Poisson(rate) or waiting times x ~ Exponential(rate), clamped; rate ~ Gamma(shape, rate).

Clamping is part of the likelihood: a record on the upper bound says "at least this many", or "at least this long". Both
models share the prior, one noisy sum of clamped records, and a posterior on the log scale; each writes its record law,
its conjugate update and how its records are simulated.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from discreet.errors import QueryError
from discreet.inference.one_sum.clamped_records import ClampedExponential, ClampedPoisson, ClampedRecord
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, pair, prior_number
from discreet.models.sums import lattice_of, noisy_sum, plain_sum, sum_query
from discreet.numerics.arrays import Array
from discreet.posterior import CurvePosterior, Likelihood, Link, OneParameter, Scalar, curve_posterior
from discreet.posterior.given_draws import LogDraws, curve_given_draws
from discreet.posterior.records.declared_records import DeclaredRecords, NumberColumn
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families import ExponentialRate, OneSum, PoissonRate
from discreet.queries.statistics import Statistics
from discreet.schema import Bounded, Count, Schema

__all__ = ["GammaExponential", "GammaPoisson", "RateModel"]

LOG = Link("log")


@dataclass(frozen=True)
class RateModel(StatisticsModel):
    """A rate with a Gamma(prior[0], rate prior[1]) prior, given a noisy sum."""

    column: str
    prior: tuple[float, float] = (1.0, 1.0)
    by: str | None = None

    def __post_init__(self) -> None:
        field = f"{type(self).__name__}.prior"
        numbers = tuple(prior_number(field, value) for value in pair(field, self.prior, "(shape, rate)"))
        object.__setattr__(self, "prior", numbers)

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Refuse a column of another kind."""

    @abstractmethod
    def family(self, axis: Axis) -> OneSum:
        """The conjugate family of the rate."""

    @abstractmethod
    def record(self, axis: Axis) -> ClampedRecord:
        """The law of one clamped record given the rate."""

    @abstractmethod
    def conjugate(self, n: float, total: float) -> tuple[float, float]:
        """The prior updated with n exact records that sum to `total`."""

    @abstractmethod
    def records(self, rate: float, n: int, rng: np.random.Generator) -> Array:
        """N records before clamping."""

    def query(self, schema: Schema) -> Statistics:
        """The sum of the clamped records."""
        self.check(schema)
        return sum_query(schema, self.column, self.by, self.family(self._axis(schema)))

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> CurvePosterior:
        """The exact posterior of the rate, by Fourier inversion and quadrature."""
        return self._curve(self.prior, self.likelihood(query, value, laws), query.schema)

    def known_from(self, query: Statistics, log_draws: LogDraws) -> CurvePosterior:
        """The posterior of the rate given released draws; `log_draws` is their log-probability at each sum."""
        prior, moments = _LogGamma(*self.prior), _log_moments(self.prior)
        record = self.record(self._axis(query.schema))
        return curve_given_draws("rate", log_draws, record, query.largest_total, prior, LOG, *moments)

    def plug_in(self, query: Statistics, value: Value) -> CurvePosterior:
        """The conjugate Gamma law with the noisy sum at face value."""
        after = self.conjugate(*plain_sum(query, value, self._axis(query.schema)))
        return self._curve(after, np.zeros_like, query.schema)

    def strengthened(self, query: Statistics, value: Value) -> Self:
        """The same model with the records of a public dataset added to its prior (clamped as the schema says)."""
        return replace(self, prior=self.conjugate(*plain_sum(query, value, self._axis(query.schema))))

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """Log-probability of a (group's) release as a function of the rate."""
        return noisy_sum(query, value, laws, self.record(self._axis(query.schema))).log_likelihood

    def population(self, schema: Schema) -> Scalar:
        """The rate, on the log scale when groups are pooled."""
        return Scalar("rate", "log", *_log_moments(self.prior), record=self.record(self._axis(schema)))

    def record_law(self, schema: Schema) -> OneParameter:
        """Records of the rate."""
        return OneParameter("rate", self.record(self._axis(schema)))

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(NumberColumn.of(schema, self.column))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A rate from the prior, then n records."""
        rate = rng.gamma(self.prior[0], 1.0 / self.prior[1])
        return {"rate": rate}, {self.column: self._axis(schema).of_values(self.records(rate, n, rng))}

    def _curve(self, gamma: tuple[float, float], likelihood: Likelihood, schema: Schema) -> CurvePosterior:
        mean, sd = _log_moments(gamma)
        record = self.record(self._axis(schema))
        return curve_posterior("rate", _LogGamma(*gamma), likelihood, LOG, mean, sd, record)

    def _axis(self, schema: Schema) -> Axis:
        return Axis.of(schema, self.column)


@dataclass(frozen=True)
class GammaPoisson(RateModel):
    """The mean of a column of counts, with a Gamma(prior[0], rate prior[1]) prior."""

    def check(self, schema: Schema) -> None:
        """A column of counts."""
        if not isinstance(schema.column(self.column), Count):
            kind = type(schema.column(self.column)).__name__
            raise QueryError(f"GammaPoisson.column must be a count, got {self.column!r}, a {kind}")

    def family(self, axis: Axis) -> PoissonRate:
        """Gamma(shape + sum, rate + n)."""
        return PoissonRate("rate", self.prior, axis)

    def record(self, axis: Axis) -> ClampedPoisson:
        """Poisson counts, clamped."""
        return ClampedPoisson(lattice_of(axis))

    def conjugate(self, n: float, total: float) -> tuple[float, float]:
        """Gamma(shape + sum, rate + n)."""
        return self.prior[0] + total, self.prior[1] + n

    def records(self, rate: float, n: int, rng: np.random.Generator) -> Array:
        """Poisson counts."""
        return np.asarray(rng.poisson(rate, n), dtype=float)


@dataclass(frozen=True)
class GammaExponential(RateModel):
    """The rate of a column of waiting times, with a Gamma(prior[0], rate prior[1]) prior."""

    def check(self, schema: Schema) -> None:
        """A bounded column of numbers that are not negative."""
        column = schema.column(self.column)
        if not isinstance(column, Bounded) or column.lower < 0:
            raise QueryError(f"GammaExponential.column must be bounded from 0 or above, got {self.column!r}: {column}")

    def family(self, axis: Axis) -> ExponentialRate:
        """Gamma(shape + n, rate + sum)."""
        return ExponentialRate("rate", self.prior, axis)

    def record(self, axis: Axis) -> ClampedExponential:
        """Exponential times, clamped."""
        return ClampedExponential(lattice_of(axis))

    def conjugate(self, n: float, total: float) -> tuple[float, float]:
        """Gamma(shape + n, rate + sum)."""
        return self.prior[0] + n, self.prior[1] + total

    def records(self, rate: float, n: int, rng: np.random.Generator) -> Array:
        """Exponential times."""
        return np.asarray(rng.exponential(1.0 / rate, n))


class _LogGamma:
    """Log-density of log rate under a Gamma law."""

    def __init__(self, shape: float, rate: float) -> None:
        from scipy.special import gammaln

        self.shape, self.rate = shape, rate
        self.constant = shape * np.log(rate) - float(gammaln(shape))

    def __call__(self, eta: Array) -> Array:
        return np.asarray(self.shape * eta - self.rate * np.exp(np.minimum(eta, 700.0)) + self.constant)


def _log_moments(gamma: tuple[float, float]) -> tuple[float, float]:
    from scipy.special import digamma, polygamma

    shape, rate = gamma
    return float(digamma(shape) - np.log(rate)), float(np.sqrt(polygamma(1, shape)))
