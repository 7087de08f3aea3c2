"""Calculators for Gibbs posteriors: the notes' values, exact posteriors by quadrature, and the printed errors."""

import math

import numpy as np
import pytest
from paper_formulas import logistic_gradient, logistic_label_gradient, minami_tail, quadratic_mean_gradient
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, ndtr

from discreet.accounting.conversions import zcdp_epsilon
from discreet.accounting.curves import gaussian_delta
from discreet.accounting.gibbs import (
    Bound,
    Calibrated,
    gibbs_mu,
    langevin_mu,
    largest_beta,
    largest_beta_at_mu,
    largest_mu,
    minami_eta,
)
from discreet.errors import GuaranteeError

BOUNDS: tuple[Bound, ...] = ("minami-printed", "minami", "renyi", "gdp")


def printed(text: str) -> object:
    """Equal to a printed number to its last digit."""
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return pytest.approx(float(text), rel=0, abs=0.51 * unit)


def hockey_stick(log_p: np.ndarray, log_q: np.ndarray, step: float, epsilon: float) -> float:
    """sup_A P(A) - e^epsilon Q(A) of two unnormalised log-densities on one fine grid."""
    p, q = (np.exp(log - log.max()) for log in (log_p, log_q))
    p, q = p / (p.sum() * step), q / (q.sum() * step)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step)


# beyond.md §1


@pytest.mark.parametrize(
    ("epsilon", "delta", "texts", "gain"),
    [
        (0.1, 1e-3, ("0.0129900760361", "0.0134036548268", "0.0243110280144", "0.0287283738067"), "2.21"),
        (0.1, 1e-6, ("0.0093444035493", "0.00949484281546", "0.0126698005183", "0.0137723251219"), "1.47"),
        (0.5, 1e-6, ("0.0467220177465", "0.0471372684778", "0.057626054683", "0.0620530745153"), "1.33"),
        (1, 1e-5, ("0.102007150324", "0.10202925644", "0.12360541088", "0.134025561606"), "1.31"),
        (2, 1e-5, ("0.204014300649", "0.200056711143", "0.232654640855", "0.250775844585"), "1.23"),
        (5, 1e-5, ("0.510035751622", "0.474143164259", "0.524868304882", "0.560620911909"), "1.10"),
    ],
)
def test_section_1_table_and_M_C8_table(epsilon: float, delta: float, texts: tuple[str, ...], gain: str) -> None:
    """beyond.md §1, largest beta at L = 1, m = 1 (G = 2): printed Cor. 8, Thm 7, improved Renyi, exact Gaussian DP."""
    found = [largest_beta(epsilon, delta, 2.0, prior_convexity=1.0, bound=bound) for bound in BOUNDS]
    for result, text in zip(found, texts, strict=True):
        assert result.value == printed(text)
    assert [result.proved for result in found] == [epsilon <= 1, True, True, True]
    assert found[-1].value / found[0].value == printed(gain)
    assert found[1].value <= found[2].value <= found[3].value


def test_section_1_strongly_convex_losses() -> None:
    """beyond.md §1: eps=1, delta=1e-5, G=2, n=1000, m_l=.25, m_pi=1: 4.49470923435 (explicit Minami 2.606)."""
    convexity = {"prior_convexity": 1.0, "n": 1000, "loss_convexity": 0.25}
    assert largest_beta(1, 1e-5, 2.0, **convexity).value == printed("4.49470923435")
    assert largest_beta(1, 1e-5, 2.0, **convexity, bound="minami").value == printed("2.606")


@pytest.mark.parametrize("bound", ["minami", "renyi", "gdp"])
@pytest.mark.parametrize(("n", "loss_convexity"), [(0, 0.0), (1000, 0.25), (50, 3.0)])
def test_section_1_calibrated_beta_meets_its_target_and_a_little_more_does_not(
    bound: Bound, n: int, loss_convexity: float
) -> None:
    for epsilon, delta in [(0.1, 1e-3), (1, 1e-5), (5, 1e-9)]:
        convexity = {"prior_convexity": 0.7, "n": n, "loss_convexity": loss_convexity}
        beta = largest_beta(epsilon, delta, 1.3, **convexity, bound=bound).value

        def exceeds(beta: float, convexity: dict[str, float] = convexity, e: float = epsilon, d: float = delta) -> bool:
            mu = gibbs_mu(beta, 1.3, **convexity)
            if bound == "gdp":
                return gaussian_delta(mu, e) > d
            if bound == "renyi":
                return zcdp_epsilon(mu**2 / 2, d) > e * (1 + 1e-14)
            return minami_tail(e, beta, 1.3, **convexity) > d * (1 + 1e-11)

        assert not exceeds(beta)
        assert exceeds(beta * (1 + 1e-9))
        assert gaussian_delta(gibbs_mu(beta, 1.3, **convexity), epsilon) <= delta


def test_section_1_closed_form_inverts_mu() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        mu, gradient, prior, loss = np.exp(rng.uniform(-4, 3, 4))
        n = int(rng.integers(0, 5000))
        beta = largest_beta_at_mu(mu, gradient, prior_convexity=prior, n=n, loss_convexity=loss)
        assert gibbs_mu(beta, gradient, prior_convexity=prior, n=n, loss_convexity=loss) <= mu
        assert gibbs_mu(beta * (1 + 1e-12), gradient, prior_convexity=prior, n=n, loss_convexity=loss) > mu


def test_section_1_logistic_posteriors_stay_below_the_bound_by_quadrature() -> None:
    """One-dimensional logistic posteriors, n = 3, neighbours that differ in one record: B1 holds and is not far off."""
    theta, step = np.linspace(-30, 30, 40_001, retstep=True)
    records = np.array([-1.0, -0.6, 0.5, 1.0])
    tightest = 0.0
    for beta in (0.5, 2.0):
        mu = gibbs_mu(beta, logistic_gradient(1.0, 1, intercept=False), prior_convexity=1.0)
        log_prior = -0.5 * theta**2
        for x in records:
            for y in records:
                base = log_prior + beta * log_expit(theta) + beta * log_expit(-theta)
                log_p, log_q = (base + beta * log_expit(theta * z) for z in (x, y))
                for epsilon in (0.0, mu / 2, mu):
                    exact, bound = hockey_stick(log_p, log_q, step, epsilon), gaussian_delta(mu, epsilon)
                    assert exact <= bound
                    tightest = max(tightest, exact / bound)
    assert tightest > 0.5


# beyond.md §2, B2


def test_section_2_langevin_values() -> None:
    """beyond.md §2, B2: G=1, m=1, M=4, h=.1 at t = 1, 10, inf; G=.2, m=10, M=30, h=.01, t=100; h=.49 exceeds 1."""
    curve = {"convexity": 1.0, "smoothness": 4.0}
    assert langevin_mu(1, 0.1, 1, **curve) == printed("0.22360679775")
    assert langevin_mu(1, 0.1, 10, **curve) == printed("0.677337814818")
    assert langevin_mu(1, 0.1, math.inf, **curve) == printed("0.974679434481")
    assert langevin_mu(0.2, 0.01, 100, convexity=10, smoothness=30) == printed("0.0616425026968")
    assert langevin_mu(1, 0.49, math.inf, **curve) == printed("3.4648")
    assert langevin_mu(1, 0.4, math.inf, **curve) <= 1.0


@pytest.mark.parametrize(("m", "big_m", "h"), [(1.0, 4.0, 0.1), (0.3, 5.0, 0.3), (1.0, 1.0, 1.0), (2.0, 3.0, 0.4)])
def test_section_2_langevin_equals_the_exact_value_on_quadratics(m: float, big_m: float, h: float) -> None:
    """Two chains on m theta²/2 whose drifts differ by G: Gaussians with known means and variance at every step."""
    gap, variance = 0.0, 0.0
    previous = 0.0
    for t in range(1, 40):
        gap, variance = (1 - h * m) * gap + h * 0.7, (1 - h * m) ** 2 * variance + 2 * h
        mu = langevin_mu(0.7, h, t, convexity=m, smoothness=big_m)
        assert mu == pytest.approx(gap / math.sqrt(variance), rel=1e-12)
        assert previous * (1 - 1e-15) <= mu <= 0.7 / math.sqrt(m) * (1 + 1e-15)
        previous = mu
    limit = 0.7 / math.sqrt(m) * math.sqrt(1 - h * m / 2)
    assert langevin_mu(0.7, h, math.inf, convexity=m, smoothness=big_m) == pytest.approx(limit, rel=1e-12)


def test_section_2_langevin_without_convexity_adds_up_and_tiny_steps_keep_their_digits() -> None:
    assert langevin_mu(1.5, 0.2, 50, convexity=0, smoothness=4) == pytest.approx(1.5 * math.sqrt(0.1 * 50), rel=1e-14)
    assert langevin_mu(1, 1e-12, math.inf, convexity=1, smoothness=4) == pytest.approx(1.0, rel=1e-11)
    with pytest.raises(GuaranteeError, match="step must be"):
        langevin_mu(1, 0.51, 10, convexity=1, smoothness=4)


# seeds.md, Minami et al.


def test_M_T7_tail_values() -> None:
    """seeds.md M-T7: eps=1, L=1, beta=.1, m=1: 6.11356796637e-06; eps=.5, L=2, beta=.05, m=3: .000108727406417."""
    assert minami_tail(1, 0.1, 2.0, prior_convexity=1) == printed("6.11356796637e-06")
    assert minami_tail(0.5, 0.05, 4.0, prior_convexity=3) == printed("0.000108727406417")
    assert minami_tail(0.01, 1.0, 2.0, prior_convexity=1) == 1.0


def test_M_T7_exact_inversion_is_the_standard_zcdp_conversion() -> None:
    """seeds.md M-C8: both forms of eta; beyond.md §1: eta = (sqrt(l + eps) - sqrt(l))²."""
    for epsilon, delta in [(0.1, 1e-3), (1, 1e-5), (5, 1e-9), (1e-4, 1e-6)]:
        log_inverse, eta = math.log(1 / delta), minami_eta(epsilon, delta)
        assert eta == pytest.approx((math.sqrt(log_inverse + epsilon) - math.sqrt(log_inverse)) ** 2, rel=1e-7)
        assert math.exp(-((epsilon - eta) ** 2) / (4 * eta)) == pytest.approx(delta, rel=1e-10)
        assert eta + 2 * math.sqrt(eta * log_inverse) == pytest.approx(epsilon, rel=1e-10)


def test_M_C8_printed_corollary_follows_only_for_small_epsilon() -> None:
    """seeds.md M-C8: proved iff (1-eps)/2 + eps²/(8(1+2l)) >= 0 and a < eps, which is checked on the tail itself."""
    for delta in (0.3, 1e-3, 1e-6):
        for epsilon in (0.5, 1.0, 1.005, 1.1, 2.0, 10.0, 40.0, 200.0):
            result = largest_beta(epsilon, delta, 2.0, prior_convexity=1.0, bound="minami-printed")
            follows = minami_tail(epsilon, result.value, 2.0, prior_convexity=1.0) <= delta * (1 + 1e-12)
            assert result.proved == follows


@pytest.mark.parametrize(("delta", "threshold"), [(1e-3, 8.077), (1e-5, 8.989), (1e-6, 9.339), (0.1, 6.529)])
def test_M_C8_printed_corollary_is_false_from_a_threshold_on(delta: float, threshold: float) -> None:
    """seeds.md M-C8: at the printed beta the true delta exceeds the target as soon as eps > 8.077, 8.989, …"""

    def excess(epsilon: float) -> float:
        return gaussian_delta(largest_mu(epsilon, delta, "minami-printed").value, epsilon) / delta - 1

    assert excess(threshold - 0.0006) < 0 < excess(threshold + 0.0006)
    assert not largest_mu(threshold, delta, "minami-printed").proved


def test_M_C8_counterexample_by_quadrature() -> None:
    """seeds.md M-C8: the printed beta at (10, 1e-5) has true delta 1.68033924747e-5, on an admissible loss."""
    beta = largest_beta(10, 1e-5, 2.0, prior_convexity=1.0, bound="minami-printed")
    assert not beta.proved
    exact = gaussian_delta(gibbs_mu(beta.value, 2.0, prior_convexity=1.0), 10)
    assert exact / 1e-5 == printed("1.68033924747")
    theta, step = np.linspace(-20, 20, 100_001, retstep=True)
    log_p, log_q = (-0.5 * theta**2 - beta.value * np.maximum(0, 40 + x * theta) for x in (1, -1))
    assert hockey_stick(log_p, log_q, step, 10) == pytest.approx(exact, rel=1e-6)
    for bound in ("gdp", "renyi", "minami"):
        safe = largest_beta(10, 1e-5, 2.0, prior_convexity=1.0, bound=bound).value
        assert gaussian_delta(gibbs_mu(safe, 2.0, prior_convexity=1.0), 10) <= 1e-5


def test_M_C8_early_version_is_false() -> None:
    """seeds.md M-C8, M0: at beta = sqrt(m eps/2)/L the exact delta .372302161845 exceeds the claim .28650479686."""
    for epsilon, exact, claim in [(4, "0.372302161845", "0.28650479686"), (8, "0.405589", "0.105399")]:
        mu = gibbs_mu(math.sqrt(epsilon / 2), 2.0, prior_convexity=1.0)
        assert gaussian_delta(mu, epsilon) == printed(exact)
        assert 0.5 - math.exp(epsilon) * ndtr(-math.sqrt(2 * epsilon)) == printed(exact)
        assert math.exp(-(1 + epsilon) / 4) == printed(claim)


def test_M_T10_M_C11_explicit_beta() -> None:
    """seeds.md M-T10/M-C11: 2.60648616332 (eps=1, delta=1e-5, L=1, n=1000) and 0.0224572453394 (m_pi = 0)."""
    first = largest_beta(1, 1e-5, 2.0, prior_convexity=1, n=1000, loss_convexity=0.25, bound="minami")
    second = largest_beta(0.1, 1e-3, 4.0, prior_convexity=0, n=500, loss_convexity=1, bound="minami")
    assert first == Calibrated(printed("2.60648616332"), proved=True)
    assert second == Calibrated(printed("0.0224572453394"), proved=True)
    for lipschitz, n, loss, prior, epsilon, delta, beta in [
        (1, 1000, 0.25, 1, 1, 1e-5, first.value),
        (2, 500, 1, 0, 0.1, 1e-3, second.value),
    ]:
        linear = minami_eta(epsilon, delta) * n * loss
        root = math.sqrt(linear**2 + 8 * lipschitz**2 * minami_eta(epsilon, delta) * prior)
        assert beta == pytest.approx((linear + root) / (4 * lipschitz**2), rel=1e-12)


@pytest.mark.parametrize("interval", [(-0.5, 2.0), (0.0, 1.0), (-3.0, 3.0)])
def test_M_T10_truncated_gaussians_on_intervals(interval: tuple[float, float]) -> None:
    """seeds.md M-T10: restriction to a convex set keeps the divergence, tail and Gaussian-DP bounds."""
    n, beta, radius = 4, 0.8, 1.0
    theta, step = np.linspace(*interval, 40_001, retstep=True)
    mu = gibbs_mu(beta, quadratic_mean_gradient(radius), prior_convexity=0.5, n=n, loss_convexity=1.0)
    for rest in (-3.0, 0.0, 3.0):
        logs = [-0.25 * theta**2 - beta * (n * theta**2 / 2 - theta * (rest + x)) for x in (1.0, -1.0)]
        for log_p, log_q in (logs, logs[::-1]):
            p = np.exp(log_p - log_p.max())
            p /= p.sum()
            q = np.exp(log_q - log_q.max())
            q /= q.sum()
            loss = np.log(p / q)
            assert p @ loss <= mu**2 / 2
            for epsilon in (0.3, 1.0, 2.0):
                assert hockey_stick(log_p, log_q, step, epsilon) <= gaussian_delta(mu, epsilon)
                tail = minami_tail(
                    epsilon, beta, quadratic_mean_gradient(radius), prior_convexity=0.5, n=n, loss_convexity=1.0
                )
                assert p[loss >= epsilon].sum() <= tail


def test_M_LR_logistic_constants() -> None:
    """seeds.md M-LR: G = 1.05163399155 r in one dimension, 2r in more, 2 sqrt(r²+1) with intercept; r for labels."""
    assert logistic_gradient(3.0, 1, intercept=False) == pytest.approx(3 * 1.051634)
    assert logistic_gradient(3.0, 2, intercept=False) == 6.0
    assert logistic_gradient(3.0, 1, intercept=True) == pytest.approx(2 * math.sqrt(10))
    assert logistic_gradient(3.0, 5, intercept=True) == pytest.approx(2 * math.sqrt(10))
    assert logistic_label_gradient(3.0, intercept=False) == 3.0
    assert logistic_label_gradient(3.0, intercept=True) == pytest.approx(math.sqrt(10))

    u = np.linspace(-1, 1, 4001)  # label times feature

    def spread(theta: float) -> float:
        gradients = u * expit(-theta * u)
        best = u[gradients.argmax()]
        inner = minimize_scalar(
            lambda v: -v * expit(-theta * v),
            bounds=(max(best - 1e-3, -1), min(best + 1e-3, 1)),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(-inner.fun, gradients.max()) - gradients.min()

    coarse = max(np.linspace(0.1, 10, 400), key=spread)
    supremum = -minimize_scalar(
        lambda theta: -spread(theta), bounds=(coarse - 0.05, coarse + 0.05), method="bounded", options={"xatol": 1e-10}
    ).fun
    assert supremum == printed("1.05163399155")
    assert supremum <= logistic_gradient(1.0, 1, intercept=False) < supremum * (1 + 1e-8)


def test_M_LR_two_features_reach_twice_the_radius_and_a_label_flip_the_radius() -> None:
    weight, angle = 1e6 * np.array([1.0, 0.0]), 1e-3
    first, second = (np.array([-math.sin(angle), sign * math.cos(angle)]) for sign in (1, -1))

    def gradient(z: np.ndarray, y: int) -> np.ndarray:
        return -y * expit(-y * (z @ weight)) * z

    assert np.linalg.norm(gradient(first, 1) - gradient(second, 1)) == pytest.approx(2.0, rel=1e-5)
    for scale in (0.1, 3.0):
        z = np.array([0.6, 0.8])
        flipped = np.linalg.norm(expit(-scale) * -z - expit(scale) * z)
        assert flipped == pytest.approx(logistic_label_gradient(1.0, intercept=False))


def test_M_LR_betas() -> None:
    """seeds.md M-LR: n=1000, lam=.01, eps=1, delta=1e-5, r=1: .322574932649, .228094922317, GDP .299690266473."""
    plain, intercept = logistic_gradient(1, 2, intercept=False), logistic_gradient(1, 2, intercept=True)
    convexity = 1000 * 0.01
    printed_beta = largest_beta(1, 1e-5, plain, prior_convexity=convexity, bound="minami-printed")
    corrected = largest_beta(1, 1e-5, intercept, prior_convexity=convexity, bound="minami-printed")
    assert printed_beta == Calibrated(printed("0.322574932649"), proved=True)
    assert corrected == Calibrated(printed("0.228094922317"), proved=True)
    assert largest_beta(1, 1e-5, intercept, prior_convexity=convexity).value == printed("0.299690266473")


def test_M_T15_gaussian_mean() -> None:
    """seeds.md M-T15: eps=.1, delta=1e-3, r=1: eta, beta/n by (B.8) and exactly, and the paper's corrected numbers."""
    eta = minami_eta(0.1, 1e-3)
    assert eta == printed("0.00035931592543")
    gradient = quadratic_mean_gradient(1.0)
    family = {"prior_convexity": 0.0, "n": 1, "loss_convexity": 1.0}
    by_tail = largest_beta(0.1, 1e-3, gradient, **family, bound="minami").value
    exact = largest_beta(0.1, 1e-3, gradient, **family).value
    assert by_tail == printed("0.000179657962715")
    assert by_tail == pytest.approx(eta / 2, rel=1e-12)
    assert exact == printed("0.000825319461576")
    assert exact / by_tail == printed("4.6")
    # beta scales with n when lam = 0, so beta = 1 is free from n = 1 / (beta/n) on
    assert 1 / by_tail == printed("5566.13")
    # (B.7) is eps²/(8 log(2/delta)); the paper's 1.26e-4 is its value at 1e-4; (B.8) leads with eps²/(8 log(1/delta))
    assert 0.1**2 / (8 * math.log(2 / 1e-3)) == printed("1.6445e-04")
    assert 0.1**2 / (8 * math.log(2 / 1e-4)) == printed("1.26218e-04")
    assert 0.1**2 / (8 * math.log(2 / 1e-3)) < by_tail < 0.1**2 / (8 * math.log(1 / 1e-3))
    # larger than eps/8 from n = 70 on and than eps/4 from n = 140 on
    assert math.ceil(0.0125 / by_tail) == 70
    assert math.ceil(0.025 / by_tail) == 140


def test_M_T15_closed_form_and_exactness() -> None:
    """seeds.md M-T15: beta = [mu² n + sqrt(mu⁴ n² + 16 r² mu² lam)] / 8r²; the profile is the posterior's own."""
    n, r, lam, beta = 20, 1.5, 3.0, 0.4
    mu = gibbs_mu(beta, quadratic_mean_gradient(r), prior_convexity=lam, n=n, loss_convexity=1.0)
    assert mu == pytest.approx(2 * r * beta / math.sqrt(n * beta + lam), rel=1e-14)
    closed = (mu**2 * n + math.sqrt(mu**4 * n**2 + 16 * r**2 * mu**2 * lam)) / (8 * r**2)
    solved = largest_beta_at_mu(mu, quadratic_mean_gradient(r), prior_convexity=lam, n=n, loss_convexity=1.0)
    assert closed == pytest.approx(beta, rel=1e-12)
    assert solved == pytest.approx(beta, rel=1e-12)
    theta, step = np.linspace(-6, 6, 200_001, retstep=True)
    log_p, log_q = (-0.5 * (n * beta + lam) * (theta - x * beta / (n * beta + lam)) ** 2 for x in (r, -r))
    assert hockey_stick(log_p, log_q, step, 0.3) == pytest.approx(gaussian_delta(mu, 0.3), rel=1e-6)


def test_M_T15_tail_against_the_exact_delta() -> None:
    """seeds.md M-T15: n=1000, beta=.1, lam=1, eps=.1: tail 3.4572070531e-06, exact 9.7815790076e-10."""
    family = {"prior_convexity": 1.0, "n": 1000, "loss_convexity": 1.0}
    assert minami_tail(0.1, 0.1, 2.0, **family) == printed("3.4572070531e-06")
    assert gaussian_delta(gibbs_mu(0.1, 2.0, **family), 0.1) == printed("9.7815790076e-10")


def test_M_E17_logit_normal_bernoulli() -> None:
    """seeds.md M-E17: printed .0129900760361 (variance factor 76.98), with G = 1 .0259801520721, GDP .0574567476133."""
    rough = largest_beta(0.1, 1e-3, 2.0, prior_convexity=1.0, bound="minami-printed").value
    assert rough == printed("0.0129900760361")
    assert 1 / rough == printed("76.98")
    assert largest_beta(0.1, 1e-3, 1.0, prior_convexity=1.0, bound="minami-printed").value == printed("0.0259801520721")
    beta = largest_beta(0.1, 1e-3, 1.0, prior_convexity=1.0).value
    assert beta == printed("0.0574567476133")

    theta, step = np.linspace(-14, 14, 100_001, retstep=True)

    def exact(beta: float) -> float:
        worst = 0.0
        for k in range(10):
            logs = [-0.5 * theta**2 + beta * (j * theta + 10 * log_expit(-theta)) for j in (k, k + 1)]
            worst = max(worst, hockey_stick(logs[0], logs[1], step, 0.1), hockey_stick(logs[1], logs[0], step, 0.1))
        return worst

    assert exact(beta) == pytest.approx(0.000756097512821, rel=1e-6)
    assert exact(rough) == pytest.approx(7.9e-18, rel=0.01)


def test_twin_that_reports_the_standard_conversion_as_exact_is_caught() -> None:
    """Planted twin: the standard conversion leaves most of delta unused, so it cannot pass for the exact inverse."""
    exact, standard = largest_mu(1, 1e-5, "gdp").value, largest_mu(1, 1e-5, "minami").value
    assert gaussian_delta(exact, 1) == pytest.approx(1e-5, rel=1e-9)
    assert gaussian_delta(standard, 1) < 0.05 * 1e-5


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: gibbs_mu(0.0, 1, prior_convexity=1), "beta must be"),
        (lambda: gibbs_mu(1.0, 0, prior_convexity=1), "gradient must be"),
        (lambda: gibbs_mu(1.0, 1, prior_convexity=0), "above 0, got 0"),
        (lambda: gibbs_mu(1.0, 1, prior_convexity=-1), "at least 0"),
        (lambda: largest_beta(0, 1e-5, 1, prior_convexity=1), "epsilon and delta"),
        (lambda: largest_beta(1, 1.0, 1, prior_convexity=1), "epsilon and delta"),
        (lambda: largest_mu(1, 1e-5, "magic"), "bound must be"),  # type: ignore[arg-type]
        (lambda: langevin_mu(1, 0.1, 0, convexity=1, smoothness=4), "steps"),
        (lambda: langevin_mu(1, 0.1, 5, convexity=5, smoothness=4), "convexity"),
        (lambda: logistic_gradient(0.0, 1, intercept=False), "radius must be"),
    ],
)
def test_out_of_range_parameters_are_refused(call: object, match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()  # type: ignore[operator]
