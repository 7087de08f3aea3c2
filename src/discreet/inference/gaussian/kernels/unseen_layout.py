"""What the compiled loops know of a release of moments, and the state of a chain over the unseen ones.

A point x holds, in this order, what says where rows lie:

    shares    log-linear parameters of the shares of the cells (combinations of levels), shares = softmax(links shares)
    means     for each number, the cells' means: f = tanh(basis eta)
    size      the number of rows, where it is private

and beside it stands W, the covariance within cells. A moment of two numbers is `crossed` + W, with `crossed` that of
the cells' means.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.numerics.arrays import Array, Integers

__all__ = [
    "Conjugates",
    "Moments",
    "Nodes",
    "ReleasedSums",
    "Unseen",
    "cholesky",
    "empty_moments",
    "place",
    "place_all",
]


class ReleasedSums(NamedTuple):
    """The released sums, each in units of the largest that one row adds, and the noise on them."""

    members: Array  # (terms, cells): 1 where the rows of a cell count
    first: Integers  # the two numbers that are multiplied: -1 for none
    second: Integers
    value: Array
    scale: Array  # Laplace scale or Gaussian deviation
    laplace: np.ndarray[tuple[int], np.dtype[np.bool_]]
    pairs: Integers  # (numbers, numbers): which term is that of their product


class Nodes(NamedTuple):
    """The priors of the numbers: weak ones within the bounds, where they are not `conjugate`."""

    conjugate: np.ndarray[tuple[int], np.dtype[np.bool_]]  # for each number
    means: float  # a of the weak prior of a mean between its bounds: Beta(a, a)
    low: Array  # a and b of the weak prior of a variance, as a share of its room: Beta(a, b)
    high: Array
    whole: float  # weak prior of correlations R: |R|^whole / Π (R^-1)_jj^single
    single: float
    slopes: float  # Cauchy scale of a target's slopes; 0 where no number is a target


class Conjugates(NamedTuple):
    """Conjugate priors of numbers given all earlier ones and the levels: regressors are (design, earlier numbers).

    Where no number has one, None stands for it, and what they need is not even compiled.
    """

    mean: Array  # (numbers, widest)
    precision: Array  # (numbers, widest, widest)
    shape: Array
    rate: Array


class Unseen(NamedTuple):
    """The meaning of a point."""

    links: Array  # (cells, parameters)
    basis: Array  # (cells, means of a number)
    design: Array  # (cells, dummies with a constant)
    concentration: Array  # Dirichlet, of the cells' shares
    seen: Array  # for each number, its released variance in widths of the noise: a hint for moves, no more
    size: float  # the number of rows, where it is public
    size_grid: Array  # totals and their log-prior, for a private one; empty for a public one
    size_weight: Array


class Moments(NamedTuple):
    """What a point and a covariance stand for."""

    size: Array  # (1)
    shares: Array  # (cells)
    means: Array  # (numbers, cells)
    room: Array  # (numbers): the largest variance that the means leave room for
    crossed: Array  # (numbers, numbers)
    within: Array  # W
    lower: Array  # its Cholesky factor


@inner
def empty_moments(p: Any, cells: Any) -> Any:
    """Room for them."""
    return Moments(
        np.zeros(1),
        np.zeros(cells),
        np.zeros((p, cells)),
        np.zeros(p),
        np.zeros((p, p)),
        np.zeros((p, p)),
        np.zeros((p, p)),
    )


@inner
def place(unseen: Any, x: Any, found: Any) -> Any:
    """Fill everything but the covariance."""
    (cells, parameters), width, p = unseen.links.shape, unseen.basis.shape[1], found.room.size
    shares, top, whole = found.shares, -np.inf, 0.0
    for c in range(cells):
        shares[c] = 0.0
        for k in range(parameters):
            shares[c] += unseen.links[c, k] * x[k]
        top = max(top, shares[c])
    for c in range(cells):
        shares[c] = np.exp(shares[c] - top)
        whole += shares[c]
    for c in range(cells):
        shares[c] /= whole
    for j in range(p):
        found.room[j] = 0.0
        for c in range(cells):
            eta = 0.0
            for k in range(width):
                eta += unseen.basis[c, k] * x[parameters + j * width + k]
            # 1 - tanh² without cancellation: a mean beside a bound leaves little room, never none
            small = np.exp(-2.0 * abs(eta))
            found.means[j, c] = np.copysign((1.0 - small) / (1.0 + small), eta)
            found.room[j] += shares[c] * 4.0 * small / (1.0 + small) ** 2
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for c in range(cells):
                total += shares[c] * found.means[i, c] * found.means[j, c]
            found.crossed[i, j] = total
            found.crossed[j, i] = total
    found.size[0] = x[-1] if unseen.size_grid.size > 0 else unseen.size


@inner
def cholesky(matrix: Any, k: Any, lower: Any) -> Any:
    """The factor of the leading k columns, in place; False where the matrix is not positive."""
    for i in range(k):
        for j in range(i):
            total = matrix[i, j]
            for m in range(j):
                total -= lower[i, m] * lower[j, m]
            lower[i, j] = total / lower[j, j]
        total = matrix[i, i]
        for m in range(i):
            total -= lower[i, m] * lower[i, m]
        if not total > 0.0:
            return False
        lower[i, i] = np.sqrt(total)
    return True


@entry
def place_all(unseen: Any, points: Any, shares: Any, means: Any) -> Any:
    """Shares (draws, cells) and means (draws, numbers, cells) of many points."""
    found = empty_moments(means.shape[1], means.shape[2])
    for t in range(points.shape[0]):
        place(unseen, points[t], found)
        shares[t] = found.shares
        means[t] = found.means
