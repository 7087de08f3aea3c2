"""What released draws say of a parameter whose statistic is a sum: the exact sum is not released, so it is summed out.

    p(theta | draws) ∝ p(theta) Σ_S P(S | theta) g(S),        g(S) = Π_j f(theta_j | S)

P(S | theta) is the law of the sum of n clamped records, f the law from which the mechanism drew given the exact sum.
The spread of the draws themselves is another thing: it says how the mechanism drew, not how much is known.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.inference.one_sum.clamped_records import RecordLaw
from discreet.inference.one_sum.weighted_sum import WeightedSum
from discreet.numerics.link import Link
from discreet.posterior.curve import Curve, CurvePosterior, curve_posterior

__all__ = ["LogDraws", "curve_given_draws"]

LogDraws = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # log-probability of the draws at each centred sum

FINEST = 2**13  # points of the curve; it has no corners, so more are never needed


def curve_given_draws(
    parameter: str,
    log_draws: LogDraws,
    record: RecordLaw,
    n: int,
    log_prior: Curve,
    link: Link,
    centre: float,
    spread: float,
) -> CurvePosterior:
    """Posterior of a parameter given draws whose log-probability at every centred sum of n records is `log_draws`.

    `log_draws` takes arrays of sums from -n · reach to n · reach, whole or not, and is concave in them; `log_prior`,
    `centre` and `spread` are about the coordinate of the link.
    """
    likelihood = WeightedSum(record, n, log_draws).log_likelihood
    return curve_posterior(parameter, log_prior, likelihood, link, centre, spread, record, FINEST)
