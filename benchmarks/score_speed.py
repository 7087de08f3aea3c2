"""Speed of noisy scores: against a diffprivlib fit, against the gradient of a Langevin step, and on five million rows.

Targets: Adult from the file to the released scores in at most the time of one diffprivlib fit on rows that are encoded
already; one score at most 1.5 times a Langevin gradient on the same rows, packed as the chains pack them; a score of
five million rows and 20 numbers in at most 2 seconds on two cores.
"""

from typing import Any

import numpy as np
from numba import get_num_threads

import discreet as dc
from benchmarks.glm_speed import seconds
from benchmarks.peers import diffprivlib_fits
from benchmarks.statistics import verdict
from benchmarks.tables import DATA, Task, adult
from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, Rows, gradients
from discreet.mechanisms.gibbs_posterior.langevin_chains import packing_of, threads
from discreet.queries.scores import first_map, walk
from discreet.sources import CodedRows

EPSILON, DELTA, RUNS, TURNS = 1.0, 1e-5, 5, 3
LARGEST_RATIO, LARGEST_STEP_RATIO, LARGEST_SECONDS = 1.0, 1.5, 2.0
ROWS, FEATURES = 5_000_000, 20
MECHANISM = dc.NoisyScore(epsilon=EPSILON, delta=DELTA)


def run() -> None:
    if DATA.exists():
        task = adult()
        end_to_end(task)
        opened = dc.open(task.train, task.schema, id="adult")
        one_step("Adult", opened.source, task.query)
    else:
        print("Adult is skipped: shared data are absent")
    schema = dc.Schema({f"x{j}": dc.Bounded(-1, 1) for j in range(FEATURES)} | {"y": dc.Binary()}, n=ROWS)
    query = dc.LogisticRegression("y", tuple(f"x{j}" for j in range(FEATURES))).query(schema)
    rng = np.random.default_rng(2)
    cells = {axis.column: rng.integers(-(2**19), 2**19, size=ROWS) for axis in query.features.numbers}
    step = one_step("five million rows", CodedRows(cells | {"y": rng.integers(2, size=ROWS)}), query)
    print(f"  seconds a score, {get_num_threads()} threads {step:6.2f}   target <= {LARGEST_SECONDS:g}   "
          f"{verdict(step <= LARGEST_SECONDS)}")  # fmt: skip


def end_to_end(task: Task) -> None:
    """One release against one fit, in turns."""
    arrays = task.arrays | {name: task.arrays[name][:, 1:] for name in ("train", "test")}
    request = {"epsilons": [EPSILON], "cs": [1.0], "fits": RUNS, "norm": task.query.features.radius}
    release(task)
    ours, theirs = [], []
    for _ in range(TURNS):
        ours += [seconds(lambda: release(task)) for _ in range(RUNS)]
        (found,) = diffprivlib_fits(arrays, request, keep=False)
        theirs += found["seconds"]
    ratio = min(ours) / min(theirs)
    print(f"Adult, {MECHANISM.steps} scores {min(ours):.3f} s, one diffprivlib fit {min(theirs):.3f} s")
    print(f"  ratio                    {ratio:7.2f}   target <= {LARGEST_RATIO:g}   {verdict(ratio <= LARGEST_RATIO)}")


def release(task: Task) -> Any:
    """From the file to what leaves."""
    dataset = dc.open(DATA / "adult_train.parquet", task.schema, id="adult")
    return dc.simulate(task.model, dataset, MECHANISM, runs=1)


def one_step(name: str, source: Any, query: Any) -> float:
    """Seconds of one score, beside one gradient of the same rows."""
    law, features = MECHANISM.constants(query), query.features
    with source.scores(query, law) as rows:
        released = rows.totals()
        totals = law.totals(released)
        if law.has_moments:
            released |= rows.moments(first_map(law.terms, totals))
        score = rows.scores(walk(law.terms, totals, law.moments(released)).map)
        point = np.full(law.directions + 1, 0.1)
        score(point)
        ours = min(seconds(lambda: score(point)) for _ in range(4 * RUNS))
    with source.design(query) as design:
        packing = packing_of(features.offsets, features.size)
        held = Rows(design.numbers, packing.codes(design.codes), design.targets, design.weights, design.shrink)
        w = np.full((1, packing.members.shape[1]), 0.1)
        parts = np.zeros((BLOCKS, 1, w.shape[1]))

        def gradient() -> None:
            with threads(design.targets.size * (held.numbers.shape[1] + held.codes.shape[1] + 4)):
                gradients(query.branch, w, int(features.intercept), held, parts)

        gradient()
        theirs = min(seconds(gradient) for _ in range(4 * RUNS))
    ratio = ours / theirs
    print(f"{name}: one score {ours * 1e3:.1f} ms, one Langevin gradient {theirs * 1e3:.1f} ms")
    print(f"  ratio                    {ratio:7.2f}   target <= {LARGEST_STEP_RATIO:g}   "
          f"{verdict(ratio <= LARGEST_STEP_RATIO)}")  # fmt: skip
    return ours


if __name__ == "__main__":
    run()
