"""The end of a chain, noted outside of it: a chain that was cut is a valid chain, and this tells.

Beside a file, in its head file:

    study.ledger        all events, each with the hash of the one before
    study.ledger.head   {"seq": 7, "hash": …}: replaced, and durable, before an answer leaves and before rows are read

A head behind the chain is what a crash leaves between the two files, and is caught up. A head that the chain does not
contain means that the ledger lost events, or was rebuilt: nothing more is paid from it. Heads are written by the writer
of the ledger alone, under its lock, so they never go back.

Of a ledger in a database every user keeps the last head that they saw, by the ledger's own name for its place:

    ~/.local/state/discreet/heads/6f0a….head        ($XDG_STATE_HOME, where it is set)

It is replaced at the same moments. Who never saw the ledger has none, and where no such file can be made, none is kept:
it shows to those who used it before that a database was restored from an older copy, and it is no authority of its own.
"""

import fcntl
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.recipe import parse_json, read_text

__all__ = ["Head", "HeadFile", "RememberedHead"]

FORMAT = "discreet ledger head"
LARGEST = 2**20  # bytes of a head file: a head, and one line for each time one was accepted

UNREADABLE = "Ledger head file must be a head that discreet wrote, got something else in {}; nothing was released"
UNWRITABLE = "Ledger head file must be writable, with its folder, got {}; nothing was released"


@dataclass(frozen=True)
class Head:
    """The number and hash of the last event; `accepted` are those taken on trust, each with the time of it."""

    seq: int
    hash: str
    accepted: tuple[tuple[int, str], ...] = ()


class HeadFile:
    """The head file of a ledger; beside the file itself, whatever links lead to it."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = Path(os.path.realpath(ledger))
        self.path = Path(f"{self._ledger}.head")

    @property
    def is_required(self) -> bool:
        """Without its head file a ledger may have lost its last events."""
        return True

    @property
    def is_writable(self) -> bool:
        """Whoever may only read the ledger notes no head."""
        return os.access(self.path.parent, os.W_OK) and os.access(self._ledger, os.W_OK)

    def read(self) -> Head | None:
        """The noted head; None without a file, and a LedgerError for anything that is not a head."""
        try:
            body = parse_json(read_text(self.path, LARGEST))
            if body.pop("format") != FORMAT:
                raise ValueError("other format")
            accepted = tuple((int(seq), str(when)) for seq, when in body.pop("accepted", ()))
            head = Head(accepted=accepted, **body)
            if type(head.seq) is not int or type(head.hash) is not str:
                raise ValueError("other types")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise LedgerError(UNREADABLE.format(self.path)) from None
        return head

    def write(self, head: Head) -> None:
        """Replace the head, durably: afterwards a power cut brings back no older one. Only under the ledger's lock."""
        made = Path(f"{self.path}-new")
        try:
            made.unlink(missing_ok=True)  # of a writer that was killed
            self.make(made, head, self._mode())
            made.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError:
            with suppress(OSError):
                made.unlink(missing_ok=True)
            raise LedgerError(UNWRITABLE.format(self.path)) from None

    def _mode(self) -> int:
        """Whoever may read the ledger may read it."""
        return self._ledger.stat().st_mode

    @staticmethod
    def make(path: Path, head: Head, mode: int) -> None:
        """A new file that holds the head."""
        body: dict[str, Any] = {"format": FORMAT, "seq": head.seq, "hash": head.hash}
        if head.accepted:
            body["accepted"] = head.accepted
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "w", encoding="utf-8") as stream:
            os.fchmod(stream.fileno(), stat.S_IMODE(mode))
            stream.write(json.dumps(body) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


class RememberedHead(HeadFile):
    """The last head of a ledger in a database that this user saw."""

    def __init__(self, place: str) -> None:
        if not re.fullmatch("[0-9a-f]{32}", place):
            raise LedgerError("Ledger place must be 32 hexadecimal digits: the ledger was altered")
        self.path = folder_of_heads() / f"{place}.head"

    @property
    def is_required(self) -> bool:
        """Who never saw the ledger has none."""
        return False

    @property
    def is_writable(self) -> bool:
        """Whether this user has a place for such files; it is made."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.path.parent, os.W_OK)

    def _mode(self) -> int:
        return 0o600

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else of this user notes a head of this ledger until the block ends: so it never goes back."""
        try:
            file = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise LedgerError(UNWRITABLE.format(self.path)) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


def folder_of_heads() -> Path:
    """Where this user keeps the heads of ledgers in databases."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    state = Path(chosen) if os.path.isabs(chosen) else Path(os.path.expanduser("~"), ".local", "state")
    return state / "discreet" / "heads"
