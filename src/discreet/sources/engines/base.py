"""What every engine has in common: a query becomes SQL trees, and what these give becomes exact integers.

An engine is one file here. It supplies

* `held`, `id`, `of_persons`: how its source holds each declared column, the public id, whether units are persons;
* `rows_held()`: the number of rows; no cell is looked at;
* `asked(answer)`: a `Session` for the length of one answer, against one state of the source. Whatever fails becomes one
  constant `ReleaseError` with nothing attached and nothing on any stream, an interrupt stays an interrupt, and what the
  session held is gone afterwards.

A session has the rows under the name `ROWS`, with the columns that `handed_over` says (c0, c1, … as `held` names them,
and `person`), every text in them below a public cap, equal exactly where its bytes are. It runs the trees of
`sources.sql`, which are written as DuckDB reads them. Where an engine says something else, its dialect of sqlglot
renders it: generators replace a node by what means the same, for every cell there is. These nodes are

    TryCast to DOUBLE     a text as a number, NULL if it is none: exactly `schema.cell.number_of`
    TryCast to BIGINT     a double as a whole number; only of doubles below 2^53 is the result looked at
    enum_code(TryCast)    the place of a text among declared ones, NULL if it is none (`level_code`)
    Cast to VARCHAR       digits of a whole number, of which engines have one opinion; see `text` for doubles
    Literal with an "e"   a double, to the last bit
    Sum                   of whole numbers, exact in 128 bits; `sum_of_doubles` is the engine's own SUM
    IntDiv                of whole numbers that are not negative
    MD5, SHA2, Contains   of the bytes of a text in UTF-8; texts are ordered and compared by bytes
    Div, Mul, Floor       of doubles that were clipped to public bounds before

Everything else is plain SQL: CASE, COALESCE, GROUP BY, ROW_NUMBER, LEFT JOIN of VALUES. No engine may send a cast that
can fail, nor leave out a row. With this, `count`, `statistics`, `influences` and `blocks` are the same code everywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from discreet.queries.influence import Influences
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema.cell import Codes
from discreet.sources.dataset import Design, IntegerArray, RowSums, collected, local_sums
from discreet.sources.scores.score_sources import ScoreSource, collected_scores
from discreet.sources.sql.cell_sql import Held
from discreet.sources.sql.influence_sql import influence_sums
from discreet.sources.sql.kept_rows import number_of_persons
from discreet.sources.sql.statements import Grouping, coded, coded_groups, groupings, number_of_rows, rows_in_order
from discreet.sources.sql.sum_sql import most_rows

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["ROWS", "UNREAD", "Collect", "Engine", "Group", "Marginals", "Session", "in_arrays"]

T = TypeVar("T")
R = TypeVar("R")

# What makes something of n rows that come in pieces of coded columns, for as long as it is open.
Collect = Callable[[int, Iterable[Mapping[str, Codes]]], AbstractContextManager[R]]

Group = tuple[Any, ...]  # codes, n and sums of one combination of levels that holds rows

# For each set of columns, the codes, n and sums of all combinations of levels that hold rows, each as one array.
Marginals = dict[tuple[str, ...], Sequence[IntegerArray]]

ROWS = "rows"

UNREAD = "the source could not be read: no statistic was computed"


class Session(Protocol):
    """One state of a source, and the trees that are run against it."""

    def rows(self, asked: "exp.Select") -> list[tuple[Any, ...]]:
        """The few rows of whole numbers that a statement gives."""

    def marginals(self, query: Statistics, grouping: Grouping, scan: "exp.Select") -> Marginals:
        """What a scan of `coded_groups` gives over each set of columns of its grouping."""

    def pieces(self, asked: "exp.Select", excluded: Sequence[int]) -> Iterable[Sequence[Codes]]:
        """As many first columns of many rows as have a code for NULL, in pieces of a bounded size."""


class Engine(ABC):
    """A source that an engine scans."""

    held: Mapping[str, Held]
    id: str
    of_persons: bool
    at_hand: ClassVar[bool] = True
    has_places: ClassVar[bool] = True

    @abstractmethod
    def rows_held(self) -> int:
        """The number of rows; no cell is looked at."""

    @abstractmethod
    def asked(self, answer: Callable[[Session], T]) -> T:
        """What is answered in a session; a failure is a ReleaseError that says nothing about the rows."""

    def listed(self, query: Loss) -> "exp.Select":
        """The used rows of a loss, coded; in the order of the source where it has one."""
        return rows_in_order(query, self.held, ROWS, self.id)

    def count(self) -> int:
        """The number of rows, or of persons."""
        if not self.of_persons:
            return self.rows_held()
        return self.asked(lambda session: int(session.rows(number_of_persons(ROWS))[0][0]))

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Every statistic of the query, exactly; a failure is a ReleaseError that says nothing about the rows."""
        scans = [(grouping, self._scan(query, grouping, most_rows(query))) for grouping in groupings(query)]

        def answer(session: Session) -> dict[str, IntegerArray]:
            answers: dict[str, IntegerArray] = {}
            for grouping, scan in scans:
                found = session.marginals(query, grouping, scan)
                if not _is_bounded(query, found):  # a wrong n_max must not cost exactness
                    found = session.marginals(query, grouping, self._scan(query, grouping, None))
                for columns, arrays in found.items():
                    answers |= _dense(grouping, columns, arrays)
            return {name: answers[name] for name in query.names}

        return self.asked(answer)

    def influences(self, query: Influences) -> IntegerArray:
        """The sums of a second stage, exactly; a failure says nothing about the rows."""
        scan = influence_sums(query, self.held, ROWS, self.id)

        def answer(session: Session) -> IntegerArray:
            sums = np.zeros((len(query.functions), len(query.functions[0])), dtype=object)
            for group, *found in session.rows(scan):
                sums[int(group)] = [int(total) for total in found]
            return sums.reshape(query.shape)

        return self.asked(answer)

    @contextmanager
    def blocks(self, query: Loss, collect: Collect[R]) -> Iterator[R]:
        """What is collected of the used rows of a loss, which are read once, piece by piece."""
        with ExitStack() as stack:
            listed = self.listed(query)
            excluded = [query.schema.column(name).excluded for name in query.columns]

            def answer(session: Session) -> R:
                size = query.largest_total
                if query.total is None:  # persons keep as many rows as they have, up to their bound
                    counted = int(session.rows(number_of_rows(listed))[0][0])
                    size = min(size, counted) if query.schema.relation == "replace-one" else counted
                pieces = session.pieces(listed, excluded)
                columns = (dict(zip(query.columns, piece, strict=True)) for piece in pieces)
                return stack.enter_context(collect(size, columns))

            yield self.asked(answer)

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The used rows; a failure is a ReleaseError that says nothing about them."""
        return self.blocks(query, partial(collected, query))

    def can_sum(self) -> bool:
        """Scores are computed in this process."""
        return True

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """Sums over the used rows; a failure says nothing about them."""
        return self.blocks(query, partial(collected_scores, query, law))

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """Sums of what a function finds in the used rows."""
        return local_sums(self.design(query))

    def _scan(self, query: Statistics, grouping: Grouping, rows_at_most: int | None) -> "exp.Select":
        """What all marginals are of: where there are several, every combination of levels once."""
        groups = coded_groups(query, grouping, self.held, ROWS, self.id, rows_at_most)
        return groups if len(grouping.marginals) == 1 else coded(query, grouping, groups)


def in_arrays(groups: Sequence[Group], grouping: Grouping, columns: tuple[str, ...]) -> list[IntegerArray]:
    """Groups over a set of columns, as one array of each number."""
    width = len(columns) + 1 + len(grouping.products)
    return [*np.array(groups, dtype=object).reshape(len(groups), width).T]


def _is_bounded(query: Statistics, exact: Marginals) -> bool:
    """Whether there are no more rows than were thought possible when the arithmetic was chosen."""
    bound = most_rows(query)
    columns, arrays = next(iter(exact.items()))
    return bound is None or int(arrays[len(columns)].sum()) <= bound


def _dense(grouping: Grouping, columns: tuple[str, ...], exact: Sequence[IntegerArray]) -> dict[str, IntegerArray]:
    """The statistics over one set of columns as dense arrays."""
    answers: dict[str, IntegerArray] = {}
    codes = tuple(array.astype(np.int64) for array in exact[: len(columns)])
    for statistic in grouping.marginals[columns]:
        is_count = not statistic.axes
        totals = exact[len(columns) + (0 if is_count else 1 + grouping.products.index(statistic.axes))]
        dense = np.zeros(statistic.grid, dtype=np.int64 if is_count else object)
        dense[codes] = totals.astype(dense.dtype) if columns else int(totals[0])
        answers[statistic.name] = dense if statistic.cell is None else np.asarray(dense[statistic.cell])
    return answers
