"""The second stage on coded rows in memory: whole numbers throughout, the same that the engine adds up."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.queries.influence import LARGEST_FORM, STEPS, Form, Influence, Influences
from discreet.schema.cell import Codes
from discreet.sources.dataset import IntegerArray

__all__ = ["sums_of_influences"]


def sums_of_influences(query: Influences, rows: Mapping[str, Codes], unit: NDArray[np.int64]) -> IntegerArray:
    """The sums over units of the used rows; `unit` numbers the unit that each row belongs to."""
    centred = [axis.centred(rows[axis.column]) for axis in query.axes]
    codes = [rows[name] for name in query.categories]
    sums = []
    for g, functions in enumerate(query.functions):
        here = np.ones(unit.size, dtype=bool) if query.by is None else rows[query.by] == g
        cells = [values[here] for values in centred], [values[here] for values in codes]
        _, who = np.unique(unit[here], return_inverse=True)
        sums.append([_sum(function, *cells, who, query.schema.unit.max_records) for function in functions])
    return np.array(sums, dtype=object).reshape(query.shape)


def _sum(
    function: Influence, rows: list[NDArray[np.int64]], codes: list[Codes], who: NDArray[np.int64], most: int
) -> int:
    products = _form(function.left, rows, codes) * _form(function.right, rows, codes) - function.offset
    if who.size:
        # 64 bits hold the sum of a few rows; those of a person may be a million
        wide = np.int64 if 2 * LARGEST_FORM**2 * most < 2**63 else object
        totals = np.zeros(int(who.max()) + 1, dtype=wide)
        np.add.at(totals, who, products.astype(wide))
        products = totals
    roots = np.minimum((np.abs(products) + function.divisor // 2) // function.divisor, STEPS).astype(np.int64)
    return int((roots**2).sum())


def _form(form: Form, rows: list[NDArray[np.int64]], codes: list[Codes]) -> NDArray[np.int64]:
    found = np.full(len([*rows, *codes][0]), form.constant, dtype=np.int64)
    for number, cells in zip(form.numbers, rows, strict=True):
        found += number * cells
    for levels, level in zip(form.levels, codes, strict=True):
        found += np.array(levels, dtype=np.int64)[level]
    return found
