"""Between privacy notions, as formulas on plain numbers. Every inverse returns its safe end.

References are to math notes by name: [CKS2020] Canonne, Kamath, Steinke; [DRS2022] Dong, Roth, Su;
[DDR2020] Dong, Durfee, Rogers; [CR2021] Cesar, Rogers; [KOV2015] Kairouz, Oh, Viswanath.
"""

import math
from collections.abc import Callable

from discreet.errors import GuaranteeError

__all__ = [
    "bounded_range_delta",
    "bounded_range_renyi",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "pure_delta",
    "pure_renyi",
    "renyi_delta",
    "renyi_epsilon",
    "solve_decreasing",
    "zcdp_epsilon",
    "zcdp_rho",
]

Curve = Callable[[float], float]

SMALLEST_DELTA = 5e-324  # what underflows is not nothing


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Exact profile of mu-Gaussian DP, delta = Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2)  [DRS2022, Cor. 2.13]."""
    from scipy.special import erfcx, log_ndtr

    if mu < 1e-4:
        # phi(t) mu (1 - t M(t)) with Mills' ratio M bounds the profile from above by convexity, within 1e-4 of it
        t = epsilon / mu - mu / 2
        mills = math.sqrt(math.pi / 2) * float(erfcx(t / math.sqrt(2)))
        density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi) if abs(t) < 1e150 else 0.0
        return max(density * mu * max(1 - t * mills, 0.0) * (1 + 1e-9), SMALLEST_DELTA)
    log_above = float(log_ndtr(-epsilon / mu + mu / 2))
    log_below = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    if not math.isfinite(log_above):
        return SMALLEST_DELTA
    # the difference of two nearly equal tails, kept in logs so that it does not cancel; it is never exactly 0
    return max(math.exp(log_above) * -math.expm1(min(log_below - log_above, 0.0)), SMALLEST_DELTA)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon that the profile certifies at `delta`, rounded up."""
    return solve_decreasing(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose profile stays within (epsilon, delta), rounded down."""
    mu = 1.0 / solve_decreasing(lambda inverse: gaussian_delta(1.0 / inverse, epsilon), delta, low=1e-12)
    return _step_down(mu, lambda value: gaussian_delta(value, epsilon) <= delta)


def pure_delta(level: float, epsilon: float) -> float:
    """Profile of `level`-DP: (e^level - e^epsilon)_+ / (1 + e^level)  [KOV2015, k = 1]."""
    if epsilon >= level:
        return 0.0
    return -math.expm1(epsilon - level) / (1.0 + math.exp(-level))


def pure_renyi(level: float, order: float) -> float:
    """Tight Renyi curve of pure DP: e - log((1 + e^-e) / (1 + e^-(2a-1)e)) / (a - 1)."""
    if math.isinf(order):
        return level
    if level < 1e-4:  # what follows would cancel; a e²/2 is within a relative 1e-4 of it
        return min(order * level**2 / 2, level)
    if order < 1.001:  # what follows would cancel; the curve is at most order times its zCDP
        return min(order * level * math.tanh(level / 2), level)
    excess = math.log1p(math.exp(-level)) - math.log1p(math.exp(-(2 * order - 1) * level))
    return level - excess / (order - 1)


def bounded_range_delta(level: float, epsilon: float) -> float:
    """Profile of `level`-bounded range: (1 - e^{(epsilon - level)/2})² / (1 - e^-level)  [DDR2020, Thm 3]."""
    if epsilon >= level:
        return 0.0
    return math.expm1((epsilon - level) / 2) ** 2 / -math.expm1(-level)


def bounded_range_renyi(level: float, order: float) -> float:
    """Renyi curve of bounded range: the worst offset t of log(q e^{at} + (1-q) e^{a(t-e)}) / (a-1) in closed form."""
    if math.isinf(order) or level > 500.0:
        return level
    if level < 1e-3:  # the difference below would cancel; the bound a e²/8 is within a relative 1e-3 of it  [CR2021]
        return min(order * level**2 / 8, level)
    a = max(order, 1.001)  # just above 1 what follows would cancel; the curve increases with the order
    # e^t = (a-1)(1 - e^{-ae}) / (a (e^{-e} - e^{-ae})): the stationary point, a maximum
    t = math.log((a - 1) / a) + level + math.log(-math.expm1(-a * level)) - math.log(-math.expm1((1 - a) * level))
    t = min(max(t, 0.0), level)
    q = math.exp(-t) * -math.expm1(t - level) / -math.expm1(-level)
    return (a * t + math.log(q + (1 - q) * math.exp(-a * level))) / (a - 1)


def renyi_epsilon(curve: Curve, delta: float) -> float:
    """Improved conversion: min over orders of R(a) + log((a-1)/a) + (log(1/delta) - log a)/(a-1)  [CKS2020, Prop. 12].

    Every order gives a valid bound, so an imperfect minimum is only a looser one.
    """

    def bound(order: float) -> float:
        return curve(order) + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)

    return max(_smallest(bound), 0.0)


def renyi_delta(curve: Curve, epsilon: float) -> float:
    """The same conversion solved for delta, the smallest over orders."""

    def log_delta(order: float) -> float:
        return (order - 1) * (curve(order) - epsilon + math.log1p(-1 / order)) - math.log(order)

    return max(math.exp(min(_smallest(log_delta), 0.0)), SMALLEST_DELTA)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """(epsilon, delta) of rho-zCDP by the improved Renyi conversion."""
    return renyi_epsilon(lambda order: rho * order, delta)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose improved conversion stays within (epsilon, delta), rounded down."""
    rho = 1.0 / solve_decreasing(lambda inverse: zcdp_epsilon(1.0 / inverse, delta), epsilon, low=1e-12)
    return _step_down(rho, lambda value: zcdp_epsilon(value, delta) <= epsilon)


def solve_decreasing(function: Curve, target: float, *, low: float = 0.0) -> float:
    """The smallest x ≥ low with function(x) ≤ target, from above: the returned x always meets the target."""
    if function(low) <= target:
        return low
    high = max(2.0 * low, 1.0)
    while function(high) > target:
        low, high = high, 2.0 * high
        if high > 2.0**1000:
            return math.inf
    while True:
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else 0.5 * (low + high)
        if not low < middle < high:
            return high
        if function(middle) > target:
            low = middle
        else:
            high = middle


def _step_down(value: float, meets: Callable[[float], bool]) -> float:
    """The first double at or below `value` that meets its constraint: a reciprocal may have rounded past it."""
    for _ in range(64):
        if value > 0 and meets(value):
            return value
        value = math.nextafter(value, 0.0)
    raise GuaranteeError(
        "epsilon and delta must leave room for a positive parameter in double precision, got too little"
    )


def _smallest(bound: Curve) -> float:
    """Minimum of `bound` over orders in (1, 1e7): a coarse grid in log(a - 1), then golden sections around its best."""
    step = 0.25
    grid = [-14.0 + step * i for i in range(int(30 / step) + 1)]
    values = [bound(1.0 + math.exp(u)) for u in grid]
    best = min(range(len(grid)), key=values.__getitem__)
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    golden = (math.sqrt(5) - 1) / 2
    smallest = values[best]
    for _ in range(60):
        a, b = right - golden * (right - left), left + golden * (right - left)
        value_a, value_b = bound(1.0 + math.exp(a)), bound(1.0 + math.exp(b))
        smallest = min(smallest, value_a, value_b)
        if value_a <= value_b:
            right = b
        else:
            left = a
    return smallest
