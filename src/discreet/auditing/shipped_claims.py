"""The registered checks: each ships with the bugs that must turn it red. Deterministic and fast; no statistics needed.

Importing this module registers them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting import conversions
from discreet.auditing.change_of_a_unit import l1_length, squared_length
from discreet.auditing.neighbours import worst_pair
from discreet.auditing.planted import check
from discreet.guarantee import ZCDP, BoundedRange, Budget, Composed, GaussianDP, Guarantee, Repeated
from discreet.ledger.filters import NAMED
from discreet.mechanisms import NoisyStatistics
from discreet.models import NaiveBayes, Normal
from discreet.noise import DiscreteGaussian
from discreet.queries.counts_and_sums import PRODUCT_BITS, Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Column, Person, Record, Relation, Schema, Unit

__all__: list[str] = []

BUDGET = Budget(1.0, 1e-6)


def _query(
    relation: Relation = "replace-one", unit: Unit | None = None, by: str | None = None, *, exclude: bool = False
) -> Statistics:
    missing = "exclude" if exclude else None
    wards, sexes = Categorical(["A", "B", "C"], missing=missing), Categorical(["f", "m"])
    columns: dict[str, Column] = {"ward": wards, "smoker": Binary(), "sex": sexes, "site": Categorical(["N", "S"])}
    n, n_max = (3, None) if relation == "replace-one" else (None, 3)
    schema = Schema(columns, unit=unit or Record(), relation=relation, n=n, n_max=n_max)
    return NaiveBayes("ward", ("smoker", "sex"), by=by).query(schema)


def _moments(unit: Unit | None = None, by: str | None = None) -> Statistics:
    """The sum of a column and of its squares, with the number of rows."""
    columns: dict[str, Column] = {"depth": Bounded(-5, -4), "site": Categorical(["N", "S"])}
    schema = Schema(columns, unit=unit or Record(), n=3)
    first = Sum.of(schema, "sum", "depth", bits=PRODUCT_BITS)
    second = Sum.of(schema, "squares", "depth", "depth", bits=PRODUCT_BITS)
    return Statistics(schema, (Counts.over(schema, "n"), first, second)).grouped(by)


THREE = Person("id", 3)


@dataclass(frozen=True)
class Declared:
    """Declared sensitivities beside the query they are declared for."""

    query: Statistics
    l1: Fraction
    squared_l2: Fraction


def _declared(query: Statistics, by: Fraction = Fraction(1)) -> Declared:
    """What the query declares, divided by a planted factor."""
    return Declared(query, query.l1 / by, query.squared_l2 / by**2)


@check(
    "declared sensitivity bounds every neighbour",
    subject=lambda: [
        _declared(query)
        for query in (
            _query(),
            _query("add-remove"),
            _query(unit=THREE, exclude=True),
            _query(by="site"),
            _moments(),
            _moments(THREE),
            _moments(by="site"),
        )
    ],
    planted={
        "sensitivity halved": lambda: [_declared(_query(), Fraction(2))],
        "sensitivity of sums halved": lambda: [_declared(_moments(), Fraction(2))],
        "relation factor 2 dropped": lambda: [replace(_declared(_query()), l1=_query("add-remove").l1)],
        "records per person forgotten": lambda: [_declared(_query(unit=THREE), Fraction(3))],
        "records per person forgotten in sums": lambda: [_declared(_moments(THREE), Fraction(3))],
        "one of two groups forgotten": lambda: [replace(_declared(_moments(by="site")), l1=_moments().move.toggle_l1)],
    },
)
def _sensitivity(declared: list[Declared]) -> bool:
    return all(
        worst_pair(one.query, l1_length).moved[0] <= one.l1
        and worst_pair(one.query, squared_length).moved[1] <= one.squared_l2
        for one in declared
    )


@check(
    "noise scale meets epsilon in exact rationals",
    subject=lambda: NoisyStatistics(epsilon=0.1),
    planted={"one of two tables charged": lambda: NoisyStatistics(epsilon=0.2)},
)
def _scale(mechanism: NoisyStatistics) -> bool:
    laws = mechanism.laws(_query())
    losses = [Fraction(2) / Fraction(getattr(law, "scale", 1.0)) for law in laws.values()]
    return sum(losses) <= Fraction("0.1")


def _robust(unit: Unit | None = None) -> Statistics:
    schema = Schema({"depth": Bounded(-5, -4)}, unit=unit or Record(), n=3)
    return Normal("depth", robust=True).query(schema)


@check(
    "both stages of a robust release meet epsilon in exact rationals",
    subject=lambda: [(NoisyStatistics(epsilon=0.1).laws(_robust(unit)), _robust(unit)) for unit in (Record(), THREE)],
    planted={
        "second stage thought to be free": lambda: [
            ({**NoisyStatistics(epsilon=0.1).laws(replace(_robust(), second=None)), "influence": law}, _robust())
            for law in [NoisyStatistics(epsilon=0.1).laws(_robust())["influence"]]
        ],
    },
)
def _stages(released: list[tuple[Mapping[str, Any], Statistics]]) -> bool:
    for laws, query in released:
        second, last = query.second, query.statistics[-1]
        assert second is not None
        losses = [last.unit * query.l1 / Fraction(laws[last.name].scale)]
        losses.append(second.unit * second.sensitivity(query) / Fraction(laws[second.name].scale))
        if sum(losses) > Fraction("0.1"):
            return False
    return True


@check(
    "repetition is explicit composition",
    subject=lambda: Repeated(BoundedRange(0.3), 5),
    planted={"count dropped": lambda: Repeated(BoundedRange(0.3), 1)},
)
def _repetition(repeated: Repeated) -> bool:
    explicit = Composed((BoundedRange(0.3),) * 5)
    same = all(repeated.epsilon(delta) == explicit.epsilon(delta) for delta in (1e-9, 1e-5, 1e-2))
    return same and NAMED["zcdp"].spend(repeated, BUDGET) == NAMED["zcdp"].spend(explicit, BUDGET)


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
    return NAMED["pure"].spend(two, BUDGET) == charged * NAMED["pure"].spend(BoundedRange(0.5), BUDGET)
