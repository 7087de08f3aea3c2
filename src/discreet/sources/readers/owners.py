"""The column of identifiers in a frame, exactly: a cell that is a level or a number there may be rounded, this may not.

Cells are read as floats because one missing cell turns integers into floats; but from 2^53 on floats are fewer than
integers, and two persons would be one. Types that hold one meaning are taken as cells are.

A column is typed if its type is declared and not chosen by its cells. pandas chooses numpy's types: whole numbers
become floats where one is missing, and objects where one is a text or has more than 64 bits. Whatever is written from
a pandas frame says so in its metadata. Only its own types with missing cells (`Int64`) and those of Arrow are declared.
"""

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.readers.identifiers import identifier_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_typed", "pandas_owners", "pandas_typed", "polars_owners"]

DECLARED = re.compile(r"U?Int\d+|Float\d+|boolean|.*\[pyarrow\]")  # names of types that pandas does not choose


def is_typed(schema: "pa.Schema", name: str) -> bool:
    """Whether the type of column `name` was declared; what pandas wrote and does not name is taken for chosen."""
    written = (schema.metadata or {}).get(b"pandas")
    if written is None:
        return True
    try:
        kinds = {entry["field_name"]: str(entry["numpy_type"]) for entry in json.loads(written)["columns"]}
    except (KeyError, TypeError, ValueError):
        return False
    return DECLARED.fullmatch(kinds.get(name, "")) is not None


def pandas_typed(kind: Any) -> bool:
    """Whether a pandas column of this type would have it whatever its cells were."""
    import pandas as pd

    return not isinstance(kind.categories.dtype if isinstance(kind, pd.CategoricalDtype) else kind, np.dtype)


def pandas_owners(rows: Any) -> Any | None:
    """The identifiers in a pandas column; None where they are read as cells are."""
    import pandas as pd
    import pyarrow as pa

    kind = rows.dtype
    if isinstance(kind, pd.CategoricalDtype):
        codes = rows.cat.codes.to_numpy()
        categories = pd.Series(kind.categories)
        if isinstance(categories.dtype, np.dtype):
            exactly = pandas_owners(categories)
            return None if exactly is None else exactly.take(pa.array(codes, mask=codes < 0))
    if not isinstance(kind, np.dtype):
        return None
    if kind.kind in "iu":
        return pa.array(rows.to_numpy(copy=True))
    if kind.kind in "fc":
        return pa.array(_exact(rows.to_numpy()))
    return identifier_texts(rows.to_numpy(), typed=False) if kind == np.dtype(object) else None


def polars_owners(rows: Any) -> Any | None:
    """The identifiers in a polars column; None where they are read as cells are."""
    return identifier_texts(rows.to_list()) if str(rows.dtype) in ("Object", "Int128", "UInt128") else None


def _exact(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as the floats they are, NaN where they are none."""
    with np.errstate(all="ignore"):
        floats = rows.real.astype(np.float64, copy=True)
        floats[(floats != rows.real) | (rows.imag != 0)] = np.nan
    return floats
