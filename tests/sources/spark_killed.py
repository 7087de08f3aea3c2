"""Run by itself: an executor of a small cluster is killed while statistics and a release are computed; prints what became of them."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa

import discreet as dc
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


def main() -> None:
    """Print one JSON object."""
    from pyspark.sql import functions as f

    schema = dc.Schema({"k": dc.Categorical(["0", "1", "2"]), "x": dc.Bounded(0, 400, grid=1.0)})
    table = pa.table({"k": [i % 3 for i in range(ROWS)], "x": [float(i) for i in range(ROWS)]})
    killed: list[int] = []
    with (
        running("local-cluster[2,1,1200]", **{"spark.executor.memory": "500m"}) as spark,
        tempfile.TemporaryDirectory() as folder,
    ):
        rows = spark.session.range(0, ROWS, 1, PARTS)
        slow = f.udf(slowly, "double")
        frame = rows.select((f.col("id") % 3).alias("k"), slow(f.col("id").cast("double")).alias("x"))
        data, own = (dc.open(source, schema, id="t") for source in (frame, table))
        query = Statistics(data.schema, (Counts.over(data.schema, "k", "k"), Sum.of(data.schema, "x", "x", within="k")))
        before, quiet = spark.said.read_bytes(), True
        killer = kill_one(2.0, killed)
        try:
            found = {name: array.tolist() for name, array in data.source.statistics(query).items()}
        except dc.ReleaseError as problem:
            found = {"error": str(problem)}
        killer.join()
        quiet = spark.said.read_bytes() == before
        exact = {name: array.tolist() for name, array in own.source.statistics(query).items()}
        ledger = dc.Ledger.create(str(Path(folder, "t.ledger")), dc.Budget(epsilon=1.0))
        asked = (dc.NormalMean("x", sd=100.0), data, dc.NoisyStatistics(epsilon=0.5), ledger)
        killer = kill_one(2.0, killed)
        try:
            said = dc.release(*asked).entry
        except dc.ReleaseError as problem:
            said = str(problem)
        killer.join()
        again = dc.release(*asked)
        result = {
            "killed": len(killed),
            "found": found,
            "exact": exact,
            "quiet": quiet,
            "said": said,
            "again": again.entry,
            "entries": len(list(ledger.entries())),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    sys.exit(main())
