"""The mean of a target as a function of its margin, on the unit scale: y and f are in [0, 1]."""

import math
from collections.abc import Callable

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.scores.score_terms import ScoreLink

__all__ = ["binomial_link", "identity_link", "logistic_link", "poisson_link"]

FARTHEST = 40.0  # of log-odds and of log-means


def logistic_link() -> ScoreLink:
    """A level: f = 1 / (1 + exp(-t)), variance f (1 - f)."""
    return binomial_link(1)


def binomial_link(trials: int) -> ScoreLink:
    """The share of so many trials: the logistic mean, with the variance f (1 - f) / trials."""
    from scipy.special import expit

    def slope(margin: Array) -> Array:
        mean = expit(margin)
        return np.asarray(mean * (1.0 - mean))

    return ScoreLink(expit, slope, lambda margin: slope(margin) / trials, 0.0, 1.0)


def poisson_link(highest: float) -> ScoreLink:
    """A count over the highest declared: f = exp(t) / highest, at most 1, variance f / highest."""
    top = math.log(highest)

    def mean(margin: Array) -> Array:
        return np.asarray(np.exp(np.clip(margin, -FARTHEST, top) - top))

    def slope(margin: Array) -> Array:
        return np.asarray(np.where(margin < top, mean(margin), 0.0))

    return ScoreLink(mean, slope, lambda margin: mean(margin) / highest, 0.0, 1.0)


def identity_link(variance: Callable[[Array], Array] | None = None) -> ScoreLink:
    """A place in [-1, 1] put on [0, 1]: f = (t + 1) / 2, clipped; the variance is at most f (1 - f)."""

    def mean(margin: Array) -> Array:
        return np.asarray(0.5 + 0.5 * np.clip(margin, -1.0, 1.0))

    def slope(margin: Array) -> Array:
        return np.asarray(np.where(np.abs(margin) < 1.0, 0.5, 0.0))

    def widest(margin: Array) -> Array:
        return np.asarray(mean(margin) * (1.0 - mean(margin)))

    return ScoreLink(mean, slope, variance or widest, 0.0, 1.0)
