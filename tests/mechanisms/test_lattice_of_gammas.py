"""How evenly Gamma draws fill the cells of the public grid, counted point by point: conjugate_sample.md, Theorem 4.

A normal number of the ziggurat is a whole number below 2^52 times the step of its layer; Marsaglia and Tsang make a
Gamma draw of it. Whole numbers that lead to one cell are counted for every layer by bisection, through the arithmetic
of doubles, and compared with the length of what leads there in real arithmetic.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.mechanisms.draws.real_laws import SMALL_SHAPE, gamma_draws
from thinned import thinned

Array = NDArray[np.float64]

LAST, AREA = 3.6541528853610088, 0.00492867323399  # where the tail begins, and the area of every layer
MASSES = [1e-5, 1e-3, 0.1, 0.5, 0.9]  # below the draw
LIMIT = 2.0**-15


def layers() -> tuple[Array, Array]:
    """How far every layer reaches, and up to where all of its points are kept."""
    ends = [LAST]
    for _ in range(254):
        ends.append(np.sqrt(-2.0 * np.log(AREA / ends[-1] + np.exp(-0.5 * ends[-1] ** 2))))
    return np.array([AREA / np.exp(-0.5 * LAST**2), *ends]), np.array([*ends, 0.0])


def unevenness(shape: float, low: float, width: float = 2.0**-32) -> float:
    """How far the points that numpy's Gamma draws have from low to (1 + width) low are from their share; 0 in the tail of X."""
    (reach, inner), b = layers(), shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * b)
    start = (np.cbrt(low / b) - 1.0) / c
    if abs(start) > LAST - 0.01:
        return 0.0
    length = np.cbrt(low / b) * np.expm1(np.log1p(width) / 3.0) / c
    outer = np.where(reach > LAST, 0.0, np.exp(-0.5 * reach**2))
    kept = np.where(abs(start) < inner, 1.0, (np.exp(-0.5 * start**2) - outer) / (np.exp(-0.5 * inner**2) - outer))
    kept = np.where(reach > abs(start) + 1e-9, kept, 0.0)
    steps, sign = reach * 2.0**-52, np.sign(start)

    def until(end: float) -> Array:
        """The first whole number whose draw is beyond an end of the cell."""
        left, right = np.zeros(steps.size), np.full(steps.size, 2.0**52)
        while np.any(right - left > 1.0):
            middle = np.floor(0.5 * (left + right))
            v = np.maximum(1.0 + c * (sign * (middle * steps)), 0.0)
            beyond = (b * (v * v * v) >= end) == (sign > 0)
            left, right = np.where(beyond, left, middle), np.where(beyond, middle, right)
        return right

    counted = np.abs(until(low * (1.0 + width)) - until(low))
    return float(abs((kept * counted).sum() / (kept * length / steps).sum() - 1.0))


@pytest.mark.parametrize("shape", [SMALL_SHAPE, 40.0, 1e6])
def test_cells_are_filled_evenly(shape: float) -> None:
    rng = np.random.default_rng(3)
    for mass in MASSES[1:]:
        for x in stats.gamma(shape).ppf(mass * rng.uniform(1.0, 1.001, size=8)):
            assert 0.0 < unevenness(shape, float(x)) < LIMIT


@pytest.mark.parametrize("shape", thinned([1e-6, 0.3, 1.0, 1.1, 3.0, 11.9], (1e-6, 1.0, 11.9).__contains__))
def test_cells_of_small_shapes_are_filled_evenly(shape: float) -> None:
    """Given a draw x = g e^(-E/shape), g - x is an exponential: averages over it."""
    rng = np.random.default_rng(3)
    for x in stats.gamma(shape).ppf(MASSES):
        behind = x + rng.standard_exponential(40)
        assert np.mean([unevenness(shape + 1.0, float(g)) for g in behind]) < LIMIT


def test_small_shapes_without_the_factor_are_not() -> None:
    rng = np.random.default_rng(3)
    low = stats.gamma(1.02).ppf(1e-5 * rng.uniform(1.0, 1.001, size=40))
    assert max(unevenness(1.02, float(x)) for x in low) > 2.0 * LIMIT


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0, 11.9, 12.0])
def test_draws_have_the_law_of_their_shape(shape: float) -> None:
    drawn = gamma_draws(shape, 3.0, 40_000, np.random.default_rng(5))
    assert stats.kstest(drawn, stats.gamma(shape, scale=1.0 / 3.0).cdf).pvalue > 1e-3
    assert stats.kstest(drawn, stats.gamma(1.05 * shape, scale=1.0 / 3.0).cdf).pvalue < 1e-3
