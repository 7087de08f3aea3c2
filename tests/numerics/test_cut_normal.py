"""A normal law cut to an interval: against scipy, also where its centre lies far outside."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from discreet.numerics.cut_normal import CutNormal
from discreet.numerics.link import Link


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.2), (-1.0, 0.5), (3.0, 0.2), (-40.0, 1.0), (0.9, 5.0), (0.5, 1e-6)])
def test_a_cut_normal_law_equals_scipy(mean: float, sd: float) -> None:
    law, orders = CutNormal(mean, sd, Link("logit", 0.0, 1.0)), np.array([1e-6, 0.1, 0.5, 0.9])
    reference = truncnorm((0.0 - mean) / sd, (1.0 - mean) / sd, mean, sd)
    np.testing.assert_allclose(law.quantiles(orders), reference.ppf(orders), rtol=1e-7)
    x = reference.ppf(np.array([0.05, 0.5, 0.95]))
    np.testing.assert_allclose(law(law.link.to_eta(x)), reference.logpdf(x) + np.log(x * (1 - x)), atol=1e-6)
    centre, spread = law.moments
    eta = np.linspace(centre - 40 * spread, centre + 40 * spread, 200_001)
    assert np.exp(law(eta)).sum() * (eta[1] - eta[0]) == pytest.approx(1.0, abs=1e-6)
    assert law.share_inside == pytest.approx(_inside(mean, sd), rel=1e-9)


def _inside(mean: float, sd: float) -> float:
    from mpmath import mp

    mp.dps = 60
    return float(mp.ncdf((1 - mp.mpf(mean)) / sd) - mp.ncdf((0 - mp.mpf(mean)) / sd))


def test_a_law_as_wide_as_can_be_is_uniform() -> None:
    law = CutNormal(5.0, 1e60, Link("logit", -2.0, 2.0))
    np.testing.assert_allclose(law.quantiles(np.array([0.25, 0.5])), [-1.0, 0.0], atol=1e-12)
    assert float(law(np.zeros(1))[0]) == pytest.approx(np.log(0.25))  # the density of the logistic law
