"""Writers of one file wait in the order in which they came; a queue that is stuck stops nobody."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from discreet.guarantee import PureDP
from discreet.ledger import Ledger, sqlite, turns

Start = Callable[..., "Popen[str]"]
LOCKS = Path("/proc/locks")
PATIENCE = 60.0

HOLDER = """
import signal, sys
from pathlib import Path
from discreet.ledger.turns import turn

with turn(Path(sys.argv[1]), 60):
    print("held", flush=True)
    signal.pause()
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The folder, locked by somebody else."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def waiting(folder: Path) -> int:
    """How many wait for a lock on a folder, as Linux tells it."""
    inode = f":{folder.stat().st_ino} "
    return sum("->" in line and inode in line for line in LOCKS.read_text().splitlines())


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def is_free(folder: Path) -> bool:
    """Whether nobody has the turn."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


@pytest.mark.skipif(not LOCKS.exists(), reason="only Linux tells who waits for a lock")
def test_first_come_first_served(path: Path, ledger: Ledger) -> None:
    came: list[int] = []

    def write(name: int) -> None:
        with turns.turn(path, PATIENCE):
            came.append(name)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(6)]
    with held(path):
        for place, thread in enumerate(threads, 1):
            thread.start()
            until(lambda place=place: waiting(path.parent) == place)
        assert came == []
    for thread in threads:
        thread.join()
    assert came == list(range(6))


def test_a_stuck_queue_is_left_and_given_back(path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    with held(path):
        ledger.reserve(PureDP(0.25), {})
        assert not is_free(path.parent)
    assert len(ledger.entries()) == 1
    until(lambda: is_free(path.parent))  # the place that was given up is not kept


def test_a_killed_writer_leaves_the_queue(path: Path, ledger: Ledger, start: Start) -> None:
    process = start(HOLDER, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert not is_free(path.parent)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert is_free(path.parent)


def test_a_turn_ends_with_its_block_even_where_a_child_has_the_descriptor(path: Path, ledger: Ledger) -> None:
    with turns.turn(path, PATIENCE):
        child = os.fork()
        if child == 0:
            signal.pause()
        assert not is_free(path.parent)
    try:
        assert is_free(path.parent)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_folder_that_cannot_be_read_has_no_queue(path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refused(name: object, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECTORY:
            raise PermissionError(13, "refused")
        return opened(name, flags, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refused)
    ledger.reserve(PureDP(0.25), {})
    assert len(ledger.entries()) == 1
