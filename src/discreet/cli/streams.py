"""Standard output and standard error that may be closed, full or gone at any moment.

A failed write to standard output ends the command, in words that hold nothing of what was to be written. A failed write
to standard error is forgotten: nobody is left to be told.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, TypeVar

from discreet.errors import DiscreetError

__all__ = ["DeadOutput", "guarded"]

T = TypeVar("T")

CLOSED_PIPE = 128 + 13  # what a shell reports of a tool whose reader went away


class DeadOutput(Exception):
    """Standard output could not be written; no OSError, which others would take for one of their own."""

    def __init__(self, *, pipe: bool) -> None:
        super().__init__("standard output could not be written; what was paid for is kept, and asking again is free")
        self.code = CLOSED_PIPE if pipe else DiscreetError.exit_code
        self.quiet = pipe  # who closes a pipe early has seen enough, as with any other tool


class Guarded(io.TextIOBase):
    """A text stream in front of another one, which may be absent or fail."""

    def __init__(self, stream: TextIO | None, *, needed: bool) -> None:
        self._stream = stream
        self._needed = needed
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without accents must not stop a release

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def fileno(self) -> int:
        """The descriptor of the stream behind."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether somebody looks on."""
        return self._tried(lambda stream: stream.isatty(), False)

    def writable(self) -> bool:
        """Always: that is found out by writing."""
        return True

    def write(self, text: str) -> int:
        """Write, or end the command."""
        return self._tried(lambda stream: stream.write(text), len(text))

    def flush(self) -> None:
        """Flush, or end the command."""
        if self._stream is not None:  # also called when this object goes away
            self._tried(lambda stream: stream.flush(), None)

    def _tried(self, action: Callable[[TextIO], T], otherwise: T) -> T:
        pipe = False
        try:
            if self._stream is not None:
                return action(self._stream)
        except (OSError, ValueError) as problem:  # a closed file is a ValueError
            pipe = isinstance(problem, BrokenPipeError)
            _discard(self._stream)
        self._stream = None
        if not self._needed:
            return otherwise
        raise DeadOutput(pipe=pipe)


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and standard error as guarded streams."""
    output, errors = Guarded(sys.stdout, needed=True), Guarded(sys.stderr, needed=False)
    with redirect_stdout(output), redirect_stderr(errors):
        yield


def _discard(stream: Any) -> None:
    """What is still buffered goes nowhere: flushed at exit, it would fail once more, with a traceback."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it has no descriptor, or is closed
        pass
