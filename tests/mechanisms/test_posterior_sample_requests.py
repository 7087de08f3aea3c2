"""PosteriorSample as a request: what is refused before anything is reserved, recipes, excluded rows, and huge tables."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.queries.statistics import Statistics
from discreet.sources import CodedRows, Dataset

SCHEMA = dc.Schema(
    {
        "x": dc.Binary(),
        "w": dc.Categorical(["a", "b", "c"]),
        "age": dc.Bounded(0, 100),
        "visits": dc.Count(10),
        "wait": dc.Bounded(0, 5),
    },
    n=20,
)
MODELS = {
    "Beta": dc.BetaBernoulli("x"),
    "vector": dc.DirichletCategorical("w"),
    "query": dc.StatisticalQuery("age"),
    "tables": dc.NaiveBayes("x", ("w",)),
    "mean": dc.NormalMean("age", sd=20.0),
    "counts": dc.GammaPoisson("visits"),
    "times": dc.GammaExponential("wait"),
}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Beta", {}, r"PosteriorSample\.truncation must be given for probabilities, got nothing"),
        ("query", {}, r"PosteriorSample\.truncation must be given"),
        (
            "tables",
            {"interval": (0.1, 0.9)},
            r"PosteriorSample\.interval must be left out for probabilities, got \(0.1",
        ),
        ("Beta", {"truncation": 0.1, "interval": (0.1, 0.9)}, r"PosteriorSample\.interval must be left out"),
        ("mean", {}, r"PosteriorSample\.interval must be given for a mean, got nothing"),
        ("counts", {"truncation": 0.1}, r"PosteriorSample\.truncation must be left out for a rate, got 0\.1"),
        (
            "times",
            {"interval": (0.0, 1.0)},
            r"PosteriorSample\.interval must be above 0 for a rate, got \(0\.0, 1\.0\)",
        ),
        ("counts", {"interval": (-1.0, 1.0)}, r"PosteriorSample\.interval must be above 0"),
        ("mean", {"interval": (-1e308, 1e308)}, r"PosteriorSample\.interval must bound the likelihood"),
        ("tables", {"truncation": {"class": 0.1}}, r"PosteriorSample\.truncation must name \['class', 'w'\], got"),
        ("tables", {"truncation": {"class": 0.1, "w": 0.1, "y": 0.1}}, r"PosteriorSample\.truncation must name"),
        ("tables", {"truncation": {"class": 0.1, "w": 0.4}}, r"PosteriorSample\.truncation must be below 1/3 for 3"),
        ("tables", {"truncation": 0.34}, r"PosteriorSample\.truncation must be below 1/3 for 3 levels, got 0\.34"),
        ("vector", {"truncation": 0.1, "arithmetic": "exact"}, r'PosteriorSample\.arithmetic must be "double" for vec'),
        ("tables", {"truncation": 0.1, "arithmetic": "exact"}, r'PosteriorSample\.arithmetic must be "double" for vec'),
        ("Beta", {"truncation": 0.1, "arithmetic": "exact", "grid": 2.0**-30}, r"PosteriorSample\.grid must be from 1"),
        ("Beta", {"truncation": 0.1, "grid": 0.5}, r"PosteriorSample\.grid must be from .* to 0\.4, half"),
        ("mean", {"interval": (1e9, 1e9 + 1e-3), "arithmetic": "exact"}, r"PosteriorSample\.grid must be from"),
        ("Beta", {"truncation": 0.1, "arithmetic": "exact", "epsilon": 1e-10}, r"PosteriorSample\.epsilon must be at"),
    ],
)
def test_the_wrong_declaration_is_refused_before_anything_is_reserved(
    name: str, arguments: dict[str, Any], message: str, tmp_path
) -> None:
    frame = pd.DataFrame({"x": [0, 1] * 10, "w": ["a", "b"] * 10, "age": 5.0, "visits": 3, "wait": 1.0})
    data = dc.open(frame, SCHEMA, id="toy")
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=10.0))
    with pytest.raises(dc.QueryError, match=message):
        dc.release(MODELS[name], data, dc.PosteriorSample(**{"epsilon": 1.0, **arguments}), ledger)
    assert list(ledger.entries()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"truncation": True},
        {"truncation": {"a": 0.0}},
        {"truncation": "0.1"},
        {"truncation": 1e-13},
        {"truncation": {"a": 0.1, "b": 1e-17}},
        {"interval": (1.0, 1.0)},
        {"interval": (2.0, 1.0)},
        {"interval": (0.0, math.inf)},
        {"interval": (0.0, math.nan)},
        {"interval": (False, True)},
        {"interval": 3.0},
        {"interval": (1.0, 2.0, 3.0)},
        {"tempering": "prior"},
        {"arithmetic": "float"},
        {"grid": -1.0},
    ],
)
def test_arguments_of_a_wrong_kind_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(dc.GuaranteeError, match=rf"PosteriorSample\.{next(iter(arguments))} must be"):
        dc.PosteriorSample(epsilon=1.0, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Beta", {"truncation": 0.1, "arithmetic": "exact", "tempering": "natural"}),
        ("query", {"truncation": 0.1, "arithmetic": "exact"}),
        ("tables", {"truncation": {"w": 0.1, "class": 0.2}, "draws": 2}),
        ("mean", {"interval": [10, 90], "arithmetic": "exact", "draws": 3}),
        ("counts", {"interval": (0.5, 10.0), "tempering": "likelihood"}),
        ("times", {"interval": (0.1, 4.0)}),
    ],
)
def test_releases_are_saved_and_read_back(name: str, arguments: dict[str, Any], tmp_path) -> None:
    frame = pd.DataFrame({"x": [0, 1] * 10, "w": ["a", "b"] * 10, "age": 55.0, "visits": 3, "wait": 1.0})
    data, mechanism = dc.open(frame, SCHEMA, id="toy"), dc.PosteriorSample(epsilon=1.0, **arguments)
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=10.0))
    release = dc.release(MODELS[name], data, mechanism, ledger)
    release.save(tmp_path / "r.json")
    loaded = dc.load(tmp_path / "r.json")
    assert loaded.mechanism == mechanism
    assert hash(loaded.mechanism) == hash(mechanism)
    assert loaded.guarantee == release.guarantee
    assert all(np.array_equal(loaded.value[key], array) for key, array in release.value.items())
    assert str(loaded.posterior())
    json.dumps(release.to_json())
    again = dc.release(MODELS[name], data, mechanism, ledger)  # the same request: answered from the ledger, free
    assert again.entry == release.entry
    exact = arguments.get("arithmetic") == "exact"
    assert ("nothing is idealised" in str(release.guarantee)) == exact
    assert ("double precision" in str(release.guarantee)) == (not exact)


def test_default_grids_follow_the_size_of_the_numbers() -> None:
    for name, declared, grid in (
        ("Beta", {"truncation": 0.1}, 2.0**-34),
        ("tables", {"truncation": 0.1}, 2.0**-34),
        ("counts", {"interval": (0.5, 4.0)}, 2.0**-32),
        ("mean", {"interval": (-100.0, 10.0)}, 2.0**-19),
        ("mean", {"interval": (-1e-7, 1e-8)}, 2.0**-48),
        ("mean", {"interval": (-100.0, 10.0), "arithmetic": "exact"}, 2.0**-10),
    ):
        guarantee = dc.PosteriorSample(epsilon=1.0, **declared).guarantee(MODELS[name].query(SCHEMA))
        assert f"multiples of {grid:g}" in guarantee.basis.sampler


def test_the_order_in_which_tables_are_named_is_no_other_request() -> None:
    one = dc.PosteriorSample(epsilon=1, truncation={"a": 0.1, "b": 0.2})
    other = dc.PosteriorSample(epsilon=1.0, truncation={"b": 0.2, "a": 0.1})
    assert one == other
    assert hash(one) == hash(other)
    assert dc.PosteriorSample(epsilon=1, interval=[1, 2]) == dc.PosteriorSample(epsilon=1, interval=(1.0, 2.0))


def test_rows_may_be_excluded_from_counts_but_not_from_sums() -> None:
    schema = dc.Schema(
        {
            "x": dc.Binary(missing="exclude"),
            "w": dc.Binary(missing="exclude"),
            "age": dc.Bounded(0, 9, missing="exclude"),
        },
        n=5,
    )
    rows = Dataset("d", schema, CodedRows({"x": np.array([0, 1, -1, 1, 0]), "w": np.array([0, 1, 1, -1, 0])}))
    for model, more in (
        (dc.BetaBernoulli("x"), {"arithmetic": "exact"}),
        (dc.BetaBernoulli("x"), {}),
        (dc.NaiveBayes("x", ("w",)), {}),
    ):
        mechanism = dc.PosteriorSample(epsilon=1.0, truncation=0.1, **more)
        query = model.query(schema)
        assert mechanism.guarantee(query).epsilon(0.0) == 1.0
        value = mechanism.apply(SeededNoise(1), query, rows)
        assert all(0.1 - 1e-9 <= array.min() <= array.max() <= 0.9 + 1e-9 for array in value.values())
    with pytest.raises(dc.QueryError, match="a public number of rows"):
        dc.PosteriorSample(epsilon=1.0, truncation=0.1).guarantee(dc.StatisticalQuery("age").query(schema))


class Exact:
    """A source of given statistics: no table of a billion rows is made."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def count(self) -> int:
        return 10**9

    def statistics(self, query: Statistics) -> dict[str, Any]:
        return {name: np.asarray(self.answers[name]) for name in query.names}


N = 10**9
HUGE = {
    "no ones": ("Beta", {"truncation": 0.05}, [N, 0], lambda t: (0.05 + t * 0.05 * 0.95 / N / 0.9, None)),
    "half": ("Beta", {"truncation": 0.05}, [N // 2, N // 2], lambda t: (0.5, math.sqrt(0.25 * t / N))),
    "all ones": ("Beta", {"truncation": 0.05}, [0, N], lambda t: (0.95, None)),
    "mean": ("mean", {"interval": (0.0, 100.0)}, 0, lambda t: (50.0, 20.0 * math.sqrt(t / N))),
    "counts": ("large", {"interval": (500.0, 2000.0)}, 0, lambda t: (1000.0, math.sqrt(1000.0 * t / N))),
    "times": ("times", {"interval": (0.1, 2.0)}, 0, lambda t: (1 / 2.5, math.sqrt(t / N) / 2.5)),
}


@pytest.mark.parametrize("arithmetic", ["double", "exact"])
@pytest.mark.parametrize("name", sorted(HUGE))
def test_a_billion_rows_give_draws_around_the_data(name: str, arithmetic: str) -> None:
    """400 draws: mean within 5 standard errors (and a grid step) of the limit law, deviation within 20%."""
    kind, declared, statistic, limit = HUGE[name]
    schema = dc.Schema({**SCHEMA.columns, "events": dc.Count(2000)}, n=N)
    model = dc.GammaPoisson("events") if kind == "large" else MODELS[kind]
    mechanism = dc.PosteriorSample(epsilon=1.0, **declared, arithmetic=arithmetic, draws=400)
    query = model.query(schema)
    source = Exact(dict.fromkeys(query.names, np.asarray(statistic, dtype=object)))
    (sample,) = mechanism.apply(SeededNoise(6), query, Dataset("d", schema, source)).values()
    mean, sd = limit(mechanism.temperature(query))
    low, high = declared.get("interval", (0.05, 0.95))
    assert np.all((low - 1e-9 <= sample) & (sample <= high + 1e-9))
    step = mechanism._grid(query)
    if sd is None:  # an exponential law at the end of the space, narrower than the grid of exact arithmetic
        assert sample.mean() == pytest.approx(mean, abs=step + 1e-7)
        return
    assert sample.mean() == pytest.approx(mean, abs=5 * sd / 20 + step)
    assert sample.std() == pytest.approx(math.hypot(sd, step / math.sqrt(12)), rel=0.2)
