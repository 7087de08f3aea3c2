"""Geweke's joint-distribution test: two ways to draw (parameter, data) must give the same joint law.

    marginal     theta ~ prior,                     data ~ p(data | theta)
    successive   data ~ p(data | theta),            theta ~ sampler(theta, data),   repeated

A sampler that is wrong in any way that touches the test functions moves the second away from the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["JointTest", "joint_distribution_test"]


@dataclass(frozen=True)
class JointTest:
    """z-scores of first and second moments of the test functions."""

    scores: Array

    @property
    def largest(self) -> float:
        """The largest absolute z-score."""
        return float(np.abs(self.scores).max())

    def agrees(self, limit: float = 4.0) -> bool:
        """Whether every moment agrees within `limit` standard errors."""
        return self.largest < limit


def joint_distribution_test(
    prior: Callable[[np.random.Generator], Any],
    data: Callable[[Any, np.random.Generator], Any],
    sampler: Callable[[Any, Any, np.random.Generator], Any],
    features: Callable[[Any, Any], Array],
    *,
    draws: int,
    rng: np.random.Generator,
) -> JointTest:
    """Compare the marginal and the successive-conditional simulator.

    Parameters
    ----------
    prior, data
        Draw a parameter, and data given it.
    sampler
        One transition that should leave p(theta | data) invariant.
    features
        A vector of test functions of (theta, data); their squares are tested too.
    """
    marginal = np.array([_row(features, *_pair(prior, data, rng)) for _ in range(draws)])
    theta = prior(rng)
    chain = []
    for _ in range(draws):
        drawn = data(theta, rng)
        theta = sampler(theta, drawn, rng)
        chain.append(_row(features, theta, drawn))
    successive = np.array(chain)
    error = np.sqrt(marginal.var(0) / draws + _batch_variance(successive))
    return JointTest((marginal.mean(0) - successive.mean(0)) / np.maximum(error, 1e-300))


def _pair(prior: Callable[..., Any], data: Callable[..., Any], rng: np.random.Generator) -> tuple[Any, Any]:
    theta = prior(rng)
    return theta, data(theta, rng)


def _row(features: Callable[[Any, Any], Array], theta: Any, data: Any) -> Array:
    values = np.atleast_1d(features(theta, data))
    return np.concatenate([values, values**2])


def _batch_variance(chain: Array) -> Array:
    """Variance of the mean of a correlated chain by batch means: few and long, so that they are nearly independent."""
    batches = max(int(chain.shape[0] ** (1 / 3)), 2)
    size = chain.shape[0] // batches
    means = chain[: batches * size].reshape(batches, size, -1).mean(1)
    return np.asarray(means.var(0, ddof=1) / batches)
