"""Several independent draws of one bounded-range law: the optimal composition in closed form  [DDR2020].

On two tables the log-ratio of one draw lies in some [t - e, t], 0 ≤ t ≤ e. Its profile is at most that of the pair of
two points whose log-ratios are t and t - e: (1 - αy)_+ is convex in the likelihood ratio y, and moving its law to the
ends keeps its mean. The k draws are of the *same* two laws, so they share t, and are dominated by the k-th power of one
such pair. With I the number of draws at the lower point, binomial with

    P: (e^t - 1)/(e^e - 1),     Q: (1 - e^-t)/(1 - e^-e),       the log-ratio is k t - I e, and

    delta(epsilon) = sup_t max_l F_l(t),   F_l(t) = P(I ≤ l) - e^epsilon Q(I ≤ l),   l = 0..k-1

dF_l/dt has the sign of epsilon + (l + 1) e - (k + 1) t: the supremum over t is at t_l = (epsilon + (l+1) e)/(k+1), and
at t = e, where F_l is not positive, if that is larger. Draws whose laws may depend on each other, as the steps of a
chain do, have a t each: this is not a bound for them (tests/accounting/test_range_draws.py finds steps that exceed it).
"""

import math
from functools import lru_cache

import numpy as np

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.rounding import ULPS, outward_delta, rational
from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array

__all__ = ["MOST_DRAWS", "range_draws_delta", "range_draws_epsilon"]

MOST_DRAWS = 4096  # every l is looked at; beyond, the Rényi route answers at once
LARGEST_LEVEL = 500.0
UNDERFLOW = 1e-307  # above a tail that is 0 in doubles


def range_draws_delta(level: float, draws: int, epsilon: float) -> float:
    """The profile of `draws` independent draws, each of bounded range `level`; 1 where this formula is not used."""
    if not (0.0 < level < math.inf and draws >= 1 and epsilon >= 0.0):
        raise GuaranteeError(f"range_draws_delta must have a level, draws and epsilon, got {(level, draws, epsilon)!r}")
    if rational(epsilon) >= draws * rational(level):
        return 0.0
    if draws > MOST_DRAWS or level > LARGEST_LEVEL:
        return 1.0
    last = np.arange(float(draws))
    t = (epsilon + (last + 1.0) * level) / (draws + 1.0)
    inside = t < level
    last, t = last[inside], t[inside]
    if not last.size:  # by rounding: epsilon is all but the sum of the levels
        last, t = np.zeros(1), np.array([math.nextafter(level, 0.0)])
    upper = np.expm1(t - level) / math.expm1(-level)  # P of the upper point; under Q e^-t times as much
    lower = np.expm1(-t) / math.expm1(-level)  # Q of the lower point; under P e^(t - level) times as much
    log_p = _log_at_most(last, draws, lower * np.exp(t - level), upper)
    log_q = _log_at_most(last, draws, lower, upper * np.exp(-t))
    seen = log_p > -np.inf
    gap = np.subtract(epsilon + log_q, log_p, out=np.ones_like(t), where=seen)
    # an incomplete beta function, and its argument rounded `draws` times over; the tails themselves may be tiny
    error = 2.0**-46 + 2.0**-50 * draws - ULPS * np.maximum(log_p, -1e3)
    found = np.exp(log_p) * (error * (1.0 + np.exp(np.minimum(gap, 0.0))) - np.expm1(np.minimum(gap, 0.0)))
    found = np.where(seen, np.where(gap > 4.0 * error, 0.0, found), UNDERFLOW)
    return outward_delta(float(found.max()))


@lru_cache(maxsize=256)  # a pure function of public facts, asked again for every sentence about a release
def range_draws_epsilon(level: float, draws: int, delta: float) -> float:
    """The smallest epsilon certified at `delta`, rounded up."""
    return solve_decreasing(lambda epsilon: range_draws_delta(level, draws, epsilon), delta)


def _log_at_most(last: Array, draws: int, lower: Array, upper: Array) -> Array:
    """The logarithm of P(I ≤ last), I binomial, given both probabilities: the smaller one has the digits."""
    from scipy.special import betainc, betaincc

    small = lower < 0.5
    value = np.where(
        small, betaincc(last + 1.0, draws - last, lower), betainc(draws - last, last + 1.0, np.minimum(upper, 1.0))
    )
    with np.errstate(divide="ignore"):  # a tail that underflows has the logarithm -inf
        return np.asarray(np.log(value))
