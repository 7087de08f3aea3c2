"""New records as rows of features, by the same declared rules as the private ones. They are not private."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.losses.base import Loss
from discreet.sources.new_records import new_records

__all__ = ["new_rows"]

Array = NDArray[np.float64]


def new_rows(query: Loss, records: Any) -> Array:
    """Rows z of a frame or mapping of columns, (records, coefficients); cells that mean nothing are refused."""
    features, found = query.features, new_records(query.features, query.schema, records)
    z = np.zeros((len(found.used), features.size))
    start = int(features.intercept)
    z[:, start : start + len(features.numbers)] = found.numbers
    np.put_along_axis(z, found.levels, 1.0, axis=1)
    z *= found.shrink[:, np.newaxis]
    if features.intercept:
        z[:, 0] = 1.0
    return z
