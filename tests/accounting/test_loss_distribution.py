"""Privacy loss distributions: never below the exact delta, close to it, exact where they can be, fast, and twins."""

import itertools
import math
import time

import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as oracle
from pure_composition import composed_pure_delta, composed_pure_epsilon

from discreet.accounting import loss_distribution
from discreet.accounting.conversions import gaussian_epsilon
from discreet.accounting.curves import gaussian_delta, pure_delta
from discreet.accounting.loss_distribution import LossDistribution, compose_all, grid_for
from discreet.accounting.profiles import discrete_gaussian_delta, discrete_laplace_delta
from discreet.accounting.rounding import MARGIN
from discreet.errors import GuaranteeError

GRID = 2.0**-10


def mass(distribution: LossDistribution) -> float:
    return float(distribution.probabilities.sum()) + distribution.infinite_mass


def rounded_laplace(epsilon: float, grid: float, up: bool) -> LossDistribution:
    """The Laplace loss, cdf e^{(x - eps)/2}/2 with an atom 1/2 at eps, with every loss moved to one end of its bin."""
    points = np.arange(-round(epsilon / grid), round(epsilon / grid) + 1)
    cdf = 0.5 * np.exp((points * grid - epsilon) / 2)
    cdf[-1] = 1.0
    steps = np.diff(cdf, prepend=0.0)
    if up:
        return LossDistribution(grid, int(points[0]), steps)
    atom = steps[-1] - 0.5 * -math.expm1(-grid / 2)
    down = np.append(steps[1:], 0.0)
    down[-2] -= atom
    down[-1] += atom
    down[0] += steps[0]
    return LossDistribution(grid, int(points[0]), down)


def test_section_3_laplace_values_with_plain_rounding() -> None:
    """beyond.md §3: eps = .2, k = 10, e' = 1, g = 1e-4: .020312341467; k = 1: .04877173 against .0487705755."""
    plain = rounded_laplace(0.2, 1e-4, up=True)
    assert plain.delta(0.1) == pytest.approx(0.04877173, abs=1e-8)  # printed truncated
    assert plain.self_compose(10).delta(1) == pytest.approx(0.020312341467, abs=5e-12)
    exact = -math.expm1((0.1 - 0.2) / 2)
    assert exact == pytest.approx(0.0487705755, abs=5e-11)
    split = LossDistribution.laplace(0.2, grid=1e-4)
    assert exact <= split.delta(0.1) <= exact * (1 + 1e-8)
    optimistic = rounded_laplace(0.2, 1e-4, up=False)
    assert optimistic.delta(0.1) < exact
    composed = split.self_compose(10).delta(1)
    assert optimistic.self_compose(10).delta(1) < composed < plain.self_compose(10).delta(1)


def test_splitting_is_close_on_grids_where_plain_rounding_is_not() -> None:
    fine = LossDistribution.laplace(0.2, grid=1e-4).self_compose(10).delta(1)
    for grid, excess in [(1e-3, 4e-7), (1e-2, 4e-5)]:
        coarse = LossDistribution.laplace(0.2, grid=grid).self_compose(10).delta(1)
        assert fine < coarse < fine * (1 + excess)
        assert rounded_laplace(0.2, grid, up=True).self_compose(10).delta(1) > fine * (1 + 50 * excess)


@pytest.mark.parametrize(("level", "count"), [(0.1, 30), (0.5, 7), (1.0, 3), (0.05, 400), (0.7, 1)])
def test_pure_releases_on_a_dividing_grid_compose_optimally(level: float, count: int) -> None:
    composed = LossDistribution.pure(level, grid=level).self_compose(count)
    assert composed.infinite_mass == 0.0
    for fraction in (0.0, 0.2, 0.45, 0.9):
        epsilon = fraction * level * count
        exact = composed_pure_delta(level, count, epsilon)
        assert exact * (1 - 1e-12) <= composed.delta(epsilon) <= exact * (1 + 1e-9) + 1e-300
    assert composed.epsilon(1e-6) == pytest.approx(composed_pure_epsilon(level, count, 1e-6), rel=1e-9)
    assert composed.epsilon(0.0) == pytest.approx(level * count, rel=1e-9)


def test_pure_releases_of_different_levels_against_all_outcomes() -> None:
    levels = (0.2, 0.35, 0.5, 0.5, 0.9)
    composed = compose_all([(LossDistribution.pure(level, grid=0.05), 1) for level in levels])
    for epsilon in (0.0, 0.3, 1.1, 2.0):
        direct = 0.0
        for signs in itertools.product((1, -1), repeat=len(levels)):
            loss = sum(sign * level for sign, level in zip(signs, levels, strict=True))
            p = math.prod(1 / (1 + math.exp(-sign * level)) for sign, level in zip(signs, levels, strict=True))
            direct += p * max(1 - math.exp(epsilon - loss), 0.0)
        assert composed.delta(epsilon) == pytest.approx(direct, rel=1e-10)


def test_approximate_releases_compose_as_kairouz_oh_viswanath() -> None:
    composed = LossDistribution.approximate(0.1, 1e-7, grid=0.1).self_compose(20)
    for epsilon in (0.3, 0.9):
        exact = 1 - (1 - 1e-7) ** 20 * (1 - composed_pure_delta(0.1, 20, epsilon))
        assert exact * (1 - 1e-12) <= composed.delta(epsilon) <= exact * (1 + 1e-5)
    assert composed.epsilon(1e-6) == math.inf


@pytest.mark.parametrize(("mu", "count"), [(1.0, 1), (0.3, 10), (0.1, 100), (0.05, 1000), (2.0, 3)])
def test_gaussians_compose_to_their_root_of_squares(mu: float, count: int) -> None:
    total = mu * math.sqrt(count)
    composed = LossDistribution.gaussian(mu, grid=grid_for([(mu, count)])).self_compose(count)
    for epsilon in (0.0, total / 2, total, 2 * total, 4 * total):
        exact = gaussian_delta(total, epsilon)
        assert exact <= composed.delta(epsilon) <= exact * (1 + 2e-3)
    for delta in (1e-3, 1e-6, 1e-9):
        exact = gaussian_epsilon(total, delta)
        assert exact <= composed.epsilon(delta) <= exact * (1 + 1e-3)


@pytest.mark.parametrize(("shift", "width"), [(1, 1.0), (3, 2.5), (1, 20.0), (5, 2.0), (10**6, 7.3e6)])
def test_single_discrete_releases_match_their_exact_profiles(shift: int, width: float) -> None:
    grid = grid_for([(shift / width, 1)])
    laplace = LossDistribution.discrete_laplace(shift, width, grid=grid)
    gaussian = LossDistribution.discrete_gaussian(shift, width, grid=grid)
    for fraction in (0.0, 0.3, 0.8):
        epsilon = fraction * shift / width
        exact = discrete_laplace_delta(shift, width, epsilon)
        assert exact * (1 - 1e-13) <= laplace.delta(epsilon) <= exact * (1 + 1e-3)
        exact = discrete_gaussian_delta(shift, width, epsilon)
        assert exact * (1 - 1e-9) <= gaussian.delta(epsilon) <= exact * (1 + 1e-3)
    assert laplace.infinite_mass == 0.0
    assert laplace.epsilon(0.0) <= shift / width + 2 * grid


def test_two_discrete_releases_against_the_double_sum() -> None:
    k = np.arange(-60, 61)
    first = np.exp(-np.abs(k) / 1.7)
    first, first_shifted = first / first.sum(), np.exp(-np.abs(k - 2) / 1.7) / first.sum()
    second = np.exp(-0.5 * (k / 2.3) ** 2)
    second, second_shifted = second / second.sum(), np.exp(-0.5 * ((k - 1) / 2.3) ** 2) / second.sum()
    p, q = np.outer(first, second), np.outer(first_shifted, second_shifted)
    composed = LossDistribution.discrete_laplace(2, 1.7, grid=GRID).compose(
        LossDistribution.discrete_gaussian(1, 2.3, grid=GRID)
    )
    for epsilon in (0.0, 0.4, 1.0, 1.6):
        direct = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert direct * (1 - 1e-12) <= composed.delta(epsilon) <= direct * (1 + 1e-5)


def test_mixture_against_dp_accounting_with_explicit_lists() -> None:
    interval = 1e-4
    listed = [
        *[oracle.from_laplace_mechanism(5.0, value_discretization_interval=interval)] * 4,
        *[oracle.from_gaussian_mechanism(6.0, value_discretization_interval=interval)] * 5,
        *[oracle.from_discrete_laplace_mechanism(0.25, 2, value_discretization_interval=interval)] * 3,
        *[oracle.from_discrete_gaussian_mechanism(4.0, 1, value_discretization_interval=interval)] * 4,
        oracle.from_privacy_parameters(common.DifferentialPrivacyParameters(0.3, 1e-8), interval),
    ]
    expected = listed[0]
    for entry in listed[1:]:
        expected = expected.compose(entry)
    composed = compose_all(
        [
            (LossDistribution.laplace(0.2, grid=GRID), 4),
            (LossDistribution.gaussian(1 / 6, grid=GRID), 5),
            (LossDistribution.discrete_laplace(2, 4.0, grid=GRID), 3),
            (LossDistribution.discrete_gaussian(1, 4.0, grid=GRID), 4),
            (LossDistribution.approximate(0.3, 1e-8, grid=GRID), 1),
        ]
    )
    for epsilon in (0.5, 1.5, 3.0):
        theirs = expected.get_delta_for_epsilon(epsilon)
        assert theirs * (1 - 5e-3) <= composed.delta(epsilon) <= theirs * (1 + 1e-3)
    for delta in (1e-3, 1e-6):
        assert composed.epsilon(delta) == pytest.approx(expected.get_epsilon_for_delta(delta), rel=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_self_composition_is_a_list_of_compositions_and_a_twin_that_drops_the_count_is_caught(count: int) -> None:
    one = LossDistribution.laplace(0.3, grid=2.0**-6)
    listed = LossDistribution(one.grid, 0, np.ones(1))
    for _ in range(count):
        listed = listed.compose(one)
    repeated = one.self_compose(count)
    assert repeated.offset == listed.offset
    for epsilon in (0.0, 0.2, 0.5):
        assert repeated.delta(epsilon) == pytest.approx(listed.delta(epsilon), rel=1e-11)
    if count > 1:
        assert one.delta(0.2) < 0.9 * listed.delta(0.2)
    assert one.self_compose(0).delta(0.0) == 0.0


def test_more_composition_is_never_cheaper() -> None:
    one = LossDistribution.gaussian(0.2, grid=2.0**-8)
    epsilons = [one.self_compose(count).epsilon(1e-6) for count in (1, 2, 3, 10, 50)]
    assert np.all(np.diff(epsilons) > 0)


def test_fft_errors_stay_within_the_bound_that_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    laws = [rng.random(300), np.exp(-0.5 * np.linspace(-12, 12, 2000) ** 2), np.eye(1, 700, 699)[0] + 1e-9]
    for a, b in itertools.combinations_with_replacement([law / law.sum() for law in laws], 2):
        direct, paid = loss_distribution._convolve(a, b)
        assert paid == 0.0
        with monkeypatch.context() as patch:
            patch.setattr(loss_distribution, "DIRECT_PRODUCTS", 0)
            fast, paid = loss_distribution._convolve(a, b)
        assert np.abs(fast - np.convolve(a, b)).sum() <= paid < 1e-11
        assert np.all(fast >= 0)
        assert np.all(direct >= np.convolve(a, b))


def test_composition_by_fft_is_never_below_the_exact_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_distribution, "DIRECT_PRODUCTS", 0)
    monkeypatch.setattr(loss_distribution, "SHORT", 0)
    composed = LossDistribution.pure(0.1, grid=0.1).self_compose(200)
    assert 0 < composed.infinite_mass < 1e-10
    for epsilon in np.linspace(0, 20, 41):
        exact = composed_pure_delta(0.1, 200, float(epsilon))
        assert exact <= composed.delta(float(epsilon)) <= exact * (1 + 1e-8) + 1e-10
    assert composed.epsilon(composed.infinite_mass / 2) == math.inf


def test_large_losses_do_not_wrap_around() -> None:
    """A circular convolution would bring the loss 20 back as a negative one and lose its delta."""
    composed = LossDistribution.pure(1.0, grid=1.0).self_compose(20)
    likely = 1 / (1 + math.exp(-1))
    assert composed.offset + len(composed.probabilities) - 1 == 20
    assert composed.probabilities[-1] == pytest.approx(likely**20, rel=1e-12)
    assert composed.delta(19.0) == pytest.approx(likely**20 * -math.expm1(-1), rel=1e-12)


def test_no_mass_is_ever_lost() -> None:
    for one in (
        LossDistribution.gaussian(0.1, grid=2.0**-10),
        LossDistribution.laplace(0.1, grid=2.0**-10),
        LossDistribution.discrete_gaussian(1, 10.0, grid=2.0**-10),
    ):
        assert mass(one) >= 1 - 1e-14
        many = one.self_compose(300)
        assert 1 - 1e-13 <= mass(many) <= 1 + 1e-9
        assert np.all(many.probabilities >= 0)


def test_epsilon_is_a_safe_end() -> None:
    composed = LossDistribution.laplace(0.1, grid=2.0**-10).self_compose(40)
    for delta in (0.1, 1e-3, 1e-7):
        epsilon = composed.epsilon(delta)
        assert composed.delta(epsilon) <= delta < composed.delta(epsilon * (1 - 1e-9))
    assert composed.epsilon(0.9) == 0.0


def test_a_pure_loss_off_the_grid_is_dominated() -> None:
    for epsilon in (0.1, 0.37, 2.0):
        one = LossDistribution.pure(epsilon, grid=0.03)
        for at in np.linspace(0, epsilon * 0.99, 9):
            assert pure_delta(epsilon, at) * (1 - 2 * MARGIN) <= one.delta(at)
        assert one.delta(math.ceil(epsilon / 0.03) * 0.03 + 1e-9) == 0.0


def test_a_thousand_mixed_releases_are_quick() -> None:
    start = time.process_time()
    grid = grid_for([(0.1, 300), (0.05, 200), (0.1, 200), (0.1, 150), (0.05, 150)])
    composed = compose_all(
        [
            (LossDistribution.pure(0.1, grid=grid), 300),
            (LossDistribution.laplace(0.05, grid=grid), 200),
            (LossDistribution.gaussian(0.1, grid=grid), 200),
            (LossDistribution.discrete_laplace(1, 10.0, grid=grid), 150),
            (LossDistribution.discrete_gaussian(2, 40.0, grid=grid), 150),
        ]
    )
    epsilon = composed.epsilon(1e-6)
    assert time.process_time() - start < 1.5
    assert composed.infinite_mass < 1e-10
    # the sum of the squared deviations as one Gaussian, which this is close to
    squares = 300 * 0.1**2 + 200 * 0.05**2 + 200 * 0.1**2 + 150 * 0.1**2 + 150 * 0.05**2
    assert epsilon < gaussian_epsilon(math.sqrt(squares), 1e-6) * 1.01


def test_the_grid_follows_the_number_and_size_of_releases() -> None:
    assert grid_for([(0.1, 1)]) == grid_for([(0.1, 1000)]) == 2.0**-10
    assert grid_for([(1.0, 1), (0.001, 10_000)]) < grid_for([(1.0, 1)])
    with pytest.raises(GuaranteeError, match="grid_for"):
        grid_for([])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: LossDistribution.pure(0.0, grid=0.1), "epsilon must be"),
        (lambda: LossDistribution.gaussian(math.nan, grid=0.1), "mu must be"),
        (lambda: LossDistribution.laplace(0.1, grid=0.0), "grid must be"),
        (lambda: LossDistribution.discrete_laplace(1.5, 2.0, grid=0.1), "shift must be"),
        (lambda: LossDistribution.discrete_gaussian(0, 2.0, grid=0.1), "shift must be"),
        (lambda: LossDistribution.approximate(0.1, 1.0, grid=0.1), "delta must be"),
        (lambda: LossDistribution.pure(0.1, grid=0.1).self_compose(-1), "count must be"),
        (lambda: LossDistribution.pure(0.1, grid=0.1).compose(LossDistribution.pure(0.1, grid=0.2)), "grid must be"),
        (lambda: compose_all([]), "at least one"),
    ],
)
def test_out_of_range_parameters_are_refused(call: object, match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()  # type: ignore[operator]
