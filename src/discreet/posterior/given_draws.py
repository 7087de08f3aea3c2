"""What released draws say of the parameter: a draw has a known law given the statistic, which is summed out.

A mechanism that saw k ones among n rows draws theta from a known law f_k, e.g. a Beta law that is cut to an interval:

    p(p | draws) = Σ_k w_k Beta(p; k + a, n - k + b),   w_k ∝ C(n, k) B(k + a, n - k + b) Π_j f_k(theta_j)

Where the statistic is a sum S of n clamped records, P(S | theta) is its law and f the law of a draw given S:

    p(theta | draws) ∝ p(theta) Σ_S P(S | theta) g(S),        g(S) = Π_j f(theta_j | S)

The spread of the draws themselves is another thing: it says how the mechanism drew, not how much is known.
"""

from collections.abc import Callable

import numpy as np

from discreet.inference.one_sum.clamped_records import ClampedRecord
from discreet.inference.one_sum.weighted_sum import WeightedSum
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_arrangements, log_polya
from discreet.numerics.link import Link
from discreet.posterior.beta import BetaMixture
from discreet.posterior.curve import Curve, CurvePosterior, curve_posterior

__all__ = ["LogDraws", "beta_given_draws", "curve_given_draws"]

LogDraws = Callable[[Array], Array]  # log-probability of the draws at each centred sum

FINEST = 2**13  # points of the curve; without corners more are never needed


def beta_given_draws(n: int, prior: tuple[float, float], log_draws: Array) -> BetaMixture:
    """Posterior of a probability given draws whose log-density was log_draws[k] if k of the n rows were ones."""
    k = np.arange(n + 1, dtype=float)
    log_weights = log_polya(k, prior[0]) + log_polya(n - k, prior[1]) + log_arrangements(n, sum(prior)) + log_draws
    peak = log_weights.max()
    evidence = float(peak + np.log(np.exp(log_weights - peak).sum()))
    return BetaMixture(k + prior[0], n - k + prior[1], log_weights, evidence)


def curve_given_draws(
    parameter: str,
    log_draws: LogDraws,
    record: ClampedRecord,
    n: int,
    log_prior: Curve,
    link: Link,
    centre: float,
    spread: float,
    finest: int = FINEST,
) -> CurvePosterior:
    """Posterior of a parameter given draws whose log-probability at every centred sum of n records is `log_draws`.

    `log_draws` takes arrays of sums from -n · reach to n · reach, whole or not, and is concave in them; `log_prior`,
    `centre` and `spread` are about the coordinate of the link.
    """
    likelihood = WeightedSum(record, n, log_draws).log_likelihood
    return curve_posterior(parameter, log_prior, likelihood, link, centre, spread, record, finest)
