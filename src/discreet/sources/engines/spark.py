"""Spark: a frame of the user's, seen in a session of our own. Rows stay where they are; whole numbers come home.

A scan is one job with two shuffles: raw cells are grouped where they lie, levels are looked up for groups, and what
comes to this process are the sums over each combination of declared levels, all marginals of a scan by GROUPING SETS.
A task that is lost is done again by Spark, from the same rows; nothing is counted in accumulators, which would count it
twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from discreet.errors import ReleaseError
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.schema.cell import Codes
from discreet.sources.dataset import RowSums
from discreet.sources.engines.base import ROWS, UNREAD, Collect, Engine, Group, Marginals, Session, in_arrays
from discreet.sources.engines.quiet_spark import quiet_spark
from discreet.sources.engines.spark_blocks import BlockLayout, Pack, SparkBlocks, kept_blocks, ready_workers
from discreet.sources.engines.spark_designs import spark_sums
from discreet.sources.readers.spark_frames import spark_rows
from discreet.sources.scores.score_sources import ScoreSource
from discreet.sources.scores.spark_scores import spark_scores
from discreet.sources.sql.cell_sql import RAW, Held
from discreet.sources.sql.statements import Grouping, coded_groups, marginal, used_cells

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Spark", "opened_in_spark"]

T = TypeVar("T")
R = TypeVar("R")

CODED, SET = "coded", "grouped_by"  # a scan, and which columns a group is not grouped by


@dataclass(frozen=True)
class SparkAsked:
    """The session in which `rows` and nothing else is a view."""

    session: Any

    def rows(self, asked: "exp.Select") -> list[tuple[Any, ...]]:
        """The few rows of whole numbers that a statement gives."""
        return self._collected(_text(asked))

    def marginals(self, query: Statistics, grouping: Grouping, scan: "exp.Select") -> Marginals:
        """Of one scan, in one job. It has its name within the statement: threads share the views of a session."""
        groups = self._collected(f"WITH {CODED} AS ({_text(scan)}) {_text(_of_sets(query, grouping))}")
        sets = {columns: _of_set(grouping, columns, groups) for columns in grouping.marginals}
        return {columns: in_arrays(found, grouping, columns) for columns, found in sets.items()}

    def pieces(self, asked: "exp.Select", excluded: Sequence[int]) -> Iterable[Sequence[Codes]]:
        """None: rows do not leave Spark."""
        return ()

    def _collected(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(statement).collect()]


@dataclass(frozen=True)
class Spark(Engine):
    """A frame that Spark scans."""

    session: Any = field(repr=False)
    held: Mapping[str, Held]
    id: str = ""
    of_persons: bool = False
    at_hand: ClassVar[bool] = False
    has_places: ClassVar[bool] = False

    def rows_held(self) -> int:
        """The number of rows."""
        return self.asked(lambda _: int(self.session.table(RAW).count()))

    def asked(self, answer: Callable[[Session], T]) -> T:
        """What is answered without a word on any stream."""
        try:
            with quiet_spark(self.session):
                return answer(SparkAsked(self.session))
        except KeyboardInterrupt:  # raised anew: frames of the driver may hold rows
            interrupted = True
        except Exception:  # its text may quote rows: nothing of it may be kept or attached
            interrupted = False
        if interrupted:
            raise KeyboardInterrupt
        raise ReleaseError(UNREAD)

    @contextmanager
    def blocks(self, query: Loss, collect: Collect[R]) -> Iterator[R]:
        """Rows do not leave Spark."""
        raise ReleaseError(UNREAD)

    def can_sum(self) -> bool:
        """Whether workers have this library, as far as they are there now."""
        try:
            return self.asked(lambda _: ready_workers(self.session))
        except ReleaseError:
            return False

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """Sums over the used rows, which stay with the executors."""
        return spark_scores(query, law, self._kept)

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """The same of a function of the coded rows."""
        return spark_sums(query, self._kept)

    def _scan(self, query: Statistics, grouping: Grouping, rows_at_most: int | None) -> "exp.Select":
        """Groups of equal cells: those of equal codes are added up with the marginals, which saves a shuffle."""
        return coded_groups(query, grouping, self.held, ROWS, self.id, rows_at_most)

    def _kept(self, layout: BlockLayout, query: Loss, pack: Pack) -> AbstractContextManager[SparkBlocks]:
        scan = _text(used_cells(query, self.held, ROWS, self.id))
        return kept_blocks(
            layout, query, pack, lambda: self.session.sql(scan), lambda work: self.asked(lambda _: work())
        )


def opened_in_spark(frame: Any, schema: Schema, id: str) -> Spark:  # noqa: A002
    """The engine of a frame."""
    with quiet_spark(frame.sparkSession):
        raw, handed, held = spark_rows(frame, schema)
        raw.createOrReplaceTempView(RAW)
        raw.sparkSession.sql(_text(handed)).createOrReplaceTempView(ROWS)
    return Spark(raw.sparkSession, held, id, schema.unit.identifier is not None)


def _text(asked: "exp.Select") -> str:
    from discreet.sources.sql.spark_sql import spark_text

    return spark_text(asked)


def _of_sets(query: Statistics, grouping: Grouping) -> "exp.Select":
    """`marginal` over every set of columns that is asked for, and which set a group is of."""
    from sqlglot import exp

    every = tuple(name for name in grouping.columns if any(name in columns for columns in grouping.marginals))
    asked = marginal(query, grouping, every, CODED)
    if len(grouping.marginals) == 1:  # over every column, or over none: there is nothing to tell apart
        return asked.select(exp.Literal.number(0).as_(SET))
    codes = dict(zip(every, asked.args["group"].expressions, strict=True))
    sets = [exp.Tuple(expressions=[codes[name].copy() for name in columns]) for columns in grouping.marginals]
    asked.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    which = exp.Anonymous(this="GROUPING_ID", expressions=[code.copy() for code in codes.values()])
    return asked.select(which.as_(SET))


def _of_set(grouping: Grouping, columns: tuple[str, ...], groups: Sequence[Group]) -> list[Group]:
    """The groups over one set of columns, its codes first; a whole table without rows is one group of zeros."""
    every = tuple(name for name in grouping.columns if any(name in columns for columns in grouping.marginals))
    places = [every.index(name) for name in columns]
    is_of = sum(1 << (len(every) - 1 - place) for place, name in enumerate(every) if name not in columns)
    found = [(*(row[place] for place in places), *row[len(every) : -1]) for row in groups if row[-1] == is_of]
    return found or ([] if columns else [(0,) * (1 + len(grouping.products))])
