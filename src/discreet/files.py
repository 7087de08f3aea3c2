"""Public documents on disk: read whole, bounded and unambiguous; written complete or not at all.

Only regular files are documents. A pipe would wait for ever, a device would never end or would be replaced by a file.
"""

import errno
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

__all__ = ["LARGEST", "parse_json", "read_text", "write_text"]

LARGEST = 2**30  # bytes; no ledger holds a larger release
MODE = 0o644  # of new files, less what the user masks: SQLite gives a ledger the same


def read_text(path: str | os.PathLike[str], largest: int = LARGEST) -> str:
    """The text of a regular file of at most so many bytes; anything else is an OSError or a ValueError."""
    # without O_NONBLOCK, opening a pipe waits for somebody to write to it
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status)
        body = b"" if status.st_size > largest else file.read(largest + 1)
        if status.st_size > largest or len(body) > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
    return body.decode("utf-8")


def parse_json(text: str) -> Any:
    """Read JSON in which no object has a key twice: readers differ in which of them they believe."""
    return json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_no_number)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file or replace it, through links; what is there and is no regular file is left alone."""
    target = Path(os.path.realpath(path))
    if os.path.lexists(target):
        _check_regular(os.stat(target))
    made = target.with_name(f".discreet-{secrets.token_hex(8)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), MODE)
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(descriptor)
        made.replace(target)
    except BaseException:  # an interrupt too
        made.unlink(missing_ok=True)
        raise


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(_: str) -> Any:
    raise ValueError("NaN and Infinity are no JSON")
