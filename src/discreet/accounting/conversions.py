"""Between privacy notions, as formulas on plain numbers. Every inverse returns its safe end.

References are to math notes by name: [CKS2020] Canonne, Kamath, Steinke; [DRS2022] Dong, Roth, Su;
[DDR2020] Dong, Durfee, Rogers; [CR2021] Cesar, Rogers; [KOV2015] Kairouz, Oh, Viswanath.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.curves import gaussian_delta, zcdp_renyi
from discreet.accounting.rounding import SMALLEST_DELTA, ULPS, charged, outward_delta, typed_root_up, typed_up
from discreet.errors import GuaranteeError

__all__ = [
    "gaussian_epsilon",
    "gaussian_mu",
    "log_delta_at",
    "renyi_delta",
    "renyi_epsilon",
    "solve_decreasing",
    "zcdp_epsilon",
    "zcdp_rho",
]

Curve = Callable[[float], float]

LARGEST = 2.0**900  # of a solution; beyond it a target is out of reach


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon that the profile certifies at `delta`, rounded up."""
    return solve_decreasing(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose profile stays within (epsilon, delta), rounded down; so does what a ledger charges."""

    def price(mu: float) -> float:
        return gaussian_delta(typed_root_up(Fraction(charged(mu, power=2))), epsilon)

    mu = 1.0 / solve_decreasing(lambda inverse: price(1.0 / inverse), delta, low=1e-12)
    return _step_down(mu, lambda value: price(value) <= delta, (epsilon, delta))


def renyi_epsilon(curve: Curve, delta: float) -> float:
    """Improved conversion: min over orders of R(a) + log((a-1)/a) + (log(1/delta) - log a)/(a-1)  [CKS2020, Prop. 12].

    Every order gives a valid bound, so an imperfect minimum is only a looser one.
    """

    def bound(order: float) -> float:
        divergence, less = curve(order), order - 1.0
        room, gain = (math.log(delta) + math.log(order)) / less, math.log1p(1.0 / less)
        terms = divergence + gain + (math.log(order) - math.log(delta)) / less
        return divergence - gain - room + ULPS * terms

    return max(_smallest(bound), 0.0)


def renyi_delta(curve: Curve, epsilon: float) -> float:
    """The same conversion solved for delta, the smallest over orders."""
    log_delta = _smallest(lambda order: log_delta_at(curve, epsilon, order))
    return outward_delta(math.exp(min(log_delta, 0.0))) if log_delta > -800.0 else SMALLEST_DELTA


def log_delta_at(curve: Curve, epsilon: float, order: float) -> float:
    """The logarithm of the delta that one order certifies, rounded up."""
    divergence, less = curve(order), order - 1.0
    gain = math.log1p(1.0 / less)  # log(a / (a - 1)), with its digits at every order
    found = less * (divergence - epsilon - gain) - math.log(order)
    return found + ULPS * (less * (divergence + epsilon + gain) + math.log(order))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """(epsilon, delta) of rho-zCDP by the improved Renyi conversion."""
    return renyi_epsilon(lambda order: zcdp_renyi(rho, order), delta)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose conversion stays within (epsilon, delta), rounded down; so does what a ledger charges."""

    def price(rho: float) -> float:
        return zcdp_epsilon(typed_up(Fraction(charged(rho))), delta)

    rho = 1.0 / solve_decreasing(lambda inverse: price(1.0 / inverse), epsilon, low=1e-12)
    return _step_down(rho, lambda value: price(value) <= epsilon, (epsilon, delta))


def solve_decreasing(function: Curve, target: float, *, low: float = 0.0) -> float:
    """The smallest x ≥ low with function(x) ≤ target, from above: the returned x always meets the target."""
    if function(low) <= target:
        return low
    high, factor = max(2.0 * low, 1.0), 2.0
    while not function(high) <= target:
        if high > LARGEST:
            return math.inf
        low, high, factor = high, factor * high, min(factor * factor, 2.0**64)
    while True:
        middle = math.sqrt(low) * math.sqrt(high) if low > 0 and high > 4 * low else 0.5 * (low + high)
        if not low < middle < high:
            return high
        if function(middle) <= target:
            high = middle
        else:
            low = middle


def _step_down(value: float, meets: Callable[[float], bool], target: tuple[float, float]) -> float:
    """The first double at or below `value` that meets its constraint: a reciprocal may have rounded past it."""
    for _ in range(64):
        if value > 0 and meets(value):
            return value
        value = math.nextafter(value, 0.0)
    raise GuaranteeError(
        f"epsilon and delta must leave room for a positive parameter in double precision, got {target!r}"
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
