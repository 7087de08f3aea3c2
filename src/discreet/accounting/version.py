"""The version of the accounting: which numbers this library gives to a request.

Every ledger entry and release records it. It is raised by one whenever the certificate or the price of some request
changes by more than 1e-9 of itself, up or down; the golden releases in the tests notice when it was forgotten. Entries
and releases that name none were written before versions were counted: they are version 0.
"""

from typing import Any

from discreet.errors import DiscreetError

__all__ = ["ACCOUNTING", "UNVERSIONED", "read_version"]

UNVERSIONED = 0
ACCOUNTING = 1


def read_version(field: str, found: Any, error: type[DiscreetError]) -> int:
    """A version as files write it; refused where only a newer library knows it."""
    if not isinstance(found, int) or isinstance(found, bool) or not UNVERSIONED <= found <= ACCOUNTING:
        known = f"a whole number from {UNVERSIONED} to {ACCOUNTING}"
        raise error(f"{field} must be {known} in this version of discreet, got {found!r}")
    return found
