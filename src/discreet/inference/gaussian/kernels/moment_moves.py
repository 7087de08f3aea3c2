"""Sweeps over unseen moments: slices [Neal 2003] of one coordinate or direction at a time.

entries    each entry of the covariance within cells: one released sum, and an inverse that is kept up to date
rows       row and column of a number are scaled together where noise hides its variance: the logarithm moves
slopes     of a target, with its residual variance and the covariance of its features as they are
points     shares, means and a private size along learned directions; once the covariance within cells stays as it is,
           once the released products do, n (crossed + W)

No step is rejected and none is tuned but by the directions, which warm-up learns.
"""

from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.inference.gaussian.kernels.entry_moves import PLAIN, SPAN, TRIES, Inverse, invert, move_entries
from discreet.inference.gaussian.kernels.moment_density import (
    covariance_prior,
    noise_of,
    on_levels,
    on_products,
    point_prior,
    room_prior,
    target_row,
)
from discreet.inference.gaussian.kernels.unseen_layout import cholesky, empty_moments, place

__all__ = ["run_sweeps"]

DIRECTION = 6.0  # deviations that a slice along a learned direction is looked for in
SCALING = 3.0  # of the logarithm of a row's scale
STEEPEST = 100.0  # slopes that a window reaches
FAINT = 0.5  # widths of noise: between it and PLAIN a variance may be hidden or not


@entry
def run_sweeps(
    rng: Any,
    released: Any,
    nodes: Any,
    conjugates: Any,
    unseen: Any,
    root: Any,
    wide: Any,
    x: Any,
    within: Any,
    points: Any,
    covariances: Any,
    slopes: Any,
) -> Any:
    """Advance x and the covariance in place by len(points) sweeps; what follows them is filled, draws first.

    `wide` is 1, or more where the windows of entries are to be wider.
    """
    p, cells = within.shape[0], unseen.links.shape[0]
    at, other = empty_moments(p, cells), empty_moments(p, cells)
    place(unseen, x, at)
    at.within[:] = within
    features = p - 1 if nodes.slopes > 0.0 else p
    inverse = Inverse(np.zeros((features, features)), np.zeros(features), np.zeros(features), np.zeros(1))
    tried = np.empty(x.size)
    for t in range(points.shape[0]):
        if conjugates is None:
            cholesky(at.within, p, at.lower)
            invert(nodes, at, inverse)
            move_entries(rng, released, nodes, unseen, at, inverse, wide)
            if nodes.slopes > 0.0:
                _move_slopes(rng, released, nodes, at, inverse)
        else:
            _move_plain_entries(rng, released, nodes, conjugates, unseen, at, other, wide)
        _scale_rows(rng, released, nodes, conjugates, unseen, at, other)
        _move_point(rng, released, nodes, conjugates, unseen, root, x, at, tried, other)
        points[t] = x
        covariances[t] = at.within
        cholesky(at.within, p, at.lower)
        target_row(at.lower, p - 1, slopes[t])
        slopes[t, p - 1] = at.lower[p - 1, p - 1] ** 2
    within[:] = at.within


@inner
def _move_plain_entries(
    rng: Any, released: Any, nodes: Any, conjugates: Any, unseen: Any, at: Any, other: Any, wide: Any
) -> Any:
    """Every entry once, with the whole density at every step."""
    _copy(at, other)
    for i in range(at.room.size):
        for j in range(i + 1):
            t = released.pairs[i, j]
            here = covariance_prior(nodes, conjugates, unseen, other)
            gap = released.value[t] - at.size[0] * (at.crossed[i, j] + at.within[i, j])
            height = here + noise_of(released, t, gap) - rng.standard_exponential()
            width = SPAN * wide * released.scale[t] / max(at.size[0], 1.0)
            left = -width * rng.random()
            right = left + width
            found = False
            for _ in range(TRIES):
                step = left + (right - left) * rng.random()
                other.within[i, j] = at.within[i, j] + step
                other.within[j, i] = other.within[i, j]
                there = covariance_prior(nodes, conjugates, unseen, other)
                if there + noise_of(released, t, gap - at.size[0] * step) >= height:
                    found = True
                    break
                if step < 0.0:
                    left = step
                else:
                    right = step
            if not found:
                other.within[i, j] = at.within[i, j]
                other.within[j, i] = at.within[i, j]
            at.within[i, j] = other.within[i, j]
            at.within[j, i] = other.within[i, j]


@inner
def _scale_rows(rng: Any, released: Any, nodes: Any, conjugates: Any, unseen: Any, at: Any, other: Any) -> Any:
    """The row and the column of every number by a common factor e^step: the volume of p entries and a square grows."""
    p = at.room.size
    _copy(at, other)
    here = covariance_prior(nodes, conjugates, unseen, other) + on_products(released, other)
    for j in range(p):
        if unseen.seen[j] > PLAIN:
            continue
        height = here - rng.standard_exponential()
        left = -SCALING * rng.random()
        right = left + SCALING
        for attempt in range(TRIES):
            step = left + (right - left) * rng.random() if attempt < TRIES - 1 else 0.0
            factor = np.exp(step)
            for i in range(p):
                other.within[i, j] = at.within[i, j] * factor * (factor if i == j else 1.0)
                other.within[j, i] = other.within[i, j]
            there = covariance_prior(nodes, conjugates, unseen, other) + on_products(released, other)
            if there + (p + 1.0) * step >= height or attempt == TRIES - 1:
                here = there
                break
            if step < 0.0:
                left = step
            else:
                right = step
        at.within[:] = other.within


@inner
def _move_slopes(rng: Any, released: Any, nodes: Any, at: Any, inverse: Any) -> Any:
    """Each slope of a target; its row W_xx slopes and its variance follow."""
    m, n, y = inverse.slopes.size, at.size[0], inverse.slopes.size
    for k in range(m):
        narrowest = STEEPEST
        for i in range(m):
            t = released.pairs[i, y]
            narrowest = min(narrowest, SPAN * released.scale[t] / max(n * abs(at.within[i, k]), 1e-300))
        left = -narrowest * rng.random()
        right = left + narrowest
        height = _along_slope(released, nodes, at, inverse, k, 0.0) - rng.standard_exponential()
        for _ in range(TRIES):
            step = left + (right - left) * rng.random()
            if _along_slope(released, nodes, at, inverse, k, step) >= height:
                at.within[y, y] += step * (2.0 * at.within[y, k] + step * at.within[k, k])
                for i in range(m):
                    at.within[i, y] += step * at.within[i, k]
                    at.within[y, i] = at.within[i, y]
                inverse.slopes[k] += step
                break
            if step < 0.0:
                left = step
            else:
                right = step


@inner
def _along_slope(released: Any, nodes: Any, at: Any, inverse: Any, k: Any, step: Any) -> Any:
    y, n = inverse.slopes.size, at.size[0]
    own = at.within[y, y] + step * (2.0 * at.within[y, k] + step * at.within[k, k])
    rest = at.room[y] - own
    if not rest > 0.0:
        return -np.inf
    value = (nodes.high[y] - 1.0) * np.log(rest) - np.log1p(((inverse.slopes[k] + step) / nodes.slopes) ** 2)
    t = released.pairs[y, y]
    value += noise_of(released, t, released.value[t] - n * (at.crossed[y, y] + own))
    for i in range(y):
        t = released.pairs[i, y]
        moved = at.crossed[i, y] + at.within[i, y] + step * at.within[i, k]
        value += noise_of(released, t, released.value[t] - n * moved)
    return value


@inner
def _move_point(
    rng: Any,
    released: Any,
    nodes: Any,
    conjugates: Any,
    unseen: Any,
    root: Any,
    x: Any,
    at: Any,
    tried: Any,
    other: Any,
) -> Any:
    """Along every direction: with the covariance as it is, and with the products as they are."""
    plain = np.min(unseen.seen) > PLAIN
    for direction in range(root.shape[1]):
        for products in range(2):
            if plain and rng.random() < 0.5:
                continue
            least, seen = FAINT * (PLAIN / FAINT) ** rng.random() if products == 1 else np.inf, 0
            for j in range(at.room.size):
                seen += 1 if unseen.seen[j] > least else 0
            staying = 0.5 * seen * (seen + 1.0)
            here = _value(released, nodes, conjugates, unseen, x, at, staying)
            height = here - rng.standard_exponential()
            left = -DIRECTION * rng.random()
            right = left + DIRECTION
            for _ in range(TRIES):
                step = left + (right - left) * rng.random()
                for k in range(x.size):
                    tried[k] = x[k] + step * root[k, direction]
                place(unseen, tried, other)
                if other.size[0] > 0.0:
                    _carry(unseen, at, other, least)
                    if _value(released, nodes, conjugates, unseen, tried, other, staying) >= height:
                        x[:] = tried
                        _copy(other, at)
                        break
                if step < 0.0:
                    left = step
                else:
                    right = step


@inner
def _carry(unseen: Any, at: Any, other: Any, least: Any) -> Any:
    """The covariance within cells that goes with another point."""
    ratio = at.size[0] / other.size[0]
    for i in range(at.room.size):
        for j in range(at.room.size):
            if unseen.seen[i] > least and unseen.seen[j] > least:
                other.within[i, j] = ratio * (at.crossed[i, j] + at.within[i, j]) - other.crossed[i, j]
            else:
                other.within[i, j] = at.within[i, j]


@inner
def _value(released: Any, nodes: Any, conjugates: Any, unseen: Any, x: Any, at: Any, staying: Any) -> Any:
    """The log-density of a point with its covariance; where so many products stay, d W = d products / n."""
    value = point_prior(nodes, unseen, x, at)
    if not value > -np.inf:
        return -np.inf
    value += on_levels(released, at)
    if staying > 0 or conjugates is not None:
        value += covariance_prior(nodes, conjugates, unseen, at)
    else:  # its shape stays as it is
        value += room_prior(nodes, at)
    return value + on_products(released, at) - staying * np.log(at.size[0])


@inner
def _copy(one: Any, other: Any) -> Any:
    other.size[:] = one.size
    other.shares[:] = one.shares
    other.means[:] = one.means
    other.room[:] = one.room
    other.crossed[:] = one.crossed
    other.within[:] = one.within
    other.lower[:] = one.lower
