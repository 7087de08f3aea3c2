"""The tables that the figures are made from: public files in one folder, or made-up tables of the same shape.

A folder is not required to hold all files. What is missing is replaced by a made-up table, and the finding says so.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import QueryError

__all__ = ["PaperTables"]


@dataclass(frozen=True)
class PaperTables:
    """Where the public files are; None for made-up tables only."""

    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None and not os.path.isdir(self.folder):  # also of what no path can be
            raise QueryError(f"reproduce --data must be a folder, got {str(self.folder)!r}")

    def file(self, name: str) -> Path | None:
        """The path of a file that is there."""
        found = None if self.folder is None else Path(self.folder) / name
        return found if found is not None and found.exists() else None

    def frame(self, name: str) -> Any:
        """A table of the folder as a pandas frame, or None."""
        import pandas as pd

        found = self.file(name)
        if found is None:
            return None
        return pd.read_csv(found) if found.suffix == ".csv" else pd.read_parquet(found)
