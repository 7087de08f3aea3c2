"""Exact statistics in Spark, against the plain aggregation that a user would write, in the same session and in turns.

Target: at most 1.3 times its time. Then the same question of 10^5 to 10^7 rows: what a row costs must not grow.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from numpy import median

from benchmarks.statistics import LEVELS, seconds, verdict
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Bounded, Categorical, Schema
from discreet.sources.open import open_dataset

ROWS = (100_000, 1_000_000, 5_000_000)
RUNS = 5
FIRST = 3  # runs of each, of which Java compiles what it sees often
LARGEST_RATIO = 1.3

SCHEMA = Schema(
    {name: Categorical([f"{name}-{k}" for k in range(levels)]) for name, levels in LEVELS.items()}
    | {"x": Bounded(0, 100), "y": Bounded(0, 200)}
)


def run() -> None:
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        for rows in ROWS:
            path = Path(folder) / f"{rows}.parquet"
            generate(path, rows)
            frame = session.read.parquet(str(path))
            data = open_dataset(frame, SCHEMA, id="bench")
            for name, query, plain in (
                ("tables class x feature", tables(data.schema), partial(plain_tables, frame)),
                ("moments by class", moments(data.schema), partial(plain_moments, frame)),
            ):
                asked = partial(data.source.statistics, query)
                for _ in range(FIRST):
                    asked(), plain()
                ours, theirs = [], []
                for _ in range(RUNS):
                    ours.append(seconds(asked))
                    theirs.append(seconds(plain))
                ratio = median(ours) / median(theirs)
                told = verdict(ratio <= LARGEST_RATIO) if rows == ROWS[-1] else ""
                each = f"{1e9 * median(ours) / rows:8.0f} ns a row"
                print(f"  {rows:>10,} rows, {name:<24}{median(ours):7.2f} s {each}, ratio {ratio:5.2f} {told}")
    session.stop()


def generate(path: Path, rows: int) -> None:
    """Independent uniform features; DuckDB's hash is the only randomness, so every run has the same file."""
    cells = [f"'{name}-' || hash(i, {k}) % {levels} AS {name}" for k, (name, levels) in enumerate(LEVELS.items())]
    cells += ["(hash(i, 77) % 100000) / 1000.0 AS x", "(hash(i, 78) % 20000) / 100.0 AS y"]
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {', '.join(cells)} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")


def tables(schema: Schema) -> Statistics:
    return Statistics(schema, tuple(Counts.over(schema, name, "class", name) for name in LEVELS if name != "class"))


def moments(schema: Schema) -> Statistics:
    sums = (Sum.of(schema, "".join(pair), *pair, within="class") for pair in ("x", "y", "xx", "xy", "yy"))
    return Statistics(schema, (Counts.over(schema, "class", "class"), *sums))


def plain_tables(frame: Any) -> None:
    frame.groupBy(*LEVELS).count().collect()


def plain_moments(frame: Any) -> None:
    from pyspark.sql import functions as f

    products = [frame.x, frame.y, frame.x * frame.x, frame.x * frame.y, frame.y * frame.y]
    frame.groupBy("class").agg(f.count("*"), *map(f.sum, products)).collect()
