"""The likelihood of one probability given noisy counts of zeros and of ones whose total is private.

    L(θ) = Σ_{i, j} P(i + j) C(i + j, j) (1 - θ)^i θ^j f(y₀ - i) f(y₁ - j)

Up to powers of θ the summand is a table that does not depend on θ, so many θ at once cost one matrix product.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.noise import NoiseLaw
from discreet.sizes import Sizes

__all__ = ["two_count_likelihood"]

Array = NDArray[np.float64]

NEGLIGIBLE = 32.0  # nats of noise beyond which a count cannot matter, unless no other is possible


def two_count_likelihood(y_zero: float, y_one: float, sizes: Sizes, law: NoiseLaw) -> Callable[[Array], Array]:
    """Log-likelihood as a function of θ in (0, 1)."""
    from scipy.special import gammaln

    reach = np.ceil(law.reach(NEGLIGIBLE))
    zeros, ones = (_window(y, reach, sizes.highest) for y in (y_zero, y_one))
    share = (max(y_one, 0.0) + 1.0) / (max(y_zero, 0.0) + max(y_one, 0.0) + 2.0)  # powers are taken relative to it
    totals = zeros[0] + ones[0] + np.arange(zeros.size + ones.size - 1.0)
    log_total = np.lib.stride_tricks.sliding_window_view(sizes.log_weight(totals) + gammaln(totals + 1.0), ones.size)
    log_table = log_total + (law.log_density(y_zero - zeros) - gammaln(zeros + 1.0) + zeros * np.log1p(-share))[:, None]
    log_table = log_table + (law.log_density(y_one - ones) - gammaln(ones + 1.0) + ones * np.log(share))
    top = float(log_table.max())
    table = np.exp(log_table - top)

    def log_likelihood(theta: Array) -> Array:
        flat = np.ravel(np.asarray(theta, dtype=float))
        left = zeros[:, np.newaxis] * (np.log1p(-flat) - np.log1p(-share))
        right = ones[:, np.newaxis] * (np.log(flat) - np.log(share))
        left_top, right_top = left.max(axis=0), right.max(axis=0)
        inner = table @ np.exp(right - right_top)
        summed = np.sum(np.exp(left - left_top) * inner, axis=0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(summed) + top + left_top + right_top).reshape(np.shape(theta))

    return log_likelihood


def _window(released: float, reach: float, highest: int) -> Array:
    centre = float(np.clip(np.round(released), 0, highest))
    return np.arange(max(0.0, centre - reach), min(float(highest), centre + reach) + 1.0)
