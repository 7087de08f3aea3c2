"""Whatever can be released can be planned and compared: every model with every mechanism that fits it."""

import math

import pytest

import discreet as dc
from discreet.planning import simulated_runs
from pairs import Pair, one_per_pair

BUDGET = dc.Budget(100.0, 0.1)
METROPOLIS = [pair for pair in one_per_pair() if pair.name.endswith("by PrivateMetropolis")]


def check(pair: Pair) -> None:
    """The plan has figures: intervals of noisy statistics, none of chains, which are tempered."""
    made = dc.plan(pair.model, pair.mechanism, schema=pair.schema, runs=1)
    assert all(math.isfinite(error) for error in made.error.values())
    chains = (dc.GibbsPosterior, dc.PrivateAnnealing, dc.PrivateGibbs, dc.PrivateMetropolis)
    if isinstance(pair.mechanism, chains):
        assert (made.width, made.coverage) == (None, None)
    if isinstance(pair.mechanism, dc.NoisyStatistics) or made.width is not None:
        assert set(made.width) == set(made.error)
    assert made.lines()


@pytest.mark.parametrize("pair", one_per_pair(), ids=lambda pair: pair.name)
def test_every_pair_is_planned(pair: Pair) -> None:
    check(pair)


@pytest.mark.parametrize("pair", METROPOLIS, ids=lambda pair: pair.name)
def test_a_plan_that_expects_intervals_of_every_one_parameter_draw_is_found(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted error looks at the model, as if it alone decided whether there are intervals."""
    by_name = simulated_runs._by_name
    monkeypatch.setattr(simulated_runs, "_intervals", lambda found, *args: by_name(found.interval(0.9), *args))
    with pytest.raises(dc.QueryError, match="must not be read off tempered draws"):
        check(pair)


def test_mechanisms_of_a_study_join_a_comparison_with_and_without_a_delta() -> None:
    """Without a delta, those that need one are left out and say so; the others are ranked."""
    for pair in METROPOLIS[:3]:
        for budget in (BUDGET, dc.Budget(100.0)):
            made = dc.compare(pair.model, budget, schema=pair.schema, also=[pair.mechanism], runs=1)
            assert pair.mechanism in [one.mechanism for one in made.candidates]
    asked = [dc.NoisyStatistics(rho=0.1), dc.DirectSample()]
    made = dc.compare(dc.BetaBernoulli("smoker"), dc.Budget(1.0), schema=METROPOLIS[0].schema, also=asked, runs=2)
    assert [type(one.mechanism) for one in made.candidates] == [dc.NoisyStatistics]
    assert set(made.refused.values()) == {"has a delta, and the budget has none"}
    mean = dc.QuadraticMean(("age",))
    assert dc.compare(mean, BUDGET, schema=METROPOLIS[0].schema, runs=2).best.sampler == "exact"
