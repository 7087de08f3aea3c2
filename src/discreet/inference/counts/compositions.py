"""The exact posterior of unseen counts: every composition of the total, weighted.

Cells k_1 … k_K add up to N, which is public or private within public bounds. With the weights w_j of the cells the
posterior is

    P(k | y) ∝ g(N) Π_j w_j(k_j),   g(N) = P(N) N! Γ(A) / Γ(N + A)

(Dirichlet-multinomial, A = Σ alpha; without the two Γ when the cell probabilities are given). The sum over all k,
which is the evidence, and exact independent draws come from `convolution`.
"""

from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.inference.counts.convolution import Law
from discreet.inference.counts.noisy_counts import Cells, CountWindow
from discreet.inference.counts.tilted_ranges import TiltedRanges
from discreet.numerics.arrays import Array, Integers
from discreet.numerics.gamma_functions import log_arrangements
from discreet.schema.row_counts import Sizes

__all__ = ["Compositions", "Total"]


OMITTED = 28.0  # nats below the most probable total: the range is widened until its ends are less likely than this


@dataclass(frozen=True)
class Total:
    """What is known of N beforehand, and A where the cell probabilities are unknown."""

    sizes: Sizes
    concentration: float | None

    @property
    def lowest(self) -> int:
        """The smallest possible total."""
        return self.sizes.lowest

    @property
    def highest(self) -> int:
        """The largest possible total."""
        return self.sizes.highest

    @property
    def public(self) -> bool:
        """Whether N is known."""
        return self.lowest == self.highest

    def log_weight(self, totals: Integers) -> Array:
        """Log of g(N) on totals within the bounds."""
        return np.asarray(log_arrangements(totals, self.concentration) + self.sizes.log_weight(totals))

    def slope(self, total: float) -> float:
        """Derivative of log g."""
        from scipy.special import digamma

        below = 0.0 if self.concentration is None else digamma(total + self.concentration)
        near = np.clip(np.array([total - 0.5, total + 0.5]), self.lowest, self.highest)
        lower, upper = self.sizes.log_weight(near)
        return float(digamma(total + 1.0) - below) + float(upper - lower)


@dataclass(frozen=True)
class Compositions:
    """All ways in which the cells add up to a possible total, and the posterior of that total."""

    ranges: TiltedRanges
    totals: Integers
    log_weights: Array

    @classmethod
    def build(cls, cells: Cells, total: Total) -> "Compositions":
        """Tilt to the public total, or to the most probable one and widen until nothing that matters is left out."""
        target = float(total.lowest) if total.public else _most_probable_total(cells, total)
        compositions = cls._of(TiltedRanges.around(cells, target, total.highest), total)
        while True:
            low, high = int(compositions.totals[0]), int(compositions.totals[-1])
            matters = compositions.log_weights[[0, -1]] > compositions.log_weights.max() - OMITTED
            wider_low = max(total.lowest, low - (high - low) // 2 - 1) if matters[0] else low
            wider_high = min(total.highest, high + (high - low) // 2 + 1) if matters[1] else high
            log_share = compositions.log_weights - compositions.log_weights.max()
            settled = (wider_low, wider_high) == (low, high)
            if settled and compositions.ranges.is_reliable(compositions.totals, log_share):
                return compositions
            widened = cls._of(TiltedRanges.over(cells, wider_low, wider_high, total.highest), total)
            if widened.totals[0] >= low and widened.totals[-1] <= high:  # the cells cannot reach any further
                return widened
            compositions = widened

    @classmethod
    def _of(cls, ranges: TiltedRanges, total: Total) -> "Compositions":
        totals, log_weights = ranges.log_totals()
        allowed = (totals >= total.lowest) & (totals <= total.highest)
        if not allowed.any():
            raise QueryError(f"Compositions.total must be possible for its cells, got {total.lowest}..{total.highest}")
        return cls(ranges, totals[allowed], log_weights[allowed] + total.log_weight(totals[allowed]))

    @property
    def log_evidence(self) -> float:
        """Log of Σ_k g(N) Π_j w_j(k_j)."""
        peak = self.log_weights.max()
        return float(peak + np.log(np.sum(np.exp(self.log_weights - peak))))

    @property
    def probabilities(self) -> Array:
        """Posterior probability of each of `totals`."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def sample_totals(self, size: int, rng: np.random.Generator) -> Integers:
        """Independent draws of N."""
        cumulative = np.cumsum(self.probabilities)
        chosen = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        return np.asarray(self.totals[np.minimum(chosen, self.totals.size - 1)])

    def sample(self, size: int, rng: np.random.Generator) -> Integers:
        """Independent draws of all counts: an array (size, cells)."""
        return self.ranges.sample(self.sample_totals(size, rng), rng)

    def marginals(self) -> tuple[Law, ...]:
        """The exact law of every count; needs a public total."""
        if self.totals.size != 1:
            raise QueryError("Compositions.marginals must have a public total, got a private one")
        return self.ranges.marginals(int(self.totals[0]))


def _most_probable_total(cells: Cells, total: Total) -> float:
    """Saddle point of the private total: the mean K'(t) of the cells under the tilt t at which t = d log g / dN.

    t - slope(K'(t)) increases with t, because the cells are at least as certain of their sum as the model alone.
    """
    window = cells.window(cells.radius)

    def mean(tilt: float) -> float:
        return float(window.moments(tilt)[0].sum())

    def excess(tilt: float) -> float:
        return tilt - total.slope(float(np.clip(mean(tilt), total.lowest, total.highest)))

    near, step = 0.0, 0.25 / max(1.0, _deviation(window))
    direction = -1.0 if excess(near) > 0 else 1.0
    far = near
    for _ in range(80):
        near, far, step = far, far + direction * step, 2.0 * step
        if excess(far) * direction > 0:
            break
    for _ in range(40):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if excess(middle) * direction > 0 else (middle, far)
    return float(np.clip(mean(0.5 * (near + far)), total.lowest, total.highest))


def _deviation(window: CountWindow) -> float:
    return float(np.sqrt(window.moments(0.0)[1].sum()))
