"""What a released draw says of the parameter: the exact law of the draw given the parameter, by summation.

A mechanism that saw k ones among n rows draws theta from a known law f_k, e.g. a Beta law that is cut to an interval.
The count is not released, so it is summed out:

    p(p | draws) = Σ_k w_k Beta(p; k + a, n - k + b),   w_k ∝ C(n, k) B(k + a, n - k + b) Π_j f_k(theta_j)

The spread of the draws themselves is another thing: it says how the mechanism drew, not how much is known.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.inference.counts.compositions import log_arrangements
from discreet.numerics.gamma_functions import log_polya
from discreet.posterior.beta import BetaMixture

__all__ = ["beta_given_draws"]

Array = NDArray[np.float64]


def beta_given_draws(n: int, prior: tuple[float, float], log_draws: Array) -> BetaMixture:
    """Posterior of a probability given draws whose log-density was log_draws[k] if k of the n rows were ones."""
    k = np.arange(n + 1, dtype=float)
    log_weights = log_polya(k, prior[0]) + log_polya(n - k, prior[1]) + log_arrangements(n, sum(prior)) + log_draws
    peak = log_weights.max()
    evidence = float(peak + np.log(np.exp(log_weights - peak).sum()))
    return BetaMixture(k + prior[0], n - k + prior[1], log_weights, evidence)
