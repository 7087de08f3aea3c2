"""Parameters given the unseen records: exact normal-inverse-gamma and Dirichlet draws, the centred step of a sweep."""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.layout import Graph, InverseGamma, Normal, State
from discreet.numerics.arrays import Array, Integers

__all__ = ["draw_parameters", "solve_transposed"]


@inner
def draw_parameters(
    rng: np.random.Generator, graph: Graph, normal: Normal, inverse_gamma: InverseGamma, state: State
) -> None:
    """Redraw all coefficients, variances and level probabilities from their law given the records."""
    regressors, starts, dummy_starts, level_starts = graph
    prior_mean, precision, _ = normal
    shape, rate, _, _ = inverse_gamma
    totals, values, _, codes, _, coefficients, variances, probabilities = state
    nodes, total = variances.size, totals[0]
    design = _designs(values, codes, dummy_starts, level_starts, total)
    moments = _moments(design)
    for j in range(nodes):
        start, order = starts[j], starts[j + 1] - starts[j]
        root, step, spread = np.empty((1, order, order)), np.empty(order), np.empty(order)
        for a in range(order):
            step[a] = moments[regressors[start + a], 1 + j]
            for b in range(order):
                square = moments[regressors[start + a], regressors[start + b]]
                step[a] -= square * prior_mean[start + b]
                root[0, a, b] = precision[j, a, b] + square
        _factorise(root)
        _solve(root, step)
        solve_transposed(root, 0, step)
        pull = 0.0  # squared distance of the new mean from the prior's, in its metric
        for a in range(order):
            coefficients[start + a] = prior_mean[start + a] + step[a]
            spread[a] = rng.standard_normal()
            for b in range(order):
                pull += step[a] * precision[j, a, b] * step[b]
        # residuals by a second pass over the records: moments would lose digits when means are large
        squares = _residual_squares(design, j, regressors, starts, coefficients)
        variances[j] = (rate[j] + 0.5 * (squares + pull)) / rng.standard_gamma(shape[j] + 0.5 * total)
        solve_transposed(root, 0, spread)
        for a in range(order):
            coefficients[start + a] += np.sqrt(variances[j]) * spread[a]
    _draw_probabilities(rng, level_starts, shape[nodes:], codes, total, probabilities)


@inner
def solve_transposed(roots: Array, j: int, x: Array) -> None:
    """Solve root' z = x in place, for the lower triangular matrix j of a stack."""
    for a in range(x.size - 1, -1, -1):
        for b in range(a + 1, x.size):
            x[a] -= roots[j, b, a] * x[b]
        x[a] /= roots[j, a, a]


@inner
def _solve(root: Array, x: Array) -> None:
    """Solve root z = x in place."""
    for a in range(x.size):
        for b in range(a):
            x[a] -= root[0, a, b] * x[b]
        x[a] /= root[0, a, a]


@inner
def _factorise(matrix: Array) -> None:
    """Replace the lower triangle by the Cholesky root; orders are far too small for a library call to pay."""
    for a in range(matrix.shape[1]):
        for b in range(a):
            for k in range(b):
                matrix[0, a, b] -= matrix[0, a, k] * matrix[0, b, k]
            matrix[0, a, b] /= matrix[0, b, b]
        pivot = matrix[0, a, a]
        for k in range(a):
            pivot -= matrix[0, a, k] * matrix[0, a, k]
        # rounding may push the pivot of nearly collinear regressors below 0
        matrix[0, a, a] = np.sqrt(max(pivot, 1e-14 * matrix[0, a, a]))


@inner
def _designs(values: Array, codes: Integers, dummy_starts: Integers, level_starts: Integers, total: int) -> Array:
    """The design vectors of all records."""
    nodes, factors = values.shape[1], codes.shape[1]
    design = np.zeros((total, 1 + nodes + level_starts[factors] - factors))
    for i in range(total):
        design[i, 0] = 1.0
        for j in range(nodes):
            design[i, 1 + j] = values[i, j]
        for f in range(factors):
            if codes[i, f] > 0:
                design[i, dummy_starts[f] + codes[i, f] - 1] = 1.0
    return design


@inner
def _moments(design: Array) -> Array:
    """Sum of the outer products of all design vectors."""
    width = design.shape[1]
    moments = np.zeros((width, width))
    for i in range(design.shape[0]):
        for a in range(width):
            for b in range(a + 1):
                moments[a, b] += design[i, a] * design[i, b]
    for a in range(width):
        for b in range(a):
            moments[b, a] = moments[a, b]
    return moments


@inner
def _residual_squares(design: Array, j: int, regressors: Integers, starts: Integers, coefficients: Array) -> float:
    total = 0.0
    for i in range(design.shape[0]):
        residual = design[i, 1 + j]
        for p in range(starts[j], starts[j + 1]):
            residual -= coefficients[p] * design[i, regressors[p]]
        total += residual * residual
    return total


@inner
def _draw_probabilities(
    rng: np.random.Generator,
    level_starts: Integers,
    alpha: Array,
    codes: Integers,
    total: int,
    probabilities: Array,
) -> None:
    for f in range(codes.shape[1]):
        start, stop = level_starts[f], level_starts[f + 1]
        for k in range(start, stop):
            probabilities[k] = alpha[k]
        for i in range(total):
            probabilities[start + codes[i, f]] += 1.0
        whole = 0.0
        for k in range(start, stop):
            probabilities[k] = rng.standard_gamma(probabilities[k])
            whole += probabilities[k]
        for k in range(start, stop):
            probabilities[k] /= whole
