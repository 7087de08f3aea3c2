"""Filters: exact decimals, spends rounded up, limits rounded down."""

from decimal import Decimal

import mpmath
import pytest

import discreet as dc
from discreet.guarantee import Guarantee
from discreet.ledger.filters import FILTERS, filter_for, squared_epsilon_budget

BUDGET = dc.Budget(1.0, 1e-6)


def test_the_budget_decides_the_filter() -> None:
    assert filter_for(dc.Budget(1.0)).name == "pure"
    assert filter_for(dc.Budget(1.0, 1e-6)).name == "portfolio"
    assert filter_for(dc.Budget(1.0, 0)).name == "pure"
    assert filter_for(dc.Budget(1.0, 1e-6), "zcdp").name == "zcdp"
    assert filter_for(dc.Budget(1.0, 1e-6), "gdp").name == "gdp"
    with pytest.raises(dc.GuaranteeError, match="must be one of"):
        filter_for(dc.Budget(1.0), "magic")
    with pytest.raises(dc.GuaranteeError, match=r"Budget.delta must be given"):
        filter_for(dc.Budget(1.0), "zcdp")


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 7.0])
def test_zcdp_prices_are_at_or_above_the_exact_value_by_less_than_the_quantum(epsilon: float) -> None:
    mpmath.mp.dps = 50
    level = mpmath.mpf(repr(epsilon))
    for leaf, exact in [
        (dc.PureDP(epsilon), level * mpmath.tanh(level / 2)),
        (dc.BoundedRange(epsilon), level**2 / 8),
        (dc.GaussianDP(epsilon), level**2 / 2),
        (dc.ZCDP(epsilon), level),
    ]:
        if exact < mpmath.mpf("1e-12"):
            continue
        excess = mpmath.mpf(str(FILTERS["zcdp"].spend(leaf, BUDGET))) - exact
        assert 0 <= excess <= mpmath.mpf("1.01e-18")


def test_ten_tenths_are_one() -> None:
    assert sum(FILTERS["pure"].spend(dc.PureDP(0.1), BUDGET) for _ in range(10)) == Decimal(1)
    assert FILTERS["pure"].spend(dc.Repeated(dc.BoundedRange(0.1), 10), BUDGET) == Decimal(1)


def test_limits_match_the_notes() -> None:
    """beyond.md §7: budget (1, 1e-6) is rho .0243559703595 or mu² .0560289638253; steps that fit."""
    budget = dc.Budget(1.0, 1e-6)
    rho, squared_mu = filter_for(budget, "zcdp").limit(budget), filter_for(budget, "gdp").limit(budget)
    assert float(rho) == pytest.approx(0.0243559703595, rel=1e-10)
    assert float(squared_mu) == pytest.approx(0.0560289638253, rel=1e-10)
    assert rho // FILTERS["zcdp"].spend(dc.PureDP(0.01), BUDGET) == 487
    assert rho // FILTERS["zcdp"].spend(dc.BoundedRange(0.01), BUDGET) == 1948
    assert squared_mu // FILTERS["gdp"].spend(dc.GaussianDP(0.02), BUDGET) == 140


@pytest.mark.parametrize(
    ("name", "guarantee"),
    [
        ("pure", dc.ZCDP(0.1)),
        ("pure", dc.GaussianDP(0.1)),
        ("pure", dc.ApproxDP(0.1, 1e-6)),
        ("zcdp", dc.ApproxDP(0.1, 1e-6)),
        ("gdp", dc.ZCDP(0.1)),
        ("gdp", dc.Composed((dc.GaussianDP(0.1), dc.PureDP(0.1)))),
    ],
)
def test_a_notion_that_cannot_be_bounded_is_refused(name: str, guarantee: Guarantee) -> None:
    with pytest.raises(dc.GuaranteeError, match="must be able to bound every guarantee"):
        FILTERS[name].spend(guarantee, BUDGET)


def test_requests_below_the_smallest_are_refused() -> None:
    with pytest.raises(dc.GuaranteeError, match="must be at least 1e-12"):
        FILTERS["pure"].spend(dc.PureDP(9e-13), BUDGET)
    with pytest.raises(dc.GuaranteeError, match="must be at least 1e-12"):
        FILTERS["zcdp"].spend(dc.PureDP(5e-324), BUDGET)
    assert FILTERS["pure"].spend(dc.PureDP(1e-12), BUDGET) == Decimal("1e-12")


def test_whitehouse_filter() -> None:
    """beyond.md §7: sum of squares .0349378095382 for (1, 1e-6), 349 steps of .01; here delta has two halves."""
    assert squared_epsilon_budget(1.0, 1e-6) == pytest.approx(0.0349378095382, rel=1e-11)
    assert int(squared_epsilon_budget(1.0, 1e-6) / 0.01**2) == 349
    approximate = FILTERS["approximate"]
    steps = approximate.limit(BUDGET) // approximate.spend(dc.PureDP(0.01), BUDGET)
    assert steps == int(squared_epsilon_budget(1.0, 5e-7) / 0.01**2) == 333
    pair = approximate.spend(dc.ApproxDP(0.01, 1e-9), BUDGET)
    assert pair > approximate.spend(dc.PureDP(0.01), BUDGET) + Decimal("0.0019")
    assert approximate.epsilon_of(1.0, BUDGET) == pytest.approx(1.0, rel=1e-9)


def test_several_certificates_of_one_draw_cost_the_cheapest_that_the_filter_knows() -> None:
    both = dc.AllOf((dc.BoundedRange(1.0), dc.GaussianDP(0.4)))
    assert FILTERS["zcdp"].spend(both, BUDGET) == Decimal("0.08")
    assert FILTERS["pure"].spend(both, BUDGET) == Decimal(1)
    assert FILTERS["gdp"].spend(both, BUDGET) == Decimal("0.16")
    with pytest.raises(dc.GuaranteeError, match="must be able to bound"):
        FILTERS["zcdp"].spend(dc.Within(dc.GaussianDP(0.1), 1e-9), BUDGET)


def test_a_million_small_spends_sum_exactly() -> None:
    """1e-12 a million times is 1e-6, in the decimals the ledger adds."""
    spend, total = FILTERS["pure"].spend(dc.PureDP(1e-12), BUDGET), Decimal(0)
    for _ in range(1_000_000):
        total += spend
    assert total == Decimal("1e-6")


def test_draws_known_by_a_curve_or_a_profile_are_paid_by_the_approximate_filter() -> None:
    """Each is (epsilon, delta)-DP at every delta: the price is at most that of any of the public ones."""
    from discreet.guarantee import ApproxDP, ConjugateProfile, RenyiDP

    budget = dc.Budget(3.0, 1e-5)
    parameters = {"prior": (12.0, 6.0), "n": 100, "scale": 0.2}
    for guarantee in (RenyiDP("dirichlet", parameters), ConjugateProfile("dirichlet", parameters)):
        price = FILTERS["approximate"].spend(guarantee, budget)
        for share in (0.1, 0.01, 0.001, 0.0001):
            slack = share * 1e-5 / 2
            explicit = FILTERS["approximate"].spend(ApproxDP(guarantee.epsilon(slack), slack), budget)
            assert price <= explicit * Decimal("1.000001")
        for name in ("pure", "zcdp", "gdp"):
            with pytest.raises(dc.GuaranteeError, match="must be able to bound"):
                FILTERS[name].spend(guarantee, budget)
