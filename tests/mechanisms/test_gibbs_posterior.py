"""Gibbs posteriors: laws against quadrature, guarantees against the notes' formulas and brute force, and refusals."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.accounting.conversions import gaussian_mu
from discreet.accounting.gibbs import langevin_mu
from discreet.accounting.langevin_privacy import cyclic_langevin_mu, projected_langevin_mu
from discreet.mechanisms.base import Reading
from discreet.mechanisms.draws.public_grid import rounded
from discreet.mechanisms.gibbs_posterior import gibbs_posterior
from discreet.mechanisms.gibbs_posterior.langevin_chains import langevin_chains
from discreet.noise.sources import SeededNoise
from discreet.queries.losses.base import CHUNK
from discreet.sources import CodedRows, Dataset

COLUMNS = {
    "x": dc.Bounded(-1, 1, grid=2.0**-10),
    "v": dc.Bounded(0, 10, grid=2.0**-6),
    "g": dc.Categorical(["a", "b", "c"]),
    "y": dc.Binary(),
    "t": dc.Bounded(-2, 2, grid=2.0**-10),
    "k": dc.Count(6),
}
SCHEMA = dc.Schema(COLUMNS, n=40)


def table_of(schema: dc.Schema = SCHEMA, seed: int = 0) -> Dataset:
    """Rows with a clear signal, as codes and grid steps."""
    rng, n = np.random.default_rng(seed), schema.n
    x, v = rng.integers(-1024, 1025, size=n), rng.integers(0, 641, size=n)
    slope = 2.0 * x / 1024
    rows = {
        "x": x,
        "v": v,
        "g": rng.integers(3, size=n),
        "y": (rng.logistic(size=n) < slope + 0.5).astype(int),
        "t": np.clip(512 * slope + 300 * rng.normal(size=n), -2048, 2048).astype(int),
        "k": np.minimum(rng.poisson(np.exp(0.3 * slope + 0.2)), 6),
    }
    return Dataset("t", schema, CodedRows(rows))


def phi(kind: str, model: Any, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss of a margin, written a second time."""
    if kind == "logistic":
        return np.logaddexp(0, t) - y * t
    if kind == "hinge":
        s, inside = model.width, 1 - y * t
        round_off = (inside + s / 2) ** 2 / (2 * s) if s > 0 else 0.0
        return np.where(np.abs(inside) < s / 2, round_off, np.maximum(inside, 0))
    if kind == "huber":
        apart, c = np.abs(t - y), model.threshold
        return np.where(apart <= c, apart**2 / 2, c * apart - c**2 / 2)
    if kind == "poisson":
        return np.exp(t) - y * t
    return np.log(np.cosh(t - y))


def quadrature(model: Any, mechanism: dc.GibbsPosterior, dataset: Dataset) -> tuple[list[np.ndarray], np.ndarray]:
    """Grid points of each coefficient and the probabilities of the Gibbs posterior at the mechanism's law."""
    query = model.query(dataset.schema)
    law, rows = mechanism.law(query), dataset.source.columns
    z = np.stack([np.ones(len(rows["x"])), rows["x"] / 1024.0], axis=1)[:, 0 if model.intercept else 1 :]
    y = {"y": rows["y"] * 1.0, "t": rows["t"] / 2048.0, "k": rows["k"] * 1.0}[model.target]
    if query.name == "hinge":
        y = 2 * y - 1
    reach = min(query.ball, 6.0 / math.sqrt(law.precision) + 4.0)
    line = np.linspace(-reach, reach, 1201 if z.shape[1] == 1 else 301)
    points = np.stack(np.meshgrid(*[line] * z.shape[1], indexing="ij"), axis=-1).reshape(-1, z.shape[1])
    potential = 0.5 * law.precision * (points**2).sum(axis=1)
    for row, target in zip(z, y, strict=True):
        potential += law.beta * phi(query.name, model, points @ row, target)
    potential[(points**2).sum(axis=1) > query.ball**2 * (1 + 1e-12)] = math.inf
    p = np.exp(potential.min() - potential)
    return [line] * z.shape[1], (p / p.sum()).reshape([line.size] * z.shape[1])


def moments(lines: list[np.ndarray], p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(lines))
    mean = p.ravel() @ grid
    return mean, (grid - mean).T @ ((grid - mean) * p.reshape(-1, 1))


LAWS: dict[str, Any] = {
    "logistic": lambda **o: dc.LogisticRegression("y", ("x",), precision=1.0, **o),
    "smoothed hinge": lambda **o: dc.HingeClassifier("y", ("x",), precision=2.0, width=1.0, **o),
    "huber": lambda **o: dc.HuberRegression("t", ("x",), precision=1.0, threshold=0.5, **o),
    "poisson": lambda **o: dc.PoissonRegression("k", ("x",), precision=2.0, ball=1.5, **o),
    "table": lambda **o: dc.ConvexLoss("t", ("x",), slope="tanh(t - y)", precision=1.0, **o),
}


@pytest.mark.parametrize(
    ("name", "intercept"),
    [
        pytest.param(
            name,
            two,
            id=f"{name}-d={1 + two}",
            marks=[] if two == (name in ("logistic", "poisson")) else [pytest.mark.audit],
        )
        for name in LAWS
        for two in (False, True)
    ],
)
def test_langevin_has_the_moments_of_the_gibbs_posterior(name: str, intercept: bool) -> None:
    """1,500 chains in one release, β that of 1,500 draws; means and variances within the bias plus 5 errors.

    False alarms below 1e-5 a case. A projected chain lies on its ball with positive probability, a bias of the order
    of its step; here the ball holds nearly all the mass.
    """
    model, bias, chains = LAWS[name](intercept=intercept), 0.05, 1500
    mechanism = dc.GibbsPosterior(epsilon=400, delta=0.5, draws=chains, bias=bias)
    dataset = table_of()
    query = model.query(SCHEMA)
    assert mechanism.law(query).beta > 0.02
    drawn = mechanism.apply(SeededNoise(3), query, dataset)["coefficients"]
    mean, covariance = moments(*quadrature(model, mechanism, dataset))
    variance = np.diag(covariance)
    error = 5 * np.sqrt(variance / chains)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) <= bias * np.abs(mean) + error)
    spread = 5 * math.sqrt(2 / chains)
    ratio = drawn.var(axis=0) / variance
    assert np.all(ratio <= 1 / (1 - bias) + spread)
    assert np.all(ratio >= 1 - bias - spread)
    assert np.abs(mean).max() > 1.5 * error.max()  # the rows are felt


@pytest.mark.parametrize("name", ["logistic", "smoothed hinge", "huber", "table"])
def test_exact_draws_have_the_law_of_the_gibbs_posterior(name: str) -> None:
    """Kolmogorov–Smirnov of 300 draws against quadrature; a fixed seed, false alarms 1e-4."""
    model = LAWS[name](intercept=False)
    mechanism = dc.GibbsPosterior(epsilon=150, delta=0.5, draws=300, sampler="exact")
    dataset = table_of()
    drawn = mechanism.apply(SeededNoise(4), model.query(SCHEMA), dataset)["coefficients"][:, 0]
    (line,), p = quadrature(model, mechanism, dataset)
    found = stats.kstest(drawn, lambda at: np.interp(at, line, p.cumsum() - 0.5 * p))
    assert found.pvalue > 1e-4


@pytest.mark.parametrize("name", ["logistic", "hinge with a corner", "huber", "poisson"])
def test_pure_draws_on_a_ball_have_their_law_and_stay_inside(name: str) -> None:
    """The same on a ball, without delta, where proposals are made until one is accepted; false alarms 1e-4."""
    model = {
        "logistic": dc.LogisticRegression("y", ("x",), ball=1.0, precision=1.0, intercept=False),
        "hinge with a corner": dc.HingeClassifier("y", ("x",), ball=2.0, width=0.0, intercept=False),
        "huber": dc.HuberRegression("t", ("x",), ball=0.5, intercept=False),
        "poisson": dc.PoissonRegression("k", ("x",), ball=0.7, intercept=False),
    }[name]
    mechanism = dc.GibbsPosterior(epsilon=450, draws=1000, sampler="exact")
    dataset = table_of()
    query = model.query(SCHEMA)
    drawn = mechanism.apply(SeededNoise(5), query, dataset)["coefficients"][:, 0]
    assert np.abs(drawn).max() <= query.ball
    (line,), p = quadrature(model, mechanism, dataset)
    found = stats.kstest(drawn, lambda at: np.interp(at, line, p.cumsum() - 0.5 * p))
    assert found.pvalue > 1e-4
    prior = stats.kstest(drawn, stats.truncnorm(-query.ball, query.ball).cdf)
    assert prior.pvalue < 0.05  # the rows are felt


@pytest.mark.parametrize(
    "name",
    ["rim", "corner in two dimensions", "wide ball", pytest.param("counts beyond the ball", marks=pytest.mark.audit)],
)
def test_pure_draws_end_where_the_minimum_is_on_the_rim_or_in_a_large_ball(name: str) -> None:
    """A first coordinate by Kolmogorov–Smirnov against quadrature, two coefficients; false alarms 1e-4."""
    model = {
        "rim": dc.LogisticRegression("y", ("x",), ball=0.3, precision=0.01),
        "corner in two dimensions": dc.HingeClassifier("y", ("x",), ball=1.0, width=0.0, precision=0.5),
        "wide ball": dc.LogisticRegression("y", ("x",), ball=6.0, precision=1.0),
        "counts beyond the ball": dc.PoissonRegression("k", ("x",), ball=0.1, precision=0.01),
    }[name]
    schema = dc.Schema(COLUMNS, n=200)
    dataset, mechanism = table_of(schema), dc.GibbsPosterior(epsilon=450, draws=250, sampler="exact")
    query = model.query(schema)
    drawn = mechanism.apply(SeededNoise(6), query, dataset)["coefficients"]
    assert np.linalg.norm(drawn, axis=1).max() <= query.ball * (1 + 1e-8)
    lines, p = quadrature(model, mechanism, dataset)
    for j in range(2):
        share = p.sum(axis=1 - j)
        assert (
            stats.kstest(drawn[:, j], lambda at, f=share, x=lines[j]: np.interp(at, x, f.cumsum() - f / 2)).pvalue
            > 1e-4
        )


def test_a_quadratic_mean_is_exactly_normal() -> None:
    """N(β Σ z / m, 1/m) with m = nβ + λ, of shrunk rows: 4,000 draws, both coordinates; false alarms 1e-4."""
    model = dc.QuadraticMean(("x", "v"), radius=0.8, precision=2.0)
    mechanism = dc.GibbsPosterior(epsilon=300, delta=0.1, draws=4000, sampler="exact")
    dataset = table_of()
    query = model.query(SCHEMA)
    law, rows = mechanism.law(query), dataset.source.columns
    z = np.stack([rows["x"] / 1024.0, rows["v"] / 320.0 - 1.0], axis=1)
    z *= np.minimum(1.0, 0.8 / np.linalg.norm(z, axis=1))[:, None]
    m = 40 * law.beta + 2.0
    assert law.convexity == pytest.approx(m, rel=1e-12)
    drawn = mechanism.apply(SeededNoise(6), query, dataset)["mean"]
    for j in range(2):
        centred = (drawn[:, j] - law.beta * z[:, j].sum() / m) * math.sqrt(m)
        assert stats.kstest(centred, "norm").pvalue > 1e-4


def test_M_T15_value_of_beta() -> None:
    """seeds.md M-T15: eps=.1, delta=1e-3, r=1, prior of precision next to 0: beta/n = .000825319461576."""
    n = 1000
    query = dc.QuadraticMean(("x",), precision=1e-12).query(dc.Schema(COLUMNS, n=n))
    law = dc.GibbsPosterior(0.1, 1e-3, sampler="exact").law(query)
    assert law.beta / n == pytest.approx(0.000825319461576, rel=1e-6)
    loose = dc.GibbsPosterior(0.1, 1e-3, sampler="exact", bound="minami").law(query)
    assert loose.beta / n == pytest.approx(0.000179657962715, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "beta"), [(1, 1e-5, 0.134025561606), (5, 1e-5, 0.560620911909)])
def test_beta_of_exact_draws_is_that_of_the_notes(epsilon: float, delta: float, beta: float) -> None:
    """beyond.md §1: L = 1, m = 1, G = 2; here G = 2 sqrt(2), and a thousandth of delta is kept for failures."""
    query = dc.LogisticRegression("y", ("x",), precision=1.0).query(dc.Schema(COLUMNS, n=3))
    law = dc.GibbsPosterior(epsilon, delta, sampler="exact").law(query)
    assert law.beta == pytest.approx(beta / math.sqrt(2), rel=1e-3)
    assert law.beta < beta / math.sqrt(2)
    for bound, value in (("renyi", 0.12360541088), ("minami", 0.10202925644)):
        if epsilon == 1:
            found = dc.GibbsPosterior(epsilon, delta, sampler="exact", bound=bound).law(query).beta
            assert found == pytest.approx(value / math.sqrt(2), rel=1e-3)


@pytest.mark.parametrize("steps", [1, 2, 10, "short", "stationary"])
@pytest.mark.parametrize("precision", [0.5, 30.0, None])
def test_guarantee_of_langevin_is_B2_of_the_declared_constants(steps: Any, precision: float | None) -> None:
    """β, h and t are read back from the law; mu is B2 of them and of R² = 1 + 1 + 1, G = 2 R, M = λ + nβR²/4."""
    schema = dc.Schema(COLUMNS, n=700)
    query = dc.LogisticRegression("y", ("x", "g"), precision=precision).query(schema)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, steps=steps)
    law, guarantee = mechanism.law(query), mechanism.guarantee(query)
    reach = math.sqrt(3)
    smoothness = law.precision + 700 * law.beta * 3 / 4
    assert law.smoothness == pytest.approx(smoothness, rel=1e-9)
    assert law.step <= 2 / (law.precision + law.smoothness)
    mu = langevin_mu(2 * reach * law.beta, law.step, law.steps, convexity=law.precision, smoothness=smoothness)
    assert law.mu == pytest.approx(mu, rel=1e-9)
    assert mu <= law.mu <= gaussian_mu(1.0, 1e-5)
    assert law.mu <= 2 * reach * law.beta / math.sqrt(law.precision)  # never above an exact draw
    assert guarantee.epsilon(1e-5) <= 1.0
    if isinstance(steps, int):
        assert law.steps == steps
    if law.beta < 1:
        assert guarantee.epsilon(1e-5) == pytest.approx(1.0, rel=5e-3)  # the number of steps jumps with β


def test_beta_is_at_most_1_and_the_smaller_loss_is_charged() -> None:
    schema = dc.Schema(COLUMNS, n=10)
    query = dc.LogisticRegression("y", ("x",), precision=1000.0).query(schema)
    for options in ({"steps": 1}, {"sampler": "exact"}, {"steps": "stationary"}):
        mechanism = dc.GibbsPosterior(8.0, 1e-3, **options)
        assert mechanism.law(query).beta == 1.0
        assert mechanism.law(query).mu < 0.1 * gaussian_mu(8.0, 1e-3)
        assert mechanism.guarantee(query).epsilon(1e-3) < 0.5
    ball = dc.LogisticRegression("y", ("x",), ball=0.01).query(schema)
    pure = dc.GibbsPosterior(8.0, sampler="exact")
    assert pure.law(ball).beta == 1.0
    assert pure.guarantee(ball).epsilon(0.0) == pytest.approx(0.02 * 2 * math.sqrt(2), rel=1e-9)


def test_several_draws_cost_the_square_root_of_their_number() -> None:
    query = dc.LogisticRegression("y", ("x", "g")).query(dc.Schema(COLUMNS, n=500))
    budget = gaussian_mu(2.0, 1e-6)
    for options in ({}, {"steps": 7}, {"batches": 2, "steps": 8}):
        for draws in (1, 4, 25):
            mechanism = dc.GibbsPosterior(2.0, 1e-6, draws=draws, **options)
            law = mechanism.law(query)
            assert math.sqrt(draws) * law.mu <= budget
            assert law.beta == 1.0 or math.sqrt(draws) * law.mu == pytest.approx(budget, rel=5e-3)
            assert mechanism.guarantee(query).epsilon(1e-6) <= 2.0
            assert mechanism.guarantee(query).renyi(2.0) == pytest.approx(draws * law.mu**2, rel=1e-9)
            assert mechanism.shapes(query) == {"coefficients": (draws, 5)}
    pure = dc.GibbsPosterior(2.0, draws=5, sampler="exact")
    ball = dc.LogisticRegression("y", ("x",), ball=1.0).query(SCHEMA)
    assert pure.guarantee(ball).epsilon(0.0) <= 2.0 * (1 + 1e-12)
    assert pure.law(ball).beta == pytest.approx(0.4 / (2 * 2 * math.sqrt(2)), rel=1e-9)


@pytest.mark.parametrize("batches", [2, 3, 5, 50])
def test_batches_cost_the_cyclic_bound(batches: int) -> None:
    """G_B = lβG and the curvature of l times the largest run of chunks, also where some runs are empty."""
    n = 1000
    query = dc.LogisticRegression("y", ("x",), precision=50.0).query(dc.Schema(COLUMNS, n=n))
    mechanism = dc.GibbsPosterior(1.0, 1e-5, batches=batches, steps=4 * batches)
    law = mechanism.law(query)
    chunks = -(-n // CHUNK)
    sizes = [
        min((b + 1) * chunks // batches * CHUNK, n) - min(b * chunks // batches * CHUNK, n) for b in range(batches)
    ]
    smoothness = 50.0 + batches * max(sizes) * law.beta * 2 / 4
    assert law.smoothness >= smoothness * (1 - 1e-12)
    mu = cyclic_langevin_mu(
        batches * law.beta * 2 * math.sqrt(2), law.step, batches, 4, convexity=50.0, smoothness=law.smoothness
    )
    assert law.mu == pytest.approx(mu, rel=1e-9)
    assert law.steps == 4 * batches
    assert f"{batches} fixed batches" in mechanism.guarantee(query).basis.sampler


def test_batches_reach_the_same_posterior() -> None:
    """Two chunks, two batches, tiny steps: moments within 6 errors (false alarms 1e-7) plus a tenth."""
    schema = dc.Schema(COLUMNS, n=2 * CHUNK)
    model, dataset = LAWS["logistic"](intercept=False), table_of(schema)
    mechanism = dc.GibbsPosterior(400, 0.5, draws=1000, batches=2, bias=0.1)
    query = model.query(schema)
    drawn = mechanism.apply(SeededNoise(7), query, dataset)["coefficients"]
    mean, covariance = moments(*quadrature(model, mechanism, dataset))
    assert drawn.mean() == pytest.approx(mean[0], abs=0.1 * abs(mean[0]) + 6 * math.sqrt(covariance[0, 0] / 1000))
    assert drawn.var() / covariance[0, 0] == pytest.approx(1.05, abs=0.1 + 6 * math.sqrt(2 / 1000))


def test_a_ball_is_charged_the_smaller_of_its_two_bounds() -> None:
    schema = dc.Schema(COLUMNS, n=50)
    query = dc.LogisticRegression("y", ("x",), ball=0.05, precision=0.01).query(schema)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, steps=500)
    law = mechanism.law(query)
    gradient, constants = 2 * math.sqrt(2) * law.beta, {"convexity": 0.01, "smoothness": law.smoothness}
    assert law.mu == pytest.approx(projected_langevin_mu(0.1, gradient, law.step, 500, **constants), rel=1e-9)
    assert law.mu < langevin_mu(gradient, law.step, 500, **constants)
    drawn = mechanism.apply(SeededNoise(0), query, table_of(schema))["coefficients"]
    assert np.linalg.norm(drawn) <= 0.05 * (1 + 1e-6)


def test_a_persons_rows_multiply_the_gradient() -> None:
    one = dc.LogisticRegression("y", ("x",), precision=1.0)
    record = one.query(dc.Schema(COLUMNS, n=60))
    persons = one.query(dc.Schema({**COLUMNS, "who": dc.Count(10**6)}, n=20, unit=dc.Person("who", 3)))
    assert persons.gradient == 3 * record.gradient
    assert persons.largest_total == 60
    few, many = (dc.GibbsPosterior(1.0, 1e-5, sampler="exact").law(query).beta for query in (record, persons))
    assert many == pytest.approx(few / 3, rel=1e-9)
    chain = dc.GibbsPosterior(1.0, 1e-5, steps=5).law(persons)
    assert chain.smoothness == pytest.approx(1.0 + 60 * chain.beta / 2, rel=1e-9)
    assert chain.mu == pytest.approx(
        langevin_mu(
            3 * 2 * math.sqrt(2) * chain.beta, chain.step, 5, convexity=1.0, smoothness=1.0 + 60 * chain.beta / 2
        ),
        rel=1e-9,
    )


GRADIENTS: dict[str, tuple[Any, Any]] = {
    "logistic": (dc.LogisticRegression("y", ("x", "g")), lambda t, y: 1 / (1 + np.exp(-t)) - y),
    "one feature": (dc.LogisticRegression("y", ("x",), intercept=False), lambda t, y: 1 / (1 + np.exp(-t)) - y),
    "shrunk": (dc.LogisticRegression("y", ("x", "v", "g"), radius=0.5), lambda t, y: 1 / (1 + np.exp(-t)) - y),
    "interval": (
        dc.LogisticRegression("y", ("x",), interval=(0.0, 3.0), intercept=False),
        lambda t, y: 1 / (1 + np.exp(-t)) - y,
    ),
    "huber": (dc.HuberRegression("t", ("x", "g"), threshold=0.25), lambda t, y: np.clip(t - y, -0.25, 0.25)),
    "poisson": (dc.PoissonRegression("k", ("x",), ball=1.0), lambda t, y: np.exp(t) - y),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_declared_constants_bound_every_pair_of_corner_rows(name: str) -> None:
    """Gradients of all corner rows at many coefficients: their length and differences stay below L and G, not far."""
    model, slope = GRADIENTS[name]
    query = model.query(SCHEMA)
    cells = [
        [query.features.numbers[j].low, query.features.numbers[j].low + query.features.numbers[j].reach]
        for j in range(len(query.features.numbers))
    ]
    cells += [list(range(len(levels))) for levels in query.features.levels]
    axis = query.target.axis
    cells.append([0, 1] if axis is None else [axis.low, axis.low + axis.reach])
    rows = np.array(list(itertools.product(*cells)))
    source = CodedRows({column: rows[:, j] for j, column in enumerate(query.columns)})
    with source.design(query) as design:
        n, start = len(rows), int(query.features.intercept)
        z = np.zeros((n, query.features.size))
        for j in range(design.numbers.shape[1]):
            z[:, start + j] = design.numbers[0, j, :n]
        for j in range(design.codes.shape[1]):
            z[np.arange(n), design.codes[0, j, :n]] = 1.0
        if design.shrink.size:
            z *= design.shrink[0, :n, None]
        if start:
            z[:, 0] = 1.0
        y = design.targets[0, :n]
    assert np.linalg.norm(z, axis=1).max() <= query.features.reach
    rng = np.random.default_rng(0)
    longest = furthest = 0.0
    for scale in (0.0, 0.1, 1.0, 5.0, 40.0):
        for _ in range(60):
            w = scale * rng.normal(size=query.features.size)
            w *= min(1.0, query.ball / max(np.linalg.norm(w), 1e-300))
            gradients = slope(z @ w, y)[:, None] * z
            longest = max(longest, np.linalg.norm(gradients, axis=1).max())
            furthest = max(furthest, np.linalg.norm(gradients[:, None] - gradients[None], axis=2).max())
    assert longest <= query.lipschitz
    assert furthest <= query.gradient
    assert query.lipschitz <= query.gradient  # a row that appears moves less than one that is replaced
    assert furthest > 0.55 * query.gradient


def test_pure_range_is_claimed_for_every_pair_of_rows() -> None:
    """All corner rows old and new, on the corner tables of n = 3: log-ratios by quadrature span at most epsilon."""
    model = dc.LogisticRegression("y", ("x",), ball=1.5, precision=0.7, intercept=False)
    schema = dc.Schema(COLUMNS, n=3)
    query = model.query(schema)
    mechanism = dc.GibbsPosterior(1.0, sampler="exact")
    law = mechanism.law(query)
    w = np.linspace(-1.5, 1.5, 2001)
    rows = list(itertools.product((-1.0, 1.0), (0.0, 1.0)))
    worst = 0.0
    for others, old, new in itertools.product(rows, repeat=3):

        def log_density(last: tuple[float, float], others: tuple[float, float] = others) -> np.ndarray:
            value = -0.35 * w**2
            for x, y in (others, others, last):
                value = value - law.beta * phi("logistic", model, w * x, np.asarray(y))
            return value - np.log(np.exp(value).sum())

        ratio = log_density(old) - log_density(new)
        worst = max(worst, ratio.max() - ratio.min())
        assert np.abs(ratio).max() <= 1.0
    assert worst <= 1.0
    assert worst > 0.7
    assert mechanism.guarantee(query).epsilon(0.0) <= 1.0


# Refusals: the usual wording, and nothing spent


LOGISTIC = dc.LogisticRegression("y", ("x",))
CORNER = dc.HingeClassifier("y", ("x",), width=0.0)

REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (CORNER, {"delta": 1e-5}, r"GibbsPosterior\.sampler must be exact for a loss with a corner, got langevin"),
    (CORNER, {"delta": 1e-5, "sampler": "exact"}, r"GibbsPosterior\.delta must not be given for a loss with a corner"),
    (CORNER, {"sampler": "exact"}, r"GibbsPosterior\.delta must be given for a model without a ball, got None"),
    (LOGISTIC, {"sampler": "exact"}, r"GibbsPosterior\.delta must be given for a model without a ball, got None"),
    (
        dc.LogisticRegression("y", ("x",), ball=1.0),
        {"delta": 1e-5, "batches": 2},
        r"GibbsPosterior\.batches must be 1 for persons and for models with a ball, got more",
    ),
    (
        dc.QuadraticMean(("x",)),
        {"delta": 1e-5},
        r"GibbsPosterior\.sampler must be exact for a quadratic mean, got langevin",
    ),
    (
        dc.LogisticRegression("y", ("x",), precision=1e-9),
        {"delta": 1e-5, "bias": 1e-4},
        r"GibbsPosterior\.steps must be at most 10000000, got \d+ for a stationary chain",
    ),
    (
        dc.LogisticRegression("y", ("x", "v", "g"), precision=1e-3),
        {"delta": 0.5, "sampler": "exact", "epsilon": 100},
        r"GibbsPosterior\.sampler must be langevin for 6 coefficients at this budget and precision",
    ),
    (
        dc.BetaBernoulli("y"),
        {"delta": 1e-5},
        r"BetaBernoulli must be asked by one of \[.*'NoisyStatistics'.*\], got GibbsPosterior",
    ),
]


@pytest.mark.parametrize(("model", "options", "message"), REFUSED)
def test_impossible_requests_are_refused_before_anything_is_spent(model, options, message, tmp_path) -> None:
    mechanism = dc.GibbsPosterior(**{"epsilon": 1.0, **options})
    ledger = dc.Ledger.create(tmp_path / "l", dc.Budget(epsilon=200, delta=0.6))
    with pytest.raises(dc.QueryError, match=message):
        dc.release(model, table_of(), mechanism, ledger)
    assert ledger.spent() == 0
    assert not ledger.entries()


def test_a_loss_is_not_asked_by_other_mechanisms_nor_under_add_remove(tmp_path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l", dc.Budget(epsilon=2, delta=1e-5))
    for mechanism in (dc.NoisyStatistics(epsilon=1.0), dc.PosteriorSample(epsilon=1.0, truncation=0.1)):
        with pytest.raises(
            dc.QueryError, match=r"LogisticRegression must be asked by one of \['GibbsPosterior', 'NoisyScore'\], got "
        ):
            dc.release(LOGISTIC, table_of(), mechanism, ledger)
    added = dc.Schema(COLUMNS, relation="add-remove", n_max=100)
    dataset = Dataset("t", added, table_of().source)
    for mechanism in (dc.GibbsPosterior(1.0, 1e-5), dc.GibbsPosterior(1.0, 1e-5, sampler="exact")):
        with pytest.raises(dc.QueryError, match="must be asked under replace-one, got add-remove"):
            dc.release(LOGISTIC, dataset, mechanism, ledger)
    persons = dc.Schema({**COLUMNS, "who": dc.Count(100)}, n=20, unit=dc.Person("who", 2))
    with pytest.raises(dc.QueryError, match="batches must be 1 for persons"):
        dc.release(LOGISTIC, Dataset("t", persons, table_of().source), dc.GibbsPosterior(1.0, 1e-5, batches=2), ledger)
    with pytest.raises(dc.QueryError, match="QuadraticMean must have a public number of rows"):
        dc.release(
            dc.QuadraticMean(("x",)),
            Dataset("t", persons, table_of().source),
            dc.GibbsPosterior(1.0, 1e-5, sampler="exact"),
            ledger,
        )
    assert ledger.spent() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, r"GibbsPosterior\.epsilon must be a number above 0"),
        ({"epsilon": math.inf}, r"GibbsPosterior\.epsilon must be a number above 0"),
        ({"epsilon": 1000.0}, r"GibbsPosterior\.epsilon must be a number above 0 and below 500"),
        ({"delta": 1.0}, r"GibbsPosterior\.delta must be a number above 0 and below 1, got 1\.0"),
        ({"delta": None}, r"GibbsPosterior\.delta must be given for Langevin, got None"),
        ({"draws": 0}, r"GibbsPosterior\.draws must be a whole number"),
        ({"draws": 1.0}, r"GibbsPosterior\.draws must be a whole number"),
        ({"sampler": "nuts"}, r'GibbsPosterior\.sampler must be "langevin" or "exact", got \'nuts\''),
        ({"steps": 0}, r'GibbsPosterior\.steps must be "stationary", "short" or a number from 1, got 0'),
        ({"steps": True}, r"GibbsPosterior\.steps must be"),
        ({"steps": "long"}, r"GibbsPosterior\.steps must be"),
        ({"steps": 2.0}, r"GibbsPosterior\.steps must be"),
        ({"bias": 0.5}, r"GibbsPosterior\.bias must be a number above 0 and below 0\.5, got 0\.5"),
        ({"batches": 0}, r"GibbsPosterior\.batches must be a whole number from 1, got 0"),
        ({"batches": 2, "sampler": "exact"}, r"GibbsPosterior\.batches must be 1 for the exact sampler"),
        ({"bound": "minami-printed"}, r'GibbsPosterior\.bound must be "gdp", "renyi" or "minami"'),
        ({"grid": 0.0}, r"GibbsPosterior\.grid must be a power of two from"),
        ({"label": 3}, r"GibbsPosterior\.label must be a printable text"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.GuaranteeError, match=message):
        dc.GibbsPosterior(**{"epsilon": 1.0, "delta": 1e-5, **options})


@pytest.mark.parametrize(("ball", "grid"), [(0.1, 0.125), (1e-9, None)])
def test_a_grid_that_is_coarse_beside_the_ball_is_refused(ball: float, grid: float | None) -> None:
    """By default it follows from the noise of a step, which may be far wider than the ball: all draws would be 0."""
    query = dc.LogisticRegression("y", ["x"], ball=ball).query(SCHEMA)
    with pytest.raises(
        dc.QueryError, match=r"GibbsPosterior\.grid must be at most .*, half of the declared space, got"
    ):
        dc.GibbsPosterior(0.01, 1e-5, steps=2, grid=grid).guarantee(query)


# Releases


@pytest.mark.parametrize("filter_name", [None, "zcdp", "gdp"])
def test_ledgers_pay_for_chains_and_give_a_stored_release_again(filter_name: str | None, tmp_path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l", dc.Budget(epsilon=2, delta=1e-5), filter=filter_name)
    mechanism, dataset = dc.GibbsPosterior(1.0, 1e-5, draws=2, steps=5), table_of()
    release = dc.release(LOGISTIC, dataset, mechanism, ledger)
    spent = ledger.spent()
    mu = mechanism.law(LOGISTIC.query(SCHEMA)).mu
    whole = gaussian_mu(2.0, 0.999 * 0.86e-5) ** 2  # of the portfolio's Gaussian member, which has most left
    due = {"gdp": 2 * mu**2, "zcdp": mu**2, None: 2 * mu**2 / whole}[filter_name]
    assert float(spent) == pytest.approx(due, rel=1e-9)
    again = dc.release(LOGISTIC, dataset, mechanism, ledger)
    np.testing.assert_array_equal(release.value["coefficients"], again.value["coefficients"])
    assert ledger.spent() == spent
    other = dc.release(LOGISTIC, dataset, dc.GibbsPosterior(1.0, 1e-5, draws=2, steps=5, label="b"), ledger)
    assert not np.array_equal(release.value["coefficients"], other.value["coefficients"])
    assert float(ledger.spent()) == pytest.approx(2 * float(spent))
    path = tmp_path / "release.json"
    release.save(path)
    loaded = dc.load(path)
    np.testing.assert_array_equal(loaded.value["coefficients"], release.value["coefficients"])
    assert loaded.guarantee.epsilon(1e-5) == release.guarantee.epsilon(1e-5)
    assert loaded.posterior().names == ("intercept", "x")


def test_the_whole_budget_buys_one_chain_under_the_filter_of_its_notion(tmp_path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l", dc.Budget(epsilon=1, delta=1e-5), filter="gdp")
    dc.release(LOGISTIC, table_of(), dc.GibbsPosterior(1.0, 1e-5, steps=3), ledger)
    with pytest.raises(dc.BudgetExceeded):
        dc.release(LOGISTIC, table_of(), dc.GibbsPosterior(0.2, 1e-5, steps=3), ledger)


def test_pure_draws_are_paid_by_a_pure_ledger_and_exact_ones_by_their_delta(tmp_path) -> None:
    pure = dc.Ledger.create(tmp_path / "pure", dc.Budget(epsilon=1))
    ball = dc.LogisticRegression("y", ("x",), ball=1.0)
    found = dc.release(ball, table_of(), dc.GibbsPosterior(1.0, sampler="exact"), pure)
    assert np.linalg.norm(found.value["coefficients"]) <= 1.0 + 1e-9
    assert 0.99 < float(pure.spent()) <= 1.0
    normal = dc.Ledger.create(tmp_path / "normal", dc.Budget(epsilon=1, delta=1e-5))
    dc.release(dc.QuadraticMean(("x",)), table_of(), dc.GibbsPosterior(0.5, 1e-6, sampler="exact"), normal)
    assert normal.spent() > 0


def test_exact_draws_within_their_failures_meet_the_budget() -> None:
    """The thousandth of delta pays for the proposals that are all rejected, (1 + e^ε)γ of it."""
    query = dc.LogisticRegression("y", ("x",), precision=1.0).query(SCHEMA)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, sampler="exact")
    guarantee = mechanism.guarantee(query)
    found = guarantee.delta(1.0)
    assert found <= 1e-5
    assert found == pytest.approx(1e-5, rel=1e-2)
    assert "proposals, or the prior's if all are rejected" in guarantee.basis.sampler
    several = dc.GibbsPosterior(1.0, 1e-5, draws=3, sampler="exact")
    assert several.guarantee(query).arguments()["tv"] == pytest.approx(guarantee.arguments()["tv"], rel=1e-12)
    assert several.law(query).mu * math.sqrt(3) == pytest.approx(mechanism.law(query).mu, rel=1e-9)


def test_settings_of_a_release_do_not_depend_on_the_rows() -> None:
    """Same declarations, other rows: guarantee, law, shapes and note are equal."""
    mechanism = dc.GibbsPosterior(1.0, 1e-5, draws=2, steps="short")
    query = dc.LogisticRegression("y", ("x", "g")).query(SCHEMA)
    before = mechanism.guarantee(query).to_json(), mechanism.law(query), mechanism.note(query)
    for seed in range(2):
        drawn = mechanism.apply(SeededNoise(1), query, table_of(seed=seed))
        assert {name: array.shape for name, array in drawn.items()} == mechanism.shapes(query)
    assert before == (mechanism.guarantee(query).to_json(), mechanism.law(query), mechanism.note(query))


def test_draws_lie_on_the_public_grid_and_system_noise_is_never_the_same() -> None:
    from discreet.noise.sources import SystemNoise

    query = LOGISTIC.query(SCHEMA)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, steps=2, grid=2.0**-8)
    drawn = [mechanism.apply(SystemNoise(), query, table_of())["coefficients"] for _ in range(2)]
    assert not np.array_equal(*drawn)
    np.testing.assert_array_equal(drawn[0] * 2**8, np.round(drawn[0] * 2**8))


# The socket


def test_what_the_budget_alone_determines() -> None:
    logistic, mean = LOGISTIC.query(SCHEMA), dc.QuadraticMean(("x",)).query(SCHEMA)
    chains = dc.GibbsPosterior(1.0, 1e-6), dc.GibbsPosterior(1.0, 1e-6, steps="short")
    assert dc.GibbsPosterior.within(dc.Budget(1.0, 1e-6), logistic) == chains
    assert dc.GibbsPosterior.within(dc.Budget(1.0, 1e-6), mean) == (dc.GibbsPosterior(1.0, 1e-6, sampler="exact"),)
    assert dc.GibbsPosterior.within(dc.Budget(1.0), logistic) == (dc.GibbsPosterior(1.0, sampler="exact"),)


@pytest.mark.parametrize("steps", ["stationary", 5])
def test_a_release_is_read_by_the_model(steps: Any) -> None:
    mechanism, query = dc.GibbsPosterior(1.0, 1e-5, draws=2, steps=steps), LOGISTIC.query(SCHEMA)
    value, law = mechanism.apply(SeededNoise(2), query, table_of()), mechanism.law(query)
    found = mechanism.read(LOGISTIC, query, value, Reading())
    assert (found.values, found.query, found.note) == (value, query, mechanism.note(query))
    assert (found.beta, found.precision, found.stationary) == (law.beta, law.precision, steps == "stationary")
    for other in (Reading(kind="plug-in"), Reading(prior=(1, 1)), Reading(pooling="partial")):
        with pytest.raises(dc.QueryError, match="must keep their own prior and kind"):
            mechanism.read(LOGISTIC, query, value, other)


def test_repeated_releases_are_those_of_many_chains_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pieces of three and one chain: the same stream of noise as releases of so many draws."""
    monkeypatch.setattr(gibbs_posterior, "CHAINS", 3)
    mechanism, query, dataset = dc.GibbsPosterior(1.0, 1e-5, draws=2, steps=5), LOGISTIC.query(SCHEMA), table_of()
    found = mechanism.repeated(SeededNoise(3), query, dataset, 2)
    assert [value["coefficients"].shape for value in found] == [(2, query.features.size)] * 2
    noise, law = SeededNoise(3), mechanism.law(query)
    with dataset.source.design(query) as design:
        drawn = [langevin_chains(query, law, 1, design, count, noise.stream()) for count in (3, 1)]
    due = rounded(np.concatenate(drawn), mechanism._grid(query))
    np.testing.assert_array_equal(np.concatenate([value["coefficients"] for value in found]), due)
    move = np.arange(1.0, 1.0 + query.features.size)
    scores = mechanism.score(SimpleNamespace(query=query, move=move))(found)
    np.testing.assert_allclose(scores, (due @ move).reshape(2, 2).sum(axis=1), rtol=1e-12)


def test_a_law_is_said_in_words() -> None:
    query = LOGISTIC.query(SCHEMA)
    chain, exact = (dc.GibbsPosterior(1.0, 1e-5, **how).law(query) for how in ({"steps": 7}, {"sampler": "exact"}))
    at = f"inverse temperature {chain.beta:.4g}, prior precision {chain.precision:.4g}"
    assert str(chain) == f"{at}, 7 Langevin steps of size {chain.step:.4g}"
    assert str(exact) == f"inverse temperature {exact.beta:.4g}, prior precision {exact.precision:.4g}"
