"""Simulated skewed, atomic and heavy-tailed laws: constants of the method are fixed here, never on the real tables.

One column is a grid of quantiles of its law, several are seeded draws; either way the table is finite and its clamped
moments are computed from all of its rows. `coverage(case, n, epsilon, runs, seed)` is that of the real tables:

    PYTHONPATH=src:tests/statistical python -c "
    from skewed_laws import CASES, coverage
    print(coverage(CASES['Normal zero-inflated'], 3000, 1.0, 200, seed=1))"
"""

from functools import cache

import numpy as np
from resampling import Case, Population, coverage

import discreet as dc

__all__ = ["CASES", "COLUMNS", "coverage"]

POINTS = 100_000


def _middles() -> np.ndarray:
    """Orders of equally likely quantiles."""
    return (np.arange(POINTS) + 0.5) / POINTS


def _mixture(u: np.ndarray, *parts: tuple[float, object]) -> np.ndarray:
    """Values of a mixture: (weight, number or quantile function) in turn."""
    result, start = np.empty_like(u), 0.0
    for weight, part in parts:
        inside = (u >= start) & (u < start + weight)
        result[inside] = part((u[inside] - start) / weight) if callable(part) else part
        start += weight
    return result


@cache
def laws() -> dict[str, tuple[dc.Bounded, np.ndarray]]:
    """By name: the declared bounds, and the law as a grid of quantiles."""
    from scipy import stats

    u = _middles()
    log_normal = stats.lognorm(1.0).ppf(u)
    pareto = stats.pareto(2.5).ppf(u)
    return {
        "normal": (dc.Bounded(0, 10), stats.norm(4, 1).ppf(u)),
        "uniform": (dc.Bounded(0, 10), 10 * u),
        "exponential": (dc.Bounded(0, 8), stats.expon.ppf(u)),
        "log-normal": (dc.Bounded(0, 20), log_normal),
        "log-normal wide": (dc.Bounded(0, 1000), log_normal),
        "log-normal clamped": (dc.Bounded(0, 2), log_normal),
        "zero-inflated": (dc.Bounded(0, 100), _mixture(u, (0.9, 0.0), (0.1, stats.gamma(2, scale=10).ppf))),
        "zero-inflated rare": (dc.Bounded(0, 1000), _mixture(u, (0.97, 0.0), (0.03, stats.gamma(1.5, scale=60).ppf))),
        "pareto": (dc.Bounded(0, 100), pareto),
        "pareto shifted": (dc.Bounded(-50, 50), -pareto),
        "student": (dc.Bounded(-20, 20), stats.t(3).ppf(u)),
        "two atoms": (dc.Bounded(0, 10), _mixture(u, (0.6, 1.0), (0.4, 9.0))),
        "atoms on the bounds": (dc.Bounded(0, 10), _mixture(u, (0.85, 0.0), (0.15, 10.0))),
        "whole numbers": (dc.Bounded(0, 40), stats.poisson(3).ppf(u)),
        "near-constant": (dc.Bounded(0, 100), _mixture(u, (0.99, 5.0), (0.01, 50.0))),
        "near-constant, rare outliers": (dc.Bounded(0, 100), _mixture(u, (0.998, lambda v: 5 + v), (0.002, 95.0))),
        "constant": (dc.Bounded(0, 10), np.full(POINTS, 2.5)),
    }


def _columns() -> dict[str, Population]:
    return {name: Population.of({"x": column}, {"x": cells}) for name, (column, cells) in laws().items()}


def _joint() -> Population:
    """Skewed features that hang together, two categories of unequal levels, and targets with errors of unequal size."""
    rng = np.random.default_rng(1717)
    z = rng.multivariate_normal(np.zeros(10), 0.4 + 0.6 * np.eye(10), POINTS)
    skewed = np.exp(0.7 * z[:, :5])
    group = np.searchsorted([0.6, 0.9], rng.random(POINTS))  # shares .6, .3, .1
    place = (rng.random(POINTS) < 0.15 + 0.2 * (group == 1)).astype(int)
    yes = (rng.random(POINTS) < 1 / (1 + np.exp(2 - z[:, 0]))).astype(int)
    error = rng.standard_gamma(1.5, POINTS) - 1.5
    y = 10 + 1.5 * skewed[:, 0] - skewed[:, 1] + 2.0 * (group == 1) - 3.0 * (group == 2) + place + 2.0 * yes
    y = y + 1.0 * z[:, 7] + (0.5 + 0.5 * skewed[:, 0]) * error
    numbers = {f"x{j}": dc.Bounded(0, 8) for j in range(5)} | {f"x{j}": dc.Bounded(-4, 4) for j in range(5, 10)}
    columns = {
        **numbers,
        "group": dc.Categorical(["A", "B", "C"]),
        "place": dc.Categorical(["in", "out"]),
        "yes": dc.Binary(),
        "y": dc.Bounded(0, 40),
    }
    cells = {f"x{j}": skewed[:, j] if j < 5 else z[:, j] for j in range(10)}
    texts = {"group": np.array(["A", "B", "C"])[group], "place": np.array(["in", "out"])[place], "yes": yes, "y": y}
    return Population.of(columns, {**cells, **texts})


def _close() -> Population:
    """Two columns that tell nearly the same (correlation .93), and one that half follows them (.5)."""
    rng = np.random.default_rng(2323)
    size = rng.standard_gamma(6.0, POINTS)
    cells = {
        "a": np.cbrt(size) * (1.0 + 0.04 * rng.normal(size=POINTS)),
        "b": size * (1.0 + 0.12 * rng.normal(size=POINTS)),
        "c": np.round(4.0 + 0.5 * size + 2.0 * rng.standard_gamma(1.0, POINTS)),
    }
    return Population.of({"a": dc.Bounded(0, 4), "b": dc.Bounded(0, 30), "c": dc.Bounded(0, 40)}, cells)


def _shares() -> dict[str, Population]:
    """Columns of one large level and ever rarer ones, of a level that hardly anybody has, and of equal levels."""
    found = {}
    for name, shares in {
        "rare levels": (0.7, 0.1, 0.08, 0.06, 0.04, 0.015, 0.004, 0.001),
        "one rare level": (0.64, 0.3598, 0.0002),
        "equal levels": (0.2,) * 5,
    }.items():
        levels = [chr(65 + code) for code in range(len(shares))]
        cells = np.repeat(levels, np.round(POINTS * np.array(shares)).astype(int))
        found[name] = Population.of({"x": dc.Categorical(levels)}, {"x": cells})
    return found


def _models() -> dict[str, object]:
    return {
        "MultivariateNormal two": dc.MultivariateNormal(("x0", "y")),
        "MultivariateNormal three": dc.MultivariateNormal(("x0", "x1", "x7")),
        "MultivariateNormal robust two": dc.MultivariateNormal(("x0", "y"), robust=True),
        "MultivariateNormal robust three": dc.MultivariateNormal(("x0", "x1", "x7"), robust=True),
        "LinearRegression one": dc.LinearRegression("y", ("x0",)),
        "LinearRegression two": dc.LinearRegression("y", ("x0", "x1")),
        "LinearRegression one and group": dc.LinearRegression("y", ("x0", "group")),
        "LinearRegression two and group": dc.LinearRegression("y", ("x0", "x7", "group")),
        "LinearRegression two categories": dc.LinearRegression("y", ("group", "place")),
        "LinearRegression number and two categories": dc.LinearRegression("y", ("x7", "group", "place")),
        "LinearRegression yes": dc.LinearRegression("y", ("x0", "yes")),
        "LinearRegression ten": dc.LinearRegression("y", tuple(f"x{j}" for j in range(10))),
    }


@cache
def _cases() -> dict[str, Case]:
    columns = _columns()
    found = [Case(f"Normal {name}", dc.Normal("x"), population) for name, population in columns.items()]
    for name, population in columns.items():
        column, _ = laws()[name]
        deviation = max(float(population.numbers("x").std()), 0.002 * (column.upper - column.lower))
        found.append(Case(f"NormalMean {name}", dc.NormalMean("x", sd=deviation), population))
    for name, population in _shares().items():
        found += [
            Case(f"{name}, prior {prior:g}", dc.DirichletCategorical("x", prior=prior), population)
            for prior in (1.0, 0.5, 1.0 / len(population.columns["x"].levels))
        ]
    joint = _joint()
    found += [Case(name, model, joint) for name, model in _models().items()]
    for names in ("ab", "ac", "abc"):
        found.append(Case(f"MultivariateNormal close {names}", dc.MultivariateNormal(tuple(names)), _close()))
    found += [
        Case("Normal log-normal gaussian", dc.Normal("x"), columns["log-normal"], noise="gaussian"),
        Case("Normal log-normal add-remove", dc.Normal("x"), columns["log-normal"], relation="add-remove"),
        Case("Normal log-normal persons", dc.Normal("x"), columns["log-normal"], records_each=2),
        Case("Normal by group", dc.Normal("y", by="group"), joint),
    ]
    return {case.name: case for case in found}


COLUMNS = tuple(laws())
CASES = _cases()
