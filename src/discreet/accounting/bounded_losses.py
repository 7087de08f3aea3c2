"""Length of the interval that holds every log-ratio of two neighbours' Gibbs posteriors: `guarantee.BoundedRange`.

For the posterior ∝ exp(-beta sum loss) prior it is beta R, R the supremum over two records x, x' of
sup_theta d - inf_theta d, d = loss(theta, x) - loss(theta, x')  [Minami et al. 2016, Theorem 4, sharper by the same
proof]. The suprema are over the whole public parameter set, not over points visited; without a bounded set or loss
there is none (a Bernoulli probability on (0, 1), a mean on the line). The draw must be exact.

What the parts of a released chain cost: ranges rounded up, and how far one record moves importance weights.
"""

import math
from fractions import Fraction

from discreet.accounting.rounding import LARGEST
from discreet.errors import GuaranteeError

__all__ = ["LARGEST_TRUNCATION", "ROUND_UP", "ball_range", "log_ratio", "weight_sensitivity"]

ROUND_UP = 1 + 1e-14  # above the rounding error of the few operations that make a range

# beyond, profiles are even up to roundings, and exact draws of them would not end
LARGEST_TRUNCATION = 0.999


def ball_range(beta: float, gradient: float, diameter: float) -> float:
    """Range beta G D on a convex parameter set of diameter D; G is the largest difference of two records' gradients.

    The same draw is also Gaussian DP by `gibbs.gibbs_mu`: both hold at once, `guarantee.AllOf`.
    """
    if not (_positive(beta) and _positive(gradient) and _positive(diameter)):
        raise GuaranteeError(f"beta, gradient and diameter must be numbers above 0, got {(beta, gradient, diameter)!r}")
    return beta * gradient * diameter


def _positive(value: float) -> bool:
    return 0 < value < math.inf


def log_ratio(cells: int, lower: float) -> float:
    """C = sup |log theta_i - log theta_j| over probabilities of `cells` levels that are at least `lower`  [F-OPS].

    Written as log(1 + (1 - K a0)/a0) with the fraction in rationals: no cancellation where a0 is near 1/K.
    """
    a0 = Fraction(lower)
    rest = (1 - cells * a0) / a0
    return math.log1p(float(rest)) if rest < LARGEST else math.log(math.ceil(rest))


def weight_sensitivity(first: float, last: float) -> float:
    """L1 sensitivity 2 tanh((last - first)/4) of normalised weights on a path of levels  [F-AIS].

    Every log-weight moves by at most (last - first)/2; twice the total variation of a bounded-range pair.
    """
    return 2.0 * math.tanh((last - first) / 4.0) * ROUND_UP
