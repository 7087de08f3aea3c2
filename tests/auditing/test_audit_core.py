"""The auditing tools audit themselves: exact bounds, power against a wrong claim, planted bugs."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

import discreet as dc
from discreet.auditing import (
    CHECKS,
    Check,
    attack_pair,
    check,
    distance,
    epsilon_lower_bound,
    joint_distribution_test,
    rank_uniformity,
    replay,
    run_check,
    threshold_audit,
    worst_pair,
)
from discreet.auditing.loss_bounds import clopper_pearson
from discreet.mechanisms import NoisyStatistics
from discreet.noise import DiscreteLaplace
from discreet.noise.sources import SeededNoise
from discreet.queries.counts_and_sums import RowMove, Sum
from discreet.queries.statistics import Statistics


def test_clopper_pearson_has_its_coverage_by_exact_summation() -> None:
    """P(lower bound > p) ≤ alpha for every p, summed over the binomial law; the same from above."""
    trials, alpha = 40, 0.01
    bounds = [clopper_pearson(k, trials, alpha) for k in range(trials + 1)]
    for p in np.linspace(0.01, 0.99, 33):
        mass = binom.pmf(np.arange(trials + 1), trials, p)
        assert sum(mass[k] for k in range(trials + 1) if bounds[k][0] > p) <= alpha
        assert sum(mass[k] for k in range(trials + 1) if bounds[k][1] < p) <= alpha


def test_lower_bounds_are_zero_without_evidence_and_never_above_the_truth() -> None:
    assert epsilon_lower_bound(500, 500, 1000) == 0.0
    assert epsilon_lower_bound(0, 0, 1000) == 0.0
    rng = np.random.default_rng(3)
    truth = math.log(0.5 / 0.2)  # the larger of the ratios of the event and of its complement
    bounds = [epsilon_lower_bound(rng.binomial(4000, 0.5), rng.binomial(4000, 0.2), 4000) for _ in range(300)]
    assert max(bounds) <= truth + 1e-12 or np.mean(np.array(bounds) > truth) <= 0.01
    assert np.median(bounds) > 0.8 * truth
    with pytest.raises(dc.QueryError, match=r"must lie in 0..trials"):
        epsilon_lower_bound(5, 2, 4)


def laplace(scale: float, centre: int, size: int, seed: int) -> np.ndarray:
    return centre + np.array(SeededNoise(seed).integers(DiscreteLaplace(scale), size))


def test_threshold_audit_stays_below_the_claim_and_sees_a_quarter_more() -> None:
    """Claim epsilon = 1: true noise passes, noise with 4/5 of its scale is caught (threats: 4,300 runs suffice)."""
    honest = threshold_audit(laplace(1.0, 0, 40_000, 1), laplace(1.0, 1, 40_000, 2))
    assert 0.85 < honest.epsilon <= 1.0
    planted = threshold_audit(laplace(0.8, 0, 40_000, 3), laplace(0.8, 1, 40_000, 4))
    assert planted.epsilon > 1.0
    assert "99.9% confidence" in str(planted)


def beta_ranks(scale: float, shift: float, size: int) -> np.ndarray:
    """Ranks of the truth under a normal posterior that is too narrow or displaced."""
    rng = np.random.default_rng(8)
    theta = rng.normal(size=size)
    y = theta + rng.normal(size=size)
    from scipy.special import ndtr

    return ndtr((theta - y / 2 - shift) / (scale * math.sqrt(0.5)))


def test_calibration_accepts_the_right_posterior_and_sees_scale_and_shift() -> None:
    """False-alarm rate 1e-4; 10,000 ranks see a scale error of 10% (and 2,000 see 25%)."""
    assert rank_uniformity(beta_ranks(1.0, 0.0, 10_000)).uniform()
    narrow = rank_uniformity(beta_ranks(0.9, 0.0, 10_000))
    assert not narrow.uniform()
    assert narrow.narrowness == pytest.approx(0.9, abs=0.03)
    assert not rank_uniformity(beta_ranks(1.1, 0.0, 10_000)).uniform()
    assert not rank_uniformity(beta_ranks(0.75, 0.0, 2_000)).uniform()
    assert not rank_uniformity(beta_ranks(1.0, 0.1, 10_000)).uniform()
    with pytest.raises(dc.QueryError, match="must lie in"):
        rank_uniformity([1.2])


def geweke(extra_prior: float) -> float:
    """Beta-Bernoulli with n = 5; the sampler is exact for prior (1 + extra_prior, 1)."""
    result = joint_distribution_test(
        prior=lambda rng: rng.beta(1, 1),
        data=lambda theta, rng: rng.binomial(5, theta),
        sampler=lambda _, k, rng: rng.beta(1 + extra_prior + k, 1 + 5 - k),
        features=lambda theta, k: np.array([theta, float(k), theta * k]),
        draws=4000,
        rng=np.random.default_rng(1),
    )
    return result.largest


def test_joint_distribution_test_accepts_the_exact_sampler_and_catches_a_wrong_prior() -> None:
    assert geweke(0.0) < 4.0
    assert geweke(0.5) > 4.0


def test_a_check_without_a_planted_bug_is_refused() -> None:
    with pytest.raises(dc.QueryError, match="at least one planted bug"):
        check("nothing", subject=lambda: 1, planted={})


def test_a_check_that_cannot_fail_is_a_failure() -> None:
    blind = Check("blind", lambda _: True, lambda: 1, {"bug": lambda: 2})
    assert run_check(blind) == {"shipped": True, "bug": False}


def test_registered_checks_pass_and_their_bugs_turn_them_red() -> None:
    import discreet.auditing.shipped_claims  # noqa: F401 - registers

    assert CHECKS
    for registered in CHECKS.values():
        outcome = run_check(registered)
        assert all(outcome.values()), f"{registered.name}: {outcome}"


AUDITED = [
    (NoisyStatistics(epsilon=1.0), 1.0, 0.0),
    (NoisyStatistics(rho=0.5), dc.ZCDP(0.5).epsilon(0.1), 0.1),
]
SCHEMA = dc.Schema({"x": dc.Categorical(["a", "b", "c"]), "y": dc.Binary()}, n=4)


def test_worst_pair_attains_the_sensitivity_and_replay_sees_it() -> None:
    model = dc.NaiveBayes("x", ("y",))
    query = model.query(SCHEMA)
    pair = worst_pair(query)
    assert pair.moved == (query.l1, query.squared_l2)
    value, other = replay(NoisyStatistics(epsilon=0.1), query, pair.dataset, pair.neighbour)
    assert distance(query, value, other) == (query.l1, query.squared_l2)


def test_replay_sees_the_same_distance_in_units_of_sums() -> None:
    """Sums of large units: the same noise on both tables leaves exactly what the row did."""
    schema = dc.Schema({"a": dc.Bounded(-1, 1000), "b": dc.Count(7), "x": dc.Categorical(["u", "v"])}, n=4)
    statistics = (Sum.of(schema, "a in x", "a", within="x"), Sum.of(schema, "a * b", "a", "b", bits=12))
    query = Statistics(schema, statistics)
    pair = worst_pair(query)
    value, other = replay(NoisyStatistics(epsilon=0.1), query, pair.dataset, pair.neighbour)
    assert distance(query, value, other) == pair.moved
    assert pair.moved[0] == query.l1 == 4


@pytest.mark.parametrize(
    ("factor", "caught"), [(Fraction(1), False), (Fraction(1, 2), True)], ids=["shipped", "sensitivity halved"]
)
@pytest.mark.parametrize(("mechanism", "claim", "delta"), AUDITED, ids=["laplace", "gaussian"])
def test_an_attack_on_sums_catches_a_halved_sensitivity(
    mechanism: NoisyStatistics, claim: float, delta: float, factor: Fraction, caught: bool
) -> None:
    """99.9% bounds, 4,000 runs a side, fixed seed: at delta = 0.1 all of thirty other seeds see Gaussian noise halved."""
    schema = dc.Schema({"a": dc.Bounded(-1, 1000)}, relation="add-remove", n_max=4)
    query = Statistics(schema, (Sum.of(schema, "a", "a"),))
    declared = RowMove(2 * factor, factor, 4 * factor**2, factor**2)
    pair = worst_pair(replace(query, joint=declared))
    found = attack_pair(mechanism, pair, noise=SeededNoise(31), runs=4000, delta=delta)
    assert (found.epsilon > claim) == caught
    assert found.epsilon > 0.25 * claim


@pytest.mark.parametrize(
    ("model", "mechanism", "claim"),
    [
        (dc.BetaBernoulli("y"), dc.NoisyStatistics(epsilon=1.0), 1.0),
        (dc.DirichletCategorical("x"), dc.NoisyStatistics(epsilon=1.0), 1.0),
        (dc.BetaBernoulli("y"), dc.PosteriorSample(epsilon=4.0, truncation=0.1), 4.0),
    ],
    ids=["count", "table", "draw"],
)
def test_audited_loss_is_below_the_claim(model, mechanism, claim: float) -> None:
    found = dc.audit(model, mechanism, schema=SCHEMA, runs=2000, seed=6)
    assert 0.1 < found.epsilon <= claim


def test_beta_quantiles_used_by_the_bounds_match_another_library() -> None:
    assert clopper_pearson(7, 20, 0.025)[0] == pytest.approx(beta.ppf(0.025, 7, 14))
