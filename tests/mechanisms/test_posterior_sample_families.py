"""PosteriorSample of every family: laws, exact privacy levels and tables against formulas written out independently."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.sources import CodedRows, Dataset

Array = np.ndarray
COLUMNS = {
    "x": dc.Binary(),
    "age": dc.Bounded(0, 4, grid=1),
    "visits": dc.Count(4),
    "wait": dc.Bounded(0, 4, grid=1),
}
TEMPERINGS = ("joint", "natural", "likelihood")


def _log_share(x: Array, p: Array) -> Array:
    """A cell of 0..4 is x / 4 of a success."""
    return x / 4 * np.log(p / 4) + (1 - x / 4) * np.log1p(-p / 4)


@dataclass(frozen=True)
class Case:
    """A model with its log-likelihood of a cell, its log-prior and log |d natural / d parameter|, from textbooks."""

    model: Any
    declared: dict[str, Any]
    space: tuple[float, float]
    log_likelihood: Callable[[Array, Array], Array]
    log_prior: Callable[[Array], Array]
    log_natural: Callable[[Array], Array]

    @property
    def column(self) -> str:
        return str(self.model.column)

    def schema(self, n: int) -> dc.Schema:
        return dc.Schema({self.column: COLUMNS[self.column]}, n=n)

    def mechanism(self, epsilon: float, **more: Any) -> dc.PosteriorSample:
        return dc.PosteriorSample(epsilon=epsilon, **self.declared, **more)

    def log_law(self, cells: Array, theta: Array, temperature: float, tempering: str) -> Array:
        """Log-density of a draw at every theta, up to a constant."""
        data = self.log_likelihood(np.asarray(cells, dtype=float)[:, None], theta).sum(axis=0) / temperature
        prior, natural = self.log_prior(theta), self.log_natural(theta)
        if tempering == "likelihood":
            return data + prior
        shift = natural if tempering == "natural" else 0.0
        return data + (prior - shift) / temperature + shift

    def draws(self, cells: list[int], mechanism: dc.PosteriorSample, seed: int = 5) -> Array:
        schema = self.schema(len(cells))
        rows = Dataset("d", schema, CodedRows({self.column: np.array(cells)}))
        (value,) = mechanism.apply(SeededNoise(seed), self.model.query(schema), rows).values()
        return value


CASES = {
    "Beta": Case(
        dc.BetaBernoulli("x", prior=(9, 2)),
        {"truncation": 0.05},
        (0.05, 0.95),
        lambda x, p: x * np.log(p) + (1 - x) * np.log1p(-p),
        lambda p: stats.beta(9, 2).logpdf(p),
        lambda p: -np.log(p * (1 - p)),
    ),
    "query": Case(
        dc.StatisticalQuery("age", prior=(9, 2)),
        {"truncation": 0.05},
        (0.2, 3.8),
        _log_share,
        lambda p: stats.beta(9, 2, scale=4).logpdf(p),
        lambda p: -np.log(p * (4 - p)),
    ),
    "mean": Case(
        dc.NormalMean("age", sd=1.5, prior=(3.2, 0.4)),
        {"interval": (0.5, 3.5)},
        (0.5, 3.5),
        lambda x, m: stats.norm.logpdf(x, m, 1.5),
        lambda m: stats.norm.logpdf(m, 3.2, 0.4),
        np.zeros_like,
    ),
    "counts": Case(
        dc.GammaPoisson("visits", prior=(6, 8)),
        {"interval": (0.2, 4.0)},
        (0.2, 4.0),
        lambda x, rate: stats.poisson.logpmf(x, rate),
        lambda rate: stats.gamma(6, scale=1 / 8).logpdf(rate),
        lambda rate: -np.log(rate),
    ),
    "times": Case(
        dc.GammaExponential("wait", prior=(6, 8)),
        {"interval": (0.2, 4.0)},
        (0.2, 4.0),
        lambda x, rate: np.log(rate) - rate * x,
        lambda rate: stats.gamma(6, scale=1 / 8).logpdf(rate),
        np.zeros_like,
    ),
}
SUMS = [name for name in CASES if name != "Beta"]


def _cells(case: Case) -> list[int]:
    return [1, 1, 0, 1, 1, 0, 1, 1] if case.column == "x" else [4, 3, 3, 1, 4, 2, 0, 3]


def _p_value(sample: Array, case: Case, temperature: float, tempering: str) -> float:
    theta = np.linspace(*case.space, 20_001)
    density = np.exp(case.log_law(np.array(_cells(case)), theta, temperature, tempering))
    cumulative = np.append(0.0, np.cumsum(density[1:] + density[:-1]))
    return float(stats.kstest(sample, lambda x: np.interp(x, theta, cumulative / cumulative[-1])).pvalue)


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("tempering", TEMPERINGS)
@pytest.mark.parametrize("arithmetic", ["double", "exact"])
def test_draws_have_the_law_of_their_tempering(name: str, tempering: str, arithmetic: str) -> None:
    """2,000 draws against the written-out law, false alarm 1e-5; another tempering of the prior is seen."""
    case = CASES[name]
    mechanism = case.mechanism(2.0, tempering=tempering, arithmetic=arithmetic, draws=2000)
    temperature = mechanism.temperature(case.model.query(case.schema(8)))
    sample = case.draws(_cells(case), mechanism)
    assert _p_value(sample, case, temperature, tempering) > 1e-5
    planted = "joint" if tempering == "likelihood" else "likelihood"
    assert _p_value(sample, case, temperature, planted) < 1e-5


def _log_ratio_spread(case: Case, one: list[int], other: list[int], temperature: float) -> tuple[float, float]:
    """Range of the log-ratio of two tables over the space, and its largest absolute value, by the trapezoid rule."""
    theta = np.linspace(*case.space, 20_001)
    logs = []
    for cells in (one, other):
        log_law = case.log_law(np.array(cells), theta, temperature, "joint")
        weight = np.exp(log_law - log_law.max())
        logs.append(log_law - log_law.max() - math.log(0.5 * (weight[1:] + weight[:-1]).sum() * (theta[1] - theta[0])))
    ratio = logs[0] - logs[1]
    return float(np.ptp(ratio)), float(np.abs(ratio).max())


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_worst_neighbours_use_up_the_whole_claim(name: str) -> None:
    """Cells on both ends of the column: the range is epsilon itself when the posterior is heated."""
    case, n = CASES[name], 6
    mechanism, query = case.mechanism(2.0), case.model.query(case.schema(n))
    temperature, top = mechanism.temperature(query), 1 if case.column == "x" else 4
    assert temperature > 1
    assert mechanism.guarantee(query).epsilon(0.0) == 2.0
    for others in ([0] * (n - 1), [top] * (n - 1)):
        spread, level = _log_ratio_spread(case, [0, *others], [top, *others], temperature)
        assert spread == pytest.approx(2.0, rel=1e-9)
        assert level <= 2.0
    halved, _ = _log_ratio_spread(case, [0] * n, [top] + [0] * (n - 1), temperature / 2)  # planted: half the width
    assert halved > 1.9 * 2.0


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_generous_epsilon_is_charged_at_what_the_untempered_posterior_costs(name: str) -> None:
    case, n = CASES[name], 6
    query, top = case.model.query(case.schema(n)), 1 if case.column == "x" else 4
    for arithmetic in ("double", "exact"):
        mechanism = case.mechanism(500.0, arithmetic=arithmetic)
        spread, _ = _log_ratio_spread(case, [0] * n, [top] + [0] * (n - 1), 1.0)
        assert mechanism.temperature(query) == 1.0
        assert mechanism.guarantee(query).epsilon(0.0) == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("arithmetic", ["double", "exact"])
def test_the_law_of_a_draw_given_the_sum_is_normalised_and_is_the_one_drawn_from(name: str, arithmetic: str) -> None:
    case = CASES[name]
    # the place of a bounded mean is rounded, a quarter of its value; exact points are values
    finer = 4 if name == "query" and arithmetic == "double" else 1
    mechanism = case.mechanism(4.0, arithmetic=arithmetic, grid=2.0**-12 / finer)
    query, cells = case.model.query(case.schema(8)), np.array(_cells(case))
    temperature, total = mechanism.temperature(query), 2 * int(cells.sum()) - 4 * 8  # centred: v = 2 j - reach
    theta = np.arange(math.ceil(case.space[0] * 2**12), math.floor(case.space[1] * 2**12) + 1) / 2**12
    found = np.array([float(mechanism.log_law(query, [each], total)) for each in theta[::97]])
    expected = case.log_law(cells, theta, temperature, "joint")
    step = 1.0 if arithmetic == "exact" else 2.0**-12
    expected -= expected.max() + math.log(np.exp(expected - expected.max()).sum() * step)
    # the first point is the end of the space: rounding leaves it half a cell
    assert found[1:] == pytest.approx(expected[::97][1:], abs=1e-6 if arithmetic == "exact" else 2e-3)
    both = mechanism.log_law(query, theta[[0, 97]], np.array([total, total]))  # draws are independent
    assert both == pytest.approx(np.full(2, found[:2].sum()), abs=1e-9)


BINARY = dc.Schema({"c": dc.Binary(), "f": dc.Binary(), "g": dc.Binary()}, n=9)
NETWORK = dc.BayesianNetwork({"c": (), "f": ("c",), "g": ("c", "f")})


def _corners(shape: tuple[int, ...], lower: float) -> list[Array]:
    """Every table whose rows are (a, 1 - a) or (1 - a, a)."""
    rows = int(np.prod(shape[:-1]))
    picks = itertools.product(((lower, 1 - lower), (1 - lower, lower)), repeat=rows)
    return [np.array(pick).reshape(shape) for pick in picks]


def test_the_range_of_a_network_is_attained_at_corners_of_the_declared_space() -> None:
    """All pairs of records at all 128 corners of three binary tables: the range is 2 (C_c + C_f + C_g)."""
    truncation = {"c": 0.1, "f": 0.2, "g": 0.05}
    mechanism = dc.PosteriorSample(epsilon=1.0, truncation=truncation)
    shapes = {"c": (2,), "f": (2, 2), "g": (2, 2, 2)}
    records = list(itertools.product((0, 1), repeat=3))
    logs = []
    for c, f, g in itertools.product(*(_corners(shape, truncation[name]) for name, shape in shapes.items())):
        logs.append([math.log(c[x] * f[x, y] * g[x, y, z]) for x, y, z in records])
    gaps = np.array(logs)[:, :, None] - np.array(logs)[:, None, :]
    worst = float(np.ptp(gaps, axis=0).max())
    assert mechanism.temperature(NETWORK.query(BINARY)) == pytest.approx(worst, rel=1e-12)
    assert worst > 1.9 * float(np.ptp(gaps, axis=0)[0, 1])  # records that differ in one column alone say less


@pytest.mark.parametrize(
    ("levels", "m", "cost"),
    [((2,), 10, 2.94443897917), ((8, 30, 2, 2, 2), 10, 18.7258951995), ((8, 30, 2, 2, 2), 100, 30.5523915713)],
)
def test_costs_of_the_notes_for_tables(levels: tuple[int, ...], m: int, cost: float) -> None:
    """seeds.md F-HMM: independent columns with a0 = 1 / (M K_d)."""
    names = [f"d{i}" for i in range(len(levels))]
    schema = dc.Schema({name: dc.Categorical(range(k)) for name, k in zip(names, levels, strict=True)}, n=50)
    query = dc.BayesianNetwork(dict.fromkeys(names, ())).query(schema)
    truncation = {name: 1 / (m * k) for name, k in zip(names, levels, strict=True)}
    untempered = dc.PosteriorSample(epsilon=1000.0, truncation=truncation).guarantee(query)
    assert untempered.epsilon(0.0) / 2 == pytest.approx(cost, rel=1e-11)
    heated = dc.PosteriorSample(epsilon=5.0, truncation=truncation).temperature(query)
    assert heated == pytest.approx(2 * cost / 5, rel=1e-11)
    if m == 10 and len(levels) == 5:
        assert heated == pytest.approx(7.49035807981, rel=1e-11)


def _table_rows() -> dict[str, Array]:
    c, f = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 1, 0, 1, 1])
    return {"c": c, "f": f, "g": np.array([0, 1, 1, 0, 1, 0, 1, 1, 1])}


@pytest.mark.parametrize("kind", ["network", "naive Bayes"])
def test_every_row_of_a_table_has_its_own_truncated_law(kind: str) -> None:
    """4,000 draws of binary tables, each row against its Beta law; false alarm 1e-5 each, another row's law is seen."""
    model = NETWORK if kind == "network" else dc.NaiveBayes("c", ("f", "g"), prior=(2.0, 3.0), feature_prior=1.5)
    mechanism = dc.PosteriorSample(epsilon=12.0, truncation=0.05, draws=4000)
    query, rows = model.query(BINARY), _table_rows()
    value = mechanism.apply(SeededNoise(4), query, Dataset("d", BINARY, CodedRows(rows)))
    assert {name: array.shape for name, array in value.items()} == mechanism.shapes(query)
    temperature = mechanism.temperature(query)

    def law(zeros: int, ones: int, prior: tuple[float, float]) -> Callable[[Array], Array]:
        a, b = ((count + prior[level] - 1) / temperature + 1 for level, count in ((1, ones), (0, zeros)))
        low, high = stats.beta.cdf([0.05, 0.95], a, b)
        return lambda p: (stats.beta.cdf(p, a, b) - low) / (high - low)

    flat = (1.0, 1.0) if kind == "network" else (1.5, 1.5)
    class_prior, first = (flat, "c") if kind == "network" else ((2.0, 3.0), "class")
    assert stats.kstest(value[first][:, 1], law(6, 3, class_prior)).pvalue > 1e-5
    for level in (0, 1):
        chosen = rows["f"][rows["c"] == level]
        ones = int(chosen.sum())
        sample = value["f"][:, level, 1]
        assert stats.kstest(sample, law(chosen.size - ones, ones, flat)).pvalue > 1e-5
        assert stats.kstest(sample, law(ones, chosen.size - ones, flat)).pvalue < 1e-5  # planted: levels swapped
    assert np.abs(sum(np.abs(array.sum(axis=-1) - 1).max() for array in value.values())) < 1e-8


def test_draws_of_tables_are_read_by_the_names_of_their_posteriors() -> None:
    mechanism = dc.PosteriorSample(epsilon=5.0, truncation={"class": 0.1, "f": 0.2, "g": 0.05}, draws=2)
    (run,) = dc.simulate(dc.NaiveBayes("c", ("f", "g")), None, mechanism, runs=1, seed=1, n=9, schema=BINARY)
    posterior = run.posterior()
    assert set(posterior.mean()) == {"class", "f", "g"} == set(run.truth)
    assert "f[0, 1]" in posterior.summary().index
    assert posterior.values["g"].min() >= 0.05 - 1e-9
    assert posterior.values["f"].min() >= 0.2 - 1e-9
    with pytest.raises(dc.QueryError, match="must not be read off tempered draws"):
        posterior.interval(0.9)
    assert set(posterior.predict(3)) == {"c", "f", "g"}


@pytest.mark.parametrize("sampler", [{"tempering": "natural"}, {"tempering": "likelihood"}, {"arithmetic": "exact"}])
def test_intervals_given_draws_cover_whatever_was_tempered(sampler: dict[str, Any]) -> None:
    """200 simulations over the prior: 90% within 4 standard errors (false alarm 6e-5)."""
    mechanism = dc.PosteriorSample(epsilon=2.0, truncation=0.05, draws=2, grid=2.0**-9, **sampler)
    schema = dc.Schema({"x": dc.Binary()})
    runs = dc.simulate(dc.BetaBernoulli("x", prior=(2, 3)), None, mechanism, runs=200, seed=3, n=60, schema=schema)
    hits = [low <= run.truth["probability"] <= high for run in runs for low, high in [run.posterior().interval(0.9)]]
    assert abs(np.mean(hits) - 0.9) < 4 * math.sqrt(0.09 / len(runs))
