"""Small simulated releases of every kind of page, made with fixed seeds: nothing here is private."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from discreet.release import Release

ROWS = 400
HOSTILE = ["<script>alert(1)</script>", "\u202egnp.exe", "x" * 10_000, "\"'&<b>{{}}", "</style><img src=http://a.b/c>"]


def table(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.uniform(20, 80, rows)
    ward = rng.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2])
    smoker = (rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 15))).astype(int)
    month = rng.choice(["Jan", "Feb", "Mar"], rows)
    return pd.DataFrame(
        {
            "smoker": smoker,
            "ward": ward,
            "age": age,
            "pressure": 90 + 0.6 * age + 5 * (ward == "B") + rng.normal(0, 8, rows),
            "visits": rng.poisson(2, rows).clip(0, 10),
            "month": month,
            "stage": np.where((month == "Jan") & (ward != "C"), "1", "2"),
        }
    )


SCHEMA = dc.Schema(
    {
        "smoker": dc.Binary(),
        "ward": dc.Categorical(["A", "B", "C"]),
        "age": dc.Bounded(0, 100),
        "pressure": dc.Bounded(80, 200),
        "visits": dc.Count(10),
        "month": dc.Categorical(["Jan", "Feb", "Mar"]),
        "stage": dc.Categorical(["1", "2"]),
    },
    n=ROWS,
)

MODELS: dict[str, tuple[Any, Any]] = {
    "probability": (dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=1.0)),
    "draws": (dc.DirichletCategorical("ward"), dc.PosteriorSample(epsilon=1.0, truncation=0.05)),
    "groups": (dc.GammaPoisson("visits", prior=(2.0, 1.0), by="ward"), dc.NoisyStatistics(rho=0.5)),
    "regression": (dc.LinearRegression("pressure", ("age", "ward")), dc.NoisyStatistics(epsilon=4.0)),
    "logistic": (dc.LogisticRegression("smoker", ("age", "ward")), dc.NoisyScore(epsilon=4.0, delta=1e-5, steps=4)),
    "naive-bayes": (dc.NaiveBayes("smoker", ("ward", "stage")), dc.NoisyStatistics(epsilon=2.0)),
    "network": (dc.BayesianNetwork({"ward": (), "stage": ("ward",)}), dc.NoisyStatistics(epsilon=2.0)),
    "event-log": (dc.EventLogHMM("ward", "month", ("stage",), states=2), dc.NoisyStatistics(epsilon=4.0)),
}


@cache
def made(kind: str) -> Release:
    """A release of this kind."""
    model, mechanism = MODELS[kind]
    (found,) = dc.simulate(model, dc.open(table(), SCHEMA, id="made-up"), mechanism, runs=1, seed=11)
    return found


@cache
def page(kind: str) -> str:
    """Its report."""
    return dc.report({kind: made(kind)})


@cache
def hostile() -> tuple[Release, ...]:
    """Releases whose columns, levels, dataset and label are what an attacker would choose."""
    levels = [*HOSTILE, "plain"]
    frame = pd.DataFrame({HOSTILE[0]: levels * 10, HOSTILE[1]: [0, 1] * 30})
    schema = dc.Schema({HOSTILE[0]: dc.Categorical(levels), HOSTILE[1]: dc.Binary()}, n=60)
    data = dc.open(frame, schema, id=HOSTILE[3])
    models = (dc.DirichletCategorical(HOSTILE[0]), dc.BetaBernoulli(HOSTILE[1], by=HOSTILE[0]))
    mechanism = dc.NoisyStatistics(epsilon=1.0, label=HOSTILE[4])
    return tuple(dc.simulate(model, data, mechanism, runs=1, seed=1)[0] for model in models)
