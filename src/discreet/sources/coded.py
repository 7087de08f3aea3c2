"""Rows that already are level codes and grid steps: what a model simulates, answered like any other source."""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import Statistic
from discreet.queries.influence import Influences
from discreet.queries.losses.base import Loss, Query
from discreet.queries.scores.score_law import ScoreLaw
from discreet.queries.statistics import Statistics
from discreet.schema.cell import NO_NUMBER, Codes
from discreet.sources.coded_influences import sums_of_influences
from discreet.sources.dataset import Design, IntegerArray, RowSums, collected, local_sums
from discreet.sources.readers.identifiers import known, text_of_identifier
from discreet.sources.scores.score_sources import ScoreSource, collected_scores
from discreet.sources.sql.kept_rows import BAD_CELL, SEPARATOR, digest_head
from discreet.sources.sql.sum_sql import LARGEST_EXACT_DOUBLE

__all__ = ["NO_NUMBER", "CodedRows"]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows in memory: codes of levels and whole grid steps of numbers; -1 and `NO_NUMBER` exclude their row.

    A column is coded as the query that is asked sees it: a number that is cut, and cells by their class, by levels.
    `persons` are the identifiers of the rows, whole numbers or texts; -1 and None are none, and such rows are dropped
    where units are persons. Without identifiers every row is a person of its own. `id` is the dataset's public id.
    """

    columns: Mapping[str, Codes] = field(repr=False)
    persons: NDArray[Any] | None = field(default=None, repr=False)
    id: str = ""
    at_hand: ClassVar[bool] = True
    has_places: ClassVar[bool] = True

    def __post_init__(self) -> None:
        arrays = {name: np.asarray(values, dtype=np.int64) for name, values in self.columns.items()}
        if len({values.shape for values in arrays.values()}) != 1:
            raise QueryError(f"CodedRows.columns must be columns of one length, got {sorted(arrays)}")
        object.__setattr__(self, "columns", arrays)
        if self.persons is None:
            return
        if np.shape(self.persons) != (self._length,):
            raise QueryError("CodedRows.persons must be one identifier for each row, got another number of them")
        object.__setattr__(self, "persons", _identifiers(np.asarray(self.persons)))

    @property
    def _length(self) -> int:
        return int(next(iter(self.columns.values())).size)

    def can_sum(self) -> bool:
        """Scores are computed in this process."""
        return True

    def count(self) -> int:
        """The number of rows, or of persons where rows have identifiers."""
        return self._length if self.persons is None else int(np.unique(self.persons[self._known]).size)

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Every statistic of the query, exactly."""
        used = self._used(query)
        rows = {name: self.columns[name][used] for name in query.columns}
        axes = {axis: axis.centred(rows[axis.column]) for s in query.statistics for axis in s.axes}
        return {
            s.name: _sums(s, {**rows, **axes}) if s.axes else _counts(s, rows, int(used.sum()))
            for s in query.statistics
        }

    def influences(self, query: Influences) -> IntegerArray:
        """The sums of a second stage, exactly."""
        used = self._used(query)
        rows = {name: self.columns[name][used] for name in query.columns}
        units = np.arange(self._length)
        if query.schema.unit.identifier is not None and self.persons is not None:
            units[self._known] = np.unique(self.persons[self._known], return_inverse=True)[1]
        return sums_of_influences(query, rows, units[used])

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The used rows, in their order."""
        return collected(query, *self._pieces(query))

    def scores(self, query: Loss, law: ScoreLaw) -> AbstractContextManager[ScoreSource]:
        """Sums over the used rows."""
        return collected_scores(query, law, *self._pieces(query))

    def sums(self, query: Loss) -> AbstractContextManager[RowSums]:
        """Sums of what a function finds in the used rows."""
        return local_sums(self.design(query))

    def _pieces(self, query: Loss) -> tuple[int, list[dict[str, Codes]]]:
        """How many rows count, and these, at once."""
        kept = self._kept(query)
        return int(kept.sum()), [{name: self.columns[name][kept] for name in query.columns}]

    @property
    def _known(self) -> NDArray[np.bool_]:
        """Which rows have an identifier."""
        assert self.persons is not None
        is_none = np.equal(self.persons, np.array(None if self.persons.dtype == object else -1))
        return np.asarray(~is_none.astype(bool))

    def _used(self, query: Statistics | Influences) -> NDArray[np.bool_]:
        """Which rows count and have no cell that excludes them."""
        used = self._kept(query)
        for name in query.columns:
            used &= ~_is_bad(query, name, self.columns[name])
        return used

    def _kept(self, query: Query | Influences) -> NDArray[np.bool_]:
        """Which rows count: of each person at most k, those of the smallest digests."""
        unit = query.schema.unit
        if unit.identifier is None or self.persons is None:
            return np.ones(self._length, dtype=bool)
        used = self._known
        known = np.flatnonzero(used)
        persons, person, owned = np.unique(self.persons[known], return_inverse=True, return_counts=True)
        crowded = np.flatnonzero(owned[person] > unit.max_records)  # all rows of the others are kept without a digest
        coded = [self._cells(query, name, known[crowded]) for name in query.columns]
        head = digest_head(self.id)
        times: Counter[str] = Counter()
        digests = []
        for who, *cells in zip(persons[person[crowded]], *coded, strict=True):
            text = f"{head}{who}{SEPARATOR}{','.join(cells)}{SEPARATOR}"
            times[text] += 1
            digests.append(md5(f"{text}{times[text]}".encode(), usedforsecurity=False).hexdigest())
        order = np.lexsort((np.array(digests, dtype="U32"), person[crowded]))
        owner = person[crowded][order]
        place = np.arange(owner.size) - np.searchsorted(owner, owner)  # among the rows of the same person, from 0
        used[known[crowded[order[place >= unit.max_records]]]] = False
        return used

    def _cells(self, query: Query | Influences, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The coded cells of one column as texts, in the rows at these places."""
        codes = self.columns[name][rows]
        return np.where(_is_bad(query, name, codes), BAD_CELL, codes.astype(str))


def _is_bad(query: Query | Influences, name: str, rows: Codes) -> NDArray[np.bool_]:
    """Which cells exclude their row."""
    return np.asarray(rows == query.schema.column(name).excluded)


def _identifiers(rows: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as they are; anything else as texts or None, as objects: numpy's own texts lose trailing zeros."""
    if rows.dtype.kind in "iu":
        return rows
    texts = [(type(who), known(text_of_identifier(who))) for who in rows.tolist()]
    return np.array([None if text == "-1" and kind is not str else text for kind, text in texts], dtype=object)


def _counts(table: Statistic, rows: Mapping[str, Codes], exact: int) -> IntegerArray:
    """The rows of each combination of levels; without columns, the `exact` number of them all."""
    if not table.columns:
        return np.asarray(exact, dtype=np.int64)
    places = np.ravel_multi_index(tuple(rows[name] for name in table.columns), table.grid)
    counts = np.bincount(places, minlength=int(np.prod(table.grid))).reshape(table.grid).astype(np.int64)
    return counts if table.cell is None else np.asarray(counts[table.cell])


def _sums(statistic: Statistic, rows: Mapping[Any, Codes]) -> IntegerArray:
    """Sums within each combination of levels, in doubles where they are exact, else in Python integers."""
    codes, factors = tuple(rows[name] for name in statistic.categories), [rows[axis] for axis in statistic.axes]
    places = np.ravel_multi_index(codes, statistic.grid) if codes else np.zeros(factors[0].size, dtype=np.int64)
    size = int(np.prod(statistic.grid, dtype=np.int64))
    if factors[0].size * statistic.unit < LARGEST_EXACT_DOUBLE:
        terms = np.prod([factor.astype(float) for factor in factors], axis=0)
        sums = np.bincount(places, terms, size).astype(np.int64).astype(object)
    else:
        sums = np.zeros(size, dtype=object)
        np.add.at(sums, places, np.prod([factor.astype(object) for factor in factors], axis=0))
    return np.asarray(sums, dtype=object).reshape(statistic.grid)
