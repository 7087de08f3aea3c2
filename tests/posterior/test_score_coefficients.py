"""What a posterior given noisy scores answers, on releases that say much, little and next to nothing."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.posterior import ScoreCoefficients

N = 3000
W = {"intercept": -0.5, "x": 1.5, "g=a": -0.6, "g=b": 0.2, "g=c": 0.4}
FEATURES: dict[str, Any] = {"x": dc.Bounded(0, 10), "g": dc.Categorical(["a", "b", "c"])}


@cache
def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, g = rng.uniform(0.0, 10.0, N), rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
    margin = W["intercept"] + W["x"] * (x / 5.0 - 1.0) + np.array([W[f"g={level}"] for level in g])
    rate = np.exp(0.4 + 0.5 * (margin - W["intercept"]))
    return {
        "x": x,
        "g": g,
        "y": np.where(rng.logistic(size=N) < margin, "yes", "no"),
        "count": np.minimum(rng.poisson(rate), 12),
        "place": np.clip(50.0 + 12.0 * margin + 4.0 * rng.normal(size=N), 0.0, 100.0),
    }


@cache
def release(kind: str = "logistic", epsilon: float = 3.0, precision: float | None = None) -> dc.Release:
    target: dict[str, Any] = {
        "logistic": {"y": dc.Categorical(["no", "yes"])},
        "poisson": {"count": dc.Count(12)},
        "huber": {"place": dc.Bounded(0, 100)},
    }[kind]
    schema = dc.Schema({**FEATURES, **target})
    model = {
        "logistic": dc.LogisticRegression("y", ["x", "g"], precision=precision),
        "poisson": dc.PoissonRegression("count", ["x", "g"]),
        "huber": dc.HuberRegression("place", ["x", "g"]),
    }[kind]
    dataset = dc.open(pd.DataFrame({name: table()[name] for name in (*FEATURES, *target)}), schema, id="t")
    return dc.simulate(model, dataset, dc.NoisyScore(epsilon=epsilon, delta=1e-5), runs=1, seed=1)[0]


def posterior(kind: str = "logistic", epsilon: float = 3.0, precision: float | None = None) -> ScoreCoefficients:
    found = release(kind, epsilon, precision).posterior()
    assert isinstance(found, ScoreCoefficients)
    return found


def test_coefficients_lie_where_they_should_and_levels_sum_to_zero() -> None:
    """Within 4.5 deviations: by chance in one of 30,000 releases."""
    found = posterior()
    assert found.names == tuple(W)
    assert np.abs((found.mean() - np.array([*W.values()])) / found.sd()).max() < 4.5
    assert found.sd().max() < 0.15
    assert abs(found.mean()[2:].sum()) < 1e-3


def test_intervals_quantiles_draws_and_summary_agree() -> None:
    found = posterior()
    lower, upper = found.interval(0.9)
    np.testing.assert_allclose(lower, found.quantile(0.05))
    drawn = found.sample(20_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.quantile(drawn, 0.95, axis=0), upper, atol=0.05 * found.sd().max())
    np.testing.assert_allclose(drawn.std(axis=0), found.sd(), rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(drawn.T), found.correlations(), atol=0.05)
    assert found.summary().loc["x", "upper"] == pytest.approx(upper[1])
    assert "g=b" in str(found)
    assert found.to_datatree(100)["posterior"]["coefficients"].shape[-1] == 5


def test_odds_ratios_against_a_reference_level() -> None:
    found = posterior()
    ratios, plain = found.odds_ratios(0.999, reference={"g": "a"}), found.odds_ratios(0.999)
    assert "intercept" not in ratios
    assert ratios["g=a"] == pytest.approx({"median": 1.0, "lower": 1.0, "upper": 1.0})
    assert ratios["g=c"]["lower"] < np.exp(1.0) < ratios["g=c"]["upper"]
    assert plain["x"] == pytest.approx(ratios["x"])
    with pytest.raises(dc.QueryError, match="reference must be a level"):
        found.odds_ratios(reference={"g": "z"})
    with pytest.raises(dc.QueryError, match="reference must be of a category"):
        found.odds_ratios(reference={"x": "a"})


def test_odds_ratios_of_numbers_in_their_own_units() -> None:
    """x is declared on [0, 10]: one unit of the model's interval is 5, and odds multiply along the way."""
    found = posterior()
    plain, whole, part = found.odds_ratios(), found.odds_ratios(per={"x": 5}), found.odds_ratios(per={"x": -0.5})
    assert plain["x"] == pytest.approx(whole["x"])
    assert part["x"]["median"] == pytest.approx(plain["x"]["median"] ** -0.1)
    assert part["x"]["lower"] == pytest.approx(plain["x"]["upper"] ** -0.1)
    assert part["g=a"] == plain["g=a"]
    with pytest.raises(dc.QueryError, match="per must be of a number, got 'g'"):
        found.odds_ratios(per={"g": 1})
    with pytest.raises(dc.QueryError, match="per must be a finite number"):
        found.odds_ratios(per={"x": float("nan")})


def test_marginal_effects_are_slopes_of_the_mean() -> None:
    """Against a difference quotient of the prediction of one number, at the mean coefficients."""
    found, rows = posterior(), {"x": [2.0, 5.0, 8.0], "g": ["a", "b", "c"]}
    w = found.mean()
    x = np.array([2.0, 5.0, 8.0]) / 5.0 - 1.0

    def mean(shift: float) -> float:
        return float(np.mean(1.0 / (1.0 + np.exp(-(w[0] + w[1] * (x + shift) + w[2:])))))

    assert found.marginal_effects(rows)["x"]["mean"] == pytest.approx((mean(1e-4) - mean(-1e-4)) / 2e-4, rel=0.03)


def test_predictions_are_averages_and_read_levels() -> None:
    found, rows = posterior(), {"x": [0.0, 10.0], "g": ["a", "c"]}
    proba = found.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    truth = 1.0 / (1.0 + np.exp(-np.array([-2.6, 1.4])))
    np.testing.assert_allclose(proba[:, 1], truth, atol=0.05)
    assert [*found.predict(rows)] == ["no", "yes"]
    assert [*found.predicted_columns(rows)] == ["prediction", "probability"]


def test_two_beliefs_agree_where_the_scores_are_clear() -> None:
    """Without a declared prior predictions come from the filter's belief: next to that under a wide declared prior."""
    rows = {"x": [1.0, 4.0, 9.0], "g": ["a", "b", "c"]}
    wide = release().posterior(prior=1e-3).predict_proba(rows)
    np.testing.assert_allclose(posterior().predict_proba(rows), wide, atol=0.03)


def test_counts_and_places_are_predicted_in_their_own_units() -> None:
    rows = {"x": [1.0, 9.0], "g": ["a", "c"]}
    margin = np.array([-1.2 - 0.6, 1.2 + 0.4])
    np.testing.assert_allclose(posterior("poisson", 5.0).predict(rows), np.exp(0.4 + 0.5 * margin), rtol=0.25)
    np.testing.assert_allclose(posterior("huber", 5.0).predict(rows), 50.0 + 12.0 * (margin - 0.5), atol=4.0)
    with pytest.raises(dc.QueryError, match="must have a logistic model"):
        posterior("poisson", 5.0).predict_proba(rows)


def test_another_prior_reads_the_release_again_and_evidence_tells_them_apart() -> None:
    strong, fair = release().posterior(prior=1000.0), release().posterior(prior=1.0)
    assert np.abs(strong.mean()).max() < 0.4 < 1.2 < np.abs(fair.mean()).max()
    assert fair.log_evidence() > strong.log_evidence() + 5.0
    declared = posterior(precision=1000.0)
    np.testing.assert_allclose(declared.sd(), strong.sd(), rtol=0.2)


def test_next_to_no_information_returns_to_the_prior_and_says_so() -> None:
    found = posterior(epsilon=0.005)
    assert "noisy counts of the target" in str(found)
    assert "return to the prior" in str(found)
    assert found.sd()[1] > 1.2
    proba = found.predict_proba({"x": [0.0, 10.0], "g": ["a", "c"]})[:, 1]
    assert np.abs(proba - proba.mean()).max() < 0.05  # features say nothing


def test_too_little_information_is_spent_on_counts_of_the_target() -> None:
    """At the point 0 a record adds p0 (1/2 - y) and next to nothing else; the whole release is worth such a count.

    The first count is further than 4.5 deviations off by chance in one of 100,000 releases. Of all steps together the
    noise is that of one count with the scores' share of the budget; where features are asked for it is not.
    """
    for epsilon, spent in ((0.005, True), (3.0, False)):
        evidence, paid = posterior(epsilon=epsilon).evidence, dc.NoisyScore(epsilon=epsilon, delta=1e-5).total
        assert evidence.terms.counts_only(N) == spent
        reach = np.abs(evidence.walk.map).sum(axis=1)
        worth = evidence.walk.map[0, 0]
        noise = evidence.terms.scores_sd / worth
        told = N / 2.0 - float((table()["y"] == "yes").sum())
        assert abs(evidence.scores[0, 0] / worth - told) < 4.5 * noise
        assert (reach[1:].max() < 0.01 * worth) == spent
        assert (noise / np.sqrt(evidence.terms.steps) < 1.05 / np.sqrt(2.0 * 0.92 * paid)) == spent


def test_it_has_no_law_of_features() -> None:
    with pytest.raises(dc.QueryError, match="must have a law of records"):
        posterior().simulate(3)
