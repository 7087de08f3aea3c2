"""Rényi divergences of one draw of a rate: Gamma posteriors of clipped counts and of clipped waiting times.

    counts          Gamma(shape/m + r s, ·)       a record moves the shape by at most r · width
    waiting times   Gamma(·, rate/m + r s)        a record moves the rate by at most r · width

r scales the statistics (diffused), m divides the prior (concentrated). Inside a family the divergence of order λ
follows from the log-partition C:  D = [C(λP + (1-λ)Q) - λ C(P)]/(λ-1) + C(Q)                                  [G-OBS3]

For a fixed difference the divergence is convex in P (the curvature of lnΓ and of -ln is convex), and it grows with the
difference: the supremum over neighbouring tables sits at the ends of the range of the sum, with the full difference
[G-T14].
"""

import math

from discreet.accounting.divergences import SMALLEST_ORDER, share_of_step
from discreet.accounting.rounding import ULPS, outward
from discreet.errors import GuaranteeError
from discreet.numerics.gamma_functions import log_excess_at

__all__ = ["gamma_rate_renyi", "gamma_shape_renyi"]


def gamma_shape_renyi(
    shape: float, n: int, width: float, order: float, *, scale: float = 1.0, shrink: float = 1.0
) -> float:
    """Largest divergence of one draw of a rate, given n counts that are clipped to [0, width]."""
    _check(n, order, shape=shape, width=width, scale=scale, shrink=shrink)
    if n == 0:
        return 0.0
    if math.isinf(order):
        return math.inf
    step, a = scale * width * (1.0 + ULPS), max(order, SMALLEST_ORDER)
    least, most = shape / shrink, shape / shrink + step * (n - 1)
    found = share_of_step([least, least, most, most], [step, -step, step, -step], a)
    return outward(float(found.max()))


def gamma_rate_renyi(
    shape: float,
    rate: float,
    n: int,
    lower: float,
    width: float,
    order: float,
    *,
    scale: float = 1.0,
    shrink: float = 1.0,
) -> float:
    """Largest divergence of one draw of a rate, given n waiting times that are clipped to [lower, lower + width]."""
    _check(n, order, shape=shape, rate=rate, width=width, scale=scale, shrink=shrink)
    if n == 0:
        return 0.0
    if math.isinf(order):
        return math.inf
    power, a = shape / shrink + scale * n, max(order, SMALLEST_ORDER)
    # the divergence falls as the rate grows and rises with the step
    least, step = (rate / shrink + scale * lower * n) * (1.0 - ULPS), scale * width * (1.0 + ULPS)
    if not least > 0.0:
        return math.inf
    bases = (least, least + step * (n - 1))
    pairs = [pair for base in bases for pair in ((base, base + step, step), (base + step, base, -step))]
    found = max(_rate_divergence(*pair, a) for pair in pairs)
    return outward(power * found)


def _rate_divergence(p: float, q: float, step: float, order: float) -> float:
    """D(Gamma(1, p) || Gamma(1, q)) = -log(1 - (a-1) c) / (a-1) - log(1 + c), c = step/p, step = q - p as it is known.

    A shape multiplies it. For small steps both terms are linear in c, which cancels and is left out. Infinite where the
    mixture of the rates is not positive.
    """
    left = (order - 1.0) * step / p * (1.0 + ULPS)
    if left >= 1.0:
        return math.inf
    mixed, moved = log_excess_at(-left, math.log1p(-left)), log_excess_at(step / p, math.log(q / p))
    return -mixed / (order - 1.0) - moved


def _check(n: int, order: float, **positive: float) -> None:
    if not n >= 0 or not order >= 1.0:
        raise GuaranteeError(f"n must be at least 0 and order at least 1, got {n!r} and {order!r}")
    for name, value in positive.items():
        if not 0.0 < value < math.inf:
            raise GuaranteeError(f"{name} must be above 0, got {value!r}")
