"""Signals that ask a command to stop: each unwinds like Ctrl-C, so that nothing is left behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["unwinding"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # not every system has all of them


@contextmanager
def unwinding() -> Iterator[list[int]]:
    """The signals that came. The first one unwinds; one more ends the process at once, wherever it is."""
    came: list[int] = []
    numbers = [int(getattr(signal, name)) for name in NAMES if hasattr(signal, name)]
    kept = {number: signal.getsignal(number) for number in numbers}
    # What the caller ignores, as nohup does, stays ignored; only the main thread may say what a signal does.
    ours = [number for number, before in kept.items() if before not in (None, signal.SIG_IGN)]
    if threading.current_thread() is not threading.main_thread():
        ours = []

    def stop(number: int, _: FrameType | None) -> None:
        came.append(number)
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, stop)
    try:
        yield came
    finally:
        for number in ours:
            signal.signal(number, kept[number])
