"""The embedded engine: DuckDB in a private, hardened, in-memory connection.

The connection reads the files of its source and nothing else, loads no extension, has its configuration locked, and
spills only to a private directory that is removed with it. DuckDB's own messages quote private rows: every failure
becomes one constant sentence, with no other exception attached.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.errors import ReleaseError
from discreet.query import Counts, Statistics
from discreet.sources.cells import Cell
from discreet.sources.dataset import IntegerArray
from discreet.sources.sql import Grouping, coded, groupings, marginal, total

__all__ = ["DuckDB", "Origin", "connect"]

# With the interpreter and its libraries this keeps the whole process below 1 GB.
MEMORY_LIMIT = "600MB"

# Names inside the connection; nothing else lives there.
ROWS, CODED = "rows", "coded"


class Origin(Protocol):
    """Rows as DuckDB can scan them."""

    @property
    def files(self) -> Sequence[str]:
        """The files that DuckDB itself opens."""

    def count(self) -> int:
        """The number of rows; no cell is looked at."""

    def attach(self, connection: Any, name: str) -> None:
        """Make the rows a relation `name`, good for one scan."""


@dataclass(frozen=True)
class DuckDB:
    """A source that DuckDB scans; each origin holds the same rows and is tried when those before it fail."""

    origins: tuple[Origin, ...]
    cells: Mapping[str, Cell]
    threads: int | None = None

    def count(self) -> int:
        """The number of rows."""
        return self.origins[0].count()

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Every statistic of the query, exactly; a failure is a ReleaseError that says nothing about the rows."""
        scans = [(g, coded(query, g, self.cells, ROWS).sql(dialect="duckdb")) for g in groupings(query)]
        for origin in self.origins:
            try:
                answers = self._answers(origin, scans)
            except Exception:  # noqa: S112  # its text may quote rows: nothing of it may be kept or attached
                continue
            return {name: answers[name] for name in query.names}
        raise ReleaseError("the source could not be read: no statistic was computed")

    def _answers(self, origin: Origin, scans: list[tuple[Grouping, str]]) -> dict[str, IntegerArray]:
        answers: dict[str, IntegerArray] = {}
        with connect(origin.files, self.threads) as connection:
            for grouping, scan in scans:
                origin.attach(connection, ROWS)
                connection.execute(f"CREATE OR REPLACE TEMP TABLE {CODED} AS {scan}")
                answers |= _dense(connection, grouping)
        return answers


@contextmanager
def connect(files: Sequence[str] = (), threads: int | None = None) -> Iterator[Any]:
    """A DuckDB connection that can read `files`, if any, and touch nothing else outside its memory."""
    import duckdb
    from sqlglot import exp

    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        settings: dict[str, Any] = {
            "allowed_paths": [*files],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_progress_bar": False,
            "memory_limit": MEMORY_LIMIT,
            "preserve_insertion_order": False,
            "python_enable_replacements": False,
            "temp_directory": folder,
        }
        if threads is not None:
            settings["threads"] = threads
        locks = {"enable_external_access": False, "lock_configuration": True}
        with duckdb.connect(":memory:") as connection:
            for name, value in (settings | locks).items():
                connection.execute(f"SET {name} = {exp.convert(value).sql(dialect='duckdb')}")
            yield connection


def _dense(connection: Any, grouping: Grouping) -> dict[str, IntegerArray]:
    """The statistics of one scan, as dense arrays."""
    answers: dict[str, IntegerArray] = {}
    for statistic in grouping.statistics:
        if isinstance(statistic, Counts):
            found = connection.execute(marginal(grouping, statistic, CODED).sql(dialect="duckdb")).fetchnumpy()
            table = np.zeros(statistic.grid, dtype=np.int64)
            axes = tuple(np.asarray(found[f"axis_{i}"]) for i in range(table.ndim))
            table[axes] = np.asarray(found["n"]) if axes else found["n"][0]
            answers[statistic.name] = table if statistic.cell is None else np.asarray(table[statistic.cell])
        else:
            ((value,),) = connection.execute(total(grouping, statistic, CODED).sql(dialect="duckdb")).fetchall()
            answers[statistic.name] = np.array(int(value), dtype=object)
    return answers
