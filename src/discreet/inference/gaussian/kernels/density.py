"""Log-density of the coordinates given noisy sums that are normal with a given covariance, and its gradient."""

from math import exp, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.inference.gaussian.kernels.clamped import TermLayout, mixed_means, normal_law, product_means, term_means
from discreet.inference.gaussian.kernels.clamped_slopes import mean_slopes
from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates, decode, log_prior, log_size_slope
from discreet.inference.gaussian.kernels.triangular import backward, forward, square
from discreet.numerics.arrays import Array

__all__ = ["NoisySums", "log_density", "log_density_slopes"]


class NoisySums(NamedTuple):
    """The released sums in units of their terms, and the variance of their noise."""

    released: Array
    variance: Array
    laplace: NDArray[np.bool_]


@inner
def log_density(layout: TermLayout, coordinates: Coordinates, noisy: NoisySums, root: Array, theta: Array) -> float:
    """Log p(theta) + log p(y | theta) for a given root of V, up to a constant."""
    coefficients, sigma, probabilities, size = decode(layout, coordinates, theta)
    prior = log_prior(coordinates, theta, probabilities, size)
    if prior == -inf:
        return prior
    residual = term_means(layout, coefficients, sigma, probabilities)
    for t in range(residual.size):
        residual[t] = noisy.released[t] - size * residual[t]
    value = prior - 0.5 * square(forward(root, residual))
    return value if value < inf else -inf  # not a number for parameters beyond floating point


@inner
def log_density_slopes(
    layout: TermLayout, coordinates: Coordinates, noisy: NoisySums, root: Array, theta: Array
) -> Array:
    """Gradient of `log_density`."""
    coefficients, sigma, probabilities, size = decode(layout, coordinates, theta)
    law, covariance = normal_law(layout, coefficients, sigma)
    products, slopes = product_means(layout, law, covariance), np.empty(theta.size)
    means = mixed_means(layout, products, probabilities)
    residual = np.empty(means.size)
    for t in range(means.size):
        residual[t] = noisy.released[t] - size * means[t]
    pull, by_size = backward(root, forward(root, residual)), 0.0
    for t in range(means.size):
        by_size += pull[t] * means[t]
        pull[t] *= size
    by_coefficient, by_variance, by_level = mean_slopes(
        layout, coefficients, probabilities, law, covariance, products, pull
    )
    for j in range(sigma.size):
        start, stop = layout.starts[j], layout.starts[j + 1]
        log_variance = theta[stop + j]
        total = by_variance[j] * sigma[j] ** 2 - coordinates.shape[j] + coordinates.rate[j] * exp(-log_variance)
        for b in range(start, stop):
            total += 0.5 * by_coefficient[b] * (coefficients[b] - coordinates.mean[b])
            slopes[b + j] = -theta[b + j]
            for a in range(start, stop):
                slopes[b + j] += sigma[j] * coordinates.root[j, a - start, b - start] * by_coefficient[a]
        slopes[stop + j] = total
    place = coefficients.size + sigma.size
    for f in range(layout.level_starts.size - 1):
        start, stop = layout.level_starts[f], layout.level_starts[f + 1]
        whole = 0.0
        for level in range(start, stop):
            whole += by_level[level] + coordinates.alpha[level]
        for level in range(start + 1, stop):
            slopes[place] = by_level[level] + coordinates.alpha[level] - probabilities[level] * whole
            place += 1
    if place < theta.size:
        slopes[place] = coordinates.size_unit * (by_size + log_size_slope(coordinates, size))
    return slopes
