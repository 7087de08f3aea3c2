"""Several releases of one question about the same rows are read together: exactly, and never as if rows were new."""

from dataclasses import replace
from math import lgamma
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.sources import CodedRows
from pairs import COLUMNS, MODELS, ROWS, small_table
from thinned import thinned

SCHEMA = dc.Schema(COLUMNS, n=ROWS)
LAPLACE, GAUSS = dc.NoisyStatistics(epsilon=0.4), dc.NoisyStatistics(rho=0.1)


def runs(model: Any, *mechanisms: Any, schema: dc.Schema = SCHEMA) -> list[dc.Release]:
    data = dc.open(small_table(), schema, id="same")
    return [dc.simulate(model, data, mechanism, runs=1, seed=s)[0] for s, mechanism in enumerate(mechanisms)]


def log_noise(releases: list[dc.Release], name: str, statistic: np.ndarray) -> np.ndarray:
    """Of all releases at one exact statistic, written out."""
    found = 0.0
    for release in releases:
        law, gaps = release.noise[name], np.asarray(release.value[name], dtype=float) - statistic
        laplace = law["law"] == "discrete-laplace"
        falls = np.abs(gaps) / law["scale"] if laplace else 0.5 * (gaps / law["sigma"]) ** 2
        found = found - (falls.sum(axis=-1) if gaps.ndim > np.ndim(statistic) - 1 and np.ndim(statistic) > 1 else falls)
    return np.asarray(found)


@pytest.mark.parametrize(
    "mechanisms", [(LAPLACE, LAPLACE, GAUSS), (GAUSS, GAUSS), (LAPLACE, dc.NoisyStatistics(epsilon=2.0))]
)
def test_a_share_by_enumeration(mechanisms: Any) -> None:
    releases = runs(dc.BetaBernoulli("smoker", prior=(2.0, 3.0)), *mechanisms)
    k = np.arange(ROWS + 1)
    log_weights = stats.betabinom(ROWS, 2.0, 3.0).logpmf(k) + log_noise(releases, "ones", k)
    weights = np.exp(log_weights - log_weights.max())
    assert weights @ ((2 + k) / (5 + ROWS)) / weights.sum() == pytest.approx(dc.combine(releases).mean(), rel=1e-10)


@pytest.mark.parametrize("mechanisms", [(LAPLACE, LAPLACE, GAUSS), (GAUSS, dc.NoisyStatistics(rho=0.03))])
def test_levels_by_enumeration(mechanisms: Any) -> None:
    releases = runs(dc.DirichletCategorical("ward", prior=0.7), *mechanisms)
    a, b = np.meshgrid(np.arange(ROWS + 1), np.arange(ROWS + 1), indexing="ij")
    tables = np.stack([a, b, ROWS - a - b], axis=-1)[a + b <= ROWS]
    log_weights = np.array([sum(lgamma(k + 0.7) - lgamma(k + 1) for k in table) for table in tables])
    log_weights += log_noise(releases, "counts", tables)
    weights = np.exp(log_weights - log_weights.max())
    means = weights @ (tables + 0.7) / (ROWS + 2.1) / weights.sum()
    assert means == pytest.approx(dc.combine(releases).mean(), rel=1e-10)


def test_a_rate_by_enumeration() -> None:
    """Gaussian means of two whole sums lie between whole numbers; the sum over tables is written out."""
    n, top = 12, 5
    schema = dc.Schema({"visits": dc.Count(top)})
    data = dc.open(pd.DataFrame({"visits": [0, 1, 2, 3, 1, 0, 2, 5, 1, 1, 0, 4]}), schema, id="few")
    model = dc.GammaPoisson("visits", prior=(3.0, 2.0))
    releases = [dc.simulate(model, data, dc.NoisyStatistics(rho=rho), runs=1, seed=s)[0] for s, rho in enumerate((0.3, 0.1))]  # fmt: skip
    steps, rates = 2 * np.arange(n * top + 1) - n * top, np.linspace(5e-3, 10.0, 2000)
    noisy = np.exp(log_noise(releases, "sum", steps))
    given = []
    for rate in rates:
        one, whole = stats.poisson.pmf(np.arange(top + 1), rate), np.ones(1)
        one[-1] += stats.poisson.sf(top, rate)
        for _ in range(n):
            whole = np.convolve(whole, one)
        given.append(whole @ noisy)
    weights = np.array(given) * stats.gamma.pdf(rates, 3.0, scale=0.5)
    assert weights @ rates / weights.sum() == pytest.approx(dc.combine(releases).mean(), rel=1e-6)


STATISTICS = [models[0] for models in MODELS.values() if models[0].query(SCHEMA).asks == "statistics"]
QUICK = (
    "BetaBernoulli",
    "DirichletCategorical",
    "GammaPoisson",
    "NormalMean",
    "NaiveBayes",
    "Normal",
    "StatisticalQuery",
)


def flat(answer: Any) -> np.ndarray:
    return (
        np.concatenate([np.ravel(part) for part in answer.values()]) if isinstance(answer, dict) else np.ravel(answer)
    )


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "model", thinned(STATISTICS, lambda m: type(m).__name__ in QUICK), ids=lambda m: type(m).__name__
)
def test_two_gaussian_releases_are_one_of_twice_the_budget(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """y - 1 and y + 1 at rho each say of every model what y at 2 rho says; and nothing is rounded on the way."""
    (release,) = runs(model, dc.NoisyStatistics(rho=0.5))
    (twice,) = runs(model, dc.NoisyStatistics(rho=1.0))
    moved = [
        replace(release, value={name: np.asarray(array + by) for name, array in release.value.items()})
        for by in (-1, 1)
    ]
    expected = replace(twice, value=release.value).posterior().mean()
    assert flat(dc.combine(moved).mean()) == pytest.approx(flat(expected), rel=1e-6, abs=1e-9)


def test_what_is_known_of_a_combined_posterior() -> None:
    releases = runs(dc.BetaBernoulli("smoker"), GAUSS, dc.NoisyStatistics(rho=0.2))
    found = dc.combine(releases)
    assert found.sd() < min(release.posterior().sd() for release in releases)
    assert found.facts()["certificate"]["kind"] == "Composed"
    assert [each["rho"] for each in found.facts()["recipe"]["mechanisms"]] == [0.1, 0.2]
    assert dc.combine(releases[:1]).mean() == releases[0].posterior().mean()
    other = dc.combine(releases, prior=(30.0, 10.0))
    assert other.mean() > found.mean()


def coverage(read: Any, tables: int) -> float:
    """Of 90% intervals given two releases of each table."""
    rng, n, hits = np.random.default_rng(11), 40, 0
    model, schema = dc.BetaBernoulli("smoker"), dc.Schema({"smoker": dc.Binary()}, n=n)
    for table in range(tables):
        share = rng.random()
        data = dc.Dataset("same", schema, CodedRows({"smoker": (rng.random(n) < share).astype(int)}))
        releases = dc.simulate(model, data, dc.NoisyStatistics(epsilon=1.0), runs=2, seed=table)
        lower, upper = read(releases)
        hits += lower < share < upper
    return hits / tables


def as_new_rows(releases: list[dc.Release]) -> tuple[float, float]:
    """The planted mistake: likelihoods of the parameter multiplied, as if the second release were of new rows."""
    theta = np.linspace(1e-3, 1 - 1e-3, 400)
    curve = sum(release.posterior().log_density(theta) for release in releases)
    below = np.cumsum(np.exp(curve - curve.max()))
    return tuple(np.interp([0.05, 0.95], below / below[-1], theta))


@pytest.mark.parametrize("count", [300, pytest.param(4000, marks=pytest.mark.audit)])
def test_intervals_cover_and_rows_counted_twice_do_not(count: int) -> None:
    """False alarms below 1e-5: 4.5 deviations. The mistake covers 76% or so."""
    error = np.sqrt(0.9 * 0.1 / count)
    assert abs(coverage(lambda releases: dc.combine(releases).interval(0.9), count) - 0.9) < 4.5 * error
    assert coverage(as_new_rows, count) < 0.9 - 4.5 * error


REFUSED = {
    "one twice": (lambda: runs(dc.BetaBernoulli("smoker"), GAUSS) * 2, "got one twice"),
    "nothing": (list, "got none"),
    "a file": (lambda: "a.json", "got a str"),
    "draws": (
        lambda: runs(dc.BetaBernoulli("smoker"), GAUSS, dc.PosteriorSample(epsilon=0.5, truncation=0.1)),
        "noisy statistics of the rows, got one of PosteriorSample",
    ),
    "Laplace sums": (lambda: runs(dc.Normal("age"), LAPLACE, GAUSS), "must have Gaussian noise"),
    "second stages": (lambda: runs(dc.Normal("age", robust=True), GAUSS, GAUSS), "robust=None"),
    "questions": (
        lambda: runs(dc.BetaBernoulli("smoker"), GAUSS) + runs(dc.DirichletCategorical("ward"), GAUSS), "the same model"
    ),
    "tables": (
        lambda: [
            dc.simulate(dc.BetaBernoulli("smoker"), dc.open(small_table(), SCHEMA, id=name), GAUSS, runs=1)[0]
            for name in ("spring", "autumn")
        ],
        "dc.likelihood",
    ),
    "drawn tables": (
        lambda: dc.simulate(dc.BetaBernoulli("smoker"), None, GAUSS, runs=2, n=20), "runs with rows of their own"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_combined_is_refused_with_the_reason(name: str) -> None:
    releases, words = REFUSED[name]
    with pytest.raises(dc.QueryError, match=words):
        dc.combine(releases())
