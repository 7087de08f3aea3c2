"""Draws of a posterior as an xarray DataTree, in the groups that ArviZ reads.

posterior             draws of the parameters
posterior_predictive  one new record for each of these draws, where the model has a law of records
prior                 draws from the prior alone, where the release is known

Only draws and public facts leave. The other groups of ArviZ (observed data, log likelihood, sampler statistics)
describe the private rows or the sampler's path through them and are never written.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError

__all__ = ["DEFAULT_DRAWS", "FROM_PRIOR", "Axes", "Exported", "dataset", "plain_attributes"]

# parameter -> {dimension: its declared levels}, in the order of the array's axes after the draws
Axes = Mapping[str, Mapping[str, tuple[str, ...]]]

DEFAULT_DRAWS = 4000
FROM_PRIOR = 1000  # draws: they are one by one, and no answer of a posterior depends on them
DRAWS = ("chain", "draw")


@dataclass(frozen=True)
class Exported:
    """Arrays (chain, draw, levels…) by parameter, and new records (chain, draw, …) by column; both may have axes."""

    draws: Mapping[str, NDArray[Any]]
    axes: Axes
    records: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    record_axes: Axes = field(default_factory=dict)

    @classmethod
    def one_chain(
        cls,
        draws: Mapping[str, NDArray[Any]],
        axes: Axes,
        records: Mapping[str, NDArray[Any]] | None = None,
        record_axes: Axes | None = None,
    ) -> "Exported":
        """Of arrays (draw, levels…)."""
        parts = ({name: values[np.newaxis] for name, values in part.items()} for part in (draws, records or {}))
        return cls(next(parts), axes, next(parts), record_axes or {})

    def as_one_chain(self) -> "Exported":
        """The same draws, chains one after the other."""
        parts = (
            {name: values.reshape(1, -1, *values.shape[2:]) for name, values in part.items()}
            for part in (self.draws, self.records)
        )
        return replace(self, draws=next(parts), records=next(parts))

    @property
    def shape(self) -> tuple[int, ...]:
        """Chains, and draws of each."""
        return np.shape(next(iter(self.draws.values())))[:2]

    def to_datatree(self, prior: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> Any:
        """All groups; `prior` holds arrays (draw, levels…), of which those that look like a parameter are kept."""
        import xarray

        found = {"posterior": dataset(self.draws, self.axes)}
        if self.records:
            found["posterior_predictive"] = dataset(self.records, self.record_axes)
        shapes = {name: values.shape[2:] for name, values in self.draws.items()}
        alike = {name: values[np.newaxis] for name, values in prior.items() if shapes.get(name) == values.shape[1:]}
        if alike:
            found["prior"] = dataset(alike, self.axes)
        facts = plain_attributes(attributes)
        tree = xarray.DataTree.from_dict({name: group.assign_attrs(facts) for name, group in found.items()})
        tree.attrs.update(facts)
        return tree


def dataset(arrays: Mapping[str, NDArray[Any]], axes: Axes) -> Any:
    """One group: every array has the draws, then its axes, whose levels are the coordinates."""
    import xarray

    variables, coordinates = {}, {}
    for name, values in arrays.items():
        levels = axes.get(name, {})
        if values.ndim != len(DRAWS) + len(levels):
            raise QueryError(f"to_datatree.draws must have one axis per level set, got {name!r}")
        variables[_named(name)] = ((*DRAWS, *map(_named, levels)), values)
        coordinates.update({_named(dimension): list(texts) for dimension, texts in levels.items()})
    made = xarray.Dataset(variables, coords=coordinates)
    return made.assign_coords({dimension: np.arange(made.sizes[dimension]) for dimension in DRAWS})


def plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Texts and numbers as they are; all else as JSON text, so that netCDF can hold it."""
    return {
        key: value if isinstance(value, str | int | float) and not isinstance(value, bool) else json.dumps(value)
        for key, value in attributes.items()
    }


def _named(name: str) -> str:
    """A stroke divides the names of a tree: where a column has one, it is written as the sign of division."""
    return name.replace("/", "∕")
