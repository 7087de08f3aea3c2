"""Unconstrained coordinates of a Gaussian system: from parameters, back to parameters, and their prior's moments.

The coordinates are those of `kernels.coordinate_maps`: standardised coefficients, log-variances, log-ratios of level
probabilities to the first level's, and the number of records where it is private.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.inference.gaussian.clamped_moments import flatten
from discreet.inference.gaussian.gaussian_system import GaussianSystem, Parameters
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates

__all__ = ["coordinates_of", "encode", "likely_size", "name_draws", "prior_moments", "small_steps"]


SIZE_NODES = 4001  # numbers of records at which a size prior is tabulated, over all of them and near the likely one


def coordinates_of(system: GaussianSystem, terms: Sequence[Term], sizes: Sizes) -> "Coordinates":
    """The prior and the change of coordinates, as the arrays that compiled loops read."""
    from discreet.inference.gaussian.kernels.coordinate_maps import Coordinates

    order = max(node.mean.size for node in system.nodes)
    root = np.zeros((len(system.nodes), order, order))
    for j, node in enumerate(system.nodes):
        own = slice(node.mean.size)
        root[j, own, own] = np.linalg.cholesky(np.linalg.inv(node.precision))
    grid = _size_grid(terms, sizes)
    lengths = [node.mean.size + 1 for node in system.nodes] + [factor.levels - 1 for factor in system.factors]
    return Coordinates(
        mean=np.concatenate([node.mean for node in system.nodes]),
        root=root,
        shape=np.array([node.shape for node in system.nodes]),
        rate=np.array([node.rate for node in system.nodes]),
        alpha=np.concatenate([*(factor.alpha for factor in system.factors), np.zeros(0)]),
        blocks=np.cumsum([0, *lengths, *(1 for _ in range(grid.size > 1))]),
        size_unit=float(max(likely_size(terms, sizes), 1.0)),
        size_grid=grid,
        size_log_weight=np.maximum(sizes.log_weight(grid), -1e6),
    )


def likely_size(terms: Sequence[Term], sizes: Sizes) -> float:
    """The number of records that is public, or released with noise, or in the middle of its prior."""
    if sizes.lowest == sizes.highest:
        return float(sizes.highest)
    counted = _released_size(terms)
    if counted is None:
        return _size_moments(_size_grid(terms, sizes), sizes)[0]
    return float(np.clip(counted[0], sizes.lowest, sizes.highest))


def encode(system: GaussianSystem, coordinates: "Coordinates", parameters: Mapping[str, ArrayLike]) -> Array:
    """Coordinates of one parameter set; "size" is read where the number of records is private."""
    coefficients, deviations, _ = flatten(system, parameters)
    pieces, start = [], 0
    for j, node in enumerate(system.nodes):
        order = node.mean.size
        gap = (coefficients[start : start + order] - node.mean) / deviations[j]
        pieces += [np.linalg.solve(coordinates.root[j, :order, :order], gap), 2.0 * np.log(deviations[j : j + 1])]
        start += order
    for f in range(len(system.factors)):
        probabilities = np.log(np.asarray(parameters[f"probabilities[{f}]"], dtype=float))
        pieces.append(probabilities[1:] - probabilities[0])
    if coordinates.size_grid.size > 1:
        pieces.append(np.atleast_1d(np.asarray(parameters["size"], dtype=float) / coordinates.size_unit))
    return np.concatenate(pieces)


def name_draws(system: GaussianSystem, coordinates: "Coordinates", draws: Array) -> Parameters:
    """Draws of coordinates (…, coordinates) as arrays (…) by parameter name."""
    parameters: Parameters = {}
    parts = np.split(draws, coordinates.blocks[1:-1], axis=-1)
    for j, (node, part) in enumerate(zip(system.nodes, parts, strict=False)):
        order, variance = node.mean.size, np.exp(part[..., -1])
        spread = part[..., :-1] @ coordinates.root[j, :order, :order].T
        parameters[f"coefficients[{j}]"] = node.mean + np.sqrt(variance)[..., np.newaxis] * spread
        parameters[f"variance[{j}]"] = variance
    for f in range(len(system.factors)):
        ratios = parts[len(system.nodes) + f]
        scores = np.concatenate([np.zeros((*draws.shape[:-1], 1)), ratios], axis=-1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        parameters[f"probabilities[{f}]"] = weights / weights.sum(axis=-1, keepdims=True)
    private = coordinates.size_grid.size > 1
    size = np.round(draws[..., -1] * coordinates.size_unit) if private else coordinates.size_grid[0]
    parameters["size"] = np.broadcast_to(size, draws.shape[:-1]).copy()
    return parameters


def prior_moments(system: GaussianSystem, coordinates: "Coordinates", sizes: Sizes) -> tuple[Array, Array]:
    """Mean and precision matrix of the coordinates under the prior."""
    from scipy.linalg import block_diag
    from scipy.special import digamma, polygamma

    means, blocks = [], []
    for node in system.nodes:
        means.append(np.append(np.zeros(node.mean.size), np.log(node.rate) - digamma(node.shape)))
        blocks.append(np.diag(np.append(np.ones(node.mean.size), 1.0 / polygamma(1, node.shape))))
    for factor in system.factors:
        log_gamma = digamma(factor.alpha)
        means.append(log_gamma[1:] - log_gamma[0])
        spread = polygamma(1, factor.alpha)
        blocks.append(np.linalg.inv(np.diag(spread[1:]) + spread[0]))
    if coordinates.size_grid.size > 1:
        centre, variance = _size_moments(coordinates.size_grid, sizes)
        means.append(np.array([centre / coordinates.size_unit]))
        blocks.append(np.array([[coordinates.size_unit**2 / variance]]))
    return np.concatenate(means), np.asarray(block_diag(*blocks), dtype=float)


def small_steps(system: GaussianSystem, coordinates: "Coordinates", axes: Sequence[Axis]) -> Array:
    """A step in each coordinate that moves no value by more than a thousandth of its deviation."""
    largest = np.ones(system.width)
    largest[1 : 1 + len(axes)] = [max(abs(axis.lower), abs(axis.upper)) for axis in axes]
    pieces = []
    for j, places in enumerate(system.regressors):
        effect = largest[places] @ np.abs(coordinates.root[j, : places.size, : places.size])
        pieces.append(np.append(1.0 / np.maximum(effect, 1.0), 1.0))
    steps = np.concatenate(pieces)
    return 1e-3 * np.append(steps, np.ones(int(coordinates.blocks[-1]) - steps.size))


def _size_grid(terms: Sequence[Term], sizes: Sizes) -> Array:
    """Numbers of records at which the size prior is tabulated: everywhere, and finely where it or the noise peaks."""
    low, high = float(sizes.lowest), float(sizes.highest)
    pieces = [np.linspace(low, high, SIZE_NODES)]
    counted = _released_size(terms)
    if counted is not None:
        pieces.append(np.linspace(counted[0] - 60.0 * counted[1], counted[0] + 60.0 * counted[1], SIZE_NODES))
    centre, spread = getattr(sizes, "mean", 0.5 * (low + high)), getattr(sizes, "sd", high - low)
    pieces.append(np.linspace(centre - 12.0 * spread, centre + 12.0 * spread, SIZE_NODES))
    return np.unique(np.clip(np.round(np.concatenate(pieces)), low, high))


def _size_moments(grid: Array, sizes: Sizes) -> tuple[float, float]:
    """Mean and variance of the size prior by the trapezoid rule on the grid."""
    log_weights = sizes.log_weight(grid)
    weights = np.exp(log_weights - log_weights.max()) * np.gradient(grid)
    mean = float(weights @ grid / weights.sum())
    return mean, max(float(weights @ (grid - mean) ** 2 / weights.sum()), 0.25)


def _released_size(terms: Sequence[Term]) -> tuple[float, float] | None:
    """The released number of records and its noise's deviation: a term of its own, or the counts of all of a factor."""
    counts = [term for term in terms if not term.numbers and len(term.levels) <= 1]
    own = [term for term in counts if not term.levels]
    if not own:
        complete = [factor for term in counts for factor, level in term.levels if level == 0]
        own = [term for term in counts if complete and term.levels[0][0] == complete[0]]
    if not own:
        return None
    return sum(term.released for term in own), float(np.sqrt(sum(term.law.variance for term in own)))
