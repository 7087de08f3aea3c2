"""Every registered model with every registered mechanism that fits it: what a test of "all pairs" walks over.

A model or mechanism that is registered must get an example here (`test_every_pair.py` says so); which of them fit each
other is asked of the mechanisms themselves, by their guarantee.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

import discreet as dc
from discreet.pipeline import query_of

COLUMNS = {
    "smoker": dc.Binary(),
    "ward": dc.Categorical(["A", "B", "C"]),
    "stage": dc.Categorical(["1", "2"]),
    "age": dc.Bounded(0, 100),
    "pressure": dc.Bounded(80, 200),
    "wait": dc.Bounded(0, 8),
    "visits": dc.Count(10),
    "month": dc.Categorical(["Jan", "Feb", "Mar"]),
}

ROWS = 24

MODELS: dict[str, tuple[Any, ...]] = {
    "BadCells": (dc.BadCells(("age", "ward")),),
    "BayesianNetwork": (dc.BayesianNetwork({"ward": (), "stage": ("ward",)}),),
    "BetaBernoulli": (dc.BetaBernoulli("smoker", prior=(6.0, 12.0)),),
    "BinomialRegression": (dc.BinomialRegression("visits", ("age", "ward")),),
    "ConvexLoss": (
        dc.ConvexLoss("smoker", ("age", "ward")),
        dc.ConvexLoss("smoker", ("age", "ward"), slope="tanh(t) - y", bound=2.0, mean="tanh(t)"),
    ),
    "DirichletCategorical": (dc.DirichletCategorical("ward", prior=6.0),),
    "EventLogHMM": (dc.EventLogHMM("ward", "month", ("stage",), states=2),),
    "GammaExponential": (dc.GammaExponential("wait", prior=(6.0, 12.0)),),
    "GammaPoisson": (dc.GammaPoisson("visits", prior=(6.0, 2.0)),),
    "HeldOutScores": (dc.HeldOutScores("smoker", "ward"),),
    "HingeClassifier": (dc.HingeClassifier("smoker", ("age",)), dc.HingeClassifier("smoker", ("age",), width=0.0)),
    "HuberRegression": (dc.HuberRegression("pressure", ("age",)),),
    "LinearRegression": (dc.LinearRegression("pressure", ("age", "ward")),),
    "LogisticRegression": (dc.LogisticRegression("smoker", ("age", "ward")),),
    "MultivariateNormal": (dc.MultivariateNormal(("age", "pressure")),),
    "NaiveBayes": (dc.NaiveBayes("smoker", ("ward", "stage")),),
    "Normal": (dc.Normal("age"),),
    "NormalMean": (dc.NormalMean("age", sd=20.0),),
    "PoissonRegression": (dc.PoissonRegression("visits", ("age",)),),
    "QuadraticMean": (dc.QuadraticMean(("age", "pressure")),),
    "StatisticalQuery": (dc.StatisticalQuery("age", prior=(6.0, 12.0)),),
}

# the declared space of a parameter: a probability, a rate, a mean of ages
SPACES: tuple[dict[str, Any], ...] = ({"truncation": 0.05}, {"interval": (0.5, 6.0)}, {"interval": (10.0, 90.0)})

MECHANISMS: dict[str, tuple[Any, ...]] = {
    "ConcentratedSample": (
        dc.ConcentratedSample(epsilon=1.0, delta=1e-5, draws=2),
        dc.ConcentratedSample(epsilon=1.0, order=2.0),
    ),
    "DiffusedSample": (
        dc.DiffusedSample(epsilon=1.0, delta=1e-5, draws=2),
        dc.DiffusedSample(epsilon=1.0, order=2.0),
    ),
    "DirectSample": (dc.DirectSample(),),
    "GibbsPosterior": (
        dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=50),
        dc.GibbsPosterior(epsilon=1.0, delta=1e-5, sampler="exact"),
    ),
    "NoisyScore": (
        dc.NoisyScore(epsilon=1.0, delta=1e-5, steps=4),
        dc.NoisyScore(rho=0.5, steps=2, shares=(1.0, 1.0, 2.0)),
    ),
    "NoisyStatistics": (
        dc.NoisyStatistics(epsilon=0.5),
        dc.NoisyStatistics(rho=0.1),
        dc.NoisyStatistics(epsilon=1.0, delta=1e-5),
    ),
    "PosteriorSample": tuple(dc.PosteriorSample(epsilon=0.5, **space) for space in SPACES),
    "PrivateAnnealing": (dc.PrivateAnnealing(epsilons=(0.1, 0.2), particles=2),),
    "PrivateGibbs": (dc.PrivateGibbs(epsilon_per_update=0.2, sweeps=4),),
    "PrivateMetropolis": tuple(dc.PrivateMetropolis(epsilon_per_step=0.1, steps=6, **space) for space in SPACES),
}


class Pair(NamedTuple):
    """A model and a mechanism that fit, and a small table they can be asked of."""

    name: str
    model: Any
    mechanism: Any
    schema: dc.Schema
    table: pd.DataFrame

    def dataset(self) -> dc.Dataset:
        """The table, opened."""
        return dc.open(self.table, self.schema, id="pairs")


def small_table(rows: int = ROWS) -> pd.DataFrame:
    """Every declared level and ordinary numbers; a formula, so that it never changes."""
    i = range(rows)
    return pd.DataFrame(
        {
            "smoker": [k * k % 5 % 2 for k in i],
            "ward": ["ABC"[k * k % 3 - (k % 7 == 0)] for k in i],
            "stage": ["12"[k % 3 % 2] for k in i],
            "age": [20.0 + 37 * k % 60 for k in i],
            "pressure": [110.0 + 23 * k % 55 for k in i],
            "wait": [0.25 * (1 + 7 * k % 19) for k in i],
            "visits": [3 * k % 8 for k in i],
            "month": [("Jan", "Feb", "Mar")[k * 5 % 3] for k in i],
        }
    )


def valid_pairs() -> Iterator[Pair]:
    """Every pair that fits, examples of one pair numbered from the second on ("… 2")."""
    schema, table = dc.Schema(COLUMNS, n=ROWS), small_table()
    for name, model, mechanism in _fitting():
        yield Pair(name, model, mechanism, schema, table)


def one_per_pair() -> list[Pair]:
    """The first example of every pair of registered names."""
    return [pair for pair in valid_pairs() if not pair.name.rpartition(" ")[2].isdigit()]


@cache
def _fitting() -> tuple[tuple[str, Any, Any], ...]:
    schema, found = dc.Schema(COLUMNS, n=ROWS), []
    for model_name, models in MODELS.items():
        for mechanism_name, mechanisms in MECHANISMS.items():
            fits = [
                (model, mechanism) for model in models for mechanism in mechanisms if _fits(model, mechanism, schema)
            ]
            for number, (model, mechanism) in enumerate(fits, start=1):
                name = f"{model_name} by {mechanism_name}" + ("" if number == 1 else f" {number}")
                found.append((name, model, mechanism))
    return tuple(found)


def _fits(model: Any, mechanism: Any, schema: dc.Schema) -> bool:
    try:
        query = query_of(model, mechanism, schema)
        mechanism.guarantee(query)
        mechanism.shapes(query)
    except (dc.QueryError, dc.GuaranteeError):
        return False
    return True
