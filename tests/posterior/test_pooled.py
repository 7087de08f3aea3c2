"""Pooled posteriors: closed forms, brute force, calibration with planted errors, coverage and width."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.special import expit, gammaln, roots_hermitenorm, roots_legendre
from scipy.stats import kstest, norm
from threadpoolctl import threadpool_limits

from discreet.auditing.rank_tests import Ranks, rank_uniformity
from discreet.errors import ConvergenceWarning, QueryError
from discreet.inference.groups import population
from discreet.inference.groups.population import Hyperprior, Population, fit_population
from discreet.inference.groups.sinh_quadrature import SinhCurve, trace
from discreet.noise import DiscreteLaplace
from discreet.posterior import beta_from_count, beta_from_two_counts
from discreet.posterior.pooled import Likelihood, PooledPosterior, Scalar, pooled_posterior
from discreet.schema.row_counts import UniformSizes

LOGISTIC_SD = float(np.pi / np.sqrt(3.0))


def normal_likelihood(y: float, sd: float) -> Likelihood:
    return lambda theta: np.asarray(norm.logpdf(y, theta, sd))


class NormalOracle:
    """Normal groups: everything is normal given tau; scipy integrates over tau."""

    def __init__(self, y: list[float], sd: list[float], mean: float, prior_sd: float, spread: float) -> None:
        self.y, self.variance = np.array(y), np.array(sd) ** 2
        self.mean, self.prior_variance, self.spread = mean, prior_sd**2, spread

    def given(self, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Density of all data and tau; means and variances of the groups and, last, of the centre."""
        total = self.variance + tau**2
        residual, covariance = self.y - self.mean, np.diag(total) + self.prior_variance
        log_density = -0.5 * residual @ np.linalg.solve(covariance, residual) - 0.5 * np.linalg.slogdet(covariance)[1]
        log_density -= 0.5 * self.y.size * np.log(2 * np.pi)
        precision = 1 / self.prior_variance + np.sum(1 / total)
        centre = (self.mean / self.prior_variance + np.sum(self.y / total)) / precision
        means = (self.y * tau**2 + centre * self.variance) / total
        variances = tau**2 * self.variance / total + (self.variance / total) ** 2 / precision
        density = float(np.exp(log_density) * 2 * norm.pdf(tau, 0, self.spread))
        return density, np.append(means, centre), np.append(variances, 1 / precision)

    def integral(self, f: Callable[[float, np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Of f(tau, means, variances) over tau, in pieces that see every scale."""

        def integrand(tau: float) -> np.ndarray:
            density, means, variances = self.given(tau)
            return density * f(tau, means, variances)

        edges = [0.0, 1e-3, 1e-2, 0.1, 0.5, 2.0, 8.0]
        return np.sum([quad_vec(integrand, *ends, epsabs=1e-14, epsrel=1e-10)[0] for ends in pairwise(edges)], axis=0)


@pytest.mark.parametrize(
    ("y", "sd"),
    [
        ([0.3, -0.5, 1.4], [0.01, 0.7, 0.2]),
        ([0.3, 0.3], [0.05, 0.05]),
        ([-1.0, 1.0, 0.9, 1.1], [0.1, 3.0, 0.1, 0.1]),
        ([2.0], [0.5]),
    ],
)
def test_normal_groups_equal_the_closed_form_integrated_by_scipy(y: list[float], sd: list[float]) -> None:
    """Sharp and flat groups, alike and apart, a single one: six digits of everything."""
    oracle = NormalOracle(y, sd, 0.2, 1.0, 1.0)
    groups = {str(g): normal_likelihood(*pair) for g, pair in enumerate(zip(y, sd, strict=True))}
    post = pooled_posterior("ward", groups, Scalar("mean", "identity", 0.2, 1.0))
    rows = post.summary().to_dict("index")
    ends = np.array([[row["lower"], row["upper"]] for row in rows.values()])[:-1]

    def moments_and_tails(tau: float, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        cdf = norm.cdf(ends.T, means, np.sqrt(np.maximum(variances, 1e-300)))
        return np.concatenate([[1.0, tau], means, variances + means**2, *cdf])

    found = oracle.integral(moments_and_tails)
    expected = found[1:] / found[0]
    mean, square, below, above = expected[1:].reshape(4, -1)
    assert post.log_evidence() == pytest.approx(np.log(found[0]), abs=1e-6)
    assert rows["population spread"]["mean"] == pytest.approx(expected[0], abs=1e-6)
    centre_and_groups = list(rows.values())[:-1]
    np.testing.assert_allclose([row["mean"] for row in centre_and_groups], mean, atol=1e-6)
    np.testing.assert_allclose([row["sd"] for row in centre_and_groups], np.sqrt(square - mean**2), atol=1e-6)
    np.testing.assert_allclose([below, above], [[0.05] * mean.size, [0.95] * mean.size], atol=1e-6)
    assert list(post.mean().values()) == [row["mean"] for row in centre_and_groups[:-1]]
    assert post.quantile(0.05)["0"] == pytest.approx(ends[0, 0], rel=1e-14)


def test_binomial_groups_equal_brute_force() -> None:
    """Gauss–Hermite over the groups, a dense sum over the centre, Gauss–Legendre over the spread."""
    counts, sizes = (2, 9, 0), (12, 15, 4)
    z, z_weights = roots_hermitenorm(80)
    t, t_weights = roots_legendre(80)
    tau, m = 3.0 * (t + 1), np.linspace(-12.0, 12.0, 241)
    eta = m[:, None, None] + tau[:, None] * z
    theta = expit(eta)
    likelihoods = [theta**k * (1 - theta) ** (n - k) for k, n in zip(counts, sizes, strict=True)]
    groups = [like @ z_weights / z_weights.sum() for like in likelihoods]
    hyper = norm.pdf(m, 0, LOGISTIC_SD)[:, None] * norm.pdf(tau) * 2 * t_weights * 3.0 * 0.1
    joint = hyper * np.prod(groups, axis=0)
    post = pooled_posterior(
        "ward",
        {
            str(g): lambda x, k=k, n=n: k * np.log(x) + (n - k) * np.log1p(-x)
            for g, (k, n) in enumerate(zip(counts, sizes, strict=True))
        },
        Scalar("probability", "logit", 0.0, LOGISTIC_SD),
    )
    assert post.log_evidence() == pytest.approx(np.log(joint.sum()), abs=1e-6)
    for g, level in enumerate(post.levels):
        first = np.sum(joint / groups[g] * ((likelihoods[g] * theta) @ z_weights / z_weights.sum())) / joint.sum()
        assert post.mean()[level] == pytest.approx(first, abs=1e-6)


def test_a_log_link_and_an_interval() -> None:
    """The same data in other units: rates of counts per week and per day, a share and a number between 2 and 6."""
    weekly = {"a": lambda x: 30 * np.log(x) - 10 * x, "b": lambda x: 3 * np.log(x) - x}
    daily = {"a": lambda x: 30 * np.log(7 * x) - 70 * x, "b": lambda x: 3 * np.log(7 * x) - 7 * x}
    one = pooled_posterior("site", weekly, Scalar("rate", "log", 0.0, 1.2))
    other = pooled_posterior("site", daily, Scalar("rate", "log", -np.log(7), 1.2))
    assert one.quantile(0.3)["b"] == pytest.approx(7 * other.quantile(0.3)["b"], rel=1e-6)
    assert one.log_evidence() == pytest.approx(other.log_evidence(), abs=1e-6)
    share = {"a": lambda x: 5 * np.log(x) + 9 * np.log1p(-x)}
    scaled = {"a": lambda x: 5 * np.log((x - 2) / 4) + 9 * np.log((6 - x) / 4)}
    inside = pooled_posterior("site", scaled, Scalar("mean", "logit", 0.0, 1.0, ends=(2.0, 6.0))).interval()["a"]
    expected = pooled_posterior("site", share, Scalar("mean", "logit", 0.0, 1.0)).interval()["a"]
    np.testing.assert_allclose(inside, 2 + 4 * np.array(expected), atol=1e-6)


class Bernoulli:
    def draw(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(theta.shape) < theta).astype(np.int64)


@cache
def three_wards() -> PooledPosterior:
    law = DiscreteLaplace(3.0)
    parts = {ward: beta_from_count(y, 40, (1, 1), law) for ward, y in (("A", 8), ("B", 11), ("C", 35))}
    scalar = Scalar("probability", "logit", 0.0, LOGISTIC_SD, record=Bernoulli())
    return pooled_posterior("ward", {ward: part.log_density for ward, part in parts.items()}, scalar)


def test_draws_have_the_marginals_and_are_joint() -> None:
    """20,000 draws: every marginal by KS (p above 1e-6), A and B correlated as the shared population makes them."""
    post, rng = three_wards(), np.random.default_rng(5)
    draws = post.sample(20_000, rng)
    for level in post.levels:
        assert kstest(post.cdf({level: draws[level]})[level], "uniform").pvalue > 1e-6
    assert np.corrcoef(draws["A"], draws["B"])[0, 1] > 0.02
    m, tau = post.population.sample(20_000, rng)
    assert kstest(post.population.centre.cdf(m), "uniform").pvalue > 1e-6
    assert kstest(post.population.spread.cdf(np.arcsinh(tau / post.population.unit)), "uniform").pvalue > 1e-6
    share = post.predict(20_000, rng)["C"].mean()
    assert abs(share - post.mean()["C"]) < 5 * np.sqrt(0.25 / 20_000)


def test_summary_export_and_refusals() -> None:
    post = three_wards()
    rows = post.summary().to_dict("index")
    names = ["A: probability", "B: probability", "C: probability", "population mean", "population spread"]
    assert list(rows) == names
    assert (rows["B: probability"]["lower"], rows["B: probability"]["upper"]) == post.interval(0.9)["B"]
    assert rows["A: probability"]["sd"] == post.sd()["A"]
    assert "population spread" in str(post)
    tree = post.to_datatree(6, attributes={"epsilon": 1.0})
    assert tree["posterior"]["probability"].dims == ("chain", "draw", "ward")
    assert set(tree["posterior"].data_vars) == {"probability", "population_mean", "population_spread"}
    with pytest.raises(QueryError, match="without pooling"):
        post.log_density(0.3)
    with pytest.raises(QueryError, match="quantile"):
        post.quantile(0.0)
    bare = pooled_posterior("ward", {"A": normal_likelihood(0.0, 1.0)}, Scalar("mean", "identity", 0.0, 1.0))
    with pytest.raises(QueryError, match="law of a record"):
        bare.predict(3)


@pytest.mark.parametrize("far", [10.0, 300.0, -1000.0])
def test_releases_far_from_the_prior_are_read(far: float) -> None:
    """Two groups hundreds of prior deviations away, where the spread takes all: closed form given tau, summed over it."""
    post = pooled_posterior(
        "ward",
        {"A": normal_likelihood(far, 1.0), "B": normal_likelihood(far + 1.0, 1.0)},
        Scalar("mean", "identity", 0.0, 1.0),
    )
    y, tau = np.array([far, far + 1.0]), np.linspace(1e-3, 100.0, 100_001)
    total = 1.0 + tau**2
    precision = 1.0 + 2.0 / total
    centre = y.sum() / total / precision
    logs = -0.5 * tau**2 - np.log(total) - 0.5 * np.log(precision) - 0.5 * (y @ y / total - centre**2 * precision)
    weights = np.exp(logs - logs.max())
    for level, own in zip(("A", "B"), y, strict=True):
        mean = np.sum(weights * (own * tau**2 + centre) / total) / weights.sum()
        assert post.mean()[level] == pytest.approx(mean, abs=1e-3)
    draws = post.sample(4000, np.random.default_rng(1))
    assert kstest(post.cdf({"A": draws["A"]})["A"], "uniform").pvalue > 1e-6


def test_one_group_and_groups_of_opposite_ends_are_read() -> None:
    law = DiscreteLaplace(200.0)  # epsilon = .01
    scalar = Scalar("probability", "logit", 0.0, LOGISTIC_SD)
    for counts in ({"A": 5}, {"A": -900, "B": 1900, "C": 0}, {"A": 0, "B": 0}):
        parts = {ward: beta_from_count(y, 40, (1, 1), law).log_density for ward, y in counts.items()}
        low, high = pooled_posterior("ward", parts, scalar).interval(0.9)["A"]
        assert 0.0 < low < high < 1.0


def test_mistakes_are_refused_and_unresolved_sums_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scalar = Scalar("mean", "identity", 0.0, 1.0)
    with pytest.raises(QueryError, match="at least one"):
        pooled_posterior("ward", {}, scalar)
    for wrong in (lambda x: np.full(x.shape, np.nan), lambda x: np.zeros(3)):
        with pytest.raises(QueryError, match="one log-density"):
            pooled_posterior("ward", {"A": wrong}, scalar)
    monkeypatch.setattr(population, "CONSISTENT", 0.0)  # nothing is as good as that
    with pytest.warns(ConvergenceWarning, match="not resolved"):
        pooled_posterior("ward", {"A": normal_likelihood(3, 1), "B": normal_likelihood(5, 1)}, scalar)
    for fields in ({"link": "probit"}, {"sd": 0.0}, {"sd": np.nan}, {"ends": (1.0, 0.0)}):
        with pytest.raises(QueryError, match=r"Scalar\.sd|Link\."):
            Scalar(**{"parameter": "x", "link": "logit", "mean": 0.0, "sd": 1.0, **fields})  # type: ignore[arg-type]


# Calibration: 8 groups of 15 units, one noisy count each, everything drawn from the hierarchy.
PRIOR = Scalar("probability", "logit", -1.0, 0.8)
UNITS, SCALE = 15, 3.0


@cache
def count_curve(y: int, scale: float) -> SinhCurve:
    part = beta_from_count(y, UNITS, (1, 1), DiscreteLaplace(scale))
    return trace(lambda eta: part.log_density(PRIOR.theta(eta)), -24.0, 24.0, PRIOR.sd)


def discrete_laplace(size: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    step = -np.expm1(-1 / scale)
    return rng.geometric(step, size) - rng.geometric(step, size)


def ranks_of_simulations(runs: int, prior: Hyperprior = PRIOR.hyperprior, scale: float = SCALE) -> dict[str, Ranks]:
    """Ranks of one group, of the centre and of the spread: one of each for every simulation, so all independent."""
    rng, true = np.random.default_rng(11), PRIOR.hyperprior
    ranks = np.empty((runs, 3))
    for i in range(runs):
        m, tau = rng.normal(true.mean, true.sd), abs(rng.normal(0, true.spread))
        eta = rng.normal(m, tau, 8)
        y = rng.binomial(UNITS, PRIOR.theta(eta)) + discrete_laplace(8, SCALE, rng)
        fitted: Population = fit_population(tuple(count_curve(int(k), scale) for k in y), prior)
        u = np.arcsinh(tau / fitted.unit)
        ranks[i] = fitted.group(0).cdf(eta[0]), fitted.centre.cdf(m), fitted.spread.cdf(u)
    return {name: rank_uniformity(column) for name, column in zip(("group", "centre", "spread"), ranks.T, strict=True)}


def test_ranks_of_the_truth_are_uniform() -> None:
    """30 simulations, as many as show the planted errors; false-alarm rate 1e-4 for each of the three parameters."""
    for name, ranks in ranks_of_simulations(30).items():
        assert ranks.uniform(1e-4), f"{name}: {ranks}"


@pytest.mark.audit
def test_audit_pooled_calibration(evidence: Callable[[Callable[[], list[float]]], list[float]]) -> None:
    """300 simulations; false-alarm rate 1e-4 for each of the three parameters."""
    found = evidence(lambda: [min(r.shift, r.scale) for r in ranks_of_simulations(300).values()])
    assert min(found) > 0.5e-4


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        pytest.param((Hyperprior(-1.0, 0.8, 1e-3), SCALE), "group", marks=pytest.mark.audit),  # all groups the same
        pytest.param((Hyperprior(2.0, 0.8, 0.8), SCALE), "centre", marks=pytest.mark.audit),  # the wrong prior
        ((PRIOR.hyperprior, 0.1), "group"),  # the noise is forgotten
    ],
)
def test_planted_errors_are_caught(planted: tuple[Hyperprior, float], seen: str) -> None:
    assert not ranks_of_simulations(30, *planted)[seen].uniform(1e-4)


# Coverage and width: 50 groups of 20 to 5,000 units, both counts noisy, sizes private.
NOISE = DiscreteLaplace(4.0)
LARGEST = 10_000


def two_count_likelihood(zeros: int, ones: int) -> Likelihood:
    """Σ over both counts of C(k0 + k1, k1) theta^k1 (1 - theta)^k0 f(zeros - k0) f(ones - k1) / (LARGEST + 1)."""
    k0, k1 = (np.arange(max(0, y - 160), max(0, y) + 161.0) for y in (zeros, ones))
    share = (max(ones, 0) + 1) / (max(zeros, 0) + max(ones, 0) + 2)
    log_table = gammaln(k0[:, None] + k1 + 1) - gammaln(k0 + 1)[:, None] - gammaln(k1 + 1) - np.log(LARGEST + 1)
    log_table += (NOISE.log_density(zeros - k0) + k0 * np.log1p(-share))[:, None]
    log_table += NOISE.log_density(ones - k1) + k1 * np.log(share)
    top = log_table.max()
    table = np.exp(log_table - top)

    def log_likelihood(theta: np.ndarray) -> np.ndarray:
        tilt0 = k0[:, None] * (np.log1p(-theta) - np.log1p(-share))
        tilt1 = k1[:, None] * (np.log(theta) - np.log(share))
        top0, top1 = tilt0.max(axis=0), tilt1.max(axis=0)
        inner = table @ np.exp(tilt1 - top1)
        return np.asarray(np.log(np.sum(np.exp(tilt0 - top0) * inner, axis=0)) + top + top0 + top1)

    return log_likelihood


def test_the_fast_likelihood_is_that_of_the_unpooled_posterior() -> None:
    theta = np.array([0.05, 0.2, 0.31, 0.7])
    for zeros, ones in ((30, 12), (3, 5)):
        part = beta_from_two_counts(zeros, ones, UniformSizes(LARGEST), (1, 1), NOISE)
        expected = part.log_density(theta) + part.log_evidence()
        np.testing.assert_allclose(two_count_likelihood(zeros, ones)(theta), expected, atol=1e-6)


def coverage_and_widths(replications: int) -> tuple[float, float, float]:
    """Coverage of pooled 90% intervals, and the average widths pooled and unpooled (uniform prior)."""
    rng, scalar = np.random.default_rng(8), Scalar("probability", "logit", 0.0, LOGISTIC_SD)
    hits, pooled, unpooled = [], [], []
    for _ in range(replications):
        sizes = np.exp(rng.uniform(np.log(20), np.log(5000), 50)).astype(int)
        theta = scalar.theta(rng.normal(-1.0, 0.5, 50))
        ones = rng.binomial(sizes, theta)
        released = np.stack([sizes - ones, ones]) + discrete_laplace(100, NOISE.scale, rng).reshape(2, 50)
        groups = {str(g): two_count_likelihood(*map(int, released[:, g])) for g in range(50)}
        with threadpool_limits(1):
            post = pooled_posterior("ward", groups, scalar)
        ends = np.array(list(post.interval(0.9).values()))
        hits.append((ends[:, 0] <= theta) & (theta <= ends[:, 1]))
        pooled.append(ends[:, 1] - ends[:, 0])
        for own in post.population.groups:  # likelihood times the logistic density, which is uniform in theta
            log_prior = -np.logaddexp(0, own.nodes) - np.logaddexp(0, -own.nodes)
            alone = SinhCurve(own.nodes, own.weights, own.log_values + log_prior)
            unpooled.append(float(np.diff(scalar.theta(alone.quantiles(np.array([0.05, 0.95]))))[0]))
    return float(np.mean(hits)), float(np.mean(pooled)), float(np.mean(unpooled))


def test_pooled_intervals_cover_and_are_narrower() -> None:
    """100 intervals of 2 replications: 90% ± 4.5 standard errors (7e-6 if independent), cut at 1."""
    coverage, pooled, unpooled = coverage_and_widths(2)
    assert coverage > 0.9 - 4.5 * np.sqrt(0.09 / 100)
    assert pooled < 0.9 * unpooled


@pytest.mark.audit
def test_audit_pooled_coverage(evidence: Callable[[Callable[[], list[float]]], list[float]]) -> None:
    """2,000 intervals of 40 replications: 90% ± 4.2 standard errors (3e-5 if independent)."""
    coverage, pooled, unpooled = evidence(lambda: list(coverage_and_widths(40)))
    assert abs(coverage - 0.9) < 0.028
    assert pooled < 0.9 * unpooled
