"""Rows that do not fit into memory: on disk, but never longer than the process that reads them.

Arrays lie in files without a name. The engine names its files itself: they lie in a private folder, which a watcher
removes when this process ends, however it ends. Should both end at once, with the machine, nobody holds the folder any
more, and the next process of the same user removes it.
"""

import errno
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["engine_folder", "mapped_zeros"]

PREFIX = "discreet-spill-"
ATTEMPTS = 10
ZEROS = bytes(2**20)

# Waits for the end of its input, which is the end of this process: nobody ever writes to it.
WATCH = 'trap "" HUP INT TERM; read -r nothing; rm -rf -- "$0"'


def mapped_zeros(shape: tuple[int, ...], kind: Any) -> Any:
    """An array of zeros in a file without a name; a disk without room for it is an OSError here, and never later."""
    with tempfile.TemporaryFile(prefix=PREFIX) as file:
        _reserve(file, math.prod(shape) * np.dtype(kind).itemsize)
        return np.memmap(file, dtype=kind, mode="r+", shape=shape)


@contextmanager
def engine_folder() -> Iterator[str]:
    """A folder for the engine's own files; "", which means none, where nobody could watch over it."""
    with ExitStack() as stack:
        if fcntl is None:
            yield stack.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX))
            return
        _sweep()
        for _ in range(ATTEMPTS):
            folder = tempfile.mkdtemp(prefix=PREFIX)
            held = _hold(folder)
            if held is not None:
                break
            shutil.rmtree(folder, ignore_errors=True)  # another process swept it as it was made
        else:  # a disk that knows no locks
            yield ""
            return
        stack.callback(os.close, held)
        watched = _watched(stack, folder)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder if watched else ""


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the space now: a page that the disk has no room for kills the process when it is written."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
    for start in range(0, size, len(ZEROS)):
        file.write(ZEROS[: size - start])
    file.flush()


def _watched(stack: ExitStack, folder: str) -> bool:
    """Start the watcher of a folder, which is stopped with the stack."""
    nowhere = subprocess.DEVNULL
    command = ["/bin/sh", "-c", WATCH, folder]
    try:
        watcher = subprocess.Popen(  # noqa: S603  # a constant script; the folder's name is ours
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True
        )
    except OSError:
        return False
    stack.callback(watcher.__exit__, None, None, None)
    stack.callback(watcher.kill)
    return True


def _sweep() -> None:
    """Remove the folders of this user that no process holds."""
    parent = tempfile.gettempdir()
    try:
        names = [name for name in os.listdir(parent) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        folder = os.path.join(parent, name)
        held = _hold(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _hold(folder: str) -> int | None:
    """A descriptor that holds this folder; None if it is another user's, a link, gone, or held by a process."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.fstat(held).st_uid == os.geteuid()
        if ours and os.path.samestat(os.fstat(held), os.lstat(folder)):
            return held
    except OSError:
        pass
    os.close(held)
    return None
