"""The head file: beside the ledger, the last event of its chain. A chain that was cut is a valid chain; this tells.

    study.ledger        all events, each with the hash of the one before
    study.ledger.head   {"seq": 7, "hash": …}: replaced, and durable, before an answer leaves and before rows are read

A head behind the chain is what a crash leaves between the two files, and is caught up. A head that the chain does not
contain means that the ledger lost events, or was rebuilt: nothing more is paid from it. Heads are written by the writer
of the ledger alone, under its lock, so they never go back.
"""

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import files
from discreet.errors import LedgerError

__all__ = ["Head", "HeadFile"]

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

    def read(self) -> Head | None:
        """The noted head; None without a file, and a LedgerError for anything that is not a head."""
        try:
            body = files.parse_json(files.read_text(self.path, LARGEST))
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
            self.make(made, head, self._ledger.stat().st_mode)
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

    @staticmethod
    def make(path: Path, head: Head, mode: int) -> None:
        """A new file that holds the head; whoever may read the ledger may read it."""
        body: dict[str, Any] = {"format": FORMAT, "seq": head.seq, "hash": head.hash}
        if head.accepted:
            body["accepted"] = head.accepted
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "w", encoding="utf-8") as stream:
            os.fchmod(stream.fileno(), stat.S_IMODE(mode))
            stream.write(json.dumps(body) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
