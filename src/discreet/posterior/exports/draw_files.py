"""Draws of a posterior in a Parquet file: one row for each draw, one column for each number.

Columns are called as in the summary, `name` or `name[level, …]`. The file says in its metadata how they belong
together, and carries the facts of the release, so that `read_draws` gives back the same group.
"""

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.posterior.exports.datatree import Exported, dataset, plain_attributes
from discreet.posterior.summary import labels

__all__ = ["read_draws", "write_draws"]

KEY = b"discreet.draws"


def write_draws(path: str | PathLike[str], found: Exported, facts: Mapping[str, Any]) -> None:
    """Write the draws of the parameters, chain after chain."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    chains, draws = found.shape
    columns = {"chain": np.repeat(np.arange(chains), draws), "draw": np.tile(np.arange(draws), chains)}
    for name, values in found.draws.items():
        flat = values.reshape(chains * draws, -1)
        columns |= dict(zip(labels(name, found.axes.get(name, {})), flat.T, strict=True))
    axes = {name: {d: list(texts) for d, texts in found.axes.get(name, {}).items()} for name in found.draws}
    said = json.dumps({"axes": axes, "attributes": plain_attributes(facts)})
    try:
        pq.write_table(pa.table(columns).replace_schema_metadata({KEY: said}), path)
    except OSError as problem:
        raise QueryError(f"to_parquet.path must be a file that can be written, got {str(path)!r}: {problem}") from None


def read_draws(path: str | PathLike[str]) -> Any:
    """The DataTree of a file that `Posterior.to_parquet` has written: its group `posterior`, with all facts."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import xarray

    try:
        table = pq.read_table(path)
        said = json.loads((table.schema.metadata or {})[KEY])
        chains = 1 + int(np.max(table["chain"].to_numpy()))
        arrays = {}
        for name, levels in said["axes"].items():
            flat = np.stack([table[column].to_numpy() for column in labels(name, levels)], axis=-1)
            arrays[name] = flat.reshape(chains, -1, *map(len, levels.values()))
    except (OSError, ValueError, KeyError, pa.ArrowException) as problem:
        kind = type(problem).__name__
        raise QueryError(f"read_draws.path must be a file of to_parquet, got {str(path)!r} ({kind})") from None
    group = dataset(arrays, said["axes"]).assign_attrs(said["attributes"])
    tree = xarray.DataTree.from_dict({"posterior": group})
    tree.attrs.update(said["attributes"])
    return tree
