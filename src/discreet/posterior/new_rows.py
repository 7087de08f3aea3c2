"""New records, which are public, read as private ones are: no cell trains as one level and predicts as another.

A cell that is no number or no declared level counts as the `missing` value of its column, as it does in training. Where
none is declared the record is refused: training leaves such a row out, or was promised that there is none, and neither
is something to predict from.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError, SchemaError
from discreet.queries.losses.base import Loss
from discreet.schema import Schema, Seen
from discreet.schema.arrow_cell import UNREADABLE, arrow_coded, frame_columns, package_of
from discreet.schema.cell import Codes
from discreet.schema.coded_cells import coded_objects

__all__ = ["new_codes", "new_rows"]

MOST_SHOWN = 12  # levels


def new_rows(query: Loss, records: Any) -> NDArray[np.float64]:
    """Rows z of a frame or mapping of columns, (records, coefficients); cells that mean nothing are refused."""
    features = query.features
    coded = new_codes({name: query.schema.column(name) for name in features.columns}, records)
    n = len(next(iter(coded.values())))
    z, start = np.zeros((n, features.size)), int(features.intercept)
    squared = np.full(n, float(len(features.categories)))
    for j, axis in enumerate(features.numbers):
        number = features.scaled(axis, coded[axis.column])
        z[:, start + j] = number
        squared += number**2
    for name, offset in zip(features.categories, features.offsets, strict=True):
        z[np.arange(n), offset + coded[name]] = 1.0
    if features.shrinks:
        z *= features.shrink(squared)[:, np.newaxis]
    z[:, :start] = 1.0
    return z


def new_codes(columns: Mapping[str, Seen], records: Any) -> dict[str, Codes]:
    """Level codes and grid steps of a pandas, polars or pyarrow frame, or of a mapping of columns of any objects."""
    declared = {name: _decided(column) for name, column in columns.items()}
    found = _of_mapping(declared, records) if package_of(records) is None else _of_frame(declared, records)
    for name, column in declared.items():
        meaningless = np.flatnonzero(found[name] == column.excluded)
        if meaningless.size:
            raise QueryError(
                f"new rows must have {_range(column)} in column {name!r}, which declares no `missing` value for other "
                f"cells, got one in row {meaningless[0]}"
            )
    return found


def _decided(column: Seen) -> Seen:
    """The same column, where a cell that has no declared meaning is told apart."""
    return column if column.missing is not None else replace(column, missing="exclude")  # type: ignore[arg-type]  # each kind has the rule


def _of_mapping(columns: Mapping[str, Seen], records: Any) -> dict[str, Codes]:
    """Each object means what it does in a private frame."""
    try:
        cells = {name: list(records[name]) for name in columns}
    except (KeyError, TypeError, ValueError, IndexError):
        raise QueryError(f"new rows must have the columns {list(columns)}, got others") from None
    if len({len(column) for column in cells.values()}) != 1:
        raise QueryError("new rows must be columns of one length")
    return {name: coded_objects(column, cells[name]) for name, column in columns.items()}


def _of_frame(columns: Mapping[str, Seen], records: Any) -> dict[str, Codes]:
    try:
        held = frame_columns(records, Schema(dict(columns)))  # type: ignore[arg-type]  # also views
    except Exception as problem:
        told = problem if isinstance(problem, SchemaError) else UNREADABLE
        raise QueryError(f"new rows must have the columns {list(columns)}: {told}") from None
    return {name: arrow_coded(column, held[name]) for name, column in columns.items()}


def _range(column: Seen) -> str:
    if column.holds in ("numbers", "ranges"):
        return "a number"
    more = f" and {len(column.levels) - MOST_SHOWN} more" if len(column.levels) > MOST_SHOWN else ""
    return f"a declared level, {list(column.levels[:MOST_SHOWN])}{more},"
