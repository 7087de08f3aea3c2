"""New records as rows of features, by the same declared rules as the private ones. They are not private."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.posterior.new_records import new_records
from discreet.queries.losses.base import Loss

__all__ = ["new_rows"]


def new_rows(query: Loss, records: Any) -> NDArray[np.float64]:
    """Rows z of a frame or mapping of columns, (records, coefficients); cells that mean nothing are refused."""
    features = query.features
    coded = new_records({name: query.schema.column(name) for name in features.columns}, records)
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
