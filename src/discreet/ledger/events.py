"""The chain: every event carries the hash of the one before it, so an edit anywhere changes every later hash.

    hash = sha256(previous ⏎ seq ⏎ kind ⏎ entry ⏎ body),     previous of the first event = 64 zeros

The chain has no secret: whoever may write the file could rebuild it. A custodian who writes down the last hash
(`Ledger.head`) elsewhere can tell: no rebuilt or older chain that lacks this hash passes `Ledger.verify(head)`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from discreet import files
from discreet.errors import LedgerError

__all__ = ["ORIGIN", "Event", "Kind", "canonical", "digest"]

Kind = Literal["create", "reserve", "settle"]
ORIGIN = "0" * 64


def canonical(field: str, content: Mapping[str, Any]) -> str:
    """The one JSON text of `content`: sorted keys, no spaces, ASCII; NaN and infinity are not JSON."""
    if not isinstance(content, Mapping):
        raise LedgerError(f"{field} must be a mapping of plain JSON values, got a {type(content).__name__}")
    try:
        return json.dumps(dict(content), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(f"{field} must be a mapping of plain JSON values, got something JSON cannot hold") from None


def digest(*parts: str | int) -> str:
    """SHA-256 of the parts, one per line; only the last may itself contain a line break."""
    return sha256("\n".join(map(str, parts)).encode()).hexdigest()


@dataclass(frozen=True)
class Event:
    """One line of the ledger; `body` is canonical JSON text."""

    seq: int
    kind: str
    entry: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(cls, last: "Event | None", kind: Kind, entry: str, body: str) -> "Event":
        """The event that continues the chain after `last`, or begins it."""
        seq, previous = (1, ORIGIN) if last is None else (last.seq + 1, last.hash)
        return cls(seq, kind, entry, body, previous, digest(previous, seq, kind, entry, body))

    def check(self) -> None:
        """Refuse an event whose stored hash is not that of its own content."""
        if self.hash != digest(self.previous, self.seq, self.kind, self.entry, self.body):
            raise LedgerError(f"Ledger event {self.seq!r} must have the hash of its content: the ledger was altered")

    def check_follows(self, last: "Event | None") -> None:
        """Refuse an event that is altered or is not the next one after `last`."""
        self.check()
        seq, previous = (1, ORIGIN) if last is None else (last.seq + 1, last.hash)
        if (self.seq, self.previous) != (seq, previous):
            raise LedgerError(f"Ledger event {seq} must follow the event before it: the ledger was altered")

    def content(self) -> dict[str, Any]:
        """The body as plain data."""
        try:
            content = files.parse_json(self.body)
        except (TypeError, ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise LedgerError(f"Ledger event {self.seq} must be a JSON object: the ledger was altered")
        return content
