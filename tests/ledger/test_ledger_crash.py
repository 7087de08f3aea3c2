"""Killed at any point: what was reserved stays spent, and nothing is charged twice."""

import signal
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from subprocess import Popen

import pytest

from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger

Start = Callable[..., "Popen[str]"]

KILLED_BETWEEN_RESERVE_AND_SETTLE = """
import os, signal, sys
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
entry = ledger.reserve(PureDP(0.4), {"label": "killed"})
os.kill(os.getpid(), signal.SIGKILL)
ledger.settle(entry, {"value": "never"})
"""

# The planted bug: the answer first, the charge after it.
ANSWERS_FIRST = """
import os, signal, sys
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
print("answer", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
ledger.reserve(PureDP(0.4), {"label": "killed"})
"""

KILLED_BEFORE_COMMIT = """
import os, signal, sys
from discreet.ledger import Ledger
from discreet.ledger.sqlite import SqliteStore

ledger = Ledger.open(sys.argv[1])
with SqliteStore(sys.argv[1]).noting() as events:
    events._connection.execute("PRAGMA cache_spill = 1")
    events._connection.execute("PRAGMA cache_size = 1")
    events.append("settle", "x", {"release": {"filling": "x" * 100_000}}, events.last())
    os.kill(os.getpid(), signal.SIGKILL)
"""

SPENDS_FOREVER = """
import sys
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
for i in range(10**6):
    entry = ledger.reserve(PureDP(0.001), {"run": sys.argv[2], "i": i})
    print("reserved", flush=True)
    ledger.settle(entry, {"value": i})
    print("settled", flush=True)
"""


def killed(process: "Popen[str]") -> str:
    """What a process that was killed had printed."""
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    return printed


def test_a_kill_between_reserve_and_settle_stays_spent_and_is_resumed_free(
    ledger: Ledger, path: Path, start: Start
) -> None:
    killed(start(KILLED_BETWEEN_RESERVE_AND_SETTLE, path))
    assert ledger.spent() == Decimal("0.4")
    (entry,) = ledger.entries()
    assert entry.status == "reserved"
    resumed = Ledger.open(path).reserve(PureDP(0.4), {"label": "killed"})
    assert resumed == entry
    assert ledger.settle(resumed, {"value": 1}) == {"value": 1}
    assert ledger.spent() == Decimal("0.4")
    ledger.verify()


def test_the_kill_catches_answering_before_charging(ledger: Ledger, path: Path, start: Start) -> None:
    assert killed(start(ANSWERS_FIRST, path)) == "answer\n"
    assert ledger.spent() == 0  # an answer has left and nothing was paid


def test_a_kill_inside_a_transaction_leaves_the_ledger_as_it_was(ledger: Ledger, path: Path, start: Start) -> None:
    ledger.reserve(PureDP(0.1), {})
    head = ledger.head()
    killed(start(KILLED_BEFORE_COMMIT, path))
    assert Path(f"{path}-journal").exists()  # half-written pages are in the file, and will be rolled back
    assert Ledger.open(path).head() == head
    ledger.verify(head)


def test_kills_at_random_times_never_forget_a_spend(path: Path, start: Start) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1000))
    reserved = settled = 0
    for run, lines in enumerate((1, 4, 7)):  # after so many lines, wherever the process is by then
        process = start(SPENDS_FOREVER, path, run)
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        printed += killed(process).splitlines(keepends=True)
        reserved, settled = reserved + printed.count("reserved\n"), settled + printed.count("settled\n")
    entries = ledger.entries()
    assert len(entries) >= reserved > 0
    assert sum(entry.status == "settled" for entry in entries) >= settled
    assert ledger.spent() == Decimal("0.001") * len(entries)
    ledger.verify()


FILLS_THE_DISK = """
import resource, sys
from pathlib import Path
from discreet.errors import LedgerError
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
size = Path(sys.argv[1]).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    ledger.reserve(PureDP(0.5), {"filling": "x" * 20_000})
except LedgerError as error:
    print(error)
"""


def test_a_full_disk_spends_nothing_and_says_so(ledger: Ledger, path: Path, start: Start) -> None:
    pytest.importorskip("resource")
    printed, _ = start(FILLS_THE_DISK, path).communicate(timeout=60)
    assert "on a disk that can be read and has room" in printed
    assert ledger.spent() == 0
    ledger.verify()
    with pytest.raises(LedgerError):
        Ledger.open(path.parent)
