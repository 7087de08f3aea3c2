"""One unseen record: its values from standardised residuals, what it is clamped to, what it adds to the sums."""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.numerics.arrays import Array, Integers

__all__ = ["build_values", "code_at", "log_noise", "residuals_of", "set_dummies", "set_marks", "term_of"]


@inner
def set_dummies(dummy_starts: Integers, codes: Integers, nodes: int, design: Array) -> None:
    """Write constant and dummies into a design vector."""
    design[0] = 1.0
    for place in range(1 + nodes, design.size):
        design[place] = 0.0
    for f in range(codes.size):
        if codes[f] > 0:
            design[dummy_starts[f] + codes[f] - 1] = 1.0


@inner
def build_values(
    regressors: Integers, starts: Integers, coefficients: Array, deviations: Array, residuals: Array, design: Array
) -> None:
    """Write the values of the record with these residuals into a design vector that has its dummies."""
    for j in range(deviations.size):
        value = deviations[j] * residuals[j]
        for p in range(starts[j], starts[j + 1]):
            value += coefficients[p] * design[regressors[p]]
        design[1 + j] = value


@inner
def residuals_of(
    regressors: Integers, starts: Integers, coefficients: Array, deviations: Array, design: Array, residuals: Array
) -> None:
    """The standardised residuals of a full design vector: the inverse of `build_values`."""
    for j in range(deviations.size):
        value = design[1 + j]
        for p in range(starts[j], starts[j + 1]):
            value -= coefficients[p] * design[regressors[p]]
        residuals[j] = value / deviations[j]


@inner
def set_marks(scales: Array, level_starts: Integers, design: Array, codes: Integers, marks: Array, i: int) -> None:
    """Write row i of the marks: 1, the whole numbers that the values become, and 1 for the level of each factor.

    All steps of the rounding are exact in doubles.
    """
    nodes = scales.shape[0]
    marks[i, 0] = 1.0
    for j in range(nodes):
        steps = np.floor(min(max(design[1 + j], scales[j, 0]), scales[j, 1]) / scales[j, 2] + 0.5)
        coarse = 2.0 * np.floor((steps - scales[j, 3] + scales[j, 4]) * scales[j, 5]) - scales[j, 6]
        marks[i, 1 + j] = min(max(coarse, -scales[j, 6]), scales[j, 6])
    for place in range(1 + nodes, marks.shape[1]):
        marks[i, place] = 0.0
    for f in range(codes.size):
        marks[i, 1 + nodes + level_starts[f] + codes[f]] = 1.0


@inner
def term_of(parts: Integers, t: int, marks: Array, i: int) -> float:
    """What the record with row i of the marks adds to term t."""
    first, second, third, fourth = parts[t, 0], parts[t, 1], parts[t, 2], parts[t, 3]
    return float(marks[i, first] * marks[i, second] * marks[i, third] * marks[i, fourth])


@inner
def log_noise(laws: Array, t: int, total: float, heat: float) -> float:
    """Log-density of the noise of term t, up to a constant, flattened by `heat` ≥ 1 during warm-up."""
    deviation = abs(laws[t, 0] - total) / laws[t, 1]
    if laws[t, 2] > 0.0:
        return float(-0.5 * deviation * deviation / heat)
    return float(-deviation / heat)


@inner
def code_at(probabilities: Array, start: int, stop: int, uniform: float) -> int:
    """The code whose share of the unit interval holds a uniform number; levels lie at start:stop."""
    level = start
    while level < stop - 1 and uniform > probabilities[level]:
        uniform -= probabilities[level]
        level += 1
    return level - start
