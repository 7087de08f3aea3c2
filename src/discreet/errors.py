"""What can go wrong, as one tree.

    DiscreetError
    ├── SchemaError      a declaration is missing, contradictory or does not fit the source
    ├── QueryError       a model asks something its schema or mechanism cannot answer
    ├── GuaranteeError   a privacy parameter is out of range, or a notion cannot bound another
    ├── BudgetExceeded   the ledger refuses: asked, left and missing are in the message
    ├── LedgerError      the ledger file is missing, damaged, busy or of another version
    └── ReleaseError     a release could not be made, read or saved

    ConvergenceWarning   a warning, not an error: chains stopped before they mixed, and intervals may be wrong
`UnknownLevels` is a warning: cells of new rows, which are the user's own, are no declared level or no number.

No message ever contains a value taken from a row: names, declared bounds and declared levels only.
"""

import sys
import warnings
from typing import ClassVar

__all__ = [
    "BudgetExceeded",
    "ConvergenceWarning",
    "DiscreetError",
    "GuaranteeError",
    "LedgerError",
    "QueryError",
    "ReleaseError",
    "SchemaError",
    "UnknownLevels",
    "warn_caller",
]


class DiscreetError(Exception):
    """Base of every error this library raises on purpose; `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 5


class SchemaError(DiscreetError):
    """A declaration is missing, contradictory or does not fit the source."""

    exit_code: ClassVar[int] = 4


class QueryError(DiscreetError):
    """A model asks something its schema or its mechanism cannot answer."""

    exit_code: ClassVar[int] = 4


class GuaranteeError(DiscreetError):
    """A privacy parameter is out of range, or one notion cannot bound another."""

    exit_code: ClassVar[int] = 4


class BudgetExceeded(DiscreetError):
    """The ledger's filter refuses a reservation; nothing was spent."""

    exit_code: ClassVar[int] = 3


class LedgerError(DiscreetError):
    """The ledger is missing, damaged, busy or written by another version."""


class ReleaseError(DiscreetError):
    """A release could not be made, read or saved."""


class ConvergenceWarning(UserWarning):
    """The chains behind a posterior stopped before they mixed: its intervals may be wrong."""


class UnknownLevels(UserWarning):
    """Cells of new rows are no declared level or no number: `counts` says how many, by column."""

    def __init__(self, counts: dict[str, int], meaning: dict[str, str]) -> None:
        told = "; ".join(f"{number} in column {name!r}: {meaning[name]}" for name, number in counts.items())
        super().__init__(f"cells of new rows are no declared level or number, {told}")
        self.counts = counts


def warn_caller(warning: Warning) -> None:
    """Warn of something at the line outside this package that led to it, however many of our own lie between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "discreet":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
