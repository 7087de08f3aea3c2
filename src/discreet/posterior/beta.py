"""Exact posterior of one probability when only a noisy count of the ones was released.

    p(θ | y) = Σ_k w_k Beta(θ; k + a, n - k + b),   w_k ∝ C(n, k) B(k + a, n - k + b) f(y - k)        [B-4]

The unseen count is summed out, so the interval is as wide as the noise makes it. Sums over k cost O(reach of the
noise). With noisy counts of zeros and of ones whose total is private, the likelihood is

    L(θ) = Σ_{i, j} P(i + j) C(i + j, j) (1 - θ)^i θ^j f(y₀ - i) f(y₁ - j)

Up to powers of θ the summand is a table that does not depend on θ, so many θ at once cost one matrix product. Powers
are taken relative to a reference; a θ so far from it that the sum leaves the doubles gets a reference of its own. Both
counts run over at most a thousand nodes, whatever the noise: every count where there are few, and further up steps
below a quarter of a count's deviation and an eighth of the noise's scale. The corner of the noise is a node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import check_released
from discreet.errors import QueryError
from discreet.inference.counts.compositions import Compositions, Total
from discreet.inference.counts.mixture_curve import MixtureCurve
from discreet.inference.counts.noisy_counts import NEGLIGIBLE, NoisyCells, Polya
from discreet.noise import NoiseLaw
from discreet.noise.laws import plausible
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_arrangements, log_polya
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.record_laws import BernoulliRecord
from discreet.schema.row_counts import Sizes

__all__ = ["BetaMixture", "beta_from_count", "beta_from_two_counts", "two_count_likelihood"]


DROPPED = 1e-18  # components below this weight cannot be seen in a double
MOST_PAIRS = 8_000_000
PAIR_DRAWS = 100_000

# of the likelihood of two counts
UNSEEN = 32.0  # nats of noise beyond which a count cannot matter, unless no other is possible
STEPS = 256.0  # of the window of a noise, on each side of its peak
PER_DEVIATION = 4.0  # steps in the deviation of a count
TOTALS = 1000  # evenly spread, at either end
LOST = 1e-200  # of the largest term: a smaller sum may have lost terms to the limits of doubles


@dataclass(frozen=True)
class BetaMixture(Posterior):
    """A mixture of Beta laws; `log_weights` need not be normalised, `log_marginal` is the log evidence."""

    a: Array
    b: Array
    log_weights: Array
    log_marginal: float

    def __post_init__(self) -> None:
        a, b, log_weights = np.broadcast_arrays(*np.atleast_1d(self.a, self.b, self.log_weights))
        if not (np.all(a > 0) and np.all(b > 0) and np.any(np.isfinite(log_weights))):
            raise QueryError("BetaMixture.a and b must be above 0 and one weight above 0")
        log_weights = log_weights - log_weights.max()
        log_weights = log_weights - np.log(np.exp(log_weights).sum())
        kept = log_weights > np.log(DROPPED)
        for name, values in (("a", a), ("b", b), ("log_weights", log_weights)):
            object.__setattr__(self, name, np.array(values[kept], dtype=float))

    @cached_property
    def weights(self) -> Array:
        """Posterior probability of each component."""
        return np.asarray(np.exp(self.log_weights) / np.exp(self.log_weights).sum())

    def mean(self) -> float:
        """Posterior mean, exact."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def sd(self) -> float:
        """Posterior standard deviation, exact."""
        total = self.a + self.b
        centre = self.a / total
        within = centre * (self.b / total) / (total + 1.0)
        return float(np.sqrt(self.weights @ (within + (centre - self.mean()) ** 2)))

    def cdf(self, x: ArrayLike) -> Array:
        """P(θ ≤ x), exact."""
        return self._curve.cdf(np.asarray(x, dtype=float))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Array:
        """Independent exact draws of θ."""
        rng = np.random.default_rng(rng)
        component = rng.choice(self.weights.size, size=n, p=self.weights)
        return rng.beta(self.a[component], self.b[component])

    def log_density(self, x: ArrayLike) -> Array:
        """Log posterior density at each x; -inf outside (0, 1)."""
        return self._curve.log_density(np.asarray(x, dtype=float))

    def log_evidence(self) -> float:
        """Log-probability (density, for continuous noise) of the release under the model."""
        return self.log_marginal

    def _exact_density(self) -> Callable[[Array], Array]:
        return lambda x: np.exp(self.log_density(x))

    def _law(self) -> BernoulliRecord:
        return BernoulliRecord()

    def _title(self) -> str:
        return "posterior of one probability"

    def _axes(self) -> Axes:
        return {"probability": {}}

    def _quantiles(self, orders: Array) -> list[float]:
        return list(map(float, self._curve.quantiles(orders)))

    @cached_property
    def _curve(self) -> MixtureCurve:
        return MixtureCurve.of(self.a, self.b, self.weights)


def beta_from_count(y: float, n: int, prior: tuple[float, float], law: NoiseLaw) -> BetaMixture:
    """Posterior given one noisy count of ones among n records, n public."""
    check_released("beta_from_count.y", y)
    y = float(plausible(y, law, n))
    return _from_weights(y, n, prior, law, lambda k: law.log_density(y - k))


def beta_from_two_counts(
    y_zero: float, y_one: float, sizes: Sizes, prior: tuple[float, float], law: NoiseLaw
) -> BetaMixture:
    """Posterior given noisy counts of zeros and of ones; `sizes` is what is known of their total n.

    With n public the pair is (n - k, k). With n private the mixture runs over all pairs that matter; above eight
    million of them, over 100,000 exact draws of the pair from a fixed public seed.
    """
    n, n_max = (sizes.highest if sizes.lowest == sizes.highest else None), sizes.highest
    check_released("beta_from_two_counts.y_zero", y_zero)
    check_released("beta_from_two_counts.y_one", y_one)
    y_zero, y_one = (float(y) for y in plausible([y_zero, y_one], law, n_max if n is None else n))
    if n is not None:
        return _from_weights(
            y_one, n, prior, law, lambda k: law.log_density(y_one - k) + law.log_density(y_zero - (n - k))
        )
    alphas = np.array([prior[1], prior[0]], dtype=float)
    cells = NoisyCells(np.array([y_zero, y_one], dtype=float), law, Polya(alphas), n_max)
    compositions = Compositions.build(cells, Total(sizes, float(alphas.sum())))
    zeros, ones = _possible(compositions, 0), _possible(compositions, 1)
    if zeros.size * ones.size > MOST_PAIRS:
        counts = compositions.sample(PAIR_DRAWS, np.random.default_rng(0))
        pairs, repeats = np.unique(counts, axis=0, return_counts=True)
        zero, one = pairs.T.astype(np.float64)
        return BetaMixture(one + prior[0], zero + prior[1], np.log(repeats), compositions.log_evidence)
    totals = np.arange(zeros[0] + ones[0], zeros[-1] + ones[-1] + 1)
    log_total = log_arrangements(totals, float(alphas.sum())) + sizes.log_weight(totals)
    log_weights = (log_polya(zeros, alphas[0]) + law.log_density(y_zero - zeros))[:, None] + (
        log_polya(ones, alphas[1]) + law.log_density(y_one - ones)
    )
    log_weights += np.lib.stride_tricks.sliding_window_view(log_total, ones.size)  # row i, column j: zeros[i] + ones[j]
    i, j = np.nonzero(log_weights > log_weights.max() - NEGLIGIBLE)
    return BetaMixture(ones[j] + prior[0], zeros[i] + prior[1], log_weights[i, j], compositions.log_evidence)


def two_count_likelihood(y_zero: float, y_one: float, sizes: Sizes, law: NoiseLaw) -> Callable[[Array], Array]:
    """Log-likelihood as a function of θ in (0, 1)."""
    from scipy.special import gammaln

    if sizes.lowest == sizes.highest:
        given = beta_from_two_counts(y_zero, y_one, sizes, (1.0, 1.0), law)
        return lambda theta: given.log_density(theta) + given.log_evidence()
    y_zero, y_one = (float(y) for y in plausible([y_zero, y_one], law, sizes.highest))
    reach = float(np.ceil(law.reach(UNSEEN)))
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


def _possible(compositions: Compositions, j: int) -> Array:
    """Every count of cell j that some part of the range keeps."""
    laws = [part.cells[j] for part in compositions.ranges.parts]
    low, high = min(law.offset for law in laws), max(law.offset + law.weights.size for law in laws)
    return np.arange(low, high, dtype=float)


def _from_weights(
    y: float, n: int, prior: tuple[float, float], law: NoiseLaw, log_noise: Callable[[Array], Array]
) -> BetaMixture:
    """The mixture over k of records among a public n, on a window that grows until its ends are negligible."""
    a, b = prior
    centre, radius = int(np.clip(np.round(y), 0, n)), int(min(law.reach(60.0), 2.0**40)) + 8
    while True:
        low, high = max(0, centre - radius), min(n, centre + radius)
        k = np.arange(low, high + 1, dtype=float)
        log_weights = log_polya(k, a) + log_polya(n - k, b) + log_noise(k) + log_arrangements(n, a + b)
        peak = log_weights.max()
        ends = log_weights[[0, -1]] > peak - NEGLIGIBLE
        if not (ends[0] and low > 0) and not (ends[1] and high < n):
            return BetaMixture(k + a, n - k + b, log_weights, float(peak + np.log(np.sum(np.exp(log_weights - peak)))))
        radius *= 2


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
