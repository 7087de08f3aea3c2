"""Truncated Betas and Dirichlets against quadrature, with the published but wrong scheme as a planted error."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, ndtr

from discreet.errors import QueryError
from discreet.mechanisms.draws.truncated_probabilities import (
    Division,
    accepted,
    divide,
    log_mass,
    truncated_beta,
    truncated_beta_draws,
    truncated_dirichlet,
)
from discreet.mechanisms.draws.truncated_sequence import sequential_draws, sequential_plan

DRAWS = 100_000


def quantiles(a, b, lo, hi, u):
    return truncated_beta(a, b, lo, hi, u, 1.0 - np.asarray(u))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("a", "b", "mean", "variance"),
    [
        (3.164042561, 6.049432643, 0.3867632434, 0.01548101188),
        (2.524716322, 5.410106403, 0.3797000144, 0.01593153861),
    ],
)
def test_truncated_beta_of_the_notes(a: float, b: float, mean: float, variance: float) -> None:
    """F-FIG1 (a0 = .2): exact by the mean of the quantile function, and by draws within 5 standard errors (6e-7)."""
    grid = (np.arange(200_000) + 0.5) / 200_000
    x = quantiles(a, b, 0.2, 0.8, grid)
    assert x.mean() == pytest.approx(mean, abs=1e-8)
    assert x.var() == pytest.approx(variance, abs=1e-8)
    draws = quantiles(a, b, 0.2, 0.8, rng().random(DRAWS))
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / DRAWS)


@pytest.mark.parametrize(
    ("a", "b", "lo", "hi"),
    [
        (3.6e5, 1.0, 0.05, 0.2),
        (1.0, 3.6e5, 0.8, 0.95),
        (1e8, 1e8, 0.1, 0.3),
        (1e8, 1e8, 0.49, 0.51),
        (1e8, 1e8, 0.4995, 0.4996),
        (1e8, 1.0, 0.1, 0.9),
        (0.01, 0.01, 0.3, 0.7),
        (0.001, 1e4, 0.01, 0.02),
        (1e4, 1e4, 0.45, 0.5000001),
        (5.0, 5.0, 0.3, 0.3 + 1e-14),
        (5.0, 5.0, 0.3, 0.3),
        (2.0, 3.0, 0.0, 1.0),
        (1.0, 1e8, 1e-3, 0.5),
        (1e-3, 1e-3, 0.2, 0.8),
    ],
)
def test_draws_are_never_outside_and_invert_the_mass(a: float, b: float, lo: float, hi: float) -> None:
    u = np.array([0.0, 1e-12, 0.1, 0.5, 0.9, 1 - 1e-12])
    x = quantiles(a, b, lo, hi, u)
    assert np.all((x >= lo) & (x <= hi))
    assert np.all(np.diff(x) >= 0)
    if hi - lo > 1e-9:
        inner = slice(2, 5)
        share = np.exp(log_mass(a, b, lo, x[inner]) - log_mass(a, b, lo, hi))
        # one unit in the last place of x moves the share by density x 1e-16: 1e-6 for the sharpest of these laws
        np.testing.assert_allclose(share, u[inner], atol=2e-6)


def test_log_mass_is_exact_in_closed_form_cases() -> None:
    """Beta(a, 1): log(hi^a - lo^a), also far below the smallest double."""
    for a in (0.5, 3.0, 3.6e5, 1e8):
        exact = a * np.log(0.2) + np.log1p(-np.exp(a * np.log(0.05 / 0.2)))
        assert float(log_mass(a, 1.0, 0.05, 0.2)) == pytest.approx(exact, rel=1e-13, abs=1e-13)
    narrow = float(log_mass(2.0, 1.0, 0.3, 0.3 + 1e-9))
    assert narrow == pytest.approx(np.log(2 * 0.3 * ((0.3 + 1e-9) - 0.3)), abs=1e-8)


def marginal_cdf(alpha: list[float], a0: float, coordinate: int) -> tuple[np.ndarray, np.ndarray]:
    """CDF of one coordinate of the truncated Dirichlet, K = 3, whose density has the factor P(rest feasible | x)."""
    first = alpha[coordinate]
    second, third = (alpha[j] for j in range(3) if j != coordinate)

    def density(x: float) -> float:
        rest = betainc(second, third, 1 - a0 / (1 - x)) - betainc(second, third, a0 / (1 - x))
        return float(x ** (first - 1) * (1 - x) ** (second + third - 1) * rest)

    grid = np.linspace(a0, 1 - 2 * a0, 400)
    pieces = [quad(density, low, high)[0] for low, high in pairwise(grid)]
    return grid, np.append(0.0, np.cumsum(pieces) / np.sum(pieces))


def disagreement(draws: np.ndarray, alpha: list[float], a0: float) -> float:
    """Largest of the Kolmogorov-Smirnov statistics of the three coordinates, times sqrt(n).

    It exceeds 2.8 for exact draws with probability below 3 x 2 e^{-2 x 2.8²} = 1e-6. A 10% error of a mean of .44
    (deviation .13) moves the KS statistic by about 0.13: times sqrt(100,000) that is 40.
    """
    worst = 0.0
    for j in range(3):
        grid, cdf = marginal_cdf(alpha, a0, j)
        expected = np.interp(np.sort(draws[:, j]), grid, cdf)
        empirical = np.arange(1, len(draws) + 1) / len(draws)
        worst = max(worst, float(np.max(np.abs(empirical - expected))))
    return worst * np.sqrt(len(draws))


def sequential_without_correction(alpha: list[float], a0: float, size: int) -> np.ndarray:
    """The scheme as published: one truncated Beta after the other, nothing rejected."""
    generator = rng(2)
    first = quantiles(alpha[0], alpha[1] + alpha[2], a0, 1 - 2 * a0, generator.random(size))
    rest = 1 - first
    second = rest * quantiles(alpha[1], alpha[2], a0 / rest, 1 - a0 / rest, generator.random(size))
    return np.stack([first, second, rest - second], axis=1)


@pytest.mark.parametrize(("alpha", "a0"), [([2.0, 1.0, 0.5], 0.1), ([1.0, 1.0, 1.0], 0.2), ([0.3, 30.0, 4.0], 0.05)])
def test_dirichlet_draws_agree_with_quadrature(alpha: list[float], a0: float) -> None:
    assert disagreement(truncated_dirichlet(alpha, a0, DRAWS, rng()), alpha, a0) < 2.8


@pytest.mark.parametrize(("alpha", "a0"), [([0.5, 1.0, 2.0], 0.1), ([1.0, 1.0, 1.0], 0.2), ([0.3, 4.0, 30.0], 0.05)])
def test_sequential_draws_agree_with_quadrature(alpha: list[float], a0: float) -> None:
    draws = sequential_draws(sequential_plan(np.array(alpha), a0), DRAWS // 4, rng())
    assert disagreement(draws, alpha, a0) < 2.8


@pytest.mark.parametrize("shift", [0.0, 0.1])
@pytest.mark.parametrize("together", [(True, False, False), (False, True, True), (True, True, True)])
def test_every_division_has_the_same_law(together: tuple[bool, ...], shift: float) -> None:
    """Also at a rate far from the best one. The shifted remainder is for cells of alpha = 1."""
    alpha = [1.0, 1.0, 1.0] if shift > 0 else [1.0, 2.0, 0.5]
    draws = accepted(Division(np.array(alpha), 0.1, 5.0, np.array(together), shift), DRAWS, rng())
    assert len(draws) > DRAWS // 20
    assert disagreement(draws, alpha, 0.1) < 2.8


def test_a_remainder_taken_without_rejection_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Division, "log_weight", lambda self, excess: np.zeros_like(excess))
    together = np.array([True, False, False])
    draws = accepted(Division(np.array([1.0, 2.0, 0.5]), 0.1, 5.0, together, 0.0), DRAWS, rng())
    assert disagreement(draws, [1.0, 2.0, 0.5], 0.1) > 10


def test_clipped_draws_are_caught() -> None:
    draws = np.maximum(rng().dirichlet([2.0, 1.0, 0.5], DRAWS), 0.1)
    assert disagreement(draws / draws.sum(axis=1, keepdims=True), [2.0, 1.0, 0.5], 0.1) > 20


def test_means_of_the_notes() -> None:
    """F-TDIR, within 5 standard errors (6e-7 each)."""
    draws = truncated_dirichlet([2.0, 1.0, 0.5], 0.1, DRAWS, rng())
    standard_error = draws.std(axis=0) / np.sqrt(DRAWS)
    assert abs(draws[:, 0].mean() - 0.437528088803) < 5 * standard_error[0]
    assert abs(draws[:, 1].mean() - 0.304637633045) < 5 * standard_error[1]
    uniform = truncated_dirichlet([1.0, 1.0, 1.0], 0.2, DRAWS, rng())
    assert np.all(np.abs(uniform.mean(axis=0) - 1 / 3) < 5 * uniform.std(axis=0) / np.sqrt(DRAWS))


def test_the_published_scheme_is_caught() -> None:
    alpha, a0 = [2.0, 1.0, 0.5], 0.1
    draws = sequential_without_correction(alpha, a0, DRAWS)
    assert draws[:, 0].mean() == pytest.approx(0.504961556695, abs=0.003)
    assert disagreement(draws, alpha, a0) > 20
    uniform = sequential_without_correction([1.0, 1.0, 1.0], 0.2, DRAWS)
    assert disagreement(uniform, [1.0, 1.0, 1.0], 0.2) > 20


def test_six_cells_agree_with_plain_rejection() -> None:
    """Means and second moments of 12 numbers against Dirichlet draws that happen to be feasible; 6 standard errors."""
    alpha, a0 = np.array([0.5, 3.0, 1.0, 1.0, 6.0, 0.8]), 0.03
    plain = rng(3).dirichlet(alpha, size=400_000)
    plain = plain[np.all(plain >= a0, axis=1)]
    draws = truncated_dirichlet(alpha, a0, 40_000, rng(4))
    for power in (1, 2):
        gap = (draws**power).mean(axis=0) - (plain**power).mean(axis=0)
        error = np.sqrt((draws**power).var(axis=0) / len(draws) + (plain**power).var(axis=0) / len(plain))
        assert np.all(np.abs(gap) < 6 * error)


def test_binding_truncation_with_many_records() -> None:
    """Ten empty cells beside 1e6 records: each exceeds the bound by an exponential of mean theta_K / alpha_K."""
    draws = truncated_dirichlet(np.append(np.ones(10), 1e6), 0.01, 4000, rng())
    excess = draws[:, :10] - 0.01
    assert excess.mean() == pytest.approx(0.9 / 1e6, rel=0.03)  # 40,000 exponentials: 6 standard errors
    assert np.all(draws >= 0.01)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, atol=1e-12)


def test_two_cells_are_never_rejected() -> None:
    plan = sequential_plan(np.array([3.0, 5.0]), 0.1)
    assert len(sequential_draws(plan, 1000, rng())) == 1000


@pytest.mark.parametrize(
    ("alpha", "lower", "least"),
    [
        (np.ones(30), 1 / 300, 0.8),
        (np.append(np.ones(10), 1e4), 1 / 110, 0.95),
        (np.ones(100), 1 / 1000, 0.7),
        (np.append(np.full(20, 1.5), 1e4), 0.04, 0.95),
        (np.ones(20), 0.04, 0.2),
    ],
)
def test_documented_acceptance(alpha: np.ndarray, lower: float, least: float) -> None:
    assert len(sequential_draws(sequential_plan(alpha, lower), 1000, rng())) > 1000 * least


def test_every_acceptance_factor_is_at_most_one() -> None:
    """The claim of the module's proof, on random problems: its failure would bias the draws silently."""
    generator = rng(5)
    for _ in range(40):
        cells = int(generator.integers(3, 8))
        alpha = np.sort(10 ** generator.uniform(-1.5, 3, cells))
        lower = generator.uniform(0.02, 0.95) / cells
        plan = sequential_plan(alpha, lower)
        for k in range(1, cells - 1):
            remaining = generator.uniform((cells - k) * lower, 1 - k * lower, 50)
            log_ratio = plan.log_interval(k, remaining) - plan.log_interval(k, plan.reference[k])
            log_ratio -= plan.tilt[k] * np.log(remaining / plan.reference[k])
            assert log_ratio.max() < 1e-8


@pytest.mark.parametrize(("alpha", "lower"), [([1.0], 0.1), ([1.0, 0.0], 0.1), ([1.0, 1.0], 0.5), ([1.0, np.inf], 0.1)])
def test_impossible_requests_are_refused(alpha: list[float], lower: float) -> None:
    with pytest.raises(QueryError, match="truncated_dirichlet"):
        truncated_dirichlet(alpha, lower, 1, rng())


# Draws of one Beta law.


def distance(draws: np.ndarray, cdf: np.ndarray) -> float:
    """Kolmogorov-Smirnov statistic times sqrt(n), from the law's CDF at the sorted draws.

    It exceeds 2.6 for exact draws with probability below 2 e^{-2 x 2.6²} = 3e-6. A 10% error of the scale of an
    exponential moves the CDF by 0.035: times sqrt(100,000) that is 11; 10% of a standard deviation in the mean of a
    normal is 0.04.
    """
    empirical = np.arange(1, len(draws) + 1) / len(draws)
    return float(np.max(np.abs(empirical - cdf))) * np.sqrt(len(draws))


BETA_CUTS = [
    (31.0, 71.0, 0.2, 0.8),  # plain draws, repeated
    (3.2, 6.0, 0.2, 0.8),
    (0.5, 0.5, 0.0, 0.9),
    (3.2, 6.0, 0.5, 0.8),  # above the mean
    (3.2, 6.0, 0.1, 0.2),  # below the mean
    (3.2, 6.0, 0.33, 0.4),  # around the mean
    (0.5, 0.5, 0.3, 0.7),
    (0.1, 0.3, 0.0, 0.01),
    (2.0, 0.5, 0.99, 1.0),
    (1.0, 1.0, 0.3, 0.300001),
    (1.0, 4.0, 0.0, 0.4),  # closed forms
    (5.0, 1.0, 0.1, 1.0),
    (1.0, 4.0, 0.4, 1.0),  # no closed form: the end 1 is kept apart from it
]


def beta_cdf(a: float, b: float, lo: float, hi: float, x: np.ndarray) -> np.ndarray:
    low, high = betainc(a, b, lo), betainc(a, b, hi)
    return np.asarray((betainc(a, b, x) - low) / (high - low))


@pytest.mark.parametrize(("a", "b", "lo", "hi"), BETA_CUTS)
def test_beta_draws_have_the_right_law(a: float, b: float, lo: float, hi: float) -> None:
    draws = np.sort(truncated_beta_draws(a, b, lo, hi, DRAWS, rng(7)))
    assert draws.shape == (DRAWS,)
    assert draws[0] >= lo
    assert draws[-1] <= hi
    assert distance(draws, beta_cdf(a, b, lo, hi, draws)) < 2.6


def test_clipped_beta_draws_are_caught() -> None:
    draws = np.sort(np.clip(rng().beta(3.2, 6.0, DRAWS), 0.2, 0.8))
    assert distance(draws, beta_cdf(3.2, 6.0, 0.2, 0.8, draws)) > 20


@pytest.mark.parametrize(
    ("a", "b", "lo", "hi", "rate"),
    [
        (1.0, 1e9, 0.1, 0.9, 1e9 / 0.9),
        (5e8, 5e8, 0.6, 0.9, 5e8 / 0.4 - 5e8 / 0.6),
        (3e8, 7e8, 0.05, 0.1, 3e8 / 0.1 - 7e8 / 0.9),
    ],
)
def test_a_billion_records_far_outside(a: float, b: float, lo: float, hi: float, rate: float) -> None:
    """The excess over the end next to the mean is an exponential; its next order is below 1e-6 here."""
    mirrored = a / (a + b) > hi
    for draws in (
        truncated_beta_draws(a, b, lo, hi, DRAWS, rng(8)),
        quantiles(a, b, lo, hi, rng(9).random(DRAWS // 20)),
    ):
        excess = np.sort(hi - draws if mirrored else draws - lo)
        assert distance(excess, -np.expm1(-rate * excess)) < 2.6


@pytest.mark.parametrize(("a", "b"), [(5e8, 5e8), (3e8, 7e8)])
@pytest.mark.parametrize(("left", "right"), [(-1e4, 1e4), (1.0, 2.0), (-0.5, 0.5), (-9.0, -6.0)])
def test_a_billion_records_around_the_mean(a: float, b: float, left: float, right: float) -> None:
    """Against the normal with the same mean and variance, cut alike; its skewness is below 3e-5."""
    mean, sd = a / (a + b), np.sqrt(a * b / (a + b) ** 3)
    lo, hi = max(mean + left * sd, 0.0), min(mean + right * sd, 1.0)
    z = (np.sort(truncated_beta_draws(a, b, lo, hi, DRAWS, rng(10))) - mean) / sd
    low, high = ndtr(left), ndtr(right)
    assert distance(z, (ndtr(z) - low) / (high - low)) < 2.6


def test_empty_width_and_wrong_requests() -> None:
    assert np.all(truncated_beta_draws(5.0, 5.0, 0.3, 0.3, 10, rng()) == 0.3)
    assert truncated_beta_draws(5.0, 5.0, 0.3, 0.4, 0, rng()).shape == (0,)
    assert truncated_dirichlet([1.0, 2.0, 3.0], 0.1, 0, rng()).shape == (0, 3)
    with pytest.raises(QueryError, match="truncated_beta_draws"):
        truncated_beta_draws(1.0, 0.0, 0.1, 0.2, 1, rng())


# Dirichlets of many cells and many records.


@pytest.mark.parametrize(
    ("alpha", "lower", "least"),
    [
        (np.ones(30), 1 / 300, 0.999),
        (np.arange(1.0, 31.0), 1 / 300, 0.9),
        (np.arange(1.0, 31.0) * 1000, 1 / 300, 0.95),
        (np.append(np.ones(10), 1e9), 0.01, 0.95),
        (np.append(np.full(29, 1e9 / 3000), 29e9 / 30), 1 / 300, 0.95),
        (np.full(30, 2.0), 1 / 300, 0.4),
        (np.full(30, 1.5), 1 / 300, 0.25),
        (np.full(30, 0.5), 1 / 300, 0.03),
        (np.full(20, 2.0), 0.04, 0.05),
    ],
)
def test_documented_share_of_divisions(alpha: np.ndarray, lower: float, least: float) -> None:
    assert len(accepted(divide(alpha, lower), 4000, rng())) > 4000 * least


def test_weights_are_at_most_one() -> None:
    """Of random problems, at random totals that can occur: a larger one would bias the draws silently."""
    generator = rng(11)
    for _ in range(100):
        cells = int(generator.integers(3, 8))
        alpha = np.where(generator.random(cells) < 0.3, 1.0, 10 ** generator.uniform(-1.5, 6, cells))
        division = divide(alpha, generator.uniform(0.02, 0.95) / cells)
        number = division.together.sum()
        totals = generator.uniform(number * division.lower, 1 - (cells - number) * division.lower, 200)
        assert division.log_weight(totals - number * division.shift).max() <= 1e-9 * alpha.sum() ** 0.5


@pytest.mark.parametrize("alpha", [np.full(8, 0.05), np.full(8, 1.5), np.array([0.4, 0.4, 1, 1, 1, 2, 5, 40])])
def test_divisions_and_the_sequential_scheme_agree(alpha: np.ndarray) -> None:
    """Two independent exact samplers: KS distance of every coordinate and of the largest, 9 x 2 e^{-2 x 2.8²} = 3e-6.

    Two samples of 20,000 and n: a shift of a tenth of a standard deviation gives 0.04 x 100 = 4.
    """
    lower, size = 0.02, 20_000
    other = sequential_draws(sequential_plan(np.sort(alpha), lower), size, rng(12))
    draws = truncated_dirichlet(np.sort(alpha), lower, size, rng(13))
    for one, two in [(draws[:, j], other[:, j]) for j in range(8)] + [(draws.max(axis=1), other.max(axis=1))]:
        merged = np.concatenate([one, two])
        gap = [np.searchsorted(np.sort(x), merged, side="right") / x.size for x in (one, two)]
        assert np.max(np.abs(gap[0] - gap[1])) * np.sqrt(one.size * two.size / (one.size + two.size)) < 2.8


def test_dirichlet_of_a_billion_records() -> None:
    """Ten empty cells next to the bound are exponentials, the twenty others nearly normal; 12 tests of 3e-6 each."""
    alpha = np.append(np.ones(10), np.full(20, 5e7))
    draws = truncated_dirichlet(alpha, 1e-3, 20_000, rng(14))
    rate = 1e9 / 0.99  # sum of the large alphas over the mass that the empty cells leave them
    for j in range(10):
        excess = np.sort(draws[:, j] - 1e-3)
        assert distance(excess, -np.expm1(-rate * excess)) < 2.6
    for j in (10, 29):
        share = np.sort(draws[:, j] / (1 - draws[:, :10].sum(axis=1)))
        z = (share - 0.05) / np.sqrt(0.05 * 0.95 / 1e9)
        assert distance(z, ndtr(z)) < 2.6
