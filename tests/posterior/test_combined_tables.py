"""The combining rule: its closed form without sampling variance, its coverage where T is negative, its refusals."""

import numpy as np
import pytest
from scipy import stats

import discreet as dc


@pytest.mark.parametrize("m", [2, 5, 20])
def test_without_sampling_variance_it_is_the_t_interval(m: int) -> None:
    """With U = 0 the law of V + U is not cut, and its mixture of normal laws is Student's."""
    q = np.random.default_rng(1).normal(3.0, 2.0, (m, 4, 2))
    combined = dc.combine_tables(q, np.zeros_like(q), level=0.8)
    half = stats.t.ppf(0.9, m - 1) * np.sqrt((1 + 1 / m) * q.var(axis=0, ddof=1))
    np.testing.assert_allclose(combined.mean, q.mean(axis=0))
    np.testing.assert_allclose(combined.upper - combined.mean, half, rtol=0.02 if m > 2 else 0.1)
    np.testing.assert_allclose(combined.mean - combined.lower, combined.upper - combined.mean)


@pytest.mark.parametrize(("ratio", "least", "most"), [(0.1, 0.85, 0.95), (1.0, 0.85, 0.96), (5.0, 0.90, 1.0)])
def test_coverage_of_normal_estimates(ratio: float, least: float, most: float) -> None:
    """800 draws of V = 1 and U = ratio, m = 20: 90% within 5 standard errors, or more where U hides V.

    The plain rule T = (1 + 1/m) b - U is negative in up to 30% of these cases.
    """
    rng = np.random.default_rng(2)
    truth, q = rng.normal(size=800), rng.normal(0.0, np.sqrt(1.0 + ratio), (20, 800))
    combined = dc.combine_tables(q, np.full_like(q, ratio))
    assert np.all(combined.upper > combined.lower)
    assert np.all(combined.sd > 0)
    assert least < np.mean((combined.lower < truth) & (truth < combined.upper)) < most
    between = q.mean(axis=0) + np.array([[-1.0], [1.0]]) * 1.645 * q.std(axis=0) / np.sqrt(20)  # a planted wrong rule
    assert np.mean((between[0] < truth) & (truth < between[1])) < 0.75


def test_tables_that_agree_leave_their_sampling_variance() -> None:
    combined = dc.combine_tables(np.full((4, 2), 0.5), np.array([[0.04, 0.0]] * 4))
    np.testing.assert_allclose(combined.upper - combined.mean, [1.6449 * np.sqrt(0.04 / 4), 0.0], atol=1e-4)


@pytest.mark.parametrize(
    ("estimates", "variances", "level"),
    [([1.0], [0.1], 0.9), ([1.0, 2.0], [0.1], 0.9), ([1.0, 2.0], [0.1, -0.1], 0.9), ([1.0, np.nan], [0.1, 0.1], 0.9)],
)
def test_what_cannot_be_combined_is_refused(estimates: list[float], variances: list[float], level: float) -> None:
    with pytest.raises(dc.QueryError, match=r"combine_tables\.estimates must be finite numbers of at least 2 tables"):
        dc.combine_tables(estimates, variances, level)
    with pytest.raises(dc.QueryError, match=r"combine_tables\.level"):
        dc.combine_tables([1.0, 2.0], [0.1, 0.1], 1.0)
