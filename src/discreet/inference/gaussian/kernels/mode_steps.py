"""Where trajectories may start, and how they are first scaled: damped Newton steps and the curvature they end at."""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry
from discreet.inference.gaussian.kernels.moment_density import log_posterior
from discreet.inference.gaussian.kernels.unseen_layout import place_moments

__all__ = ["climb", "unseen_draws"]

APART = 1e-5  # of differences of gradients
FLATTEST = 0.05  # curvature that is assumed where there is less: a deviation of four and a half


@entry
def climb(released, nodes, unseen, theta, iterations):  # type: ignore[no-untyped-def]
    """Move theta uphill in place; returns a root of the inverse curvature there, (d, d)."""
    d, p, cells = theta.size, nodes.conjugate.size, unseen.links.shape[0]
    shares, means, room, factor = np.zeros(cells), np.zeros((p, cells)), np.zeros(p), np.zeros((p, p))
    slope, other, moved = np.zeros(d), np.zeros(d), np.zeros(d)
    root = np.eye(d)
    value = log_posterior(released, nodes, unseen, theta, slope, shares, means, room, factor)
    for round_ in range(iterations + 1):
        curvature = np.zeros((d, d))
        for k in range(d):
            moved[:] = theta
            moved[k] += APART
            up = log_posterior(released, nodes, unseen, moved, other, shares, means, room, factor)
            above = other.copy()
            moved[k] -= 2.0 * APART
            down = log_posterior(released, nodes, unseen, moved, other, shares, means, room, factor)
            if up > -np.inf and down > -np.inf:
                curvature[k] = (other - above) / (2.0 * APART)
        curvature = 0.5 * (curvature + curvature.T)
        finite = True
        for k in range(d):
            for m in range(d):
                finite = finite and np.isfinite(curvature[k, m])
        if not finite:
            curvature = np.eye(d)
        values, vectors = np.linalg.eigh(curvature)
        values = np.maximum(np.abs(values), FLATTEST)
        root = vectors / np.sqrt(values)
        if round_ == iterations:
            break
        log_posterior(released, nodes, unseen, theta, slope, shares, means, room, factor)
        white = np.dot(root.T, slope)
        direction = np.dot(root, white)
        size, better = 1.0, False
        for _ in range(25):
            moved[:] = theta + size * direction
            found = log_posterior(released, nodes, unseen, moved, other, shares, means, room, factor)
            if found > value:
                better = True
                break
            size *= 0.35
        if not better:
            break
        gained = found - value
        value = found
        theta[:] = moved
        if gained < 1e-3:
            iterations = round_ + 1
    return root


@entry
def unseen_draws(nodes, unseen, thetas, sizes, shares, means, factors):  # type: ignore[no-untyped-def]
    """The moments of many points: sizes (draws), shares (draws, cells), means (draws, p, cells), factors (draws, p, p)."""
    room = np.zeros(nodes.conjugate.size)
    for t in range(thetas.shape[0]):
        sizes[t] = place_moments(unseen, nodes.slopes, means.shape[1], thetas[t], shares[t], means[t], room, factors[t])
