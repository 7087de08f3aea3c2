"""The embedded engine: DuckDB in a private, hardened, in-memory connection.

The connection reads the files of its source and nothing else, loads no extension, has its configuration locked, and
spills only to a private folder that is gone when this process is. DuckDB's own messages quote private rows: every
failure becomes one constant sentence, with no other exception attached.

Rows that need no engine: Arrow columns straight to level codes and grid steps, for losses that ask for all rows.

A query is plain if its units are rows and no column of numbers is held as texts or decimals, which would be parsed row
by row; files with decimal commas are left to the engine. Whether it is follows from the schema, the types and the
declared notation of the source, never from a cell, and every row is read on its own; what a cell means is what
`schema.cell` says of it. So it does not matter where a plain query is read after all: files with texts too long for
Arrow go to the engine. Tables of many columns gain most: there is no SQL to plan.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from discreet.errors import ReleaseError
from discreet.queries.losses.base import Loss
from discreet.queries.statistics import Statistics
from discreet.schema.arrow_cell import arrow_coded
from discreet.schema.cell import Codes
from discreet.sources.dataset import IntegerArray
from discreet.sources.engines.base import ROWS, UNREAD, Collect, Engine, Marginals, Session
from discreet.sources.engines.spill import engine_folder
from discreet.sources.sql.cell_sql import Held
from discreet.sources.sql.duckdb_sql import duckdb_text, listed_levels
from discreet.sources.sql.statements import Grouping, marginal

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["DuckDB", "Origin", "coded_batch", "connect", "is_plain"]

T = TypeVar("T")
R = TypeVar("R")

# With the interpreter and its libraries this keeps the whole process below 1 GB.
MEMORY_LIMIT = "600MB"

# One takes what a Parquet file notes as its least and greatest cells for bounds of all of them: NaN is never noted, and
# would count as something else where another cell of the file is another. The other rewrites "the first k rows of each
# person" into an aggregate that cannot spill; not every version has it.
OPTIMIZERS_NOT_USED = {"statistics_propagation", "top_n_window_elimination"}

# All that DuckDB leaves of a KeyboardInterrupt.
INTERRUPTED = "Query interrupted"

BATCH = 2**17  # rows handed over at a time

CODED = "coded"  # a table in the connection, where nothing else lives


class Origin(Protocol):
    """Rows as DuckDB can scan them."""

    @property
    def files(self) -> Sequence[str]:
        """The files that DuckDB itself opens."""

    def count(self) -> int:
        """The number of rows; no cell is looked at."""

    def attach(self, connection: Any, name: str) -> None:
        """Make the rows a relation `name`, good for one scan, with the columns that `handed_over` says."""

    def batches(self, columns: Sequence[str]) -> Iterable[Any]:
        """These columns of the rows as Arrow batches, in order; may refuse what would take much memory."""


@dataclass(frozen=True)
class Connected:
    """A session of the embedded engine: one origin, attached again for every scan."""

    connection: Any
    origin: Origin

    def rows(self, asked: "exp.Select") -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return list(self.connection.execute(self._attached(asked)).fetchall())

    def marginals(self, query: Statistics, grouping: Grouping, scan: "exp.Select") -> Marginals:
        """One scan of the rows, and the marginals of the small table that it makes."""
        asked = {columns: marginal(query, grouping, columns, CODED) for columns in grouping.marginals}
        kept, named = self._attached(scan), ""
        if len(asked) == 1:
            named = f"WITH {CODED} AS ({kept}) "
        else:
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {CODED} AS {kept}")
        return {columns: self._whole(named + duckdb_text(tree)) for columns, tree in asked.items()}

    def pieces(self, asked: "exp.Select", excluded: Sequence[int]) -> Iterator[list[Codes]]:
        """The columns of each batch as whole numbers."""
        for batch in self.connection.sql(self._attached(asked)).to_arrow_reader(BATCH):
            yield [batch.column(i).fill_null(code).to_numpy() for i, code in enumerate(excluded)]

    def _attached(self, asked: "exp.Select") -> str:
        """The text of a statement, for which the rows and the levels are there."""
        import pyarrow as pa

        self.origin.attach(self.connection, ROWS)
        for name, levels in listed_levels(asked).items():
            self.connection.register(name, pa.table({"level": list(levels), "code": list(levels.values())}))
        return duckdb_text(asked)

    def _whole(self, text: str) -> list[IntegerArray]:
        """The columns that a statement gives, whole numbers of at most 128 bits."""
        found = self.connection.sql(text).to_arrow_table()
        return [whole_numbers(column) for column in found.columns]


@dataclass(frozen=True)
class DuckDB(Engine):
    """A source that DuckDB scans; each origin holds the same rows and is tried when those before it fail.

    `id` is the public id of the dataset; `of_persons` says whether units are persons.
    """

    origins: tuple[Origin, ...]
    held: Mapping[str, Held]
    id: str = ""
    of_persons: bool = False
    threads: int | None = None

    def rows_held(self) -> int:
        """The number of rows."""
        return self.origins[0].count()

    def asked(self, answer: Callable[[Session], T]) -> T:
        """The answer of the first origin that can be read."""
        for origin in self.origins:
            try:
                with connect(origin.files, self.threads) as connection:
                    return answer(Connected(connection, origin))
            except Exception as problem:  # its text may quote rows: nothing of it may be kept or attached
                interrupted = type(problem) is RuntimeError and str(problem) == INTERRUPTED
            if interrupted:
                raise KeyboardInterrupt
        raise ReleaseError(UNREAD)

    @contextmanager
    def blocks(self, query: Loss, collect: Collect[R]) -> Iterator[R]:
        """What is collected of the rows of a query, which are read once; those of a plain one without SQL."""
        with ExitStack() as stack:
            found = self._plain(stack, query, collect) if is_plain(query, self.held) else None
            yield stack.enter_context(super().blocks(query, collect)) if found is None else found

    def _plain(self, stack: ExitStack, query: Loss, collect: Collect[R]) -> R | None:
        """The rows of a plain query while the stack lives; None where Arrow fails: to the engine they mean the same."""
        try:
            batches = self.origins[0].batches([self.held[name].column for name in query.columns])
            pieces = (coded_batch(query, self.held, batch) for batch in batches)
            size = query.largest_total if query.schema.relation == "replace-one" else self.origins[0].count()
            return stack.enter_context(collect(size, pieces))
        except Exception:  # as above: its text may quote rows
            return None


@contextmanager
def connect(files: Sequence[str] = (), threads: int | None = None) -> Iterator[Any]:
    """A DuckDB connection that can read `files`, if any, and touch nothing else outside its memory."""
    import duckdb
    from sqlglot import exp

    with engine_folder() as folder:
        settings: dict[str, Any] = {
            "allowed_paths": [*files],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": MEMORY_LIMIT,
            "preserve_insertion_order": False,
            "python_enable_replacements": False,
            "temp_directory": folder,
        }
        if threads is not None:
            settings["threads"] = threads
        locks = {"enable_external_access": False, "lock_configuration": True}
        with duckdb.connect(":memory:") as connection:
            known = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
            ((bar,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
            if bar:  # in a notebook without ipywidgets it is off, and even to say so is refused
                settings["enable_progress_bar"] = False
            settings["disabled_optimizers"] = ",".join(sorted(OPTIMIZERS_NOT_USED & {name for (name,) in known}))
            texts = {name: exp.convert(value).sql(dialect="duckdb") for name, value in (settings | locks).items()}
            connection.execute("; ".join(f"SET {name} = {text}" for name, text in texts.items()))
            yield connection


def whole_numbers(column: Any) -> IntegerArray:
    """A column of Arrow: 64 bits as they are, also those of 128 bits where all have room in 64, else Python's own."""
    parts = [_numbers(part) for part in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _numbers(part: Any) -> IntegerArray:
    """Without Arrow's own way to arrays, which imports pandas."""
    kind = part.type.to_pandas_dtype() if part.type.bit_width <= 64 else "<i8, <i8"
    found = np.frombuffer(part.buffers()[1], dtype=kind)[part.offset : part.offset + len(part)]
    if part.type.bit_width <= 64:
        return found.astype(np.int64)
    low, high = found["f0"], found["f1"]
    if np.array_equal(high, low >> 63):
        return np.array(low)
    return np.asarray(low.astype(np.uint64).astype(object) + (high.astype(object) << 64))


def is_plain(query: Loss, held: Mapping[str, Held]) -> bool:
    """Whether the rows of this query can be read without an engine."""
    parsed = [name for name in query.columns if held[name].storage in ("decimal", "text")]
    if any(held[name].storage == "comma" for name in query.columns):  # also levels may be numbers
        return False
    return query.schema.unit.identifier is None and all(query.schema.column(name).levels for name in parsed)


def coded_batch(query: Loss, held: Mapping[str, Held], rows: Any) -> dict[str, Codes]:
    """Level codes and grid steps of one Arrow batch of a plain query; `excluded` where a cell excludes its row."""
    columns = {name: query.schema.column(name) for name in query.columns}
    return {name: arrow_coded(column, rows.column(held[name].column)) for name, column in columns.items()}
