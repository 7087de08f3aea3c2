"""Expected terms of a record whose values are clamped and rounded, in units where an axis reaches from about -1 to 1.

A value u ~ N(mu, sigma²) is clamped to [low, high] and rounded to a lattice of spacing h that contains both ends.
Rounding adds h²/12 P to a second moment, P the probability of lying inside, and, by Euler and Maclaurin, h²/24 times
the density at the ends to every mean; terms in h⁴ are left out.
"""

from math import floor, sqrt
from typing import NamedTuple

import numpy as np

from discreet.inference.gaussian.kernels.clamp import clamped_mean, clamped_product, clamped_square, phi, upper_tail
from discreet.inference.gaussian.kernels.compiled import entry, inner
from discreet.numerics.arrays import Array, Integers

__all__ = [
    "TermLayout",
    "combination_weights",
    "level_chance",
    "mixed_means",
    "normal_law",
    "product_means",
    "regressor",
    "term_covariance",
    "term_means",
]


class TermLayout(NamedTuple):
    """A system, its axes and its terms as flat arrays."""

    starts: Integers  # (nodes + 1) where each node's coefficients start
    places: Integers  # the place in the design vector of each coefficient
    dummy_factor: Integers  # (width) the factor and the level of each place that is a dummy
    dummy_level: Integers
    level_starts: Integers  # (factors + 1) where each factor's probabilities start
    slope: Array  # (nodes) u = slope z + offset
    offset: Array
    low: Array  # (nodes) ends of the clamp, and the spacing of the lattice, in units of u
    high: Array
    spacing: Array
    shifted: Integers  # (nodes + 1) whether a node's mean depends on some factor; no for the last, which is no node
    combinations: Integers  # (combinations, factors) codes of the factors that shift means, -1 for the others
    products: Integers  # (products, 2) nodes multiplied, -1 for none
    term_product: Integers  # (terms)
    term_levels: Integers  # (terms, 2, 2) factor and level, -1 for none


@inner
def _edge(mu: float, sigma: float, end: float, spacing: float) -> float:
    """The lattice's share h²/24 of the density at one end; a value narrower than the lattice is treated as wide."""
    wide = max(sigma, 0.5 * spacing)
    return spacing * spacing / 24.0 * phi((end - mu) / wide) / wide


@inner
def _single(layout: TermLayout, j: int, mu: float, sigma: float) -> float:
    low, high, spacing = layout.low[j], layout.high[j], layout.spacing[j]
    edges = _edge(mu, sigma, high, spacing) - _edge(mu, sigma, low, spacing)
    return clamped_mean(mu, sigma, low, high) + edges


@inner
def _square(layout: TermLayout, j: int, mu: float, sigma: float) -> float:
    low, high, spacing = layout.low[j], layout.high[j], layout.spacing[j]
    inside = upper_tail((low - mu) / sigma) - upper_tail((high - mu) / sigma)
    edges = high * _edge(mu, sigma, high, spacing) - low * _edge(mu, sigma, low, spacing)
    return clamped_square(mu, sigma, low, high) + spacing * spacing / 12.0 * inside + 2.0 * edges


@inner
def _pair(layout: TermLayout, i: int, j: int, mean: Array, covariance: Array) -> float:
    s, t = sqrt(covariance[i, i]), sqrt(covariance[j, j])
    rho = min(max(covariance[i, j] / (s * t), -1.0), 1.0)
    low, high = (layout.low[i], layout.low[j]), (layout.high[i], layout.high[j])
    total = clamped_product((mean[i], mean[j]), (s, t), rho, low, high)
    return total + _rounded_end(layout, i, j, mean, s, t, rho) + _rounded_end(layout, j, i, mean, t, s, rho)


@inner
def _rounded_end(layout: TermLayout, i: int, j: int, mean: Array, s: float, t: float, rho: float) -> float:
    """What rounding value i near its ends adds to the mean of the product with value j."""
    spread = t * sqrt(max(1.0 - rho * rho, 1e-12))
    total = 0.0
    for end, sign in ((layout.high[i], 1.0), (layout.low[i], -1.0)):
        density = _edge(mean[i], s, end, layout.spacing[i])
        if density > 1e-15:
            centre = mean[j] + rho * t / s * (end - mean[i])
            total += sign * density * clamped_mean(centre, spread, layout.low[j], layout.high[j])
    return total


@entry
def normal_law(layout: TermLayout, coefficients: Array, sigma: Array) -> tuple[Array, Array]:
    """Means (combinations, nodes) and the covariance (nodes, nodes) of one record's values, in units of u."""
    nodes, combinations = layout.slope.size, layout.combinations.shape[0]
    mean, covariance = np.zeros((combinations, nodes)), np.zeros((nodes, nodes))
    for j in range(nodes):
        for c in range(layout.starts[j], layout.starts[j + 1]):
            place, beta = layout.places[c], coefficients[c]
            if 0 < place <= nodes:
                for i in range(j):
                    covariance[j, i] += beta * covariance[place - 1, i]
            for g in range(combinations):
                mean[g, j] += beta * regressor(layout, place, mean[g], layout.combinations[g])
        variance = sigma[j] ** 2
        for i in range(j):
            covariance[i, j] = covariance[j, i]
        for c in range(layout.starts[j], layout.starts[j + 1]):
            if 0 < layout.places[c] <= nodes:
                variance += coefficients[c] * covariance[j, layout.places[c] - 1]
        covariance[j, j] = variance
    for j in range(nodes):
        for g in range(combinations):
            mean[g, j] = layout.slope[j] * mean[g, j] + layout.offset[j]
        for i in range(nodes):
            covariance[i, j] *= layout.slope[i] * layout.slope[j]
    return mean, covariance


@inner
def regressor(layout: TermLayout, place: int, values: Array, codes: Integers) -> float:
    """One entry of the design vector: the constant, an earlier value, or a dummy."""
    if place == 0:
        return 1.0
    if place <= values.size:
        return float(values[place - 1])
    return 1.0 if codes[layout.dummy_factor[place]] == layout.dummy_level[place] else 0.0


@inner
def level_chance(layout: TermLayout, term: int, combination: int, probabilities: Array) -> float:
    """Probability that a record has the term's levels, given the combination (whose own factors are known)."""
    chance = 1.0
    for part in range(2):
        factor, level = layout.term_levels[term, part]
        if factor < 0 or (part == 1 and factor == layout.term_levels[term, 0, 0]):
            if factor >= 0 and level != layout.term_levels[term, 0, 1]:
                return 0.0
            continue
        code = layout.combinations[combination, factor]
        if code < 0:
            chance *= probabilities[layout.level_starts[factor] + level]
        elif code != level:
            return 0.0
    return chance


@inner
def combination_weights(layout: TermLayout, probabilities: Array) -> Array:
    """Probability of each combination of levels that shift means."""
    weights = np.ones(layout.combinations.shape[0])
    for g in range(weights.size):
        for factor in range(layout.combinations.shape[1]):
            if layout.combinations[g, factor] >= 0:
                weights[g] *= probabilities[layout.level_starts[factor] + layout.combinations[g, factor]]
    return weights


@entry
def product_means(layout: TermLayout, mean: Array, covariance: Array) -> Array:
    """Mean of each product of clamped values under each combination (products, combinations)."""
    products = np.ones((layout.products.shape[0], mean.shape[0]))
    for q in range(products.shape[0]):
        i, j = layout.products[q]
        for g in range(mean.shape[0]):
            if i < 0:
                continue
            if g > 0 and not (layout.shifted[i] or layout.shifted[j]):
                products[q, g] = products[q, 0]
            elif j < 0:
                products[q, g] = _single(layout, i, mean[g, i], sqrt(covariance[i, i]))
            elif i == j:
                products[q, g] = _square(layout, i, mean[g, i], sqrt(covariance[i, i]))
            else:
                products[q, g] = _pair(layout, i, j, mean[g], covariance)
    return products


@entry
def term_means(layout: TermLayout, coefficients: Array, sigma: Array, probabilities: Array) -> Array:
    """What one record adds to each term on average."""
    mean, covariance = normal_law(layout, coefficients, sigma)
    return mixed_means(layout, product_means(layout, mean, covariance), probabilities)


@inner
def mixed_means(layout: TermLayout, products: Array, probabilities: Array) -> Array:
    """Means of the terms from those of their products under each combination of levels."""
    weights, terms = combination_weights(layout, probabilities), np.zeros(layout.term_product.size)
    for t in range(terms.size):
        for g in range(weights.size):
            terms[t] += weights[g] * products[layout.term_product[t], g] * level_chance(layout, t, g, probabilities)
    return terms


@entry
def term_covariance(
    layout: TermLayout, coefficients: Array, sigma: Array, weights: Array, errors: Array, codes: Integers
) -> Array:
    """Covariance of what one record adds to the terms, over weighted points: standard errors and codes of records."""
    points, nodes = errors.shape
    latent, clamped = np.zeros(nodes), np.zeros(nodes)
    terms, average = np.empty((points, layout.term_product.size)), np.zeros(layout.term_product.size)
    whole = 0.0
    for p in range(points):
        whole += weights[p]
    for p in range(points):
        for j in range(nodes):
            latent[j] = sigma[j] * errors[p, j]
            for c in range(layout.starts[j], layout.starts[j + 1]):
                latent[j] += coefficients[c] * regressor(layout, layout.places[c], latent, codes[p])
            steps = (layout.slope[j] * latent[j] + layout.offset[j] - layout.low[j]) / layout.spacing[j]
            rounded = layout.low[j] + layout.spacing[j] * floor(steps + 0.5)
            clamped[j] = min(max(rounded, layout.low[j]), layout.high[j])
        for t in range(average.size):
            terms[p, t] = _term_value(layout, t, clamped, codes[p])
            average[t] += weights[p] / whole * terms[p, t]
    for p in range(points):
        for t in range(average.size):
            terms[p, t] = sqrt(weights[p] / whole) * (terms[p, t] - average[t])
    return np.dot(terms.T, terms)


@inner
def _term_value(layout: TermLayout, term: int, clamped: Array, codes: Integers) -> float:
    value = 1.0
    for part in range(2):
        number, factor = layout.products[layout.term_product[term], part], layout.term_levels[term, part, 0]
        if number >= 0:
            value *= clamped[number]
        if factor >= 0 and codes[factor] != layout.term_levels[term, part, 1]:
            value = 0.0
    return value
