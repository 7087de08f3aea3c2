"""Unconstrained coordinates of a Gaussian system, nearly standard a priori, and the sums expected under them.

    for each node     xi_j with beta_j = m_j + sigma_j L_j xi_j, then log sigma_j²
    for each factor   log-ratios of level probabilities to the first level's
    where private     the number of records N, in units of its likely value

in this order. `expected_sums` is N m(theta), `sums_covariance` is N C(theta).
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.clamped import TermLayout, term_covariance, term_means
from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.numerics.arrays import Array, Integers

__all__ = ["Coordinates", "Records", "decode", "expected_sums", "log_prior", "log_size_slope", "sums_covariance"]


class Coordinates(NamedTuple):
    """What turns theta into parameters, and the prior."""

    mean: Array  # coefficients of all nodes, end to end
    root: Array  # (nodes, order, order), padded: the covariance of the coefficients is sigma² root root'
    shape: Array
    rate: Array
    alpha: Array  # of all factors, end to end
    blocks: Integers  # where the coordinates of each node, each factor and the number of records start, and the end
    size_unit: float  # a private number of records is this times the last coordinate
    size_grid: Array  # log-prior of the number of records at some of its values, one value if public
    size_log_weight: Array


class Records(NamedTuple):
    """Quasi-random records that give covariances: standard errors (points, nodes), and codes (points, factors)."""

    errors: Array
    codes: Integers
    proposal: Array  # probabilities of the levels of all factors, end to end, with which the codes were drawn


@inner
def decode(layout: TermLayout, coordinates: Coordinates, theta: Array) -> tuple[Array, Array, Array, float]:
    """Coefficients, deviations, level probabilities and the number of records."""
    nodes, coefficients = coordinates.shape.size, coordinates.mean.copy()
    sigma, probabilities = np.empty(nodes), np.empty(coordinates.alpha.size)
    for j in range(nodes):
        start, stop = layout.starts[j], layout.starts[j + 1]
        sigma[j] = exp(0.5 * theta[stop + j])
        for a in range(start, stop):
            for b in range(start, stop):
                coefficients[a] += sigma[j] * coordinates.root[j, a - start, b - start] * theta[b + j]
    place = coefficients.size + nodes
    for f in range(layout.level_starts.size - 1):
        start, stop = layout.level_starts[f], layout.level_starts[f + 1]
        top = 0.0
        for a in range(place, place + stop - start - 1):
            top = max(top, theta[a])
        probabilities[start] = exp(-top)
        whole = probabilities[start]
        for level in range(start + 1, stop):
            probabilities[level] = exp(theta[place] - top)
            whole += probabilities[level]
            place += 1
        for level in range(start, stop):
            probabilities[level] /= whole
    size = coordinates.size_grid[0] if place == theta.size else coordinates.size_unit * theta[place]
    return coefficients, sigma, probabilities, size


@inner
def log_prior(coordinates: Coordinates, theta: Array, probabilities: Array, size: float) -> float:
    """Log-density of theta up to a constant, including what the change of coordinates adds."""
    total = 0.0
    for j in range(coordinates.shape.size):
        last = coordinates.blocks[j + 1] - 1
        for c in range(coordinates.blocks[j], last):
            total -= 0.5 * theta[c] ** 2
        total -= coordinates.shape[j] * theta[last] + coordinates.rate[j] * exp(-theta[last])
    for level in range(probabilities.size):
        total += coordinates.alpha[level] * log(max(probabilities[level], 1e-300))
    grid = coordinates.size_grid
    if size < grid[0] or size > grid[-1]:
        return -inf
    if grid.size > 1:
        left = _size_place(coordinates, size)
        total += coordinates.size_log_weight[left] + (size - grid[left]) * log_size_slope(coordinates, size)
    return total


@inner
def log_size_slope(coordinates: Coordinates, size: float) -> float:
    """Slope of the size prior's logarithm between the tabulated sizes."""
    left = _size_place(coordinates, size)
    rise = coordinates.size_log_weight[left + 1] - coordinates.size_log_weight[left]
    return rise / (coordinates.size_grid[left + 1] - coordinates.size_grid[left])


@inner
def _size_place(coordinates: Coordinates, size: float) -> int:
    """The last tabulated size below `size`, by bisection."""
    left, right = 0, coordinates.size_grid.size - 1
    while right - left > 1:
        middle = (left + right) // 2
        if coordinates.size_grid[middle] < size:
            left = middle
        else:
            right = middle
    return left


@entry
def expected_sums(layout: TermLayout, coordinates: Coordinates, theta: Array) -> Array:
    """N m(theta)."""
    coefficients, sigma, probabilities, size = decode(layout, coordinates, theta)
    sums = term_means(layout, coefficients, sigma, probabilities)
    for t in range(sums.size):
        sums[t] *= size
    return sums


@entry
def sums_covariance(layout: TermLayout, coordinates: Coordinates, records: Records, theta: Array) -> Array:
    """N C(theta)."""
    coefficients, sigma, probabilities, size = decode(layout, coordinates, theta)
    weights = np.ones(records.codes.shape[0])
    for p in range(weights.size):
        for f in range(records.codes.shape[1]):
            level = layout.level_starts[f] + records.codes[p, f]
            weights[p] *= probabilities[level] / records.proposal[level]
    covariance = term_covariance(layout, coefficients, sigma, weights, records.errors, records.codes)
    for a in range(covariance.shape[0]):
        for b in range(covariance.shape[0]):
            covariance[a, b] *= max(size, 0.0)
    return covariance
