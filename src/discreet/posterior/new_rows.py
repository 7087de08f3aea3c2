"""New records, which are public, read as private ones are: no cell trains as one level and predicts as another.

A cell that is no number or no declared level counts as the `missing` or the `other` value of its column, as it does in
training, and `UnknownLevels` warns of how many there are: the rows are the user's own. Where none is declared the
record is refused: training leaves such a row out, or was promised that there is none, and neither is something to
predict from.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError, SchemaError, UnknownLevels, warn_caller
from discreet.posterior.records.record_files import has_commas, read_records, written_as
from discreet.queries.losses.base import Loss
from discreet.schema import Seen
from discreet.schema.arrow_cell import UNREADABLE, arrow_coded, frame_columns, package_of
from discreet.schema.cell import Codes, comma_number_of, number_of
from discreet.schema.coded_cells import coded_objects
from discreet.schema.schema import SeenSchema

__all__ = ["held_columns", "new_codes", "new_rows"]

MOST_SHOWN = 12  # levels

Reader = Callable[[str, Seen], Codes]  # the cells of a column, as a declaration reads them


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
    """Level codes and grid steps of new records.

    These are a pandas, polars or pyarrow frame, a mapping of columns of any objects, or the path of a CSV or Parquet
    file.
    """
    held = read_records(records) if isinstance(records, str | Path) else records
    read = _of_mapping(columns, held) if package_of(held) is None else _of_frame(columns, held)
    found, unknown = {}, {}
    for name, column in columns.items():
        bad = read(name, _strict(column)) == column.excluded
        found[name] = read(name, _decided(column))
        meaningless = np.flatnonzero(found[name] == column.excluded)
        if meaningless.size:
            raise QueryError(
                f"new rows must have {_range(column)} in column {name!r}, which declares no `missing` value for other "
                f"cells, got one in row {meaningless[0]}: fill it in, or declare what such cells count as"
            )
        if bad.any():
            unknown[name] = int(bad.sum())
    if unknown:
        warn_caller(UnknownLevels(unknown, {name: columns[name].other_cells() for name in unknown}))
    return found


def held_columns(records: Any) -> tuple[Any, list[str]]:
    """New records, from a file if they are in one, and the names of their columns."""
    held = read_records(records) if isinstance(records, str | Path) else records
    names = getattr(held, "column_names", None) or getattr(held, "columns", held)
    try:
        return held, [str(name) for name in names]
    except TypeError:
        raise QueryError("new rows must be a frame, a mapping of columns or a file, got something else") from None


def _decided(column: Seen) -> Seen:
    """The same column, where a cell that has no declared meaning is told apart."""
    return column if column.missing is not None else replace(column, missing="exclude")  # type: ignore[arg-type]  # each kind has the rule


def _strict(column: Seen) -> Seen:
    """The same column, where every cell that is no declared level or number is told apart."""
    changed: dict[str, Any] = {"missing": "exclude", **({"other": None} if hasattr(column, "other") else {})}
    return replace(column, **changed)


def _of_mapping(columns: Mapping[str, Seen], records: Any) -> Reader:
    """Each object means what it does in a private frame."""
    try:
        cells = {name: list(records[name]) for name in columns}
    except (KeyError, TypeError, ValueError, IndexError):
        raise QueryError(f"new rows must have the columns {list(columns)}, got others") from None
    if len({len(column) for column in cells.values()}) != 1:
        raise QueryError("new rows must be columns of one length")
    return lambda name, column: coded_objects(column, cells[name])


def _of_frame(columns: Mapping[str, Seen], records: Any) -> Reader:
    try:
        held = frame_columns(records, SeenSchema(dict(columns)))  # type: ignore[arg-type]  # also views
    except Exception as problem:
        told = problem if isinstance(problem, SchemaError) else UNREADABLE
        raise QueryError(f"new rows must have the columns {list(columns)}: {told}{_read_as(records)}") from None
    number = comma_number_of if has_commas(records) else number_of
    return lambda name, column: arrow_coded(column, held[name], number)


def _read_as(records: Any) -> str:
    """How a CSV file was read, for those who wrote it otherwise."""
    return f"; the CSV file was read as {written_as(records)}" if written_as(records) else ""


def _range(column: Seen) -> str:
    if column.holds in ("numbers", "ranges"):
        return "a number"
    more = f" and {len(column.levels) - MOST_SHOWN} more" if len(column.levels) > MOST_SHOWN else ""
    return f"a declared level, {list(column.levels[:MOST_SHOWN])}{more},"
