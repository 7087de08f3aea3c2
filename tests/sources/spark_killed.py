"""Run by itself: an executor of a small cluster is killed while statistics, noisy scores and Langevin steps are computed.

Each is asked for twice, as an answer from seeded noise, to be compared with the embedded engine, and as a release from
a ledger. Prints what became of them.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.mechanisms.gibbs_posterior.distant_chains import distant_chains
from discreet.noise.sources import SeededNoise
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from spark_session import running

ROWS, PARTS = 400, 8


def executors() -> list[int]:
    """The executors of this process's cluster."""
    found, parents = [], {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(folder.name)] = int(fields[1])
            if (
                b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes()
                and b"java" in (folder / "cmdline").read_bytes().split(b"\0")[0]
            ):
                found.append(int(folder.name))
        except (OSError, IndexError):
            continue

    def is_ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return [pid for pid in found if is_ours(pid)]


def kill_one(after: float, killed: list[int]) -> threading.Thread:
    """Kill the first executor in a while."""

    def work() -> None:
        time.sleep(after)
        for pid in executors()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def slowly(x):  # type: ignore[no-untyped-def]  # Spark reads hints
    """Takes a while, so that there is something to interrupt."""
    import time

    time.sleep(0.02)
    return x


ROUNDS = 3  # after so many steps an executor is killed

MODEL = dc.LogisticRegression("y", ("x", "k"))
MECHANISMS: dict[str, Any] = {
    "scores": dc.NoisyScore(rho=0.05, steps=8),
    "langevin": dc.GibbsPosterior(epsilon=0.5, delta=1e-7, steps=8),
}


def statistics(data: dc.Dataset, killed: list[int] | None) -> Any:
    """Counts and sums within levels."""
    query = Statistics(data.schema, (Counts.over(data.schema, "k", "k"), Sum.of(data.schema, "x", "x", within="k")))
    killer = None if killed is None else kill_one(2.0, killed)
    try:
        return {name: array.tolist() for name, array in data.source.statistics(query).items()}
    finally:
        if killer is not None:
            killer.join()


def scores(data: dc.Dataset, killed: list[int] | None) -> Any:
    """Everything that a release of noisy scores holds."""
    query = MODEL.query(data.schema)
    with killing(killed) as told:
        value = MECHANISMS["scores"].apply(SeededNoise(1), query, data, told)
    return {name: [str(cell) for cell in array.ravel().tolist()] for name, array in value.items()}


def langevin(data: dc.Dataset, killed: list[int] | None) -> Any:
    """The state of a chain before it is rounded."""
    query = MODEL.query(data.schema)
    law, rng = MECHANISMS["langevin"].law(query), np.random.default_rng(1)
    with killing(killed) as told, data.source.sums(query) as rows:
        return distant_chains(query, law, rows, 1, rng, told).tolist()


@contextmanager
def killing(killed: list[int] | None) -> Iterator[Callable[[int], None] | None]:
    """Told of steps, kills an executor soon after a few of them; None kills nobody."""
    killers: list[threading.Thread] = []
    done = [0]

    def told(steps: int) -> None:
        done[0] += steps
        if done[0] == ROUNDS and killed is not None:
            killers.append(kill_one(0.05, killed))

    try:
        yield None if killed is None else told
    finally:
        for killer in killers:
            killer.join()


def released(data: dc.Dataset, name: str, folder: str) -> dict[str, Any]:
    """What a release says when an executor dies while it is computed, and what the same request gives afterwards."""
    ledger, killed = dc.Ledger.create(str(Path(folder, f"{name}.ledger")), dc.Budget(epsilon=9.0, delta=1e-5)), []
    try:
        if name in MECHANISMS:
            asked: Any = (MODEL, data, MECHANISMS[name], ledger)
            with killing(killed) as told:
                said = dc.release(*asked, progress=told).entry
        else:
            asked = (dc.NormalMean("x", sd=100.0), data, dc.NoisyStatistics(epsilon=0.5), ledger)
            killer = kill_one(2.0, killed)
            try:
                said = dc.release(*asked).entry
            finally:
                killer.join()
    except dc.ReleaseError as problem:
        said = str(problem)
    again = dc.release(*asked)
    return {"killed": len(killed), "said": said, "again": again.entry, "entries": len(ledger.entries())}


def main() -> None:
    """Print one JSON object."""
    from pyspark.sql import functions as f

    columns = {"k": dc.Categorical(["0", "1", "2"]), "x": dc.Bounded(0, 400, grid=1.0), "y": dc.Binary()}
    numbers = range(ROWS)
    table = pa.table({"k": [i % 3 for i in numbers], "x": [float(i) for i in numbers], "y": [i % 2 for i in numbers]})
    result: dict[str, Any] = {}
    with (
        running("local-cluster[2,1,1200]", **{"spark.executor.memory": "500m"}) as spark,
        tempfile.TemporaryDirectory() as folder,
    ):
        rows = spark.session.range(0, ROWS, 1, PARTS)
        slow = f.udf(slowly, "double")(f.col("id").cast("double"))
        frame = rows.select((f.col("id") % 3).alias("k"), slow.alias("x"), (f.col("id") % 2).alias("y"))
        data, own = (dc.open(source, dc.Schema(columns), id="t") for source in (frame, table))
        for ask in (statistics, scores, langevin):
            before, killed = spark.said.read_bytes(), []
            try:
                found = ask(data, killed)
            except dc.ReleaseError as problem:
                found = str(problem)
            quiet = spark.said.read_bytes() == before
            parts = {"killed": len(killed), "found": found, "exact": ask(own, None), "quiet": quiet}
            result[ask.__name__] = parts | {"release": released(data, ask.__name__, folder)}
    print(json.dumps(result))


if __name__ == "__main__":
    sys.exit(main())
