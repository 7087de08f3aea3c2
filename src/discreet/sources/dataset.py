"""A dataset: a source of private rows, seen through a schema, under a public id.

A `Source` answers exactly three questions. `count` is the number of units; it looks at no cell but, where units are
persons, at their identifiers. `statistics` are exact integers, the same on every engine, format, row order, partition
and thread count. `design` hands the coded rows themselves to a mechanism that needs them again and again, in the order
of the source. Nothing else leaves a source, and no event of answering (exception, shape, text) depends on what a row
contains.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.queries.losses.base import Loss
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.sources.design import Design

__all__ = ["Dataset", "IntegerArray", "Source"]

# int64 for counts; Python integers (dtype object) for sums, which may need 128 bits
IntegerArray = NDArray[np.int64] | NDArray[Any]


class Source(Protocol):
    """Where private rows live; only these three answers come out."""

    def count(self) -> int:
        """The number of units."""

    def statistics(self, query: Statistics) -> dict[str, IntegerArray]:
        """Each statistic of the query under its name: an array of its declared shape, zeros included."""

    def design(self, query: Loss) -> AbstractContextManager[Design]:
        """The used rows as features and targets, private, for as long as the context is open."""


@dataclass(frozen=True)
class Dataset:
    """A source with the public facts about it; `id` is chosen by the custodian, never computed from rows."""

    id: str
    schema: Schema
    source: Source = field(repr=False)
