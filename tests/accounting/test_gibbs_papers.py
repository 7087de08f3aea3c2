"""Reference values of Minami et al., Geumlek et al. and Foulds et al. on posteriors of convex losses, and exact checks.

Already in test_gibbs.py: M-T7, M-C8, M-T10/M-C11, M-LR, M-T15, M-E17 (values and exact profile), beyond.md §1 (table,
strongly convex losses) and §2 (B2). In test_langevin.py: the rest of §2. Here: M-T3/M-T4, M-P12, M-P13, M-T16,
M-T18/M-E19, G-GLM, G-TIGHT, F-T4, the ball of §1 and §6.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from paper_formulas import bounded_difference_range, bounded_loss_range
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from scipy.stats import binom

from discreet.accounting.bounded_losses import ball_range
from discreet.accounting.curves import bounded_range_delta, gaussian_delta
from discreet.accounting.gibbs import gibbs_mu, largest_beta
from discreet.accounting.rejection import acceptance_at_least, gradient_after, proposals_for
from discreet.errors import GuaranteeError
from discreet.guarantee import AllOf, ApproxDP, BoundedRange, GaussianDP, Within
from discreet.studies.glm import concentrated_precision, diffused_power, glm_renyi, label_flip_renyi
from discreet.studies.pac_bayes import (
    beta_limit_by_hoeffding,
    beta_limit_by_symmetry,
    excess_by_hoeffding,
    excess_by_symmetry,
    hinge_beta,
    mean_temperature,
    risk_bound,
)
from discreet.studies.proposition13 import LangevinSchedule, distance_bound, langevin_schedule, shorter_schedule


def printed(text: str) -> object:
    """Equal to a printed number to its last digit."""
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return pytest.approx(float(text), rel=0, abs=0.51 * unit)


# M-T3, M-T4 and the ball of beyond.md §1


def test_M_T3_M_T4_values() -> None:
    """seeds.md M-T3: A=.5, beta=.3: .6, non-negative loss .3; quadratic loss on the unit ball: range 4."""
    assert bounded_loss_range(0.3, -0.5, 0.5) == printed("0.6")
    assert bounded_loss_range(0.3, 0.0, 0.5) == printed("0.3")
    assert bounded_difference_range(0.3, 1.0) == printed("0.6")
    assert ball_range(1.0, 2.0, 2.0) == 4.0


def test_M_T3_quadratic_range_is_reached_on_the_ball() -> None:
    """seeds.md M-T3: theta.(x' - x) over the unit ball, for opposite unit vectors, spans exactly 4."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(2000, 3))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    theta = np.concatenate([theta, [[1.0, 0, 0], [-1.0, 0, 0]]])
    x = np.array([1.0, 0, 0])
    difference = ((theta - x) ** 2).sum(axis=1) / 2 - ((theta + x) ** 2).sum(axis=1) / 2
    assert np.ptp(difference) == pytest.approx(ball_range(1.0, 2.0, 2.0))


@pytest.mark.parametrize("diameter", [1.0, 4.0])
def test_section_1_two_certificates_of_one_draw_on_a_ball(diameter: float) -> None:
    """beyond.md §1: on an interval the exact profile is below both certificates; the narrow one favours the range."""
    beta = 2.0
    theta, step = np.linspace(-diameter / 2, diameter / 2, 20_001, retstep=True)
    mu = gibbs_mu(beta, 1.051634, prior_convexity=1.0)
    level = ball_range(beta, 1.051634, diameter)
    both = AllOf((BoundedRange(level), GaussianDP(mu)))
    assert (gaussian_delta(mu, 0.6) < bounded_range_delta(level, 0.6)) == (diameter > 1)
    for pair in ((1.0, -1.0), (-1.0, 1.0), (1.0, 0.2)):
        p, q = (np.exp(-(theta**2) / 2 + beta * (log_expit(theta * z) + log_expit(theta))) for z in pair)
        p, q = p / (p.sum() * step), q / (q.sum() * step)
        assert np.ptp(np.log(p / q)) <= level
        for epsilon in (0.0, 0.2, 0.6, 1.5):
            assert np.maximum(p - math.exp(epsilon) * q, 0).sum() * step <= both.delta(epsilon)


# M-P12, M-P13


@pytest.mark.parametrize(
    ("epsilon", "delta", "gamma", "text"),
    [(1.0, 1e-6, 1e-7, "1.37182818285e-06"), (0.5, 1e-5, 1e-6, "1.26487212707e-05")],
)
def test_M_P12_values(epsilon: float, delta: float, gamma: float, text: str) -> None:
    """seeds.md M-P12: delta + (1 + e^eps) gamma, through the guarantee that carries it."""
    assert Within(ApproxDP(epsilon, delta), gamma).delta(epsilon) == printed(text)


SETTING_A = {"dimension": 2, "convexity": 1.0, "smoothness": 100 * 0.05 * 0.25 + 1.0}
SETTING_B = {"dimension": 10, "convexity": 10.0, "smoothness": 1000 * 0.1 * 0.5 + 10.0}


def test_M_P13_values() -> None:
    """seeds.md M-P13: settings A and B; the printed T of B is m = 10 times the correct one."""
    first, best = langevin_schedule(0.01, **SETTING_A), shorter_schedule(0.01, **SETTING_A)
    assert first.step == printed("9.85557981192e-07")
    assert first.steps == 10168119
    assert best.step == printed("1.97111159143e-06")
    assert best.steps == 5084071
    second = langevin_schedule(1e-3, **SETTING_B)
    assert second.step == printed("1.21969799894e-11")
    assert second.steps == 186720876184
    assert second.steps * SETTING_B["convexity"] == pytest.approx(1.867e12, rel=1e-3)


@pytest.mark.parametrize("setting", [SETTING_A, SETTING_B, {"dimension": 2, "convexity": 0.01, "smoothness": 0.01}])
@pytest.mark.parametrize("tolerance", [0.4999, 0.1, 1e-4])
def test_M_P13_schedules_meet_their_tolerance(setting: dict, tolerance: float) -> None:
    """Both terms of the theorem together, with the number of steps rounded up, and hardly more is asked than needed."""
    for schedule in (langevin_schedule(tolerance, **setting), shorter_schedule(tolerance, **setting)):
        assert distance_bound(schedule, **setting) <= tolerance * (1 + 1e-12)
        fewer = LangevinSchedule(schedule.step, int(0.9 * schedule.steps), schedule.alpha)
        assert distance_bound(fewer, **setting) > tolerance


def gaussian_distance(schedule: LangevinSchedule, precisions: tuple[float, float]) -> float:
    """Exact total variation after a schedule on a quadratic in two dimensions, started from N(0, I/M)."""
    big_m, deviations = max(precisions), []
    for m in precisions:
        kept = (1 - schedule.step * m) ** 2
        limit = 2 * schedule.step / (1 - kept)
        deviations.append(math.sqrt(limit + kept**schedule.steps * (1 / big_m - limit)))
    x, y = (np.linspace(-9, 9, 1201) * max(s, m**-0.5) for s, m in zip(deviations, precisions, strict=True))
    laws = [
        np.outer(
            *(np.exp(-((axis / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi)) for axis, s in zip((x, y), by, strict=True))
        )
        for by in (deviations, [m**-0.5 for m in precisions])
    ]
    return float(np.abs(laws[0] - laws[1]).sum() * (x[1] - x[0]) * (y[1] - y[0]) / 2)


def test_M_P13_corrected_steps_reach_the_posterior_and_the_printed_number_does_not() -> None:
    """Planted twin: T with m instead of m², m = .01: the exact distance on a quadratic exceeds the tolerance."""
    precisions = (0.01, 1.0)
    setting = {"dimension": 2, "convexity": 0.01, "smoothness": 1.0}
    for schedule in (langevin_schedule(0.1, **setting), shorter_schedule(0.1, **setting)):
        assert gaussian_distance(schedule, precisions) <= 0.1
    schedule = langevin_schedule(0.1, **setting)
    twin = LangevinSchedule(schedule.step, math.ceil(schedule.steps * setting["convexity"]), 1.0)
    assert gaussian_distance(twin, precisions) > 3 * 0.1


# M-T16


@pytest.mark.parametrize(("n", "text"), [(100, "0.721129605602"), (10_000, "0.996361082201")])
def test_M_T16_posterior_variance_by_quadrature(n: int, text: str) -> None:
    """seeds.md M-T16: n beta I_0 Var on Example 17, beta = .1, mean of the records sigma(.5), prior N(0, 1)."""
    beta, mean = 0.1, expit(0.5)
    information = mean * (1 - mean)
    theta, step = np.linspace(-8, 8, 400_001, retstep=True)
    log_density = -(theta**2) / 2 + n * beta * (mean * theta + log_expit(-theta))
    density = np.exp(log_density - log_density.max())
    density /= density.sum() * step
    centre = (density * theta).sum() * step
    variance = (density * (theta - centre) ** 2).sum() * step
    assert n * beta * information * variance == printed(text)


# M-T18, M-E19


def test_M_T18_M_E19_values() -> None:
    """seeds.md M-T18: b=10, n=100, r=1, lam=.1: printed .262658903992, (i) d=5 .378233235969, (ii) .255412811883."""
    b, n, precision = 10.0, 100, 0.1
    assert b**2 / (4 * n) - math.log(1 - b**2 / (4 * precision * n**2)) / 2 == printed("0.262658903992")
    family = {"n": n, "radius": 1.0, "precision": precision}
    assert excess_by_hoeffding(b, **family, dimension=5) == printed("0.378233235969")
    assert excess_by_symmetry(b, **family) == printed("0.255412811883")


def test_M_E19_admissible_temperatures_of_the_sum() -> None:
    """seeds.md M-E19: sqrt(2 lam)/r and sqrt(lam)/2r for the sum; b = n beta; the private beta is the minimum of two."""
    radius, precision = 2.0, 0.3
    for n in (10, 1000):
        family = {"n": n, "radius": radius, "precision": precision}
        for limit, excess in (
            (
                beta_limit_by_hoeffding(radius=radius, precision=precision),
                lambda b, f=family: excess_by_hoeffding(b, **f, dimension=3),
            ),
            (
                beta_limit_by_symmetry(radius=radius, precision=precision),
                lambda b, f=family: excess_by_symmetry(b, **f),
            ),
        ):
            assert math.isfinite(excess(mean_temperature(limit * (1 - 1e-9), n)))
            assert math.isinf(excess(mean_temperature(limit * (1 + 1e-9), n)))
    assert beta_limit_by_hoeffding(radius=radius, precision=precision) == pytest.approx(math.sqrt(0.6) / 2)
    private = largest_beta(1.0, 1e-5, 2 * radius, prior_convexity=1000 * precision)
    limit = beta_limit_by_symmetry(radius=radius, precision=precision)
    assert hinge_beta(1.0, 1e-5, n=1000, radius=radius, precision=precision).value < limit < private.value
    few = hinge_beta(0.1, 1e-5, n=10, radius=radius, precision=precision)
    assert few == largest_beta(0.1, 1e-5, 2 * radius, prior_convexity=10 * precision)


LAWS = [  # y z and their probabilities: independent records of the hinge loss
    (np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]), np.array([0.5, 0.3, 0.2])),
    (np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.5, 0.5])),
    (np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.full(4, 0.25)),
]


@pytest.mark.parametrize(("n", "b", "precision"), [(10, 3.0, 1.0), (10, 2.0, 0.5), (30, 4.0, 0.2), (5, 2.4, 1.0)])
def test_M_T18_exact_moment_lies_below_both(n: int, b: float, precision: float) -> None:
    """log E_prior E_data exp(b (R - R_n)) by quadrature: the data's part is a power, since records are independent."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    theta = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2) / math.sqrt(n * precision)
    weight = np.outer(weights, weights).ravel() / (2 * math.pi)
    family = {"n": n, "radius": 1.0, "precision": precision}
    for points, chances in LAWS:
        loss = np.maximum(1 - theta @ points.T, 0)
        risk = loss @ chances
        moment = (np.exp(b / n * (risk[:, None] - loss)) @ chances) ** n
        exact = math.log(weight @ moment)
        assert 0 <= exact <= excess_by_hoeffding(b, **family, dimension=2)
        assert exact <= excess_by_symmetry(b, **family)


def test_M_T18_bound_holds_for_gibbs_posteriors_as_often_as_it_says() -> None:
    """Every dataset of a two-point law, by its probability: the bound of the Gibbs posterior itself fails rarely.

    One dimension, y z = ±1 with chances .7 and .3; failures of the bound have probability at most eta = .2.
    """
    n, beta, precision, eta = 12, 0.3, 0.8, 0.2
    b = mean_temperature(beta, n)
    theta, step = np.linspace(-12, 12, 20_001, retstep=True)
    log_prior = -n * precision * theta**2 / 2 + math.log(n * precision / (2 * math.pi)) / 2
    losses = [np.maximum(1 - sign * theta, 0) for sign in (1, -1)]
    risk = 0.7 * losses[0] + 0.3 * losses[1]
    failed = 0.0
    for k in range(n + 1):
        empirical = (k * losses[0] + (n - k) * losses[1]) / n
        tilted = np.exp(log_prior - b * empirical)
        evidence = tilted.sum() * step
        posterior = tilted / evidence
        mean_risk = (posterior * empirical).sum() * step
        divergence = -b * mean_risk - math.log(evidence)
        excess = excess_by_symmetry(b, n=n, radius=1.0, precision=precision)
        bound = risk_bound(mean_risk, divergence, excess, b, eta)
        # the bound of a Gibbs posterior is its free energy
        assert bound == pytest.approx((excess - math.log(evidence) - math.log(eta)) / b)
        if (posterior * risk).sum() * step > bound:
            failed += binom.pmf(k, n, 0.7)
    assert failed <= eta


# G-GLM, G-TIGHT


def test_G_GLM_values() -> None:
    """seeds.md G-GLM: curves 3 and .84375; diffused .5 and .125; concentrated .04 and 6.4."""
    assert glm_renyi(1.0, 1.0, 10.0, 15) == pytest.approx(3.0)
    assert glm_renyi(0.5, 1.5, 4.0, 3) == pytest.approx(0.84375)
    first = {"n": 1000, "precision": 0.01, "lipschitz": 1.0}
    second = {"n": 500, "precision": 0.1, "lipschitz": 2.0}
    assert diffused_power(0.5, 10, **first) == pytest.approx(0.5)
    assert diffused_power(0.05, 20, **second) == pytest.approx(0.125)
    assert concentrated_precision(0.5, 10, **first) == pytest.approx(0.04)
    assert concentrated_precision(0.05, 20, **second) == pytest.approx(6.4)
    assert diffused_power(100.0, 10, **first) == 1.0
    assert concentrated_precision(100.0, 10, **first) == 0.01


def test_G_GLM_calibrated_values_meet_epsilon_and_are_the_gaussian_curve() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        epsilon, precision, lipschitz, extra = np.exp(rng.uniform(-3, 2, 4))
        family = {"n": int(rng.integers(1, 1000)), "precision": precision, "lipschitz": lipschitz}
        order, m = 1 + extra, family["n"] * precision
        power = diffused_power(epsilon, order, **family)
        assert glm_renyi(power, lipschitz, m, order) <= epsilon
        raised = concentrated_precision(epsilon, order, **family)
        assert glm_renyi(1.0, lipschitz, family["n"] * raised, order) <= epsilon
        mu = gibbs_mu(power, 2 * lipschitz, prior_convexity=m)
        assert glm_renyi(power, lipschitz, m, order) == pytest.approx(GaussianDP(mu).renyi(order))


@pytest.mark.parametrize(
    ("order", "variance", "moment", "wrong", "divergence"),
    [
        (2, 0.5, "1.56805083338", "0.568", "0.449833340647"),
        (3, 1.0, "12.4806696565", "13.48", "1.26209050994"),
        (5, 0.3, "16.6520708152", "17.65", "0.703133645495"),
    ],
)
def test_G_TIGHT_corrected_lemma_3(order: int, variance: float, moment: str, wrong: str, divergence: str) -> None:
    """seeds.md G-TIGHT: E and D at (2, .5), (3, 1), (5, .3), by quadrature too, against the two bounds."""
    found = label_flip_renyi(order, variance)
    assert found == printed(divergence)
    assert math.exp((order - 1) * found) == printed(moment)
    twin = 2 * sum((-1) ** (order - 1 - i) * math.exp(i * i * variance / 2) for i in range(order))
    assert twin == printed(wrong)
    exact, _ = quad(
        lambda w: 2 * expit(w) * math.exp((order - 1) * w - w * w / (2 * variance)) / math.sqrt(2 * math.pi * variance),
        -20,
        30,
        epsabs=0,
        epsrel=1e-11,
        limit=200,
    )
    assert math.exp((order - 1) * found) == pytest.approx(exact, rel=1e-9)
    assert found <= order * variance / 2 <= glm_renyi(1.0, 1.0, 1 / variance, order)
    assert glm_renyi(1.0, 1.0, 1 / variance, order) == pytest.approx(2 * order * variance)


def test_G_TIGHT_large_orders_do_not_overflow_and_approach_the_bound() -> None:
    for order in (50, 5000):
        found = label_flip_renyi(order, 3.0)
        assert 0.9 * order * 3.0 / 2 < found <= order * 3.0 / 2
    values = [label_flip_renyi(order, 0.4) for order in range(2, 30)]
    assert all(a < b for a, b in pairwise(values))


# F-T4


@pytest.mark.parametrize(
    ("temperature", "text"), [(1.0, "1.9999276214"), (2.77258872224, "3.7722780689"), (10.0, "10.9972625375")]
)
def test_F_T4_variance_of_one_draw_over_the_information(temperature: float, text: str) -> None:
    """seeds.md F-T4: N Var(one draw) I for a Beta posterior tempered in p, N = 1e5, p = .3: about 1 + T.

    In exact moments: 1.99992762139 and 3.77227806891; the notes' …137 and …889 carry the rounding of summed chances.
    """
    n, p = 100_000, 0.3
    # of the success count k: a = k/T + 1 and a + b = n/T + 2, so that all moments are the binomial's first two
    size, a, spread = n / temperature + 2, n * p / temperature + 1, n * p * (1 - p) / temperature**2
    within, between = (a * (size - a) - spread) / (size**2 * (size + 1)), spread / size**2
    total = within + between
    assert n * total / (p * (1 - p)) == printed(text)
    assert n * total / (p * (1 - p)) == pytest.approx(1 + temperature, rel=1e-3)


# beyond.md §6


def test_section_6_rejection_example() -> None:
    """beyond.md §6: n=8 (six of one sign), beta=.3: mode .805460850835 (bound .790569), 0 .753072601087, mean .3953…"""
    beta, signs = 0.3, np.array([1.0] * 6 + [-1.0] * 2)
    m, big_m = 1.0, 1 + 8 * beta / 4
    grid, step = np.linspace(-12, 12, 100_001, retstep=True)

    def potential(t: np.ndarray) -> np.ndarray:
        return m * t**2 / 2 - beta * sum(log_expit(sign * t) for sign in signs)

    def slope(t: float) -> float:
        return float(m * t - beta * (signs * expit(-signs * t)).sum())

    def acceptance(anchor: float) -> float:
        """By the definition: the envelope's proposal times the chance to accept, integrated."""
        g = slope(anchor)
        proposal = np.exp(-m / 2 * (grid - anchor + g / m) ** 2) * math.sqrt(m / (2 * math.pi))
        log_accept = potential(np.array(anchor)) + g * (grid - anchor) + m / 2 * (grid - anchor) ** 2 - potential(grid)
        assert log_accept.max() <= 1e-12
        return float((proposal * np.exp(log_accept)).sum() * step)

    mode = brentq(slope, -5, 5, xtol=1e-14)
    assert acceptance(mode) == printed("0.805460850835")
    assert acceptance(0.0) == printed("0.753072601087")
    assert acceptance_at_least(convexity=m, smoothness=big_m, dimension=1, tolerance=0.0) == printed("0.790569")
    density = np.exp(-potential(grid))
    assert (density * grid).sum() / density.sum() == printed("0.395343993944")
    for anchor in (0.0, 1.5, -2.0):
        bound = acceptance_at_least(convexity=m, smoothness=big_m, dimension=1, tolerance=abs(slope(anchor)))
        assert math.sqrt(m / big_m) * math.exp(-(slope(anchor) ** 2) / (2 * m)) <= bound <= acceptance(anchor)


def test_section_6_acceptance_is_exact_on_quadratics_of_the_largest_curvature() -> None:
    m, big_m, dimension, tolerance = 0.7, 2.0, 3, 1.1
    # U = M ||t||²/2 at an anchor with gradient g: E_proposal exp(-(U - bound)) in closed form
    exact = (m / big_m) ** (dimension / 2) * math.exp(-(tolerance**2) * (1 / m - 1 / big_m) / 2)
    found = acceptance_at_least(convexity=m, smoothness=big_m, dimension=dimension, tolerance=tolerance)
    assert found == pytest.approx(exact)
    rng = np.random.default_rng(3)  # false alarm below 1e-5: 4.5 standard errors
    anchor = np.array([tolerance / big_m, 0, 0])
    draws = anchor - big_m * anchor / m + rng.normal(size=(200_000, dimension)) / math.sqrt(m)
    away = ((draws - anchor) ** 2).sum(axis=1)
    accept = np.exp(-(big_m - m) / 2 * away)
    assert abs(accept.mean() - exact) <= 4.5 * accept.std() / math.sqrt(len(accept))


def test_section_6_number_of_proposals() -> None:
    """beyond.md §6: gamma = (1 - acc)^N0, the smallest N0."""
    for failure in (0.3, 1e-3, 1e-9, 1e-100):
        for acceptance in (1e-6, 0.01, 0.5, 0.790569, 0.999999):
            count = proposals_for(failure, acceptance)
            assert count * math.log1p(-acceptance) <= math.log(failure)
            assert count == 1 or (count - 1) * math.log1p(-acceptance) > math.log(failure) * (1 + 1e-12)
    assert proposals_for(1e-9, 1.0) == 1
    assert proposals_for(0.25, 0.5) == 2


def test_section_6_fallback_adds_its_probability_to_delta() -> None:
    """beyond.md §6: mixing (eps, delta)-DP laws with any fallback, by weights ≤ gamma, adds gamma, and no less will do.

    For one public fallback and for fallbacks that differ between the datasets.
    """
    rng = np.random.default_rng(4)
    gamma = 0.05
    worst = {"public": 0.0, "different": 0.0}
    for _ in range(500):
        p, q, first, second = rng.dirichlet(np.full(4, 0.5), size=4)
        weights = gamma * rng.integers(0, 2, size=2)
        for epsilon in (0.1, 1.0, 3.0):
            factor = math.exp(epsilon)
            delta = np.maximum(p - factor * q, 0).sum()
            for kind, fallbacks in (("public", (first, first)), ("different", (first, second))):
                mixed = [(1 - w) * law + w * f for w, law, f in zip(weights, (p, q), fallbacks, strict=True)]
                added = np.maximum(mixed[0] - factor * mixed[1], 0).sum() - delta
                worst[kind] = max(worst[kind], added)
    assert all(0.5 * gamma < added <= gamma + 1e-15 for added in worst.values())


def test_section_6_gradient_after_noiseless_steps() -> None:
    """beyond.md §6: c^k n beta L, below the M c^k ||grad U(0)||/m of the distances; kept by logistic potentials."""
    n, beta, m = 30, 0.2, 1.5
    big_m = m + n * beta / 4
    start = n * beta * 1.0
    c = (big_m - m) / (big_m + m)
    rng = np.random.default_rng(5)
    for _ in range(20):
        z = rng.normal(size=(n, 3)) * 3
        z /= np.maximum(1.0, np.linalg.norm(z, axis=1, keepdims=True))
        theta = np.zeros(3)
        for k in range(25):
            slope = m * theta - beta * (z * expit(-z @ theta)[:, None]).sum(axis=0)
            bound = gradient_after(k, start, convexity=m, smoothness=big_m)
            assert np.linalg.norm(slope) <= bound + 1e-14
            assert bound <= big_m * c**k * start / m
            theta = theta - 2 / (m + big_m) * slope
    assert gradient_after(0, start, convexity=m, smoothness=big_m) == start
    # a quadratic along its smallest curvature attains it
    theta = 1.0
    for k in range(6):
        assert m * theta == pytest.approx(gradient_after(k, m, convexity=m, smoothness=big_m))
        theta -= 2 / (m + big_m) * m * theta


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: bounded_loss_range(1.0, 0.0, 0.0), "lowest below"),
        (lambda: bounded_difference_range(1.0, math.inf), "difference"),
        (lambda: ball_range(1.0, 2.0, math.inf), "diameter"),
        (lambda: langevin_schedule(0.5, **SETTING_A), "tolerance must be"),
        (lambda: langevin_schedule(0.1, dimension=1, convexity=1, smoothness=2), "dimension"),
        (lambda: shorter_schedule(0.1, dimension=2, convexity=2, smoothness=1), "convexity must be"),
        (lambda: distance_bound(LangevinSchedule(1.0, 5, 1.0), **SETTING_A), "alpha must be"),
        (lambda: excess_by_symmetry(0.0, n=10, radius=1, precision=1), "b, n, radius"),
        (lambda: risk_bound(0.1, -1.0, 0.1, 1.0, 0.1), "divergence"),
        (lambda: glm_renyi(1, 1, 1, 0.5), "order at least 1"),
        (lambda: diffused_power(0, 2, n=1, precision=1, lipschitz=1), "epsilon"),
        (lambda: label_flip_renyi(2.5, 1.0), "whole number"),  # type: ignore[arg-type]
        (lambda: acceptance_at_least(convexity=2, smoothness=1, dimension=1, tolerance=0), "convexity must be"),
        (lambda: acceptance_at_least(convexity=1, smoothness=2, dimension=0, tolerance=0), "dimension"),
        (lambda: proposals_for(0.0, 0.5), "failure"),
        (lambda: gradient_after(-1, 1.0, convexity=1, smoothness=2), "steps"),
    ],
)
def test_what_no_theorem_covers_is_refused(call: Callable[[], float], match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()
