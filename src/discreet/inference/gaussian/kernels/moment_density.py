"""Log-posterior density of unseen moments: the noise on the released sums, and the priors.

noise       released = n · (moments per row) + noise, term by term
shares      Dirichlet on the cells, in their log-linear parameters: Σ concentration log share
means       Beta(a, a) between the bounds in the coordinates' own cells: sech^2a
variances   of features, W_jj / v_j ~ Beta(a, b), correlations
            |R|^whole / Π (R^-1)_jj^single; a target's slopes Cauchy, its residual variance Beta(a, b) of its room
conjugate   `conjugate_numbers` instead

It is a density in the point x and the entries of W.
"""

from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.inference.gaussian.kernels.conjugate_nodes import conjugate_numbers
from discreet.inference.gaussian.kernels.unseen_layout import cholesky, empty_moments, place

__all__ = [
    "covariance_prior",
    "log_posterior",
    "noise_of",
    "on_levels",
    "on_products",
    "point_prior",
    "room_prior",
    "target_row",
]


@entry
def log_posterior(released: Any, nodes: Any, conjugates: Any, unseen: Any, x: Any, within: Any) -> Any:
    """The log-density of a point and a covariance."""
    at = empty_moments(within.shape[0], unseen.links.shape[0])
    place(unseen, x, at)
    at.within[:] = within
    prior = covariance_prior(nodes, conjugates, unseen, at)
    return prior + point_prior(nodes, unseen, x, at) + on_levels(released, at) + on_products(released, at)


@inner
def noise_of(released: Any, t: Any, gap: Any) -> Any:
    """Log-density of the noise on a term, up to a constant."""
    scaled = gap / released.scale[t]
    return -abs(scaled) if released.laplace[t] else -0.5 * scaled * scaled


@inner
def on_levels(released: Any, at: Any) -> Any:
    """Log-density of released counts and sums of one number."""
    value, cells = 0.0, at.shares.size
    for t in range(released.value.size):
        if released.second[t] >= 0:
            continue
        j, total = released.first[t], 0.0
        for c in range(cells):
            if released.members[t, c] != 0.0:
                total += at.shares[c] * (1.0 if j < 0 else at.means[j, c])
        value += noise_of(released, t, released.value[t] - at.size[0] * total)
    return value


@inner
def on_products(released: Any, at: Any) -> Any:
    """Log-density of released sums of products."""
    value = 0.0
    for i in range(at.room.size):
        for j in range(i + 1):
            t = released.pairs[i, j]
            value += noise_of(released, t, released.value[t] - at.size[0] * (at.crossed[i, j] + at.within[i, j]))
    return value


@inner
def point_prior(nodes: Any, unseen: Any, x: Any, at: Any) -> Any:
    """Of shares, means and a private number of rows."""
    value, parameters, width = 0.0, unseen.links.shape[1], unseen.basis.shape[1]
    if parameters > 0:
        for c in range(at.shares.size):
            value += unseen.concentration[c] * np.log(max(at.shares[c], 1e-300))
    for j in range(at.room.size):
        if not nodes.conjugate[j]:
            for k in range(width):
                eta = abs(x[parameters + j * width + k])
                value -= 2.0 * nodes.means * (eta + np.log1p(np.exp(-2.0 * eta)))
    grid, weight = unseen.size_grid, unseen.size_weight
    if grid.size == 0:
        return value
    n = at.size[0]
    if not grid[0] <= n <= grid[-1]:
        return -np.inf
    below = min(max(np.searchsorted(grid, n) - 1, 0), grid.size - 2)
    return (
        value
        + weight[below]
        + (weight[below + 1] - weight[below]) * (n - grid[below]) / (grid[below + 1] - grid[below])
    )


@inner
def room_prior(nodes: Any, at: Any) -> Any:
    """What the room of the variances has to do with their weak priors."""
    value = 0.0
    for j in range(at.room.size):
        if not nodes.conjugate[j]:
            rest = at.room[j] - at.within[j, j]
            if not rest > 0.0:
                return -np.inf
            value += (nodes.high[j] - 1.0) * np.log(rest)
            value -= (nodes.low[j] + nodes.high[j] - 1.0) * np.log(at.room[j])
    return value


@inner
def covariance_prior(nodes: Any, conjugates: Any, unseen: Any, at: Any) -> Any:
    """Of the covariance within cells, and of all that conjugate priors are of; fills its Cholesky factor."""
    p, value = at.room.size, room_prior(nodes, at)
    if not value > -np.inf:
        return -np.inf
    if not cholesky(at.within, p, at.lower):
        return -np.inf
    features, boxed = (p - 1 if nodes.slopes > 0.0 else p), 0
    for j in range(features):
        boxed += 0 if nodes.conjugate[j] else 1
    for j in range(features):
        if nodes.conjugate[j]:
            continue
        # d covariance = Π own^((boxed - 1) / 2) d correlations d variances
        power = nodes.low[j] - 1.0 - 0.5 * (boxed - 1.0) - nodes.whole - nodes.single
        value += power * np.log(at.within[j, j]) + 2.0 * nodes.whole * np.log(at.lower[j, j])
        if nodes.single > 0.0:
            value -= nodes.single * np.log(inverse_entry(at.lower, features, j))
    if nodes.slopes > 0.0 and not nodes.conjugate[p - 1]:
        value += _target(nodes, at)
    if conjugates is not None and value > -np.inf:
        value += conjugate_numbers(nodes.conjugate, conjugates, unseen, at)
    return value


@inner
def inverse_entry(lower: Any, m: Any, j: Any) -> Any:
    """Entry (j, j) of the inverse of the matrix whose Cholesky factor this is, of its leading m columns."""
    column, total = np.empty(m), 0.0
    for a in range(j, m):
        column[a] = 1.0 if a == j else 0.0
        for b in range(j, a):
            column[a] -= lower[a, b] * column[b]
        column[a] /= lower[a, a]
        total += column[a] ** 2
    return total


@inner
def _target(nodes: Any, at: Any) -> Any:
    """Slopes Cauchy, the residual as a Beta of its room; |W_xx| d slopes d residual = d row of the target."""
    y = at.room.size - 1
    slopes = np.empty(y)
    target_row(at.lower, y, slopes)
    value = 2.0 * (nodes.low[y] - 1.0) * np.log(at.lower[y, y])
    for k in range(y):
        value -= 2.0 * np.log(at.lower[k, k]) + np.log1p((slopes[k] / nodes.slopes) ** 2)
    return value


@inner
def target_row(lower: Any, y: Any, slopes: Any) -> Any:
    """Fill the least-squares slopes of the last number on the others: L_xx' slopes = row y of L."""
    for a in range(y - 1, -1, -1):
        total = lower[y, a]
        for b in range(a + 1, y):
            total -= lower[b, a] * slopes[b]
        slopes[a] = total / lower[a, a]
