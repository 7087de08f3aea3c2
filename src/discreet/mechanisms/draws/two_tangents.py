"""Draws from a log-concave density on an interval, by rejection from two tangents on either side of its highest point.

The law is given by t, the signed step from the highest point of the interval (an end of it, unless it holds the mode):
a concave log_ratio(t) with log_ratio(0) = 0, its derivative, and how far the interval reaches on either side. On each
side the density is below its tangent at 0 and below its tangent where log_ratio is about -1; their minimum consists of
two exponentials, cut to the interval, that are drawn in closed form. Accepting with the ratio of the density to the
envelope is exact wherever the second tangent touches. The share accepted is 0.88 for a normal cut at its mode, and more
further out: the share of the interval in the mass of the whole law does not matter, nor does its size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.draws.uniforms import log_shares
from discreet.numerics.arrays import Array

__all__ = ["FallingLaw", "conditioned", "falling_steps"]


LARGEST_BATCH = 2**13


@dataclass(frozen=True)
class FallingLaw:
    """A log-concave density in t, -below ≤ t ≤ above, whose highest point is t = 0."""

    log_ratio: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    below: float
    above: float


@dataclass(frozen=True)
class _Pieces:
    """Exponentials e^(height - rate (d - start)), d = |t|, one per entry; `fall` is rate · length."""

    sign: Array
    start: Array
    fall: Array
    rate: Array
    height: Array


def conditioned(propose: Callable[[int], Array], size: int, share: float, largest_batch: int = LARGEST_BATCH) -> Array:
    """The first `size` of the values that survive `propose(number)`, of which about `share` do.

    Proposals are independent, so the survivors are too, however many are asked for at a time.
    """
    kept: list[Array] = []
    missing, asked, survived = size, 1.0, share
    while missing > 0:
        batch = int(np.clip(1.05 * missing * asked / survived + 16, 16, largest_batch))
        values = propose(batch)
        kept.append(values[:missing])
        missing -= len(kept[-1])
        asked, survived = asked + batch, survived + len(values)
    return np.concatenate(kept) if kept else propose(0)


def falling_steps(law: FallingLaw, size: int, noise: np.random.Generator) -> Array:
    """`size` independent signed steps from the highest point."""
    if law.below + law.above == 0.0:
        return np.zeros(size)
    pieces = _pieces(law)
    bounds = np.cumsum(-np.exp(pieces.height) * np.expm1(-pieces.fall) / pieces.rate)

    def propose(number: int) -> Array:
        chosen = np.searchsorted(bounds[:-1], bounds[-1] * noise.random(number), side="right")
        log_share = log_shares(pieces.fall[chosen], noise)  # -rate (d - start)
        t = pieces.sign[chosen] * (pieces.start[chosen] - log_share / pieces.rate[chosen])
        log_envelope = pieces.height[chosen] + log_share
        return np.asarray(t[-noise.standard_exponential(number) <= law.log_ratio(t) - log_envelope])

    return conditioned(propose, size, 0.9)


def _pieces(law: FallingLaw) -> _Pieces:
    """Two pieces on every side that the interval has."""
    rows = []
    for sign, width in ((-1.0, law.below), (1.0, law.above)):
        if width > 0.0:
            at = _touching_point(law, sign, width)
            first, second = (max(-sign * float(law.slope(np.asarray(sign * d))), 0.0) for d in (0.0, at))
            depth = -float(law.log_ratio(np.asarray(sign * at)))
            crossing = (second * at - depth) / (second - first) if second > first * (1 + 1e-9) else at
            crossing = min(max(crossing, 0.0), at)
            rows.append((sign, 0.0, crossing, first, 0.0))
            rows.append((sign, crossing, width - crossing, second, -first * crossing))
    signs, start, length, rate, height = np.array(rows).T
    rate = np.maximum(rate, 1e-14 / np.maximum(length, np.finfo(float).tiny))  # as good as 0, and not to be tested for
    return _Pieces(signs, start, rate * length, rate, height)


def _touching_point(law: FallingLaw, sign: float, width: float) -> float:
    """Roughly where log_ratio is -1, or the end of the interval if it does not get there."""

    def depth(d: float) -> float:
        return -float(law.log_ratio(np.asarray(sign * d)))

    at = min(1.0, width)
    while depth(at) > 1.0:
        at /= 2.0
    while depth(at) < 0.5 and at < width:
        at = min(1.4 * at, width)
    return at
