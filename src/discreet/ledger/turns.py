"""Writers of a ledger file take turns. SQLite alone lets them poll, and may pass one over for as long as others come.

A turn is an advisory lock of the system (`flock`) on the folder of the ledger: the system wakes those who wait in the
order in which they came, and takes the turn back from a process that dies. Not on the ledger file, because closing a
descriptor of it would drop every lock that SQLite has there; not on its head, which every writer replaces.

A turn is a courtesy: what one writer reads and writes is kept from others by SQLite's lock alone. Whoever waited
too long, or is on a disk without such locks, goes on to SQLite without a turn. Ledgers in one folder share a queue.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["turn"]

STAND_BACK = 0.01  # seconds: on a busy machine the one who leaves would else be back before the one who waits is awake


@contextmanager
def turn(ledger: Path, seconds: float) -> Iterator[None]:
    """One writer after the other, first come, first served, as long as no turn takes that many seconds to come."""
    try:
        place = _Place(os.path.dirname(os.path.realpath(ledger)))
    except OSError:  # a folder that may be written to, but not read
        yield
        return
    try:
        place.wait(seconds)
        yield
    finally:
        place.leave()


class _Place:
    """A place in the queue; the thread that stands there outlives a wait that was given up, and then closes it."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._came = threading.Event()
        self._left = threading.Event()
        self._closing = threading.Lock()
        self._queued = False

    def wait(self, seconds: float) -> None:
        """Until it is our turn, or the time is over, or the disk or the process refuses to queue."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._queued = True
            with suppress(RuntimeError):  # no more threads
                threading.Thread(target=self._stand, daemon=True).start()
                self._came.wait(seconds)
                return
        except OSError:  # a disk without such locks
            pass
        self._came.set()

    def leave(self) -> None:
        """Give the turn, or the place, back; whoever had to wait for it lets the next one wake."""
        with self._closing:
            self._left.set()
            if self._came.is_set():
                self._close()
        if self._queued:
            time.sleep(STAND_BACK)

    def _stand(self) -> None:
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX)
        with self._closing:
            self._came.set()
            if self._left.is_set():
                self._close()

    def _close(self) -> None:
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_UN)  # closing alone leaves it to a child that was forked meanwhile
        os.close(self._file)
