"""A ledger of epsilon = 1 in a folder of its own, and a way to run Python in other processes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.guarantee import Budget
from discreet.ledger import Ledger

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, Budget(epsilon=1))


@pytest.fixture
def start() -> Start:
    """Start `program` in a Python process of its own; its arguments are in sys.argv."""

    def run(program: str, *arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    return run
