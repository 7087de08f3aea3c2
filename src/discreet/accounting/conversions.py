"""Between privacy notions, as formulas on plain numbers. Every inverse returns its safe end.

References are to math notes by name: [CKS2020] Canonne, Kamath, Steinke; [DRS2022] Dong, Roth, Su;
[DDR2020] Dong, Durfee, Rogers; [CR2021] Cesar, Rogers; [KOV2015] Kairouz, Oh, Viswanath.

From (epsilon, delta) to the parameter of a mechanism whose certificate is a Renyi curve.

By the improved conversion a curve R certifies at epsilon, with any order a > 1,

    log delta = (a - 1) (R(a) - epsilon + log(1 - 1/a)) - log a                                 [CKS2020, Prop. 12]

which is convex in a, so that its smallest value is found by golden sections. As a function of the parameter that value
is smooth: its root is found in a dozen steps where bisection would take fifty.
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
    "smallest_within",
    "solve_decreasing",
    "zcdp_epsilon",
    "zcdp_rho",
]

Curve = Callable[[float], float]

LARGEST = 2.0**900  # of a solution; beyond it a target is out of reach

CLOSE = 1e-10  # of delta, relative: what the answer may leave unused
SAME = 1e-14  # of the parameter, relative: a bracket that is not worth narrowing
SECTIONS = 45  # leave the order within a relative 1e-8 of its best, and delta within 1e-15
FARTHEST = 300.0  # of the logarithm of the parameter: beyond it nothing is left of the data
GOLDEN = (math.sqrt(5) - 1) / 2


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


def smallest_within(curve_at: Callable[[float], Curve], epsilon: float, delta: float, *, low: float) -> float:
    """The smallest x ≥ low > 0 whose curve, which must fall as x grows, meets (epsilon, delta), from above.

    Infinite where none does.
    """
    aim = math.log(delta) - CLOSE / 2

    def excess(log_x: float) -> float:
        return _log_delta(curve_at(math.exp(log_x)), epsilon) - aim

    left = right = math.log(low)
    at_left = at_right = excess(right)
    if at_right <= 0:
        return low
    if _log_delta(lambda _: 0.0, epsilon) > aim:  # not even two equal laws are certified by orders up to 1e7
        return math.inf
    width = 1.0
    while not at_right <= 0:
        if right > FARTHEST:
            return math.inf
        left, at_left = right, at_right
        right, width = right + width, 2.0 * width
        at_right = excess(right)
    # Regula falsi; an end that stays twice in a row counts half (Illinois). `right` always meets the target.
    pull_left, pull_right, last = at_left, at_right, 0.0
    while at_right < -CLOSE / 2 and right - left > SAME:
        middle = left + pull_left / (pull_left - pull_right) * (right - left)
        middle = middle if left < middle < right else 0.5 * (left + right)
        last, before = excess(middle), last
        if last > 0:
            left, pull_left = middle, last
            pull_right /= 2.0 if before > 0 else 1.0
        else:
            right, at_right, pull_right = middle, last, last
            pull_left /= 2.0 if before < 0 else 1.0
    return math.exp(right)


def _log_delta(curve: Curve, epsilon: float) -> float:
    """The smallest over orders in (1, 1e7), by golden sections in log(a - 1)."""

    def value(u: float) -> float:
        return log_delta_at(curve, epsilon, 1.0 + math.exp(u))

    left, right = -14.0, 16.0
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a, at_b = value(a), value(b)
    for _ in range(SECTIONS):
        if at_a <= at_b:  # also where both are infinite: the finite orders are the small ones
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = value(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = value(b)
    return min(at_a, at_b)
