"""Posterior draws as an xarray DataTree with the ArviZ group `posterior`.

Only draws and public attributes leave. The other ArviZ groups (observed data, log likelihood, sampler statistics)
describe the private rows or the sampler's path through them and are never written.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError

__all__ = ["DEFAULT_DRAWS", "Axes", "chains_to_datatree", "to_datatree"]

# parameter -> {dimension: its declared levels}, in the order of the array's axes after the draws
Axes = Mapping[str, Mapping[str, tuple[str, ...]]]

DEFAULT_DRAWS = 4000


def to_datatree(draws: Mapping[str, NDArray[Any]], axes: Axes, attributes: Mapping[str, Any] | None = None) -> Any:
    """Arrays (draw, levels…) by parameter name as one chain of the group `posterior`."""
    return chains_to_datatree({name: values[np.newaxis] for name, values in draws.items()}, axes, attributes)


def chains_to_datatree(
    chains: Mapping[str, NDArray[Any]], axes: Axes, attributes: Mapping[str, Any] | None = None
) -> Any:
    """Arrays (chain, draw, levels…) by parameter name as the group `posterior`.

    `attributes` must be public (a recipe, a guarantee); nested values are written as JSON text so that netCDF can
    hold them.
    """
    import xarray

    variables, coordinates = {}, {}
    for name, values in chains.items():
        levels = axes.get(name, {})
        if "/" in name or values.ndim != 2 + len(levels):
            raise QueryError(
                f"to_datatree.draws must be named without '/' and have one axis per level set, got {name!r}"
            )
        variables[name] = (("chain", "draw", *levels), values)
        coordinates.update({dimension: list(texts) for dimension, texts in levels.items()})
    posterior = xarray.Dataset(variables, coords=coordinates, attrs=_plain(attributes or {}))
    places = {dimension: np.arange(posterior.sizes[dimension]) for dimension in ("chain", "draw")}
    return xarray.DataTree.from_dict({"posterior": posterior.assign_coords(places)})


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, str | int | float) and not isinstance(value, bool) else json.dumps(value)
        for key, value in attributes.items()
    }
