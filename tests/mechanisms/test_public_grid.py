"""The public grid of released numbers, and uniform numbers whose tails have no lattice."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.draws.public_grid import cell_ends, finest_grid, rounded
from discreet.mechanisms.draws.truncated_probabilities import truncated_beta
from discreet.mechanisms.draws.uniforms import fine_uniforms, log_shares, uniform_pairs

NUMBERS = st.floats(allow_nan=False, allow_infinity=True)
GRIDS = st.integers(-1000, 1000).map(lambda power: 2.0**power)


@settings(derandomize=True, deadline=None)
@given(NUMBERS, GRIDS)
def test_a_released_number_is_rounded_once_and_has_at_most_32_bits(x: float, grid: float) -> None:
    v = float(rounded(x, grid))
    assert math.isfinite(v)
    assert not (v == 0.0 and math.copysign(1.0, v) < 0)
    assert float(rounded(v, grid)) == v
    assert math.frexp(v)[0] * 2**32 % 1.0 == 0.0
    assert v == 0.0 or math.fmod(v, grid) == 0.0
    low, high = (float(end) for end in cell_ends(v, grid))
    assert low < v < high or abs(v) >= 2.0**1023
    if abs(x) <= 2.0**1023:
        assert low <= x <= high


@settings(derandomize=True, deadline=None)
@given(NUMBERS, GRIDS)
def test_cells_meet_where_rounding_changes(x: float, grid: float) -> None:
    v = float(rounded(x, grid))
    if v == 0.0 or 2.0**-1000 < abs(v) < 2.0**1000:
        for end, side in zip(cell_ends(v, grid), (-1.0, 1.0), strict=True):
            inside, outside = np.nextafter(end, v), np.nextafter(end, side * np.inf)
            assert float(rounded(inside, grid)) == v
            assert float(rounded(outside, grid)) != v


def test_the_finest_grid_is_the_power_of_two_above() -> None:
    assert finest_grid(1.0) == 2.0**-24
    assert finest_grid(1.1) == 2.0**-23
    assert finest_grid(0.9) == 2.0**-24
    assert finest_grid(0.0) == finest_grid(1e-320) == 2.0**-1000


def test_small_uniforms_have_digits_of_their_own() -> None:
    """Below 2^-10 a plain uniform number is a multiple of 2^-53; of these hardly one is."""
    rng = np.random.default_rng(1)
    small = (u := fine_uniforms(200_000, rng))[u < 2.0**-10]
    assert small.size > 100
    assert np.mean(small * 2.0**53 % 1.0 == 0.0) < 0.01
    plain = np.random.default_rng(1).random(200_000)
    assert np.all(plain * 2.0**53 % 1.0 == 0.0)
    below, above = uniform_pairs(200_000, rng)
    assert np.allclose(below + above, 1.0, rtol=0, atol=1e-16)
    assert np.mean(below < 0.25) == pytest.approx(0.25, abs=0.005)
    assert min(np.mean(end[end < 2.0**-10] * 2.0**53 % 1.0 == 0.0) for end in (below, above)) < 0.01


@pytest.mark.parametrize("length", [1e-9, 0.3, 5.0, np.inf])
def test_log_shares_are_exponentials_cut_at_a_length(length: float) -> None:
    """Kolmogorov-Smirnov, times sqrt(n), beyond 2.6 with probability below 3e-6."""
    drawn = np.sort(-log_shares(np.full(100_000, length), np.random.default_rng(2)))
    assert 0.0 <= drawn[0] <= drawn[-1] <= length
    cdf = np.expm1(-drawn) / np.expm1(-length)
    assert np.abs(np.arange(1, drawn.size + 1) / drawn.size - cdf).max() * drawn.size**0.5 < 2.6


def test_both_tails_of_a_beta_keep_their_digits() -> None:
    """Quantiles at 1e-40 from either end are mirror images; from one double of 53 bits the upper one would be 1."""
    low = float(truncated_beta(3.0, 5.0, 0.0, 1.0, 1e-40, 1.0))
    high = float(truncated_beta(5.0, 3.0, 0.0, 1.0, 1.0, 1e-40))
    assert 0.0 < low < 1e-12
    assert 1.0 - high == pytest.approx(low, abs=2.0**-53)
    both = [float(truncated_beta(40.0, 50.0, 0.01, 0.99, u, v)) for u, v in ((1e-30, 1.0), (1.0, 1e-30))]
    assert 0.01 < both[0] < 0.1
    assert 0.8 < both[1] < 0.99
