"""Sums over the hidden columns of a network, exactly: variable elimination on tables that many draws and records share.

A table is an array (draws, records, levels …) with one axis for each column of its scope, in that order; an axis of
length 1 stands for draws or records that are all alike. Columns go one after the other, the one first whose table is
the smallest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["SharedTable", "elimination", "summed_out"]


@dataclass(frozen=True)
class SharedTable:
    """A non-negative function of the columns of its scope, for every draw and record."""

    scope: tuple[str, ...]
    values: Array


def elimination(
    scopes: Sequence[frozenset[str]], hidden: frozenset[str], levels: Mapping[str, int]
) -> tuple[list[str], int]:
    """The order in which hidden columns are summed out, and the cells of the largest table on the way."""
    left, order, largest = list(scopes), [], max((_cells(scope, levels) for scope in scopes), default=1)
    while rest := [name for name in levels if name in hidden and name not in order]:
        joined = {name: frozenset().union(*(scope for scope in left if name in scope)) for name in rest}
        best = min(rest, key=lambda name: _cells(joined[name], levels))
        order.append(best)
        largest = max(largest, _cells(joined[best], levels))
        left = [scope for scope in left if best not in scope] + [joined[best] - {best}]
    return order, max(largest, _cells(frozenset().union(*left), levels))


def summed_out(tables: Sequence[SharedTable], order: Sequence[str]) -> SharedTable:
    """The product of all tables, summed over the columns of `order` one after the other."""
    left = list(tables)
    for name in order:
        joined = _product([table for table in left if name in table.scope])
        axis = joined.scope.index(name)
        scope = joined.scope[:axis] + joined.scope[axis + 1 :]
        left = [table for table in left if name not in table.scope]
        left.append(SharedTable(scope, joined.values.sum(axis=2 + axis)))
    return _product(left)


def _product(tables: Sequence[SharedTable]) -> SharedTable:
    scope = tuple(dict.fromkeys(name for table in tables for name in table.scope))
    values: Array = np.ones(1)
    for table in tables:
        axes = sorted(range(len(table.scope)), key=lambda axis: scope.index(table.scope[axis]))
        ordered = table.values.transpose(0, 1, *(2 + axis for axis in axes))
        sizes = dict(zip((table.scope[axis] for axis in axes), ordered.shape[2:], strict=True))
        values = values * ordered.reshape(*ordered.shape[:2], *(sizes.get(name, 1) for name in scope))
    return SharedTable(scope, values)


def _cells(scope: frozenset[str], levels: Mapping[str, int]) -> int:
    return prod(levels[name] for name in scope)
