"""A discrete network and its noisy family tables as the flat arrays that compiled moves read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.noise import NoiseLaw
from discreet.noise.laws import plausible
from discreet.numerics.arrays import Array
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.network.kernels.network_layout import Graph, Released

__all__ = ["NetworkProblem"]


LARGEST_CODE = 2**62


@dataclass(frozen=True)
class NetworkProblem:
    """Dirichlet concentrations and released tables by node, parents' levels first; every parent before its children."""

    alphas: Mapping[str, Array]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Array]
    laws: Mapping[str, NoiseLaw]
    sizes: Sizes

    @classmethod
    def build(
        cls,
        alphas: Mapping[str, ArrayLike],
        parents: Mapping[str, Sequence[str]],
        tables: Mapping[str, ArrayLike],
        laws: Mapping[str, NoiseLaw],
        sizes: Sizes,
    ) -> "NetworkProblem":
        """Concentrations are broadcast to the shapes of the tables; everything is checked."""
        names = list(parents)
        if not names or not set(names) == set(alphas) == set(tables) == set(laws) or "n" in names:
            raise QueryError(
                f'network.parents must have the nodes of alphas, tables and laws, none named "n", got {names}'
            )
        above = {name: tuple(parents[name]) for name in names}
        released = {name: np.atleast_1d(np.asarray(tables[name], dtype=float)) for name in names}
        concentrations = {}
        for position, name in enumerate(names):
            if not set(above[name]) <= set(names[:position]) or len(set(above[name])) < len(above[name]):
                raise QueryError(f"network.parents[{name!r}] must be different earlier nodes, got {above[name]}")
            shape = tuple(released[other].shape[-1] for other in (*above[name], name))
            if released[name].shape != shape or 0 in shape or not np.all(np.isfinite(released[name])):
                raise QueryError(f"network.tables[{name!r}] must be finite and of shape {shape}, parents first")
            concentrations[name] = _broadcast(name, alphas[name], shape)
        problem = cls(concentrations, above, released, dict(laws), sizes)
        if problem.codes >= LARGEST_CODE:
            raise QueryError(f"network.tables must allow fewer than 2^62 different records, got {problem.codes}")
        return problem

    @cached_property
    def codes(self) -> int:
        """How many different records there are."""
        return prod(table.shape[-1] for table in self.tables.values())

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The number of cells of each table."""
        return np.array([table.size for table in self.tables.values()])

    @cached_property
    def variances(self) -> Array:
        """The variance of the noise in each table."""
        return np.array([self.laws[name].variance for name in self.tables])

    @cached_property
    def alpha(self) -> Array:
        """All concentrations end to end."""
        return np.concatenate([alpha.ravel() for alpha in self.alphas.values()])

    @cached_property
    def graph(self) -> "Graph":
        """Levels and parents, in the order of the nodes."""
        from discreet.inference.network.kernels.network_layout import Graph

        names = list(self.tables)
        shapes = [table.shape for table in self.tables.values()]
        parents = [[names.index(parent) for parent in above] for above in self.parents.values()]
        strides = [prod(shape[axis + 1 :]) for shape in shapes for axis in range(len(shape) - 1)]
        return Graph(
            levels=np.array([shape[-1] for shape in shapes], dtype=np.int64),
            first_cell=np.append(0, np.cumsum(self.cells)).astype(np.int64),
            first_parent=np.append(0, np.cumsum([len(above) for above in parents])).astype(np.int64),
            parent=np.array([parent for above in parents for parent in above], dtype=np.int64),
            stride=np.array(strides, dtype=np.int64),
        )

    @cached_property
    def released(self) -> "Released":
        """Released counts end to end and the noise of each table."""
        from discreet.inference.network.kernels.network_layout import Released

        laws = [self.laws[name] for name in self.tables]
        counts = [
            plausible(table, law, self.sizes.highest).ravel()
            for table, law in zip(self.tables.values(), laws, strict=True)
        ]
        widths = np.array([law.width for law in laws], dtype=float)
        return Released(np.concatenate(counts), np.array([law.gaussian for law in laws]), widths)

    def crude_theta(self) -> Array:
        """Rows of released counts, without their negative parts, plus concentrations, made to add up to one."""
        rows = [np.maximum(self.tables[name], 0.0) + self.alphas[name] for name in self.tables]
        return np.concatenate([np.ravel(weights / weights.sum(axis=-1, keepdims=True)) for weights in rows])

    def likely_size(self) -> tuple[int, float]:
        """The number of records that the sums of the tables and the prior favour, and the deviation of the sums."""
        lowest, highest = self.sizes.lowest, self.sizes.highest
        if lowest == highest:
            return highest, 0.0
        sums = np.add.reduceat(self.released.counts, self.graph.first_cell[:-1])
        weights = 1.0 / (self.cells * self.variances)
        centre, spread = float(sums @ weights / weights.sum()), float(weights.sum() ** -0.5)
        ends = np.clip([centre - 6.0 * spread, centre + 6.0 * spread], lowest, highest)
        grid = np.unique(np.round(np.linspace(ends[0], ends[1], 400)))
        log_weights = self.sizes.log_weight(grid) - 0.5 * ((grid - centre) / spread) ** 2
        return int(grid[np.argmax(log_weights)]), min(spread, float(highest))


def _broadcast(name: str, alpha: ArrayLike, shape: tuple[int, ...]) -> Array:
    values = np.asarray(alpha, dtype=float)
    fits = values.ndim <= len(shape) and all(
        size in (1, wanted) for size, wanted in zip(values.shape[::-1], shape[::-1], strict=False)
    )
    if not fits or not np.all((values > 0) & np.isfinite(values)):
        raise QueryError(f"network.alphas[{name!r}] must be above 0 and fit the shape {shape}, got {alpha!r}")
    return np.array(np.broadcast_to(values, shape))
