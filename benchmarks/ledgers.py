"""A reservation costs the same whatever the ledger holds: 10 entries against 100,000, of a portfolio.

Target: at most 1.5 times as long at 100,000 entries. The entries are bought at once: they are as many rows, in one
transaction. Opening a ledger and refusing from it are shown beside it: the first reads every event. So are the commands
that show 100,000 entries, in CPU seconds and memory, and the reservations a second of a ledger in PostgreSQL,
as a ratio to one row a transaction on the same server, which waits for the same disk.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import discreet as dc
from benchmarks.statistics import seconds, verdict

FEW, MANY, RUNS = 10, 100_000, 31
LARGEST_RATIO = 1.5
SHARED_RUNS = 200
SMALL, ASKED = dc.GaussianDP(1e-4), dc.PureDP(1e-3)  # the Gaussian member solves for the price of what is asked


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {entries: times(Path(folder) / f"{entries}.ledger", entries) for entries in (FEW, MANY)}
        report(found)
        shown(Path(folder) / f"{MANY}.ledger")
    shared()


def report(found: dict[int, dict[str, float]]) -> None:
    """Few entries against many."""
    for name in found[FEW]:
        few, many = found[FEW][name], found[MANY][name]
        line = f"{name:10} {FEW} entries {few * 1e3:8.2f} ms; {MANY:,} {many * 1e3:8.2f} ms; ratio {many / few:.2f}"
        target = f"   target <= {LARGEST_RATIO}   {verdict(many / few <= LARGEST_RATIO)}" if name == "reserve" else ""
        print(line + target)


def shown(path: Path) -> None:
    """What it takes to show a large ledger."""
    for options in ((), ("--all",), ("--json",)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "discreet", "ledger", "show", str(path), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        name = " ".join(("show", *options))
        print(f"{name:12} {MANY:,} entries {used:6.1f} CPU seconds; {after.ru_maxrss / 1024:,.0f} MB at most so far")


def shared() -> None:
    """Reservations in PostgreSQL against plain durable transactions."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import psycopg

    from postgres_server import NoServerError, served

    with ExitStack() as stack:
        os.environ["XDG_STATE_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            url = stack.enter_context(stack.enter_context(served(durable=True)).database("ledgers"))
        except NoServerError as problem:
            print(f"PostgreSQL: none here ({problem})")
            return
        ledger = dc.Ledger.create(url, dc.Budget(3))
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        connection.execute("CREATE TABLE plain (x text)")
        plain = times_of(lambda i: connection.execute("INSERT INTO plain VALUES (%s)", (f"{i}",)))
        reserve = times_of(lambda i: ledger.reserve(ASKED, {"i": i}))
        print(f"PostgreSQL   {1 / reserve:6.0f} reservations/s; {1 / plain:6.0f} plain/s; ratio {reserve / plain:.1f}")


def times_of(once: Callable[[int], object]) -> float:
    """Seconds of one, in the middle of many."""
    taken = []
    for i in range(SHARED_RUNS):
        start = time.perf_counter()
        once(i)
        taken.append(time.perf_counter() - start)
    return median(taken)


def times(path: Path, entries: int) -> dict[str, float]:
    """Seconds of a reservation, a quote, a refusal and an opening."""
    ledger = dc.Ledger.create(path, dc.Budget(3, 1e-6))
    for start in range(0, entries, 10_000):
        ledger.reserve_all([(SMALL, {"i": i}) for i in range(start, min(start + 10_000, entries))])
    reserve = [seconds(lambda i=i: ledger.reserve(ASKED, {"run": i})) for i in range(RUNS)]
    return {
        "reserve": median(reserve),
        "quote": median(seconds(lambda: ledger.quote([ASKED])) for _ in range(RUNS)),
        "refuse": median(seconds(lambda: refused(ledger)) for _ in range(3)),
        "open": seconds(lambda: dc.Ledger.open(path)),
    }


def refused(ledger: dc.Ledger) -> None:
    try:
        ledger.reserve(dc.ZCDP(100), {"refused": True})
    except dc.BudgetExceeded:
        return
    raise AssertionError("a request was not refused")


if __name__ == "__main__":
    run()
