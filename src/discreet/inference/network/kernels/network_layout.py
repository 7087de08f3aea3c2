"""What all compiled moves on the unseen records of a discrete network share: layout, draws, densities.

A record is one integer, its levels in mixed radix. All family tables lie end to end in flat arrays of cells: the cell
of a record in the table of node j is first_cell[j] + Σ_p stride_p level_p + level_j, p over the parents of j.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.numerics.arrays import Array, Integers

__all__ = [
    "Graph",
    "Released",
    "draw_counts",
    "draw_record",
    "draw_rows",
    "draw_simplex",
    "first_of_row",
    "gain",
    "level_at",
    "locate",
    "pull_row",
]


class Graph(NamedTuple):
    """Levels and parents; `first_cell` and `first_parent` have one more entry than there are nodes."""

    levels: Integers
    first_cell: Integers
    first_parent: Integers
    parent: Integers
    stride: Integers


class Released(NamedTuple):
    """The released count of every cell, and the noise law of every table: Gaussian or (discrete) Laplace."""

    counts: Array
    gaussian: NDArray[np.bool_]
    scale: Array


@njit(cache=True, nogil=True)
def draw_rows(alpha: Array, tables: Integers, graph: Graph, rng: np.random.Generator, theta: Array) -> None:
    """Dirichlet(alpha + counts) for every row of every node."""
    for j in range(graph.levels.size):
        size = graph.levels[j]
        for row in range(graph.first_cell[j], graph.first_cell[j + 1], size):
            draw_simplex(alpha, tables, row, size, rng, theta)


@njit(cache=True, nogil=True)
def pull_row(
    alpha: Array, theta: Array, row: int, levels: int, depth: int, rng: np.random.Generator, proposed: Array
) -> None:
    """Move one row by θ -> m ~ Multinomial(M, θ) -> θ' ~ Dirichlet(alpha + m), M = 0, 1, 3, … 2^depth - 1 at random.

    For every M the step is reversible under the prior: both ends are draws given the same m.
    """
    counts = np.zeros(row + levels, dtype=np.int64)
    draw_counts(int(2 ** rng.integers(0, depth + 1) - 1), theta, row, levels, rng, counts)
    draw_simplex(alpha, counts, row, levels, rng, proposed)


@njit(cache=True, nogil=True)
def draw_simplex(alpha: Array, counts: Integers, row: int, levels: int, rng: np.random.Generator, theta: Array) -> None:
    """Dirichlet(alpha + counts) as normalised gammas, in logs: small concentrations would underflow all at once."""
    largest, mass = -np.inf, 0.0
    for cell in range(row, row + levels):
        shape = alpha[cell] + counts[cell]
        theta[cell] = np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape
        largest = max(largest, theta[cell])
    for cell in range(row, row + levels):
        theta[cell] = np.exp(theta[cell] - largest)
        mass += theta[cell]
    for cell in range(row, row + levels):
        theta[cell] /= mass


@njit(cache=True, nogil=True)
def draw_counts(pulls: int, theta: Array, row: int, levels: int, rng: np.random.Generator, counts: Integers) -> None:
    """Multinomial counts of one row, one binomial after the other."""
    mass = 1.0
    for cell in range(row, row + levels - 1):
        counts[cell] = rng.binomial(pulls, min(theta[cell] / mass, 1.0)) if pulls > 0 and mass > 0.0 else 0
        pulls -= counts[cell]
        mass -= theta[cell]
    counts[row + levels - 1] = pulls


@njit(cache=True, nogil=True, inline="always")
def draw_record(theta: Array, graph: Graph, rng: np.random.Generator, record: Integers, cells: Integers) -> int:
    """One record from the network: its levels, its cells, and its code."""
    code = 0
    for j in range(record.size):
        row = first_of_row(graph, j, record)
        record[j] = level_at(theta, row, graph.levels[j], rng.random())
        cells[j] = row + record[j]
        code = code * graph.levels[j] + record[j]
    return code


@njit(cache=True, nogil=True, inline="always")
def locate(code: int, graph: Graph, record: Integers, cells: Integers) -> None:
    """The levels of a coded record and its cell in every table."""
    for j in range(record.size - 1, -1, -1):
        record[j] = code % graph.levels[j]
        code //= graph.levels[j]
    for j in range(record.size):
        cells[j] = first_of_row(graph, j, record) + record[j]


@njit(cache=True, nogil=True, inline="always")
def first_of_row(graph: Graph, j: int, record: Integers) -> int:
    """The cell of level 0 of node j, given the levels of its parents."""
    cell = graph.first_cell[j]
    for p in range(graph.first_parent[j], graph.first_parent[j + 1]):
        cell += graph.stride[p] * record[graph.parent[p]]
    return int(cell)


@njit(cache=True, nogil=True, inline="always")
def level_at(theta: Array, row: int, levels: int, uniform: float) -> int:
    """The inverse distribution function of the row that starts at this cell."""
    for level in range(levels - 1):
        uniform -= theta[row + level]
        if uniform < 0.0:
            return level
    return levels - 1


@njit(cache=True, nogil=True, inline="always")
def gain(released: Released, tables: Integers, j: int, cell: int, step: int) -> float:
    """Change of the log-density of the noise when a cell of table j grows by `step`."""
    residual = released.counts[cell] - tables[cell]
    if released.gaussian[j]:
        return float(step * (residual - 0.5 * step) / released.scale[j] ** 2)
    return float((abs(residual) - abs(residual - step)) / released.scale[j])
