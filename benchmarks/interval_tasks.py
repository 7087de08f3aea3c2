"""Questions of the league of intervals: a public table is the population, records are drawn from it with replacement.

What is asked for is the population's own value of a declared column: a share, a mean, least-squares coefficients.
Bounds are public or domain knowledge.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import discreet as dc
from benchmarks.tables import DATA

__all__ = ["Question", "Released", "questions"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """One release in the columns' own half-ranges: noisy sums by name, and the scale of Laplace noise on each."""

    sums: dict[str, float]
    scales: dict[str, float]
    n: int

    @classmethod
    def of(cls, release: dc.Release, n: int, half: dict[str, float]) -> "Released":
        """The numbers of a release; products are in products of half-ranges."""
        sums, scales = {}, {}
        for name, law in release.noise.items():
            reach = np.prod([half.get(column, 1.0) for column in name.split(" * ")])
            sums[name] = float(release.value[name]) * law["unit"] / reach
            scales[name] = law["scale"] * law["unit"] / reach
        return cls(sums, scales, n)


@dataclass(frozen=True, eq=False)
class Question:
    """A model on some columns of a table, and the table's own answer to it.

    `columns` are in the order of the model, the target last; `answer` reads (estimate, lower, upper) off a posterior.
    `n` records are drawn. `short` says of each number which widths data made: where noise hides a number, its interval
    is the prior's, and holds a truth near the prior's centre too often.
    """

    name: str
    data: str
    population: pd.DataFrame
    bounds: dict[str, tuple[float, float]]
    schema: dict[str, Any]
    model: Any
    truth: Array
    answer: Callable[[Any], tuple[Array, Array, Array]]
    names: tuple[str, ...]
    short: Array
    n: int = 1000

    @property
    def is_share(self) -> bool:
        return self.names == ("share",)

    @property
    def centre(self) -> Array:
        return np.array([(low + high) / 2 for low, high in self.bounds.values()])

    @property
    def half(self) -> Array:
        return np.array([(high - low) / 2 for low, high in self.bounds.values()])

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        return self.population.iloc[rng.integers(len(self.population), size=self.n)].reset_index(drop=True)

    def scaled(self, frame: pd.DataFrame) -> Array:
        """Clamped columns in half-ranges around the middle."""
        low, high = (np.array(ends) for ends in zip(*self.bounds.values(), strict=True))
        return (np.clip(frame[[*self.bounds]].to_numpy(dtype=float), low, high) - self.centre) / self.half


def questions() -> tuple[Question, ...]:
    """A share, the mean of a column with an atom, that of a skewed one in wide bounds, and a regression.

    Of a thousand records noise hides the regression's slopes; of thirty thousand, drawn from the same table, it does
    not at epsilon = 1.
    """
    crashes = pd.read_parquet(DATA / "fars_crashes_2013_2015.parquet")
    drunk = pd.DataFrame({"drunk": (crashes["drunk_driver"].astype(str) == "yes").astype(int)})
    adult = pd.read_parquet(DATA / "adult_train.parquet")
    abalone = pd.read_csv(DATA / "abalone.csv")
    sizes = {"length": (0.0, 1.0), "shell_weight": (0.0, 1.2), "rings": (1.0, 29.0)}
    return (
        Question(
            "share of drunk drivers",
            "FARS",
            drunk,
            {"drunk": (0.0, 1.0)},
            {"drunk": dc.Binary()},
            dc.BetaBernoulli("drunk"),
            np.array([drunk["drunk"].mean()]),
            _of_one,
            ("share",),
            _short(drunk["drunk"].mean(), 0.0, 1.0),
        ),
        _mean("mean hours a week", adult, "hours_per_week", (1.0, 99.0)),
        _mean("mean capital gain", adult, "capital_gain", (0.0, 99_999.0)),
        _regression("rings by length and weight", abalone, sizes),
        replace(_regression("rings, of 30,000 records", abalone, sizes), n=30_000),
    )


def _short(truth: float, low: float, high: float) -> Array:
    """Half of a number's range, and no more than the truth is from its end."""
    return np.array([min((high - low) / 2, truth - low, high - truth)])


def _of_one(posterior: Any) -> tuple[Array, Array, Array]:
    """Of one number, by its name or not."""
    answers = (posterior.mean(), posterior.interval())
    mean, ends = (next(iter(x.values())) if isinstance(x, dict) else x for x in answers)
    low, high = (np.ravel(end).astype(float) for end in ends)
    return np.ravel(mean).astype(float), low, high


def _of_mean(posterior: Any) -> tuple[Array, Array, Array]:
    low, high = posterior.interval(0.9)["mean"]
    return np.array([posterior.mean()["mean"]]), np.array([low]), np.array([high])


def _of_coefficients(posterior: Any) -> tuple[Array, Array, Array]:
    low, high = posterior.interval(0.9)["coefficients"]
    return posterior.mean()["coefficients"], low, high


def _mean(name: str, table: pd.DataFrame, column: str, bounds: tuple[float, float]) -> Question:
    values = table[[column]].astype(float)
    truth = np.array([float(values[column].clip(*bounds).mean())])
    declared = {column: dc.Bounded(*bounds)}
    return Question(
        name,
        "Adult",
        values,
        {column: bounds},
        declared,
        dc.Normal(column),
        truth,
        _of_mean,
        ("mean",),
        _short(truth[0], *bounds),
    )


def _regression(name: str, table: pd.DataFrame, bounds: dict[str, tuple[float, float]]) -> Question:
    *features, target = bounds
    values = table[[*bounds]].astype(float)
    clamped = values.clip(*map(np.array, zip(*bounds.values(), strict=True)), axis=1)
    design = np.column_stack([np.ones(len(values)), clamped[features].to_numpy()])
    truth = np.linalg.lstsq(design, clamped[target].to_numpy())[0]
    declared = {column: dc.Bounded(*ends) for column, ends in bounds.items()}
    model = dc.LinearRegression(target, tuple(features))
    room = {column: high - low for column, (low, high) in bounds.items()}
    # of a slope half of the middle half of its prior, either way of 0; of the constant half of the target's range
    short = np.array([room[target] / 2, *(room[target] / room[feature] for feature in features)])
    names = ("constant", *features)
    return Question(name, "Abalone", values, bounds, declared, model, truth, _of_coefficients, names, short)
