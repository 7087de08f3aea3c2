"""Conformance of every registered guarantee and of adaptive histories, against independent arithmetic and dp-accounting."""

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.guarantee import GUARANTEES
from discreet.ledger.filters import FILTERS

PARAMETERS = {
    "PureDP": lambda x: dc.PureDP(x),
    "BoundedRange": lambda x: dc.BoundedRange(x),
    "ZCDP": lambda x: dc.ZCDP(x),
    "GaussianDP": lambda x: dc.GaussianDP(x),
    "ApproxDP": lambda x: dc.ApproxDP(x, 1e-7),
    "Composed": lambda x: dc.Composed((dc.PureDP(x), dc.GaussianDP(x))),
    "Repeated": lambda x: dc.Repeated(dc.PureDP(x), 4),
    "IndependentDraws": lambda x: dc.IndependentDraws(dc.BoundedRange(x), 4),
    "AllOf": lambda x: dc.AllOf((dc.PureDP(x), dc.GaussianDP(x))),
    "Within": lambda x: dc.Within(dc.GaussianDP(x), 1e-9),
    "RenyiDP": lambda x: dc.RenyiDP("dirichlet", {"prior": (6.0, 12.0), "n": 50, "scale": min(x, 1.0)}),
    "ConjugateProfile": lambda x: dc.ConjugateProfile(
        "dirichlet", {"prior": (6.0, 12.0), "n": 50, "scale": min(x, 1.0)}
    ),
}


def test_every_registered_kind_is_tested() -> None:
    assert set(PARAMETERS) == set(GUARANTEES)


@pytest.mark.parametrize("kind", sorted(PARAMETERS))
def test_more_loss_is_never_reported_as_less(kind: str) -> None:
    weaker, stronger = PARAMETERS[kind](0.6), PARAMETERS[kind](0.3)
    for delta in (1e-6, 1e-3):
        assert stronger.epsilon(delta) <= weaker.epsilon(delta)
        assert stronger.epsilon(delta) >= 0
    for epsilon in (0.05, 0.2, 0.5):
        assert stronger.delta(epsilon) <= weaker.delta(epsilon) * (1 + 1e-9)
    assert stronger.renyi(2.0) <= weaker.renyi(2.0)


@pytest.mark.parametrize("kind", sorted(PARAMETERS))
def test_a_second_release_is_never_free(kind: str) -> None:
    one = PARAMETERS[kind](0.3)
    assert dc.Repeated(one, 2).epsilon(1e-5) >= one.epsilon(1e-5)


def test_exact_is_below_renyi_is_below_basic() -> None:
    for level, count in ((0.1, 30), (0.5, 8), (0.02, 500)):
        leaf = dc.PureDP(level)
        exact = dc.Repeated(leaf, count).epsilon(1e-6)
        renyi = min(
            count * leaf.renyi(a) + math.log1p(-1 / a) - (math.log(1e-6 * a)) / (a - 1) for a in (2, 5, 10, 20, 50)
        )
        assert exact <= renyi * (1 + 1e-9)
        assert exact <= count * level
    mu = 0.3
    assert (
        dc.GaussianDP(mu).epsilon(1e-5)
        <= dc.ZCDP(mu**2 / 2).epsilon(1e-5)
        <= mu**2 / 2 + math.sqrt(-2 * mu**2 * math.log(1e-5))
    )


@pytest.mark.parametrize("relation", ["ADD_OR_REMOVE_ONE", "REPLACE_ONE"])
def test_agreement_with_dp_accounting(relation: str) -> None:
    """Explicit lists. Under replace-one that library doubles a Gaussian's sensitivity, so its noise is doubled too."""
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent, NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(NeighboringRelation[relation], value_discretization_interval=1e-4)
    factor = 1 if relation == "ADD_OR_REMOVE_ONE" else 2
    for _ in range(3):
        accountant.compose(GaussianDpEvent(5.0 * factor))
    gaussians = dc.Repeated(dc.GaussianDP(0.2), 3)
    for delta in (1e-3, 1e-5):
        assert gaussians.epsilon(delta) == pytest.approx(accountant.get_epsilon(delta), abs=2e-3)
    if relation == "REPLACE_ONE":
        return  # that library has no Laplace event under replace-one
    mixed = PLDAccountant(NeighboringRelation[relation], value_discretization_interval=1e-4)
    for _ in range(2):
        mixed.compose(GaussianDpEvent(5.0 * factor))
        mixed.compose(LaplaceDpEvent(4.0 * factor))
    ours = dc.Composed((dc.GaussianDP(0.2), dc.PureDP(0.25)) * 2).epsilon(1e-4)
    assert ours >= mixed.get_epsilon(1e-4) - 2e-3  # Laplace noise is better than the worst pure mechanism
    assert ours <= 1.25 * mixed.get_epsilon(1e-4)


LEAVES = {
    "pure": (dc.PureDP, dc.BoundedRange),
    "zcdp": (dc.PureDP, dc.BoundedRange, dc.ZCDP, dc.GaussianDP),
    "gdp": (dc.GaussianDP,),
}


def exact_price(name: str, kind: type, level: Fraction) -> tuple[Fraction, Fraction]:
    """Lower and upper rational bounds of the true price, from its formula in exact arithmetic."""
    if name == "pure" or kind is dc.ZCDP:
        return level, level
    if name == "gdp":
        return level**2, level**2
    if kind is dc.BoundedRange:
        return level**2 / 8, level**2 / 8
    if kind is dc.GaussianDP:
        return level**2 / 2, level**2 / 2
    # x tanh(x/2) = x (1 - e^-x)/(1 + e^-x), with e^-x between two partial sums of its alternating series
    low, high = sorted(_series(level, terms) for terms in (29, 30))
    return level * (1 - high) / (1 + high), level * (1 - low) / (1 + low)


def _series(level: Fraction, terms: int) -> Fraction:
    """The first terms of e^-x by Horner's rule in integers, reduced once at the end: 1 - x/1 (1 - x/2 (1 - ...))."""
    top, bottom = 1, 1
    for i in range(terms - 1, 0, -1):
        top, bottom = i * level.denominator * bottom - level.numerator * top, i * level.denominator * bottom
    return Fraction(top, bottom)


def test_ten_thousand_adaptive_histories_never_report_less_than_the_exact_loss(tmp_path: Path) -> None:
    """Spends of a history that adapts to what is left, recomputed in rationals: never below, refused exactly at the limit."""
    rng = random.Random(4)
    budget = dc.Budget(1.0, 1e-6)
    limits = {name: FILTERS[name].limit(budget) for name in LEAVES}
    for _ in range(10_000):
        name = rng.choice(sorted(LEAVES))
        limit = limits[name]
        spent, low_total = 0, Fraction(0)
        for _ in range(rng.randint(1, 6)):
            kind = rng.choice(LEAVES[name])
            level = round(10 ** rng.uniform(-3, 0) * (1 + float(limit - spent)), rng.randint(2, 12)) or 0.01
            spend = FILTERS[name].spend(kind(level), budget)
            low, high = exact_price(name, kind, Fraction(repr(level)))
            assert low <= Fraction(spend)
            assert Fraction(spend) <= high + Fraction(2, 10**18)
            if spent + spend > limit:  # what the ledger refuses
                assert low_total + high + Fraction(12, 10**18) > Fraction(limit)
                continue
            spent, low_total = spent + spend, low_total + low
            assert low_total <= Fraction(limit)


def test_the_ledger_refuses_exactly_at_the_limit(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=1.0))
    for i in range(10):
        ledger.reserve(dc.PureDP(0.1), {"label": str(i)})
    assert ledger.remaining() == 0
    with pytest.raises(dc.BudgetExceeded, match="asked epsilon = 1e-12, left epsilon = 0, missing epsilon = 1e-12"):
        ledger.reserve(dc.PureDP(1e-12), {"label": "last"})
    for impossible in (5e-324, math.inf, math.nan, -0.0):
        with pytest.raises(dc.GuaranteeError):
            ledger.reserve(dc.PureDP(impossible), {"label": "x"})
    assert ledger.remaining() == 0
