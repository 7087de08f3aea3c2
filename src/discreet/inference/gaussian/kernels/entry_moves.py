"""Moves of one entry of the covariance within cells, under weak priors: everything by ratios.

An entry has one released sum, so the noise along it is one term. With K the inverse of the covariance X (of all
numbers, or of the features of a target), the entry (i, j) of X moved by t, and s = √(K_ii K_jj),

    |X(t)| / |X| = (1 + t K_ij)² - t² s²     or 1 + t K_ii where i = j

is positive on an interval that is known, and slopes w'X(t)^-1 of a target follow from K by the same two columns. A move
is a slice [Neal 2003] of that interval, in a window of some widths of the noise that lies around the entry at random.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.moment_density import noise_of
from discreet.numerics.arrays import Array

__all__ = ["PLAIN", "SPAN", "TRIES", "Inverse", "invert", "move_entries"]

SPAN = 12.0  # widths of the noise that a slice is looked for in
PLAIN = 20.0  # widths of noise from which on a variance is no longer hidden
LEAST = 1e-14
TRIES = 200  # after which an entry stays where it is: a slice is found in ten


class Inverse(NamedTuple):
    """K, and of a target its slopes, those that are tried, and its residual variance (1)."""

    k: Array
    slopes: Array
    tried: Array
    residual: Array


@inner
def invert(nodes: Any, at: Any, found: Any) -> Any:
    """Fill it from the Cholesky factor."""
    m, lower = found.slopes.size, at.lower
    for column in range(m):
        for a in range(m):
            total = 1.0 if a == column else 0.0
            for b in range(a):
                total -= lower[a, b] * found.k[b, column]
            found.k[a, column] = total / lower[a, a]
        for a in range(m - 1, -1, -1):
            total = found.k[a, column]
            for b in range(a + 1, m):
                total -= lower[b, a] * found.k[b, column]
            found.k[a, column] = total / lower[a, a]
    if nodes.slopes > 0.0:
        for a in range(m - 1, -1, -1):
            total = lower[m, a]
            for b in range(a + 1, m):
                total -= lower[b, a] * found.slopes[b]
            found.slopes[a] = total / lower[a, a]
        found.residual[0] = lower[m, m] ** 2


@inner
def move_entries(rng: Any, released: Any, nodes: Any, unseen: Any, at: Any, inverse: Any, wide: Any) -> Any:
    """Every entry once."""
    for i in range(at.room.size):
        for j in range(i + 1):
            low, high = _support(at, inverse, i, j)
            t = released.pairs[i, j]
            width = SPAN * wide * released.scale[t] / max(at.size[0], 1.0)
            left = -width * rng.random()
            right = min(left + width, high)
            left = max(left, low)
            gap = released.value[t] - at.size[0] * (at.crossed[i, j] + at.within[i, j])
            here = noise_of(released, t, gap) + _prior(nodes, at, inverse, i, j, 0.0)
            height = here - rng.standard_exponential()
            step = 0.0
            for _ in range(TRIES):
                step = left + (right - left) * rng.random()
                there = noise_of(released, t, gap - at.size[0] * step) + _prior(nodes, at, inverse, i, j, step)
                if there >= height:
                    break
                if step < 0.0:
                    left = step
                else:
                    right = step
                step = 0.0
            if step != 0.0:
                _moved(nodes, at, inverse, i, j, step)
            if nodes.slopes > 0.0 and i < inverse.slopes.size and min(unseen.seen[i], unseen.seen[j]) < PLAIN:
                _move_with_target(rng, released, nodes, at, inverse, i, j, wide)


@inner
def _move_with_target(rng: Any, released: Any, nodes: Any, at: Any, inverse: Any, i: Any, j: Any, wide: Any) -> Any:
    """An entry of the features moves and a target's row follows by its slopes, W_xy = W_xx slopes.

    Where noise hides a feature, its slope is known worse by its own sums than by the prior.
    """
    low, high = _support(at, inverse, i, j)
    width = SPAN * wide * released.scale[released.pairs[i, j]] / max(at.size[0], 1.0)
    left = -width * rng.random()
    right = min(left + width, high)
    left = max(left, low)
    height = _along_features(released, nodes, at, inverse, i, j, 0.0) - rng.standard_exponential()
    for _ in range(TRIES):
        step = left + (right - left) * rng.random()
        if _along_features(released, nodes, at, inverse, i, j, step) >= height:
            y, slopes, residual = inverse.slopes.size, inverse.slopes.copy(), inverse.residual[0]
            _moved(nodes, at, inverse, i, j, step)
            inverse.slopes[:] = slopes
            inverse.residual[0] = residual
            at.within[y, y] += slopes[i] * slopes[j] * step * (1.0 if i == j else 2.0)
            at.within[y, i] += slopes[j] * step
            at.within[i, y] = at.within[y, i]
            if i != j:
                at.within[y, j] += slopes[i] * step
                at.within[j, y] = at.within[y, j]
            return
        if step < 0.0:
            left = step
        else:
            right = step


@inner
def _along_features(released: Any, nodes: Any, at: Any, inverse: Any, i: Any, j: Any, t: Any) -> Any:
    y, k, slopes = inverse.slopes.size, inverse.k, inverse.slopes
    ratio = 1.0 + t * k[i, i] if i == j else (1.0 + t * k[i, j]) ** 2 - t * t * k[i, i] * k[j, j]
    own = at.within[y, y] + slopes[i] * slopes[j] * t * (1.0 if i == j else 2.0)
    rest = at.room[y] - own
    if not (ratio > LEAST and rest > 0.0):
        return -np.inf
    value = _shape(nodes, k, i, j, t, ratio) + (nodes.high[y] - 1.0) * np.log(rest)
    value += _noise_at(released, at, y, y, own)
    value += _noise_at(released, at, i, j, at.within[i, j] + t)
    value += _noise_at(released, at, i, y, at.within[i, y] + slopes[j] * t)
    if i != j:
        return value + _noise_at(released, at, j, y, at.within[j, y] + slopes[i] * t)
    own, room = at.within[i, i] + t, at.room[i] - at.within[i, i] - t
    if not (own > 0.0 and room > 0.0):
        return -np.inf
    power = nodes.low[i] - 1.0 - 0.5 * (y - 1.0) - nodes.whole - nodes.single
    return value + power * np.log(own) + (nodes.high[i] - 1.0) * np.log(room)


@inner
def _noise_at(released: Any, at: Any, i: Any, j: Any, within: Any) -> Any:
    """Log-density of the noise on a product, were the entry of the covariance this."""
    t = released.pairs[i, j]
    return noise_of(released, t, released.value[t] - at.size[0] * (at.crossed[i, j] + within))


@inner
def _support(at: Any, inverse: Any, i: Any, j: Any) -> Any:
    """How far an entry may move while the covariance stays positive and variances below their room."""
    k, m = inverse.k, inverse.slopes.size
    if i >= m:  # the row of a target
        if i == j:
            return -inverse.residual[0], at.room[i] - at.within[i, i]
        root = np.sqrt(inverse.slopes[j] ** 2 + inverse.residual[0] * k[j, j])
        return (-inverse.slopes[j] - root) / k[j, j], (-inverse.slopes[j] + root) / k[j, j]
    if i == j:
        return -1.0 / k[i, i], at.room[i] - at.within[i, i]
    root = np.sqrt(k[i, i] * k[j, j])
    return -1.0 / (root + k[i, j]), 1.0 / (root - k[i, j])


@inner
def _prior(nodes: Any, at: Any, inverse: Any, i: Any, j: Any, t: Any) -> Any:
    """Log-prior along an entry, up to a constant of this entry."""
    p, m, k = at.room.size, inverse.slopes.size, inverse.k
    y, value = p - 1, 0.0
    target = nodes.slopes > 0.0
    if i < m:
        ratio = 1.0 + t * k[i, i] if i == j else (1.0 + t * k[i, j]) ** 2 - t * t * k[i, i] * k[j, j]
        if not ratio > LEAST:
            return -np.inf
        value += _shape(nodes, k, i, j, t, ratio) - (np.log(ratio) if target else 0.0)
        if i == j:
            a, b, own = nodes.low[i], nodes.high[i], at.within[i, i] + t
            rest = at.room[i] - own
            if not (rest > 0.0 and own > 0.0):
                return -np.inf
            power = a - 1.0 - 0.5 * (m - 1.0) - nodes.whole - nodes.single
            value += power * np.log(own) + (b - 1.0) * np.log(rest)
        if not target:
            return value
        residual = inverse.residual[0] + _try_features(inverse, i, j, t, ratio)
    elif i == j:
        rest = at.room[y] - at.within[y, y] - t
        residual = inverse.residual[0] + t
        if not (rest > 0.0 and residual > 0.0):
            return -np.inf
        return (nodes.high[y] - 1.0) * np.log(rest) + (nodes.low[y] - 1.0) * np.log(residual)
    else:
        for a in range(m):
            inverse.tried[a] = inverse.slopes[a] + t * k[a, j]
        residual = inverse.residual[0] - t * (2.0 * inverse.slopes[j] + t * k[j, j])
    if not residual > 0.0:
        return -np.inf
    product = 1.0
    for a in range(m):
        product *= 1.0 + (inverse.tried[a] / nodes.slopes) ** 2
        if product > 1e200:
            value -= np.log(product)
            product = 1.0
    return value - np.log(product) + (nodes.low[y] - 1.0) * np.log(residual)


@inner
def _shape(nodes: Any, k: Any, i: Any, j: Any, t: Any, ratio: Any) -> Any:
    """Log-prior of correlations along an entry, but for what its own variance has to do with it."""
    value = nodes.whole * np.log(ratio)
    if nodes.single == 0.0:
        return value
    product, inside = 1.0, t * (1.0 + t * k[i, j]) / ratio
    for a in range(k.shape[0]):
        if i == j:
            less = t / ratio * k[a, i] ** 2
        else:
            less = 2.0 * inside * k[a, i] * k[a, j]
            less -= t * t / ratio * (k[j, j] * k[a, i] ** 2 + k[i, i] * k[a, j] ** 2)
        product *= 1.0 - less / k[a, a]
    return value - nodes.single * np.log(product) if product > 0.0 else -np.inf


@inner
def _try_features(inverse: Any, i: Any, j: Any, t: Any, ratio: Any) -> Any:
    """Slopes of the target after entry (i, j) of its features moved; returns what its residual variance wins."""
    k, slopes = inverse.k, inverse.slopes
    if i == j:
        of_i, of_j = t * slopes[i] / ratio, 0.0
    else:
        mixed = t * (1.0 + t * k[i, j])
        of_i = (mixed * slopes[j] - t * t * k[j, j] * slopes[i]) / ratio
        of_j = (mixed * slopes[i] - t * t * k[i, i] * slopes[j]) / ratio
    for a in range(slopes.size):
        inverse.tried[a] = slopes[a] - of_i * k[a, i] - of_j * k[a, j]
    return of_i * slopes[i] + of_j * slopes[j]


@inner
def _moved(nodes: Any, at: Any, inverse: Any, i: Any, j: Any, t: Any) -> Any:
    """Move the entry, and the inverse with it."""
    k, m = inverse.k, inverse.slopes.size
    at.within[i, j] += t
    if i != j:
        at.within[j, i] += t
    if i >= m:
        if i == j:
            inverse.residual[0] += t
        else:
            inverse.residual[0] -= t * (2.0 * inverse.slopes[j] + t * k[j, j])
            for a in range(m):
                inverse.slopes[a] += t * k[a, j]
        return
    ratio = 1.0 + t * k[i, i] if i == j else (1.0 + t * k[i, j]) ** 2 - t * t * k[i, i] * k[j, j]
    if nodes.slopes > 0.0:
        inverse.residual[0] += _try_features(inverse, i, j, t, ratio)
        inverse.slopes[:] = inverse.tried
    one, other = k[:, i].copy(), k[:, j].copy()
    if i == j:
        for a in range(m):
            for b in range(m):
                k[a, b] -= t / ratio * one[a] * one[b]
        return
    first, second, mixed = -t * t * other[j] / ratio, -t * t * one[i] / ratio, t * (1.0 + t * one[j]) / ratio
    for a in range(m):
        for b in range(m):
            k[a, b] -= first * one[a] * one[b] + second * other[a] * other[b]
            k[a, b] -= mixed * (one[a] * other[b] + other[a] * one[b])
