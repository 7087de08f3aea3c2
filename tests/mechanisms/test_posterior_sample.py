"""PosteriorSample: temperatures, the privacy of the sampled law by quadrature, and draws against quadrature."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta, kstest

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.sources import CodedRows, Dataset

BERNOULLI = dc.BetaBernoulli("x")


def bernoulli(n: int) -> dc.Schema:
    return dc.Schema({"x": dc.Binary()}, n=n)


def draws(model, schema: dc.Schema, counts: list[int], mechanism: dc.PosteriorSample, seed: int = 1) -> np.ndarray:
    rows = {model.column: np.repeat(np.arange(len(counts)), counts)}
    value = mechanism.apply(SeededNoise(seed), model.query(schema), Dataset("d", schema, CodedRows(rows)))
    return next(iter(value.values()))


@pytest.mark.parametrize(
    ("truncation", "epsilon", "temperature"), [(0.2, 1.0, 2.77258872224), (0.05, 0.1, 58.8887795833)]
)
def test_temperatures_of_the_notes(truncation: float, epsilon: float, temperature: float) -> None:
    """seeds.md F-OPS."""
    mechanism = dc.PosteriorSample(epsilon=epsilon, truncation=truncation)
    assert mechanism.temperature(BERNOULLI.query(bernoulli(20))) == pytest.approx(temperature, rel=1e-11)


def test_the_worst_log_ratio_approaches_twice_the_bound_and_is_charged_when_the_temperature_is_one() -> None:
    """F-OPS: a0 = .1 gives C = 2.19722457734; above epsilon = 2C the posterior is not heated and 2C is charged."""
    query = BERNOULLI.query(bernoulli(20))
    generous = dc.PosteriorSample(epsilon=10.0, truncation=0.1)
    assert generous.temperature(query) == 1.0
    assert generous.guarantee(query).epsilon(0.0) == pytest.approx(2 * 2.19722457734, rel=1e-11)


def log_normaliser(k: int, n: int, temperature: float, a0: float) -> float:
    a, b = k / temperature + 1, (n - k) / temperature + 1
    return float(np.log(beta.cdf(1 - a0, a, b) - beta.cdf(a0, a, b)) + betaln(a, b))


def worst_pure_level(n: int, temperature: float, a0: float) -> float:
    """Largest log-ratio over neighbours (k, k+1) and over the parameter space, from normalisers computed by scipy."""
    worst = 0.0
    for k in range(n):
        shift = log_normaliser(k + 1, n, temperature, a0) - log_normaliser(k, n, temperature, a0)
        for p in (a0, 1 - a0):
            worst = max(worst, abs(math.log(p / (1 - p)) / temperature - shift))
    return worst


def test_the_exact_pure_level_of_the_notes() -> None:
    """F-FIG1: N = 20, a0 = .2, epsilon = 1 has the exact level 0.828490097086; it never exceeds epsilon."""
    temperature = dc.PosteriorSample(epsilon=1.0, truncation=0.2).temperature(BERNOULLI.query(bernoulli(20)))
    assert worst_pure_level(20, temperature, 0.2) == pytest.approx(0.828490097086, rel=1e-9)
    assert worst_pure_level(400, temperature, 0.2) <= 1.0


def test_the_law_of_a_draw_has_the_same_exact_level() -> None:
    """The same brute force through `log_law`; with a likelihood that counts twice it is above epsilon."""
    mechanism, query = dc.PosteriorSample(epsilon=1.0, truncation=0.2), BERNOULLI.query(bernoulli(20))
    ends = [mechanism.log_law(query, [p], np.arange(21)) for p in (0.2, 0.8)]
    assert np.abs(np.diff(ends)).max() == pytest.approx(0.828490097086, rel=1e-9)
    assert np.ptp(np.diff(ends), axis=0).max() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("tempering", "a", "b", "mean", "variance"),
    [
        ("joint", 3.164042561, 6.049432643, 0.3867632434, 0.01548101188),
        ("natural", 2.524716322, 5.410106403, 0.3797000144, 0.01593153861),
        ("likelihood", 1 + 6 / 2.77258872224, 1 + 14 / 2.77258872224, 0.3867632434, 0.01548101188),
    ],
)
def test_temperings_of_the_notes(tempering: str, a: float, b: float, mean: float, variance: float) -> None:
    """F-FIG1: a uniform prior is the same whether it is tempered in the probability or not at all."""
    mechanism = dc.PosteriorSample(epsilon=1.0, truncation=0.2, tempering=tempering)  # type: ignore[arg-type]
    query = BERNOULLI.query(bernoulli(20))
    inside = beta.cdf(0.8, a, b) - beta.cdf(0.2, a, b)

    def density(p: float) -> float:
        return math.exp(float(mechanism.log_law(query, [p], 6)))

    assert density(0.35) == pytest.approx(beta.pdf(0.35, a, b) / inside, rel=1e-8)
    first, second = (quad(lambda p, power=power: p**power * density(p), 0.2, 0.8)[0] for power in (1, 2))
    assert (first, second - first**2) == (pytest.approx(mean, rel=1e-8), pytest.approx(variance, rel=1e-7))


def test_a_halved_temperature_would_be_caught() -> None:
    temperature = dc.PosteriorSample(epsilon=1.0, truncation=0.2).temperature(BERNOULLI.query(bernoulli(20)))
    assert worst_pure_level(20, temperature / 2, 0.2) > 1.0


def test_truncated_beta_draws_agree_with_quadrature() -> None:
    """F-FIG1: 100,000 draws against mean .3867632434, variance .01548101188 and the exact CDF. False alarm 1e-4."""
    mechanism = dc.PosteriorSample(epsilon=1.0, truncation=0.2, draws=100_000)
    sample = draws(BERNOULLI, bernoulli(20), [14, 6], mechanism)
    a, b = 3.164042561, 6.049432643
    low, high = beta.cdf(0.2, a, b), beta.cdf(0.8, a, b)
    assert kstest(sample, lambda x: (beta.cdf(x, a, b) - low) / (high - low)).pvalue > 1e-4
    assert abs(sample.mean() - 0.3867632434) < 4 * math.sqrt(0.01548101188 / sample.size)
    assert sample.var() == pytest.approx(0.01548101188, rel=0.02)
    clipped = np.clip(np.random.default_rng(2).beta(a, b, 100_000), 0.2, 0.8)  # planted: clipping is not truncation
    assert kstest(clipped, lambda x: (beta.cdf(x, a, b) - low) / (high - low)).pvalue < 1e-9


def dirichlet_mean(alpha: np.ndarray, a0: float) -> float:
    """E x_1 of a truncated Dirichlet of three cells by nested quadrature."""

    def slice_mass(x: float) -> float:
        left = 1 - x
        low, high = a0 / left, 1 - a0 / left
        inner = beta.cdf(high, alpha[1], alpha[2]) - beta.cdf(low, alpha[1], alpha[2])
        return float(x ** (alpha[0] - 1) * left ** (alpha[1] + alpha[2] - 1) * inner)

    bounds = (a0, 1 - 2 * a0)
    return quad(lambda x: x * slice_mass(x), *bounds)[0] / quad(slice_mass, *bounds)[0]


def sequential(alpha: np.ndarray, a0: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """The published scheme without its correction: one truncated Beta per component."""
    left, columns = np.ones(size), []
    for k in range(2):
        rest = alpha[k + 1 :].sum()
        low, high = a0 / left, 1 - a0 * (2 - k) / left
        u = beta.cdf(low, alpha[k], rest) + rng.random(size) * (
            beta.cdf(high, alpha[k], rest) - beta.cdf(low, alpha[k], rest)
        )
        columns.append(left * beta.ppf(u, alpha[k], rest))
        left = left - columns[-1]
    return np.column_stack([*columns, left])


def test_truncated_dirichlet_draws_agree_with_quadrature_and_the_sequential_scheme_is_caught() -> None:
    """100,000 draws through the mechanism; each coordinate's mean within 4.5 standard errors (false alarm 2e-5)."""
    schema = dc.Schema({"x": dc.Categorical(["a", "b", "c"])}, n=6)
    model, mechanism = dc.DirichletCategorical("x"), dc.PosteriorSample(epsilon=50.0, truncation=0.1, draws=100_000)
    sample = draws(model, schema, [4, 2, 0], mechanism)
    alpha = np.array([5.0, 3.0, 1.0])
    assert mechanism.temperature(model.query(schema)) == 1.0
    assert np.abs(sample.sum(1) - 1).max() < 1e-9
    assert sample.min() >= 0.1 - 1e-9
    planted = sequential(alpha, 0.1, 100_000, np.random.default_rng(0))
    seen = False
    for j in range(3):
        order = [j, *[i for i in range(3) if i != j]]
        exact = dirichlet_mean(alpha[order], 0.1)
        error = sample[:, j].std() / math.sqrt(sample.shape[0])
        assert abs(sample[:, j].mean() - exact) < 4.5 * error
        seen |= bool(abs(planted[:, j].mean() - exact) > 4.5 * error)
    assert seen


def test_each_draw_is_paid() -> None:
    query = BERNOULLI.query(bernoulli(20))
    one = dc.PosteriorSample(epsilon=0.5, truncation=0.2).guarantee(query)
    ten = dc.PosteriorSample(epsilon=0.5, truncation=0.2, draws=10).guarantee(query)
    assert isinstance(one, dc.BoundedRange)
    assert ten == dc.IndependentDraws(one, 10)
    assert ten.epsilon(0.0) == pytest.approx(5.0)


def test_draws_are_on_the_public_grid_inside_the_declared_space() -> None:
    mechanism = dc.PosteriorSample(epsilon=1.0, truncation=0.2, draws=1000, grid=2.0**-10)
    sample = draws(BERNOULLI, bernoulli(10_000), [10_000, 0], mechanism)
    assert np.all(sample * 2**10 == np.round(sample * 2**10))
    assert np.all((sample >= 0.2 - 2**-11) & (sample <= 0.8))


@pytest.mark.parametrize("counts", [[10**6, 0], [0, 10**6], [500_000, 500_000]])
def test_concentrated_posteriors_give_finite_draws(counts: list[int]) -> None:
    schema = bernoulli(sum(counts))
    sample = draws(BERNOULLI, schema, counts, dc.PosteriorSample(epsilon=1.0, truncation=0.05, draws=100))
    assert np.all(np.isfinite(sample))
    assert np.all((sample >= 0.05 - 1e-9) & (sample <= 0.95 + 1e-9))


def test_what_cannot_be_answered_is_refused() -> None:
    schema = dc.Schema({"x": dc.Binary(), "y": dc.Binary(), "w": dc.Categorical("abcdef"[i] for i in range(6))}, n=5)
    numbers = dc.Schema({"x": dc.Bounded(0, 1)}, n=5)
    with pytest.raises(dc.QueryError, match="a model of probabilities, or a mean or rate"):
        dc.PosteriorSample(epsilon=1.0, truncation=0.1).guarantee(dc.Normal("x").query(numbers))
    with pytest.raises(dc.QueryError, match=r"truncation must be below 1/6"):
        dc.PosteriorSample(epsilon=1.0, truncation=0.2).guarantee(dc.DirichletCategorical("w").query(schema))
    removed = dc.Schema({"x": dc.Binary()}, relation="add-remove", n_max=5)
    with pytest.raises(dc.QueryError, match="records that are replaced"):
        dc.PosteriorSample(epsilon=1.0, truncation=0.2).guarantee(BERNOULLI.query(removed))
    for arguments in ({"epsilon": 0.0}, {"truncation": 0.7}, {"draws": 0}, {"draws": 2.5}, {"grid": 0.0}):
        with pytest.raises(dc.GuaranteeError, match=r"PosteriorSample\."):
            dc.PosteriorSample(**{"epsilon": 1.0, "truncation": 0.1, **arguments})  # type: ignore[arg-type]
