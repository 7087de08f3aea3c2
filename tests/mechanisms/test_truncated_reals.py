"""Truncated gammas and normals against quadrature with 30 digits, far outside and in the middle, and by draws."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.special import gammainc, ndtr

from discreet.mechanisms.draws.truncated_reals import (
    log_gamma_mass,
    log_normal_mass,
    truncated_gamma_draws,
    truncated_normal_draws,
)

DRAWS = 100_000
STEPS = (0, 0.05, 0.2, 0.5, 1, 2, 4, 8, 16, 40)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def quadrature(log_density, lo: float, hi: float, peak: float, scale: float) -> float:
    """Log of the integral of an unnormalised density from lo to hi, in pieces that widen away from its peak."""
    low, high = mpmath.mpf(lo), mpmath.mpf(hi)
    top = min(max(mpmath.mpf(peak), low), high)
    points = {low, high, top} | {top + sign * step * mpmath.mpf(scale) for step in STEPS for sign in (-1, 1)}
    inside = sorted(p for p in points if max(low, top - 60 * scale) <= p <= min(high, top + 60 * scale))
    highest = log_density(top)
    return float(highest + mpmath.log(mpmath.quad(lambda x: mpmath.exp(log_density(x) - highest), inside)))


def log_gamma_reference(shape: float, lo: float, hi: float) -> float:
    def log_density(x):
        return (shape - 1) * mpmath.log(x) - x - mpmath.loggamma(shape)

    with mpmath.workdps(40):
        slope = abs(1 - mpmath.mpf(shape) / (lo if lo > shape else hi if hi < shape else shape))
        scale = float(min(mpmath.sqrt(shape), 1 / slope if slope > 0 else mpmath.inf))
        return quadrature(log_density, lo, hi, shape, scale)


@pytest.mark.parametrize("shape", [60.0, 1e4, 1e7, 1e10, 1e13])
def test_gamma_mass_of_large_shapes(shape: float) -> None:
    """From 36 standard deviations below to 36 above: masses to 1e-11."""
    for left, right in [(-36, -30), (-6, -5), (-5, 5), (-1, 2), (-1e-4, 2e-4), (3, 9), (30, 36)]:
        lo, hi = shape + left * shape**0.5, shape + right * shape**0.5
        if lo <= 0:
            continue
        expected = log_gamma_reference(shape, lo, hi)
        assert float(log_gamma_mass(shape, 1.0, lo, hi)) == pytest.approx(expected, abs=1e-11, rel=1e-14)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.0, 3.0, 49.0])
def test_gamma_mass_of_small_shapes(shape: float) -> None:
    for lo, hi in [(0.1, 1.0), (0.5, 0.51), (3.0, 30.0), (100.0, 120.0), (700.0, 1000.0), (1e-60, 1e-58)]:
        with mpmath.workdps(60):
            total = mpmath.gammainc(shape, lo, hi, regularized=True)
            expected = float(mpmath.log(total))
        assert float(log_gamma_mass(shape, 1.0, lo, hi)) == pytest.approx(expected, abs=3e-12, rel=3e-15)


def test_scipy_alone_would_be_wrong() -> None:
    """Why large shapes are not left to it: a tenth of the mass at five standard deviations below the mean."""
    shape, end = 1e10, 1e10 - 5e5
    assert gammainc(shape, end) < 0.2 * np.exp(log_gamma_mass(shape, 1.0, 0.0, end))


@pytest.mark.parametrize(
    ("lo", "hi"), [(-1.0, 1.0), (-1e-9, 2e-9), (0.0, 1e-3), (1.0, 1.0001), (5.0, 9.0), (40.0, 41.0), (-3.0, 60.0)]
)
def test_normal_mass(lo: float, hi: float) -> None:
    def log_density(x):
        return -x * x / 2 - mpmath.log(2 * mpmath.pi) / 2

    with mpmath.workdps(40):
        scale = 1 / max(lo, 1.0)
        expected = quadrature(log_density, lo, hi, 0.0, scale)
        for sign in (1, -1):
            ends = sorted((sign * lo, sign * hi))
            assert float(log_normal_mass(0.0, 1.0, *ends)) == pytest.approx(expected, abs=3e-12, rel=1e-15)


def test_draws_stay_inside() -> None:
    shapes, rates = [1e-3, 1.0, 30.0, 1e4, 1e13], [1e-3, 1e9]
    intervals = [(1e-9, 1.0), (10.0, 50.0), (1e-5, 1.0000001e-5), (1e4, np.inf), (3.0, 3.0), (9999.0, 1e4)]
    for shape, rate, (lo, hi) in product(shapes, rates, intervals):
        x = truncated_gamma_draws(shape, rate, lo, hi, 20, rng())
        assert np.all((x >= lo) & (x <= hi))
        assert not np.isnan(log_gamma_mass(shape, rate, lo, hi))
    intervals = [*intervals, (-np.inf, np.inf), (-np.inf, -4.0), (-1e-12, 1e-12)]
    for mean, sd, (lo, hi) in product([-1e9, 0.0, 20.0], [1e-9, 1.0, 1e6], intervals):
        x = truncated_normal_draws(mean, sd, lo, hi, 20, rng())
        assert np.all((x >= lo) & (x <= hi))
        assert not np.isnan(log_normal_mass(mean, sd, lo, hi))


def test_arrays_of_masses_broadcast() -> None:
    shape, lo = np.array([[0.5], [40.0], [1e9]]), np.array([0.1, 1.0, 30.0, 2000.0])
    mass = log_gamma_mass(shape, 2.0, lo, 2 * lo)
    assert mass.shape == (3, 4)
    for i, j in product(range(3), range(4)):
        assert mass[i, j] == pytest.approx(float(log_gamma_mass(shape[i, 0], 2.0, lo[j], 2 * lo[j])), rel=1e-14)


@pytest.mark.parametrize("shape", [0.1, 1.0, 3.0, 200.0])
def test_gamma_draws_have_the_law_of_the_masses(shape: float) -> None:
    for lo, hi in [(0.1, 1.0), (1e-6, 40.0), (shape, shape + 1e-3), (3 * shape, 30 * shape)]:
        x = np.sort(truncated_gamma_draws(shape, 2.0, lo, hi, DRAWS // 5, rng(4)))
        cdf = np.exp(log_gamma_mass(shape, 2.0, lo, x) - log_gamma_mass(shape, 2.0, lo, hi))
        assert distance(x, cdf) < 2.6


def distance(draws: np.ndarray, cdf: np.ndarray) -> float:
    """Kolmogorov-Smirnov statistic times sqrt(n).

    It exceeds 2.6 for exact draws with probability below 2 e^{-2 x 2.6²} = 3e-6. A 10% error of the scale of an
    exponential moves the CDF by 0.035, a tenth of a standard deviation in the mean of a normal by 0.04: times
    sqrt(100,000) these are 11 and 12.
    """
    return float(np.max(np.abs(np.arange(1, draws.size + 1) / draws.size - cdf))) * np.sqrt(draws.size)


def test_a_billion_records_far_outside() -> None:
    """1e9 rows, a rate cut to [lo, hi] that it does not lie in: exponential excess over the near end."""
    above = np.sort(truncated_gamma_draws(1e9, 1e9, 2.0, 5.0, DRAWS, rng()) - 2.0)
    assert distance(above, -np.expm1(-(1e9 - 1e9 / 2.0) * above)) < 2.6
    below = np.sort(0.5 - truncated_gamma_draws(1e13, 1e9, 0.1, 0.5, DRAWS, rng()))
    assert below.max() < 1e-11  # 1e4 rows' worth of mean, cut at 0.5: nothing is left but the end of the interval
    shifted = np.sort(0.5 - truncated_gamma_draws(1e9, 1e9, 0.1, 0.5, DRAWS, rng()))
    assert distance(shifted, -np.expm1(-(1e9 / 0.5 - 1e9) * shifted)) < 2.6
    normal = np.sort(truncated_normal_draws(0.0, 1e-5, 1.0, 2.0, DRAWS, rng()) - 1.0)
    assert distance(normal, -np.expm1(-1e10 * normal)) < 2.6


@pytest.mark.parametrize("shape", [1e9, 1e13])
def test_a_billion_records_around_the_mean(shape: float) -> None:
    """Against the normal that a gamma of this shape is, up to its skewness of 6e-5."""
    sd = shape**0.5 / 1e9
    mean = shape / 1e9
    z = np.sort(truncated_gamma_draws(shape, 1e9, mean - sd, mean + 2 * sd, DRAWS, rng(2)) - mean) / sd
    assert distance(z, (ndtr(z) - ndtr(-1)) / (ndtr(2) - ndtr(-1))) < 2.6


def test_clipping_is_caught() -> None:
    clipped = np.sort(np.clip(rng(3).normal(size=DRAWS), -1, 2))
    assert distance(clipped, (ndtr(clipped) - ndtr(-1)) / (ndtr(2) - ndtr(-1))) > 20
    right = np.sort(truncated_normal_draws(0.0, 1.0, -1.0, 2.0, DRAWS, rng(3)))
    assert distance(right, (ndtr(right) - ndtr(-1)) / (ndtr(2) - ndtr(-1))) < 2.6
