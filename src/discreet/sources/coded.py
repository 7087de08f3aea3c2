"""Rows that already are level codes and grid steps: what a model simulates, answered like any other source."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.query import Counts, Statistics
from discreet.schema import Binary, Categorical
from discreet.sources.dataset import IntegerArray

__all__ = ["CodedRows"]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows in memory: codes of levels (-1: a bad cell that excludes its row) and whole grid steps of numbers."""

    columns: Mapping[str, NDArray[np.int64]] = field(repr=False)

    def __post_init__(self) -> None:
        arrays = {name: np.asarray(values, dtype=np.int64) for name, values in self.columns.items()}
        if len({values.shape for values in arrays.values()}) != 1:
            raise QueryError(f"CodedRows.columns must be columns of one length, got {sorted(arrays)}")
        object.__setattr__(self, "columns", arrays)

    def count(self) -> int:
        """The number of rows."""
        return int(next(iter(self.columns.values())).size)

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Every statistic of the query, exactly."""
        levels = [name for name in query.columns if isinstance(query.schema.column(name), Binary | Categorical)]
        used = np.ones(self.count(), dtype=bool)
        for name in levels:
            used &= self.columns[name] >= 0
        answers: dict[str, IntegerArray] = {}
        for statistic in query.statistics:
            values = tuple(self.columns[name][used] for name in statistic.columns)
            if isinstance(statistic, Counts):
                answers[statistic.name] = _counts(statistic, values, int(used.sum()))
            else:
                # steps are below 2^31 and rows below 2^32, so 64 bits cannot overflow
                answers[statistic.name] = np.array(int(values[0].sum()), dtype=object)
        return answers


def _counts(table: Counts, codes: tuple[NDArray[np.int64], ...], used: int) -> IntegerArray:
    if not codes:
        return np.asarray(used, dtype=np.int64)
    cells = np.ravel_multi_index(codes, table.grid)
    counts = np.bincount(cells, minlength=int(np.prod(table.grid))).reshape(table.grid).astype(np.int64)
    return counts if table.cell is None else np.asarray(counts[table.cell])
