"""Public records: how many meet a target, what the rest costs, for every conjugate model; and what is refused."""

from dataclasses import replace
from itertools import pairwise

import pandas as pd
import pytest

import discreet as dc
from discreet.accounting.profiles import beta_delta, beta_epsilon
from discreet.planning.public_records import MOST, PublicRecords, public_records

COLUMNS = {
    "x": dc.Binary(),
    "w": dc.Categorical(["a", "b", "c"]),
    "age": dc.Bounded(0, 100),
    "visits": dc.Count(10),
    "wait": dc.Bounded(0, 5),
}
SCHEMA = dc.Schema(COLUMNS, n=100)
TARGET = dc.Budget(1.0, 1e-6)
BETA = dc.BetaBernoulli("x", prior=(6, 12))
MODELS = {
    "Beta": (BETA, lambda count: (6 + count / 3, 12 + count * 2 / 3)),
    "Dirichlet": (
        dc.DirichletCategorical("w", prior=(2.0, 3.0, 5.0)),
        lambda count: (2 + 0.2 * count, 3 + 0.3 * count, 5 + 0.5 * count),
    ),
    "mean": (dc.NormalMean("age", sd=20, prior=(40, 10)), lambda count: (40, (1 / 100 + count / 400) ** -0.5)),
    "counts": (dc.GammaPoisson("visits", prior=(20, 5)), lambda count: (20 + 4 * count, 5 + count)),
    "times": (dc.GammaExponential("wait", prior=(20, 30)), lambda count: (20 + count, 30 + 1.5 * count)),
    "query": (dc.StatisticalQuery("age", prior=(6, 12)), lambda count: (6 + count / 3, 12 + count * 2 / 3)),
}


def test_a_direct_beta_draw_by_the_exact_profile() -> None:
    """Beta(6, 12), n = 100: the least N by the profile itself, and the notes' 2.64844059734 for no public record."""
    found = public_records(BETA, dc.DirectSample(), SCHEMA, TARGET)
    assert found.needed is not None
    enough, fewer = (MODELS["Beta"][1](count) for count in (found.needed, found.needed - 1))
    assert beta_delta(*enough, 100, 1.0) <= 1e-6 < beta_delta(*fewer, 100, 1.0)
    assert list(found.shared) == [0, 1, 5, 10, 25, 50]
    assert found.shared[0] == pytest.approx(2.64844059734, rel=1e-8)
    assert found.shared[25] == pytest.approx(beta_epsilon(*MODELS["Beta"][1](25), 75, 1e-6), rel=1e-9)
    costs = list(found.shared.values())
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_least_count_of_every_model(name: str) -> None:
    """One record fewer misses the target, more never do; priors are those that public records at the mean give."""
    model, strengthened = MODELS[name]
    found = public_records(model, dc.DirectSample(), SCHEMA, TARGET)
    assert found.needed

    def epsilon(count: int) -> float:
        return dc.DirectSample().guarantee(replace(model, prior=strengthened(count)).query(SCHEMA)).epsilon(1e-6)

    assert epsilon(found.needed) <= 1.0 < epsilon(found.needed - 1)
    costs = [epsilon(count) for count in (0, 30, 10**5)]
    assert all(later < earlier for earlier, later in pairwise(costs))


def test_records_that_look_as_expected_are_what_updated_adds() -> None:
    """30 public rows with a third of ones strengthen the prior as the answer supposes."""
    public = dc.open(pd.DataFrame({"x": [1, 0, 0] * 10}), dc.Schema({"x": dc.Binary()}), id="public")
    assert BETA.updated(public).prior == pytest.approx(MODELS["Beta"][1](30))


def test_shares_other_than_the_prior_mean() -> None:
    """Records of one level only leave the other prior entry small: they can help less, or not at all."""
    spread = public_records(BETA, dc.DirectSample(), SCHEMA, TARGET)
    even = public_records(BETA, dc.DirectSample(), SCHEMA, TARGET, shares=(0.5, 0.5))
    assert even.needed is not None
    assert spread.needed is not None
    assert even.needed < spread.needed  # what protects is the smaller entry
    dirichlet = dc.DirichletCategorical("w", prior=(2.0, 3.0, 5.0))
    lonely = public_records(dirichlet, dc.DirectSample(), SCHEMA, TARGET, shares=(0.0, 0.0, 1.0))
    assert lonely.needed is None
    assert lonely.lines()[0][1].startswith("no number of public records up to 1e+09")
    assert MOST == 10**9


def test_a_calibrated_draw_needs_none_for_its_own_target() -> None:
    sampler = dc.DiffusedSample(epsilon=1.0, delta=1e-6)
    found = public_records(BETA, sampler, SCHEMA, TARGET)
    assert found.needed == 0
    assert "none are needed" in found.lines()[0][1]
    assert found.shared[0] == pytest.approx(1.0, rel=1e-6)


def test_two_draws_need_more_than_twice_the_records() -> None:
    """Two normal draws of the mean cost what one costs with half the precision: the prior and n count against N."""
    model = dc.NormalMean("age", sd=20, prior=(40, 10))
    once, twice = (public_records(model, dc.DirectSample(draws=k), SCHEMA, TARGET).needed for k in (1, 2))
    assert once
    assert twice == pytest.approx(2 * once + 100 + 4, abs=2)  # precisions: the prior is worth 400/100 = 4 records


def test_a_draw_calibrated_at_an_order_spends_the_records_first() -> None:
    """Its epsilon rises while the fraction grows, and falls once the data are used whole: the answer is after that."""
    sampler = dc.ConcentratedSample(epsilon=2.0, order=10)
    found = public_records(BETA, sampler, SCHEMA, TARGET)
    assert found.needed is not None
    query = replace(BETA, prior=MODELS["Beta"][1](found.needed)).query(SCHEMA)
    assert sampler.fractions(query) == (1.0, 1.0)
    assert found.needed == public_records(BETA, dc.DirectSample(), SCHEMA, TARGET).needed


def test_a_plan_says_it() -> None:
    made = dc.plan(BETA, dc.DirectSample(), schema=SCHEMA, runs=5, target=TARGET)
    assert isinstance(made.public, PublicRecords)
    assert f"{made.public.needed} records in the prior would make this draw meet epsilon = 1 at delta = 1e-06" in str(
        made
    )
    assert "epsilon of the rest at delta = 1e-06: 0: 2.648, 1: " in str(made)
    document = made.to_json()["public"]
    assert document["needed"] == made.public.needed
    assert document["shared"][0] == {"public": 0, "epsilon": pytest.approx(2.64844059734)}
    plain = dc.plan(BETA, dc.DirectSample(), schema=SCHEMA, runs=5)
    assert plain.public is None
    assert plain.to_json()["public"] is None


@pytest.mark.parametrize(
    ("model", "mechanism", "target", "shares", "message"),
    [
        (BETA, dc.NoisyStatistics(epsilon=1), TARGET, None, "mechanism must be a direct, diffused or concentrated"),
        (dc.Normal("age"), dc.DirectSample(), TARGET, None, "model must have one conjugate parameter, got Normal"),
        (BETA, dc.DirectSample(), dc.Budget(1.0), None, "target must be a Budget with a delta"),
        (BETA, dc.DirectSample(), TARGET, (0.5, 0.6), "shares must be 2 numbers"),
        (dc.GammaPoisson("visits"), dc.DirectSample(), TARGET, (1.0,), "shares must be left out"),
        (dc.BetaBernoulli("x", by="w"), dc.DirectSample(), TARGET, None, "no groups"),
    ],
)
def test_what_has_no_answer_is_refused(model, mechanism, target, shares, message: str) -> None:
    with pytest.raises(dc.QueryError, match=message):
        public_records(model, mechanism, SCHEMA, target, shares)
