"""Exact profiles: the notes' values, quadrature, enumeration, high precision, and twins with a planted mistake."""

import itertools
import math
import time
from typing import Any

import mpmath
import numpy as np
import pytest
from paper_formulas import discrete_gaussian_epsilon, discrete_laplace_epsilon
from pure_composition import composed_pure_delta, composed_pure_epsilon
from scipy.integrate import quad
from scipy.special import betainc, betaincc, betaln, expit

from discreet.accounting import profiles
from discreet.accounting.conversions import gaussian_epsilon, gaussian_mu, renyi_epsilon, zcdp_epsilon, zcdp_rho
from discreet.accounting.curves import (
    bounded_range_delta,
    bounded_range_renyi,
    gaussian_delta,
    pure_delta,
    pure_renyi,
)
from discreet.accounting.divergences import dirichlet_renyi
from discreet.accounting.profiles import (
    beta_concentrated_shrink,
    beta_delta,
    beta_diffused_scale,
    beta_epsilon,
    discrete_gaussian_delta,
    discrete_gaussian_tail,
    discrete_laplace_delta,
)
from discreet.errors import GuaranteeError


def printed(text: str) -> object:
    """Equal to a printed number to its last digit."""
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return pytest.approx(float(text), rel=0, abs=0.51 * unit)


def standard_conversion(rho: float, delta: float) -> float:
    """rho-zCDP by the standard conversion: rho + 2 sqrt(rho log(1/delta))."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def exact_pair(a1: float, b1: float, a2: float, b2: float, epsilon: float) -> float:
    """The hockey-stick of two Betas with equal totals in 60 digits."""
    with mpmath.workdps(60):
        p, q, level = (mpmath.mpf(a1), mpmath.mpf(b1)), (mpmath.mpf(a2), mpmath.mpf(b2)), mpmath.mpf(epsilon)
        difference = p[0] - q[0]
        log_constant = mpmath.log(mpmath.beta(*q)) - mpmath.log(mpmath.beta(*p))
        y = (level - log_constant) / difference
        # a threshold that rounds to 1 even in 60 digits is taken from the other end
        low, high = 1 / (1 + mpmath.exp(-y)), 1 / (1 + mpmath.exp(y))

        def below(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
            if y > 100:
                return 1 - mpmath.betainc(b, a, 0, high, regularized=True)
            return mpmath.betainc(a, b, 0, low, regularized=True)

        def above(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
            if y < -100:
                return 1 - mpmath.betainc(a, b, 0, low, regularized=True)
            return mpmath.betainc(b, a, 0, high, regularized=True)

        side = above if difference > 0 else below
        return float(side(*p) - mpmath.exp(level) * side(*q))


def all_pairs(a: float, b: float, n: int, epsilon: float, scale: float = 1.0) -> np.ndarray:
    return profiles._pair_deltas(profiles._Family(a, b, n, epsilon, scale), np.arange(n), np.arange(n))


# beyond.md §3: conversions


@pytest.mark.parametrize(
    ("mu", "epsilon", "text"),
    [
        (0.5, 1, "0.00682959498311"),
        (1, 1, "0.126936737507"),
        (1, 0, "0.382924922548"),
        (2, 3, "0.183813076544"),
        (0.1, 0.5, "6.85658245584e-09"),
    ],
)
def test_section_3_gaussian_profile(mu: float, epsilon: float, text: str) -> None:
    assert gaussian_delta(mu, epsilon) == printed(text)


def test_section_3_gaussian_inverses_and_their_safe_ends() -> None:
    for mu, delta, text in [(1, 1e-5, "4.37717809568"), (0.5, 1e-6, "2.25408465022")]:
        epsilon = gaussian_epsilon(mu, delta)
        assert epsilon == printed(text)
        assert gaussian_delta(mu, epsilon) <= delta < gaussian_delta(mu, epsilon * (1 - 1e-12))
    for epsilon, delta, text in [
        (1, 1e-5, "0.268051123211"),
        (0.1, 1e-6, "0.0275446502438"),
        (8, 1e-9, "1.26224846496"),
    ]:
        mu = gaussian_mu(epsilon, delta)
        assert mu == printed(text)
        assert gaussian_delta(mu, epsilon) <= delta < gaussian_delta(mu * (1 + 1e-10), epsilon)


def test_section_3_renyi_conversions_and_a_twin_that_calls_the_standard_one_exact() -> None:
    """beyond.md §3: rho = .5, delta = 1e-5: standard 5.29852591219, improved 4.72838698494, exact 4.37717809568."""
    standard, improved, exact = standard_conversion(0.5, 1e-5), zcdp_epsilon(0.5, 1e-5), gaussian_epsilon(1, 1e-5)
    assert standard == printed("5.29852591219")
    assert improved == printed("4.72838698494")
    assert exact == printed("4.37717809568")
    assert exact < improved < standard

    def meets(epsilon: float) -> bool:  # a claim of exactness: delta is used up
        return gaussian_delta(1, epsilon) == pytest.approx(1e-5, rel=1e-9)

    assert meets(exact)
    assert not meets(improved)
    assert not meets(standard)


def test_section_3_pure_curve() -> None:
    """beyond.md §3: eps = 1: a = 2 .735325664056, a = 10 .965193146454; eps = .1, a = 15 .0577975797246."""
    assert pure_renyi(1, 2) == printed("0.735325664056")
    assert pure_renyi(1, 10) == printed("0.965193146454")
    assert pure_renyi(0.1, 15) == printed("0.0577975797246")
    for epsilon in (0.1, 1.0, 3.0):
        assert pure_renyi(epsilon, 1) == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-15)
        p, q = np.array([1, math.exp(-epsilon)]), np.array([math.exp(-epsilon), 1])
        p, q = p / p.sum(), q / q.sum()
        for order in (1.5, 4.0):
            assert pure_renyi(epsilon, order) == pytest.approx(math.log(p**order @ q ** (1 - order)) / (order - 1))


def test_section_3_bounded_range() -> None:
    """beyond.md §3: deltas at (1, .3) and (2, .5), curve at orders 2 and 10, and 400 updates at .05."""
    assert bounded_range_delta(1, 0.3) == printed("0.137962803354")
    assert pure_delta(1, 0.3) == printed("0.368025632272")
    assert bounded_range_delta(2, 0.5) == printed("0.321971105411")
    assert bounded_range_renyi(1, 2) == printed("0.240229013917")
    assert bounded_range_renyi(1, 10) == printed("0.689833573183")
    rho = 400 * 0.05**2 / 8
    assert rho == pytest.approx(0.125)
    assert zcdp_epsilon(rho, 1e-6) == printed("2.41909317687")
    offsets = np.linspace(0, 1, 2001)[1:-1]
    for order in (1.5, 2.0, 10.0):
        q = (np.exp(-offsets) - math.exp(-1)) / (1 - math.exp(-1))
        grid = np.log(q * np.exp(order * offsets) + (1 - q) * np.exp(order * (offsets - 1))) / (order - 1)
        assert grid.max() <= bounded_range_renyi(1, order) <= min(order / 8, grid.max() * (1 + 1e-5))


def test_section_7_how_many_steps_a_budget_admits() -> None:
    """beyond.md §7, budget (1, 1e-6): 100 by sums, 349 Whitehouse, 487 zCDP, 1948 bounded range, 140 of mu = .02."""
    step, delta = 0.01, 1e-6
    assert round(1 / step) == 100
    root = math.sqrt(2 * math.log(1 / delta) + 2) - math.sqrt(2 * math.log(1 / delta))
    squares = root**2  # solves sqrt(2 l s) + s/2 = 1
    assert squares == printed("0.0349378095382")
    assert math.sqrt(2 * math.log(1 / delta) * squares) + squares / 2 == pytest.approx(1, rel=1e-12)
    assert int(squares / step**2) == 349
    rho = zcdp_rho(1, delta)
    assert rho == printed("0.0243559703595")
    assert int(rho / (step * math.tanh(step / 2))) == 487
    assert int(rho / (step**2 / 8)) == 1948
    assert zcdp_epsilon(rho, delta) <= 1 < zcdp_epsilon(rho * (1 + 1e-9), delta)
    mu = gaussian_mu(1, delta)
    assert mu**2 == printed("0.0560289638253")
    assert int(mu**2 / 0.02**2) == 140


# beyond.md §3: optimal composition


def test_section_3_optimal_composition_value() -> None:
    """beyond.md §3: eps = .1, k = 30, e' = 1: .0105616763386."""
    assert composed_pure_delta(0.1, 30, 1) == printed("0.0105616763386")


@pytest.mark.parametrize(("level", "count"), [(0.3, 1), (0.7, 2), (0.25, 9), (1.5, 5)])
def test_optimal_composition_against_all_outcomes_of_randomised_responses(level: float, count: int) -> None:
    p = 1 / (1 + math.exp(-level))
    for epsilon in (0.0, level / 2, level * count * 0.8):
        direct = 0.0
        for outcome in itertools.product((0, 1), repeat=count):
            ones = sum(outcome)
            mine, other = p**ones * (1 - p) ** (count - ones), (1 - p) ** ones * p ** (count - ones)
            direct += max(mine - math.exp(epsilon) * other, 0.0)
        assert composed_pure_delta(level, count, epsilon) == pytest.approx(direct, rel=1e-12)
    assert composed_pure_delta(level, 1, level / 3) == pytest.approx(pure_delta(level, level / 3), rel=1e-13)


@pytest.mark.parametrize(("level", "count"), [(0.01, 100_000), (0.2, 1000), (2.0, 50_000)])
def test_optimal_composition_of_many_releases_in_high_precision(level: float, count: int) -> None:
    epsilon = composed_pure_epsilon(level, count, 1e-6)
    assert composed_pure_delta(level, count, epsilon) <= 1e-6 < composed_pure_delta(level, count, epsilon * (1 - 1e-9))
    first = math.floor((epsilon / level + count) / 2) + 1
    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(level)))
        pmf = mpmath.binomial(count, first) * p**first * (1 - p) ** (count - first)
        direct = mpmath.mpf(0)
        for i in range(first, min(count, first + 6000) + 1):
            direct += pmf * (1 - mpmath.exp(mpmath.mpf(epsilon) - (2 * i - count) * mpmath.mpf(level)))
            pmf *= mpmath.mpf(count - i) / (i + 1) * p / (1 - p)
            if pmf < 1e-30:
                break
    assert composed_pure_delta(level, count, epsilon) == pytest.approx(float(direct), rel=1e-9)


# beyond.md §3b: Beta draws


@pytest.mark.parametrize(
    ("a", "b", "texts"),
    [
        (6, 12, ("0.128338786217", "0.0373962294395", "0.00511672739216", "3.61917355824e-05")),
        (1, 1, ("0.343812962846", "0.251874590698", "0.164585105699", "0.0653061018822")),
    ],
)
def test_section_3b_profile_values(a: float, b: float, texts: tuple[str, ...]) -> None:
    """beyond.md §3b, n = 100, epsilon .1, .5, 1, 2; the printed (6, 18) is Beta(6, 12), (1, 2) the uniform law."""
    for epsilon, text in zip((0.1, 0.5, 1, 2), texts, strict=True):
        value = beta_delta(a, b, 100, epsilon)
        assert value == printed(text) or value * (1 - 1e-12) == printed(text)  # it is rounded outward by as much


def test_section_3b_epsilon_exact_and_by_renyi() -> None:
    """beyond.md §3b: at delta = 1e-6, (6, 18): exact 2.64844059734, by Renyi orders below 7 3.05133815391.

    The second number is a minimum over a grid of orders; over all orders it is smaller by 1e-7.
    """
    epsilon = beta_epsilon(6, 12, 100, 1e-6)
    assert epsilon == printed("2.64844059734")
    assert beta_delta(6, 12, 100, epsilon) <= 1e-6 < beta_delta(6, 12, 100, epsilon * (1 - 1e-9))
    by_renyi = renyi_epsilon(lambda order: dirichlet_renyi((6, 12), 100, order), 1e-6)
    assert by_renyi == pytest.approx(3.05133815391, abs=2e-7)
    assert epsilon < by_renyi < 3.05133815391


def test_section_3b_direct_calibration() -> None:
    """beyond.md §3b: r* = .403105492971 at (1, 1e-6), (6, 18), n = 100; above the Renyi limit it is still finite."""
    r = beta_diffused_scale(6, 12, 100, 1, 1e-6)
    assert r == printed("0.403105492971")
    assert beta_delta(6, 12, 100, 1, scale=r) <= 1e-6 < beta_delta(6, 12, 100, 1, scale=r * (1 + 1e-9))
    m = beta_concentrated_shrink(6, 12, 100, 1, 1e-6)
    assert beta_delta(6, 12, 100, 1, shrink=m) <= 1e-6 < beta_delta(6, 12, 100, 1, shrink=m * (1 + 1e-9))
    assert beta_diffused_scale(6, 12, 100, 5, 0.1) == 1.0
    assert math.isinf(dirichlet_renyi((6, 12), 100, 15))
    assert 0 < beta_delta(6, 12, 100, 3) < 1e-6


@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [((6, 112), (7, 111), 0.3), ((7, 111), (6, 112), 0.3), ((2.5, 3), (2, 3.5), 0.1), ((1, 4), (0.8, 4.2), 0.05)],
)
def test_pair_profile_by_quadrature(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> None:
    def density(law: tuple[float, float], x: float) -> float:
        return math.exp((law[0] - 1) * math.log(x) + (law[1] - 1) * math.log1p(-x) - betaln(*law))

    def excess(x: float) -> float:
        return max(density(first, x) - math.exp(epsilon) * density(second, x), 0.0)

    direct, _ = quad(excess, 0, 1, limit=500, epsabs=1e-12, points=[0.01, 0.05, 0.1])
    scale = abs(first[0] - second[0])
    mine = first if first[0] < second[0] else first[::-1]
    value = float(profiles._tilted_delta(np.array([mine[0]]), np.array([mine[1] - scale]), epsilon, scale)[0])
    assert value == pytest.approx(direct, rel=1e-6)


def test_profile_in_sixty_digits_over_many_magnitudes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        a, b = np.exp(rng.uniform(-6, 4, 2))
        n, scale, epsilon = int(np.exp(rng.uniform(0, 8))), np.exp(rng.uniform(-7, 0)), np.exp(rng.uniform(-4, 1.5))
        k = int(rng.choice([0, n - 1, rng.integers(n)]))
        low = (a + scale * k, b + scale * (n - k))
        high = (a + scale * (k + 1), b + scale * (n - k - 1))
        exact = max(exact_pair(*low, *high, epsilon), exact_pair(*high, *low, epsilon))
        value = profiles._pair_deltas(profiles._Family(a, b, n, epsilon, scale), np.array([k]), np.array([k]))[0]
        assert value == pytest.approx(exact, rel=1e-8, abs=1e-60)


def test_thresholds_beyond_the_smallest_double_keep_their_mass() -> None:
    """A scale so small that sigma(y) underflows: the mass below e^-1000 is still a third of Beta(.001, .)."""
    a, scale, epsilon = 1e-3, 4e-4, 0.4
    value = profiles._tilted_delta(np.array([a]), np.array([2.0 - scale]), epsilon, scale)[0]
    assert value == pytest.approx(exact_pair(a, 2.0, a + scale, 2.0 - scale, epsilon), rel=1e-9)
    assert value > 0.01
    mirrored = profiles._tilted_delta(np.array([2.0]), np.array([a - 4e-6]), 1e-3, 4e-6)[0]
    assert mirrored == pytest.approx(exact_pair(2.0, a, 2.0 + 4e-6, a - 4e-6, 1e-3), rel=1e-6)
    assert mirrored > 1e-4


TRAP = {"a": 27.741123535580297, "b": 0.053697102052158274, "n": 30, "epsilon": 0.5, "scale": 0.027518948740972993}


def test_section_3b_numerical_trap() -> None:
    """beyond.md §3b: true supremum .0571668366150312, at k = 29 (60-digit arithmetic)."""
    assert 0.0571668366150312 <= beta_delta(**TRAP) <= 0.0571668366150312 * (1 + 1e-11)  # outward
    assert all_pairs(**TRAP).argmax() == 29


def test_section_3b_twin_with_the_naive_sigmoid_misses_the_trap() -> None:
    """Planted twin, the naive form of beyond.md §3b: it returns 1.9e-10 at k = 29 and .0246 over all k."""
    a, b, n, epsilon, r = TRAP.values()

    def naive(k: int) -> float:
        low, high = (a + r * k, b + r * (n - k)), (a + r * (k + 1), b + r * (n - k - 1))
        t_more = expit((epsilon - betaln(*low) + betaln(*high)) / r)
        more = betaincc(*high, t_more) - math.exp(epsilon) * betaincc(*low, t_more)
        t_fewer = expit((epsilon - betaln(*high) + betaln(*low)) / -r)
        fewer = betainc(*low, t_fewer) - math.exp(epsilon) * betainc(*high, t_fewer)
        return max(more, fewer)

    assert naive(29) == pytest.approx(1.9e-10, rel=0.05)
    assert max(naive(k) for k in range(n)) == pytest.approx(0.0246, abs=5e-5)
    assert beta_delta(**TRAP) > 2 * max(naive(k) for k in range(n))


def test_twin_with_one_order_only_is_too_small() -> None:
    """Planted twin: Beta pairs are not symmetric, and the worse order is neither always the first nor the second."""
    gaps = []
    for a, b in [(6.0, 12.0), (12.0, 6.0)]:
        k = np.arange(100.0)
        fewer = profiles._tilted_delta(a + k, b + 99 - k, 1.0, 1.0).max()
        more = profiles._tilted_delta(b + 99 - k, a + k, 1.0, 1.0).max()
        assert beta_delta(a, b, 100, 1.0) == pytest.approx(max(fewer, more), rel=1e-13)
        gaps.append(fewer - more)
    assert gaps[0] > 1e-3
    assert gaps[1] < -1e-3


def test_section_3b_supremum_sits_at_the_ends() -> None:
    """beyond.md §3b: at k in {0, n-1} in every random case; where it does not, the enumeration below still holds."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        a, b = np.exp(rng.uniform(-4.5, 4, 2))
        n, scale, epsilon = int(rng.integers(1, 150)), np.exp(rng.uniform(-4, 0)), np.exp(rng.uniform(-3, 1.2))
        deltas = all_pairs(a, b, n, epsilon, scale)
        assert max(deltas[0], deltas[-1]) >= deltas.max() * (1 - 1e-9)


def test_skipping_the_middle_counts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, real, seen = np.random.default_rng(6), profiles._pair_deltas, []
    for _ in range(25):
        a, b = np.exp(rng.uniform(-3, 3, 2))
        n, scale, epsilon = int(rng.integers(500, 3000)), rng.uniform(0.05, 1), np.exp(rng.uniform(-3, 1))
        everything = all_pairs(a, b, n, epsilon, scale)
        with monkeypatch.context() as patched:
            patched.setattr(
                profiles, "_pair_deltas", lambda family, *k: seen.append(k[0].size / family.n) or real(family, *k)
            )
            assert beta_delta(a, b, n, epsilon, scale=scale) == pytest.approx(everything.max(), rel=1e-9)
    assert sum(seen) < 25 * 0.2


def test_blocks_of_counts_are_bounded_by_their_fewest_successes_and_failures() -> None:
    rng = np.random.default_rng(16)
    for _ in range(60):
        a, b = np.exp(rng.uniform(-6, 8, 2))
        n, scale, epsilon = int(rng.integers(2, 400)), np.exp(rng.uniform(-6, 0)), np.exp(rng.uniform(-9, 1))
        first, last = np.sort(rng.integers(0, n, 2))
        family = profiles._Family(a, b, n, epsilon, scale)
        bound = profiles._pair_deltas(family, np.array([first]), np.array([last]))[0]
        assert all_pairs(a, b, n, epsilon, scale)[first : last + 1].max() <= bound


def test_a_worst_pair_away_from_the_ends_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seven = profiles._pair_deltas, np.array([7])

    def planted(family: Any, first: Any, last: Any) -> Any:
        return np.where((first <= 7) & (last >= 7), 1e9, 1.0) * real(family, first, last)

    honest = beta_epsilon(6, 12, 20, 1e-6)
    monkeypatch.setattr(profiles, "_pair_deltas", planted)
    found = beta_epsilon(6, 12, 20, 1e-6)
    assert found > honest
    assert real(profiles._Family(6, 12, 20, found, 1.0), seven, seven)[0] * 1e9 <= 1e-6


def test_a_million_records_take_no_longer() -> None:
    start = time.process_time()
    assert beta_delta(6, 12, 1_000_000, 1.0) == pytest.approx(0.00462833594831185, rel=1e-9)
    assert beta_epsilon(6, 12, 1_000_000, 1e-6) == pytest.approx(2.6191770219658794, rel=1e-9)
    assert time.process_time() - start < 2.0


def test_profile_increases_with_scale_and_shrink_and_falls_with_epsilon() -> None:
    rng = np.random.default_rng(8)
    for _ in range(6):
        a, b, n = *np.exp(rng.uniform(-2, 3, 2)), int(rng.integers(1, 100))
        fractions, epsilons = np.linspace(0.05, 1, 8), np.linspace(0, 3, 8)
        for epsilon in (0.1, 1.0):
            assert np.all(np.diff([beta_delta(a, b, n, epsilon, scale=r) for r in fractions]) >= 0)
            assert np.all(np.diff([beta_delta(a, b, n, epsilon, shrink=m) for m in fractions]) >= 0)
        assert np.all(np.diff([beta_delta(a, b, n, epsilon) for epsilon in epsilons]) <= 0)


@pytest.mark.parametrize(("a", "b", "n"), [(6.0, 12.0, 100), (1.0, 1.0, 100), (0.05, 3.0, 40), (0.5, 0.5, 1)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
def test_beta_inverses_return_their_safe_end(a: float, b: float, n: int, delta: float) -> None:
    epsilon = beta_epsilon(a, b, n, delta)
    assert beta_delta(a, b, n, epsilon) <= delta < beta_delta(a, b, n, epsilon * (1 - 1e-7))
    r, m = beta_diffused_scale(a, b, n, 0.5, delta), beta_concentrated_shrink(a, b, n, 0.5, delta)
    assert beta_delta(a, b, n, 0.5, scale=r) <= delta < beta_delta(a, b, n, 0.5, scale=min(r * (1 + 1e-7), 1.0))
    assert beta_delta(a, b, n, 0.5, shrink=m) <= delta < beta_delta(a, b, n, 0.5, shrink=min(m * (1 + 1e-7), 1.0))


# discrete noise


@pytest.mark.parametrize(("shift", "scale"), [(1, 0.4), (1, 1.0), (2, 3.7), (5, 2.0), (12, 30.0), (7, 0.9)])
def test_discrete_laplace_profile_by_summation(shift: int, scale: float) -> None:
    k = np.arange(-int(60 * scale) - 50, int(60 * scale) + 60)
    p = np.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)
    q = np.tanh(0.5 / scale) * np.exp(-np.abs(k - shift) / scale)
    for fraction in (0.0, 0.13, 0.5, 0.77, 0.999):
        epsilon = fraction * shift / scale
        direct = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert discrete_laplace_delta(shift, scale, epsilon) == pytest.approx(direct, rel=1e-11, abs=1e-16)
    assert discrete_laplace_delta(shift, scale, shift / scale * (1 + 1e-12)) == 0.0
    assert discrete_laplace_delta(shift, scale, 5000.0) == 0.0
    assert discrete_laplace_epsilon(shift, scale, 0.0) == pytest.approx(shift / scale, rel=1e-12)
    for delta in (1e-8, 0.05):
        epsilon = discrete_laplace_epsilon(shift, scale, delta)
        assert discrete_laplace_delta(shift, scale, epsilon) <= delta
        assert epsilon == 0 or discrete_laplace_delta(shift, scale, epsilon * (1 - 1e-6)) > delta


@pytest.mark.parametrize(("shift", "sigma"), [(1, 0.35), (1, 1.0), (3, 2.5), (1, 5.0), (4, 11.0), (6, 2.0)])
def test_discrete_gaussian_profile_by_high_precision_summation(shift: int, sigma: float) -> None:
    with mpmath.workdps(40):
        reach = int(30 * sigma) + shift + 20
        weight = {
            k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(-2 * reach, 2 * reach)
        }
        total = mpmath.fsum(weight.values())
        for epsilon in (0.0, 0.2, 1.0, 2.5):
            factor = mpmath.exp(mpmath.mpf(epsilon))
            gains = (weight[k] - factor * weight[k - shift] for k in range(-reach, reach))
            direct = float(mpmath.fsum(gain for gain in gains if gain > 0) / total)
            value = discrete_gaussian_delta(shift, sigma, epsilon)
            assert direct <= value <= direct * (1 + 1e-9)


def test_discrete_gaussian_profile_is_above_the_gaussian_one() -> None:
    """The discrete Gaussian is not Gaussian DP: never certify it as such."""
    for sigma in (0.5, 1.0, 2.0, 5.0):
        ratios = [discrete_gaussian_delta(1, sigma, e) / gaussian_delta(1 / sigma, e) for e in np.linspace(0, 2, 41)]
        assert max(ratios) > 1.05


def test_discrete_gaussian_tails_by_sums_and_by_euler_maclaurin(monkeypatch: pytest.MonkeyPatch) -> None:
    sigma = 600.0
    last = np.round(np.linspace(-20 * sigma, 6 * sigma, 60))
    summed = discrete_gaussian_tail(last, sigma)
    monkeypatch.setattr(profiles, "LARGEST_SUMMED_SIGMA", 1.0)
    assert np.allclose(discrete_gaussian_tail(last, sigma), summed, rtol=1e-12, atol=0)


def test_discrete_gaussian_of_large_sigma_approaches_the_gaussian_one() -> None:
    for sigma in (1e5, 1e9):
        shift = int(sigma / 5)
        for epsilon in (0.1, 1.0):
            assert discrete_gaussian_delta(shift, sigma, epsilon) == pytest.approx(
                gaussian_delta(0.2, epsilon), rel=1e-8
            )
    epsilon = discrete_gaussian_epsilon(3, 10.0, 1e-6)
    assert discrete_gaussian_delta(3, 10.0, epsilon) <= 1e-6 < discrete_gaussian_delta(3, 10.0, epsilon * (1 - 1e-9))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: beta_delta(0, 1, 10, 1), "a and b must be"),
        (lambda: beta_delta(1, 1, 10, 1, scale=2), "scale and shrink"),
        (lambda: beta_epsilon(1, 1, 10, 0.0), "delta must be"),
        (lambda: discrete_laplace_delta(0, 1, 1), "shift must be"),
        (lambda: discrete_gaussian_delta(1.5, 1, 1), "shift must be"),
        (lambda: discrete_gaussian_epsilon(1, 1, 0.0), "delta must be"),
        (lambda: composed_pure_delta(0.0, 3, 1), "level must be"),
        (lambda: composed_pure_delta(0.1, 0, 1), "count at least 1"),
    ],
)
def test_out_of_range_parameters_are_refused(call: object, match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()  # type: ignore[operator]


def test_no_records_cost_nothing() -> None:
    assert beta_delta(1, 1, 0, 0.1) == 0.0
    assert beta_epsilon(1, 1, 0, 1e-6) == 0.0
