"""Log-posterior density of a point of unseen moments, and its gradient: the noise, the priors, and the Jacobian.

noise       released = n · (moments per row) + noise, term by term
shares      Dirichlet on the cells: Σ concentration log share (the softmax's own Jacobian is in it)
means       uniform on [-1, 1] in the coordinates' own cells: Σ log(1 - tanh²)
variances   of features, W_jj / v_j ~ Beta(a, b), correlations LKJ; of a target's residual the same form, and
            slopes Cauchy: -log cosh b
conjugate   `node_density` instead, with the Jacobian of all moments of that number
"""

from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.inference.gaussian.kernels.density_parts import (
    Slopes,
    conjugate_numbers,
    log_cosh,
    noise_on_sums,
    weak_priors,
)
from discreet.inference.gaussian.kernels.unseen_layout import place_moments, softplus

__all__ = ["log_posterior"]


@entry
def log_posterior(released: Any, nodes: Any, conjugates: Any, unseen: Any, theta: Any, gradient: Any) -> Any:
    """The log-density at theta; fills `gradient`."""
    p = nodes.conjugate.size
    cells, links = unseen.links.shape
    shares, means, room, factor = np.empty(cells), np.empty((p, cells)), np.empty(p), np.empty((p, p))
    n = place_moments(unseen, nodes.slopes, p, theta, shares, means, room, factor)
    gradient[:] = 0.0
    for j in range(p):
        if not (room[j] > 1e-290 and factor[j, j] > 1e-150 and factor[j, j] < 1e3):
            return -np.inf
    features = p - 1 if nodes.slopes > 0.0 else p
    rows = links + p * unseen.basis.shape[1]
    last = rows + features * (features + 1) // 2
    within = np.dot(factor, factor.T)
    slopes = Slopes(np.zeros(cells), np.zeros((p, cells)), np.zeros((p, p)), np.zeros(p), np.zeros(p))
    value, in_n = noise_on_sums(released, n, shares, means, within, slopes)
    value += weak_priors(nodes, theta[last:], gradient[last:], room, factor, within, slopes)
    if not value > -np.inf:
        return -np.inf
    if conjugates is not None:
        found, slope = conjugate_numbers(nodes.conjugate, conjugates, unseen, n, shares, means, within, slopes)
        if not found > -np.inf:
            return -np.inf
        value += found
        in_n += slope
    value += _to_rows(nodes.slopes, theta[rows:], theta[last:], room, factor, slopes, gradient[rows:], gradient[last:])
    for j in range(p):
        for c in range(cells):
            slopes.shares[c] += slopes.room[j] * (1.0 - means[j, c] ** 2)
            slopes.means[j, c] -= 2.0 * slopes.room[j] * shares[c] * means[j, c]
    value += _to_means(nodes, unseen, theta[links:], means, slopes, gradient[links:])
    if links > 0:
        value += _to_shares(unseen, shares, slopes, gradient)
    if unseen.size_grid.size > 0:
        value += _to_size(unseen, theta, n, in_n, gradient)
    return value


@inner
def _to_rows(
    scale: Any, theta: Any, own_slopes: Any, room: Any, factor: Any, slopes: Any, gradient: Any, last_gradient: Any
) -> Any:
    """From the covariance within cells to the rows of its factor, and to the room that scales them.

    Returns the Jacobian from the logarithms of the diagonal to its coordinates.
    """
    p, value = room.size, 0.0
    features = p - 1 if scale > 0.0 else p
    in_factor = np.dot(slopes.within + slopes.within.T, factor)
    if scale > 0.0:
        y = p - 1
        for k in range(features):
            beta, found = scale * np.sinh(own_slopes[k]), 0.0
            for j in range(k + 1):
                found += in_factor[y, j] * factor[k, j]
                in_factor[k, j] += in_factor[y, j] * beta
            last_gradient[k] += found * scale * np.cosh(own_slopes[k])
        own = in_factor[y, y] * factor[y, y] + slopes.logs[y]
        slopes.room[y] += 0.5 * own / room[y]
        found, slope, bend = _logs(own_slopes[features])
        value += found
        last_gradient[features] += own * slope + bend
    at = 0
    for i in range(features):
        own = in_factor[i, i] * factor[i, i] + slopes.logs[i]
        for j in range(i):
            gradient[at + j] += in_factor[i, j] * factor[i, i]
            own += in_factor[i, j] * factor[i, j]
        slopes.room[i] += 0.5 * own / room[i]
        found, slope, bend = _logs(theta[at + i])
        value += found
        gradient[at + i] += own * slope + bend
        at += i + 1
    return value


@inner
def _logs(s: Any) -> Any:
    """Of log L_ii in its coordinate: the logarithm of its slope, the slope, and the slope of that logarithm."""
    share, soft = 1.0 / (1.0 + np.exp(-s)), softplus(s)
    ratio = share / soft if s > -30.0 else 1.0
    return np.log(0.5 * ratio), 0.5 * ratio, 1.0 - share - ratio


@inner
def _to_means(nodes: Any, unseen: Any, theta: Any, means: Any, slopes: Any, gradient: Any) -> Any:
    """From the means of the cells to their coordinates, with the weak prior of those that have no conjugate one."""
    width, value = unseen.basis.shape[1], 0.0
    for j in range(means.shape[0]):
        for k in range(width):
            at = j * width + k
            for c in range(means.shape[1]):
                gradient[at] += unseen.basis[c, k] * slopes.means[j, c] * (1.0 - means[j, c] ** 2)
            if not nodes.conjugate[j]:
                value -= 2.0 * nodes.means * log_cosh(theta[at])
                gradient[at] -= 2.0 * nodes.means * np.tanh(theta[at])
    return value


@inner
def _to_shares(unseen: Any, shares: Any, slopes: Any, gradient: Any) -> Any:
    """From the shares of the cells to their log-linear parameters, with their Dirichlet prior."""
    average, whole = np.dot(shares, slopes.shares), np.sum(unseen.concentration)
    value = 0.0
    for c in range(shares.size):
        value += unseen.concentration[c] * np.log(shares[c])
        slope = shares[c] * (slopes.shares[c] - average) + unseen.concentration[c] - shares[c] * whole
        for k in range(unseen.links.shape[1]):
            gradient[k] += unseen.links[c, k] * slope
    return value


@inner
def _to_size(unseen: Any, theta: Any, n: Any, in_n: Any, gradient: Any) -> Any:
    """From a private number of rows to its coordinate, with its prior between the nodes of a grid."""
    grid, weight, last = unseen.size_grid, unseen.size_weight, theta.size - 1
    below = min(max(np.searchsorted(grid, n) - 1, 0), grid.size - 2)
    rise = (weight[below + 1] - weight[below]) / (grid[below + 1] - grid[below])
    move = (n - grid[0]) * (grid[-1] - n) / (grid[-1] - grid[0])
    gradient[last] += (in_n + rise) * move - np.tanh(0.5 * theta[last])
    return weight[below] + rise * (n - grid[below]) - 2.0 * log_cosh(0.5 * theta[last])
