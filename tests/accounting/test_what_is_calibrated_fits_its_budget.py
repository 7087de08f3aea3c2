"""Whatever is calibrated to a budget fits into a ledger of that budget, for any number of draws.

Ledgers add up decimals as they are written and round them up, so a share that was rounded to the nearest double, or a
price that is rounded up where the limit is rounded down, does not fit.
"""

import random
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.accounting import rounding
from discreet.accounting.conversions import gaussian_mu, zcdp_rho
from discreet.accounting.rounding import rational, share_down
from discreet.guarantee import Guarantee
from discreet.ledger.filters import filter_for

COUNTS = [*range(1, 101), 997, 10**4, 123_457, 10**7]
SCHEMA = dc.Schema({"x": dc.Bounded(-1, 1), "y": dc.Binary()}, n=1000)


def fits(guarantee: Guarantee, budget: dc.Budget, name: str) -> bool:
    chosen = filter_for(budget, name)
    return chosen.spend(guarantee, budget) <= chosen.limit(budget)


def check_shares(share: object, epsilons: list[float]) -> None:
    for epsilon in epsilons:
        for count in COUNTS:
            each = share(epsilon, count)  # type: ignore[operator]
            assert fits(dc.Repeated(dc.PureDP(each), count), dc.Budget(epsilon), "pure"), (epsilon, count)
            assert dc.Repeated(dc.PureDP(each), count).epsilon(0.0) <= epsilon
            assert each * count >= epsilon * (1 - 1e-14)


EPSILONS = [1.0, 0.1, 0.3, 2.5, 0.7, 1 / 300, 0.0037800183463222634]


def test_shares_of_a_pure_budget_fit() -> None:
    check_shares(share_down, EPSILONS)


def test_shares_rounded_to_the_nearest_double_are_found() -> None:
    """Planted twin: 28 of the first 100 counts do not fit into epsilon = 1."""
    with pytest.raises(AssertionError):
        check_shares(lambda total, parts: total / parts, EPSILONS)
    plain = [count for count in range(1, 101) if rational(1.0 / count) * count > 1]
    assert len(plain) == 28


def test_shares_in_squares_fit() -> None:
    rng = random.Random(3)
    for _ in range(100):
        mu, parts = 10 ** rng.uniform(-4, 1), rng.choice(COUNTS)
        each = share_down(mu, parts, power=2)
        assert rational(each) ** 2 * parts <= rational(mu) ** 2
        assert Fraction(each) ** 2 * parts >= Fraction(mu) ** 2 * (1 - Fraction(1, 10**14))


def test_the_largest_rho_and_mu_of_a_budget_fit_into_it() -> None:
    rng = random.Random(4)
    for _ in range(40):
        epsilon, delta = round(10 ** rng.uniform(-2, 0.7), 3), 10.0 ** -rng.randint(4, 10)
        budget, count = dc.Budget(epsilon, delta), rng.choice(COUNTS[:100])
        assert fits(dc.ZCDP(zcdp_rho(epsilon, delta)), budget, "zcdp"), (epsilon, delta)
        mu = gaussian_mu(epsilon, delta)
        assert fits(dc.GaussianDP(mu), budget, "gdp"), (epsilon, delta)
        draws = dc.Repeated(dc.GaussianDP(share_down(mu, count, power=2)), count)
        assert fits(draws, budget, "gdp"), (epsilon, delta, count)
        assert draws.epsilon(delta) <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize("draws", [1, 3, 7, 49, 93])
def test_draws_of_a_gibbs_posterior_fit_into_their_budget(draws: int) -> None:
    pure = dc.GibbsPosterior(epsilon=1.0, draws=draws, sampler="exact")
    query = dc.HingeClassifier("y", ("x",), ball=1.0).query(SCHEMA)
    assert fits(pure.guarantee(query), dc.Budget(1.0), "pure")
    gaussian = dc.GibbsPosterior(epsilon=1.0, delta=1e-6, draws=draws)
    query = dc.LogisticRegression("y", ("x",)).query(SCHEMA)
    assert fits(gaussian.guarantee(query), dc.Budget(1.0, 1e-6), "gdp")
    assert gaussian.guarantee(query).epsilon(1e-6) <= 1.0
    mean = dc.GibbsPosterior(epsilon=1.0, delta=1e-6, draws=draws, sampler="exact")
    assert fits(mean.guarantee(dc.QuadraticMean(("x",)).query(SCHEMA)), dc.Budget(1.0, 1e-6), "gdp")


def test_noisy_statistics_of_a_whole_budget_fit() -> None:
    query = dc.BetaBernoulli("y").query(SCHEMA)
    for epsilon in (0.1, 0.25, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0):
        for delta in (1e-5, 1e-6, 1e-8):
            guarantee = dc.NoisyStatistics(epsilon=epsilon, delta=delta).guarantee(query)
            assert fits(guarantee, dc.Budget(epsilon, delta), "zcdp"), (epsilon, delta)
            assert guarantee.epsilon(delta) <= epsilon


def check_whole_budgets() -> None:
    rng = random.Random(5)
    for _ in range(60):
        epsilon = 10 ** rng.uniform(-11, 2)
        assert fits(dc.PureDP(epsilon), dc.Budget(epsilon), "pure"), epsilon


def test_a_release_of_a_whole_pure_budget_fits_whatever_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    check_whole_budgets()
    monkeypatch.setattr(rounding, "WRITTEN_DECIMALS", 18)  # planted twin: 1/300 has 19 decimals
    with pytest.raises(AssertionError):
        check_whole_budgets()


@pytest.mark.parametrize("budget", [dc.Budget(1e-20), dc.Budget(9e-13), dc.Budget(9e-13, 1e-6)], ids=str)
def test_a_budget_that_no_request_fits_makes_no_ledger(budget: dc.Budget, tmp_path: Path) -> None:
    with pytest.raises(dc.GuaranteeError, match=r"Ledger.budget must be at least 1e-12|room for a positive parameter"):
        dc.Ledger.create(tmp_path / "small.ledger", budget)
    assert not list(tmp_path.iterdir())
