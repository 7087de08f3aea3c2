"""Derivatives of the expected terms: the gradient of a weighted sum of `term_means`, by the chain rule backwards.

With f, g the clamps of two values of correlation rho, and in = 1 where neither end is reached:

    d E f g / d mu_i    = E in_i g   = P_i E g + rho (phi(l) - phi(k)) t P_j + ∫_0^rho (rho - r) (…) dr
    d E f g / d Cov_ij  = P(in_i in_j) = P_i P_j + ∫_0^rho D(r) dr
    d E f g / d Var_i   = 1/2 (density at low · E[g | low] - density at high · E[g | high])

What rounding adds to the means is left out: it is flat for all that matters here.
"""

from math import asin, cos, pi, sin, sqrt

import numpy as np

from discreet.inference.gaussian.kernels.clamp import FAR, NODES, WEIGHTS, clamped_mean, corner, phi, upper_tail
from discreet.inference.gaussian.kernels.clamped import TermLayout, combination_weights, level_chance, regressor
from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.numerics.arrays import Array

__all__ = ["clamped_slopes", "mean_slopes"]


@inner
def clamped_slopes(
    mu: tuple[float, float],
    sigma: tuple[float, float],
    rho: float,
    low: tuple[float, float],
    high: tuple[float, float],
) -> tuple[float, float, float, float, float]:
    """Derivatives of `clamped_product` in both means, both variances and the covariance."""
    a0, a1 = (low[0] - mu[0]) / sigma[0], (high[0] - mu[0]) / sigma[0]
    b0, b1 = (low[1] - mu[1]) / sigma[1], (high[1] - mu[1]) / sigma[1]
    first, second = upper_tail(a0) - upper_tail(a1), upper_tail(b0) - upper_tail(b1)
    by_first = first * clamped_mean(mu[1], sigma[1], low[1], high[1]) + rho * (phi(a0) - phi(a1)) * sigma[1] * second
    by_second = second * clamped_mean(mu[0], sigma[0], low[0], high[0]) + rho * (phi(b0) - phi(b1)) * sigma[0] * first
    both = first * second
    if max(min(abs(a0), abs(a1)), min(abs(b0), abs(b1))) < FAR:
        half = 0.5 * asin(rho)
        for node in range(NODES.size):
            t = half * (1.0 + NODES[node])
            r, c = sin(t), cos(t)
            weight = half * WEIGHTS[node] / (2.0 * pi)
            bend = weight * (rho - r) / (c * c)
            for a, b, sign in ((a0, b0, 1.0), (a0, b1, -1.0), (a1, b0, -1.0), (a1, b1, 1.0)):
                decay = sign * corner(a, b, r, c)
                both += weight * decay
                by_first += sigma[1] * bend * decay * (a - r * b)
                by_second += sigma[0] * bend * decay * (b - r * a)
    spread = sqrt(max(1.0 - rho * rho, 1e-12))
    ends = np.empty(2)
    for i in range(2):
        j = 1 - i
        ends[i] = 0.0
        for end, sign in ((low[i], 0.5), (high[i], -0.5)):
            density = phi((end - mu[i]) / sigma[i]) / sigma[i]
            centre = mu[j] + rho * sigma[j] / sigma[i] * (end - mu[i])
            ends[i] += sign * density * clamped_mean(centre, spread * sigma[j], low[j], high[j])
    return by_first, by_second, ends[0], ends[1], both


@inner
def _own_slopes(mu: float, sigma: float, low: float, high: float, squared: bool) -> tuple[float, float]:
    """Derivatives of the mean of a clamped value, or of its square, in mu and sigma²."""
    left, right = phi((low - mu) / sigma), phi((high - mu) / sigma)
    inside = upper_tail((low - mu) / sigma) - upper_tail((high - mu) / sigma)
    if squared:
        return 2.0 * (mu * inside + sigma * (left - right)), inside + (low * left - high * right) / sigma
    return inside, 0.5 * (left - right) / sigma


@entry
def mean_slopes(
    layout: TermLayout,
    coefficients: Array,
    probabilities: Array,
    mean: Array,
    covariance: Array,
    products: Array,
    weights: Array,
) -> tuple[Array, Array, Array]:
    """Gradient of weights · term_means in the coefficients, in sigma² and in the logs of the probabilities.

    The normal law of the values and the means of the products are given; the law's arrays are used up.
    """
    by_product, by_level = _product_weights(layout, products, probabilities, weights)
    by_mean, by_covariance = np.zeros(mean.shape), np.zeros(covariance.shape)
    for q in range(layout.products.shape[0]):
        i, j = layout.products[q]
        for g in range(mean.shape[0]):
            if i < 0 or by_product[q, g] == 0.0:
                continue
            s, low, high = sqrt(covariance[i, i]), layout.low[i], layout.high[i]
            if j < 0 or i == j:
                d_mean, d_variance = _own_slopes(mean[g, i], s, low, high, i == j)
                by_mean[g, i] += by_product[q, g] * d_mean
                by_covariance[i, i] += by_product[q, g] * d_variance
            else:
                t = sqrt(covariance[j, j])
                rho = min(max(covariance[i, j] / (s * t), -1.0), 1.0)
                ends = (low, layout.low[j]), (high, layout.high[j])
                slopes = clamped_slopes((mean[g, i], mean[g, j]), (s, t), rho, ends[0], ends[1])
                by_mean[g, i] += by_product[q, g] * slopes[0]
                by_mean[g, j] += by_product[q, g] * slopes[1]
                by_covariance[i, i] += by_product[q, g] * slopes[2]
                by_covariance[j, j] += by_product[q, g] * slopes[3]
                by_covariance[i, j] += by_product[q, g] * slopes[4]
    by_coefficient, by_variance = _back_through_nodes(layout, coefficients, mean, covariance, by_mean, by_covariance)
    return by_coefficient, by_variance, by_level


@inner
def _product_weights(layout: TermLayout, products: Array, probabilities: Array, weights: Array) -> tuple[Array, Array]:
    """Derivatives in each product's mean under each combination, and in the logs of the level probabilities."""
    chances = combination_weights(layout, probabilities)
    by_product, by_level = np.zeros(products.shape), np.zeros(probabilities.size)
    for t in range(weights.size):
        q = layout.term_product[t]
        i, j = layout.products[q]
        shifted = layout.shifted[i] or layout.shifted[j]
        for g in range(chances.size):
            share = weights[t] * chances[g] * level_chance(layout, t, g, probabilities)
            if share == 0.0:
                continue
            by_product[q, g if shifted else 0] += share  # products that no factor shifts are all the first one
            for f in range(layout.combinations.shape[1]):
                level = layout.combinations[g, f]
                for part in range(2):
                    if level < 0 and layout.term_levels[t, part, 0] == f:
                        level = layout.term_levels[t, part, 1]
                if level >= 0:
                    by_level[layout.level_starts[f] + level] += share * products[q, g]
    return by_product, by_level


@inner
def _back_through_nodes(
    layout: TermLayout, coefficients: Array, mean: Array, covariance: Array, by_mean: Array, by_covariance: Array
) -> tuple[Array, Array]:
    """From derivatives in the normal law of u to those in the coefficients and sigma²; the arguments are used up."""
    nodes, combinations = layout.slope.size, mean.shape[0]
    for j in range(nodes):  # from units of u to those of the values
        for g in range(combinations):
            mean[g, j] = (mean[g, j] - layout.offset[j]) / layout.slope[j]
            by_mean[g, j] *= layout.slope[j]
        for i in range(nodes):
            covariance[i, j] /= layout.slope[i] * layout.slope[j]
            by_covariance[i, j] *= layout.slope[i] * layout.slope[j]
    by_coefficient, by_variance = np.zeros(coefficients.size), np.zeros(nodes)
    for j in range(nodes - 1, -1, -1):
        by_variance[j] = by_covariance[j, j]
        for c in range(layout.starts[j], layout.starts[j + 1]):
            k = layout.places[c] - 1
            if 0 <= k < nodes:  # covariance[j, j] = sigma² + sum of coefficient · covariance[k, j]
                by_coefficient[c] += by_covariance[j, j] * covariance[k, j]
                by_covariance[k, j] += by_covariance[j, j] * coefficients[c]
        for c in range(layout.starts[j], layout.starts[j + 1]):
            k = layout.places[c] - 1
            for i in range(j):
                if 0 <= k < nodes:  # covariance[i, j] = sum of coefficient · covariance[i, k]
                    by_coefficient[c] += by_covariance[i, j] * covariance[i, k]
                    by_covariance[min(i, k), max(i, k)] += by_covariance[i, j] * coefficients[c]
            for g in range(combinations):
                by_coefficient[c] += by_mean[g, j] * regressor(layout, k + 1, mean[g], layout.combinations[g])
                if 0 <= k < nodes:
                    by_mean[g, k] += by_mean[g, j] * coefficients[c]
    return by_coefficient, by_variance
