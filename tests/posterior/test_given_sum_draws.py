"""What draws say of a mean or a rate: against sums over every table, quadrature, and the noise-aware posterior."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import discreet as dc
from discreet.mechanisms.draws.real_laws import log_draws
from discreet.noise import DiscreteGaussian
from discreet.posterior import CurvePosterior, Draws

SCHEMA = dc.Schema({"visits": dc.Count(3), "wait": dc.Bounded(0, 4), "age": dc.Bounded(0, 100)}, n=40)


def given(model, schema: dc.Schema, draws, scale: float = 1.0, shrink: float = 1.0, grid: float = 2.0**-32):
    """The posterior given draws of the conjugate law with its data scaled and its prior divided."""
    query = model.query(schema)
    family, n = query.family, query.largest_total
    part = family.exponents / shrink
    return model.known_from(query, lambda s: log_draws(family, draws, grid, family.update(part, scale, s, n)))


@pytest.mark.parametrize("draws", [[0.02], [0.9], [4.0, 2.5, 3.1]])
def test_a_rate_of_four_counts_by_listing_every_table(draws: list[float]) -> None:
    """Counts clipped at 3: 4^4 tables, each with its probability and the density of the draws given its sum."""
    model = dc.GammaPoisson("visits", prior=(2.0, 1.5))
    found = given(model, replace(SCHEMA, n=4), draws)
    tables = np.array(list(itertools.product(range(4), repeat=4)))
    weights = stats.gamma(2.0 + tables.sum(axis=1)[:, np.newaxis], scale=1 / 5.5).pdf(draws).prod(axis=1)

    def joint(rate: float) -> float:
        cells = np.append(stats.poisson.pmf(np.arange(3), rate), stats.poisson.sf(2, rate))
        return float(stats.gamma.pdf(rate, 2.0, scale=1 / 1.5) * (cells[tables].prod(axis=1) @ weights))

    rates = np.linspace(0.0, 14.0, 281)
    density = np.array([joint(rate) for rate in rates])
    mass = integrate.simpson(density, x=rates)
    assert found.log_evidence() == pytest.approx(np.log(mass), abs=1e-4)
    assert found.mean() == pytest.approx(integrate.simpson(density * rates, x=rates) / mass, abs=1e-4)
    np.testing.assert_allclose(np.exp(found.log_density(rates[1::40])), density[1::40] / mass, atol=1e-4)


def test_a_mean_without_clipping_by_quadrature() -> None:
    """Bounds far out: sum and draw are normal, and so is the mean given the draw."""
    model = dc.NormalMean("age", sd=4.0, prior=(50.0, 3.0))
    scale, shrink, draw, n = 0.3, 0.8, 52.5, 40
    found = given(model, SCHEMA, [draw], scale, shrink)
    prior, data = 1 / (shrink * 9.0), scale / 16.0
    precision = prior + n * data
    slope = n * data / precision  # of the draw's mean in the mean of the rows

    def joint(mean: float) -> float:
        spread = np.sqrt(1 / precision + slope**2 * 16.0 / n)
        middle = (prior * 50.0 + n * data * mean) / precision
        return float(stats.norm(50.0, 3.0).pdf(mean) * stats.norm(middle, spread).pdf(draw))

    mass, first = (integrate.quad(lambda m, k=k: m**k * joint(m), 20, 80, points=[50.0])[0] for k in (0, 1))
    assert found.mean() == pytest.approx(first / mass, abs=1e-5)
    assert found.log_evidence() == pytest.approx(np.log(mass), abs=1e-5)


def test_a_draw_of_a_mean_is_a_sum_with_gaussian_noise() -> None:
    """Clipping included: the draw says what a noisy sum with the deviation of the draw would say."""
    model = dc.NormalMean("age", sd=40.0, prior=(70.0, 30.0))
    query, axis = model.query(SCHEMA), model.query(SCHEMA).family.axis
    precision = 1 / 900.0 + 40 / 1600.0
    total = (precision * 81.0 - 70.0 / 900.0) * 1600.0
    noise = DiscreteGaussian(1600.0 * np.sqrt(precision) / axis.unit)
    noisy = model.posterior(query, {"sum": np.round((total - 40 * axis.centre) / axis.unit)}, {"sum": noise})
    found = given(model, SCHEMA, [81.0])
    assert found.interval() == pytest.approx(noisy.interval(), abs=1e-4)
    assert found.sd() == pytest.approx(noisy.sd(), abs=1e-4)


def test_a_draw_of_the_mean_of_a_table_has_nothing_to_sum_out() -> None:
    model = dc.StatisticalQuery("age", prior=(2.0, 3.0))
    found = given(model, SCHEMA, [41.0], scale=0.5)
    low, high = model.query(SCHEMA).family.axis.ends
    x = np.linspace(0.001, 0.999, 2001)
    successes = 40 * x
    law = stats.beta(2 + 0.5 * successes, 3 + 0.5 * (40 - successes))
    density = stats.beta(2, 3).pdf(x) * law.pdf((41.0 - low) / (high - low))
    mean = integrate.simpson(density * x, x=x) / integrate.simpson(density, x=x)
    assert found.mean() == pytest.approx(low + (high - low) * mean, abs=1e-3)


def test_many_draws_show_the_exact_sum() -> None:
    """Ten thousand draws leave the posterior of the sum itself, wider than what the draws seem to say."""
    model, rng = dc.GammaExponential("wait", prior=(4.0, 4.0)), np.random.default_rng(3)
    many = given(model, SCHEMA, rng.gamma(44.0, 1 / (4.0 + 30.0), 10_000))
    exact = stats.gamma(44.0, scale=1 / 34.0)  # waiting times up to 4: hardly any is clipped at this rate
    assert many.mean() == pytest.approx(exact.mean(), rel=0.02)
    assert many.sd() == pytest.approx(exact.std(), rel=0.05)


def test_one_draw_is_wider_than_the_exact_posterior_and_needs_its_own_prior_only_once() -> None:
    model = dc.GammaExponential("wait", prior=(4.0, 4.0))
    one = given(model, SCHEMA, [1.3])
    assert one.sd() > 1.2 * stats.gamma(44.0, scale=1.3 / 44.0).std()
    query = model.query(SCHEMA)
    family = query.family

    def drawn(sums):
        return log_draws(family, [1.3], 2.0**-32, family.update(family.exponents, 1.0, sums, 40))

    other = replace(model, prior=(40.0, 60.0)).known_from(query, drawn)
    np.testing.assert_allclose(other.likelihood_at([0.7, 1.3]), one.likelihood_at([0.7, 1.3]), atol=1e-9)
    assert other.mean() < one.mean()


def test_coarse_grids_say_less() -> None:
    model = dc.GammaPoisson("visits", prior=(2.0, 1.5))
    fine, coarse = (given(model, SCHEMA, [1.0], grid=grid) for grid in (2.0**-32, 2.0))
    assert coarse.sd() > 1.5 * fine.sd()


def test_draws_answer_with_what_they_say_of_the_parameter() -> None:
    model = dc.NormalMean("age", sd=20.0)
    found = given(model, SCHEMA, [60.0, 55.0])
    draws = Draws({"mean": np.array([60.0, 55.0])}, given=found)
    assert isinstance(draws.given, CurvePosterior)
    assert draws.interval(0.8) == found.interval(0.8)
    assert (draws.sd(), draws.quantile(0.3)) == (found.sd(), found.quantile(0.3))
    assert float(draws.mean()["mean"]) == 57.5
