"""Exact statistics of ten million rows through the embedded engine, against the plain hand-written GROUP BY.

Both run in the same process, with the same DuckDB settings, in turns. Targets: at most 1.3 times the time of the plain
query, and less than 1 GB of memory for a process that only opens the file and asks.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from numpy import median

from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.schema import Categorical, Schema
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset

ROWS = 10_000_000
LEVELS = {"class": 3, "f1": 4, "f2": 5, "f3": 6, "f4": 7, "f5": 8}
RUNS = 5
LARGEST_RATIO = 1.3
LARGEST_MEMORY = 1000

SCHEMA = Schema({name: Categorical([f"{name}-{k}" for k in range(levels)]) for name, levels in LEVELS.items()})
PLAIN = "SELECT class, f1, f2, f3, f4, f5, count(*) FROM read_parquet(?) GROUP BY ALL"


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path)
        dataset = open_dataset(path, SCHEMA)
        query = tables(dataset.schema)
        ours, plain = [], []
        for _ in range(RUNS):
            ours.append(seconds(lambda: dataset.source.statistics(query)))
            plain.append(seconds(lambda: plain_query(path)))
        print(f"statistics of {ROWS:,} rows, 5 tables class x feature")
        print(f"  discreet        {median(ours):7.3f} s (median of {RUNS})")
        print(f"  plain GROUP BY  {median(plain):7.3f} s")
        ratio = median(ours) / median(plain)
        print(f"  ratio           {ratio:7.2f}   target <= {LARGEST_RATIO}   {verdict(ratio <= LARGEST_RATIO)}")
        command = [sys.executable, "-m", "benchmarks.statistics", str(path)]
        memory = float(subprocess.check_output(command, cwd=Path(__file__).parents[1], text=True))
        megabytes = memory / 1e6
        print(
            f"  peak memory     {megabytes:7.0f} MB target < {LARGEST_MEMORY} MB  {verdict(megabytes < LARGEST_MEMORY)}"
        )


def verdict(met: bool) -> str:
    return "met" if met else "LOST"


def generate(path: Path, rows: int = ROWS) -> None:
    """Independent uniform features; DuckDB's hash is the only randomness, so every run has the same file."""
    cells = ", ".join(
        f"'{name}-' || hash(i, {k}) % {levels} AS {name}" for k, (name, levels) in enumerate(LEVELS.items())
    )
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {cells} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")


def tables(schema: Schema) -> Statistics:
    return Statistics(schema, tuple(Counts.over(schema, name, "class", name) for name in LEVELS if name != "class"))


def plain_query(path: Path) -> None:
    with connect([str(path)]) as connection:
        connection.execute(PLAIN, [str(path)]).fetchall()


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_memory(path: str) -> float:
    """Bytes held at most by this process after one query."""
    dataset = open_dataset(path, SCHEMA)
    dataset.source.statistics(tables(dataset.schema))
    return peak()


def peak() -> float:
    """Bytes held at most by this process so far (macOS counts bytes, Linux kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(peak_memory(sys.argv[1])) if len(sys.argv) > 1 else run()
