"""NormalMean: the notes' values where bounds are far, private sizes by plain sums, and what holds beside a bound."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import discreet as dc
from discreet.inference.one_sum.clamped_records import ValueGrid
from discreet.inference.one_sum.fourier import NoisySum
from discreet.inference.one_sum.known_deviation import KnownDeviation
from discreet.noise import DiscreteGaussian, DiscreteLaplace, DiscreteNoise
from discreet.schema.row_counts import UniformSizes

FAR = dc.Schema({"x": dc.Bounded(-32, 32)}, n=30)


@pytest.mark.parametrize(
    ("law", "scale", "mean", "sd"),
    [(DiscreteLaplace, 2.5, 0.3953397099, 0.2158812422), (DiscreteGaussian, 3.0, 0.395713108, 0.2070481104)],
)
def test_the_values_of_the_notes(law: type[DiscreteNoise], scale: float, mean: float, sd: float) -> None:
    """beyond.md §4: n = 30, variance 1, prior N(0, 4), y = 12."""
    model = dc.NormalMean("x", sd=1.0, prior=(0.0, 2.0))
    query = model.query(FAR)
    unit = query.statistics[0].axes[0].unit
    post = model.posterior(query, {"sum": round(12 / unit)}, {"sum": law(scale / unit)})
    assert (post.mean(), post.sd()) == (pytest.approx(mean, abs=1e-6), pytest.approx(sd, abs=1e-6))
    assert "the mean of the declared column x, within -32 to 32" in str(post)


def test_a_private_size_is_summed_out() -> None:
    """Gaussian noise on a normal sum, size by size."""
    record, sizes, law, size_law = (
        KnownDeviation(ValueGrid(0.0, 1e-3, 1000), 0.3),
        UniformSizes(60),
        DiscreteGaussian(900.0),
        DiscreteLaplace(4.0),
    )
    means, n = np.array([-0.95, -0.2, 0.1, 0.6]), np.arange(61.0)
    found = NoisySum(5000, law, record, sizes, 42.0, size_law).log_likelihood(means)
    for mean, value in zip(means, found, strict=True):
        deviation = 1000 * min(0.3, np.sqrt((1 - mean) * (1 + mean)))
        logs = norm.logpdf(5000, 1000 * mean * n, np.sqrt(n * deviation**2 + 900.0**2)) + size_law.log_density(42.0 - n)
        assert float(value) == pytest.approx(logsumexp(logs) - np.log(61.0), abs=1e-6)


def test_records_have_the_mean_and_the_deviation_that_the_law_says() -> None:
    """Inside, beside a bound where the declared deviation is impossible, and on it: 5 standard errors of 40,000."""
    record, rng = KnownDeviation(ValueGrid(50.0, 0.05, 1000), 20.0), np.random.default_rng(3)
    for mean in (50.0, 97.0, 1.0, 0.0):
        drawn = record.draw(np.full(40_000, mean), rng)
        deviation = min(20.0, np.sqrt(mean * (100.0 - mean)))
        assert drawn.min() >= 0.0
        assert drawn.max() <= 100.0
        assert drawn.mean() == pytest.approx(mean, abs=5 * deviation / 200 + 1e-9)
        assert drawn.std() == pytest.approx(deviation, rel=0.2, abs=1e-9)


def test_the_posterior_never_leaves_the_bounds() -> None:
    model = dc.NormalMean("x", sd=5.0, prior=(-500.0, 100.0))
    query = model.query(FAR)
    laws = dc.NoisyStatistics(epsilon=1.0).laws(query)
    for total in (-(10**9), 0, 10**9):
        low, high = model.posterior(query, {"sum": total}, laws).interval(0.99)
        assert -32.0 <= low < high <= 32.0
