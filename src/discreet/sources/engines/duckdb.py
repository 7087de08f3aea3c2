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
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.errors import ReleaseError
from discreet.queries.influence import Influences
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema.arrow_cell import arrow_coded
from discreet.schema.cell import Codes
from discreet.sources.dataset import Design, IntegerArray, collected
from discreet.sources.engines.spill import engine_folder
from discreet.sources.scores.score_sources import ScoreSource, collected_scores
from discreet.sources.sql.cell_sql import Held, most_rows
from discreet.sources.sql.influence_sql import influence_sums
from discreet.sources.sql.kept_rows import number_of_persons
from discreet.sources.sql.statements import Grouping, coded, groupings, marginal, rows_in_order

__all__ = ["DuckDB", "Origin", "coded_batch", "connect", "is_plain"]

T = TypeVar("T")
R = TypeVar("R")
Collect = Callable[[int, Iterable[Mapping[str, Codes]]], AbstractContextManager[R]]

# For each set of columns, tuples of codes, n and sums, one for each combination of levels that holds rows.
Marginals = dict[tuple[str, ...], list[tuple[Any, ...]]]

# With the interpreter and its libraries this keeps the whole process below 1 GB.
MEMORY_LIMIT = "600MB"

# Rewrites "the first k rows of each person" into an aggregate that cannot spill; not every version has it.
GREEDY_OPTIMIZER = "top_n_window_elimination"

# All that DuckDB leaves of a KeyboardInterrupt.
INTERRUPTED = "Query interrupted"

BATCH = 2**17  # rows handed over at a time

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
        """Make the rows a relation `name`, good for one scan, with the columns that `handed_over` says."""

    def batches(self, columns: Sequence[str]) -> Iterable[Any]:
        """These columns of the rows as Arrow batches, in order; may refuse what would take much memory."""


@dataclass(frozen=True)
class DuckDB:
    """A source that DuckDB scans; each origin holds the same rows and is tried when those before it fail.

    `id` is the public id of the dataset; `of_persons` says whether units are persons.
    """

    origins: tuple[Origin, ...]
    held: Mapping[str, Held]
    id: str = ""
    of_persons: bool = False
    threads: int | None = None

    def count(self) -> int:
        """The number of rows, or of persons."""
        if not self.of_persons:
            return self.origins[0].count()
        counted = number_of_persons(ROWS).sql(dialect="duckdb")

        def answer(connection: Any, attach: Callable[[], None]) -> int:
            attach()
            ((persons,),) = connection.execute(counted).fetchall()
            return int(persons)

        return self._tried(answer)

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Every statistic of the query, exactly; a failure is a ReleaseError that says nothing about the rows."""
        scans = [(grouping, self._scan(query, grouping, most_rows(query))) for grouping in groupings(query)]

        def answer(connection: Any, attach: Callable[[], None]) -> dict[str, IntegerArray]:
            answers: dict[str, IntegerArray] = {}
            for grouping, scan in scans:
                found = _marginals(connection, attach, query, grouping, scan)
                if not _is_bounded(query, found):  # a wrong n_max must not cost exactness
                    found = _marginals(connection, attach, query, grouping, self._scan(query, grouping, None))
                for columns, groups in found.items():
                    answers |= _dense(grouping, columns, groups)
            return {name: answers[name] for name in query.names}

        return self._tried(answer)

    def influences(self, query: Influences) -> IntegerArray:
        """The sums of a second stage, exactly; a failure says nothing about the rows."""
        text = influence_sums(query, self.held, ROWS, self.id).sql(dialect="duckdb", copy=False)

        def answer(connection: Any, attach: Callable[[], None]) -> IntegerArray:
            attach()
            sums = np.zeros((len(query.functions), len(query.functions[0])), dtype=object)
            for group, *found in connection.execute(text).fetchall():
                sums[group] = [int(total) for total in found]
            return sums.reshape(query.shape)

        return self._tried(answer)

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The used rows; a failure is a ReleaseError that says nothing about them."""
        return self._read(query, partial(collected, query))

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """Sums over the used rows; a failure says nothing about them."""
        return self._read(query, partial(collected_scores, query, law))

    @contextmanager
    def _read(self, query: Loss, collect: Collect[R]) -> Iterator[R]:
        """What is collected of the rows of a query, which are read once."""
        with ExitStack() as stack:
            found = self._plain(stack, query, collect) if is_plain(query, self.held) else None
            if found is None:
                text = rows_in_order(query, self.held, ROWS, self.id).sql(dialect="duckdb", copy=False)

                def answer(connection: Any, attach: Callable[[], None]) -> R:
                    return _collected(stack, connection, attach, query, text, collect)

                found = self._tried(answer)
            yield found

    def _scan(self, query: Statistics, grouping: Grouping, rows_at_most: int | None) -> str:
        return coded(query, grouping, self.held, ROWS, self.id, rows_at_most).sql(dialect="duckdb", copy=False)

    def _plain(self, stack: ExitStack, query: Loss, collect: Collect[R]) -> R | None:
        """The rows of a plain query while the stack lives; None where Arrow fails: to the engine they mean the same."""
        try:
            batches = self.origins[0].batches([self.held[name].column for name in query.columns])
            pieces = (coded_batch(query, self.held, batch) for batch in batches)
            size = query.largest_total if query.schema.relation == "replace-one" else self.origins[0].count()
            return stack.enter_context(collect(size, pieces))
        except Exception:  # as below: its text may quote rows
            return None

    def _tried(self, answer: Callable[[Any, Callable[[], None]], T]) -> T:
        """The answer of the first origin that can be read."""
        for origin in self.origins:
            try:
                with connect(origin.files, self.threads) as connection:
                    return answer(connection, partial(origin.attach, connection, ROWS))
            except Exception as problem:  # its text may quote rows: nothing of it may be kept or attached
                interrupted = type(problem) is RuntimeError and str(problem) == INTERRUPTED
            if interrupted:
                raise KeyboardInterrupt
        raise ReleaseError("the source could not be read: no statistic was computed")


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
            known = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
            settings["disabled_optimizers"] = GREEDY_OPTIMIZER if (GREEDY_OPTIMIZER,) in known else ""
            texts = {name: exp.convert(value).sql(dialect="duckdb") for name, value in (settings | locks).items()}
            connection.execute("; ".join(f"SET {name} = {text}" for name, text in texts.items()))
            yield connection


def _collected(
    stack: ExitStack, connection: Any, attach: Callable[[], None], query: Loss, text: str, collect: Collect[R]
) -> R:
    """The rows of one scan, for as long as the stack lives."""
    attach()
    size = query.largest_total
    if query.total is None:  # persons keep as many rows as they have, up to their bound
        counted = int(connection.sql(text).aggregate("count(*)").fetchall()[0][0])
        size = min(size, counted) if query.schema.relation == "replace-one" else counted
        attach()
    reader = connection.sql(text).to_arrow_reader(BATCH)
    return stack.enter_context(collect(size, (_columns(query, batch) for batch in reader)))


def _columns(query: Loss, rows: Any) -> dict[str, Any]:
    """One batch of rows as whole numbers; NULL excludes a row."""
    excluded = [query.schema.column(name).excluded for name in query.columns]
    return {name: rows.column(i).fill_null(excluded[i]).to_numpy() for i, name in enumerate(query.columns)}


def _marginals(
    connection: Any, attach: Callable[[], None], query: Statistics, grouping: Grouping, scan: str
) -> Marginals:
    """The rows coded and grouped by one scan, then as codes, n and sums over each set of columns that is asked for."""
    attach()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {CODED} AS {scan}")
    texts = {
        columns: marginal(query, grouping, columns, CODED).sql(dialect="duckdb", copy=False)
        for columns in grouping.marginals
    }
    return {columns: connection.execute(text).fetchall() for columns, text in texts.items()}


def _is_bounded(query: Statistics, exact: Marginals) -> bool:
    """Whether there are no more rows than were thought possible when the arithmetic was chosen."""
    bound = most_rows(query)
    columns, groups = next(iter(exact.items()))
    return bound is None or sum(group[len(columns)] for group in groups) <= bound


def _dense(grouping: Grouping, columns: tuple[str, ...], exact: list[tuple[Any, ...]]) -> dict[str, IntegerArray]:
    """The statistics over one set of columns as dense arrays."""
    answers: dict[str, IntegerArray] = {}
    table = np.array(exact, dtype=object).reshape(len(exact), len(columns) + 1 + len(grouping.products))
    codes = tuple(table[:, : len(columns)].T.astype(np.int64))
    for statistic in grouping.marginals[columns]:
        is_count = not statistic.axes
        position = len(columns) + (0 if is_count else 1 + grouping.products.index(statistic.axes))
        dense = np.zeros(statistic.grid, dtype=np.int64 if is_count else object)
        values = [int(value) for value in table[:, position]]
        dense[codes] = values if columns else values[0]
        answers[statistic.name] = dense if statistic.cell is None else np.asarray(dense[statistic.cell])
    return answers


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
