"""Parameters given the standardised residuals: elliptical slice moves, the non-centred step of a sweep.

Records are written as functions of the parameters and of noise that does not know them: value = beta . r + sigma e,
code = inverse distribution function of pi at u. With e and u kept, parameters move and take all records along; the
slice sees only the prior and the density of the released noise. A move goes around an ellipse of a normal reference
law N(mean, root root'); the ratio of the target to the reference is what the slice is cut from, so that any reference
is exact and a good one is quick [Murray, Adams, MacKay 2010; Nishihara, Murray, Adams 2014].
"""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.layout import Graph, InverseGamma, Noisy, Normal, Reference, State
from discreet.inference.gaussian.kernels.records import (
    build_values,
    code_at,
    log_noise,
    residuals_of,
    set_dummies,
    set_marks,
    term_of,
)
from discreet.inference.gaussian.kernels.whitening import coordinates, log_prior, set_parameters
from discreet.numerics.arrays import Array, Integers

__all__ = ["block_reference", "interweave"]


MOST_SHRINKS = 200


@inner
def interweave(
    rng: np.random.Generator,
    graph: Graph,
    noisy: Noisy,
    normal: Normal,
    inverse_gamma: InverseGamma,
    reference: Reference,
    state: State,
    heat: float,
) -> None:
    """One elliptical slice move around the reference; rows of its root that are 0 keep their coordinates."""
    _, _, noise = noisy
    mean, root = reference
    totals, values, marks, codes, sums, coefficients, variances, probabilities = state
    residuals, uniforms = _decentre(rng, graph, state)
    start = coordinates(rng, graph, normal, inverse_gamma, state)
    size = start.size
    point, offset, turn = np.empty(size), np.empty(size), np.empty(size)
    inside, other = np.zeros(size), np.zeros(size)  # the start and a draw from the reference, both standardised
    for p in range(size):
        offset[p] = start[p] - mean[p]
        turn[p] = 0.0
        if root[p, p] > 0.0:
            inside[p] = offset[p]
            other[p] = rng.standard_normal()
            for q in range(p):
                inside[p] -= root[p, q] * inside[q]
            inside[p] /= root[p, p]
            for q in range(p + 1):
                turn[p] += root[p, q] * other[q]
    new_values, new_marks = np.empty_like(residuals), np.empty((totals[0], marks.shape[1]))
    new_codes, new_sums = np.empty(uniforms.shape, np.int64), np.empty_like(sums)
    new_coefficients, new_variances = np.empty_like(coefficients), np.empty_like(variances)
    new_probabilities = np.empty_like(probabilities)
    new_parameters = (new_coefficients, new_variances, new_probabilities)
    trial = (totals, new_values, new_marks, new_codes, new_sums, *new_parameters)
    height = log_prior(inverse_gamma, start) - _log_reference(inside, other, 0.0)
    height += _log_density(noise, sums, heat) + np.log(1.0 - rng.random())
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for _ in range(MOST_SHRINKS):
        cosine, sine = np.cos(angle), np.sin(angle)
        for p in range(size):
            moved = mean[p] + cosine * offset[p] + sine * turn[p]
            point[p] = moved if root[p, p] > 0.0 else start[p]
        level = log_prior(inverse_gamma, point) - _log_reference(inside, other, angle)
        if level > -np.inf:
            set_parameters(graph, normal, inverse_gamma, point, trial)
            _recentre(graph, noisy, residuals, uniforms, trial)
            level += _log_density(noise, new_sums, heat)
        if level > height:
            _copy_rows(new_values, values)
            _copy_rows(new_marks, marks)
            _copy_rows(new_codes, codes)
            _copy(new_sums, sums)
            _copy(new_coefficients, coefficients)
            _copy(new_variances, variances)
            _copy(new_probabilities, probabilities)
            return
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()


@inner
def block_reference(graph: Graph, size: int, block: int) -> Reference:
    """The prior of node `block`, of all factors (block = number of nodes) or of everything (-1)."""
    _, starts, _, _ = graph
    nodes, flat = starts.size - 1, starts[starts.size - 1]
    root = np.zeros((size, size))
    for p in range(size):
        own = starts[block] <= p < starts[block + 1] or p == flat + block if 0 <= block < nodes else p >= flat + nodes
        if block < 0 or own:
            root[p, p] = 1.0
    return np.zeros(size), root


@inner
def _decentre(rng: np.random.Generator, graph: Graph, state: State) -> tuple[Array, Array]:
    """Residuals of all records, and uniform numbers that give their codes under the current probabilities."""
    regressors, starts, dummy_starts, level_starts = graph
    totals, values, _, all_codes, _, coefficients, variances, probabilities = state
    nodes, factors = values.shape[1], all_codes.shape[1]
    residuals, uniforms = np.empty((totals[0], nodes)), np.empty((totals[0], factors))
    deviations, row, codes = np.sqrt(variances), np.empty(nodes), np.empty(factors, np.int64)
    design = np.empty(1 + nodes + level_starts[factors] - factors)
    for i in range(totals[0]):
        for f in range(factors):
            codes[f] = all_codes[i, f]
            below = 0.0
            for k in range(level_starts[f], level_starts[f] + codes[f]):
                below += probabilities[k]
            uniforms[i, f] = below + rng.random() * probabilities[level_starts[f] + codes[f]]
        set_dummies(dummy_starts, codes, nodes, design)
        for j in range(nodes):
            design[1 + j] = values[i, j]
        residuals_of(regressors, starts, coefficients, deviations, design, row)
        for j in range(nodes):
            residuals[i, j] = row[j]
    return residuals, uniforms


@inner
def _recentre(graph: Graph, noisy: Noisy, residuals: Array, uniforms: Array, trial: State) -> None:
    """All records and their sums under the trial parameters."""
    regressors, starts, dummy_starts, level_starts = graph
    scales, parts, _ = noisy
    _, values, marks, all_codes, sums, coefficients, variances, probabilities = trial
    nodes, factors = residuals.shape[1], uniforms.shape[1]
    deviations, row, codes = np.sqrt(variances), np.empty(nodes), np.empty(factors, np.int64)
    design = np.empty(1 + nodes + level_starts[factors] - factors)
    for t in range(sums.size):
        sums[t] = 0.0
    for i in range(residuals.shape[0]):
        for f in range(factors):
            codes[f] = code_at(probabilities, level_starts[f], level_starts[f + 1], uniforms[i, f])
            all_codes[i, f] = codes[f]
        for j in range(nodes):
            row[j] = residuals[i, j]
        set_dummies(dummy_starts, codes, nodes, design)
        build_values(regressors, starts, coefficients, deviations, row, design)
        for j in range(nodes):
            values[i, j] = design[1 + j]
        set_marks(scales, level_starts, design, codes, marks, i)
        for t in range(sums.size):
            sums[t] += term_of(parts, t, marks, i)


@inner
def _log_reference(inside: Array, other: Array, angle: float) -> float:
    """Log-density of the reference at an angle of the ellipse, up to a constant."""
    cosine, sine = np.cos(angle), np.sin(angle)
    total = 0.0
    for p in range(inside.size):
        total -= 0.5 * (cosine * inside[p] + sine * other[p]) ** 2
    return total


@inner
def _log_density(laws: Array, sums: Array, heat: float) -> float:
    """Log-density of the released terms given the exact sums."""
    total = 0.0
    for t in range(sums.size):
        total += log_noise(laws, t, sums[t], heat)
    return total


@inner
def _copy(source: Array, target: Array) -> None:
    """Plain loops: assigning slices takes the compiler ten times as long."""
    for p in range(source.size):
        target[p] = source[p]


@inner
def _copy_rows(source: Array | Integers, target: Array | Integers) -> None:
    for i in range(source.shape[0]):
        for p in range(source.shape[1]):
            target[i, p] = source[i, p]
