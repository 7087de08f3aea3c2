"""Log-gamma differences and the log incomplete beta function, where the plain formulas lose their digits."""

import numpy as np
import pytest
from scipy.special import betainc, betaln, gammaln

from discreet.numerics.gamma_functions import log_beta_kernel, log_gamma_ratio, log_polya
from discreet.numerics.incomplete_beta import log_incomplete_beta


@pytest.mark.parametrize("x", [0.01, 1.0, 15.9, 16.0, 1e5, 1e8, 1e12])
def test_gamma_ratios_follow_the_recurrence(x: float) -> None:
    """Γ(x + 1) / Γ(x) = x, and two steps give x (x + 1)."""
    assert float(log_gamma_ratio(x, 1.0, 0.0)) == pytest.approx(np.log(x), rel=1e-14, abs=1e-14)
    assert float(log_gamma_ratio(x, 2.0, 0.0)) == pytest.approx(np.log(x) + np.log1p(x), rel=1e-14, abs=1e-14)


def test_polya_weights_equal_the_plain_formula_where_it_is_accurate() -> None:
    k = np.arange(60.0)
    for alpha in (0.01, 0.5, 1.0, 7.3, 1000.0):
        plain = gammaln(k + alpha) - gammaln(k + 1) - gammaln(alpha)
        np.testing.assert_allclose(log_polya(k, alpha), plain, atol=2e-11)


@pytest.mark.parametrize("a", [0.3, 40.0, 1e5, 1e8])
def test_beta_kernel_has_its_closed_form(a: float) -> None:
    """B(a, 1) = 1/a."""
    for x in (1e-3, 0.4, 1 - 1e-7):
        exact = a * np.log(x) + np.log1p(-x) + np.log(a)
        assert float(log_beta_kernel(a, 1.0, x, 1 - x)) == pytest.approx(exact, rel=3e-15, abs=1e-13)


def test_beta_kernel_equals_scipy() -> None:
    for a, b in ((0.01, 0.02), (3.0, 0.5), (20.0, 30.0)):
        x = np.linspace(0.01, 0.99, 23)
        plain = a * np.log(x) + b * np.log1p(-x) - betaln(a, b)
        np.testing.assert_allclose(log_beta_kernel(a, b, x, 1 - x), plain, atol=1e-12)


def test_log_incomplete_beta_equals_scipy_and_continues_below_it() -> None:
    x = np.linspace(0.01, 0.99, 40)
    np.testing.assert_allclose(log_incomplete_beta(2.5, 7.0, x, 1 - x), np.log(betainc(2.5, 7.0, x)), rtol=1e-12)
    deep = np.array([0.05, 0.2, 0.9])  # I_x(a, 1) = x^a: e^-1.1e6, e^-579398, e^-37930
    np.testing.assert_allclose(log_incomplete_beta(3.6e5, 1.0, deep, 1 - deep), 3.6e5 * np.log(deep), rtol=1e-13)
    # I_x(1, b) = 1 - (1-x)^b read from the other end
    np.testing.assert_allclose(log_incomplete_beta(3.6e5, 1.0, 1 - deep, deep), 3.6e5 * np.log1p(-deep), rtol=1e-13)


def test_log_incomplete_beta_is_continuous_where_the_methods_meet() -> None:
    """Across 1e-290 the two evaluations agree: second differences of log I stay as small as around."""
    x = np.linspace(0.0220, 0.0255, 401)
    value = log_incomplete_beta(300.0, 400.0, x, 1 - x)
    assert value[0] < np.log(1e-290) < value[-1]
    bend = np.diff(value, 2)
    assert np.max(np.abs(np.diff(bend))) < 1e-6 * np.max(np.abs(np.diff(value)))


def test_ends() -> None:
    assert log_incomplete_beta(2.0, 3.0, 0.0, 1.0) == -np.inf
    assert log_incomplete_beta(2.0, 3.0, 1.0, 0.0) == 0.0
