"""Expected weights of a sum of clamped records, against listed laws and against noisy sums."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.inference.one_sum import concave_weight
from discreet.inference.one_sum.clamped_records import (
    ClampedExponential,
    ClampedPoisson,
    ClampedRecord,
    ValueGrid,
)
from discreet.inference.one_sum.concave_weight import ConcaveWeight
from discreet.inference.one_sum.fourier import NoisySum
from discreet.inference.one_sum.known_deviation import KnownDeviation
from discreet.inference.one_sum.weighted_sum import WeightedSum
from discreet.noise import DiscreteGaussian
from discreet.schema.row_counts import KnownSize


def gaussian(y: float, sigma: float):
    return lambda sums: -0.5 * ((sums - y) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


def by_convolution(record: ClampedRecord, n: int, log_weight, cells: np.ndarray) -> float:
    """Log E g(S) from listed cell probabilities."""
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, cells)
    farthest = n * record.value_grid.reach
    with np.errstate(divide="ignore"):
        return float(logsumexp(np.log(law) + log_weight(np.arange(-farthest, farthest + 1, 2.0))))


@pytest.mark.parametrize(
    ("reach", "n", "sd", "y", "sigma"),
    [
        (2**20, 50, 2e5, 5e6, 2e6),
        (2**20, 1000, 3e5, -1e8, 3e7),  # a sum that hardly any mean explains
        (2**20, 3, 5e5, 3e6, 1e8),  # a weight that is flat
        (100, 7, 20.0, 144.0, 50.0),
    ],
)
def test_a_gaussian_weight_is_gaussian_noise(reach: int, n: int, sd: float, y: float, sigma: float) -> None:
    record = KnownDeviation(ValueGrid(0.0, 1.0, reach), sd)
    means = np.linspace(-1.5 * reach, 1.5 * reach, 41)
    noisy = NoisySum(y, DiscreteGaussian(sigma), record, KnownSize(n)).log_likelihood(means)
    found = WeightedSum(record, n, gaussian(y, sigma)).log_likelihood(means)
    np.testing.assert_allclose(found, noisy, rtol=0, atol=1e-9)


@pytest.mark.parametrize("y", [2.0**12, 0.0, -3000.0])
def test_atoms_on_the_bounds_of_a_fine_lattice(y: float) -> None:
    """One and two waiting times, of which many sit on the bound: the law of the sum has atoms, the weight is narrow."""
    record = ClampedExponential(ValueGrid(2.0, 2.0 / 2**12, 2**12))
    edges = record.value_grid.edges
    for n in (1, 2):
        weight = gaussian(n * y, 300.0)
        for rate in (1e-3, 0.1, 1.0, 20.0):
            survival = np.exp(-rate * edges)
            inner = -survival[:-1] * np.expm1(-rate * np.diff(edges))
            cells = np.concatenate([[-np.expm1(-rate * edges[0])], inner, survival[-1:]])
            found = float(WeightedSum(record, n, weight).log_likelihood(rate))
            assert found == pytest.approx(by_convolution(record, n, weight, cells), abs=1e-7)


@pytest.mark.parametrize("shape", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("x", [1e-6, 0.4, 9.0])
def test_poisson_counts_clipped_at_three(shape: float, x: float) -> None:
    """A Gamma draw given four counts: all 13 sums are listed."""
    record, n = ClampedPoisson(ValueGrid(1.5, 0.5, 3)), 4

    def weight(sums: np.ndarray) -> np.ndarray:
        a = shape + n * 1.5 + 0.5 * sums
        return a * np.log(5.0) - gammaln(a) + (a - 1.0) * np.log(x) - 5.0 * x

    for rate in (1e-6, 0.1, 2.0, 50.0):
        counts = np.exp(-rate) * rate ** np.arange(3.0) / np.array([1.0, 1.0, 2.0])
        tail = np.exp(-rate) * np.sum(np.exp(np.arange(3.0, 200) * np.log(rate) - gammaln(np.arange(3.0, 200) + 1)))
        exact = by_convolution(record, n, weight, np.append(counts, tail))
        assert float(WeightedSum(record, n, weight).log_likelihood(rate)) == pytest.approx(exact, abs=1e-9)


def test_no_records_and_no_parameters() -> None:
    record = ClampedPoisson(ValueGrid(1.5, 0.5, 3))
    empty = WeightedSum(record, 0, gaussian(1.0, 2.0))
    np.testing.assert_allclose(empty.log_likelihood([1.0, 2.0]), gaussian(1.0, 2.0)(np.zeros(2)))
    assert WeightedSum(record, 5, gaussian(1.0, 2.0)).log_likelihood(np.empty(0)).shape == (0,)


def panels_of_a_rounded_law() -> int:
    """How many panels the log-density of a draw takes whose mean, near 1,000, is rounded like any double there."""
    weight = ConcaveWeight.of(lambda s: -0.5 * ((1000.5 + s / 4000.0 - 1000.5) / 0.0067) ** 2, 2000.0)
    sums = np.array([-300.0, 0.0, 10.0])
    np.testing.assert_allclose(weight(sums), -0.5 * (sums / 26.8) ** 2, atol=1e-6)
    return weight.value.edges.size - 1


def test_a_weight_that_is_rounded_coarsely_takes_few_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert panels_of_a_rounded_law() <= 64
    monkeypatch.setattr(concave_weight, "NOISE", 0.0)  # the planted twin: halved for ever, here no deeper than 12 times
    monkeypatch.setattr(concave_weight, "DEEPEST", 12)
    assert panels_of_a_rounded_law() > 1000


def test_a_mean_far_from_zero_is_read_like_one_near_it() -> None:
    """Shifting column, prior and draws together shifts the posterior and nothing else."""
    intervals = []
    for low in (0.0, 1000.0):
        schema = dc.Schema({"x": dc.Bounded(low, low + 1)}, n=2000)
        model = dc.NormalMean("x", sd=0.3, prior=(low + 0.5, 1.0))
        (drawn,) = dc.simulate(model, None, dc.DirectSample(), runs=1, seed=1, schema=schema, n=2000)
        intervals.append(np.asarray(drawn.posterior().interval(0.9)) - low)
    np.testing.assert_allclose(intervals[0], intervals[1], atol=1e-6)
