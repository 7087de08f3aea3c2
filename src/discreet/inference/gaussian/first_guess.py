"""A crude estimate of a Gaussian system from its released sums: where a search for better parameters may start.

The released sums are read as if nothing were clamped and no noise added. Noise can make them impossible (a negative
variance, a correlation above one), so means are moved inside their axes, variances and probabilities above a floor, and
correlations towards 0 until the moments belong to some data.
"""

from collections.abc import Sequence

import numpy as np

from discreet.inference.gaussian.gaussian_system import GaussianSystem, Parameters
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis

__all__ = ["first_guess"]


NARROWEST = 0.02  # deviation of a value, as a share of its axis' reach
RAREST = 0.005  # share of a level
SHRINKAGES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95)


def first_guess(system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term], size: float) -> Parameters:
    """Conjugate posterior means given possible moments near the released ones of `size` records."""
    mean, covariance = _possible(*_moments_about_zero(system, axes, terms, size))
    width = np.array([1.0, *((axis.upper - axis.lower) / 2 for axis in axes), *np.ones(mean.size - 1 - len(axes))])
    shift = np.array([0.0, *((axis.upper + axis.lower) / 2 for axis in axes), *np.zeros(mean.size - 1 - len(axes))])
    centre = shift + width * mean
    moments = size * (np.outer(centre, centre) + covariance * np.outer(width, width))
    estimate = system.updated(moments)
    parameters: Parameters = {}
    for j, node in enumerate(estimate.nodes):
        parameters[f"coefficients[{j}]"] = node.mean
        parameters[f"variance[{j}]"] = np.asarray(node.rate / node.shape)
    for f, factor in enumerate(estimate.factors):
        parameters[f"probabilities[{f}]"] = factor.alpha / factor.alpha.sum()
    parameters["size"] = np.asarray(size)
    return parameters


def _moments_about_zero(
    system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term], size: float
) -> tuple[Array, Array]:
    """Released means of the design vector, with values from -1 to 1, and of its products where they were released."""
    mean, square = np.zeros(system.width), np.full((system.width, system.width), np.nan)
    mean[0] = 1.0
    for start, factor in zip(system.dummy_starts, system.factors, strict=True):
        mean[start : start + factor.levels - 1] = 1.0 / factor.levels
    for term in terms:
        places = [1 + number for number in term.numbers]
        places += [int(system.dummy_starts[f]) + level - 1 for f, level in term.levels if level > 0]
        if 0 < len(places) <= 2 and all(level > 0 for _, level in term.levels):
            unit = np.prod([float(axes[number].reach) for number in term.numbers])
            value = term.released / unit / max(size, 1.0)
            if len(places) == 1:
                mean[places[0]] = value
            else:
                square[places[0], places[1]] = square[places[1], places[0]] = value
    for start, factor in zip(system.dummy_starts, system.factors, strict=True):
        dummies = slice(start, start + factor.levels - 1)
        mean[dummies] = _shares(mean[dummies])
    return mean, square


def _shares(released: Array) -> Array:
    """Shares of all levels but the first, each above a floor; they leave as much to the first level, however rare."""
    rarest = min(RAREST, 0.5 / (released.size + 1))
    shares = np.clip(released, rarest, 1.0)
    return np.asarray(shares * min(1.0, (1.0 - rarest) / shares.sum()))


def _possible(mean: Array, square: Array) -> tuple[Array, Array]:
    """The nearest mean and covariance of the design vector that some data could have, roughly."""
    values = np.arange(mean.size)
    numeric = np.isfinite(np.diag(square))
    mean = np.where(numeric, np.clip(mean, -0.95, 0.95), mean)
    covariance = np.where(np.isfinite(square), square - np.outer(mean, mean), 0.0)
    floor = np.where(numeric, NARROWEST**2, mean * (1 - mean))
    variance = np.where(numeric, np.clip(np.diag(covariance), floor, 1.0), floor)
    variance[0] = 0.0
    scale = np.sqrt(np.maximum(variance, 1e-300))
    correlation = np.clip(covariance / np.outer(scale, scale), -0.95, 0.95)
    correlation[values, values] = 1.0
    correlation[0, 1:] = correlation[1:, 0] = 0.0
    for shrinkage in SHRINKAGES:
        shrunk = (1 - shrinkage) * correlation + shrinkage * np.eye(mean.size)
        if np.linalg.eigvalsh(shrunk)[0] > 1e-3:
            break
    else:
        shrunk = np.eye(mean.size)
    return mean, shrunk * np.outer(scale, scale) * np.outer(values > 0, values > 0)
