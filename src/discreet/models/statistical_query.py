"""The mean of a bounded column in the table itself; nothing is assumed about the law of its cells.

    mean = lower + (upper - lower) · q,   q ~ Beta(a, b);   released: n · mean plus noise (and n plus noise, if private)

The parameter is the average of the rows that are there, not of a population they were drawn from: its posterior is as
wide as the noise, and the prior says what the average may be before the release.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, dirichlet_prior, pair
from discreet.models.sums import plain_sum, sum_query
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.numerics.logit_beta import LogitBeta
from discreet.posterior import CurvePosterior, Likelihood, Link, Scalar, curve_posterior
from discreet.posterior.given_draws import LogDraws
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families import BoundedMean
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.schema.row_counts import Sizes

__all__ = ["StatisticalQuery"]


WINDOW = 45.0  # nats of the noise on the number of rows beyond which a total cannot matter
MOST_TOTALS = 2000
FINEST = (
    2**12
)  # Laplace noise has a corner, at which the error of a quantile is then below 1e-6 of the posterior's width


@dataclass(frozen=True)
class StatisticalQuery(StatisticsModel):
    """The average of a bounded column over the rows of the table; a Beta(a, b) prior on its place in the bounds."""

    column: str
    prior: tuple[float, float] = (1.0, 1.0)
    by: str | None = None

    def __post_init__(self) -> None:
        prior = pair("StatisticalQuery.prior", self.prior, "(a, b)")
        object.__setattr__(self, "prior", dirichlet_prior("StatisticalQuery.prior", prior, 2))

    def query(self, schema: Schema) -> Statistics:
        """The sum of the column."""
        return sum_query(schema, self.column, self.by, BoundedMean("mean", self.prior, self._axis(schema)))

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> CurvePosterior:
        """Prior times the probability of the noise that the mean implies; a private number of rows is summed out."""
        released = _NoisyMean.of(query, value, laws, self._axis(query.schema))
        return self._curve(released, query.schema)

    def known_from(self, query: Statistics, log_draws: LogDraws) -> CurvePosterior:
        """The posterior of the mean given released draws; `log_draws` is their log-probability at each sum.

        The mean of the table and its number of rows are the sum: there is nothing to sum out.
        """
        axis, n = self._axis(query.schema), query.largest_total

        def log_likelihood(theta: Array) -> Array:
            v = np.clip((np.asarray(theta, dtype=float) - axis.centre) / axis.unit, -axis.reach, axis.reach)
            return log_draws(n * v)

        return self._curve(log_likelihood, query.schema)

    def plug_in(self, query: Statistics, value: Value) -> CurvePosterior:
        """Beta(a + s, b + n - s) with the noisy share s at face value."""
        s, rest = self._shares(query, value)
        a, b = self.prior
        return replace(self, prior=(a + s, b + rest))._curve(np.zeros_like, query.schema)

    def strengthened(self, query: Statistics, value: Value) -> "StatisticalQuery":
        """The same model with the cells of a public dataset as fractional successes and failures in its prior."""
        s, rest = self._shares(query, value)
        return replace(self, prior=(self.prior[0] + s, self.prior[1] + rest))

    def population(self, schema: Schema) -> Scalar:
        """The mean, on the logit scale of its place in the bounds when groups are pooled."""
        axis = self._axis(schema)
        return Scalar("mean", "logit", *self._belief(axis).moments, ends=axis.ends)

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """Log-probability of a group's release as a function of the parameter."""
        return _NoisyMean.of(query, value, laws, self._axis(query.schema))

    # no record_law: an average says nothing of the law of the cells, so its draws predict no record

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A mean from the prior, then n cells that have it, as nearly as the column's grid can say."""
        axis = self._axis(schema)
        share = rng.beta(*self.prior)
        steps = np.full(n, int(np.floor(share * axis.reach)))
        steps[: round((share * axis.reach - np.floor(share * axis.reach)) * n)] += 1
        low, high = axis.ends
        mean = low + (high - low) * (steps.mean() / axis.reach if n else share)
        return {"mean": float(mean)}, {self.column: axis.low + steps}

    def _curve(self, log_likelihood: Likelihood, schema: Schema) -> CurvePosterior:
        axis = self._axis(schema)
        prior = self._belief(axis)
        return curve_posterior("mean", prior, log_likelihood, prior.link, *prior.moments, finest=FINEST)

    def _shares(self, query: Statistics, value: Value) -> tuple[float, float]:
        axis = self._axis(query.schema)
        n, total = plain_sum(query, value, axis)
        low, high = axis.ends
        s = float(np.clip((total - n * low) / (high - low), 0.0, n))
        return s, n - s

    def _belief(self, axis: Axis) -> LogitBeta:
        return LogitBeta(*self.prior, Link("logit", *axis.ends))

    def _axis(self, schema: Schema) -> Axis:
        return Axis.of(schema, self.column)


@dataclass(frozen=True)
class _NoisyMean:
    """Log-probability of a released sum (and number of rows) as a function of the mean."""

    released: float
    law: NoiseLaw
    axis: Axis
    totals: Array
    log_totals: Array

    @classmethod
    def of(cls, query: Statistics, value: Value, laws: Laws, axis: Axis) -> "_NoisyMean":
        sizes = query.sizes
        if "n" not in value:
            totals, log_totals = np.array([float(sizes.highest)]), np.zeros(1)
        else:
            totals, log_totals = _possible_totals(sizes, float(value["n"]), laws["n"])
        return cls(float(value["sum"]), laws["sum"], axis, totals, log_totals)

    def __call__(self, theta: Array) -> Array:
        v = (np.asarray(theta, dtype=float) - self.axis.centre) / self.axis.unit
        gaps = self.released - v[..., np.newaxis] * self.totals
        log_terms = self.log_totals + self.law.log_density(gaps)
        top = log_terms.max(axis=-1)
        return np.asarray(top + np.log(np.exp(log_terms - top[..., np.newaxis]).sum(axis=-1)))


def _possible_totals(sizes: Sizes, released: float, law: NoiseLaw) -> tuple[Array, Array]:
    """Totals near the released one with their log-weights; evenly thinned where there are many."""
    reach = law.reach(WINDOW)
    centre = float(np.clip(released, 0, sizes.highest))
    low, high = max(0.0, np.floor(centre - reach)), min(float(sizes.highest), np.ceil(centre + reach))
    totals = np.unique(np.round(np.linspace(low, high, int(min(high - low + 1, MOST_TOTALS)))))
    log_weights = sizes.log_weight(totals) + law.log_density(released - totals)
    return totals.astype(np.float64), np.asarray(log_weights + np.log((high - low + 1) / totals.size))
