"""A ledger of epsilon = 1 in a folder of its own, a database for ledgers, and a way to run Python in other processes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from discreet.guarantee import Budget
from discreet.ledger import Ledger
from postgres_server import Server

Start = Callable[..., "subprocess.Popen[str]"]
NUMBERS = count()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, Budget(epsilon=1))


@pytest.fixture
def address(durable: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a ledger that is not there yet, in a database of its own; heads are noted in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with durable.database(f"ledgers_{next(NUMBERS)}") as url:
        yield f"{url}&ledger=patients"


@pytest.fixture
def start() -> Start:
    """Start `program` in a Python process of its own; its arguments are in sys.argv."""

    def run(program: str, *arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    return run
