"""A yes/no column: x ~ Bernoulli(theta), theta ~ Beta(a, b).

With n public one count is enough (L1 sensitivity 1). When the number of used rows is private (bad cells excluded, or
add-remove) both counts are released, and the posterior averages over the total under a uniform prior up to its bound.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import QueryError
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, dirichlet_prior, pair
from discreet.posterior import (
    BernoulliRecord,
    BetaMixture,
    Likelihood,
    OneParameter,
    Scalar,
    beta_from_count,
    beta_from_two_counts,
    beta_given_draws,
    two_count_likelihood,
)
from discreet.posterior.given_draws import LogDraws
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import Dirichlet
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Schema

__all__ = ["BetaBernoulli"]

OTHERS = "DirichletCategorical asks for shares of levels, Normal for means"


@dataclass(frozen=True)
class BetaBernoulli(StatisticsModel):
    """The probability that a binary column is 1, with a Beta(a, b) prior, `prior=(a, b)`."""

    column: str
    prior: tuple[float, float] = (1.0, 1.0)
    by: str | None = None

    def __post_init__(self) -> None:
        prior = pair("BetaBernoulli.prior", self.prior, "(a, b)")
        object.__setattr__(self, "prior", dirichlet_prior("BetaBernoulli.prior", prior, 2))

    def query(self, schema: Schema) -> Statistics:
        """The count of ones; both counts when their total is private."""
        if not isinstance(schema.column(self.column), Binary):
            kind = type(schema.column(self.column)).__name__
            raise QueryError(f"BetaBernoulli.column must be binary, got {self.column!r}, a {kind}: {OTHERS}")
        a, b = self.prior
        family = Dirichlet("probability", (b, a), coordinate=1)
        both = Statistics(schema, (Counts.over(schema, "counts", self.column),), family)
        if self.by is not None or both.total is None:
            return both.grouped(self.by)
        return Statistics(schema, (Counts.over(schema, "ones", self.column, cell=(1,)),), family)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> BetaMixture:
        """The exact mixture of Beta(k + a, n - k + b) over the true count k."""
        if "counts" not in value:
            return beta_from_count(float(value["ones"]), query.largest_total, self.prior, laws["ones"])
        zeros, ones = (float(count) for count in np.asarray(value["counts"]))
        return beta_from_two_counts(zeros, ones, query.sizes, self.prior, laws["counts"])

    def plug_in(self, query: Statistics, value: Value) -> BetaMixture:
        """Clip the noisy counts to what is possible and update the prior with them."""
        if "counts" in value:
            zeros, ones = np.maximum(np.asarray(value["counts"], dtype=float), 0.0)
        else:
            ones = min(max(float(value["ones"]), 0.0), float(query.largest_total))
            zeros = query.largest_total - ones
        a, b = self.prior
        return BetaMixture(np.array([ones + a]), np.array([zeros + b]), np.zeros(1), np.nan)

    def strengthened(self, query: Statistics, value: Value) -> "BetaBernoulli":
        """The same model with the ones and zeros of a public dataset added to its prior."""
        ones = float(value["ones"] if "ones" in value else value["counts"][1])
        zeros = query.largest_total - ones if "ones" in value else float(value["counts"][0])
        return replace(self, prior=(self.prior[0] + ones, self.prior[1] + zeros))

    def known_from(self, query: Statistics, log_draws: LogDraws) -> BetaMixture:
        """The posterior given draws of the probability: the count behind them is summed out."""
        n = query.largest_total
        return beta_given_draws(n, self.prior, log_draws(np.arange(n + 1.0)))

    def population(self, schema: Schema) -> Scalar:
        """The probability, on the logit scale when groups are pooled."""
        from scipy.special import digamma, polygamma

        a, b = self.prior
        sd = float(np.sqrt(polygamma(1, a) + polygamma(1, b)))
        return Scalar("probability", "logit", float(digamma(a) - digamma(b)), sd, record=BernoulliRecord())

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """What the two noisy counts of a group say of its probability."""
        zeros, ones = (float(count) for count in np.asarray(value["counts"]))
        return two_count_likelihood(zeros, ones, query.sizes, laws["counts"])

    def prior_of_a_count(self, query: Statistics) -> tuple[float, float] | None:
        """Where one count is asked."""
        return self.prior if query.names == ("ones",) else None

    def reads_products(self, query: Statistics) -> bool:
        """One count is summed over; of two, cells with offsets of their own are not."""
        return query.names == ("ones",)

    def record_law(self, schema: Schema) -> OneParameter:
        """Codes 0 and 1."""
        return OneParameter("probability", BernoulliRecord())

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """The column itself."""
        return DeclaredRecords.alone(LevelCells.of(schema, self.column))

    def implied_schema(self) -> Schema:
        """One binary column."""
        return Schema({self.column: Binary()})

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Theta from the prior, then n rows."""
        theta = rng.beta(*self.prior)
        return {"probability": theta}, {self.column: (rng.random(n) < theta).astype(np.int64)}
