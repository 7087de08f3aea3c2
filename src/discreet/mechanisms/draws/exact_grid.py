"""A tempered posterior on the points of a public grid, drawn in whole numbers. Proof: posterior_sample/proof.md.

    u_i = Σ_j s_j t_ij + p_i                                whole numbers: s the statistic, t and p public tables
    w_i = max(M, floor(K exp(-rate (max u - u_i))))         K = 2^120, M = 2^40

A uniform whole number below Σ w_i picks the point. The tables are logarithms in units of 2^-bits; how they were rounded
is part of their definition and costs nothing. Only the exponential is a double, and its error is charged (`SLACK`).
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.draws.real_laws import LAWS, log_density
from discreet.noise.sources import NoiseSource
from discreet.numerics.arrays import Array
from discreet.queries.families import OneConjugate, Tempering

__all__ = ["MOST_POINTS", "SLACK", "GridLaw", "default_grid", "grid_ends", "grid_law", "log_grid_law"]

Whole = NDArray[Any]  # int64 where sums of products fit, else Python integers

MOST_POINTS = 2**22
LARGEST_WEIGHT, SMALLEST_WEIGHT = 120, 40  # powers of two
DIGIT = 40
FLOOR = (LARGEST_WEIGHT - SMALLEST_WEIGHT) * math.log(2.0)
SLACK = Fraction(1, 2**36)  # what the rounding of two neighbours' weights can add to the range of their log-ratio
SPARE_BITS = 16  # the rounding of a table moves a log-weight by at most 2^-16
BATCH = 2**22  # numbers in memory at once
MANY = 1000  # draws from which on all cumulative weights are worth having as whole numbers


@dataclass(frozen=True, eq=False)
class GridLaw:
    """The public tables of the law, in whole numbers, and the rate at which a unit of utility counts."""

    points: Array
    slopes: tuple[Whole, ...]
    public: Whole
    rate: float

    def weights(self, exact: tuple[int, ...]) -> Whole:
        """The integer weight of every point; none is below 2^40, so that every table has the same support."""
        return np.asarray(_joined(self._digits(exact).astype(object)))

    def draw(self, exact: tuple[int, ...], draws: int, noise: NoiseSource) -> Array:
        """Independent draws: one whole number below the total weight for each, found among the cumulative weights."""
        cumulative = self._digits(exact).cumsum(axis=1)  # at most 2^22 times 2^40
        last = self.points.size - 1

        def until(i: int) -> int:
            return int(_joined(cumulative[:, i].tolist()))

        total = until(last)
        picks = (noise.below(total) for _ in range(draws))
        if draws < MANY:  # few of the sums are needed as whole numbers
            return self.points[[bisect_right(range(last), pick, key=until) for pick in picks]]
        ends = [int(_joined(digits)) for digits in cumulative[:, :last].T.tolist()]
        return self.points[np.fromiter((bisect_right(ends, pick) for pick in picks), dtype=np.int64, count=draws)]

    def _digits(self, exact: tuple[int, ...]) -> NDArray[np.int64]:
        """The three digits of every weight in base 2^40, the highest first: exact, and without Python integers."""
        utilities = self.public + sum(value * slope for value, slope in zip(exact, self.slopes, strict=True))
        below = np.asarray(utilities.max() - utilities, dtype=float)
        rest = np.maximum(
            np.exp(-np.minimum(self.rate * below, FLOOR + 1.0)), 2.0 ** (SMALLEST_WEIGHT - LARGEST_WEIGHT)
        )
        digits = np.empty((3, below.size), dtype=np.int64)
        for digit in digits:
            rest = np.ldexp(rest, DIGIT)  # powers of two and integer parts do not round
            digit[:] = rest
            rest = rest - digit
        return digits


def default_grid(low: Fraction, high: Fraction) -> float:
    """A power of two with 2^16 to 2^17 multiples in the interval."""
    return 2.0 ** (math.frexp(float(high - low))[1] - 17)


def grid_ends(low: Fraction, high: Fraction, grid: float) -> tuple[int, int]:
    """The first and the last multiple of the grid inside the interval."""
    return math.ceil(low / Fraction(grid)), math.floor(high / Fraction(grid))


@lru_cache(maxsize=4)  # public: simulations ask for the same tables again and again
def grid_law(
    family: OneConjugate,
    n: int,
    ends: tuple[int, int],
    grid: float,
    temperature: float,
    tempering: Tempering,
    loss: float,
) -> GridLaw:
    """The law whose log-ratio between neighbours stays in an interval of length `loss`, rounding included."""
    points: Array = np.arange(ends[0], ends[1] + 1).astype(np.float64) * grid
    slopes, row, prior, log_natural = family.grid_tables(points)
    factor = temperature if tempering == "likelihood" else 1.0
    extra = (temperature - 1.0) * log_natural if tempering == "natural" else 0.0
    shared = n * row + factor * prior + extra
    most, widths = family.statistic_bounds(n)
    bits = SPARE_BITS + max(most).bit_length()
    tables = [_whole(np.rint(np.ldexp(table, bits))) for table in (*slopes, shared - shared.max())]
    largest = sum(size * int(abs(table).max()) for size, table in zip((*most, 1), tables, strict=True))
    if largest < 2**62:
        tables = [table.astype(np.int64) for table in tables]
    *slopes_in_units, public = tables
    swing = sum(width * int(t.max() - t.min()) for width, t in zip(widths, slopes_in_units, strict=True))
    rate = math.ldexp(1.0 / temperature, -bits)
    if swing > 0:
        rate = min(rate, _round_down((Fraction(loss) - SLACK) / swing))
    return GridLaw(points, tuple(slopes_in_units), public, rate)


def log_grid_law(
    family: OneConjugate, law: GridLaw, draws: ArrayLike, laws: tuple[Array, Array], exact: Array, n: int
) -> Array:
    """Log-probability of all `draws` together for every value of the exact statistic.

    `laws` are the parameters of the continuous laws at those values. Where the grid is fine beside a law its sum over
    the points is the integral with Gregory's corrections, the last of which is below 1e-5; elsewhere points are summed.
    """
    theta = np.ravel(np.asarray(draws, dtype=float))
    points, step = law.points, float(law.points[1] - law.points[0])
    low, width = family.unit
    space = ((float(points[0]) - low) / width, (float(points[-1]) - low) / width)
    a, b, c, z, y, x = (step * np.exp(log_density(family, points[[i]], laws, space)) for i in (0, 1, 2, -1, -2, -3))
    curvature = ((z - 2.0 * y + x) + (a - 2.0 * b + c)) / 24.0
    excess = 0.5 * (a + z) + ((z - y) - (b - a)) / 12.0 + curvature
    fine = (step <= width * LAWS[family.law].deviation(*laws)) & (np.abs(curvature) <= 1e-5)
    smooth = log_density(family, theta, laws, space)
    smooth = smooth + theta.size * (math.log(step) - np.log1p(np.where(fine, excess, 0.0)))
    if fine.all():
        return smooth
    result = np.array(smooth)
    result[~fine] = _summed(law, theta, np.asarray(exact, dtype=float)[~fine], n)
    return result


def _summed(law: GridLaw, theta: Array, exact: Array, n: int) -> Array:
    """The same, point by point; the floor of the weights is left out: together the points on it have below 2^-58."""
    slope = law.slopes[-1] if len(law.slopes) == 1 else law.slopes[1] - law.slopes[0]
    shared = law.public if len(law.slopes) == 1 else law.public + n * law.slopes[0]
    t, c = (law.rate * np.asarray(table, dtype=float) for table in (slope, shared))
    chosen = np.searchsorted(law.points, theta - 0.5 * (law.points[1] - law.points[0]))
    log_total = np.empty(exact.size)
    many = max(1, BATCH // t.size)
    for start in range(0, exact.size, many):
        terms = np.multiply.outer(exact[start : start + many], t) + c
        top = terms.max(axis=1)
        log_total[start : start + many] = top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))
    return np.asarray(exact * t[chosen].sum() + c[chosen].sum() - theta.size * log_total)


def _joined(digits: Any) -> Any:
    """The whole number of three digits in base 2^40."""
    high, middle, low = digits
    return (high << (2 * DIGIT)) + (middle << DIGIT) + low


def _whole(values: Array) -> Whole:
    """Doubles that are whole numbers, as Python integers."""
    return np.asarray(np.frompyfunc(int, 1, 1)(values), dtype=object)


def _round_down(value: Fraction) -> float:
    number = float(value)
    return number if Fraction(number) <= value else math.nextafter(number, 0.0)
