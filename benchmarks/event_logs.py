"""Hidden Markov models of event logs: sweeps against plain NumPy and two packages' EM, counting against a GROUP BY.

Targets: 200 sweeps at 20 regions x 72 months, 10 states, 50 levels at least 100 times as fast as the same sampler in
NumPy loops, and not slower than as many passes of the EM of dynamax (compiled beforehand) and of hmmlearn, each in an
environment of its own;
ten million events counted in at most 1.3 times the plain queries; the whole fit of the crash log in seconds.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

import discreet as dc
from benchmarks.peers import environment
from benchmarks.statistics import seconds, verdict
from benchmarks.tables import DATA
from discreet.inference.hidden_markov.hidden_chains import flat_counts, hidden_chains, prior_of
from discreet.queries.families import HiddenMarkov
from discreet.report import profile_bars, save, state_map
from discreet.sources.engines.duckdb import connect
from discreet.studies.event_log_studies import tempered_draws

REGIONS, MONTHS, STATES, FIELDS, LEVELS, SWEEPS = 20, 72, 10, 5, 10, 200
LEAST_SPEEDUP, LARGEST_RATIO, LARGEST_COUNTING = 100.0, 1.0, 1.3
NUMPY_SWEEPS, RUNS = 3, 5
EVENTS = 10_000_000
COLUMNS = {"region": 18, "month": 60, "f1": 8, "f2": 30, "f3": 2, "f4": 2, "f5": 2}
PEERS = ("dynamax", "hmmlearn")

Array = NDArray[np.float64]


def run() -> None:
    sweeps()
    counting()
    if DATA.exists():
        crashes()
    else:
        print("the crash log is skipped: shared data are absent")


def sweeps() -> None:
    """The compiled sampler, the same in NumPy loops, and EM."""
    family = HiddenMarkov(REGIONS, MONTHS, STATES, tuple((f"f{d}", LEVELS) for d in range(FIELDS)), 1.0, 1.0)
    log = dc.synthetic_event_log(REGIONS, MONTHS, (LEVELS,) * FIELDS, STATES, seed=0)
    model = dc.EventLogHMM("region", "month", tuple(log.profiles), states=STATES)
    dataset = dc.open(log.table, log.schema, id="synthetic")
    tables = dataset.source.statistics(model.query(dataset.schema))
    counts = {f"f{d}": table for d, table in enumerate(tables.values())}
    compiled = compiled_sweeps(family, counts)
    compiled(2)
    ours = min(seconds(lambda: compiled(SWEEPS)) for _ in range(RUNS))
    plain = seconds(lambda: numpy_sweeps(family, counts, NUMPY_SWEEPS)) * SWEEPS / NUMPY_SWEEPS
    em = {name: em_seconds(np.stack(list(tables.values()), axis=2), name) for name in PEERS}
    print(f"{SWEEPS} sweeps, {REGIONS} regions x {MONTHS} months, {STATES} states, {FIELDS * LEVELS} levels")
    print(f"  discreet                 {ours:8.3f} s (best of {RUNS})")
    print(f"  NumPy loops              {plain:8.1f} s (from {NUMPY_SWEEPS} sweeps)")
    ratio = plain / ours
    print(f"  times as fast            {ratio:8.0f}   target >= {LEAST_SPEEDUP:g}   {verdict(ratio >= LEAST_SPEEDUP)}")
    for name, found in em.items():
        whole = f", {found['whole']:.2f} s with compilation" if "whole" in found else ""
        print(f"  {f'{name} EM, {SWEEPS} passes':<24} {found['passes']:8.3f} s{whole}")
        ratio = ours / found["passes"]
        print(
            f"  ratio                    {ratio:8.2f}   target <= {LARGEST_RATIO:g}   {verdict(ratio <= LARGEST_RATIO)}"
        )


def compiled_sweeps(family: HiddenMarkov, counts: dict[str, Any]) -> Callable[[int], None]:
    """Blocked sweeps of one chain that has begun."""
    from discreet.inference.hidden_markov.hidden_chains import plug_in_start
    from discreet.inference.hidden_markov.kernels.hidden_states import blocked_sweep

    rng, flat, prior = np.random.default_rng(0), flat_counts(family, counts), prior_of(family)
    hidden = plug_in_start(family, flat, rng, 10)

    def go(number: int) -> None:
        for _ in range(number):
            blocked_sweep(hidden, flat, prior, 1.0, rng)

    return go


def numpy_sweeps(family: HiddenMarkov, counts: dict[str, Any], number: int) -> None:
    """The same blocked sampler as one writes it first: loops over regions and months, NumPy inside."""
    rng, states = np.random.default_rng(0), family.states
    tables = [np.asarray(counts[name], dtype=float) for name, _ in family.fields]
    z = rng.integers(states, size=(family.regions, family.times))
    for _ in range(number):
        start, moves = np.full(states, family.transition), np.full((states, states), family.transition)
        sums = [np.full((states, levels), family.emission) for _, levels in family.fields]
        for r in range(family.regions):
            start[z[r, 0]] += 1
            for t in range(family.times):
                if t > 0:
                    moves[z[r, t - 1], z[r, t]] += 1
                for field, table in zip(sums, tables, strict=True):
                    field[z[r, t]] += table[r, t]
        first, matrix = rng.dirichlet(start), np.array([rng.dirichlet(row) for row in moves])
        profiles = [np.log(np.array([rng.dirichlet(row) for row in field]) + 1e-300) for field in sums]
        for r in range(family.regions):
            forward = np.empty((family.times, states))
            for t in range(family.times):
                logs = sum(profile @ table[r, t] for profile, table in zip(profiles, tables, strict=True))
                likelihood = np.exp(logs - logs.max())
                ahead = first if t == 0 else forward[t - 1] @ matrix
                forward[t] = ahead * likelihood / (ahead @ likelihood)
            z[r, -1] = rng.choice(states, p=forward[-1])
            for t in range(family.times - 2, -1, -1):
                weight = forward[t] * matrix[:, z[r, t + 1]]
                z[r, t] = rng.choice(states, p=weight / weight.sum())


def em_seconds(counts: Any, name: str) -> dict[str, float]:
    """What a package takes for as many passes of EM over the same counts."""
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "counts.npy"
        np.save(held, counts)
        script = Path(__file__).with_name(f"{name}_fit.py")
        command = [environment(name, (name,)), script, held, str(STATES), str(SWEEPS)]
        return dict(json.loads(subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL)))


def counting() -> None:
    """The five tables region x month x field, as the library counts them and by five plain queries, in turns."""
    schema = dc.Schema({name: dc.Categorical([f"{name}-{k}" for k in range(n)]) for name, n in COLUMNS.items()})
    fields = tuple(COLUMNS)[2:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        cells = ", ".join(f"'{name}-' || hash(i, {k}) % {n} AS {name}" for k, (name, n) in enumerate(COLUMNS.items()))
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"COPY (SELECT {cells} FROM range({EVENTS}) AS t(i)) TO '{path}' (FORMAT parquet)")
        dataset = dc.open(path, schema)
        query = dc.EventLogHMM("region", "month", fields).query(dataset.schema)

        def plain() -> None:
            with connect([str(path)]) as connection:
                for name in fields:
                    text = f"SELECT region, month, {name}, count(*) FROM read_parquet(?) GROUP BY ALL"
                    connection.execute(text, [str(path)]).fetchall()

        times = [(seconds(lambda: dataset.source.statistics(query)), seconds(plain)) for _ in range(RUNS)]
    ours, theirs = np.median(times, axis=0)
    print(f"counting {EVENTS:,} events in {len(fields)} tables region x month x field")
    print(f"  discreet                 {ours:8.2f} s (median of {RUNS})")
    print(f"  five plain GROUP BYs     {theirs:8.2f} s")
    ratio = ours / theirs
    met = verdict(ratio <= LARGEST_COUNTING)
    print(f"  ratio                    {ratio:8.2f}   target <= {LARGEST_COUNTING}   {met}")


def crashes() -> None:
    """Fatal crashes by division and month: file to figures, and the sampler that is not paid once but at every step."""
    path, fields = DATA / "fars_crashes_2013_2015.parquet", ("type", "light", "weather", "drunk_driver")
    schema = crash_schema(path, "region", fields)

    def fit() -> None:
        dataset = dc.open(path, schema, id="crashes")
        model = dc.EventLogHMM("region", "month", fields, states=2)
        (release,) = dc.simulate(model, dataset, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=0)
        for kind in ("plug-in", "noise-aware"):
            posterior: Any = release.posterior(kind)
            with tempfile.TemporaryDirectory() as folder:
                grid = posterior.coordinates
                save(state_map(posterior.states(), grid.regions, grid.times), Path(folder) / "states.svg")
                save(profile_bars(posterior.profiles(), grid.fields), Path(folder) / "profiles.svg")

    fit()
    print(f"crash log, file to figures, both posteriors: {seconds(fit):.1f} s (target: seconds)")
    dataset = dc.open(path, schema, id="crashes")
    query = dc.EventLogHMM("region", "month", fields, states=2).query(dataset.schema)
    counts, rng = dataset.source.statistics(query), np.random.default_rng(0)
    family: Any = query.family
    once = seconds(lambda: hidden_chains(family, counts, rng, chains=1))
    tempered = seconds(lambda: tempered_draws(family, counts, 5.0, 0.1, rng))
    print(f"  one chain of 300 sweeps on counts that were paid once {once:.2f} s, 200 tempered sweeps {tempered:.2f} s")


def crash_schema(path: Path, region: str, fields: tuple[str, ...]) -> dc.Schema:
    """The public levels of the crash log's columns, here read off the file for brevity."""
    with duckdb.connect(":memory:") as connection:
        levels = {
            name: [row[0] for row in connection.execute(f"SELECT DISTINCT {name} FROM '{path}' ORDER BY 1").fetchall()]
            for name in (region, "month", *fields)
        }
    return dc.Schema({name: dc.Categorical(found) for name, found in levels.items()})


if __name__ == "__main__":
    run()
