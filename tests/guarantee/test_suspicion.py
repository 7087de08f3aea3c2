"""What a privacy officer is told holds for every mechanism with that guarantee, and is not far from the truth.

Oracles: randomised response and the Gaussian mechanism, whose posterior beliefs are known in closed form.
"""

import math

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.guarantee.basis import Basis
from discreet.guarantee.suspicion import _up


def believed(before: float, log_ratio: float) -> float:
    odds = before / (1 - before) * math.exp(log_ratio)
    return odds / (1 + odds)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("before", [0.001, 0.1, 0.5, 0.9])
def test_of_a_pure_guarantee_it_is_what_randomised_response_reaches(epsilon: float, before: float) -> None:
    found = dc.suspicion(dc.PureDP(epsilon), before)
    assert found.chance == 0.0
    assert found.after >= believed(before, epsilon)  # randomised response attains the odds e^epsilon
    assert found.after == pytest.approx(believed(before, epsilon), rel=1e-9)


@pytest.mark.parametrize("mu", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("chance", [1e-6, 1e-3])
def test_of_a_gaussian_release_it_bounds_the_exact_quantile_closely(mu: float, chance: float) -> None:
    """N(mu, 1) against N(0, 1): the log-ratio is N(mu²/2, mu²) if the suspicion is true."""
    exact = believed(0.1, mu**2 / 2 + mu * norm.isf(chance))
    found = dc.suspicion(dc.GaussianDP(mu), chance=chance)
    assert found.after >= exact
    assert math.log(found.after / (1 - found.after)) <= math.log(exact / (1 - exact)) + 0.8


def test_draws_of_a_gaussian_exceed_it_no_more_often_than_it_says() -> None:
    """20,000 releases, and exceptions with probability at most 0.01: more than 260 of them are seen with probability 1e-5."""
    mu, chance = 1.0, 0.01
    rng = np.random.default_rng(3)
    ratios = mu * (rng.normal(mu, 1.0, 20_000) - mu / 2)
    beliefs = np.array([believed(0.1, ratio) for ratio in ratios])
    bound = dc.suspicion(dc.GaussianDP(mu), 0.1, chance).after
    assert np.sum(beliefs > bound) <= 260
    planted = believed(0.1, dc.GaussianDP(mu).epsilon(0.5))  # the epsilon of another delta: must be caught
    assert np.sum(beliefs > planted) > 260


def test_an_approximate_guarantee_may_fail_with_its_delta() -> None:
    """With probability delta everything is published: nothing below it can be said, above it the bound is close."""
    promised = dc.ApproxDP(1.0, 1e-4)
    assert dc.suspicion(promised, chance=1e-5).after == 1.0
    assert "set no limit" not in dc.suspicion(promised).words
    found = dc.suspicion(promised)
    assert found.chance == pytest.approx(1e-3)
    assert believed(0.1, 1.0) <= found.after <= believed(0.1, 1.0 - math.log1p(-0.3)) * 1.0001


@pytest.mark.parametrize(
    "guarantee",
    [dc.PureDP(0.5), dc.ZCDP(0.1), dc.GaussianDP(0.5), dc.RenyiDP("dirichlet", {"prior": [6, 12], "n": 100})],
)
def test_more_belief_before_is_more_belief_after(guarantee: dc.PureDP) -> None:
    after = [dc.suspicion(guarantee, before).after for before in (0.01, 0.1, 0.5, 0.9)]
    assert after == sorted(after)
    assert all(a > b for a, b in zip(after, (0.01, 0.1, 0.5, 0.9), strict=True))


def test_the_words_round_up_and_name_the_unit() -> None:
    found = dc.suspicion(dc.PureDP(0.5))
    assert found.words == (
        "Someone who knows every other record and thinks something about one record 10% likely can raise that suspicion "
        "to at most 15.5% by seeing this release."
    )
    assert float(found.words.partition("at most ")[2].partition("%")[0]) >= 100 * found.after
    assert found.by_seeing("all of it") == found.words.replace("this release", "all of it")
    person = dc.suspicion(dc.ZCDP(0.1, Basis("add-remove", "person (patient_id)"))).words
    assert "every other person" in person
    assert "10% likely that one person is in the table" in person
    assert "one in 1,000,000" in person
    assert "no limit" in dc.suspicion(dc.ApproxDP(1.0, 0.5)).words
    assert _up(0.99996) == "99.996000%"


def test_what_is_no_belief_is_refused() -> None:
    for wrong in (0.0, 1.0, -1, float("nan")):
        with pytest.raises(dc.GuaranteeError, match=r"suspicion\.before must be"):
            dc.suspicion(dc.PureDP(1.0), wrong)
    with pytest.raises(dc.GuaranteeError, match=r"suspicion\.chance must be"):
        dc.suspicion(dc.PureDP(1.0), chance=1.0)
