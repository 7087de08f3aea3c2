"""Many processes at once: the budget is spent exactly to its end, and each release leaves once."""

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from subprocess import Popen

from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.ledger.heads import HeadFile

Start = Callable[..., "Popen[str]"]

SPENDER = """
import sys
from discreet.errors import BudgetExceeded
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

path, name = sys.argv[1:]
ledger = Ledger.open(path)
print("ready", flush=True)
sys.stdin.readline()
accepted = 0
for attempt in range(20):
    try:
        ledger.reserve(PureDP(1.0), {"process": name, "attempt": attempt})
        accepted += 1
    except BudgetExceeded:
        pass
print(accepted)
"""

# The planted bug: look at what is left, then spend it in a second transaction.
NAIVE = """
import sqlite3, sys
path = sys.argv[1]
connection = sqlite3.connect(path, timeout=60, isolation_level=None)
(spent,) = connection.execute("SELECT count(*) FROM spends").fetchone()
print("ready", flush=True)
sys.stdin.readline()
if spent < 1:
    connection.execute("INSERT INTO spends VALUES (1)")
print(int(spent < 1))
"""

SETTLER = """
import json, sys
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

path, name = sys.argv[1:]
ledger = Ledger.open(path)
print("ready", flush=True)
sys.stdin.readline()
entry = ledger.reserve(PureDP(1.0), {"same": "request"})
print(json.dumps(ledger.settle(entry, {"drawn by": name})))
"""

FORKER = """
import os, sys
from discreet.guarantee import PureDP
from discreet.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
ledger.reserve(PureDP(1.0), {"before": "fork"})
print("ready", flush=True)
sys.stdin.readline()
for child in range(4):
    if os.fork() == 0:
        for i in range(3):
            ledger.settle(ledger.reserve(PureDP(1.0), {"child": child, "i": i}), {"value": i})
        os._exit(0)
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)])
"""


def race(processes: list["Popen[str]"]) -> list[str]:
    """Let all start at once, when all are ready; their answers."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return answers


def test_eight_processes_spend_forty_of_forty(path: Path, start: Start) -> None:
    ledger = Ledger.create(path, Budget(epsilon=40))
    accepted = race([start(SPENDER, path, i) for i in range(8)])
    assert sum(map(int, accepted)) == 40
    assert ledger.spent() == Decimal(40)
    assert len(ledger.entries()) == 40
    head = HeadFile(path).read()
    assert head is not None
    assert (head.seq, head.hash) == (41, ledger.head())  # the last of eight writers of it was the last of the chain
    ledger.verify()


def test_the_race_catches_check_then_spend(path: Path, start: Start) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE spends (epsilon)")
    connection.close()
    accepted = race([start(NAIVE, path) for _ in range(2)])
    assert sum(map(int, accepted)) == 2  # of a budget of one


def test_processes_racing_for_one_request_release_one_answer(path: Path, start: Start) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1))
    answers = race([start(SETTLER, path, i) for i in range(4)])
    assert len(set(answers)) == 1
    assert ledger.spent() == Decimal(1)
    assert len(ledger.entries()) == 1
    ledger.verify()


def test_children_of_a_fork_share_one_budget(path: Path, start: Start) -> None:
    ledger = Ledger.create(path, Budget(epsilon=13))
    assert race([start(FORKER, path)]) == ["[0, 0, 0, 0]\n"]
    assert ledger.spent() == Decimal(13)
    assert [entry.status for entry in ledger.entries()].count("settled") == 12
    ledger.verify()
