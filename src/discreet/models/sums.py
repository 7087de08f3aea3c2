"""What models of one noisy sum share: the query, the likelihood of their parameter, and the plug-in sum."""

from typing import Any

import numpy as np

from discreet.inference.one_sum.clamped_records import ClampedRecord, ValueGrid
from discreet.inference.one_sum.fourier import NoisySum
from discreet.models.base import Laws, Value
from discreet.queries.counts_and_sums import Axis, Counts, Statistic, Sum
from discreet.queries.families import OneSum
from discreet.queries.statistics import Statistics, used_rows
from discreet.schema import Schema

__all__ = ["lattice_of", "noisy_sum", "plain_sum", "sum_query"]


def sum_query(schema: Schema, column: str, by: str | None, family: OneSum | None = None) -> Statistics:
    """The sum of a column, with the number of rows where it is private."""
    columns = (column,) if by is None else (column, by)
    counted = by is not None or used_rows(schema, columns) is None
    statistics: tuple[Statistic, ...] = (Sum.of(schema, "sum", column),)
    asked = (Counts.over(schema, "n"), *statistics) if counted else statistics
    return Statistics(schema, asked, None if counted else family).grouped(by)


def lattice_of(axis: Axis) -> ValueGrid:
    """The axis as the record laws see it; merged steps put the cells half a grid step below their values."""
    return ValueGrid(axis.centre, axis.unit, axis.reach, -0.5 * axis.grid if axis.shift else 0.0)


def noisy_sum(query: Statistics, value: Value, laws: Laws, record: ClampedRecord) -> NoisySum:
    """The released numbers of one group, ready to be asked for the likelihood of a parameter."""
    size = {"released_size": float(value["n"]), "size_law": laws["n"]} if "n" in value else {}
    return NoisySum(float(value["sum"]), laws["sum"], record, query.sizes, **size)  # type: ignore[arg-type]


def plain_sum(query: Statistics, value: Value, axis: Axis) -> tuple[float, float]:
    """The number of records and the sum of their values in the column's own units, clipped to what is possible."""
    known: Any = value.get("n", query.total)
    n = float(max(known, 0.0))
    v = float(np.clip(float(value["sum"]), -n * axis.reach, n * axis.reach))
    return n, n * axis.centre + axis.unit * v
