"""The ledger that a command names; a study in its place, or its folder, is refused with the name of its ledger."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError
from discreet.recipe import called_like

if TYPE_CHECKING:
    from discreet.ledger import Ledger

__all__ = ["opened"]

STUDY = "study.toml"  # as `init` calls it


def opened(path: str) -> "Ledger":
    """Open a ledger, a file or an address."""
    from discreet.ledger import Ledger

    study = _study_at(Path(path))
    if study is not None:
        kind = "study" if study == Path(path) else "folder"
        raise LedgerError(f"Ledger.path must be a ledger, got the {kind} {path!r}: {_own(study)}")
    try:
        return Ledger.open(path)
    except LedgerError:
        told = called_like(path, "ledger", "")
        if told == repr(path) or not os.path.isfile(path):
            raise
        raise LedgerError(f"Ledger.path must be a ledger, got {told}") from None


def _study_at(given: Path) -> Path | None:
    """A study in the place of a ledger; names that no file can have are for the ledger to refuse."""
    try:
        study = given / STUDY if given.is_dir() else given
        return study if study.suffix == ".toml" and study.is_file() else None
    except (OSError, ValueError):
        return None


def _own(study: Path) -> str:
    """Where the ledger of a study is, in words."""
    from discreet.cli.study import Study

    try:
        return f"the ledger of its study is {str(Study.load(study).ledger)!r}"
    except DiscreetError:
        return f"name the file that {str(study)!r} calls ledger"
