"""What the compiled loops know of a release of moments, and the unseen moments that a point stands for.

The coordinates of a point, in this order:

    shares    log-linear parameters of the shares of the cells (combinations of levels), shares = softmax(links shares)
    means     for each number, the cells' means: f = tanh(basis eta)
    rows      the Cholesky factor L of the covariance within cells, row by row: L_ii² = v_i x_i log(1 + e^s) and
              L_ij = L_ii t_j, with v_i = sum of shares (1 - f_i²), the largest variance there is room for, and x_i
              about the share of it that noise hides: beyond it a variance is linear in s, below it its logarithm is;
              the row of a target instead holds its slopes within cells, beta = reach sinh(b), and then s of its
              residual variance
    size      where it is private: n = lowest + (highest - lowest) / (1 + e^-s)
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.numerics.arrays import Array, Integers

__all__ = ["Conjugates", "Nodes", "ReleasedSums", "Unseen", "place_moments", "softplus"]


class ReleasedSums(NamedTuple):
    """The released sums, each in units of the largest that one row adds, and the noise on them."""

    members: Array  # (terms, cells): 1 where the rows of a cell count
    first: Integers  # the two numbers that are multiplied: -1 for none
    second: Integers
    value: Array
    scale: Array  # Laplace scale or Gaussian deviation
    laplace: np.ndarray[tuple[int], np.dtype[np.bool_]]


class Nodes(NamedTuple):
    """The priors of the numbers: weak ones within the bounds, where they are not `conjugate`."""

    conjugate: np.ndarray[tuple[int], np.dtype[np.bool_]]  # for each number
    means: float  # a of the weak prior of a mean between its bounds: Beta(a, a)
    low: Array  # a and b of the weak prior of a variance, as a share of its room: Beta(a, b)
    high: Array
    lkj: float  # weak prior of correlations
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
    """The coordinates' meaning."""

    links: Array  # (cells, parameters)
    basis: Array  # (cells, means of a number)
    design: Array  # (cells, dummies with a constant)
    concentration: Array  # Dirichlet, of the cells' shares
    hidden: Array  # for each number, the share of its room that noise hides
    size: float  # the number of rows, where it is public
    size_grid: Array  # totals and their log-prior, for a private one; empty for a public one
    size_weight: Array


@inner
def softplus(s: Any) -> Any:
    """Log(1 + e^s), also far below 0."""
    return max(s, 0.0) + np.log1p(np.exp(-abs(s)))


@inner
def place_moments(unseen: Any, slopes: Any, p: Any, theta: Any, shares: Any, means: Any, room: Any, factor: Any) -> Any:
    """Fill shares (cells), means (p, cells), room (p) and the Cholesky factor (p, p); returns the number of rows."""
    cells, parameters = unseen.links.shape
    width = unseen.basis.shape[1]
    top = -np.inf
    for c in range(cells):
        total = 0.0
        for k in range(parameters):
            total += unseen.links[c, k] * theta[k]
        shares[c] = total
        top = max(top, total)
    whole = 0.0
    for c in range(cells):
        shares[c] = np.exp(shares[c] - top)
        whole += shares[c]
    for c in range(cells):
        shares[c] /= whole
    at = parameters
    for j in range(p):
        room[j] = 0.0
        for c in range(cells):
            total = 0.0
            for k in range(width):
                total += unseen.basis[c, k] * theta[at + k]
            f = np.tanh(total)
            means[j, c] = f
            # 1 - tanh² without cancellation: a mean beside a bound leaves little room, never none
            root = 2.0 * np.exp(-abs(total)) / (1.0 + np.exp(-2.0 * abs(total)))
            room[j] += shares[c] * root * root
        at += width
    for i in range(p):
        target = slopes > 0.0 and i == p - 1
        factor[i, i] = np.sqrt(room[i] * unseen.hidden[i] * softplus(theta[at + i]))
        for j in range(i):
            if target:
                factor[i, j] = 0.0
                for k in range(j, i):
                    factor[i, j] += factor[k, j] * slopes * np.sinh(theta[at + k])
            else:  # relative to L_ii: rows of small variance are no narrow places
                factor[i, j] = factor[i, i] * theta[at + j]
        for j in range(i + 1, p):
            factor[i, j] = 0.0
        at += i + 1
    if unseen.size_grid.size == 0:
        return unseen.size
    low, high = unseen.size_grid[0], unseen.size_grid[-1]
    return low + (high - low) / (1.0 + np.exp(-theta[at]))
