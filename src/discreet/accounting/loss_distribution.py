"""Numerical privacy loss distributions: any mixture of releases composed at once, never below the true delta.

For a pair (P, Q) the loss is log dP/dQ under P, and delta(epsilon) = E (1 - e^{epsilon - loss})_+ plus the mass at
infinity. Losses add up under composition, so their laws convolve  [Koskela, Jälkö, Honkela 2020].

Every rounding goes up:
* a loss between two grid points is split between them so that both P and Q keep their mass. Merging the points again
  is post-processing, so the split pair dominates  [Doroshenko et al. 2022, "connect the dots"]; where the split is
  not known to the last digit, more goes to the upper point;
* what lies above the window goes to infinity, what lies below it to its lowest point;
* a direct convolution is scaled up by its relative rounding; one by FFT pays a bound on its rounding at infinity, about
  1e-13 each and 1e-11 for a thousand releases, the smallest delta it certifies. The FFT is padded: nothing wraps.

The pairs built here are symmetric, so one order stands for both. Of another pair build both orders, compose each with
its own kind, and take the larger delta. Composition is of releases fixed in advance: adaptive choices need a filter.
"""

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.profiles import discrete_gaussian_tail
from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array

__all__ = ["LossDistribution", "compose_all", "grid_for"]

Survival = Callable[[Array], tuple[Array, Array]]

UNIT_ROUNDOFF = 2.0**-53

# Tails of a single release beyond this many standard deviations, 2e-33 of mass, are moved as described above.
DEVIATIONS = 12.0

# How far a survival function may be wrong, relative to itself.
ROUNDING = 1e-13

# Up to this many products, hundredths of a second, a direct convolution is used: it keeps every digit of the tails.
DIRECT_PRODUCTS = 2**26

# Windows shorter than this are kept whole, so that small compositions of pure releases stay pure.
SHORT = 2**12


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """Probabilities of the losses (offset + i) · grid, and of an infinite loss."""

    grid: float
    offset: int
    probabilities: Array
    infinite_mass: float = 0.0

    @classmethod
    def pure(cls, epsilon: float, *, grid: float) -> Self:
        """The worst epsilon-DP pair, randomised response: losses ± epsilon. Exact if the grid divides epsilon."""
        _check("epsilon", epsilon)
        likely, unlikely = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
        likely *= 1 + 4 * UNIT_ROUNDOFF  # a rounding that is repeated a million times adds up

        def survival(loss: Array) -> tuple[Array, Array]:
            middle, low = loss < epsilon, loss < -epsilon
            return np.where(low, 1.0, middle * likely), np.where(low, 1.0, middle * unlikely)

        return cls._from_survival(survival, -epsilon, epsilon, grid)

    @classmethod
    def approximate(cls, epsilon: float, delta: float, *, grid: float) -> Self:
        """The worst (epsilon, delta)-DP pair: delta at infinity, the rest as in the pure one  [KOV2015]."""
        if not 0.0 <= delta < 1.0:
            raise GuaranteeError(f"LossDistribution delta must be in [0, 1), got {delta!r}")
        pure = cls.pure(epsilon, grid=grid)
        return cls(grid, pure.offset, (1 - delta) * pure.probabilities, delta)

    @classmethod
    def laplace(cls, epsilon: float, *, grid: float) -> Self:
        """Continuous Laplace noise of scale sensitivity / epsilon: half of the mass sits at the loss epsilon."""
        _check("epsilon", epsilon)

        def survival(loss: Array) -> tuple[Array, Array]:
            inside = np.clip(loss, -epsilon, epsilon)
            p, q = 1 - 0.5 * np.exp((inside - epsilon) / 2), 0.5 * np.exp(-(inside + epsilon) / 2)
            above, below = loss >= epsilon, loss < -epsilon
            return np.where(above, 0.0, np.where(below, 1.0, p)), np.where(above, 0.0, np.where(below, 1.0, q))

        return cls._from_survival(survival, -epsilon, epsilon, grid)

    @classmethod
    def gaussian(cls, mu: float, *, grid: float) -> Self:
        """mu-Gaussian DP: the loss is N(mu²/2, mu²)."""
        from scipy.special import ndtr

        _check("mu", mu)
        middle, reach = mu**2 / 2, DEVIATIONS * mu
        return cls._from_survival(
            lambda loss: (ndtr(mu / 2 - loss / mu), ndtr(-mu / 2 - loss / mu)), middle - reach, middle + reach, grid
        )

    @classmethod
    def discrete_laplace(cls, shift: int, scale: float, *, grid: float) -> Self:
        """Two-sided geometric noise P(k) ∝ e^{-|k|/scale} against itself shifted by an integer."""
        _check("scale", scale)
        _check_shift(shift)

        def below(k: Array) -> Array:
            tail = np.exp(-np.abs(np.where(k < 0, -k, k + 1)) / scale) / (1 + math.exp(-1 / scale))
            return np.where(k < 0, tail, 1 - tail)

        def survival(loss: Array) -> tuple[Array, Array]:
            # the loss is (shift - 2k) / scale for 0 ≤ k ≤ shift, and constant outside
            last = np.ceil((shift - loss * scale) / 2) - 1
            last = np.where(
                loss >= shift / scale, -np.inf, np.where(loss < -shift / scale, np.inf, np.clip(last, 0, shift - 1))
            )
            return below(last), below(last - shift)

        return cls._from_survival(survival, -shift / scale, shift / scale, grid)

    @classmethod
    def discrete_gaussian(cls, shift: int, sigma: float, *, grid: float) -> Self:
        """Noise ∝ e^{-k²/2 sigma²} on the integers against itself shifted by an integer."""
        _check("sigma", sigma)
        _check_shift(shift)
        mu = shift / sigma
        reach = DEVIATIONS * mu + mu**2 / shift  # one more integer step

        def survival(loss: Array) -> tuple[Array, Array]:
            # the loss at k is (shift² - 2 k shift) / 2 sigma²
            last = np.ceil(shift / 2 - loss * sigma**2 / shift) - 1
            return discrete_gaussian_tail(last, sigma), discrete_gaussian_tail(last - shift, sigma)

        return cls._from_survival(survival, mu**2 / 2 - reach, mu**2 / 2 + reach, grid)

    @classmethod
    def _from_survival(cls, survival: Survival, lowest: float, highest: float, grid: float) -> Self:
        """Split the loss of a pair, given by P(loss > x) and Q(loss > x), on the grid points around its support."""
        _check("grid", grid)
        first, last = math.floor(lowest / grid) - 1, math.ceil(highest / grid)
        last += last * grid < highest
        points: Array = np.arange(first, last + 1.0) * grid
        above_p, above_q = (np.minimum.accumulate(values) for values in survival(points))
        mass, other = above_p[:-1] - above_p[1:], above_q[:-1] - above_q[1:]
        # The share w of the upper point solves (1 - w) e^{-x} + w e^{-x-grid} = other / mass at the lower point x.
        with np.errstate(divide="ignore", invalid="ignore"):
            tilted = np.exp(points[:-1] + np.log(other)) / mass
            error = ROUNDING * (above_p[:-1] + np.exp(points[:-1] + np.log(above_q[:-1]))) / mass
            share = (1 - tilted + error) / -math.expm1(-grid)
        upper = mass * np.where(mass > 0, np.clip(share, 0.0, 1.0), 0.0)
        probabilities = np.zeros(len(points))
        probabilities[1:] += upper
        probabilities[:-1] += mass - upper
        probabilities[0] += 1 - above_p[0]
        return cls(grid, first, probabilities, float(above_p[-1]))

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`, never too small."""
        start = max(math.floor(epsilon / self.grid) - self.offset, 0)
        tail = self.probabilities[start:]
        losses = np.arange(self.offset + start, self.offset + start + len(tail)) * self.grid
        losses = losses + 4 * UNIT_ROUNDOFF * np.abs(losses)
        finite = float(tail @ -np.expm1(np.minimum(epsilon - losses, 0.0)))
        return min(finite * (1 + 4 * UNIT_ROUNDOFF * (len(tail) + 4)) + self.infinite_mass, 1.0)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon ≥ 0 certified at `delta`, rounded up; infinite below the mass at infinity."""
        return math.inf if delta < self.infinite_mass else solve_decreasing(self.delta, delta)

    def compose(self, other: Self) -> Self:
        """The loss of both releases together."""
        if self.grid != other.grid:
            raise GuaranteeError(
                f"LossDistribution.grid must be the same in both, got {self.grid!r} and {other.grid!r}"
            )
        probabilities, error = _convolve(self.probabilities, other.probabilities)
        infinite = self.infinite_mass + other.infinite_mass + error
        return type(self)(self.grid, self.offset + other.offset, probabilities, infinite)._trimmed(error)

    def self_compose(self, count: int) -> Self:
        """The loss of `count` such releases, by squaring and multiplying."""
        if not count >= 0:
            raise GuaranteeError(f"LossDistribution.self_compose count must be at least 0, got {count!r}")
        result, power = type(self)(self.grid, 0, np.ones(1)), self
        while count:
            if count % 2:
                result = result.compose(power)
            count //= 2
            if count:
                power = power.compose(power)
        return result

    def _trimmed(self, error: float) -> Self:
        """Move tails no heavier than the rounding already paid for: the upper to infinity, the lower to its end."""
        if len(self.probabilities) <= SHORT:
            return self
        allowance = max(error, 1e-30)
        upper = int(np.searchsorted(np.cumsum(self.probabilities[::-1]), allowance, side="right"))
        lower = int(np.searchsorted(np.cumsum(self.probabilities), allowance, side="right"))
        kept = self.probabilities[lower : len(self.probabilities) - upper].copy()
        kept[0] += self.probabilities[:lower].sum()
        lost = float(self.probabilities[len(self.probabilities) - upper :].sum())
        return type(self)(self.grid, self.offset + lower, kept, self.infinite_mass + lost)


def compose_all(terms: Iterable[tuple[LossDistribution, int]]) -> LossDistribution:
    """The loss of all releases together; each comes with the number of times it is made, shortest windows first."""
    powers = [distribution.self_compose(count) for distribution, count in terms]
    if not powers:
        raise GuaranteeError("compose_all.terms must hold at least one release, got none")
    heap = [(len(power.probabilities), position, power) for position, power in enumerate(powers)]
    heapq.heapify(heap)
    for position in range(len(heap), 2 * len(heap) - 1):
        both = heapq.heappop(heap)[2].compose(heapq.heappop(heap)[2])
        heapq.heappush(heap, (len(both.probabilities), position, both))
    return heap[0][2]


def grid_for(deviations: Iterable[tuple[float, int]]) -> float:
    """A power of two, at most 1/64 of the root mean square deviation of all losses, each given with its count.

    Splitting then adds less than 1/16,000 to the variance of the sum, however many there are. The deviation of the loss
    is at most epsilon for a pure release and mu, or shift / sigma, for a Gaussian one.
    """
    pairs = list(deviations)
    total = sum(count for _, count in pairs)
    square = sum(count * deviation**2 for deviation, count in pairs)
    if not (total > 0 and square > 0):
        raise GuaranteeError(f"grid_for.deviations must hold a positive deviation and count, got {pairs!r}")
    return 2.0 ** math.floor(math.log2(math.sqrt(square / total) / 64))


def _convolve(a: Array, b: Array) -> tuple[Array, float]:
    """The convolution of two laws, and a bound on the sum of its absolute errors that is not already inside it."""
    if len(a) * len(b) <= DIRECT_PRODUCTS:
        return np.convolve(a, b) * (1 + 2 * UNIT_ROUNDOFF * (min(len(a), len(b)) + 1)), 0.0
    from scipy.fft import irfft, rfft

    length = len(a) + len(b) - 1
    levels = math.ceil(math.log2(length))
    product = np.maximum(irfft(rfft(a, 2**levels) * rfft(b, 2**levels), 2**levels)[:length], 0.0)
    # Each transform errs by at most 4 u per level in the Euclidean norm [Brisebarre et al. 2020], a spectrum is at most
    # the sum of its law, and a sum of absolute values at most sqrt(length) times the Euclidean norm.
    norms = math.sqrt(a @ a) * b.sum() + math.sqrt(b @ b) * a.sum()
    return product, float(8 * UNIT_ROUNDOFF * (levels + 1) * math.sqrt(length) * norms)


def _check(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise GuaranteeError(f"LossDistribution {name} must be a number above 0, got {value!r}")


def _check_shift(shift: int) -> None:
    if not (1 <= shift < math.inf and shift == int(shift)):
        raise GuaranteeError(f"LossDistribution shift must be a whole number from 1 on, got {shift!r}")
