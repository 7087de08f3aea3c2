"""The width that a plan promises is the width that releases have: of every model, and of resampled columns of real tables.

A plan is of 200 simulated tables (fewer for event logs), the check of 1,000 others, with another seed. Where widths of
one release vary over the prior as much as their mean, as those of coefficients do, the two differ by more than a tenth
by chance alone: the tolerance is a tenth, or three deviations of that chance, and both are printed. Of a real column
shares and means are held to a quarter; the width of a variance depends on the tails, of which a plan knows nothing.
Widths that were asked for, and found, are held to a tenth in `test_wanted_width.py`.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS
from discreet.planning import plans

DATA = Path(__file__).parents[3] / "shared" / "data"
N, RELEASES, SEED = 400, 1000, 987_654
COLUMNS = {
    "smoker": dc.Binary(),
    "ward": dc.Categorical(["A", "B", "C"]),
    "stage": dc.Categorical(["1", "2"]),
    "age": dc.Bounded(0, 100),
    "pressure": dc.Bounded(80, 200),
    "visits": dc.Count(10),
    "month": dc.Categorical(["Jan", "Feb", "Mar", "Apr"]),
}
STATISTICS = dc.NoisyStatistics(epsilon=1.0)
SCORES = dc.NoisyScore(epsilon=1.0, delta=1e-6)

# model and mechanism; releases, where a chain or a search makes a thousand of them a matter of hours
CASES: dict[str, tuple[Any, Any, int]] = {
    "BadCells": (dc.BadCells(("age", "ward")), STATISTICS, RELEASES),
    "BayesianNetwork": (dc.BayesianNetwork({"ward": (), "stage": ("ward",)}), STATISTICS, RELEASES),
    "BinomialRegression": (dc.BinomialRegression("visits", ("age",)), SCORES, RELEASES),
    "HuberRegression": (dc.HuberRegression("pressure", ("age",)), SCORES, RELEASES),
    "LinearRegression": (dc.LinearRegression("pressure", ("age",)), STATISTICS, RELEASES),
    "LogisticRegression": (dc.LogisticRegression("smoker", ("age",)), SCORES, RELEASES),
    "MultivariateNormal": (dc.MultivariateNormal(("age", "pressure")), STATISTICS, RELEASES),
    "NaiveBayes": (dc.NaiveBayes("smoker", ("ward", "stage")), STATISTICS, RELEASES),
    "Normal": (dc.Normal("age"), STATISTICS, RELEASES),
    "PoissonRegression": (dc.PoissonRegression("visits", ("age",)), SCORES, RELEASES),
    "StatisticalQuery": (dc.StatisticalQuery("age", prior=(6.0, 12.0)), STATISTICS, RELEASES),
    "EventLogHMM": (dc.EventLogHMM("ward", "month", ("stage",), states=2), STATISTICS, 200),
}
SHOWN_BY_ASKED_WIDTHS = {"BetaBernoulli", "DirichletCategorical", "GammaExponential", "GammaPoisson", "NormalMean"}
NO_INTERVAL = {"ConvexLoss", "HingeClassifier", "QuadraticMean"}  # of their draws; a formula is what the others are
COUNTS = {"HeldOutScores"}  # of label by score bin: those of categories


def widths(releases: Any) -> dict[str, list[float]]:
    """The mean width of the 90% intervals by parameter, over its coordinates, for every release."""
    found: dict[str, list[float]] = {}
    for made in releases:
        bounds = made.posterior().interval(0.9)
        named = bounds if isinstance(bounds, dict) else {"": bounds}
        for name, (lower, upper) in named.items():
            found.setdefault(name, []).append(float(np.mean(np.subtract(upper, lower))))
    return found


def differences(
    name: str, model: Any, mechanism: Any, schema: dc.Schema, releases: Any
) -> dict[str, tuple[float, float]]:
    """Promised over found, less 1, for every parameter, and three deviations of that by chance alone; printed."""
    made, found = dc.plan(model, mechanism, schema=schema), widths(releases)
    promised = made.width
    assert promised is not None
    if len(promised) == 1:
        (named,), promised = found, {next(iter(found)): next(iter(promised.values()))}
        assert named in found
    assert promised.keys() <= found.keys(), (promised, found)
    told = {}
    for key, width in promised.items():
        mean, spread = float(np.mean(found[key])), float(np.std(found[key]))
        chance = 3.0 * spread / mean * (1.0 / made.runs + 1.0 / len(found[key])) ** 0.5
        told[key] = (width / mean - 1.0, chance)
        print(
            f"{name:<22}{key:<14}promised {width:<10.4g}found {mean:<10.4g}{told[key][0]:+.1%}, by chance {chance:.1%}"
        )
    return told


def test_every_model_is_held_to_its_plan_somewhere() -> None:
    assert set(CASES) | SHOWN_BY_ASKED_WIDTHS | NO_INTERVAL | COUNTS == set(MODELS)
    assert "NoisyScore" in MECHANISMS


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_within_a_tenth_of_a_thousand_releases(name: str) -> None:
    model, mechanism, runs = CASES[name]
    schema = dc.Schema(COLUMNS, n=N)
    releases = dc.simulate(model, None, mechanism, runs=runs, seed=SEED, n=N, schema=schema)
    for key, (difference, chance) in differences(name, model, mechanism, schema, releases).items():
        assert abs(difference) <= max(0.1, chance), key


def test_a_plan_of_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = plans.simulated_runs
    monkeypatch.setattr(
        plans, "simulated_runs", lambda model, made, *rest: right(model, made.at(2 * made.epsilon), *rest)
    )
    model, mechanism, schema = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.1), dc.Schema(COLUMNS, n=N)
    releases = dc.simulate(model, None, mechanism, runs=100, seed=SEED, n=N, schema=schema)
    ((difference, _),) = differences("half", model, mechanism, schema, releases).values()
    assert difference < -0.1


REAL: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "abalone sex": (
        "abalone.csv",
        dc.DirichletCategorical("sex"),
        STATISTICS,
        {"sex": dc.Categorical(["M", "I", "F"])},
    ),
    "abalone length": ("abalone.csv", dc.Normal("length"), STATISTICS, {"length": dc.Bounded(0, 1)}),
    "adult income": (
        "adult_train.parquet",
        dc.BetaBernoulli("income"),
        STATISTICS,
        {"income": dc.Binary(zero="<=50K", one=">50K")},
    ),
}


@pytest.mark.audit
@pytest.mark.parametrize("name", REAL)
def test_a_plan_is_within_a_quarter_of_releases_of_a_real_column(name: str) -> None:
    """300 tables of 400 rows, drawn with replacement from a real column that the plan knows nothing of."""
    file, model, mechanism, columns = REAL[name]
    if not (DATA / file).exists():
        if os.environ.get("DISCREET_REQUIRE_DATA"):
            pytest.fail("shared data must be present, got a skip where they were required")
        pytest.skip("shared data are absent")
    whole = pd.read_csv(DATA / file) if file.endswith(".csv") else pd.read_parquet(DATA / file)
    (column,) = columns
    cells, rng = whole[column], np.random.default_rng(SEED)
    schema = dc.Schema(columns, n=N)

    def releases() -> Any:
        for seed in range(300):
            frame = pd.DataFrame({column: cells.sample(N, replace=True, random_state=rng)})
            yield from dc.simulate(model, dc.open(frame, schema, id="resampled"), mechanism, runs=1, seed=seed)

    told = differences(name, model, mechanism, schema, releases())
    assert {
        key: difference for key, (difference, _) in told.items() if key != "variance" and abs(difference) > 0.25
    } == {}
