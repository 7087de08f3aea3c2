"""Records drawn with replacement from a finite table, the population: do 90% intervals hold its own values?

A population is a real table or a grid of quantiles of a simulated law, coded once as the sources would code it. Its own
values are those of the columns as declared: clamped, on their grids, without the rows that a rule excludes. So nothing
is known about them only approximately, whatever the law.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.linalg import block_diag

import discreet as dc
from discreet.inference import convergence
from discreet.inference.gaussian.moment_chains import sample_moments
from discreet.mechanisms.base import Reading
from discreet.models import declared_moments
from discreet.noise.sources import SeededNoise
from discreet.pipeline import query_of
from discreet.posterior.summary import labels
from discreet.sources import CodedRows, Dataset

DELTA = 1e-6  # of Gaussian noise, and of scores
HEADROOM = 3.0  # of scores: coefficients of maximum likelihood are asked for
ROUNDS = 50  # of Newton's method, which ends a maximum likelihood fit long before
DRAWS = 4000  # from which intervals of correlations are read
SHORT = 250  # draws of a chain, of which there are four, before the first look
RHAT, ESS = 1.02, 200  # at which chains stop here: the ends of intervals are known to 0.15 of a posterior deviation


@dataclass(frozen=True, eq=False)
class Population:
    """Declared columns and their coded cells: level codes, or whole grid steps."""

    columns: Mapping[str, Any]
    codes: Mapping[str, np.ndarray] = field(repr=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any], cells: Mapping[str, Any]) -> "Population":
        """Texts and numbers as a source would code them."""
        from discreet.schema.coded_cells import coded_numbers, coded_objects

        codes = {}
        for name, column in columns.items():
            if column.holds == "numbers":
                codes[name] = coded_numbers(column, np.asarray(cells[name], dtype=float))
                continue
            texts, place = np.unique(np.asarray(cells[name], dtype=object).astype(str), return_inverse=True)
            codes[name] = coded_objects(column, [None if text in ("None", "nan") else text for text in texts])[place]
        return cls(dict(columns), codes)

    @property
    def size(self) -> int:
        return next(iter(self.codes.values())).size

    def at(self, places: np.ndarray) -> "Population":
        """Some of its rows, with repetition."""
        return replace(self, codes={name: codes[places] for name, codes in self.codes.items()})

    def of_columns(self, names: tuple[str, ...]) -> "Population":
        """Some of its columns."""
        return Population({name: self.columns[name] for name in names}, {name: self.codes[name] for name in names})

    def used(self, names: tuple[str, ...]) -> "Population":
        """The rows that no rule excludes from a query of these columns, and those columns."""
        bad = [self.codes[name] == self.columns[name].excluded for name in names]
        kept = np.flatnonzero(~np.any(bad, axis=0))
        return Population(
            {name: self.columns[name] for name in names}, {name: self.codes[name][kept] for name in names}
        )

    def numbers(self, name: str) -> np.ndarray:
        """The clamped cells on their grid."""
        return self.columns[name].step * self.codes[name]


@dataclass(frozen=True, eq=False)
class Case:
    """A model on a population, and the facts of the release that are not n and epsilon."""

    name: str
    model: Any
    population: Population
    noise: str = "laplace"  # or "gaussian"; "scores" for regressions by noisy scores
    relation: str = "replace-one"  # or "add-remove": n is private
    records_each: int = 1  # above 1: units are persons with so many rows

    def schema(self, n: int) -> dc.Schema:
        if self.records_each > 1:
            return dc.Schema(
                self.population.columns, unit=dc.Person("person", self.records_each), n=n // self.records_each
            )
        if self.relation == "add-remove":
            return dc.Schema(self.population.columns, relation="add-remove", n_max=2 * n)
        return dc.Schema(self.population.columns, n=n)

    def mechanism(self, epsilon: float) -> dc.NoisyStatistics | dc.NoisyScore:
        if self.noise == "scores":
            return dc.NoisyScore(epsilon=epsilon, delta=DELTA, headroom=HEADROOM)
        return dc.NoisyStatistics(epsilon=epsilon, delta=DELTA if self.noise == "gaussian" else None)

    @cache  # noqa: B019 - cases live as long as the tests; some tables have hundreds of thousands of rows
    def truth(self) -> Mapping[str, float]:
        """The population's own values, under the names by which the posterior reports them."""
        return MappingProxyType(own_values(self.model, self.population))

    @cache  # noqa: B019 - the same
    def kurtosis(self, column: str) -> float:
        """Of the clamped column, 3 for a normal law."""
        x = self.population.used((column,)).numbers(column)
        return float(np.mean((x - x.mean()) ** 4) / np.var(x) ** 2)


def own_values(model: Any, population: Population) -> dict[str, float]:
    """What the model estimates, computed from every row of a table; groups as "level: name"."""
    if model.by is None:
        return VALUES[type(model).__name__](model, population.used(columns_of(model)))
    used = population.used((*columns_of(model), model.by))
    found = {}
    for code, level in enumerate(used.columns[model.by].levels):
        own = used.at(np.flatnonzero(used.codes[model.by] == code))
        values = VALUES[type(model).__name__](model, own)
        found |= {f"{level}: {name}": value for name, value in values.items()}
    return found


def read_runs(case: Case, n: int, epsilon: float, runs: int, seed: int) -> dict[str, np.ndarray]:
    """(runs, 3) for each reported number: the ends of its interval and the population's value.

    Run k depends on the seed and k alone. Chains go on until they have mixed well enough for 90% intervals to lose half
    a percent at most: a user's go on for longer, so that what is found here is rather too little than too much.
    """
    schema, mechanism = case.schema(n), case.mechanism(epsilon)
    query = query_of(case.model, mechanism, schema)
    truth, table = case.truth(), case.population.of_columns(query.columns)
    own = type(case.model).__name__ == "StatisticalQuery"  # its parameter is the average of the rows that are there
    found = {name: np.empty((runs, 3)) for name in truth}
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        rows = table.at(rng.integers(table.size, size=n))
        persons = np.arange(n) // case.records_each if case.records_each > 1 else None
        dataset = Dataset("resampled", schema, CodedRows(rows.codes, persons))
        value = mechanism.apply(SeededNoise(np.random.SeedSequence([seed, run, 1])), query, dataset)
        with (
            patch.object(declared_moments, "sample_moments", partial(sample_moments, draws=SHORT)),
            patch.multiple(convergence, LARGEST_RHAT=RHAT, SMALLEST_ESS=ESS),
        ):
            read = intervals(mechanism.read(case.model, query, value, Reading()))
        for name, target in (own_values(case.model, rows) if own else truth).items():
            found[name][run] = (*read[name], target)
    return found


def hits(read: Mapping[str, np.ndarray], narrower: float = 1.0) -> dict[str, np.ndarray]:
    """Whether the interval of each reported number held the population's value, run by run.

    `narrower` plants an error: intervals of that part of their width.
    """
    return {
        name: np.abs(target - 0.5 * (low + high)) <= narrower * 0.5 * (high - low)
        for name, (low, high, target) in ((name, ends.T) for name, ends in read.items())
    }


def coverage(case: Case, n: int, epsilon: float, runs: int, seed: int) -> dict[str, float]:
    """The share of runs whose 90% interval held the population's value, by reported number."""
    return {name: float(np.mean(inside)) for name, inside in hits(read_runs(case, n, epsilon, runs, seed)).items()}


def intervals(posterior: Any) -> dict[str, tuple[float, float]]:
    """90% intervals of all reported numbers by name, and of correlations where there are covariances."""
    if hasattr(posterior, "parts"):
        return {f"{level}: {name}": ends for level in posterior for name, ends in intervals(posterior[level]).items()}
    found = {}
    lower, upper = posterior._quantiles(np.array([0.05, 0.95]))
    for name, axes in posterior._axes().items():
        ends = (np.ravel(posterior._by_name(side)[name]) for side in (lower, upper))
        found |= dict(zip(labels(name, axes), zip(*map(np.ndarray.tolist, ends), strict=True), strict=True))
    if "covariance" in posterior._axes() and not any(name.startswith("correlation") for name in found):
        drawn = posterior.sample(DRAWS, np.random.default_rng(0))["covariance"]
        spread = np.sqrt(np.diagonal(drawn, axis1=1, axis2=2))
        ends = np.quantile(drawn / spread[:, :, None] / spread[:, None, :], [0.05, 0.95], axis=0)
        names = labels("correlation", posterior._axes()["covariance"])
        found |= dict(zip(names, zip(*(np.ravel(side).tolist() for side in ends), strict=True), strict=True))
    return found


def columns_of(model: Any) -> tuple[str, ...]:
    if hasattr(model, "target"):
        return (*model.features, model.target)
    return model.columns if hasattr(model, "columns") else (model.column,)


def _normal(model: Any, used: Population) -> dict[str, float]:
    x = used.numbers(model.column)
    return {"mean": float(x.mean()), "variance": float(x.var())}


def _joint(model: Any, used: Population) -> dict[str, float]:
    x = np.column_stack([used.numbers(name) for name in model.columns])
    covariance = np.cov(x.T, ddof=0)
    correlation = np.corrcoef(x.T)
    found = {f"mean[{name}]": float(x[:, i].mean()) for i, name in enumerate(model.columns)}
    for i, a in enumerate(model.columns):
        found[f"covariance[{a}, {a}]"] = float(covariance[i, i])
        for j, b in enumerate(model.columns[:i]):
            found[f"correlation[{b}, {a}]"] = float(correlation[i, j])
            found[f"covariance[{b}, {a}]"] = float(covariance[i, j])
    return found


def design_of(model: Any, population: Population) -> tuple[np.ndarray, np.ndarray]:
    """Intercept, numeric features and dummies of the used rows, in the order of the coefficients; and the target."""
    used = population.used(columns_of(model))
    names = model.coefficient_names(dc.Schema(used.columns, n=used.size))
    design = np.ones((used.size, len(names)))
    for j, name in enumerate(names[1:], start=1):
        column, _, level = name.partition("=")
        if column in used.columns and used.columns[column].holds == "levels":
            design[:, j] = used.codes[column] == used.columns[column].levels.index(level)
        else:
            design[:, j] = used.numbers(name)
    return design, used.numbers(model.target)


def _least_squares(model: Any, used: Population) -> dict[str, float]:
    names = model.coefficient_names(dc.Schema(used.columns, n=used.size))
    design, y = design_of(model, used)
    scale = np.abs(design).max(axis=0)
    solved = np.linalg.lstsq(design / scale, y, rcond=None)[0] / scale
    found = {f"coefficients[{name}]": float(value) for name, value in zip(names, solved, strict=True)}
    return {**found, "variance": float(np.mean((y - design @ solved) ** 2))}


def logistic_design(model: Any, used: Population) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Names of the coefficients, (1, numbers on [-1, 1], levels) row by row, targets; levels sum to 0 on the basis."""
    names, design, free = ["intercept"], [np.ones(used.size)], [np.ones((1, 1))]
    for name in sorted(model.features, key=lambda name: used.columns[name].holds == "levels"):
        column = used.columns[name]
        if column.holds == "levels":
            size = len(column.levels)
            names += [f"{name}={level}" for level in column.levels]
            design += list(np.eye(size)[:, used.codes[name]])
            free.append(np.linalg.svd(np.eye(size) - 1.0 / size)[0][:, : size - 1])
        else:
            names.append(name)
            design.append(2.0 * (used.numbers(name) - column.lower) / (column.upper - column.lower) - 1.0)
            free.append(np.ones((1, 1)))
    return names, np.column_stack(design), used.codes[model.target], block_diag(*free)


def _most_likely(model: Any, used: Population) -> dict[str, float]:
    """Maximum likelihood of a logistic regression, without a penalty, of numbers on [-1, 1] and levels against their plain
    average: where all records' errors, times their features, sum to 0. It is an estimand whether the model is true or not.
    """
    names, design, target, free = logistic_design(model, used)
    rows, counts = np.unique(np.column_stack([design, target]), axis=0, return_counts=True)
    z, y = rows[:, :-1] @ free, rows[:, -1]
    w = np.zeros(z.shape[1])
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-z @ w))
        step = np.linalg.solve((z * (counts * p * (1.0 - p))[:, np.newaxis]).T @ z, z.T @ (counts * (y - p)))
        w += step
    assert np.abs(step).max() < 1e-9, "the maximum of the likelihood lies at infinity"
    return {f"coefficients[{name}]": float(value) for name, value in zip(names, free @ w, strict=True)}


def _mean(model: Any, used: Population) -> dict[str, float]:
    return {"mean": float(used.numbers(model.column).mean())}


def _share(model: Any, used: Population) -> dict[str, float]:
    return {"probability": float(used.codes[model.column].mean())}


def _shares(model: Any, used: Population) -> dict[str, float]:
    levels = used.columns[model.column].levels
    shares = np.bincount(used.codes[model.column], minlength=len(levels)) / used.size
    return {f"probabilities[{level}]": float(share) for level, share in zip(levels, shares, strict=True)}


VALUES: dict[str, Callable[[Any, Population], dict[str, float]]] = {
    "BetaBernoulli": _share,
    "DirichletCategorical": _shares,
    "LinearRegression": _least_squares,
    "LogisticRegression": _most_likely,
    "MultivariateNormal": _joint,
    "Normal": _normal,
    "NormalMean": _mean,
    "StatisticalQuery": _mean,
}
