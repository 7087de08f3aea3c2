"""A reservation costs the same whatever the ledger holds: 10 entries against 100,000, of a portfolio.

Target: at most 1.5 times as long at 100,000 entries. The entries are bought at once: they are as many rows, in one
transaction. Opening a ledger and refusing from it are shown beside it: the first reads every event.
"""

import tempfile
from pathlib import Path
from statistics import median

import discreet as dc
from benchmarks.statistics import seconds, verdict

FEW, MANY, RUNS = 10, 100_000, 31
LARGEST_RATIO = 1.5
SMALL, ASKED = dc.GaussianDP(1e-4), dc.PureDP(1e-3)  # the Gaussian member solves for the price of what is asked


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {entries: times(Path(folder) / f"{entries}.ledger", entries) for entries in (FEW, MANY)}
    for name in found[FEW]:
        few, many = found[FEW][name], found[MANY][name]
        line = f"{name:10} {FEW} entries {few * 1e3:8.2f} ms; {MANY:,} {many * 1e3:8.2f} ms; ratio {many / few:.2f}"
        target = f"   target <= {LARGEST_RATIO}   {verdict(many / few <= LARGEST_RATIO)}" if name == "reserve" else ""
        print(line + target)


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
