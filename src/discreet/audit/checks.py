"""The registered checks: each ships with the bugs that must turn it red. Deterministic and fast; no statistics needed.

Importing this module registers them.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.accounting import conversions
from discreet.accounting.filters import FILTERS
from discreet.audit.neighbours import neighbouring_pairs
from discreet.audit.planted import check
from discreet.guarantee import ZCDP, BoundedRange, Budget, Composed, GaussianDP, Guarantee, Repeated
from discreet.mechanisms import NoisyStatistics
from discreet.models import NaiveBayes
from discreet.noise import DiscreteGaussian
from discreet.query import Statistics
from discreet.schema import Binary, Categorical, Column, Schema

__all__: list[str] = []

BUDGET = Budget(1.0, 1e-6)


def _query(relation: str = "replace-one") -> Statistics:
    wards, sexes = Categorical(["A", "B", "C"]), Categorical(["f", "m"])
    columns: dict[str, Column] = {"ward": wards, "smoker": Binary(), "sex": sexes}
    if relation == "replace-one":
        return NaiveBayes("ward", ("smoker", "sex")).query(Schema(columns, n=3))
    return NaiveBayes("ward", ("smoker", "sex")).query(Schema(columns, relation="add-remove", n_max=3))


@dataclass(frozen=True)
class Declared:
    """A declared L1 sensitivity beside the query it is declared for."""

    query: Statistics
    l1: Fraction


@check(
    "declared sensitivity bounds every neighbour",
    subject=lambda: Declared(_query(), Fraction(_query().l1)),
    planted={
        "sensitivity halved": lambda: Declared(_query(), Fraction(_query().l1, 2)),
        "relation factor 2 dropped": lambda: Declared(_query(), Fraction(_query("add-remove").l1)),
    },
)
def _sensitivity(declared: Declared) -> bool:
    return all(pair.moved[0] <= declared.l1 for pair in neighbouring_pairs(declared.query))


@check(
    "noise scale meets epsilon in exact rationals",
    subject=lambda: NoisyStatistics(epsilon=0.1),
    planted={"one of two tables charged": lambda: NoisyStatistics(epsilon=0.2)},
)
def _scale(mechanism: NoisyStatistics) -> bool:
    laws = mechanism.laws(_query())
    losses = [Fraction(2) / Fraction(getattr(law, "scale", 1.0)) for law in laws.values()]
    return sum(losses) <= Fraction("0.1")


@check(
    "repetition is explicit composition",
    subject=lambda: Repeated(BoundedRange(0.3), 5),
    planted={"count dropped": lambda: Repeated(BoundedRange(0.3), 1)},
)
def _repetition(repeated: Repeated) -> bool:
    explicit = Composed((BoundedRange(0.3),) * 5)
    same = all(repeated.epsilon(delta) == explicit.epsilon(delta) for delta in (1e-9, 1e-5, 1e-2))
    return same and FILTERS["zcdp"].spend(repeated, BUDGET) == FILTERS["zcdp"].spend(explicit, BUDGET)


@check(
    "a discrete Gaussian is certified by what its own divergence satisfies",
    subject=lambda: ZCDP(0.5),
    planted={"certified as Gaussian DP": lambda: GaussianDP(1.0)},
)
def _discrete_gaussian(certificate: Guarantee) -> bool:
    k = np.arange(-60, 61)
    p, q = (np.exp(DiscreteGaussian(1.0).log_density(k - shift)) for shift in (0, 1))
    profile = {epsilon: float(np.maximum(p - np.exp(epsilon) * q, 0).sum()) for epsilon in (0.5, 1.0, 2.0)}
    return all(delta <= certificate.delta(epsilon) for epsilon, delta in profile.items())


@check(
    "composition comes before conversion",
    subject=lambda: Repeated(ZCDP(0.01), 100).epsilon(1e-6),
    planted={
        "delta converted before composing": lambda: 100 * ZCDP(0.01).epsilon(1e-6 / 100),
        "standard conversion reported as exact": lambda: 1.0 + 2 * np.sqrt(-np.log(1e-6)),
    },
)
def _order_of_conversion(epsilon: float) -> bool:
    return epsilon <= conversions.zcdp_epsilon(1.0, 1e-6) * (1 + 1e-12)


@check(
    "each draw is paid",
    subject=lambda: 2,
    planted={"one draw charged for two": lambda: 1},
)
def _draws(charged: int) -> bool:
    from discreet.mechanisms import PosteriorSample
    from discreet.models import BetaBernoulli

    query = BetaBernoulli("smoker").query(replace(_query().schema, n=10))
    two = PosteriorSample(epsilon=0.5, truncation=0.2, draws=2).guarantee(query)
    return FILTERS["pure"].spend(two, BUDGET) == charged * FILTERS["pure"].spend(BoundedRange(0.5), BUDGET)
