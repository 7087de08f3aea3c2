"""The parts of the log-posterior of unseen moments: each adds its value, and its slopes in the moments, to a `Slopes`.

Slopes are in shares (cells), means (numbers, cells), the covariance within cells (as a full matrix), the room that
means leave to variances, and the logarithms of the diagonal of the Cholesky factor.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.conjugate_nodes import node_density
from discreet.numerics.arrays import Array

__all__ = ["Slopes", "conjugate_numbers", "log_cosh", "noise_on_sums", "weak_priors"]

SMOOTHING = 0.1  # of a Laplace scale, in slopes only: where a trajectory is steered, never where it is accepted


class Slopes(NamedTuple):
    """Derivatives of the log-density in the moments of a point."""

    shares: Array
    means: Array
    within: Array
    room: Array
    logs: Array  # in log L_ii


@inner
def noise_on_sums(released: Any, n: Any, shares: Any, means: Any, within: Any, slopes: Any) -> Any:
    """Log-density of the released sums; returns it with its derivative in n."""
    value, in_n = 0.0, 0.0
    for t in range(released.value.size):
        i, j = released.first[t], released.second[t]
        total = 0.0 if j < 0 else within[i, j]
        for c in range(shares.size):
            if released.members[t, c] != 0.0:
                first = 1.0 if i < 0 else means[i, c]
                total += shares[c] * first * (1.0 if j < 0 else means[j, c])
        gap, scale = released.value[t] - n * total, released.scale[t]
        if released.laplace[t]:
            value -= abs(gap) / scale
            slope = gap / np.sqrt(gap * gap + (SMOOTHING * scale) ** 2) / scale
        else:
            value -= 0.5 * (gap / scale) ** 2
            slope = gap / (scale * scale)
        in_n += total * slope
        slope *= n
        for c in range(shares.size):
            if released.members[t, c] != 0.0:
                first = 1.0 if i < 0 else means[i, c]
                second = 1.0 if j < 0 else means[j, c]
                slopes.shares[c] += slope * first * second
                if i >= 0:
                    slopes.means[i, c] += slope * shares[c] * second
                if j >= 0:
                    slopes.means[j, c] += slope * shares[c] * first
        if j >= 0:
            slopes.within[i, j] += 0.5 * slope
            slopes.within[j, i] += 0.5 * slope
    return value, in_n


@inner
def weak_priors(nodes: Any, own_slopes: Any, gradient: Any, room: Any, factor: Any, within: Any, slopes: Any) -> Any:
    """Priors within the bounds, and the Jacobian from coordinates to what each prior is a density of.

    `own_slopes` are the coordinates of a target's slopes, `gradient` the slopes in them.
    """
    p = room.size
    features = p - 1 if nodes.slopes > 0.0 else p
    boxed, value = 0, 0.0
    for j in range(features):
        boxed += 0 if nodes.conjugate[j] else 1
    for j in range(features):
        value += (features + 1.0) * np.log(factor[j, j])
        slopes.logs[j] += features + 1.0
        if nodes.conjugate[j]:
            continue
        a, b, own = nodes.low[j], nodes.high[j], within[j, j]
        rest = room[j] - own
        if not rest > 0.0:
            return -np.inf
        power = a - 1.0 - 0.5 * (boxed - 1.0) - (nodes.lkj - 1.0)
        value += power * np.log(own) + (b - 1.0) * np.log(rest) - (a + b - 1.0) * np.log(room[j])
        value += 2.0 * (nodes.lkj - 1.0) * np.log(factor[j, j])
        slopes.within[j, j] += power / own - (b - 1.0) / rest
        slopes.room[j] += (b - 1.0) / rest - (a + b - 1.0) / room[j]
        slopes.logs[j] += 2.0 * (nodes.lkj - 1.0)
    if not nodes.slopes > 0.0:
        return value
    y = p - 1
    for k in range(features):
        if nodes.conjugate[y]:  # its moments with the features are what its prior is a density of: |W_xx| d slopes
            value += 2.0 * np.log(factor[k, k]) + log_cosh(own_slopes[k])
            slopes.logs[k] += 2.0
            gradient[k] += np.tanh(own_slopes[k])
        else:
            value -= log_cosh(own_slopes[k])
            gradient[k] -= np.tanh(own_slopes[k])
    value += 2.0 * np.log(factor[y, y])
    slopes.logs[y] += 2.0
    if nodes.conjugate[y]:
        return value
    a, b = nodes.low[y], nodes.high[y]
    rest = room[y] - within[y, y]
    if not rest > 0.0:
        return -np.inf
    value += 2.0 * (a - 1.0) * np.log(factor[y, y]) + (b - 1.0) * np.log(rest) - (a + b - 1.0) * np.log(room[y])
    slopes.logs[y] += 2.0 * (a - 1.0)
    slopes.within[y, y] -= (b - 1.0) / rest
    slopes.room[y] += (b - 1.0) / rest - (a + b - 1.0) / room[y]
    return value


@inner
def conjugate_numbers(
    is_conjugate: Any, conjugates: Any, unseen: Any, n: Any, shares: Any, means: Any, within: Any, slopes: Any
) -> Any:
    """Log-density of the moments of all numbers with a conjugate prior; returns it with its derivative in n."""
    cells, q, p = shares.size, unseen.design.shape[1], is_conjugate.size
    columns = np.zeros((cells, q + p))  # the design of a cell, and the means in it
    columns[:, :q] = unseen.design
    columns[:, q:] = means.T
    weighted = columns * shares.reshape(-1, 1)
    moments = np.dot(columns.T, weighted)
    moments[q:, q:] += within
    adjoint = np.zeros((q + p, q + p))
    value, in_n = 0.0, 0.0
    for j in range(p):
        if not is_conjugate[j]:
            continue
        found, slope = node_density(conjugates, j, q + j, n, moments, adjoint)
        # from the sums of this number within levels to its coordinates: H = design' diag(shares (1 - f²)) basis
        size = (shares * (1.0 - means[j] ** 2)).reshape(-1, 1)
        change = np.dot(unseen.design.T, size * unseen.basis)
        sign, log_change = np.linalg.slogdet(change)
        if not (found > -np.inf and sign != 0.0 and log_change > -np.inf):
            return -np.inf, 0.0
        value += found + log_change
        in_n += slope
        weights = np.dot(unseen.basis, np.linalg.inv(change))
        for c in range(cells):
            weight = 0.0
            for a in range(q):
                weight += weights[c, a] * unseen.design[c, a]
            slopes.shares[c] += weight * (1.0 - means[j, c] ** 2)
            slopes.means[j, c] -= 2.0 * weight * shares[c] * means[j, c]
    adjoint = 0.5 * (adjoint + adjoint.T)
    both = np.dot(columns, adjoint)
    for c in range(cells):
        for a in range(q + p):
            slopes.shares[c] += both[c, a] * columns[c, a]
        for j in range(p):
            slopes.means[j, c] += 2.0 * both[c, q + j] * shares[c]
    for i in range(p):
        for j in range(p):
            slopes.within[i, j] += adjoint[q + i, q + j]
    return value, in_n


@inner
def log_cosh(x: Any) -> Any:
    """Without overflow."""
    return abs(x) + np.log1p(np.exp(-2.0 * abs(x))) - 0.6931471805599453
