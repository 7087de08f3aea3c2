"""What the public rule knows before and after stage 0: sizes, budgets and noise in real units, and noisy totals."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["ScoreLink", "ScoreTerms", "Totals", "moments_wanted"]

SLOWEST, FASTEST = 0.5, 2.0  # how fast early steps fade
CLEAR, DECADES = 15.0, 6.0  # zeta from which they fade faster, and the factor at which they do so fastest
LEAST_CLARITY = 1.0  # zeta below which only the intercept is asked for
CLEAREST = 1e100  # signal over noise of one score: its square stays a double, whatever was paid
HIGHEST_EDGE = 1.5  # of the noise in second moments, in average eigenvalues
HIGHEST_EDGE_OF_BLOCKS = 0.5

NODES, RAW_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = RAW_WEIGHTS / RAW_WEIGHTS.sum()


@dataclass(frozen=True)
class ScoreLink:
    """The mean f of a target at a margin, its slope f', the variance of a target there, and its range [low, high]."""

    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    variance: Callable[[Array], Array]
    low: float
    high: float
    by_label: bool = False  # features are public

    def weight(self, mean: Array, stretch: Array | float = 1.0) -> Array:
        """The weight w = min(1, rho / (2 |u| max(f - lo, hi - f))) of a record whose |u| is rho times `stretch`.

        Where only labels are private, two of them are never further apart than the bounds: (hi - lo)/2 for the maximum.
        """
        if self.by_label:
            farthest = np.full_like(mean, 0.5 * (self.high - self.low))
        else:
            farthest = np.maximum(mean - self.low, self.high - mean)
        return np.asarray(np.minimum(1.0, 1.0 / (2.0 * stretch * farthest)))


@dataclass(frozen=True)
class ScoreTerms:
    """Public constants that the rule needs; deviations of the noise are in real units, that of scores per step.

    `rows` may be private: then `size` of the totals is the noisy count.
    """

    link: ScoreLink
    numbers: int  # numeric features
    radius: float  # bound on their length
    blocks: tuple[int, ...]  # levels of every one-hot block
    steps: int
    totals_sd: float
    moments_sd: float | None  # None: no second moments are released
    scores_sd: float
    reach: float  # c: second moments are of vectors no longer than this
    interval: tuple[float, float] = (-1.0, 1.0)  # on which every number lies
    headroom: float = 1.0  # the longest |u| that counts fully, in typical ones

    @property
    def directions(self) -> int:
        """dz: every block loses its constant direction."""
        return self.numbers + sum(size - 1 for size in self.blocks)

    @property
    def bound(self) -> float:
        """rho: a record's score is at most rho / 2 long."""
        return math.sqrt(self.directions + 1.0)

    @property
    def typical(self) -> float:
        """The length |u| of a typical record: what the map aims at."""
        return self.bound / self.headroom

    def slope(self, centre: float, deviation: float) -> float:
        """The slope kappa = E w f' over normal margins, for records of the typical length."""
        margins, link = centre + deviation * NODES, self.link
        return float(WEIGHTS @ (link.weight(link.mean(margins), 1.0 / self.headroom) * link.slope(margins)))

    def precision(self, size: float) -> float:
        """What all steps together say of a margin's variance 1, if spent on one direction: T (kappa n rho / sd)^2.

        Sixty per cent of the slope at the margin 0: what is typical of fitted margins.
        """
        kappa = 0.6 * self.slope(0.0, 0.0)
        return float(min(kappa * size * self.typical / self.scores_sd, CLEAREST) ** 2 * self.steps)

    def clarity(self, size: float) -> float:
        """zeta: signal over noise of one direction when the precision is spread evenly."""
        return math.sqrt(self.precision(size) / (self.directions + 1.0))

    def counts_only(self, size: float) -> bool:
        """Whether there is too little to say anything of so many directions: then scores are counts of the target."""
        return self.clarity(size) < LEAST_CLARITY

    def fading(self, size: float) -> float:
        """How fast early steps fade: they count like the power of their number, more so where there is little noise."""
        over = math.log(max(self.clarity(size), 1e-9) / CLEAR) / math.log(DECADES)
        return SLOWEST + (FASTEST - SLOWEST) * min(max(over, 0.0), 1.0)


@dataclass(frozen=True)
class Totals:
    """Stage 0 as it was released, in real units: noisy sums over records."""

    size: float  # the public number of rows, or the noisy count
    levels: tuple[Array, ...]  # counts of the levels of every block
    sums: Array  # of the numeric features
    squares: float  # of |x_n|^2
    size_sd: float = 0.0  # of the noisy count; 0 for a public number


def moments_wanted(numbers: int, blocks: tuple[int, ...], size: float, moments_sd: float) -> bool:
    """Whether second moments are worth their share: from public numbers, before anything is read.

    The noise edge is compared with the average eigenvalue. Numbers need them more than categories do: a single block
    is known from counts, and of several only how they go together is not.
    """
    directions = numbers + sum(levels - 1 for levels in blocks)
    edge = moments_sd * math.sqrt(2.0 * directions) * directions / size
    if numbers:
        return edge < HIGHEST_EDGE
    return len(blocks) > 1 and edge < HIGHEST_EDGE_OF_BLOCKS
