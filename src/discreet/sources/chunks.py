"""Private rows in chunks of a public size, (chunks, columns, rows of a chunk), in memory or in a nameless file."""

import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.losses.base import CHUNK
from discreet.sources.engines.spill import mapped_zeros

__all__ = ["LARGEST_IN_MEMORY", "let_go", "put", "zeros"]

LARGEST_IN_MEMORY = 2**28


def put(chunks: NDArray[Any], start: int, rows: NDArray[Any]) -> None:
    """Write one column from row `start` on: the rest of a chunk, whole chunks, the beginning of another."""
    first, place = divmod(start, CHUNK)
    head = min(-place % CHUNK, rows.size)
    whole = (rows.size - head) // CHUNK
    if head:
        chunks[first, place : place + head] = rows[:head]
    first += place > 0
    chunks[first : first + whole] = rows[head : head + whole * CHUNK].reshape(whole, CHUNK)
    tail = rows[head + whole * CHUNK :]
    if tail.size:
        chunks[first + whole, : tail.size] = tail


def zeros(in_files: bool, shape: tuple[int, ...], kind: Any) -> Any:
    """An array of zeros; in a file without a name where a table is too large for memory."""
    return mapped_zeros(shape, kind) if in_files and 0 not in shape else np.zeros(shape, dtype=kind)


def let_go(arrays: Iterable[Any]) -> None:
    """Give the pages of arrays in files back: the files keep what is in them, and it is paged in where it is read."""
    for array in arrays:
        if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]  # shared: nothing is lost
