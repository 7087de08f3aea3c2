"""Exact statistics of a table in PostgreSQL, against the plain hand-written query on the same server, in turns.

A server of our own, from the programs of the tests; a table of texts and one of numbers. Target: at most 1.3 times the
plain query, which groups the texts, or clips and sums the numbers, and knows nothing of bad cells.
"""

import sys
from pathlib import Path

from numpy import median

from benchmarks.statistics import LARGEST_RATIO, SCHEMA, seconds, tables, verdict
from discreet.queries.counts_and_sums import Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Bounded, Schema
from discreet.sources.open import open_dataset

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ROWS = (100_000, 1_000_000, 4_000_000)
RUNS = 3
LEVELS = {"class": 3, "f1": 4, "f2": 5, "f3": 6, "f4": 7, "f5": 8}
NUMBERS = Schema({name: Bounded(0, 100, grid=0.25) for name in ("x", "y", "z")})
TEXTS = "SELECT class, f1, f2, f3, f4, f5, count(*) FROM clinic.texts GROUP BY class, f1, f2, f3, f4, f5"
CLIPPED = {name: f"least(greatest({name}, 0), 100)" for name in ("x", "y", "z")}
SUMS = (
    f"SELECT count(*), {', '.join(f'sum({cell})' for cell in CLIPPED.values())}, sum({CLIPPED['x']} * {CLIPPED['y']})"
)


def run() -> None:
    import psycopg

    from postgres_server import served

    with served("shared_buffers=512MB") as server, psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA clinic")
        print("              rows     discreet        plain   ratio   (seconds, median of 3)")
        for rows in ROWS:
            cells = ", ".join(
                f"'{name}-' || (hashint4(i * 7 + {k}) & 1023) % {n} AS {name}"
                for k, (name, n) in enumerate(LEVELS.items())
            )
            connection.execute(f"CREATE TABLE clinic.texts AS SELECT {cells} FROM generate_series(1, {rows}) AS t(i)")  # type: ignore[arg-type]
            numbers = ", ".join(
                f"(hashint4(i * 7 + {k}) & 1048575) / 1e4::float8 AS {name}" for k, name in enumerate(CLIPPED)
            )
            connection.execute(
                f"CREATE TABLE clinic.numbers AS SELECT {numbers} FROM generate_series(1, {rows}) AS t(i)"
            )  # type: ignore[arg-type]
            connection.execute("VACUUM ANALYZE")
            for table, schema, plain in (("texts", SCHEMA, TEXTS), ("numbers", NUMBERS, f"{SUMS} FROM clinic.numbers")):
                data = open_dataset(server.url(), schema, table=f"clinic.{table}")
                query = tables(data.schema) if table == "texts" else sums(data.schema)
                ours, theirs = [], []
                for _ in range(RUNS):
                    ours.append(seconds(lambda data=data, query=query: data.source.statistics(query)))
                    theirs.append(seconds(lambda plain=plain: connection.execute(plain).fetchall()))
                ratio = median(ours) / median(theirs)
                met = verdict(ratio <= LARGEST_RATIO) if rows == ROWS[-1] else ""
                print(
                    f"  {table:8} {rows:9,} {median(ours):12.3f} {median(theirs):12.3f} {ratio:7.2f}   {met}",
                    flush=True,
                )
            connection.execute("DROP TABLE clinic.texts, clinic.numbers")


def sums(schema: Schema) -> Statistics:
    """Sums and one product of clipped numbers."""
    found = [Sum.of(schema, name, name) for name in NUMBERS.columns]
    return Statistics(schema, (*found, Sum.of(schema, "product", "x", "y", bits=9)))
