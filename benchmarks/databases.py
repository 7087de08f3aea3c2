"""Exact statistics of a table in PostgreSQL, against the plain hand-written query on the same server, in turns.

A server of our own, from the programs of the tests. Six tasks: joint tables of six columns of type `text`, the same if
one text is long and kept apart, the same of `varchar(16)`, sums of three columns of numbers and a product, the sums
alone, and sums whose lower bound is below 0. Target: at most 1.3 times the plain query, which groups the texts, or
clips and sums the numbers, knows nothing of bad cells nor of a grid. Ours connects and asks; the plain query has a
connection.
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
RUNS = 5
LEVELS = {"class": 3, "f1": 4, "f2": 5, "f3": 6, "f4": 7, "f5": 8}
NUMBERS = Schema({name: Bounded(0, 100, grid=0.25) for name in ("x", "y", "z")})
BELOW = Schema({name: Bounded(-10, 100, grid=0.25) for name in ("x", "y", "z")})
TEXTS = "SELECT class, f1, f2, f3, f4, f5, count(*) FROM clinic.texts GROUP BY class, f1, f2, f3, f4, f5"
CLIPPED = {name: f"least(greatest({name}, 0), 100)" for name in ("x", "y", "z")}
SUMS = f"SELECT count(*), {', '.join(f'sum({cell})' for cell in CLIPPED.values())}"
PRODUCT = f", sum({CLIPPED['x']} * {CLIPPED['y']})"


def run() -> None:
    import psycopg

    from postgres_server import served

    with served("shared_buffers=512MB") as server, psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA clinic")
        print("                 rows     discreet        plain   ratio   (seconds, median of 5)")
        for rows in ROWS:
            for statement in made(rows):
                connection.execute(statement.encode())
            for name, (table, schema, asked, plain) in TASKS.items():
                data = open_dataset(server.url(), schema, table=f"clinic.{table}")
                query = asked(data.schema)
                ours, theirs = [], []
                for _ in range(RUNS):
                    ours.append(seconds(lambda data=data, query=query: data.source.statistics(query)))
                    theirs.append(seconds(lambda plain=plain: connection.execute(plain.encode()).fetchall()))
                ratio = median(ours) / median(theirs)
                met = verdict(ratio <= LARGEST_RATIO) if rows == ROWS[-1] else ""
                print(
                    f"  {name:11} {rows:9,} {median(ours):12.3f} {median(theirs):12.3f} {ratio:7.2f}   {met}",
                    flush=True,
                )
            connection.execute("DROP TABLE clinic.texts, clinic.apart, clinic.names, clinic.numbers")


def made(rows: int) -> tuple[str, ...]:
    """Statements that make the tables."""
    cells = ", ".join(
        f"'{name}-' || (hashint4(i * 7 + {k}) & 1023) % {n} AS {name}" for k, (name, n) in enumerate(LEVELS.items())
    )
    short = ", ".join(f"{name}::varchar(16)" for name in LEVELS)
    numbers = ", ".join(f"(hashint4(i * 7 + {k}) & 1048575) / 1e4::float8 AS {name}" for k, name in enumerate(CLIPPED))
    return (
        f"CREATE TABLE clinic.texts AS SELECT {cells} FROM generate_series(1, {rows}) AS t(i)",
        "CREATE TABLE clinic.apart AS SELECT * FROM clinic.texts",
        "INSERT INTO clinic.apart (f5) SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) AS t(i)",
        f"CREATE TABLE clinic.names AS SELECT {short} FROM clinic.texts",
        f"CREATE TABLE clinic.numbers AS SELECT {numbers} FROM generate_series(1, {rows}) AS t(i)",
        "VACUUM ANALYZE",
    )


def sums_and_a_product(schema: Schema) -> Statistics:
    """Sums of clipped numbers, and one product."""
    return Statistics(schema, (*sums(schema).statistics, Sum.of(schema, "product", "x", "y", bits=9)))


def sums(schema: Schema) -> Statistics:
    """Sums of clipped numbers."""
    return Statistics(schema, tuple(Sum.of(schema, name, name) for name in NUMBERS.columns))


TASKS = {
    "text": ("texts", SCHEMA, tables, TEXTS),
    "apart": ("apart", SCHEMA, tables, TEXTS.replace("texts", "apart")),
    "varchar(16)": ("names", SCHEMA, tables, TEXTS.replace("texts", "names")),
    "product": ("numbers", NUMBERS, sums_and_a_product, f"{SUMS}{PRODUCT} FROM clinic.numbers"),
    "sums": ("numbers", NUMBERS, sums, f"{SUMS} FROM clinic.numbers"),
    "below 0": ("numbers", BELOW, sums, f"{SUMS} FROM clinic.numbers".replace(", 0)", ", -10)")),
}
