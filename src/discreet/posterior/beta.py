"""Exact posterior of one probability when only a noisy count of the ones was released.

    p(θ | y) = Σ_k w_k Beta(θ; k + a, n - k + b),   w_k ∝ C(n, k) B(k + a, n - k + b) f(y - k)        [B-4]

The unseen count is summed out, so the interval is as wide as the noise makes it. Sums over k cost O(reach of the
noise).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.counts.compositions import Lattice, Total, log_arrangements
from discreet.inference.counts.mixture_curve import MixtureCurve
from discreet.inference.counts.noisy_counts import NEGLIGIBLE, NoisyCells, Polya, plausible
from discreet.noise import NoiseLaw
from discreet.numerics.gamma_functions import log_polya
from discreet.posterior.export import DEFAULT_DRAWS, to_datatree
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_text, check_order, check_released, describe, tails
from discreet.schema.row_counts import Sizes

__all__ = ["BetaMixture", "beta_from_count", "beta_from_two_counts"]

Array = NDArray[np.float64]

DROPPED = 1e-18  # components below this weight cannot be seen in a double
MOST_PAIRS = 8_000_000
PAIR_DRAWS = 100_000


@dataclass(frozen=True)
class BetaMixture:
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

    def quantile(self, q: float) -> float:
        """The q-quantile, by a safe Newton search on the exact CDF."""
        check_order(q)
        return float(self._curve.quantiles(np.array([q]))[0])

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Equal-tailed interval that holds θ with probability `level`, given the release."""
        lower, upper = self._curve.quantiles(tails(level))
        return float(lower), float(upper)

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Array:
        """Independent exact draws of θ."""
        rng = np.random.default_rng(rng)
        component = rng.choice(self.weights.size, size=n, p=self.weights)
        return rng.beta(self.a[component], self.b[component])

    def log_density(self, x: ArrayLike) -> Array:
        """Log posterior density at each x; -inf outside (0, 1)."""
        return self._curve.log_density(np.asarray(x, dtype=float))

    def predict(self, n: int, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Codes 0 and 1 of n new records, each an independent draw from the posterior predictive law."""
        rng = np.random.default_rng(rng)
        return (rng.random(n) < self.sample(n, rng)).astype(np.int64)

    def summary(self) -> Summary:
        """Mean, deviation and 90% interval of "probability"."""
        lower, upper = self.interval(SUMMARY_LEVEL)
        return describe(["probability"], {"mean": self.mean(), "sd": self.sd(), "lower": lower, "upper": upper})

    def log_evidence(self) -> float:
        """Log-probability (density, for continuous noise) of the release under the model."""
        return self.log_marginal

    def to_datatree(
        self,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree for ArviZ; `attributes` must be public."""
        return to_datatree({"probability": self.sample(draws, rng)}, {}, attributes)

    def __str__(self) -> str:
        return as_text("posterior of one probability", self.summary())

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
    lattice = Lattice.build(cells, Total(sizes, float(alphas.sum())))
    zeros, ones = _possible(lattice, 0), _possible(lattice, 1)
    if zeros.size * ones.size > MOST_PAIRS:
        counts = lattice.sample(PAIR_DRAWS, np.random.default_rng(0))
        pairs, repeats = np.unique(counts, axis=0, return_counts=True)
        zero, one = pairs.T.astype(np.float64)
        return BetaMixture(one + prior[0], zero + prior[1], np.log(repeats), lattice.log_evidence)
    totals = np.arange(zeros[0] + ones[0], zeros[-1] + ones[-1] + 1)
    log_total = log_arrangements(totals, float(alphas.sum())) + sizes.log_weight(totals)
    log_weights = (log_polya(zeros, alphas[0]) + law.log_density(y_zero - zeros))[:, None] + (
        log_polya(ones, alphas[1]) + law.log_density(y_one - ones)
    )
    log_weights += np.lib.stride_tricks.sliding_window_view(log_total, ones.size)  # row i, column j: zeros[i] + ones[j]
    i, j = np.nonzero(log_weights > log_weights.max() - NEGLIGIBLE)
    return BetaMixture(ones[j] + prior[0], zeros[i] + prior[1], log_weights[i, j], lattice.log_evidence)


def _possible(lattice: Lattice, j: int) -> Array:
    """Every count of cell j that some chain of the lattice keeps."""
    laws = [chain.cells[j] for chain in lattice.patchwork.chains]
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
