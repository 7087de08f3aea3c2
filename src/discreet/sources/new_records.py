"""New records, which are public, read as the private ones are: no cell trains as one level and predicts as another.

A cell that is no number or no declared level counts as the `missing` value of its column, as it does in training. Where
none is declared the record is refused: training leaves such a row out, or was promised that there is none, and neither
is something to predict from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError, SchemaError
from discreet.queries.features import Features
from discreet.queries.losses import Logistic
from discreet.schema import Schema
from discreet.schema.columns import Binary, Categorical, Column
from discreet.sources.open import open_dataset
from discreet.sources.readers.frames import is_frame
from discreet.sources.readers.objects import object_texts

__all__ = ["NewRecords", "new_records"]

MOST_SHOWN = 12  # levels


@dataclass(frozen=True)
class NewRecords:
    """Numbers (records, numbers) on their interval, coefficients of levels (records, categories), and the shrinkage."""

    numbers: NDArray[np.float64] = field(repr=False)
    levels: NDArray[np.int64] = field(repr=False)
    shrink: NDArray[np.float64] = field(repr=False)
    used: NDArray[np.bool_] = field(repr=False)


def new_records(features: Features, schema: Schema, records: Any) -> NewRecords:
    """The features of a pandas, polars or pyarrow frame, or of a mapping of columns."""
    columns = {name: _decided(schema.column(name)) for name in features.columns}
    frame = records if is_frame(records) else _table(columns, records)
    found = _read(features, columns, frame)
    if not found.used.all():
        raise _refusal(columns, frame)
    return found


def _decided(column: Column) -> Column:
    """The same column, where a cell that has no declared meaning excludes its row."""
    return column if column.missing is not None else replace(column, missing="exclude")


def _table(columns: Mapping[str, Column], records: Any) -> Any:
    """Columns of any objects as a frame of texts, each the text that the same object has in a private frame."""
    import pyarrow as pa

    try:
        cells = {name: list(records[name]) for name in columns}
    except (KeyError, TypeError, ValueError, IndexError):
        raise QueryError(f"new rows must have the columns {list(columns)}, got others") from None
    if len({len(column) for column in cells.values()}) != 1:
        raise QueryError("new rows must be columns of one length")
    truths = {name: ("false", "true") if _has_levels(column) else ("0", "1") for name, column in columns.items()}
    return pa.table({name: object_texts(column, truths[name]) for name, column in cells.items()})


def _read(features: Features, columns: Mapping[str, Column], frame: Any) -> NewRecords:
    """The features of every record, and which records no cell excludes."""
    try:
        dataset = open_dataset(frame, Schema(columns), id="new records")
    except SchemaError as problem:
        raise QueryError(f"new rows must have the columns {list(columns)}: {problem}") from None
    query = Logistic(dataset.schema, features, target=None, precision=None)
    n = query.largest_total
    with dataset.source.design(query) as design:  # whose arrays do not outlive it
        shrink = design.shrink.ravel()[:n].copy() if features.shrinks else np.ones(n)
        used = np.asarray(design.weights.ravel()[:n] > 0)
        return NewRecords(_by_record(design.numbers, n), _by_record(design.codes, n).astype(np.int64), shrink, used)


def _by_record(chunks: NDArray[Any], n: int) -> NDArray[Any]:
    """(chunks, columns, places) as (records, columns)."""
    count, columns, places = chunks.shape
    return np.moveaxis(chunks, 1, 2).reshape(count * places, columns)[:n].copy()


def _refusal(columns: Mapping[str, Column], frame: Any) -> QueryError:
    """Which column has a cell without a meaning, where, and what it could have been."""
    for name, column in columns.items():
        alone = Schema({name: column})
        used = _read(Features.of(alone, (name,)), {name: column}, frame).used
        if not used.all():
            return QueryError(
                f"new rows must have {_range(column)} in column {name!r}, which declares no `missing` value for other "
                f"cells, got one in row {int(np.argmin(used))}"
            )
    return QueryError("new rows must not change while they are read")


def _range(column: Column) -> str:
    if not isinstance(column, Binary | Categorical):
        return "a number"
    more = f" and {len(column.levels) - MOST_SHOWN} more" if len(column.levels) > MOST_SHOWN else ""
    return f"a declared level, {list(column.levels[:MOST_SHOWN])}{more},"


def _has_levels(column: Column) -> bool:
    return isinstance(column, Binary | Categorical)
