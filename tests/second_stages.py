"""Queries with a second stage and tables for them, shared by the tests of robust releases."""

from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from discreet.queries.influence import STEPS, Form, Influences
from discreet.schema.cell import NO_NUMBER
from discreet.sources import CodedRows

UNITS: dict[str, dc.Record | dc.Person] = {
    "record": dc.Record(),
    "person": dc.Person("id", max_records=3),
    "person with many": dc.Person("id", max_records=40),  # whose sums outgrow 64 bits
}
RELATIONS = ("replace-one", "add-remove")

MODELS: dict[str, Any] = {
    "Normal": lambda by: dc.Normal("x", robust=True, by=by),
    "MultivariateNormal": lambda by: dc.MultivariateNormal(("x", "z"), robust=True, by=by),
    "LinearRegression": lambda by: dc.LinearRegression("y", ("x", "z"), robust=True, by=by),
    "LinearRegression with categories": lambda by: dc.LinearRegression("y", ("x", "ward", "sex"), robust=True, by=by),
    "LinearRegression on a category": lambda by: dc.LinearRegression("y", ("ward",), robust=True, by=by),
}


def schema_of(relation: str, unit: str, n: int, *, missing: Any = "exclude") -> dc.Schema:
    columns: dict[str, Any] = {
        "x": dc.Bounded(0, 100, missing=missing),
        "z": dc.Bounded(-1, 1000),
        "y": dc.Bounded(-5, -4),
        "ward": dc.Categorical(["A", "B", "C"]),
        "sex": dc.Categorical(["f", "m"], missing=missing),
        "site": dc.Categorical(["north", "south", "west"]),
    }
    size: dict[str, Any] = {"n": n} if relation == "replace-one" else {"n_max": n}
    return dc.Schema(columns, unit=UNITS[unit], relation=relation, **size)  # type: ignore[arg-type]


def table(n: int, rng: np.random.Generator, persons: int = 40) -> pd.DataFrame:
    """Skewed numbers, some on their bounds, unequal errors, a few bad cells, rows in no order."""
    x = np.clip(rng.normal(50.0, 15.0, n), -10.0, 110.0)
    errors = rng.normal(0.0, 0.002, n) * (1.0 + np.abs(x - 50.0))
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.02, np.nan, x),
            "z": rng.gamma(1.0, 90.0, n),
            "y": -4.8 + 0.004 * x + errors,
            "ward": rng.choice(["A", "B", "C", "other"], n, p=[0.5, 0.3, 0.1, 0.1]),
            "sex": rng.choice(["f", "m", ""], n, p=[0.5, 0.45, 0.05]),
            "site": rng.choice(["north", "south", "west"], n, p=[0.6, 0.35, 0.05]),
            "id": [f"p{k}" for k in rng.integers(0, persons, n)],
        }
    )


def coded(frame: pd.DataFrame, schema: dc.Schema, columns: tuple[str, ...], name: str = "t") -> CodedRows:
    """The same rows as codes and grid steps, by a few lines of their own."""
    rows = {}
    for column in columns:
        declared: Any = schema.column(column)
        if declared.holds == "numbers":
            cells = frame[column].to_numpy(dtype=float)
            clipped = np.clip(np.nan_to_num(cells), declared.lower, declared.upper)
            steps = np.floor(clipped / declared.step + 0.5).astype(np.int64)
            rows[column] = np.where(np.isnan(cells), NO_NUMBER, steps)
        else:
            default = -1 if declared.missing == "exclude" else declared.default_code
            codes = {level: code for code, level in enumerate(declared.levels)}
            rows[column] = np.array([codes.get(cell, default) for cell in frame[column]])
    persons = frame["id"].to_numpy() if schema.unit.identifier is not None else None
    return CodedRows(rows, persons, name)


def by_hand(query: Influences, rows: dict[str, list[int]], units: list[Any]) -> list[list[int]]:
    """The sums in Python integers, straight from the words of the proof."""

    def form(one: Form, i: int) -> int:
        total = one.constant
        for number, axis in zip(one.numbers, query.axes, strict=True):
            index = (rows[axis.column][i] - axis.low + (1 << axis.shift) // 2) // (1 << axis.shift)
            total += number * (2 * index - axis.reach)
        for levels, name in zip(one.levels, query.categories, strict=True):
            total += levels[rows[name][i]]
        return total

    sums = []
    for g, functions in enumerate(query.functions):
        own = [i for i in range(len(units)) if query.by is None or rows[query.by][i] == g]
        sums.append([])
        for function in functions:
            psi: dict[Any, int] = {}
            for i in own:
                product = form(function.left, i) * form(function.right, i) - function.offset
                psi[units[i]] = psi.get(units[i], 0) + product
            roots = [min((abs(p) + function.divisor // 2) // function.divisor, STEPS) for p in psi.values()]
            sums[-1].append(sum(root**2 for root in roots))
    return sums
