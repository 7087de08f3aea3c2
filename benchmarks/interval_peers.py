"""What others do with the same noisy sums, each our own implementation of a published algorithm.

- `augmented`: data augmentation [Ju, Awan, Gong, Rao 2022]: imagine the records, propose each afresh from the model,
  accept by the density of the noise, then draw parameters given the records. The records are normal, or yes/no.
- `gaussian_sums`: Gibbs sampling of the exact sums [Bernstein, Sheldon 2019]: the sums are normal by the central limit
  theorem, Laplace noise is a mixture of normals, so coefficients, sums and mixing variances are drawn in turn.

Numbers are in half-ranges of the declared bounds, around their middles. Priors are those of the papers' own examples:
weak normal-inverse-Wishart or -gamma laws on that scale.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.stats import invwishart

from benchmarks.interval_tasks import Released

__all__ = ["augmented_normal", "augmented_share", "gaussian_sums"]

Array = NDArray[np.float64]

SWEEPS, WARM_UP = 3000, 1000
FLOOR = 1e-6  # of eigenvalues of moments per record that a draw of the sums may leave negative


def sums_of(released: Released, columns: list[str]) -> tuple[Array, Array, Array]:
    """Noisy sums, Laplace scales, and which two columns each is a product of (-1: a plain sum)."""
    pairs = [[columns.index(part) for part in name.split(" * ")] for name in released.sums]
    places = np.array([(pair[0], pair[1] if len(pair) == 2 else -1) for pair in pairs], dtype=np.int64)
    return np.array([*released.sums.values()]), np.array([*released.scales.values()]), places


def augmented_share(released: Released, rng: np.random.Generator) -> Array:
    """Draws of the share of ones under a uniform prior."""
    ((noisy, scale),) = zip(released.sums.values(), released.scales.values(), strict=True)
    return np.asarray(_share_chain(noisy, scale, released.n, SWEEPS, rng)[WARM_UP:])


@numba.njit(cache=True)
def _share_chain(noisy, scale, n, sweeps, rng):
    records = np.zeros(n, dtype=np.int64)
    start = min(max(noisy, 0.0), float(n))
    records[: int(start)] = 1
    ones, kept = records.sum(), np.empty(sweeps)
    for sweep in range(sweeps):
        theta = rng.beta(1.0 + ones, 1.0 + n - ones)
        kept[sweep] = theta
        for i in range(n):
            proposed = 1 if rng.random() < theta else 0
            moved = ones + proposed - records[i]
            if np.log(rng.random()) < (abs(noisy - ones) - abs(noisy - moved)) / scale:
                records[i], ones = proposed, moved
    return kept


def augmented_normal(released: Released, columns: list[str], rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of mean and covariance of normal records, which are clamped when they are summed."""
    noisy, scales, places = sums_of(released, columns)
    p, n = len(columns), released.n
    records, means, covariances = 0.5 * rng.standard_normal((n, p)), [], []
    sums = np.array([_clamped(records, i, j) for i, j in places])
    for sweep in range(SWEEPS):
        centre, degrees = records.mean(axis=0), p + 2.0 + n
        spread = (records - centre).T @ (records - centre) + 0.25 * np.eye(p) + n / (n + 1.0) * np.outer(centre, centre)
        covariance = np.atleast_2d(invwishart.rvs(degrees, spread, random_state=rng))
        mean = rng.multivariate_normal(n * centre / (n + 1.0), covariance / (n + 1.0))
        proposed = mean + rng.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
        _replace(records, proposed, sums, noisy, scales, places, np.log(rng.random(n)))
        if sweep >= WARM_UP:
            means.append(mean)
            covariances.append(covariance)
    return np.array(means), np.array(covariances)


def _clamped(records: Array, i: int, j: int) -> float:
    inside = np.clip(records, -1.0, 1.0)
    return float(inside[:, i].sum() if j < 0 else (inside[:, i] * inside[:, j]).sum())


@numba.njit(cache=True)
def _replace(records, proposed, sums, noisy, scales, places, log_uniform):
    moved = np.empty(sums.size)
    for r in range(len(records)):
        gain = 0.0
        for s in range(sums.size):
            i, j = places[s]
            old, new = min(max(records[r, i], -1.0), 1.0), min(max(proposed[r, i], -1.0), 1.0)
            if j >= 0:
                old *= min(max(records[r, j], -1.0), 1.0)
                new *= min(max(proposed[r, j], -1.0), 1.0)
            moved[s] = sums[s] + new - old
            gain += (abs(noisy[s] - sums[s]) - abs(noisy[s] - moved[s])) / scales[s]
        if log_uniform[r] < gain:
            sums[:] = moved
            records[r] = proposed[r]


def gaussian_sums(released: Released, columns: list[str], rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of (constant, slopes) of the last column on the others, and of the residual variance."""
    noisy, scales, places = sums_of(released, columns)
    n, k = released.n, len(columns)
    lefts, rights = places[:, 0] + 1, places[:, 1] + 1  # of (1, columns): a plain sum is a product with 1
    sums, mixing, found = noisy.copy(), 2.0 * scales**2, []
    for sweep in range(SWEEPS):
        moments = _positive(_moments(sums, lefts, rights, n, k))
        coefficients, variance = _conjugate(moments, rng)
        mean, covariance = _records_law(moments, coefficients, variance, n, rng)
        expected = n * (covariance + np.outer(mean, mean))[lefts, rights]
        spread = n * _covariance_of_products(mean, covariance, lefts, rights)
        gain = spread @ np.linalg.inv(spread + np.diag(mixing))
        centre = expected + gain @ (noisy - expected)
        rest = spread - gain @ spread
        sums = rng.multivariate_normal(centre, 0.5 * (rest + rest.T), method="eigh")
        apart = np.maximum(np.abs(noisy - sums), 1e-9 * scales)
        mixing = 1.0 / np.maximum(rng.wald(1.0 / (scales * apart), 1.0 / scales**2), 1e-30)
        if sweep >= WARM_UP:
            found.append(np.append(coefficients, variance))
    drawn = np.array(found)
    return drawn[:, :-1], drawn[:, -1]


def _moments(sums: Array, lefts: Any, rights: Any, n: int, k: int) -> Array:
    moments = np.zeros((k + 1, k + 1))
    moments[lefts, rights] = moments[rights, lefts] = sums / n
    moments[0, 0] = 1.0
    return n * moments


def _positive(moments: Array) -> Array:
    """The nearest moments that records could have."""
    n = moments[0, 0]
    mean = moments[0, 1:] / n
    values, vectors = np.linalg.eigh(moments[1:, 1:] / n - np.outer(mean, mean))
    inside = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    repaired = n * (np.outer(np.append(1.0, mean), np.append(1.0, mean)))
    repaired[1:, 1:] += n * inside
    return np.asarray(repaired)


def _conjugate(moments: Array, rng: np.random.Generator) -> tuple[Array, float]:
    """Normal-inverse-gamma: one pseudo-record of unit slopes around 0, residual variance around 1/4."""
    precision = moments[:-1, :-1] + np.eye(len(moments) - 1)
    centre = np.linalg.solve(precision, moments[:-1, -1])
    rate = 0.5 + 0.5 * max(moments[-1, -1] - centre @ precision @ centre, 0.0)
    variance = rate / rng.gamma(2.0 + 0.5 * moments[0, 0])
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return centre + np.sqrt(variance) * root @ rng.standard_normal(len(centre)), float(variance)


def _records_law(
    moments: Array, coefficients: Array, variance: float, n: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Mean and covariance of (1, features, target) of one record: normal features, drawn given their sums."""
    p = len(moments) - 2
    centre = moments[0, 1 : p + 1] / n
    scatter = moments[1 : p + 1, 1 : p + 1] - n * np.outer(centre, centre) + 0.25 * np.eye(p)
    inside = np.atleast_2d(invwishart.rvs(p + 2 + n, scatter, random_state=rng))
    mean = np.append(1.0, rng.multivariate_normal(centre, inside / n))
    full = np.zeros((p + 2, p + 2))
    full[1 : p + 1, 1 : p + 1] = inside
    across = inside @ coefficients[1:]
    full[1 : p + 1, -1] = full[-1, 1 : p + 1] = across
    full[-1, -1] = coefficients[1:] @ across + variance
    return np.append(mean, mean @ coefficients), full


def _covariance_of_products(mean: Array, covariance: Array, lefts: Any, rights: Any) -> Array:
    """Cov(w_i w_j, w_k w_l) of a normal w, by Isserlis' theorem."""
    i, j, k, m = (index for index in (lefts[:, None], rights[:, None], lefts[None, :], rights[None, :]))
    whole = covariance + np.outer(mean, mean)
    found = whole[i, k] * whole[j, m] + whole[i, m] * whole[j, k]
    return np.asarray(found - 2.0 * mean[i] * mean[j] * mean[k] * mean[m])
