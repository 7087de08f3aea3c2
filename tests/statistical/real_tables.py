"""Public tables as populations, and the cells in which 90% intervals are held to them.

Bounds are public ones or domain knowledge, natural or wide; columns are chosen for skew (weights, rings), atoms (hours,
capital gains of which 92% are 0), heavy tails (height, losses, errors of areas) and rare levels. Which cells are the
hardest third is declared here, by what they hold: they get 500 resamples, the others 200. Constants of the method are
fixed on `skewed_laws`, never here.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from resampling import Case, Population, columns_of, logistic_design

import discreet as dc

DATA = Path(__file__).parents[3] / "shared" / "data"

SIZES, EPSILONS = (300, 3_000, 30_000), (0.1, 1.0, 10.0)
GRID = tuple((n, epsilon) for n in SIZES for epsilon in EPSILONS)
MANY, FEW = 500, 200  # resamples in the hardest third of the cells, and elsewhere
ROBUST = ("whole_weight", "rings", "age", "hours_per_week", "petal_length")  # kurtosis 1.6 to 5.9
SHARES = 0.5  # prior of every level, fixed on `skewed_laws`: 1 a level hides the largest of eight where noise is strong
# Known to miss: a covariance with a correlation of .93, above all but a twentieth of its prior where noise hides it. The
# correlation itself was missed while the prior of three columns ended at .9; its cell has not been run again.
LOST = {
    ("MultivariateNormal robust length whole_weight rings", 300, 0.1): ("correlation[length, whole_weight]",),
    ("MultivariateNormal robust length whole_weight rings", 300, 1.0): ("covariance[length, whole_weight]",),
    ("MultivariateNormal robust length whole_weight rings", 3_000, 0.1): ("covariance[length, whole_weight]",),
}
ROWS = 1.0  # expected rows of a level, below which its share is not promised: equal tails end above a share of nothing
QUARTILE = 0.6745  # of a normal law
HEAVY = 6.0  # kurtosis from which the variance of a column is not promised


def require() -> None:
    """Skip where the shared tables are absent, or fail where they are required."""
    if (DATA / "abalone.csv").exists():
        return
    if os.environ.get("DISCREET_REQUIRE_DATA"):
        pytest.fail("shared data must be present, got a skip where they were required")
    pytest.skip("shared data are absent")


@cache
def abalone() -> Population:
    frame = pd.read_csv(DATA / "abalone.csv")
    return Population.of(
        {
            "sex": dc.Categorical(["M", "I", "F"]),
            "length": dc.Bounded(0, 1),
            "whole_weight": dc.Bounded(0, 3),
            "height": dc.Bounded(0, 1.2),
            "rings": dc.Bounded(1, 29),
        },
        frame,
    )


@cache
def adult() -> Population:
    frame = pd.read_parquet(DATA / "adult_train.parquet").assign(wide=lambda table: table["age"])
    work = ["Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Self-emp-inc", "Federal-gov", "Without-pay"]
    return Population.of(
        {
            "age": dc.Bounded(17, 90),
            "wide": dc.Bounded(0, 1000),
            "hours_per_week": dc.Bounded(1, 99),
            "capital_gain": dc.Bounded(0, 99_999),
            "capital_loss": dc.Bounded(0, 5000),
            "fnlwgt": dc.Bounded(0, 1_500_000),
            "education_num": dc.Bounded(1, 16),
            "income": dc.Binary(zero="<=50K", one=">50K"),
            "sex": dc.Categorical(["Male", "Female"]),
            "race": dc.Categorical(["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]),
            "workclass": dc.Categorical([*work, "Never-worked"], missing="exclude"),
        },
        frame,
    )


@cache
def crashes() -> Population:
    frame = pd.read_parquet(DATA / "fars_crashes_2013_2015.parquet")
    return Population.of(
        {
            "drunk_driver": dc.Binary(zero="no", one="yes"),
            "multiple_deaths": dc.Binary(zero="no", one="yes"),
            "type": dc.Categorical(sorted(frame["type"].unique())),
            "weather": dc.Categorical(sorted(frame["weather"].unique())),
            "light": dc.Categorical(sorted(frame["light"].unique())),
        },
        frame,
    )


@cache
def stops() -> Population:
    frame = pd.read_parquet(DATA / "ms_traffic_stops_2013_2016.parquet")
    frame["speeding"] = np.where(frame["violation"] == "speeding", "yes", "no")
    ages = ["under_20", "20_24", "25_29", "30_39", "40_49", "50_59", "60_plus"]
    return Population.of(
        {
            "driver_gender": dc.Categorical(["male", "female", "unknown"]),
            "driver_age_band": dc.Categorical(ages, missing="exclude"),
            "weekday": dc.Categorical(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
            "speeding": dc.Binary(zero="no", one="yes"),
        },
        frame,
    )


@cache
def bundled(name: str) -> Population:
    """Tables that scikit-learn brings along; bounds are round numbers around what such measurements can be."""
    from sklearn import datasets

    scaled = {"scaled": False} if name == "diabetes" else {}
    frame = getattr(datasets, f"load_{name}")(as_frame=True, **scaled).frame
    frame = frame.rename(columns=lambda column: column.replace(" (cm)", "").replace(" ", "_"))
    columns: dict[str, Any] = {
        "diabetes": {
            "target": dc.Bounded(0, 400),
            "age": dc.Bounded(0, 100),
            "sex": dc.Bounded(1, 2),
            "bmi": dc.Bounded(10, 60),
            "bp": dc.Bounded(40, 160),
            "s1": dc.Bounded(50, 350),
            "s2": dc.Bounded(0, 300),
            "s3": dc.Bounded(0, 120),
            "s4": dc.Bounded(0, 12),
            "s5": dc.Bounded(2, 8),
            "s6": dc.Bounded(40, 160),
        },
        "breast_cancer": {
            "area_error": dc.Bounded(0, 600),
            "mean_texture": dc.Bounded(0, 40),
            "mean_smoothness": dc.Bounded(0, 0.2),
            "mean_symmetry": dc.Bounded(0, 0.4),
            "target": dc.Binary(),
        },
        "wine": {"proline": dc.Bounded(0, 2000), "alcohol": dc.Bounded(10, 16), "target": dc.Categorical([1, 0, 2])},
        "iris": {"petal_length": dc.Bounded(0, 10)},
    }[name]
    return Population.of(columns, frame)


LOGISTIC = (  # constants of noisy scores were chosen on none of these targets
    (adult, "income", ("age", "education_num", "hours_per_week", "sex")),
    (crashes, "multiple_deaths", ("type", "weather")),
    (stops, "speeding", ("driver_age_band", "weekday")),
    (partial(bundled, "breast_cancer"), "target", ("mean_texture", "mean_smoothness", "mean_symmetry")),
)


@cache
def cases() -> dict[str, tuple[Case, bool, tuple[tuple[int, float], ...]]]:
    """By name: the case, whether it is among the hardest, and its sizes and budgets."""
    found: dict[str, tuple[Case, bool, tuple[tuple[int, float], ...]]] = {}

    def add(
        name: str, model: Any, population: Population, *, hard: bool = False, grid: Any = GRID, **facts: Any
    ) -> None:
        found[name] = (Case(name, model, population, **facts), hard, tuple(grid))

    columns = [
        (abalone(), "length", False),
        (abalone(), "whole_weight", False),
        (abalone(), "height", True),
        (abalone(), "rings", True),
        (adult(), "age", False),
        (adult(), "wide", False),
        (adult(), "hours_per_week", False),
        (adult(), "capital_gain", True),
        (adult(), "capital_loss", True),
        (adult(), "fnlwgt", False),
        (adult(), "education_num", False),
        (bundled("diabetes"), "target", False),
        (bundled("breast_cancer"), "area_error", True),
        (bundled("iris"), "petal_length", False),
    ]
    for population, column, hard in columns:
        robust, name = (True, "Normal robust") if column in ROBUST else (None, "Normal")
        add(f"{name} {column}", dc.Normal(column, robust=robust), population, hard=hard)
    deviations = {"rings": 3.2, "wide": 13.6, "capital_gain": 7400.0, "area_error": 45.5}
    for population, column, hard in columns:
        if column in deviations:
            add(f"NormalMean {column}", dc.NormalMean(column, sd=deviations[column]), population, hard=hard)
        if column in ("age", "capital_loss", "capital_gain"):
            add(f"StatisticalQuery {column}", dc.StatisticalQuery(column), population)
    for population, column in ((adult(), "income"), (crashes(), "drunk_driver"), (crashes(), "multiple_deaths")):
        add(f"BetaBernoulli {column}", dc.BetaBernoulli(column), population)
    for population, column, hard in (
        (crashes(), "weather", False),
        (crashes(), "light", False),
        (stops(), "driver_gender", True),
        (adult(), "workclass", True),
        (adult(), "race", True),
    ):
        model = dc.DirichletCategorical(column, prior=SHARES)
        add(f"DirichletCategorical {column}", model, population, hard=hard)
    for population, names, hard in (
        (abalone(), ("length", "whole_weight", "rings"), False),
        (adult(), ("age", "hours_per_week"), True),
    ):
        model = dc.MultivariateNormal(names, robust=True)
        add(f"MultivariateNormal robust {' '.join(names)}", model, population, hard=hard)
    middle = ((3_000, 1.0), (30_000, 10.0))
    ten = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
    for population, target, features, robust, hard, grid in (
        (bundled("diabetes"), "target", ("bmi", "bp"), None, False, GRID),
        (abalone(), "rings", ("length", "sex"), None, False, GRID),
        (adult(), "hours_per_week", ("age", "income"), True, False, GRID),
        (adult(), "hours_per_week", ("sex", "income"), None, False, GRID),
        (bundled("wine"), "proline", ("alcohol", "target"), None, False, GRID),
        (adult(), "capital_gain", ("education_num", "age"), True, True, GRID),
        (adult(), "hours_per_week", ("sex", "race"), None, False, middle[1:]),
        (adult(), "hours_per_week", ("age", "workclass"), True, False, middle[1:]),
        (bundled("diabetes"), "target", ten, None, False, middle[:1]),
    ):
        name = f"{target} on {'ten features' if features == ten else ' '.join(features)}"
        model = dc.LinearRegression(target, features, robust=robust)
        add(f"LinearRegression {'robust ' if robust else ''}{name}", model, population, hard=hard, grid=grid)
    for population, target, features in LOGISTIC:
        name = f"LogisticRegression {target} on {' '.join(features)}"
        add(name, dc.LogisticRegression(target, features), population(), noise="scores")
    weight, rings = dc.Normal("whole_weight"), dc.LinearRegression("rings", ("length", "sex"))
    add("Normal whole_weight, Gaussian noise", weight, abalone(), noise="gaussian", grid=middle)
    add("Normal whole_weight, private n", weight, abalone(), relation="add-remove", grid=middle)
    add("Normal whole_weight, persons", weight, abalone(), records_each=2, grid=middle)
    add("Normal whole_weight by sex", dc.Normal("whole_weight", by="sex"), abalone(), grid=middle)
    add("LinearRegression rings, Gaussian noise", rings, abalone(), noise="gaussian", grid=middle)
    return found


@dataclass(frozen=True)
class Cell:
    """One case at one size and budget."""

    case: str
    n: int
    epsilon: float

    @property
    def runs(self) -> int:
        return MANY if cases()[self.case][1] else FEW

    @property
    def seed(self) -> int:
        """Fixed by the cell's own name, so that no cell shares its noise with another."""
        return crc32(str(self).encode())

    def __str__(self) -> str:
        return f"{self.case}, n {self.n}, epsilon {self.epsilon:g}"


def cells() -> Iterator[Cell]:
    for name, (_, _, grid) in cases().items():
        for n, epsilon in grid:
            yield Cell(name, n, epsilon)


def band(cell: Cell, label: str, hidden: bool) -> tuple[float, float] | None:
    """What the coverage of a reported number must lie in; None: no promise (heavy tails, less than a row of a level).

    The upper limit is for intervals that are short. Where noise hides a number its interval is the prior's, or ends at
    the number's own bound, and a truth inside of it is covered every time.
    """
    case = cases()[cell.case][0]
    kind = label.split(": ")[-1].split("[")[0]
    if kind == "probabilities" and cell.n * case.truth()[label] < ROWS:
        return None
    if kind in ("mean", "probability", "probabilities"):
        low, high = 0.87, 0.93
    elif kind in ("coefficients", "correlation"):
        low, high = (0.85, 0.95) if cell.n >= 3_000 else (0.80, 1.0)
    elif kurtosis(case, label) >= HEAVY:
        return None
    else:
        robust = getattr(case.model, "robust", None) and kind == "variance" and not hasattr(case.model, "target")
        low, high = (0.85, 0.95) if robust else (0.80, 1.0)
    return low, 1.0 if hidden else high


def short(case: Case, label: str) -> float:
    """The largest width of an interval that data made: half of the room of its number, and no more than to its end.

    The room of a mean, a share, a variance or a correlation is its range; of a slope, the middle half of its prior, one
    half-range of the target for each half-range of the feature either way; of an intercept or an effect, the target's
    range. A normal prior with half of its mass in the room, centred at the truth, then raises the coverage of a 90%
    interval to 90.7%, the Cauchy prior of a slope to 92.7%.
    """
    kind, _, of = label.split(": ")[-1].rstrip("]").partition("[")
    columns, model = case.population.columns, case.model
    if isinstance(model, dc.LogisticRegression):
        return 2.0 * QUARTILE * _believed(case)[of]
    if kind == "coefficients":
        target = columns[model.target]
        room = target.upper - target.lower
        feature = columns.get(of)
        return room / 2 if feature is None or of == "intercept" else room / (feature.upper - feature.lower)
    if kind in ("probability", "probabilities", "correlation"):
        low, high = (-1.0, 1.0) if kind == "correlation" else (0.0, 1.0)
    else:
        column = columns[of.split(", ")[0] if of else getattr(model, "target", None) or model.column]
        low, high = column.lower, column.upper
        if kind != "mean":
            low, high = 0.0, (high - low) ** 2 / 4
    truth = case.truth()[label]
    return min((high - low) / 2, truth - low, high - truth)


@cache
def _believed(case: Case) -> dict[str, float]:
    """Deviations of the coefficients under the prior that stands in for none: margins deviate by 2 along every direction,
    the intercept at the centre of the features by 4."""
    names, design, _, _ = logistic_design(case.model, case.population.used(columns_of(case.model)))
    each = 2.0 / np.sqrt(design.var(axis=0).sum())
    found = dict.fromkeys(names, float(each))
    found["intercept"] = float(np.hypot(4.0, each * np.linalg.norm(design[:, 1:].mean(axis=0))))
    return found


def kurtosis(case: Case, label: str) -> float:
    """Of what a variance or covariance is of: the column, the columns, or the residual of the regression."""
    if hasattr(case.model, "target"):
        return _residual_kurtosis(case)
    if "[" not in label:
        return case.kurtosis(case.model.column)
    return max(case.kurtosis(name) for name in label.split("[")[1].rstrip("]").split(", "))


@cache
def _residual_kurtosis(case: Case) -> float:
    """Fourth moment of the residuals of the least-squares fit over their squared variance."""
    from resampling import design_of

    design, y = design_of(case.model, case.population)
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.mean(residual**4) / np.mean(residual**2) ** 2)


@dataclass(frozen=True)
class Verdict:
    """The coverage of one reported number, and how surprising it is if its band holds."""

    cell: Cell
    label: str
    hits: int
    runs: int
    hidden: bool  # by noise: no upper limit
    band: tuple[float, float] | None
    kurtosis: float | None

    @property
    def coverage(self) -> float:
        return self.hits / self.runs

    @property
    def lost(self) -> bool:
        return self.label in LOST.get((self.cell.case, self.cell.n, self.cell.epsilon), ())

    @property
    def p(self) -> float:
        """Probability of a coverage this far outside of the band if the true one lies on its edge."""
        from scipy.stats import binom

        if self.band is None:
            return 1.0
        low, high = self.band
        if self.coverage < low:
            return float(binom.cdf(self.hits, self.runs, low))
        return float(binom.sf(self.hits - 1, self.runs, high)) if self.coverage > high else 1.0

    def __str__(self) -> str:
        heavy = "" if self.kurtosis is None else f"  kurtosis {self.kurtosis:.1f}"
        why = "less than a row of it" if self.kurtosis is None else "heavier tails"
        heavy += f" ({why}: no promise)" if self.band is None else ""
        heavy += "  hidden" if self.hidden else ""
        heavy += "  LOST" if self.lost else ""
        return f"{self.cell!s:<70} {self.label:<40} {self.coverage:.3f} of {self.runs}{heavy}"


def verdicts(cell: Cell, found: Mapping[str, tuple[int, float]], runs: int) -> list[Verdict]:
    """Of hits and mean widths by reported number."""
    case, result = cases()[cell.case][0], []
    for label, (hits, width) in found.items():
        kind = label.split(": ")[-1].split("[")[0]
        tails = kurtosis(case, label) if kind in ("variance", "covariance") else None
        hidden = width > short(case, label)
        result.append(Verdict(cell, label, hits, runs, hidden, band(cell, label, hidden), tails))
    return result
