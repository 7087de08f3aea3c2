"""The likelihood of one probability given noisy counts of zeros and of ones whose total is private.

    L(θ) = Σ_{i, j} P(i + j) C(i + j, j) (1 - θ)^i θ^j f(y₀ - i) f(y₁ - j)

Up to powers of θ the summand is a table that does not depend on θ, so many θ at once cost one matrix product. Powers
are taken relative to a reference; a θ so far from it that the sum leaves the doubles gets a reference of its own.

Both counts run over at most a thousand nodes, whatever the noise: every count where there are few, and further up steps
below a quarter of a count's deviation and an eighth of the noise's scale. The corner of the noise is a node.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.inference.counts.noisy_counts import plausible
from discreet.noise import NoiseLaw
from discreet.posterior.beta import beta_from_two_counts
from discreet.schema.row_counts import Sizes

__all__ = ["two_count_likelihood"]

Array = NDArray[np.float64]

NEGLIGIBLE = 32.0  # nats of noise beyond which a count cannot matter, unless no other is possible
STEPS = 256.0  # of the window of a noise, on each side of its peak
PER_DEVIATION = 4.0  # steps in the deviation of a count
TOTALS = 1000  # evenly spread, at either end
LOST = 1e-200  # of the largest term: a smaller sum may have lost terms to the limits of doubles


def two_count_likelihood(y_zero: float, y_one: float, sizes: Sizes, law: NoiseLaw) -> Callable[[Array], Array]:
    """Log-likelihood as a function of θ in (0, 1)."""
    from scipy.special import gammaln

    if sizes.lowest == sizes.highest:
        given = beta_from_two_counts(y_zero, y_one, sizes, (1.0, 1.0), law)
        return lambda theta: given.log_density(theta) + given.log_evidence()
    y_zero, y_one = (float(y) for y in plausible([y_zero, y_one], law, sizes.highest))
    reach = float(np.ceil(law.reach(NEGLIGIBLE)))
    while max(0.0, y_zero - reach) + max(0.0, y_one - reach) > sizes.highest:  # far more than there can be
        reach *= 2.0
    (zeros, log_zeros), (ones, log_ones) = (_nodes(y, reach, sizes.highest) for y in (y_zero, y_one))
    totals = zeros[:, np.newaxis] + ones
    log_table = _log_sizes(sizes, totals) + gammaln(totals + 1.0)
    log_table += (log_zeros + law.log_density(y_zero - zeros) - gammaln(zeros + 1.0))[:, np.newaxis]
    log_table += log_ones + law.log_density(y_one - ones) - gammaln(ones + 1.0)

    def relative_to(share: float, theta: Array) -> Array:
        """The log-likelihood, with powers relative to those of `share`; nan where it cannot be told."""
        table = log_table + (zeros * np.log1p(-share))[:, np.newaxis] + ones * np.log(share)
        top = float(table.max())
        left = zeros[:, np.newaxis] * (np.log1p(-theta) - np.log1p(-share))
        right = ones[:, np.newaxis] * (np.log(theta) - np.log(share))
        left_top, right_top = left.max(axis=0), right.max(axis=0)
        inner = np.exp(table - top) @ np.exp(right - right_top)
        summed = np.sum(np.exp(left - left_top) * inner, axis=0)
        return np.asarray(np.log(np.where(summed > LOST, summed, np.nan)) + top + left_top + right_top)

    def log_likelihood(theta: Array) -> Array:
        flat = np.ravel(np.asarray(theta, dtype=float))
        first = (max(y_one, 0.0) + 1.0) / (max(y_zero, 0.0) + max(y_one, 0.0) + 2.0)
        found = relative_to(first, flat)
        while np.any(lost := np.isnan(found)):  # a reference loses nothing itself, so that each turn finds one at least
            left_over = np.sort(flat[lost])
            found[lost] = relative_to(float(left_over[left_over.size // 2]), flat[lost])
        return found.reshape(np.shape(theta))

    return log_likelihood


def _log_sizes(sizes: Sizes, totals: Array) -> Array:
    """Log-probabilities of totals: a table of thousands of nodes, as dense as it can be where the prior ends."""
    low, high = float(totals.min()), min(float(totals.max()), float(sizes.highest))
    listed = np.concatenate([np.linspace(low, high, TOTALS), low + np.arange(TOTALS), high - np.arange(TOTALS)])
    nodes = np.unique(np.clip(np.round(listed), low, high))
    return np.asarray(np.where(totals <= high, np.interp(totals, nodes, sizes.log_weight(nodes)), -np.inf))


def _nodes(released: float, reach: float, highest: int) -> tuple[Array, Array]:
    """Counts near the released one, itself among them, and the log of how many counts each of them stands for."""
    centre = float(np.clip(np.round(released), 0, highest))
    first, last = max(0.0, centre - reach), min(float(highest), centre + reach)

    def outwards(end: float, sign: float) -> list[float]:
        found = [centre]
        while found[-1] != end:
            step = np.floor(min(np.sqrt(found[-1]) / PER_DEVIATION, reach / STEPS))
            found.append(float(np.clip(found[-1] + sign * max(1.0, step), first, last)))
        return found

    counts = np.array(outwards(first, -1.0)[:0:-1] + outwards(last, 1.0))
    gaps = np.concatenate([[1.0], np.diff(counts), [1.0]])
    return counts, np.asarray(np.log(0.5 * (gaps[1:] + gaps[:-1])))
