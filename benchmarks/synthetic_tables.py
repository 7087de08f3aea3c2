"""Synthetic tables: a network with a graph from domain knowledge against PrivBayes and MST, which pay for their graphs.

Seven columns of Adult. Of each method several tables, each from a release of its own; told are the mean total variation
distance of all tables of two columns from the real one, and the test error of a classifier (scikit-learn's logistic
regression on indicators) that was trained on the made-up table alone. PrivBayes is DataSynthesizer's, degree 2; it
reads the levels off the data, which its budget does not pay for. MST is SmartNoise's, with declared levels and a delta
of 1e-9, one table each: it takes minutes. Ours gets declared levels and a graph.

python -m benchmarks.synthetic_tables --runs 5 --smartnoise 0     without MST
"""

from argparse import ArgumentParser
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import discreet as dc
from benchmarks.peers import peer_answers
from benchmarks.tables import DATA

GRAPH = {
    "age": (),
    "sex": (),
    "marital_status": ("age", "sex"),
    "education": ("age",),
    "occupation": ("education", "sex"),
    "hours": ("age", "occupation"),
    "income": ("marital_status", "education"),
}
EPSILONS, RUNS, PARENTS = (0.1, 1.0), 5, 2
PRIOR = 0.5  # of a cell, as the audit of real tables asks of levels that noise hides; there, not here, it was chosen
SCRIPT = Path(__file__).with_name("privbayes_tables.py")
PACKAGES = ("DataSynthesizer", "numpy<2", "pandas<2.2")
SMARTNOISE, TABLES = {"MST": "mst"}, 1

Codes = NDArray[np.int64]


def run(runs: int = RUNS, smartnoise: int = TABLES) -> None:
    if not DATA.exists():
        print("skipped: shared data are absent")
        return
    train, levels = table("train")
    test, _ = table("test")
    real = codes_of(train, levels)
    request = {
        "columns": list(GRAPH),
        "levels": levels,
        "epsilons": EPSILONS,
        "runs": runs,
        "parents": PARENTS,
    }
    theirs = peer_answers({"codes": real}, request, "privbayes", PACKAGES, SCRIPT)
    asked = request | {"methods": [*SMARTNOISE.values()], "runs": smartnoise}
    script = SCRIPT.with_name("smartnoise_tables.py")
    others = peer_answers({"codes": real}, asked, "smartnoise", ("smartnoise-synth",), script) if smartnoise else []
    ceiling = test_error(real, codes_of(test, levels), levels)
    print(
        f"Adult, {len(real):,} rows, {len(GRAPH)} columns, {runs} tables each; trained on the real rows: {ceiling:.4f}"
    )
    print("| epsilon | method | distance of pairs | test error | seconds | |\n|---|---|---|---|---|---|")
    for epsilon in EPSILONS:
        tables = {"ours": [ours(train, levels, epsilon, seed) for seed in range(runs)]}
        tables["PrivBayes"] = [read(one) for one in theirs if one["epsilon"] == epsilon]
        for name, method in SMARTNOISE.items():
            own = [one for one in others if (one["epsilon"], one["method"]) == (epsilon, method)]
            for problem in [one["problem"] for one in own if "problem" in one]:
                print(f"  {name} failed: {problem}")
            made = [read(one) for one in own if "codes" in one]
            tables |= {name: made} if made else {}
        found = {}
        for name, every in tables.items():
            distance = np.mean([distance_of_pairs(real, codes, levels) for codes, _ in every])
            error = np.mean([test_error(codes, codes_of(test, levels), levels) for codes, _ in every])
            found[name] = (distance, error, float(np.median([seconds for _, seconds in every])))
        for name, (distance, error, seconds) in found.items():
            pairs = zip(("distance", "error", "time"), found["ours"], found[name], strict=True)
            lost = ", ".join(word for word, mine_is, theirs_is in pairs if mine_is > theirs_is)
            told = f"LOST {lost}" if lost else ""
            print(f"| {epsilon:g} | {name} | {distance:.4f} | {error:.4f} | {seconds:.2f} | {told} |")


def read(one: dict[str, Any]) -> tuple[Codes, float]:
    return np.array(one["codes"], dtype=np.int64).T, one["seconds"]


def table(part: str) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Adult with age and hours in classes; rows that miss a cell are left out, here and for the peer alike."""
    raw = pd.read_parquet(DATA / f"adult_{part}.parquet")
    raw["hours"] = pd.cut(raw["hours_per_week"], [0, 34, 40, 49, 99], labels=["part", "full", "more", "most"]).astype(
        str
    )
    raw["age"] = pd.cut(raw["age"], [16, 24, 34, 44, 54, 64, 90], labels=list("abcdef")).astype(str)
    frame = raw[list(GRAPH)].dropna().astype(str).reset_index(drop=True)
    every = pd.read_parquet(DATA / "adult_train.parquet")
    levels = {
        name: sorted(frame[name].unique()) if name in ("hours", "age") else sorted(every[name].dropna().unique())
        for name in GRAPH
    }
    return frame, levels


def codes_of(frame: pd.DataFrame, levels: dict[str, list[str]]) -> Codes:
    columns = [frame[name].map({level: code for code, level in enumerate(levels[name])}) for name in GRAPH]
    return np.column_stack([column.to_numpy(dtype=np.int64) for column in columns])


def ours(train: pd.DataFrame, levels: dict[str, list[str]], epsilon: float, seed: int) -> tuple[Codes, float]:
    """One release and one table of it."""
    schema = dc.Schema({name: dc.Categorical(levels[name]) for name in GRAPH}, n=len(train))
    start = perf_counter()
    opened = dc.open(train, schema, id="adult")
    model = dc.BayesianNetwork(GRAPH, prior=PRIOR)
    (release,) = dc.simulate(model, opened, dc.NoisyStatistics(epsilon=epsilon), runs=1, seed=seed)
    made = release.posterior().table(len(train), np.random.default_rng(seed)).to_pandas().astype(str)
    return codes_of(made, levels), perf_counter() - start


def distance_of_pairs(real: Codes, made: Codes, levels: dict[str, list[str]]) -> float:
    sizes = [len(levels[name]) for name in GRAPH]
    found = []
    for i, j in combinations(range(len(sizes)), 2):
        tables = [
            np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]) / len(codes)
            for codes in (real, made)
        ]
        found.append(0.5 * np.abs(tables[0] - tables[1]).sum())
    return float(np.mean(found))


def test_error(train: Codes, test: Codes, levels: dict[str, list[str]]) -> float:
    from sklearn.linear_model import LogisticRegression

    def design(codes: Codes) -> NDArray[np.float64]:
        parts = [np.eye(len(levels[name]))[codes[:, j]] for j, name in enumerate(GRAPH) if name != "income"]
        return np.concatenate(parts, axis=1)

    if len(np.unique(train[:, -1])) == 1:
        return float(np.mean(test[:, -1] != train[0, -1]))
    fitted = LogisticRegression(max_iter=300).fit(design(train), train[:, -1])
    return float(np.mean(fitted.predict(design(test)) != test[:, -1]))


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--smartnoise", type=int, default=TABLES, help="tables of each of SmartNoise's methods")
    run(**vars(parser.parse_args()))
