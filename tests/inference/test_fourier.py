"""Likelihoods of noisy sums: brute force on tiny lattices, exact cells against closed forms, far tails, many sizes."""

import numpy as np
import pytest
from scipy.special import erfcx, logsumexp
from scipy.stats import poisson

from discreet.errors import QueryError
from discreet.inference.one_sum import size_nodes
from discreet.inference.one_sum.clamped_records import (
    ClampedExponential,
    ClampedPoisson,
    ClampedRecord,
    ValueGrid,
)
from discreet.inference.one_sum.fourier import NoisySum
from discreet.inference.one_sum.known_deviation import KnownDeviation
from discreet.inference.one_sum.record_transforms import CellTransform, fold, power_sums
from discreet.noise import DiscreteGaussian, DiscreteLaplace, DiscreteNoise
from discreet.schema.row_counts import KnownSize, NormalSizes, ShareSizes, UniformSizes

LAWS = [
    DiscreteLaplace(2.5),
    DiscreteLaplace(0.3),
    DiscreteLaplace(300.0),
    DiscreteGaussian(2.0),
    DiscreteGaussian(0.7),
]


def log_brute_force(cells: np.ndarray, y: float, law: DiscreteNoise, log_sizes: dict[int, float]) -> float:
    """The sum over all sizes of the density of a sum of that many records, by repeated convolution."""
    terms, sums = [], np.ones(1)
    for size in range(max(log_sizes) + 1):
        if size in log_sizes:
            places = 2.0 * np.arange(sums.size) - size * (cells.size - 1)
            with np.errstate(divide="ignore"):
                terms.append(log_sizes[size] + logsumexp(np.log(sums) + law.log_density(y - places)))
        sums = np.convolve(sums, cells)
    return float(logsumexp(terms))


def characteristic(record: ClampedRecord, t: np.ndarray, theta: float) -> np.ndarray:
    """E e^{itv} for frequencies t in units of v."""
    return np.exp(record.at(np.array([theta])).log_tilted(np.zeros(1), t[np.newaxis]))


def poisson_cells(upper: int, rate: float) -> np.ndarray:
    return np.append(poisson.pmf(np.arange(upper), rate), poisson.sf(upper - 1, rate))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("upper", [3, 4])
@pytest.mark.parametrize("y", [-7.0, 0.0, 3.0, 31.0])
def test_clamped_counts_equal_brute_force(law: DiscreteNoise, upper: int, y: float) -> None:
    """Four records, or up to five with a noisy size; y = 31 is out of the sum's reach."""
    record, rates = ClampedPoisson(ValueGrid(upper / 2, 0.5, upper)), np.array([0.01, 0.5, 1.3, 4.0, 30.0])
    public = NoisySum(y, law, record, KnownSize(4)).log_likelihood(rates)
    np.testing.assert_allclose(
        public, [log_brute_force(poisson_cells(upper, rate), y, law, {4: 0.0}) for rate in rates], rtol=1e-9, atol=1e-9
    )
    sizes = DiscreteLaplace(1.5)
    weights = {n: -np.log(6.0) + float(sizes.log_density(3.0 - n)) for n in range(6)}
    private = NoisySum(y, law, record, UniformSizes(5), 3.0, sizes).log_likelihood(rates)
    np.testing.assert_allclose(
        private, [log_brute_force(poisson_cells(upper, rate), y, law, weights) for rate in rates], rtol=1e-9, atol=1e-9
    )


def test_no_records_leave_only_noise() -> None:
    record, law = ClampedPoisson(ValueGrid(1.5, 0.5, 3)), DiscreteLaplace(2.0)
    np.testing.assert_allclose(NoisySum(5, law, record, KnownSize(0)).log_likelihood([1.0]), law.log_density(5.0))


def test_the_likelihood_is_a_probability_of_every_release() -> None:
    record, law = ClampedPoisson(ValueGrid(1.5, 0.5, 3)), DiscreteLaplace(0.8)
    total = sum(np.exp(NoisySum(y, law, record, KnownSize(3)).log_likelihood(1.2)) for y in range(-35, 36))
    assert float(total) == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("centre", [1.0, 0.3, 2.5, -3.0])
def test_exponential_closed_form_equals_its_cells(centre: float) -> None:
    """Lattices that start above, below and wholly below 0."""
    lattice, rates = ValueGrid(centre, 1e-2, 100, -5e-3), np.array([1e-3, 0.2, 1.0, 4.0, 50.0])
    survival = np.exp(-rates[:, None] * np.maximum(lattice.edges, 0.0))
    survival = np.concatenate([np.ones((5, 1)), survival, np.zeros((5, 1))], axis=1)
    with np.errstate(divide="ignore"):
        cells = CellTransform(np.log(-np.diff(survival, axis=1)))
    closed = ClampedExponential(lattice).at(rates)
    t = np.tile(np.linspace(0.0, 1.5, 40), (5, 1))
    for s in (0.0, 0.03, -0.03, 1.0):
        tilts = np.full((5, 1), s)
        np.testing.assert_allclose(closed.log_moment(tilts), cells.log_moment(tilts), rtol=0, atol=1e-9)
        tilted = np.exp(closed.log_tilted(tilts[:, 0], t)), np.exp(cells.log_tilted(tilts[:, 0], t))
        np.testing.assert_allclose(*tilted, rtol=0, atol=1e-9)


def test_characteristic_functions_match_simulated_records() -> None:
    """50,000 records: within 5.5 standard errors at each of 8 points (false alarm 1e-6 in all)."""
    rng = np.random.default_rng(0)
    lattice = ValueGrid(2.0, 0.05, 40)
    laws = [(ClampedPoisson(lattice), 1.7), (ClampedExponential(lattice), 0.6)]
    t = np.array([0.005, 0.02, 0.05, 0.3])
    for law, theta in laws:
        x = law.draw(np.full(50_000, theta), rng)
        v = np.clip(2.0 * np.floor((x - lattice.centre) / (2.0 * lattice.unit) + 0.5), -40, 40)  # reach is even
        simulated = np.exp(1j * np.outer(t, v)).mean(axis=1)
        assert np.all(np.abs(characteristic(law, t, theta)[0] - simulated) < 5.5 / np.sqrt(50_000))


def test_cells_that_hold_several_counts() -> None:
    """Counts 0..9 on an axis of step 4 whose cells are -2..1, 2..5 and 6..9."""
    record, rate = ClampedPoisson(ValueGrid(4.0, 2.0, 2, -0.5)), 3.0
    pmf = poisson.pmf(np.arange(6), rate)
    cells = np.array([pmf[:2].sum(), pmf[2:].sum(), 1.0 - pmf.sum()])
    t = np.array([0.1, 0.4])
    expected = np.exp(1j * np.outer(t, [-2, 0, 2])) @ cells
    np.testing.assert_allclose(characteristic(record, t, rate)[0], expected, atol=1e-14)


@pytest.mark.parametrize("n", [30, 10**4, 10**8])
def test_sums_of_known_deviation_equal_the_normal_laplace_density(n: int) -> None:
    """Bounds far away: Laplace noise on a normal sum has a closed density; relative error 1e-9, growing with n."""
    unit, b, theta = 40.0 / 2**20, 2.0 * np.sqrt(n), 0.1
    record = KnownDeviation(ValueGrid(0.0, unit, 2**20), 1.0)
    y = np.round((n * theta + 1.5 * np.sqrt(n)) / unit)
    s, z = np.sqrt(n), y * unit - n * theta
    tails = [erfcx((s / b + sign * z / s) / np.sqrt(2.0)) for sign in (-1.0, 1.0)]
    expected = np.log(unit / (4.0 * b)) - 0.5 * (z / s) ** 2 + np.log(sum(tails))
    got = NoisySum(y, DiscreteLaplace(b / unit), record, KnownSize(n)).log_likelihood(theta)
    assert float(got) == pytest.approx(expected, abs=1e-8 + 1e-15 * n)


@pytest.mark.parametrize("law", [DiscreteLaplace(40.0), DiscreteGaussian(40.0)])
def test_releases_far_in_the_tails_keep_their_digits(law: DiscreteNoise) -> None:
    """Twenty records on nine cells; parameters for which the release has probability down to e^-300."""
    record, rates = ClampedPoisson(ValueGrid(4.0, 0.5, 8)), np.array([1e-3, 0.05, 1.0, 4.0, 20.0])
    got = NoisySum(150, law, record, KnownSize(20)).log_likelihood(rates)
    expected = [log_brute_force(poisson_cells(8, rate), 150, law, {20: 0.0}) for rate in rates]
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("rate", "scale", "size", "error"),
    [
        (0.55, 1000.0, 1, 1e-9),
        (0.55, 1000.0, 3, 1e-5),
        (0.55, 200.0, 6, 2.5e-5),
        (0.55, 200.0, 12, 1e-7),
        (0.55, 200.0, 16, 1e-8),
        (0.11, 1000.0, 16, 3e-4),
        (0.11, 200.0, 16, 5e-3),
        (0.11, 200.0, 60, 2e-6),
    ],
)
def test_few_records_on_the_bounds_of_a_fine_lattice(rate: float, scale: float, size: int, error: float) -> None:
    """The documented error where frequencies are capped: a third (rate .55) or four fifths (.11) on a bound."""
    record, law = ClampedExponential(ValueGrid(1.0, 1e-3, 1000)), DiscreteLaplace(scale)
    survival = np.concatenate([[1.0], np.exp(-rate * np.maximum(record.value_grid.edges, 0.0)), [0.0]])
    for y in (123, 1000 * (size % 2), 1000 * size - 2000 * (size // 3)):
        got = float(NoisySum(y, law, record, KnownSize(size)).log_likelihood(rate))
        assert got == pytest.approx(log_brute_force(-np.diff(survival), y, law, {size: 0.0}), abs=error)


@pytest.mark.parametrize(
    ("sizes", "released"),
    [
        (UniformSizes(60_000), 20_011.0),
        (UniformSizes(60_000), -70.0),
        (NormalSizes(21_000.0, 800.0, 60_000), 20_011.0),
        (ShareSizes(KnownSize(60_000), 3), 20_011.0),
    ],
)
@pytest.mark.parametrize("law", [DiscreteLaplace(300.0), DiscreteGaussian(900.0)])
def test_thinned_sizes_equal_the_whole_sum(
    sizes: UniformSizes, released: float, law: DiscreteNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, rates = ClampedPoisson(ValueGrid(2.5, 0.5, 5)), np.array([1.2, 1.5, 1.8])
    y = round(max(released, 400.0) * (2 * 1.5 - 5))
    summed = NoisySum(y, DiscreteLaplace(200.0), record, sizes, released, law)
    thinned = summed.log_likelihood(rates)
    monkeypatch.setattr(size_nodes.SizeWindow.blocks, "__defaults__", (10**9,))
    whole = NoisySum(y, DiscreteLaplace(200.0), record, sizes, released, law).log_likelihood(rates)
    np.testing.assert_allclose(thinned, whole, rtol=0, atol=1e-9)


def test_gauss_rules_sum_polynomials() -> None:
    nodes, log_weights = size_nodes._gauss_rule(500)
    x = np.arange(500.0)
    for degree in (0, 1, 5, 20):
        exact = np.sum((x / 500.0) ** degree)
        assert float(np.exp(log_weights) @ (nodes / 500.0) ** degree) == pytest.approx(exact, rel=1e-12)


def test_power_sums_equal_plain_sums() -> None:
    rng = np.random.default_rng(3)
    coefficients, log_z = rng.random((2, 17)), -rng.random((2, 5)) + 3j * rng.random((2, 5))
    folded = fold(coefficients)
    got = power_sums(folded, np.arange(float(folded.shape[2])), float(folded.shape[2]), log_z)
    expected = np.einsum("in,inj->ij", coefficients, np.exp(np.arange(17)[None, :, None] * log_z[:, None, :]))
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("law", [DiscreteLaplace(1.7), DiscreteGaussian(0.6), DiscreteGaussian(3.0)])
def test_noise_transforms_equal_their_series(law: DiscreteNoise) -> None:
    k, t = np.arange(-400.0, 401.0), np.array([0.0, 0.4, 2.0, np.pi])
    for s in (0.0, 0.3, -0.5):
        weights = np.exp(law.log_density(k) + s * k)
        assert float(law.log_moment(np.array([s]))[0]) == pytest.approx(np.log(weights.sum()), abs=1e-12)
        expected = np.exp(1j * np.outer(t, k)) @ weights / weights.sum()
        np.testing.assert_allclose(law.tilted(np.full(1, s), t), expected, atol=1e-12)


def test_wrong_arguments_are_refused() -> None:
    record, law = ClampedPoisson(ValueGrid(1.5, 0.5, 3)), DiscreteLaplace(1.0)
    with pytest.raises(QueryError, match="whole number"):
        NoisySum(0.5, law, record, KnownSize(1))
    with pytest.raises(QueryError, match="size_law"):
        NoisySum(0.0, law, record, UniformSizes(5), 3.0)
    with pytest.raises(QueryError, match="unit"):
        ValueGrid(0.0, 0.0, 3)
    with pytest.raises(QueryError, match="reach"):
        ValueGrid(0.0, 1.0, 0)
    with pytest.raises(QueryError, match="sd"):
        KnownDeviation(ValueGrid(0.0, 1.0, 3), -1.0)
