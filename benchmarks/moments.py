"""Exact sums and products of six columns, ten million rows, against the hand-written query on the raw doubles.

Both run in the same process, with the same DuckDB settings, in turns. The plain query sums floating-point numbers as
they are, unclipped, in an order that changes from run to run; ours clips every cell, reads bad ones by their rule and
sums whole numbers. Target: at most 1.5 times the time of the plain query.
"""

import tempfile
from itertools import combinations_with_replacement
from pathlib import Path

import duckdb
from numpy import median

from benchmarks.statistics import seconds, verdict
from discreet.queries.counts_and_sums import PRODUCT_BITS, Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Bounded, Schema
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset

ROWS = 10_000_000
RUNS = 9
LARGEST_RATIO = 1.5

NAMES = [f"x{k}" for k in range(6)]
PAIRS = list(combinations_with_replacement(NAMES, 2))
INSIDE = Schema({name: Bounded(-2, 2) for name in NAMES})
CLIPPED = Schema({name: Bounded(-1.9, 1.9) for name in NAMES})  # every twentieth cell lies outside its bounds
TERMS = [*NAMES, *(f"{one} * {other}" for one, other in PAIRS)]
PLAIN = f"SELECT {', '.join(f'sum({term})' for term in TERMS)} FROM read_parquet(?)"


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path)
        print(f"{len(TERMS)} sums of {ROWS:,} rows, 6 columns of doubles")
        ratio = compare(path, INSIDE)
        print(f"  ratio           {ratio:7.2f}   target <= {LARGEST_RATIO}   {verdict(ratio <= LARGEST_RATIO)}")
        print("the same with every twentieth cell outside its bounds, for information: such blocks are clipped by row")
        print(f"  ratio           {compare(path, CLIPPED):7.2f}")


def compare(path: Path, schema: Schema) -> float:
    """How many times longer than the plain query ours takes."""
    dataset = open_dataset(path, schema)
    query = moments(dataset.schema)
    ours, plain = [], []
    for _ in range(RUNS):
        ours.append(seconds(lambda: dataset.source.statistics(query)))
        plain.append(seconds(lambda: plain_query(path)))
    print(f"  discreet        {median(ours):7.3f} s (median of {RUNS})")
    print(f"  plain doubles   {median(plain):7.3f} s")
    return float(median(ours) / median(plain))


def generate(path: Path) -> None:
    """Independent uniform numbers; DuckDB's hash is the only randomness, so every run has the same file."""
    cells = ", ".join(f"(hash(i, {k}) % 1000003)::DOUBLE / 1000003 * 4 - 2 AS {n}" for k, n in enumerate(NAMES))
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {cells} FROM range({ROWS}) AS t(i)) TO '{path}' (FORMAT parquet)")


def moments(schema: Schema) -> Statistics:
    sums = [Sum.of(schema, name, name, bits=PRODUCT_BITS) for name in NAMES]
    products = [Sum.of(schema, f"{one} {other}", one, other, bits=PRODUCT_BITS) for one, other in PAIRS]
    return Statistics(schema, (Counts("n", (), ()), *sums, *products))


def plain_query(path: Path) -> None:
    with connect([str(path)]) as connection:
        connection.execute(PLAIN, [str(path)]).fetchall()


if __name__ == "__main__":
    run()
