"""How the loops over unseen moments are compiled: `entry` can be called from Python, `inner` only from others.

Wrappers that unpack Python objects are much of the compile time of a small function; inner ones go without.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["entry", "inner"]

F = TypeVar("F", bound=Callable[..., object])

# division by 0 gives inf, without a check; the interpreter lock is free while a loop runs
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: F) -> F:
    """Compile on first use and keep the result on disk."""
    compiled: Any = njit(**OPTIONS)(function)
    return compiled


def inner(function: F) -> F:
    """The same for functions that only compiled code calls."""
    compiled: Any = njit(**OPTIONS, **NO_WRAPPERS)(function)
    return compiled
