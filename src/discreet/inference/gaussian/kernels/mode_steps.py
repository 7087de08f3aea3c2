"""What Newton's method needs of the log-posterior: its curvature; and the moments that many points stand for."""

from typing import Any

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry
from discreet.inference.gaussian.kernels.moment_density import log_posterior
from discreet.inference.gaussian.kernels.unseen_layout import place_moments

__all__ = ["curvature", "unseen_draws"]

APART = 1e-5  # of differences of gradients


@entry
def curvature(released: Any, nodes: Any, conjugates: Any, unseen: Any, theta: Any, found: Any) -> Any:
    """Fill `found` with minus the second derivatives at theta; rows beside a wall stay 0."""
    d = theta.size
    moved, above, below = np.empty(d), np.empty(d), np.empty(d)
    for k in range(d):
        moved[:] = theta
        moved[k] += APART
        up = log_posterior(released, nodes, conjugates, unseen, moved, above)
        moved[k] -= 2.0 * APART
        down = log_posterior(released, nodes, conjugates, unseen, moved, below)
        found[k] = 0.0
        if up > -np.inf and down > -np.inf:
            found[k] = (below - above) / (2.0 * APART)


@entry
def unseen_draws(nodes: Any, unseen: Any, thetas: Any, sizes: Any, shares: Any, means: Any, factors: Any) -> Any:
    """The moments of many points: the arguments after `thetas` (draws, d) are filled, draws first."""
    room = np.zeros(nodes.conjugate.size)
    for t in range(thetas.shape[0]):
        sizes[t] = place_moments(unseen, nodes.slopes, means.shape[1], thetas[t], shares[t], means[t], room, factors[t])
