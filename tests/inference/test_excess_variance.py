"""Kappa given the sums of a second stage: the law of the released sum, ranks over the prior, and real second stages."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

import discreet as dc
from discreet.inference.gaussian.excess_variance import (
    GRID,
    PRIOR_DEVIATION,
    PRIOR_MEAN,
    ExcessVariance,
    _capped,
    excess_variances,
    kappa_draws,
    log_noisy_normal,
)
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.noise.sources import SeededNoise
from discreet.sources import Dataset
from second_stages import MODELS, coded, schema_of, table

UNIT = 4096.0**2
NOTHING = np.zeros(2)


@pytest.mark.parametrize("law", [DiscreteLaplace(40.0 * UNIT), DiscreteGaussian(40.0 * UNIT)], ids=str)
@pytest.mark.parametrize("variance", [1e-9, 4.0, 1e4])
def test_noise_plus_normal_error_by_numerical_convolution(law: Any, variance: float) -> None:
    distance = np.array([-900.0, -150.0, -3.0, 0.0, 20.0, 400.0])
    errors = np.linspace(-9.0, 9.0, 20001) * variance**0.5
    weights = norm.pdf(errors / variance**0.5)
    grid = law.log_density((distance[:, None] - errors) * UNIT) - law.log_density(0.0)
    expected = np.log((np.exp(grid) * weights).sum(axis=1) / weights.sum())
    found = log_noisy_normal(distance, np.full(6, variance), law, UNIT)
    np.testing.assert_allclose(found - found[3], expected - expected[3], rtol=1e-3, atol=2e-3)


def simulated(
    rng: np.random.Generator, law: Any, n: float, bound: float, noise: float = 1.0
) -> tuple[float, ExcessVariance]:
    """Kappa from its prior and a sum given it; `noise` times what the law says."""
    kappa = float(np.exp(rng.normal(PRIOR_MEAN, PRIOR_DEVIATION)))
    share = float(np.minimum(_capped(np.array([kappa]), np.ones(1), bound)[0] / bound, 1.0))
    total = rng.normal(n * share, (n * share * (1.0 - share)) ** 0.5)
    drawn = rng.laplace(0.0, law.width / UNIT) if not law.gaussian else rng.normal(0.0, law.sigma / UNIT)
    return kappa, ExcessVariance((total + noise * drawn) * UNIT, law, UNIT, bound, NOTHING, NOTHING, 0.0)


@pytest.mark.parametrize("law", [DiscreteLaplace(6.0 * UNIT), DiscreteGaussian(6.0 * UNIT)], ids=str)
def test_ranks_are_uniform_over_the_prior_and_noise_left_out_is_seen(law: Any) -> None:
    rng = np.random.default_rng(3)
    for noise, passes in ((1.0, True), (12.0, False)):
        ranks = []
        for _ in range(500):
            kappa, excess = simulated(rng, law, 3000.0, 30.0, noise)
            ranks.append((kappa_draws(excess, 3000.0, rng, 100) < kappa).mean() + rng.uniform(0.0, 0.01))
        assert (kstest(np.clip(ranks, 0.0, 1.0), "uniform").pvalue > 1e-3) == passes


def test_many_rows_and_no_noise_tell_kappa() -> None:
    rng = np.random.default_rng(4)
    law, n, bound = DiscreteLaplace(5.0 * UNIT), 1e7, 1e4
    for kappa in (0.5, 1.0, 3.0):
        total = n * float(_capped(np.array([kappa]), np.ones(1), bound)[0]) / bound
        excess = ExcessVariance(total * UNIT, law, UNIT, bound, NOTHING, NOTHING, 0.0)
        draws = kappa_draws(excess, n, rng, 2000)
        assert abs(np.log(np.median(draws)) - np.log(kappa)) < GRID[1] - GRID[0]
        same = kappa_draws(excess, np.full(2000, n), rng, 2000)
        assert abs(np.log(np.median(same) / np.median(draws))) < GRID[1] - GRID[0]


@pytest.mark.parametrize("model", MODELS)
def test_second_stages_of_tables_are_read(model: str) -> None:
    """Without noise to speak of: kappa is what the influences of the table itself say, by their textbook formula."""
    frame = table(3000, np.random.default_rng(5)).dropna().query("sex != ''")
    schema = schema_of("replace-one", "record", len(frame))
    query = MODELS[model](None).query(schema)
    memory = coded(frame, schema, query.columns)
    mechanism = dc.NoisyStatistics(epsilon=1e6)
    laws = mechanism.laws(query)
    value = mechanism.apply(SeededNoise(1), query, Dataset("t", schema, memory))
    found = excess_variances(query, value, laws)
    assert tuple(found) == query.second.reported
    kappas = {name: excess.released / UNIT * excess.bound / len(frame) for name, excess in found.items()}
    for name, expected in textbook(model, frame, query).items():
        assert abs(kappas[name] / expected - 1.0) < 0.05, (name, kappas[name], expected)
    draws = {
        name: kappa_draws(excess, float(len(frame)), np.random.default_rng(0), 500) for name, excess in found.items()
    }
    assert all(np.all(np.isfinite(kappa)) and np.all(kappa > 0) for kappa in draws.values())


def textbook(model: str, frame: Any, query: Any) -> dict[str, float]:
    """(Kurtosis - 1) / 2, the delta method of a correlation, and the sandwich over the classical variance."""
    clipped = {
        name: np.clip(frame[name], *(query.schema.column(name).lower, query.schema.column(name).upper))
        for name in "xyz"
    }
    kurtosis = {name: float(((c - c.mean()) ** 4).mean() / c.var(ddof=0) ** 2) for name, c in clipped.items()}
    if model == "MultivariateNormal":
        x, z = ((clipped[name] - clipped[name].mean()) / clipped[name].std(ddof=0) for name in "xz")
        r = float((x * z).mean())
        fourth = {(a, b): float((x**a * z**b).mean()) for a, b in ((2, 2), (4, 0), (0, 4), (3, 1), (1, 3))}
        moved = fourth[2, 2] * (1.0 + r * r / 2.0) + (fourth[4, 0] + fourth[0, 4]) * r * r / 4.0
        own = (moved - r * (fourth[3, 1] + fourth[1, 3])) / (1.0 - r * r) ** 2
        return {**{name: (kurtosis[name] - 1.0) / 2.0 for name in "xz"}, "correlation[x, z]": own}
    if not query.second.is_regression:
        return {"variance": (kurtosis["x"] - 1.0) / 2.0}
    ward = frame["ward"].replace("other", "A")  # a bad level counts as the first
    dummies = {"ward=B": ward == "B", "ward=C": ward == "C", "sex=m": frame["sex"] == "m"}
    names = query.second.reported[:-1]
    columns = [np.ones(len(frame))] + [clipped[n] if n in clipped else dummies[n].astype(float) for n in names[1:]]
    design = np.column_stack(columns)
    target = clipped["y"].to_numpy()
    inverse = np.linalg.inv(design.T @ design)
    errors = target - design @ (inverse @ design.T @ target)
    sandwich = inverse @ (design.T * errors**2) @ design @ inverse
    ratios = np.diag(sandwich) / np.diag(inverse) / (errors**2).mean()
    last = ((errors**2 / (errors**2).mean() - 1.0) ** 2).mean() / 2.0
    return {**dict(zip(names, ratios.tolist(), strict=True)), "variance": float(last)}


def test_draws_of_the_moments_correct_a_wrong_first_estimate() -> None:
    """A first estimate of twice the variance: psi is too small a part of its reference, which the moments know."""
    rng = np.random.default_rng(6)
    n, bound, variance = 1e6, 300.0, 0.04
    law = DiscreteLaplace(20.0 * UNIT)
    taken = 2.0 * variance
    left = np.array([0.0, 1.0]) / (2.0**0.5 * taken)
    excess = ExcessVariance(0.0, law, UNIT, bound, left, np.array([0.0, 1.0]), 2.0**-0.5)
    x = rng.normal(0.0, variance**0.5, 10**6)
    total = np.minimum((x**2 - taken) ** 2 / (2.0 * taken**2), bound).sum() / bound
    excess = replace(excess, released=total * UNIT)
    right = (np.zeros((500, 1)), np.full((500, 1, 1), variance))
    spread, shift = excess.spread_and_shift(*right)
    np.testing.assert_allclose([spread[0], shift[0]], [0.25, 0.125])
    assert abs(np.median(kappa_draws(excess, n, rng, 500, right)) - 1.0) < 0.15
    assert np.median(kappa_draws(excess, n, rng, 500)) < 0.5


def test_without_a_second_stage_there_is_nothing_to_read() -> None:
    query = dc.Normal("x").query(schema_of("replace-one", "record", 10))
    assert excess_variances(query, {}, {}) == {}


@pytest.mark.parametrize("released", [10**400, -(10**400), 0])
def test_whatever_is_released_is_read(released: int) -> None:
    query = dc.Normal("x", robust=True).query(schema_of("add-remove", "record", 10))
    laws = dc.NoisyStatistics(epsilon=0.01).laws(query)
    value = {name: np.array(released, dtype=object) for name in query.names}
    (excess,) = excess_variances(query, {**value, "influence": np.array([released], dtype=object)}, laws).values()
    for n in (0.0, 10.0, np.array([0.0, 5.0, 10.0])):
        assert np.all(kappa_draws(excess, n, np.random.default_rng(0), 3) > 0)
