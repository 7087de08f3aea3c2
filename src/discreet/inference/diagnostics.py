"""How well chains mixed: rank-normalised split R-hat and bulk effective sample size [Vehtari et al. 2021].

Draws are replaced by the normal scores of their ranks among all chains, chains are cut in halves, and

    R-hat = sqrt((within (m - 1) / m + between / m) / within),    ESS = draws / (1 + 2 sum of autocorrelations)

with the autocorrelations summed in pairs while the pairs are positive and decreasing [Geyer 1992].
"""

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.numerics.arrays import Array

__all__ = ["bulk_ess", "split_rhat"]


FEWEST_DRAWS = 4


def split_rhat(draws: ArrayLike) -> Array:
    """R-hat of arrays (chains, draws, …): the larger of that of the draws and of their distances from the median."""
    chains = _chains(draws)
    folded = np.abs(chains - np.median(chains, axis=(0, 1)))
    return np.maximum(_rhat(_normal_scores(_halves(chains))), _rhat(_normal_scores(_halves(folded))))


def bulk_ess(draws: ArrayLike) -> Array:
    """How many independent draws locate the centre as well as arrays (chains, draws, …) do."""
    return _ess(_normal_scores(_halves(_chains(draws))))


def _chains(draws: ArrayLike) -> Array:
    chains = np.asarray(draws, dtype=float)
    if chains.ndim < 2 or chains.shape[1] < FEWEST_DRAWS:
        raise QueryError(f"diagnostics need arrays (chains, draws, …) of 4 draws or more, got shape {chains.shape}")
    return chains


def _halves(chains: Array) -> Array:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: Array) -> Array:
    """Normal quantiles of average ranks; ties share their rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    count = chains.shape[0] * chains.shape[1]
    ranks = rankdata(chains.reshape(count, -1), axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (count + 0.25)).reshape(chains.shape))


def _rhat(chains: Array) -> Array:
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    pooled = within * (draws - 1) / draws + between
    # a parameter that never moves (a public size) has converged; chains stuck at different values have not
    ratio = np.divide(pooled, within, out=np.where(between > 0, np.inf, 1.0), where=within > 0)
    return np.asarray(np.sqrt(ratio))


def _ess(chains: Array) -> Array:
    count, draws = chains.shape[:2]
    covariance = _autocovariance(chains).mean(axis=0)
    within = covariance[0] * draws / (draws - 1)
    pooled = covariance[0] + (chains.mean(axis=1).var(axis=0, ddof=1) if count > 1 else 0.0)
    moving = within > 0
    scale = np.where(moving, pooled, 1.0)
    correlation = 1.0 - (within - covariance * draws / (draws - 1)) / scale
    correlation[0] = 1.0
    even = draws - draws % 2
    pairs = correlation[0:even:2] + correlation[1:even:2]
    pairs = np.minimum.accumulate(pairs, axis=0)
    pairs = np.where(np.logical_and.accumulate(pairs > 0, axis=0), pairs, 0.0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(count * draws))
    return np.asarray(np.where(moving, count * draws / time, count * draws))


def _autocovariance(chains: Array) -> Array:
    """Biased autocovariances (chains, lags, …) by the FFT."""
    from scipy.fft import irfft, next_fast_len, rfft

    draws = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    padded = next_fast_len(2 * draws, real=True)
    spectrum = np.abs(rfft(centred, padded, axis=1)) ** 2
    return np.asarray(irfft(spectrum, padded, axis=1)[:, :draws] / draws)
