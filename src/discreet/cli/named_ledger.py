"""The ledger that a command names; a study in its place, or its folder, is refused with the name of its ledger."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError

if TYPE_CHECKING:
    from discreet.ledger import Ledger

__all__ = ["opened"]

STUDY = "study.toml"  # as `init` calls it


def opened(path: str) -> "Ledger":
    """Open a ledger, a file or an address."""
    from discreet.ledger import Ledger

    given = Path(path)
    study = given / STUDY if given.is_dir() else given
    if study.suffix == ".toml" and study.is_file():
        raise LedgerError(
            f"Ledger.path must be a ledger, got the {'folder' if study != given else 'study'} {path!r}: {_own(study)}"
        )
    return Ledger.open(path)


def _own(study: Path) -> str:
    """Where the ledger of a study is, in words."""
    from discreet.cli.study import Study

    try:
        return f"the ledger of its study is {str(Study.load(study).ledger)!r}"
    except DiscreetError:
        return f"name the file that {str(study)!r} calls ledger"
