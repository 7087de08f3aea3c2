"""From the rows' own moments to those of the population they come from, draw by draw.

    weak prior   sigma² = n r² / chi²(n - k), coefficients ~ N(least squares, sigma² A^-1 / n): errors of one variance
                 and near normal; covariances by Bartlett's decomposition, means ~ N(m, Sigma / n), both with the
                 skewness and the kurtosis (3 or more) of a Beta law between the bounds of the same mean and variance:
                 a column beside a bound is skewed, and how much follows from how near it is
    conjugate    the normal-inverse-gamma posterior of each number given earlier ones

A is the matrix of second moments of the regressors, per row. `excess` (kappa) multiplies the variance of what sampling
adds: the second release of a robust model measures it, 1 is the assumption above. All numbers are in half-ranges.
"""

from collections.abc import Mapping

import numpy as np

from discreet.inference.gaussian.moment_chains import SampleMoments
from discreet.inference.gaussian.unseen_moments import MomentTarget
from discreet.numerics.arrays import Array

__all__ = ["mean_and_covariance", "regression"]

LEVEL_PRECISION = 0.25  # of level means in half-ranges: what is left of a level without rows is the whole range
NEARLY_ZERO = 1e-12
FARTHEST = 30.0  # of logarithms of variances: beyond, bounds cut them anyway
NEARLY_ONE = 1.0 - 1e-6
STEEPEST = 3.0  # skewness of a mean: that of so few rows that no expansion holds


def regression(
    target: MomentTarget, sample: SampleMoments, rng: np.random.Generator, excess: Mapping[str, Array] | None = None
) -> tuple[Array, Array]:
    """Coefficients (…, constant and dummies, features) of the last number, and its residual variance (…)."""
    moments, k = sample.design_moments(target.unseen.design), target.unseen.design.shape[1] + target.numbers - 1
    return _node(target, target.numbers - 1, moments[..., : k + 1, : k + 1], sample.size, rng, excess or {})


def mean_and_covariance(
    target: MomentTarget,
    sample: SampleMoments,
    rng: np.random.Generator,
    excess: Mapping[tuple[int, int], Array] | None = None,
) -> tuple[Array, Array]:
    """Means (…, numbers) within their bounds and covariances (…, numbers, numbers), without levels.

    `excess` is that of the variance (j, j) or the correlation (i, j).
    """
    if target.conjugates is not None:
        return _of_nodes(target, sample, rng)
    means, p = sample.means[..., 0], target.numbers
    rows = np.maximum(sample.size, p + 2.0)
    root = np.linalg.cholesky(sample.within + NEARLY_ZERO * np.eye(p))
    lower = np.tril(rng.standard_normal((*rows.shape, p, p)), -1)
    for j in range(p):
        lower[..., j, j] = np.sqrt(rng.chisquare(rows - 1.0 - j))
    # Sigma = n L (B B')^-1 L' with Bartlett's B: inverse Wishart of n - 1 degrees
    spread = root @ np.swapaxes(np.linalg.inv(lower), -1, -2) * np.sqrt(rows)[..., np.newaxis, np.newaxis]
    covariance: Array = np.asarray(spread @ np.swapaxes(spread, -1, -2), dtype=float)
    skewness, kurtosis = _beta_shape(means, np.einsum("...jj->...j", sample.within))
    kappas = {(j, j): np.maximum(0.5 * (kurtosis[..., j] - 1.0), 1.0) for j in range(p)} | dict(excess or {})
    covariance = _spread_correlations(covariance, sample.within, kappas)
    for j in range(p):
        kappa = kappas[j, j]
        own, at = covariance[..., j, j], np.maximum(sample.within[..., j, j] * rows / (rows - 1.0), NEARLY_ZERO)
        wider = at * np.exp(np.clip(np.log(own / at) * np.sqrt(kappa), -FARTHEST, FARTHEST))
        scale = np.sqrt(np.minimum(wider, 1.0 - means[..., j] ** 2 + NEARLY_ZERO) / own)
        covariance[..., j, :] *= scale[..., np.newaxis]
        covariance[..., :, j] *= scale[..., np.newaxis]
    steps = np.einsum("...ij,...j->...i", spread, rng.standard_normal(means.shape)) / np.sqrt(rows)[..., np.newaxis]
    error = np.sqrt(np.einsum("...jj->...j", sample.within) / (rows - 1.0)[..., np.newaxis]) + NEARLY_ZERO
    skewed = -_unskewed(-steps / error, skewness / np.sqrt(rows)[..., np.newaxis])
    return np.clip(means + error * skewed, -1.0, 1.0), np.asarray(covariance)


def _spread_correlations(covariance: Array, within: Array, kappas: Mapping[tuple[int, int], Array]) -> Array:
    """Covariances of the same variances, their correlations √kappa times as far from the rows' own, in atanh.

    Where that is no covariance, on the line to the rows' own, as far as there is one.
    """
    pairs = [pair for pair in kappas if pair[0] != pair[1]]
    if not pairs:
        return covariance
    p = covariance.shape[-1]
    spread = np.sqrt(np.einsum("...jj->...j", covariance))
    room = np.sqrt(np.einsum("...jj->...j", within) + NEARLY_ZERO)
    rows = (within + NEARLY_ZERO * np.eye(p)) / (room[..., :, np.newaxis] * room[..., np.newaxis, :])
    moved = covariance / (spread[..., :, np.newaxis] * spread[..., np.newaxis, :])
    for i, j in pairs:
        here, there = (np.arctanh(np.clip(one[..., i, j], -NEARLY_ONE, NEARLY_ONE)) for one in (rows, moved))
        moved[..., i, j] = moved[..., j, i] = np.tanh(here + np.sqrt(kappas[i, j]) * (there - here))
    inverse = np.linalg.inv(np.linalg.cholesky(rows))
    least = np.linalg.eigvalsh(inverse @ (moved - rows) @ np.swapaxes(inverse, -1, -2))[..., 0]
    part = np.minimum(NEARLY_ONE / np.maximum(-least, NEARLY_ONE), 1.0)[..., np.newaxis, np.newaxis]
    return np.asarray((rows + part * (moved - rows)) * (spread[..., :, np.newaxis] * spread[..., np.newaxis, :]))


def _beta_shape(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Skewness and kurtosis of the Beta law on [-1, 1] of this mean and variance."""
    share, other = 0.5 * (1.0 + mean), 0.5 * (1.0 - mean)
    total = np.maximum(4.0 * share * other / np.maximum(variance, NEARLY_ZERO) - 1.0, NEARLY_ZERO)
    a, b = np.maximum(total * share, NEARLY_ZERO), np.maximum(total * other, NEARLY_ZERO)
    skewness = 2.0 * (b - a) * np.sqrt(total + 1.0) / ((total + 2.0) * np.sqrt(a * b))
    excess = (a - b) ** 2 * (total + 1.0) / (a * b * (total + 2.0)) - 1.0
    return skewness, 3.0 + 6.0 * excess / (total + 3.0)


def _unskewed(x: Array, skewness: Array) -> Array:
    """Where a studentised mean of this skewness (over √n) has its normal quantile x: Hall's monotone cubic, inverted.

    t + g t²/3 + g² t³/27 + g/6 is normal to second order [Hall 1992].
    """
    g = np.where(np.abs(skewness) < 1e-6, 1e-6, np.clip(skewness, -STEEPEST, STEEPEST))
    return np.asarray(3.0 / g * (np.cbrt(1.0 + g * (x - g / 6.0)) - 1.0))


def _of_nodes(target: MomentTarget, sample: SampleMoments, rng: np.random.Generator) -> tuple[Array, Array]:
    """By the conjugate posteriors of each number given the earlier ones."""
    moments, p = sample.design_moments(target.unseen.design), target.numbers
    means = np.zeros((*sample.size.shape, p))
    covariance = np.zeros((*sample.size.shape, p, p))
    for j in range(p):
        found, variance = _node(target, j, moments[..., : 2 + j, : 2 + j], sample.size, rng, {})
        slopes = found[..., 1:]
        means[..., j] = found[..., 0] + np.sum(slopes * means[..., :j], axis=-1)
        cross = np.einsum("...i,...ik->...k", slopes, covariance[..., :j, :])
        covariance[..., j, :], covariance[..., :, j] = cross, cross
        covariance[..., j, j] = variance + np.sum(slopes * cross[..., :j], axis=-1)
    return np.clip(means, -1.0, 1.0), covariance


def _node(
    target: MomentTarget, j: int, moments: Array, size: Array, rng: np.random.Generator, excess: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Coefficients and residual variance of number j on what stands before it in `moments`."""
    k = moments.shape[-1] - 1
    square, cross, own = moments[..., :k, :k], moments[..., :k, k], moments[..., k, k]
    n = size[..., np.newaxis, np.newaxis]
    normal = rng.standard_normal(cross.shape)
    if target.conjugates is not None and target.nodes.conjugate[j]:
        own_prior = target.conjugates
        prior, mean = own_prior.precision[j, :k, :k], own_prior.mean[j, :k]
        precision = n * square + prior
        found = _solve(precision, size[..., np.newaxis] * cross + prior @ mean)
        gap = found - mean
        fitted = own - 2.0 * np.sum(found * cross, axis=-1) + _form(square, found)
        rate = own_prior.rate[j] + 0.5 * (_form(prior, gap) + size * np.maximum(fitted, 0.0))
        variance = rate / rng.gamma(own_prior.shape[j] + 0.5 * size)
        return found + np.sqrt(variance)[..., np.newaxis] * _backward(precision, normal), variance
    found = _solve(square, cross)
    residual = np.maximum(own - np.sum(found * cross, axis=-1), NEARLY_ZERO)
    freedom = np.maximum(size - k, 2.0)
    ratio = freedom / rng.chisquare(freedom)
    wider = np.exp(np.clip(np.log(ratio) * np.sqrt(excess.get("variance", 1.0)), -FARTHEST, FARTHEST))
    variance = residual * np.maximum(size, freedom) / freedom * wider
    q = target.unseen.design.shape[1]
    ridge = np.diag([LEVEL_PRECISION if q > 1 and a < q else 0.0 for a in range(k)])
    noise = variance[..., np.newaxis, np.newaxis]
    precision = np.maximum(n, 1.0) * square / noise + ridge
    centre = _solve(precision, np.maximum(n, 1.0)[..., 0] * cross / noise[..., 0])
    step = _backward(precision, normal)
    for name, kappa in excess.items():
        if name != "variance":
            step[..., int(name)] *= np.sqrt(kappa)
    return centre + step, variance


def _solve(square: Array, vector: Array) -> Array:
    jitter = NEARLY_ZERO * np.trace(square, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis] * np.eye(square.shape[-1])
    return np.asarray(np.linalg.solve(square + jitter, vector[..., np.newaxis])[..., 0])


def _form(square: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("...a,...ab,...b->...", vector, square, vector))


def _backward(precision: Array, normal: Array) -> Array:
    """Normal vectors whose covariance is the inverse of the precision."""
    jitter = NEARLY_ZERO * np.trace(precision, axis1=-2, axis2=-1)[..., np.newaxis, np.newaxis]
    root = np.linalg.cholesky(precision + jitter * np.eye(precision.shape[-1]))
    return np.asarray(np.linalg.solve(np.swapaxes(root, -1, -2), normal[..., np.newaxis])[..., 0])
