"""Checks that are registered together with the bug that must turn them red.

A check is a function of a *subject*; the registry holds the subject that ships and planted-bug twins. It passes only if
it accepts the first and rejects the others, so a check that cannot fail is itself a failure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.errors import QueryError

__all__ = ["CHECKS", "Check", "check", "run_check"]


@dataclass(frozen=True)
class Check:
    """`holds(subject)` is True for what ships and False for each planted bug, by name."""

    name: str
    holds: Callable[[Any], bool]
    subject: Callable[[], Any]
    planted: dict[str, Callable[[], Any]]


CHECKS: dict[str, Check] = {}


def check(
    name: str, *, subject: Callable[[], Any], planted: dict[str, Callable[[], Any]]
) -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """Register a check with its subject and at least one planted bug."""
    if not planted:
        raise QueryError(f"check {name!r} must have at least one planted bug, got none")
    if name in CHECKS:
        raise QueryError(f"check {name!r} must have a new name, got one that is registered")

    def register(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
        CHECKS[name] = Check(name, holds, subject, dict(planted))
        return holds

    return register


def run_check(registered: Check) -> dict[str, bool]:
    """For the shipped subject and every planted bug: whether the check behaved as it must."""
    outcome = {"shipped": bool(registered.holds(registered.subject()))}
    for bug, build in registered.planted.items():
        outcome[bug] = not registered.holds(build())
    return outcome
