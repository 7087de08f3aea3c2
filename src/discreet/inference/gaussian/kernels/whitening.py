"""Coordinates in which the parameters are standard normal a priori, or nearly so.

    beta = m + sigma root^{-T} xi,    log sigma² = centre + spread w,    pi_k ∝ e^{-(centre_k + spread_k w_k)}

log sigma² and the logarithms of the gamma variables behind pi are only nearly normal; `log_prior` is exact.
"""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.layout import Graph, InverseGamma, Normal, State
from discreet.inference.gaussian.kernels.normal_update import solve_transposed
from discreet.numerics.arrays import Array

__all__ = ["coordinates", "log_prior", "set_parameters"]


LARGEST_LOG = 600.0  # beyond it a variance over- or underflows: such points are outside every slice


@inner
def coordinates(
    rng: np.random.Generator, graph: Graph, normal: Normal, inverse_gamma: InverseGamma, state: State
) -> Array:
    """The current parameters in coordinates that are nearly standard normal a priori."""
    _, starts, _, level_starts = graph
    mean, _, root = normal
    shape, _, centre, spread = inverse_gamma
    _, _, _, _, _, coefficients, variances, probabilities = state
    nodes, flat = variances.size, mean.size
    point = np.empty(flat + centre.size)
    for j in range(nodes):
        start, stop = starts[j], starts[j + 1]
        deviation = np.sqrt(variances[j])
        for a in range(stop - start):
            value = 0.0
            for b in range(a, stop - start):
                value += root[j, b, a] * (coefficients[start + b] - mean[start + b])
            point[start + a] = value / deviation
        point[flat + j] = (np.log(variances[j]) - centre[j]) / spread[j]
    for f in range(level_starts.size - 1):
        whole = 0.0
        for k in range(level_starts[f], level_starts[f + 1]):
            whole += shape[nodes + k]
        whole = rng.standard_gamma(whole)  # the sum of the gamma variables is independent of their shares
        for k in range(level_starts[f], level_starts[f + 1]):
            value = -np.log(max(whole * probabilities[k], 1e-250))
            point[flat + nodes + k] = (value - centre[nodes + k]) / spread[nodes + k]
    return point


@inner
def set_parameters(graph: Graph, normal: Normal, inverse_gamma: InverseGamma, point: Array, trial: State) -> None:
    """The parameters at a point of coordinates: the inverse of `coordinates`."""
    _, starts, _, level_starts = graph
    mean, _, root = normal
    _, _, centre, spread = inverse_gamma
    _, _, _, _, _, coefficients, variances, probabilities = trial
    nodes, flat = variances.size, mean.size
    for j in range(nodes):
        xi = np.empty(starts[j + 1] - starts[j])
        for a in range(xi.size):
            xi[a] = point[starts[j] + a]
        solve_transposed(root, j, xi)
        variances[j] = np.exp(centre[j] + spread[j] * point[flat + j])
        for a in range(xi.size):
            coefficients[starts[j] + a] = mean[starts[j] + a] + np.sqrt(variances[j]) * xi[a]
    for f in range(level_starts.size - 1):
        whole = 0.0
        for k in range(level_starts[f], level_starts[f + 1]):
            probabilities[k] = np.exp(-centre[nodes + k] - spread[nodes + k] * point[flat + nodes + k])
            whole += probabilities[k]
        for k in range(level_starts[f], level_starts[f + 1]):
            probabilities[k] /= whole


@inner
def log_prior(inverse_gamma: InverseGamma, point: Array) -> float:
    """Log-density of the prior in these coordinates, up to a constant."""
    shape, rate, centre, spread = inverse_gamma
    flat = point.size - shape.size
    total = 0.0
    for p in range(flat):
        total -= 0.5 * point[p] * point[p]
    for k in range(shape.size):
        value = centre[k] + spread[k] * point[flat + k]
        if abs(value) > LARGEST_LOG:
            return -np.inf
        total -= shape[k] * value + rate[k] * np.exp(-value)
    return total
