"""A plan says how far its average width may be off by the chance of its simulated tables alone."""

import numpy as np

import discreet as dc
from discreet.planning.simulated_runs import chance

BATCHES, RUNS = 2000, 50
SCHEMA = dc.Schema({"smoker": dc.Binary()}, n=100)
NOISE = dc.NoisyStatistics(epsilon=1.0)


def test_averages_are_off_by_their_error_and_a_half_of_it_is_caught() -> None:
    """Of long-tailed values at random; the spread of 2,000 averages is known within 2%: five deviations are a tenth."""
    values = np.random.default_rng(5).lognormal(sigma=0.6, size=(BATCHES, RUNS))
    found = values.mean(axis=1).std()
    told = np.sqrt(np.mean([chance(batch) ** 2 for batch in values]))
    assert abs(told / found - 1) < 0.1
    assert abs(told / 2 / found - 1) > 0.1


def test_what_differs_along_the_prior_is_no_chance() -> None:
    """One value a stratum, in order: the average is off by what varies within strata, and a variance would say more."""
    rng = np.random.default_rng(6)
    places = (np.arange(RUNS) + rng.random((BATCHES, RUNS))) / RUNS
    values = 10 * places**2 + 0.3 * rng.standard_normal((BATCHES, RUNS))
    found = values.mean(axis=1).std()
    told = np.sqrt(np.mean([chance(batch) ** 2 for batch in values]))
    assert 0.9 < told / found < 1.5
    assert np.mean([batch.std() for batch in values]) / RUNS**0.5 > 5 * found


def test_a_plan_tells_the_error_of_its_width() -> None:
    made = dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=SCHEMA, runs=40)
    assert made.width is not None
    assert made.width_error is not None
    assert 0 < made.width_error["probability"] < 0.3 * made.width["probability"]
    assert f"± {made.width_error['probability']:.2g} on average" in str(made)
    assert made.to_json()["width_error"] == made.width_error


def test_one_table_tells_no_error() -> None:
    made = dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=SCHEMA, runs=1)
    assert made.width_error is None
    assert "± " not in str(made).split("width")[1].split("on average")[0]
