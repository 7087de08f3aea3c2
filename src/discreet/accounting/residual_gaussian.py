"""What a release takes of a Gaussian budget: the residual Gaussian filter, with prices that are proved, not searched.

A ledger that may still go on has `left` = b: whatever happens from here on is dominated by N(0,1) against N(√b,1). A
release whose neighbouring laws are dominated by a pair (P, Q) may pay c, and leave b - c, if for every real e'

    H_e'(P ⊗ N(0,1) ‖ Q ⊗ N(√(b-c),1)) ≤ H_e'(N(0,1) ‖ N(√b,1)) + SLACK                                        (1)

By induction every adaptive interaction is dominated by the Gaussian it began with, up to the slacks, which add up: a
part of delta is kept for them. Prices that are enough are an up-set, so the smallest is found by bisection and its
upper end is charged. A pair that looks different from its two sides is checked from both (negative e' of one order
are positive e' of the other): checked from one side only, it could be charged 6.6 times too little.

(1) is checked for all e' ≥ 0 at once. Both sides are convex in a = e^e'. Between two nodes the left side is below its
chord and the right side above its tangents, one at each node; each is compared with the chord up to the middle. Beyond
the last node the left side is below the slack, and falls. What is computed is moved outward by more than its rounding.

    GaussianDP(mu)      mu², exactly, whatever is left  (in `ledger.members`)
    pure, k times       losses (2i - k) epsilon with binomial probabilities: randomised response dominates
    bounded range       for every t in [0, epsilon] the two losses t and t - epsilon: intervals of t are dominated by
                        the two losses (t_high, t_low - epsilon), and halved until that is enough
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["MOST_COPIES", "bounded_range_price", "gaussian_of_pure", "pure_price"]

NODES = (1024, 8192)  # the second where the first see no point that fails, and are too far apart to prove it
RELATIVE = 1e-12  # margin on the left side
ABSOLUTE = 1e-13  # of the tail probability in front of a difference of two Mills ratios
TOLERANCE = 1e-5  # of a price: where bisection ends, on the upper side
NEARLY, COARSE = 1.016, 0.004  # where the price of one loss is known: up to so much more, in so large steps
FINEST = 1 / 256  # of epsilon: the shortest interval of t that is looked at
MOST_COPIES = 64  # of a pure release that are priced as one binomial pair
MOST_PARTS = 10**15  # that are priced at all
FARTHEST = 700.0  # the last node: e^700 is a double
ROUND_UP = 1 + 1e-13


def pure_price(epsilon: float, copies: int, left: float, slack: float) -> float | None:
    """The price of `copies` epsilon-DP releases while `left` is left; None if it is not enough."""
    if copies > MOST_COPIES:
        price = copies * gaussian_of_pure(epsilon) ** 2 * ROUND_UP if copies <= MOST_PARTS else math.inf
        return price if price <= left else None
    return _pure_price(epsilon, copies, left, slack)


@lru_cache(maxsize=256)  # a pure function of public numbers
def _pure_price(epsilon: float, copies: int, left: float, slack: float) -> float | None:
    losses = np.asarray((2.0 * np.arange(copies + 1) - copies) * epsilon, dtype=np.float64)
    chances = _binomial(copies, 1 / (1 + math.exp(-epsilon)))
    known = copies * gaussian_of_pure(epsilon) ** 2 * ROUND_UP
    return _smallest(lambda price: _is_enough(losses, chances, left, price, slack), known, left)


@lru_cache(maxsize=256)
def bounded_range_price(epsilon: float, left: float, slack: float) -> float | None:
    """The price of a release of bounded range while `left` is left; None if it is not enough."""

    def enough(price: float) -> bool:
        waiting = [(0.0, epsilon)]
        while waiting:
            low, high = waiting.pop()
            if _is_enough(*_two_losses(high, low - epsilon), left, price, slack):
                continue
            if high - low <= FINEST * epsilon:
                return False
            middle = (low + high) / 2
            waiting += [(low, middle), (middle, high)]
        return True

    if epsilon > FARTHEST:
        return None
    least = _pure_price(epsilon / 2, 1, left, slack)  # of t = epsilon/2, which was the dearest in every case tried
    if least is None:
        return None
    known = gaussian_of_pure(epsilon) ** 2 * ROUND_UP
    close = least * NEARLY
    high = close if close < min(known, left) and enough(close) else known
    return _smallest(enough, high, left, least * (1 - TOLERANCE), COARSE)


def gaussian_of_pure(epsilon: float) -> float:
    """The mu of which every epsilon-DP release is Gaussian DP, 2 Φ⁻¹(e^epsilon / (1 + e^epsilon)), rounded up."""
    from scipy.special import erfinv, ndtri

    if epsilon > FARTHEST:
        return math.inf
    # near 1/2 a probability has not the digits of a small epsilon
    exact = math.sqrt(8) * erfinv(math.tanh(epsilon / 2)) if epsilon < 1 else -2 * ndtri(1 / (1 + math.exp(epsilon)))
    return float(exact) * (1 + 1e-12) + 1e-150  # whose square is no zero


def _smallest(
    enough: Callable[[float], bool], known: float, left: float, low: float = 0.0, tolerance: float = TOLERANCE
) -> float | None:
    """The upper end of a bisection for the smallest price that is enough; `known` is, where there is as much left."""
    high = known if known <= left else left
    if known > left and not enough(left):
        return None
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _is_enough(losses: Array, chances: Array, left: float, price: float, slack: float) -> bool:
    """Whether (1) holds for every e' ≥ 0, for a pair with these losses under P and their probabilities."""
    rest = max(left - price, 0.0) + 1e-15 * left  # more than what is lost where amounts become doubles
    end = _end(losses, left, rest, slack)
    for count in NODES if end <= FARTHEST else ():
        nodes = np.linspace(0.0, end, count)
        mixed = sum(p * _profile(nodes - loss, rest)[0] for loss, p in zip(losses, chances, strict=True))
        above = np.asarray(mixed) * (1 + RELATIVE)
        _, below, slope = _profile(nodes, left)
        below = below + slack
        if above[-1] > slack or np.any(above > below):
            return False
        half = np.exp(nodes[1:]) * -np.expm1(-np.diff(nodes)) / 2 * ROUND_UP  # of the distance of two nodes in a
        chord = (above[1:] + above[:-1]) / 2 * (1 + RELATIVE)
        tangents = np.minimum(below[:-1] - slope[:-1] * ROUND_UP * half, below[1:] + slope[1:] / ROUND_UP**2 * half)
        if np.all(chord <= tangents):
            return True
    return False


def _end(losses: Array, left: float, rest: float, slack: float) -> float:
    """Where the left side is below the slack: beyond the largest loss by so many deviations of what is left."""
    deviations = math.sqrt(-2 * math.log(slack))
    return max(float(losses.max()), 0.0) + rest / 2 + deviations * math.sqrt(rest) + 1e-3 * math.sqrt(left)


def _profile(at: Array, square: float) -> tuple[Array, Array, Array]:
    """An upper and a lower end of H_at(N(0,1) ‖ N(√square,1)), and of -dH/da the value Φ(-at/μ - μ/2).

    H = Q(z) - e^at Q(z + μ) with z = at/μ - μ/2 and Q(z) = φ(z) R(z): R, Mills' ratio, keeps the digits of tails.
    """
    from scipy.special import erfcx, ndtr

    mu = math.sqrt(square)
    z = at / mu - mu / 2
    tail = ndtr(-z)
    far = z > 0
    density = np.exp(-0.5 * z[far] ** 2) / 2  # φ(z) R(z) = e^{-z²/2} erfcx(z/√2) / 2
    value = tail - np.exp(np.minimum(at, 700.0)) * ndtr(-z - mu)
    value[far] = density * (erfcx(z[far] / math.sqrt(2)) - erfcx((z[far] + mu) / math.sqrt(2)))
    margin = ABSOLUTE * tail + RELATIVE * (1 + z**2) * np.abs(value) * 2.0**-10
    return np.maximum(value, 0.0) + margin, np.maximum(value - margin, 0.0), ndtr(-z - mu)


def _two_losses(high: float, low: float) -> tuple[Array, Array]:
    """The pair with the losses high > 0 > low: its probabilities under P."""
    # p e^-high + (1 - p) e^-low = 1
    chance = math.expm1(-low) / (math.expm1(-low) - math.expm1(-high)) if low < 0 else 0.0
    return np.array([high, low]), np.array([min(chance * ROUND_UP, 1.0), 1.0 - chance])


def _binomial(copies: int, chance: float) -> Array:
    law = np.array([1.0])
    for _ in range(copies):
        law = np.convolve(law, [1 - chance, chance])
    return law * (1 + 1e-13 * (copies + 1))
