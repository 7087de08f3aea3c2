"""Numbers of the literature on draws from Beta posteriors, to the digits of the notes."""

import math

import mpmath
import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.mechanisms import ConcentratedSample, DiffusedSample, DirectSample
from discreet.studies.adversary import greedy_adversary, local_epsilon
from discreet.studies.draws_error import (
    crossing,
    held_out,
    laplace_error,
    posterior_error,
    relative_variance,
    tempered_error,
)

ADVERSARY = {1: 2.19722457734, 2: 2.63054663995, 5: 3.29589708158, 10: 3.70130197551, 50: 4.21212759788}
ADVERSARY[100] = 4.29913897487


def test_local_epsilon_of_the_notes() -> None:
    """F-ADV: a0 = .1, uniform prior, no ones; the limit is 2 log 9."""
    for n, value in ADVERSARY.items():
        assert local_epsilon(0, n, 0.1) == pytest.approx(value, abs=5e-12)
        assert local_epsilon(n, n, 0.1) == pytest.approx(value, abs=5e-12)
    # the cut takes 1e-22 of Beta(51, 51) away: the average of its odds is 51/50 (the notes have 1e-10 more)
    assert local_epsilon(50, 100, 0.1) == pytest.approx(math.log(9) + math.log(51 / 50), rel=1e-14)
    assert local_epsilon(50, 100, 0.1) == pytest.approx(2.21702720476, abs=2e-10)
    limit = 2 * math.log(9)
    assert limit == pytest.approx(4.39444915467, abs=5e-12)
    assert limit - 2e-5 < local_epsilon(0, 10**6, 0.1) < limit


@pytest.mark.parametrize(("k", "n", "a0"), [(3, 10, "0.1"), (700, 1000, "0.3"), (10, 10**5, "0.01"), (0, 10**6, "0.1")])
def test_local_epsilon_against_thirty_digits(k: int, n: int, a0: str) -> None:
    """Normalisers as integrals in high precision, prior (1, 2); doubles would lose them to underflow."""
    with mpmath.workdps(30):
        low = mpmath.mpf(a0)
        peak = min(max(mpmath.mpf(k + 1) / (n + 3), low), 1 - low)
        width = mpmath.sqrt(peak * (1 - peak) / n)
        ends = {
            min(max(peak + j * width, low), 1 - low) for j in (-40, -10, -3, -1, -0.1, -0.01, 0.01, 0.1, 1, 3, 10, 40)
        }

        def log_normaliser(ones: int) -> mpmath.mpf:
            height = ones * mpmath.log(peak) + (n - ones + 1) * mpmath.log(1 - peak)
            inside = mpmath.quad(
                lambda p: mpmath.exp(ones * mpmath.log(p) + (n - ones + 1) * mpmath.log(1 - p) - height),
                sorted({low, peak, 1 - low, *ends}),
            )
            return mpmath.log(inside) + height

        here = log_normaliser(k)
        worst = max(abs(log_normaliser(j) - here) for j in (k - 1, k + 1) if 0 <= j <= n)
        exact = float(mpmath.log((1 - low) / low) + worst)
    assert local_epsilon(k, n, float(a0), (1.0, 2.0)) == pytest.approx(exact, rel=1e-13)


def test_the_greedy_adversary_adds_equal_outcomes() -> None:
    """F-ADV: nothing hurts more than one more record like all the others, at every size."""
    successes, worst = greedy_adversary(50, 0.1)
    assert set(successes) == {0}
    assert np.all(np.diff(worst) > 0)
    for n in (1, 2, 5, 10, 50):
        assert worst[n - 1] == pytest.approx(ADVERSARY[n], abs=5e-12)
    assert worst[19] == pytest.approx(max(local_epsilon(k, 20, 0.1) for k in range(21)), rel=1e-14)


@pytest.mark.parametrize(
    ("n", "exact", "tempered", "laplace"),
    [
        (1, None, 0.400471877472, 0.4213),
        (2, None, 0.398183050384, 0.4139),
        (5, None, 0.39141937681, 0.3917),
        (10, 0.104869307172, 0.38049041795, 0.3565),
        (100, 0.0337555212573, 0.246848683459, 0.1174),
        (1000, 0.0107016316345, 0.0660610532589, 0.02155),
        (10_000, 0.00338503879689, 0.0187253453914, 0.003904),
    ],
)
def test_mean_distance_of_a_draw_from_the_truth(n: int, exact: float | None, tempered: float, laplace: float) -> None:
    """F-FIG2: p = .1, a0 = .05, epsilon = .1; the notes integrate the noise on a grid, to about 1%."""
    if exact is not None:
        assert posterior_error(n, 0.1) == pytest.approx(exact, rel=1e-9)
    assert tempered_error(n, 0.1, epsilon=0.1, truncation=0.05) == pytest.approx(tempered, rel=1e-9)
    assert laplace_error(n, 0.1, epsilon=0.1) == pytest.approx(laplace, rel=0.01)


def test_mean_distances_by_simulation() -> None:
    """400,000 draws of each law at n = 30: within 4.5 standard errors, false-alarm rate 2e-5; 1% off would be seen."""
    rng, runs, n, p = np.random.default_rng(8), 400_000, 30, 0.1
    k = rng.binomial(n, p, runs)
    noisy = [np.maximum(0, count + rng.laplace(0, 20, runs)) for count in (k, n - k)]
    far = np.abs(rng.beta(noisy[0] + 1, noisy[1] + 1) - p)
    assert laplace_error(n, p, epsilon=0.1) == pytest.approx(far.mean(), abs=4.5 * far.std() / math.sqrt(runs))
    temperature = 2 * math.log(19) / 0.1
    drawn = rng.beta(k / temperature + 1, (n - k) / temperature + 1)
    far = np.abs(drawn - p)[(drawn >= 0.05) & (drawn <= 0.95)]
    weights = 1 / tempered_mass(k, n, temperature)[(drawn >= 0.05) & (drawn <= 0.95)]
    estimate, error = (far * weights).sum() / runs, (far * weights).std() / math.sqrt(runs)
    assert tempered_error(n, p, epsilon=0.1, truncation=0.05) == pytest.approx(estimate, abs=4.5 * error)


def tempered_mass(k: np.ndarray, n: int, temperature: float) -> np.ndarray:
    from scipy.stats import beta

    law = beta(np.arange(n + 1) / temperature + 1, (n - np.arange(n + 1)) / temperature + 1)
    return (law.cdf(0.95) - law.cdf(0.05))[k]


def test_noisy_counts_overtake_the_tempered_posterior_at_about_five_records() -> None:
    """F-FIG2: the curves cross at about 5; the paper reads "approximately N = 10" off its figure."""
    assert 4 <= crossing(0.1, epsilon=0.1, truncation=0.05) <= 7
    assert crossing(0.1, epsilon=0.1, truncation=0.05, most=3) == 3


@pytest.mark.parametrize(
    ("temperature", "value"), [(1.0, 1.99992762137), (2 * math.log(4), 3.77227806889), (10.0, 10.9972625375)]
)
def test_a_draw_at_temperature_t_varies_one_plus_t_times_as_much_as_an_estimate(
    temperature: float, value: float
) -> None:
    """F-T4: n = 1e5, p = .3."""
    assert relative_variance(10**5, 0.3, temperature) == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(1 + temperature, rel=3e-4)


PRIOR = (6.0, 12.0)


@pytest.mark.parametrize(
    ("epsilon", "diffused", "concentrated"),
    [
        (0.01, -0.656701945638, -0.636659810671),
        (0.1, -0.6489919229, -0.637734608194),
        (1.0, -0.644851794587, -0.640014923392),
    ],
)
def test_held_out_log_likelihood_where_the_prior_matches(epsilon: float, diffused: float, concentrated: float) -> None:
    """G-EXP: 33 ones of 100, rate 1/3, order 15: a concentrated draw is better than a draw of the posterior itself."""
    plain = held_out(DirectSample(), PRIOR, 33, 100, 1 / 3)
    assert plain == pytest.approx(-0.640808977908, abs=5e-12)
    assert held_out(DiffusedSample(epsilon=epsilon, order=15), PRIOR, 33, 100, 1 / 3) == pytest.approx(
        diffused, abs=1e-9
    )
    found = held_out(ConcentratedSample(epsilon=epsilon, order=15), PRIOR, 33, 100, 1 / 3)
    assert found == pytest.approx(concentrated, abs=1e-9)
    assert found > plain > diffused


@pytest.mark.parametrize(("successes", "rate"), [(50, 1 / 2), (67, 2 / 3)])
def test_a_concentrated_draw_loses_where_the_prior_does_not_match(successes: int, rate: float) -> None:
    """The same experiment at rates 1/2 and 2/3: a small epsilon makes it repeat the prior, which is wrong."""
    plain = held_out(DirectSample(), PRIOR, successes, 100, rate)
    for epsilon in (0.01, 0.1):
        diffused = held_out(DiffusedSample(epsilon=epsilon, order=15), PRIOR, successes, 100, rate)
        concentrated = held_out(ConcentratedSample(epsilon=epsilon, order=15), PRIOR, successes, 100, rate)
        assert plain > diffused > concentrated


def test_what_local_epsilon_refuses() -> None:
    with pytest.raises(QueryError, match="successes must be from 0 to n"):
        local_epsilon(3, 2, 0.1)
    with pytest.raises(QueryError, match=r"truncation must be a number above 0 and below 0\.5"):
        local_epsilon(0, 2, 0.5)
