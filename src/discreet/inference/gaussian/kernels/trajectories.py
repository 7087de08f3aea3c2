"""Hamiltonian trajectories on unseen moments: one compiled loop moves a chain by many of them [Neal 2011].

Momenta are drawn in coordinates whitened by `root` (a lower triangle with root root' near the posterior covariance). A
trajectory's length is 1.6 in these units, within 30% of it at random, in steps of `step`. In warm-up the step is tuned
to the acceptance of 0.8 by dual averaging [Hoffman, Gelman 2014].
"""

from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry
from discreet.inference.gaussian.kernels.moment_density import log_posterior

__all__ = ["run_trajectories"]

LENGTH, JITTER = 1.6, 0.3
WANTED = 0.8
MOST_STEPS = 120


@entry
def run_trajectories(
    rng: Any,
    released: Any,
    nodes: Any,
    conjugates: Any,
    unseen: Any,
    root: Any,
    state: Any,
    tuning: Any,
    learn: Any,
    kept: Any,
    accepted: Any,
) -> Any:
    """Advance `state` in place by len(kept) trajectories.

    `tuning` is (log step, its running average, H, count): used as it is, or tuned where `learn`.
    """
    d = state.size
    slope, new_slope = np.zeros(d), np.zeros(d)
    here = log_posterior(released, nodes, conjugates, unseen, state, slope)
    anchor = np.log(10.0) + tuning[4]
    white, moved = np.zeros(d), np.zeros(d)
    for t in range(kept.shape[0]):
        step = np.exp(tuning[0])
        count = int(np.ceil(LENGTH * (1.0 - JITTER + 2.0 * JITTER * rng.random()) / step))
        count = min(max(count, 1), MOST_STEPS)
        momentum = rng.standard_normal(d)
        energy = here - 0.5 * np.dot(momentum, momentum)
        moved[:] = state
        new_slope[:] = slope
        there = here
        for _ in range(count):
            white = np.dot(root.T, new_slope)
            momentum = momentum + 0.5 * step * white
            moved += step * np.dot(root, momentum)
            there = log_posterior(released, nodes, conjugates, unseen, moved, new_slope)
            if not there > -np.inf:
                break
            white = np.dot(root.T, new_slope)
            momentum = momentum + 0.5 * step * white
        ratio = 0.0
        if there > -np.inf:
            ratio = np.exp(min(0.0, there - 0.5 * np.dot(momentum, momentum) - energy))
            if not ratio >= 0.0:
                ratio = 0.0
        if rng.random() < ratio:
            state[:] = moved
            slope[:] = new_slope
            here = there
        kept[t] = state
        accepted[t] = ratio
        if learn:
            tuning[3] += 1.0
            rate = 1.0 / (tuning[3] + 10.0)
            tuning[2] = (1.0 - rate) * tuning[2] + rate * (WANTED - ratio)
            tuning[0] = anchor - np.sqrt(tuning[3]) / 0.05 * tuning[2]
            tuning[0] = min(max(tuning[0], -12.0), 0.7)
            weight = tuning[3] ** -0.75
            tuning[1] = weight * tuning[0] + (1.0 - weight) * tuning[1]
