"""Comparisons: ranks, ties, refusals, and groups."""

from dataclasses import replace

import pytest

import discreet as dc

SCHEMA = dc.Schema({"x": dc.Binary(), "g": dc.Categorical(["a", "b"]), "v": dc.Count(6)}, n=400)


def with_n(n: int) -> dc.Schema:
    return dc.Schema({"x": dc.Binary()}, n=n)


def test_mechanisms_are_ranked_on_the_same_tables() -> None:
    made = dc.compare(dc.BetaBernoulli("x"), dc.Budget(1.0, 1e-6), schema=SCHEMA, runs=60)
    names = [type(one.mechanism).__name__ for one in made.candidates]
    assert names[0] == "NoisyStatistics"  # many records and a flat prior: noise on one count is hard to beat
    assert any("DirectSample" in name and "would spend" in reason for name, reason in made.refused.items())
    assert made.candidates[0].score == 0.0
    assert made.best == made.candidates[0].mechanism
    assert all(later.score >= 0 for later in made.candidates)
    assert str(made).startswith("1. NoisyStatistics(epsilon=1")
    assert set(made.to_json()) == {"candidates", "refused"}


def test_a_concentrated_draw_beats_a_diffused_one_where_the_prior_is_right() -> None:
    """Simulated from a concentrated prior, the draw that trusts the prior errs less."""
    samplers = [dc.DiffusedSample(epsilon=0.3, delta=1e-6), dc.ConcentratedSample(epsilon=0.3, delta=1e-6)]
    model = dc.BetaBernoulli("x", prior=(40.0, 60.0))
    made = dc.compare(model, dc.Budget(1.0, 1e-6), schema=SCHEMA, mechanisms=samplers, runs=200)
    errors = {type(one.mechanism).__name__: one.plan.error["probability"] for one in made.candidates}
    assert errors["ConcentratedSample"] < errors["DiffusedSample"]


@pytest.mark.parametrize("epsilon", [0.1, pytest.param(0.3, marks=pytest.mark.audit)])
def test_trusting_a_prior_that_is_right_beats_the_posterior_itself(epsilon: float) -> None:
    """Draws of a concentrated posterior err less than draws of the posterior, diffused ones more: 300 paired tables."""
    samplers = [
        dc.DirectSample(),
        *(kind(epsilon=epsilon, delta=1e-6) for kind in (dc.DiffusedSample, dc.ConcentratedSample)),
    ]
    model = dc.BetaBernoulli("x", prior=(40.0, 60.0))
    made = dc.compare(model, dc.Budget(5.0, 1e-6), schema=with_n(100), mechanisms=samplers, runs=300)
    errors = {type(one.mechanism).__name__: one.plan.error["probability"] for one in made.candidates}
    assert errors["ConcentratedSample"] < errors["DirectSample"] < errors["DiffusedSample"]


def test_noisy_counts_leave_one_posterior_sample_behind_as_records_grow() -> None:
    """Epsilon .1, a uniform prior: with few records neither says anything, with a thousand the noise is the smaller.

    In the literature a draw from naive noisy counts is worse than a tempered one below some five records
    (studies.draws_error); a posterior that knows its noise has no such range: it falls back on the prior.
    """
    widths = {}
    for n in (2, 5, 1000):
        sampler = dc.PosteriorSample(epsilon=0.1, truncation=0.05)
        made = dc.compare(dc.BetaBernoulli("x"), dc.Budget(0.1), schema=with_n(n), also=[sampler], runs=60)
        assert type(made.best).__name__ == "NoisyStatistics" or made.candidates[1].tie
        found = {
            type(one.mechanism).__name__: one.plan.width["probability"] for one in made.candidates if one.plan.width
        }
        widths[n] = found["PosteriorSample"] / found["NoisyStatistics"]
    assert widths[2] == pytest.approx(1.0, abs=0.01)
    assert widths[5] == pytest.approx(1.0, abs=0.01)
    assert widths[1000] > 3.0


def test_one_posterior_sample_is_compared_only_where_it_is_asked_for() -> None:
    """Its parameter space must be declared, and no budget determines one."""
    alone = dc.compare(dc.BetaBernoulli("x"), dc.Budget(1.0, 1e-6), schema=with_n(50), runs=5)
    named = [type(one.mechanism).__name__ for one in alone.candidates]
    assert "PosteriorSample" not in [*named, *(name.partition("(")[0] for name in alone.refused)]


def test_equal_mechanisms_tie_and_noise_that_drowns_the_signal_is_told() -> None:
    twins = [dc.NoisyStatistics(epsilon=0.5), dc.NoisyStatistics(epsilon=0.5, label="again")]
    made = dc.compare(dc.BetaBernoulli("x"), dc.Budget(1.0), schema=SCHEMA, mechanisms=twins, runs=40)
    assert all(one.tie for one in made.candidates)
    assert not made.candidates[0].drowned
    drowned = dc.compare(dc.BetaBernoulli("x"), dc.Budget(1e-4), schema=SCHEMA, runs=40)
    assert drowned.candidates[0].drowned
    assert "noise drowns the signal" in str(drowned)


def test_groups_and_rates_are_planned_too() -> None:
    plan = dc.plan(dc.BetaBernoulli("x", by="g"), dc.NoisyStatistics(epsilon=1.0), schema=SCHEMA, runs=40)
    assert plan.coverage == pytest.approx(0.9, abs=0.12)
    made = dc.compare(dc.GammaPoisson("v", prior=(6, 2)), dc.Budget(1.0, 1e-6), schema=SCHEMA, runs=10)
    assert made.candidates


def test_nothing_that_fits_is_an_error() -> None:
    with pytest.raises(dc.QueryError, match="must have a mechanism that fits"):
        dc.compare(dc.BetaBernoulli("x"), dc.Budget(0.1), schema=SCHEMA, mechanisms=[dc.NoisyStatistics(epsilon=1.0)])
    with pytest.raises(dc.QueryError, match="budget must be a Budget"):
        dc.compare(dc.BetaBernoulli("x"), 1.0, schema=SCHEMA)  # type: ignore[arg-type]


def test_where_rows_are_excluded_the_plan_says_what_knowing_their_number_would_give() -> None:
    """The width with n_prior is that of a plan which declares it; a public number of rows needs no such line."""
    excluding = dc.Schema({"smoker": dc.Binary(missing="exclude")}, n=1000)
    model, mechanism = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=1.0)
    said = dc.plan(model, mechanism, schema=excluding, runs=20).rows
    known = dc.plan(model, mechanism, schema=replace(excluding, n_prior=(980, 20)), runs=2)
    assert known.width is not None
    assert said.endswith(f"with n_prior = [980, 20] widths are about {known.width['probability']:.2g}")
    assert known.rows == ""
    assert dc.plan(model, mechanism, schema=dc.Schema({"smoker": dc.Binary()}, n=1000), runs=2).rows == ""
