"""Renyi divergence inside conjugate families: values, brute force over datasets, high precision."""

import math
from itertools import combinations_with_replacement, permutations

import mpmath
import numpy as np
import pytest
from paper_formulas import conservative_diffused_scale
from scipy.integrate import quad
from scipy.special import betaln, digamma, gammaln, polygamma

from discreet.accounting.divergences import (
    concentrated_shrink,
    diffused_scale,
    dirichlet_divergence,
    dirichlet_renyi,
    gaussian_mean_mu,
    gaussian_mean_renyi,
    largest_order,
)
from discreet.errors import GuaranteeError
from discreet.numerics.gamma_functions import entropy_excess, log_gamma_ratio, stirling_error


def printed(text: str) -> object:
    """Equal to a printed number to its last digit."""
    digits = len(text.partition(".")[2])
    return pytest.approx(float(text), rel=0, abs=0.51 * 10.0**-digits)


def reference_divergence(p: tuple[float, ...], q: tuple[float, ...], order: float) -> mpmath.mpf:
    def log_partition(eta: list[mpmath.mpf]) -> mpmath.mpf:
        return mpmath.fsum(mpmath.loggamma(entry) for entry in eta) - mpmath.loggamma(mpmath.fsum(eta))

    a, top, bottom = mpmath.mpf(order), [mpmath.mpf(x) for x in p], [mpmath.mpf(x) for x in q]
    mixed = [a * x + (1 - a) * y for x, y in zip(top, bottom, strict=True)]
    if min(mixed) <= 0:
        return mpmath.inf
    return (log_partition(mixed) - a * log_partition(top)) / (a - 1) + log_partition(bottom)


def brute_force(prior: tuple[float, ...], n: int, order: float, scale: float = 1.0, shrink: float = 1.0) -> float:
    """Every dataset of n records and every neighbour of it."""
    levels = range(len(prior))
    base = np.array(prior) / shrink
    worst = 0.0
    for rest in combinations_with_replacement(levels, n - 1):
        shared = base + scale * np.bincount(rest, minlength=len(prior))
        for i, j in permutations(levels, 2):
            p, q = shared.copy(), shared.copy()
            p[i] += scale
            q[j] += scale
            worst = max(worst, dirichlet_divergence(p, q, order))
    return worst


def test_G_OBS3_divergence_of_two_betas() -> None:
    """seeds.md G-OBS3: quadrature .24711687967 = formula, Beta(6,112) vs Beta(7,111), order 2.5."""
    value = dirichlet_divergence((6, 112), (7, 111), 2.5)
    assert value == printed("0.24711687967")

    def integrand(x: float) -> float:
        log_p = 5 * math.log(x) + 111 * math.log1p(-x) - betaln(6, 112)
        log_q = 6 * math.log(x) + 110 * math.log1p(-x) - betaln(7, 111)
        return math.exp(2.5 * log_p - 1.5 * log_q)

    integral, _ = quad(integrand, 0, 1, points=[0.03, 0.06, 0.15], epsabs=1e-13)
    assert value == pytest.approx(math.log(integral) / 1.5, rel=1e-10)


def test_divergence_keeps_its_digits_against_fifty_digit_arithmetic() -> None:
    rng = np.random.default_rng(7)
    finite = 0
    with mpmath.workdps(50):
        for _ in range(150):
            p = np.exp(rng.uniform(-5, 16, rng.integers(2, 5)))
            i, j = rng.permutation(len(p))[:2]
            q = p.copy()
            moved = q[i] * rng.uniform(0.01, 0.9)
            q[i] -= moved
            q[j] += moved
            order = 1 + math.exp(rng.uniform(-5, 4))
            exact = reference_divergence(tuple(p), tuple(q), order)
            value = dirichlet_divergence(p, q, order)
            assert math.isinf(value) == mpmath.isinf(exact)
            if math.isfinite(value):
                finite += 1
                assert value == pytest.approx(float(exact), rel=1e-10)
    assert finite > 40


def test_divergence_of_laws_with_different_totals() -> None:
    p, q = (6.0, 3.0, 2.5), (5.0, 2.0, 4.5)
    with mpmath.workdps(50):
        assert dirichlet_divergence(p, q, 1.7) == pytest.approx(float(reference_divergence(p, q, 1.7)), rel=1e-12)
        assert dirichlet_divergence(p, (5.0, 2.0, 1.0), 9.0) == pytest.approx(
            float(reference_divergence(p, (5.0, 2.0, 1.0), 9.0)), rel=1e-12
        )
    assert math.isinf(dirichlet_divergence(p, q, 5.0))
    assert dirichlet_divergence(p, p, 3.0) == 0.0


def test_divergence_of_huge_neighbouring_posteriors_does_not_cancel() -> None:
    """Log-gammas of size 1e10 leave a divergence of 1e-8: plain double arithmetic keeps no digit of it."""
    p, q = (3e8 + 1, 5e8), (3e8, 5e8 + 1)
    with mpmath.workdps(60):
        exact = float(reference_divergence(p, q, 2.0))
    assert dirichlet_divergence(p, q, 2.0) == pytest.approx(exact, rel=1e-9)
    naive = gammaln(2 * p[0] - q[0]) - 2 * gammaln(p[0]) + gammaln(q[0])
    assert abs(naive) > 100 * exact or naive == 0.0


def test_order_one_bounds_the_kullback_leibler_divergence_from_above() -> None:
    p, q = np.array([6.0, 112.0]), np.array([7.0, 111.0])
    exact = float(((p - q) * digamma(p)).sum() + (gammaln(q) - gammaln(p)).sum())
    value = dirichlet_divergence(p, q, 1.0)
    assert exact <= value <= exact * (1 + 1e-5)


@pytest.mark.parametrize(
    ("prior", "order", "text"),
    [
        ((6, 12), 1.5, "0.139140453441"),
        ((6, 12), 2, "0.191290226777"),
        ((6, 12), 3, "0.307306476142"),
        ((6, 12), 5, "0.617110648912"),
        ((6, 12), 6, "0.860852410934"),
        ((6, 12), 6.9, "1.39263617156"),
        ((1, 1), 1.1, "0.669251407504"),
        ((1, 1), 1.5, "1.15220497929"),
        ((1, 1), 1.9, "2.51246999308"),
    ],
)
def test_G_A1_direct_sampling(prior: tuple[float, float], order: float, text: str) -> None:
    """seeds.md G-A1 at n = 100; the printed (6, 18) is Beta(6, 12) and (1, 2) the uniform law."""
    value = dirichlet_renyi(prior, 100, order)
    assert value == printed(text)
    pairs = [((k, 100 - k), (j, 100 - j)) for k in range(101) for j in (k - 1, k + 1) if 0 <= j <= 100]
    datasets = [dirichlet_divergence(np.add(prior, p), np.add(prior, q), order) for p, q in pairs]
    assert value == pytest.approx(max(datasets), rel=1e-13)


def test_G_A1_largest_orders() -> None:
    """seeds.md G-A1: lam* is 7 for (6, 18), 2 for (1, 2); no finite guarantee at 15."""
    assert largest_order((6, 12)) == 7
    assert largest_order((1, 1)) == 2
    assert largest_order((2, 3, 4)) == 3
    assert largest_order((6, 12), scale=0.5, shrink=0.5) == 25
    for prior in [(6, 12), (1, 1), (2, 3, 4)]:
        limit = largest_order(prior)
        assert math.isfinite(dirichlet_renyi(prior, 100, limit * (1 - 1e-9)))
        assert math.isinf(dirichlet_renyi(prior, 100, limit))
    assert math.isinf(dirichlet_renyi((6, 12), 100, 15))
    assert math.isinf(dirichlet_renyi((6, 12), 100, math.inf))


@pytest.mark.parametrize(("order", "text"), [(1.5, "0.67692461985"), (2, "0.980829253012"), (2.5, "1.42014785277")])
def test_G_T14_dirichlet(order: float, text: str) -> None:
    """seeds.md G-T14: alpha0 = (2, 3, 4), n = 50."""
    assert dirichlet_renyi((2, 3, 4), 50, order) == printed(text)


def test_G_T14_two_levels_are_the_beta_family() -> None:
    """seeds.md G-T14: d = 2 reproduces the Beta value .307306476142."""
    assert dirichlet_renyi((6, 12), 100, 3) == printed("0.307306476142")


@pytest.mark.parametrize("prior", [(2.0, 3.0, 4.0), (0.7, 5.0, 0.9), (1.0, 1.0, 1.0), (0.8, 3.0)])
@pytest.mark.parametrize(("scale", "shrink"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.4)])
def test_G_T14_supremum_over_all_datasets(prior: tuple[float, ...], scale: float, shrink: float) -> None:
    for n in (1, 2, 6):
        for order in (1.2, 1.6):
            value = dirichlet_renyi(prior, n, order, scale=scale, shrink=shrink)
            assert value == pytest.approx(brute_force(prior, n, order, scale, shrink), rel=1e-12)


def test_G_T14_two_smallest_entries_equal_all_triples() -> None:
    """The O(d³) extreme points P = prior + (n-1) e_l + e_i, Q = prior + (n-1) e_l + e_j, on random priors."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        d = int(rng.integers(2, 6))
        prior, n = np.exp(rng.uniform(-2, 3, d)), int(rng.integers(1, 200))
        scale, shrink = rng.uniform(0.05, 1, 2)
        order = 1 + rng.uniform(0.02, 0.98) * (largest_order(tuple(prior), scale=scale, shrink=shrink) - 1)
        eye = scale * np.eye(d)
        triples = [
            dirichlet_divergence(base + eye[i], base + eye[j], order)
            for base in (prior / shrink + (n - 1) * eye[k] for k in range(d))
            for i, j in permutations(range(d), 2)
        ]
        value = dirichlet_renyi(tuple(prior), n, order, scale=scale, shrink=shrink)
        assert value == pytest.approx(max(triples), rel=1e-11)


def test_G_T14_real_valued_statistics_have_the_same_supremum() -> None:
    rng = np.random.default_rng(5)
    bound = dirichlet_renyi((6, 12), 20, 3)
    for _ in range(300):
        rest, x, y = rng.uniform(0, 19), *rng.random(2)
        p, q = (6 + rest + x, 12 + 20 - rest - x), (6 + rest + y, 12 + 20 - rest - y)
        assert dirichlet_divergence(p, q, 3) <= bound


def test_an_impossible_third_level_is_not_used_with_two_levels() -> None:
    """Planted twin: with two levels the n - 1 other records must sit in one of them; forgetting it costs accuracy."""
    forgotten = max(dirichlet_divergence((7, 12), (6, 13), 3), dirichlet_divergence((6, 13), (7, 12), 3))
    assert forgotten > 1.2 * dirichlet_renyi((6, 12), 100, 3)


@pytest.mark.parametrize(
    ("prior", "order", "epsilon", "scale", "shrink"),
    [
        ((6, 12), 15, 0.01, "0.073770983316", "0.00539786785611"),
        ((6, 12), 15, 0.1, "0.227873408741", "0.057827452467"),
        ((6, 12), 15, 1, "0.428547007074", "0.405338983222"),
        ((6, 12), 15, 10, "0.428571428571", "0.428571428571"),
        ((1, 1), 15, 0.01, "0.024061815361", "0.000688480823735"),
        ((1, 1), 15, 0.1, "0.0603290615388", "0.00845978099254"),
        ((1, 1), 15, 1, "0.0714285336732", "0.0673869937071"),
        ((6, 12), 2, 0.1, "0.718261997", "0.526400871321"),
        ((6, 12), 2, 1, "1.0", "1.0"),
    ],
)
def test_G_A2_A3_calibration_table_and_safe_ends(
    prior: tuple[float, float], order: float, epsilon: float, scale: str, shrink: str
) -> None:
    """seeds.md G-A2/A3 at n = 100: r* and m*, which meet epsilon and do not when a little larger."""
    r, m = diffused_scale(prior, 100, order, epsilon), concentrated_shrink(prior, 100, order, epsilon)
    assert r == printed(scale)
    assert m == printed(shrink)
    assert dirichlet_renyi(prior, 100, order, scale=r) <= epsilon
    assert dirichlet_renyi(prior, 100, order, shrink=m) <= epsilon
    if r < 1:
        assert dirichlet_renyi(prior, 100, order, scale=r * (1 + 1e-9)) > epsilon
        assert dirichlet_renyi(prior, 100, order, shrink=m * (1 + 1e-9)) > epsilon


def test_G_A2_A3_saturate_where_the_divergence_becomes_infinite() -> None:
    """seeds.md: as epsilon grows both reach min(1, min alpha / (order - 1)) and not 1."""
    for prior, order in [((6, 12), 15), ((2, 3, 4), 9), ((40, 50), 15)]:
        limit = min(1.0, min(prior) / (order - 1))
        for solve in (diffused_scale, concentrated_shrink):
            assert solve(prior, 100, order, 1e4) == pytest.approx(limit, rel=1e-12)
            assert solve(prior, 100, order, 1e4) <= limit


def test_G_A2_A3_suprema_increase_with_scale_and_shrink() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):  # the notes' number of random priors
        prior, n = tuple(np.exp(rng.uniform(-1, 3, rng.integers(2, 4)))), int(rng.integers(1, 300))
        order = 1 + rng.uniform(0.1, 0.9) * (largest_order(prior) - 1)
        fractions = np.linspace(0.02, 1, 20)
        assert np.all(np.diff([dirichlet_renyi(prior, n, order, scale=r) for r in fractions]) > 0)
        assert np.all(np.diff([dirichlet_renyi(prior, n, order, shrink=m) for m in fractions]) > 0)


@pytest.mark.parametrize(("epsilon", "text"), [(0.1, "0.174993168524"), (1, "0.331512129927")])
def test_G_A2_explicit_scale_is_safe_and_conservative(epsilon: float, text: str) -> None:
    """seeds.md G-A2: the fixed point of r = sqrt(2 epsilon / (H(r) order)) is 23% below r* at epsilon 0.1 and 1."""
    r = conservative_diffused_scale((6, 12), 15, epsilon)
    assert r == printed(text)
    assert dirichlet_renyi((6, 12), 100, 15, scale=r) < epsilon
    curvature = polygamma(1, 6 - 14 * r) + polygamma(1, 12 - 14 * r)
    assert r == pytest.approx(math.sqrt(2 * epsilon / (curvature * 15)), rel=1e-12)
    assert r / diffused_scale((6, 12), 100, 15, epsilon) == pytest.approx(0.77, abs=0.005)


def test_G_A2_curvature_bound_of_the_notes() -> None:
    """seeds.md G-A2: H-bound .438950207147 (with 1/2), .8779 printed, actual .307306476142, at order 3 and n = 100."""
    mixture = np.array([6, 112]) * 3 - np.array([7, 111]) * 2
    bound = 3 * float(polygamma(1, mixture).sum()) / 2
    assert bound == printed("0.438950207147")
    assert 2 * bound == printed("0.8779")
    assert dirichlet_renyi((6, 12), 100, 3) < bound


def test_G_SQ_beta_sampled_statistical_query() -> None:
    """seeds.md G-SQ: phi = (.2, .9, .5, .4) gives Beta(8, 14); diffused (15, 1) the mean .380280898829."""
    successes = 6 + sum((0.2, 0.9, 0.5, 0.4))
    failures = 12 + 4 - sum((0.2, 0.9, 0.5, 0.4))
    assert (successes, failures) == (pytest.approx(8), pytest.approx(14))
    assert successes / (successes + failures) == printed("0.363636363636")
    r = diffused_scale((6, 12), 100, 15, 1.0)
    assert (6 + r * 40) / (18 + r * 100) == printed("0.380280898829")


def test_G_GAUSS_clipped_mean() -> None:
    """seeds.md G-GAUSS: n=50, s2=2, t2=1, Delta=1.5, order 10: .432692307692, mu .294174202707."""
    curve = gaussian_mean_renyi(50, 10, variance=2, prior_variance=1, clip=1.5)
    assert curve == printed("0.432692307692")
    assert curve / 4 == printed("0.108173076923")
    mu = gaussian_mean_mu(50, 2, 1, 1.5)
    assert mu == printed("0.294174202707")
    assert curve == pytest.approx(10 * mu**2 / 2, rel=1e-15)
    # the posterior N(v sum x / s2, v): its mean moves by v 2 Delta / s2
    v = 1 / (50 / 2 + 1)
    assert mu == pytest.approx((v * 3 / 2) / math.sqrt(v), rel=1e-14)


def test_log_gamma_helpers_against_fifty_digits() -> None:
    rng = np.random.default_rng(2)
    with mpmath.workdps(50):
        for _ in range(60):
            z, step = math.exp(rng.uniform(-6, 20)), math.exp(rng.uniform(-6, 4))
            exact = mpmath.loggamma(mpmath.mpf(z) + mpmath.mpf(step)) - mpmath.loggamma(z)
            assert float(log_gamma_ratio(z, step, 0.0)) == pytest.approx(float(exact), rel=1e-12, abs=1e-14)
            rest = mpmath.loggamma(z) - (mpmath.mpf(z) - 0.5) * mpmath.log(z) + z - mpmath.log(2 * mpmath.pi) / 2
            assert float(stirling_error(z)) == pytest.approx(float(rest), rel=1e-12, abs=1e-14)
            u = mpmath.mpf(rng.uniform(-0.99, 3)) ** 3
            excess = (1 + u) * mpmath.log(1 + u) - u
            assert float(entropy_excess(float(u))) == pytest.approx(float(excess), rel=1e-13)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: dirichlet_renyi((1,), 10, 2), "prior must be"),
        (lambda: dirichlet_renyi((1, 0), 10, 2), "prior must be"),
        (lambda: dirichlet_renyi((1, math.nan), 10, 2), "prior must be"),
        (lambda: dirichlet_renyi((1, 1), -1, 2), "n must be"),
        (lambda: dirichlet_renyi((1, 1), 10, 0.5), "order must be"),
        (lambda: dirichlet_renyi((1, 1), 10, math.nan), "order must be"),
        (lambda: dirichlet_renyi((1, 1), 10, 2, scale=1.5), "scale and shrink"),
        (lambda: diffused_scale((1, 1), 10, 2, 0.0), "epsilon must be"),
        (lambda: dirichlet_divergence((1, 1), (1, 1, 1), 2), "one length"),
        (lambda: gaussian_mean_mu(10, 1, 1, -1), "positive"),
    ],
)
def test_out_of_range_parameters_are_refused(call: object, match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()  # type: ignore[operator]


def test_no_records_cost_nothing() -> None:
    assert dirichlet_renyi((1, 1), 0, 5) == 0.0
