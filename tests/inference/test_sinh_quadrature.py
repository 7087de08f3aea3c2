"""Graded curves: averages over normal laws of every width, distribution functions and draws."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from discreet.inference.groups.sinh_quadrature import SinhCurve, trace, uniform_weights


def normal_curve(mean: float, sd: float) -> SinhCurve:
    return trace(lambda x: norm.logpdf(x, mean, sd), mean - 30.0, mean + 30.0, 2.0)


@pytest.mark.parametrize("width", [1e-3, 0.05, 1.0])
@pytest.mark.parametrize("sd", [0.0, 1e-5, 1e-3, 0.03, 0.7, 4.0])
def test_averages_over_normal_laws_of_every_width_equal_the_closed_form(width: float, sd: float) -> None:
    """Up to six deviations away; the switch between the two sums leaves no trace."""
    total = np.hypot(width, sd)
    centres = 0.4 + total * np.linspace(-6.0, 6.0, 61)
    found = normal_curve(0.4, width).blurred(centres, np.full(61, sd))
    np.testing.assert_allclose(found, norm.logpdf(centres, 0.4, total), atol=2e-7)


def test_a_flat_function_a_step_and_a_cusp_are_resolved() -> None:
    flat = trace(np.zeros_like, -20.0, 20.0, 1.0)
    np.testing.assert_allclose(flat.blurred(np.linspace(-5, 5, 11), np.full(11, 1.3)), 0.0, atol=1e-9)
    step = trace(lambda x: norm.logcdf(x, 3.0, 0.01), -20.0, 20.0, 1.0)
    centres, sd = np.array([2.0, 3.0, 3.1]), np.array([0.5, 0.02, 2.0])
    expected = norm.logcdf((centres - 3.0) / np.hypot(sd, 0.01))
    np.testing.assert_allclose(step.blurred(centres, sd), expected, atol=1e-6)
    cusp = trace(lambda x: -np.hypot(x, 1e-4), -50.0, 50.0, 1.0)
    assert cusp.log_mass == pytest.approx(np.log(2.0), abs=1e-6)


def test_quantiles_and_draws_follow_the_density() -> None:
    """20,000 draws against the normal law (KS, p above 1e-6)."""
    curve, rng = normal_curve(-2.0, 0.3), np.random.default_rng(3)
    q = np.array([1e-6, 0.05, 0.5, 0.95, 1 - 1e-6])
    np.testing.assert_allclose(curve.quantiles(q), norm.ppf(q, -2.0, 0.3), atol=5e-6)
    np.testing.assert_allclose(curve.cdf(norm.ppf(q, -2.0, 0.3)), q, atol=1e-8)
    assert kstest(curve.draw(20_000, rng), norm(-2.0, 0.3).cdf).pvalue > 1e-6


@pytest.mark.parametrize("sd", [0.0, 0.02, 0.25, 3.0])
def test_draws_from_a_product_with_a_normal_law(sd: float) -> None:
    """20,000 draws against the closed form (KS, p above 1e-6)."""
    curve, rng = normal_curve(0.0, 0.3), np.random.default_rng(4)
    draws = curve.draw_blurred(np.full(20_000, 0.2), np.full(20_000, sd), rng)
    variance = 1.0 / (1.0 / 0.09 + 1.0 / sd**2) if sd else 0.0
    if sd == 0.0:
        np.testing.assert_array_equal(draws, 0.2)
    else:
        assert kstest(draws, norm(0.2 * variance / sd**2, np.sqrt(variance)).cdf).pvalue > 1e-6


def test_averages_of_functions_that_do_not_vanish_at_an_end() -> None:
    """A half-normal law cut at 0: its mean is sqrt(2 / pi)."""
    nodes = np.linspace(0.0, 9.0, 33)
    curve = SinhCurve(nodes, uniform_weights(nodes), -0.5 * nodes**2)
    assert curve.average(lambda x: x) == pytest.approx(np.sqrt(2.0 / np.pi), abs=1e-7)
    assert curve.log_mass == pytest.approx(0.5 * np.log(np.pi / 2.0), abs=1e-12)
