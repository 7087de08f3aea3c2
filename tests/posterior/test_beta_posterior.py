"""Posteriors of one probability: the reference values, brute force, quadrature, coverage and speed."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaln, gammaln, logsumexp
from scipy.stats import beta as beta_law

from discreet.errors import QueryError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw
from discreet.posterior import BetaMixture, beta_from_count, beta_from_two_counts
from discreet.schema.row_counts import KnownSize, UniformSizes


def log_beta_binomial(k: np.ndarray, n: np.ndarray, a: float, b: float) -> np.ndarray:
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(choose + betaln(k + a, n - k + b) - betaln(a, b))


def test_one_count_of_the_notes() -> None:
    """beyond.md §4."""
    post = beta_from_count(9.3, 20, (1, 1), Laplace(1.0))
    assert post.mean() == pytest.approx(0.4675753411, abs=1e-8)
    assert post.sd() == pytest.approx(0.1218956445, abs=1e-8)
    assert np.exp(post.log_evidence()) == pytest.approx(0.0466066006027, abs=1e-12)
    post = beta_from_count(-3, 100, (2, 3), DiscreteLaplace(2.0))
    assert post.mean() == pytest.approx(0.04692556775, abs=1e-8)
    assert post.sd() == pytest.approx(0.03268454614, abs=1e-8)


def test_two_counts_of_the_notes() -> None:
    """beyond.md §4: ones 9.3, zeros 8.1, n = 20, epsilon = 1."""
    assert beta_from_two_counts(8.1, 9.3, KnownSize(20), (1, 1), Laplace(2.0)).mean() == pytest.approx(
        0.528048767922, abs=1e-8
    )


@pytest.mark.parametrize("law", [DiscreteLaplace(3.0), DiscreteGaussian(4.0), Laplace(0.2), DiscreteLaplace(1e4)])
@pytest.mark.parametrize(("n", "y"), [(0, 2.0), (1, -5.0), (40, 17.0), (40, 400.0)])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.01, 300.0)])
def test_one_count_equals_brute_force(law: NoiseLaw, n: int, y: float, prior: tuple[float, float]) -> None:
    post = beta_from_count(y, n, prior, law)
    k = np.arange(n + 1)
    log_weights = log_beta_binomial(k, np.full(n + 1, n), *prior) + law.log_density(y - k)
    weights = np.exp(log_weights - logsumexp(log_weights))
    assert post.log_evidence() == pytest.approx(logsumexp(log_weights), rel=1e-11, abs=1e-9)
    assert post.mean() == pytest.approx(weights @ ((k + prior[0]) / (n + sum(prior))), abs=1e-11)


@pytest.mark.parametrize(("zeros", "ones"), [(12.0, 5.0), (-4.0, 3.0), (90.0, 80.0)])
@pytest.mark.parametrize("law", [DiscreteLaplace(2.0), DiscreteLaplace(200.0), DiscreteGaussian(3.0)])
def test_two_counts_with_a_private_total_equal_brute_force(zeros: float, ones: float, law: NoiseLaw) -> None:
    """The prior of the total is uniform on 0..60."""
    prior, n_max = (1.5, 0.7), 60
    post = beta_from_two_counts(zeros, ones, UniformSizes(n_max), prior, law)
    zero, one = (axis.ravel() for axis in np.meshgrid(np.arange(n_max + 1), np.arange(n_max + 1), indexing="ij"))
    keep = zero + one <= n_max
    zero, one = zero[keep], one[keep]
    log_weights = log_beta_binomial(one, zero + one, *prior) - np.log(n_max + 1)
    log_weights = log_weights + law.log_density(zeros - zero) + law.log_density(ones - one)
    weights = np.exp(log_weights - logsumexp(log_weights))
    assert post.log_evidence() == pytest.approx(logsumexp(log_weights), abs=1e-8)
    assert post.mean() == pytest.approx(weights @ ((one + prior[0]) / (zero + one + sum(prior))), abs=1e-8)


def test_very_noisy_pairs_fall_back_to_exact_draws() -> None:
    """Scale 300 would need more than eight million pairs; the answer matches the exact sum over a coarser one."""
    post = beta_from_two_counts(3000.0, 9000.0, UniformSizes(10**6), (1, 1), DiscreteLaplace(300.0))
    assert post.mean() == pytest.approx(0.75, abs=0.005)
    assert 0.01 < post.sd() < 0.03


def test_curve_equals_quadrature_and_the_plain_mixture() -> None:
    post = beta_from_count(30, 100, (1, 1), DiscreteLaplace(10.0))
    for x in (0.05, 0.3, 0.55):
        assert float(post.cdf(x)) == pytest.approx(float(post.weights @ betainc(post.a, post.b, x)), abs=1e-13)
        density = float(post.weights @ beta_law.pdf(x, post.a, post.b))
        assert float(np.exp(post.log_density(x))) == pytest.approx(density, rel=1e-11)
    assert quad(lambda x: float(np.exp(post.log_density(x))), 0, 1)[0] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_array_equal(post.log_density(np.array([-0.1, 0.0, 1.0, 2.0])), -np.inf)
    np.testing.assert_array_equal(post.cdf(np.array([-0.1, 0.0, 1.0, 2.0])), [0, 0, 1, 1])


@pytest.mark.parametrize("q", [1e-9, 0.05, 0.5, 0.95, 1 - 1e-9])
def test_quantiles_invert_the_cdf(q: float) -> None:
    for post in (
        beta_from_count(30, 100, (1, 1), DiscreteLaplace(10.0)),
        beta_from_count(-30, 10, (0.1, 1), DiscreteLaplace(10.0)),
        beta_from_count(300_000, 10**6, (1, 1), DiscreteLaplace(10.0)),
        beta_from_two_counts(40, 3, UniformSizes(1000), (0.5, 0.5), DiscreteLaplace(2.0)),
        BetaMixture(np.array([2.0, 80.0]), np.array([90.0, 3.0]), np.log([0.3, 0.7]), 0.0),
    ):
        x = post.quantile(q)
        assert float(post.weights @ betainc(post.a, post.b, x)) == pytest.approx(q, abs=1e-10)


def test_draws_predictions_and_summary() -> None:
    """20,000 draws: mean within 5 standard errors (6e-7), and the CDF at the draws is uniform (KS, 1e-6)."""
    post, rng = beta_from_count(30, 100, (1, 1), DiscreteLaplace(10.0)), np.random.default_rng(1)
    draws = post.sample(20_000, rng)
    assert abs(draws.mean() - post.mean()) < 5 * post.sd() / np.sqrt(20_000)
    uniform = np.sort(post.cdf(draws[:4000]))
    assert np.max(np.abs(uniform - np.arange(1, 4001) / 4000)) * np.sqrt(4000) < 2.7
    codes = post.predict(20_000, rng)
    assert set(np.unique(codes)) == {0, 1}
    assert abs(codes.mean() - post.mean()) < 5 * np.sqrt(0.25 / 20_000)
    row = post.summary().loc["probability"]
    assert (row["lower"], row["upper"]) == post.interval(0.9)
    assert "probability" in str(post)
    assert post.sample(3).shape == (3,)


@pytest.mark.parametrize(("n", "scale"), [(10, 10.0), (200, 10.0), (200, 1.0)])
def test_intervals_cover_what_they_say(n: int, scale: float) -> None:
    """theta from the prior, 1,000 runs: 90% ± 4.5 standard errors (7e-6). The plug-in interval, planted, fails."""
    rng, runs = np.random.default_rng(5), 1000
    theta = rng.beta(1, 1, runs)
    step = -np.expm1(-1 / scale)
    y = rng.binomial(n, theta) + rng.geometric(step, runs) - rng.geometric(step, runs)
    inside, plug_in = np.zeros(runs, bool), np.zeros(runs, bool)
    for i in range(runs):
        low, high = beta_from_count(y[i], n, (1, 1), DiscreteLaplace(scale)).interval()
        inside[i] = low <= theta[i] <= high
        clipped = float(np.clip(y[i], 0, n))
        naive = beta_law.ppf([0.05, 0.95], clipped + 1, n - clipped + 1)
        plug_in[i] = naive[0] <= theta[i] <= naive[1]
    tolerance = 4.5 * np.sqrt(0.09 / runs)
    assert abs(inside.mean() - 0.9) < tolerance
    assert scale == 1.0 or plug_in.mean() < 0.9 - tolerance


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_releases_that_are_not_numbers_are_refused(value: float) -> None:
    with pytest.raises(QueryError, match="finite"):
        beta_from_count(value, 10, (1, 1), Laplace(1.0))
    with pytest.raises(QueryError, match="finite"):
        beta_from_two_counts(1.0, value, KnownSize(10), (1, 1), Laplace(1.0))


def test_orders_outside_the_unit_interval_are_refused() -> None:
    post = beta_from_count(3, 10, (1, 1), Laplace(1.0))
    for wrong in (0.0, 1.0, -1.0):
        with pytest.raises(QueryError, match="quantile"):
            post.quantile(wrong)
        with pytest.raises(QueryError, match="interval"):
            post.interval(wrong)
