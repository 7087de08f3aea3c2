"""How far long work is, as a share of what is public: steps of a mechanism, declared rows, releases of a study.

Nothing here looks at a clock while rows are read: how long they take may depend on them. Time left is said of free work
alone, which reads released numbers. It is one line of standard error, in terminals and in notebooks, and it is gone
before anything else is shown. What asks for it writes to `sys.stderr`: whether anybody looks on, that stream knows.
"""

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from discreet.errors import QueryError
from discreet.visible import visible

__all__ = ["ERASED", "LINE", "CountingLine", "Progress"]

LONGEST = 50  # characters of a description: a line that is wider than the screen could not be erased
ERASED = "\r\x1b[2K"
TOLD_AFTER = 1.0  # seconds of free work, before which nobody knows how long it will take


class CountingLine:
    """The one line of standard error that counts; it is gone before anything else is shown."""

    width = 0

    def show(self, text: str) -> None:
        """Replace what the line says, where somebody looks on."""
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            sys.stderr.write(f"{self._gone()}{text}")
            sys.stderr.flush()
            self.width = len(text)

    def erase(self) -> None:
        """Take the line away."""
        if self.width:
            sys.stderr.write(self._gone())
            sys.stderr.flush()
            self.width = 0

    def _gone(self) -> str:
        """What takes away the line that stands there; notebooks know no other way than to write over it."""
        return ERASED if sys.stderr.isatty() else f"\r{'':<{self.width}}\r"


LINE = CountingLine()


@dataclass
class Progress:
    """What `progress=` of `dc.release` and `release.posterior` may be called with: a line that says how far it is.

    `work` is the public number of steps, where it is known; else steps are counted. With `free=True`, for what reads
    released numbers alone, time left is said, too. As a context it takes its line away at the end:

        with dc.Progress("smoking") as shown:
            release.posterior(progress=shown)
    """

    description: str
    work: int | None = None
    free: bool = False
    quiet: bool = False
    _done: int = field(default=0, init=False, repr=False)
    _since: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.work is not None and self.work < 1:
            raise QueryError(f"Progress.work must be a whole number from 1, got {self.work!r}")
        if self.free:
            self._since = time.monotonic()

    def __call__(self, steps: int) -> None:
        """So many more steps are done."""
        self.begin(self.description, self._done + steps)

    def begin(self, description: str, done: int) -> None:
        """Something else comes next, and so many steps are done before it."""
        self.description, self._done = description, done
        if not self.quiet:
            LINE.show(f"{visible(description, LONGEST)} {self._far()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        LINE.erase()

    def _far(self) -> str:
        if self.work is None:
            return f"{self._done:,} states"
        share = min(self._done / self.work, 1.0)
        return f"{share:4.0%}{self._left(share) if self.free else ''}"

    def _left(self, share: float) -> str:
        gone = time.monotonic() - self._since
        return f", {gone * (1.0 - share) / share:,.0f} s left" if gone > TOLD_AFTER and share else ""
