"""How the embedded engine's time and memory grow: with rows, with columns of numbers, with declared cells.

Every line is a process of its own that opens a Parquet file and asks, in turns with the plain hand-written query, under
the same settings: seconds of the processor, which others on the machine do not change, and (of the clock). Rows are
generated; memory is the most that the process held. Targets: at most 1.3 times the plain query for the most of each,
and less than 1 GB, up to a hundred million rows.

    python -m benchmarks growth                     up to ten million rows
    python -m benchmarks.growth rows 100000000      one line
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from numpy import median

from benchmarks.statistics import LARGEST_MEMORY, LARGEST_RATIO, PLAIN, SCHEMA, generate, peak, seconds, tables, verdict
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Bounded, Categorical, Schema
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset

RUNS = 3
SIZES = {
    "rows": (100_000, 1_000_000, 10_000_000),
    "columns": (2, 8, 32, 128),
    "cells": (100, 10_000, 100_000),
}
ROWS = 1_000_000  # where something else grows


def run() -> None:
    for what, sizes in SIZES.items():
        for size in sizes:
            line(what, size)


def line(what: str, size: int) -> None:
    """Write in one process and measure in another: the memory is that of asking."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for _ in ("write", "measure"):
            subprocess.run([sys.executable, "-m", "benchmarks.growth", what, str(size), str(path)], check=True)


def measure(what: str, size: int, path: Path) -> None:
    task = TASKS[what](size)
    data = open_dataset(path, task.schema)
    asked = task.query(data.schema)
    ours, plain, held = [], [], 0.0
    for _ in range(RUNS):
        ours.append(used(lambda: data.source.statistics(asked)))
        held = held or peak()  # before the plain query is asked
        plain.append(used(lambda: answered(path, task.plain)))
    (cpu, wall), (plain_cpu, plain_wall) = median(ours, axis=0), median(plain, axis=0)
    ratio, megabytes, is_last = cpu / plain_cpu, held / 1e6, size >= SIZES[what][-1]
    print(
        f"  {what:8} {size:12,}   discreet {cpu:8.3f} ({wall:8.3f})   plain {plain_cpu:8.3f} ({plain_wall:8.3f})   "
        f"ratio {ratio:5.2f} {verdict(ratio <= LARGEST_RATIO) if is_last else '':4}   "
        f"{megabytes:5.0f} MB {verdict(megabytes < LARGEST_MEMORY)}",
        flush=True,
    )


@dataclass(frozen=True)
class Task:
    """What writes the rows, what is asked of them, and what an analyst would write by hand."""

    write: Callable[[Path], None]
    schema: Schema
    query: Callable[[Schema], Statistics]
    plain: str


def texts(size: int) -> Task:
    """Five joint tables of columns of texts."""
    return Task(lambda path: generate(path, size), SCHEMA, tables, PLAIN)


def numbers(size: int) -> Task:
    """The sum of every column of numbers."""
    names = [f"x{k}" for k in range(size)]
    cells = ", ".join(f"(hash(i, {k}) % 1048576) / 1e4 AS {name}" for k, name in enumerate(names))
    plain = ", ".join(f"sum(least(greatest({name}, 0), 100))" for name in names)

    def query(opened: Schema) -> Statistics:
        return Statistics(opened, tuple(Sum.of(opened, name, name) for name in names))

    schema = Schema({name: Bounded(0, 100) for name in names})
    return Task(lambda path: written(path, cells), schema, query, f"SELECT count(*), {plain} FROM read_parquet(?)")


def joint(size: int) -> Task:
    """One table of two columns of texts."""
    levels = {"a": 10, "b": size // 10}
    cells = ", ".join(f"'{name}' || hash(i, '{name}') % {n} AS {name}" for name, n in levels.items())
    schema = Schema({name: Categorical([f"{name}{k}" for k in range(n)]) for name, n in levels.items()})

    def query(opened: Schema) -> Statistics:
        return Statistics(opened, (Counts.over(opened, "a by b", "a", "b"),))

    plain = "SELECT a, b, count(*) FROM read_parquet(?) GROUP BY ALL"
    return Task(lambda path: written(path, cells), schema, query, plain)


TASKS = {"rows": texts, "columns": numbers, "cells": joint}


def written(path: Path, cells: str) -> None:
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {cells} FROM range({ROWS}) AS t(i)) TO '{path}' (FORMAT parquet)")


def answered(path: Path, plain: str) -> None:
    with connect([str(path)]) as connection:
        connection.execute(plain, [str(path)]).fetchall()


def used(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of all threads, and of the clock."""
    processor = time.process_time()
    clock = seconds(call)
    return time.process_time() - processor, clock


if __name__ == "__main__":
    what, size, *given = sys.argv[1:]
    if not given:
        line(what, int(size))
    elif Path(*given).exists():
        measure(what, int(size), Path(*given))
    else:
        TASKS[what](int(size)).write(Path(*given))
