"""New records as rows of features, by the same declared rules as the private ones. They are not private."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.columns import Binary, Bounded, Categorical, Count
from discreet.errors import QueryError
from discreet.losses import Loss

__all__ = ["new_rows"]

Array = NDArray[np.float64]


def new_rows(query: Loss, records: Any) -> Array:
    """Rows z of a frame or mapping of columns, (records, coefficients); cells that exclude a row are an error here."""
    features = query.features
    try:
        columns = {name: np.asarray(records[name]) for name in features.columns}
    except (KeyError, TypeError, ValueError, IndexError):
        raise QueryError(f"new rows must have the columns {list(features.columns)}, got others") from None
    sizes = {column.shape for column in columns.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise QueryError("new rows must be columns of one length")
    ((n,),) = sizes
    z = np.zeros((n, features.size))
    start, (low, high) = int(features.intercept), features.interval
    for j, axis in enumerate(features.numbers):
        declared = query.schema.column(axis.column)
        assert isinstance(declared, Bounded | Count)
        position = axis.values(_numbers(columns[axis.column], declared, axis.column)) / axis.reach
        z[:, start + j] = 0.5 * (low + high) + 0.5 * (high - low) * position
    for name, offset in zip(features.categories, features.offsets, strict=True):
        declared_levels = query.schema.column(name)
        assert isinstance(declared_levels, Binary | Categorical)
        z[np.arange(n), offset + _codes(columns[name], declared_levels, name)] = 1.0
    if features.shrinks:
        z *= np.minimum(1.0, features.radius / np.maximum(np.linalg.norm(z, axis=1), 1e-300))[:, None]
    if features.intercept:
        z[:, 0] = 1.0
    return z


def _numbers(cells: NDArray[Any], column: Bounded | Count, name: str) -> Array:
    """Numbers; what is none is the declared default."""
    try:
        numbers = np.asarray(cells, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array([_number(cell) for cell in cells], dtype=float)
    bad = np.isnan(numbers)
    if column.default_value is None and bad.any():
        raise _excluded(name)
    return np.where(bad, 0.0 if column.default_value is None else column.default_value, numbers)


def _codes(cells: NDArray[Any], column: Binary | Categorical, name: str) -> NDArray[np.int64]:
    """Codes of levels, matched by text, else as the same number; others are the declared default."""
    known = {level: code for code, level in enumerate(column.levels)}
    if isinstance(column, Binary):
        known |= {"false": 0, "true": 1}
    values = [_number(level) for level in column.levels]
    numbers = {value: code for code, value in enumerate(values) if np.isfinite(value) and values.count(value) == 1}
    distinct, where = np.unique(np.array([_text(cell, column) for cell in cells], dtype=object), return_inverse=True)
    default = -1 if column.default_code is None else column.default_code
    codes = [known.get(text, numbers.get(_number(text), default)) for text in distinct]
    if -1 in codes:
        raise _excluded(name)
    return np.array(codes, dtype=np.int64)[where]


def _text(cell: Any, column: Binary | Categorical) -> str:
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, float | np.floating):
        cell = float(cell)
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell).lower() if isinstance(column, Binary) else str(cell)


def _number(cell: Any) -> float:
    """The number that a cell denotes; NaN where it is none."""
    try:
        return float(cell) if not isinstance(cell, str) or cell.isascii() else np.nan
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _excluded(name: str) -> QueryError:
    return QueryError(f"new rows must have a number or a declared level in column {name!r}, got a cell that is neither")
