"""From (epsilon, delta) to the parameter of a mechanism whose certificate is a Renyi curve.

By the improved conversion a curve R certifies at epsilon, with any order a > 1,

    log delta = (a - 1) (R(a) - epsilon + log(1 - 1/a)) - log a                                 [CKS2020, Prop. 12]

which is convex in a, so that its smallest value is found by golden sections. As a function of the parameter that value
is smooth: its root is found in a dozen steps where bisection would take fifty.
"""

import math
from collections.abc import Callable

from discreet.accounting.conversions import Curve, log_delta_at

__all__ = ["smallest_within"]

CLOSE = 1e-10  # of delta, relative: what the answer may leave unused
SAME = 1e-14  # of the parameter, relative: a bracket that is not worth narrowing
SECTIONS = 45  # leave the order within a relative 1e-8 of its best, and delta within 1e-15
LARGEST = 300.0  # of the logarithm of the parameter: beyond it nothing is left of the data
GOLDEN = (math.sqrt(5) - 1) / 2


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
        if right > LARGEST:
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
