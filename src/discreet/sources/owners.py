"""The column of identifiers in a frame, exactly: a cell that is a level or a number there may be rounded, this may not.

Cells are read as floats because one missing cell turns integers into floats; but from 2^53 on floats are fewer than
integers, and two persons would be one. Types that hold one meaning are taken as cells are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.identifiers import identifier_texts

__all__ = ["pandas_owners", "polars_owners"]


def pandas_owners(rows: Any, read: Any) -> Any:
    """The identifiers in a pandas column, which was `read` as cells are."""
    import pandas as pd
    import pyarrow as pa

    kind = rows.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = rows.cat.codes.to_numpy()
        categories = pd.Series(kind.categories)
        if isinstance(categories.dtype, np.dtype):
            return pandas_owners(categories, None).take(pa.array(codes, mask=codes < 0))
    if not isinstance(kind, np.dtype):
        return read
    if kind.kind in "iu":
        return pa.array(rows.to_numpy(copy=True))
    if kind.kind in "fc":
        return pa.array(_exact(rows.to_numpy()))
    return identifier_texts(rows.to_numpy()) if kind == np.dtype(object) else read


def polars_owners(rows: Any, read: Any) -> Any:
    """The identifiers in a polars column, which was `read` as cells are."""
    return identifier_texts(rows.to_list()) if str(rows.dtype) in ("Object", "Int128", "UInt128") else read


def _exact(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as the floats they are, NaN where they are none."""
    with np.errstate(all="ignore"):
        floats = rows.real.astype(np.float64, copy=True)
        floats[(floats != rows.real) | (rows.imag != 0)] = np.nan
    return floats
