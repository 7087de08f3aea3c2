"""Other starts, projections and batches of noisy gradient descent: the notes' values, exact chains, and the best shifts.

Values of B2 itself (beyond.md §2) and its exactness on quadratics are in test_gibbs.py.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from paper_formulas import langevin_mu_from, noiseless_start_distance, several_iterates_mu
from scipy.optimize import brentq, nnls
from scipy.special import expit, ndtr

from discreet.accounting.curves import gaussian_delta
from discreet.accounting.gibbs import langevin_mu
from discreet.accounting.langevin_privacy import cyclic_langevin_mu, projected_langevin_mu
from discreet.errors import GuaranteeError

CURVE = {"convexity": 1.0, "smoothness": 4.0}
CHAINS = [(1.0, 4.0, 0.1), (0.3, 5.0, 0.3), (0.0, 4.0, 0.2), (1.0, 1.0, 1.0), (2.0, 3.0, 0.6)]  # m, M, h


def contraction(m: float, big_m: float, h: float) -> float:
    return max(abs(1 - h * m), abs(1 - h * big_m))


def best_shifts(c: float, start: float, pushes: np.ndarray) -> float:
    """sqrt(min sum a²) over z_k = c z_{k-1} + s_k - a_k ≥ 0, z_t = 0: least squares in the z's, which are ≥ 0."""
    t = len(pushes)
    constant = pushes.astype(float)
    constant[0] += c * start
    if t == 1:
        return abs(constant[0])
    design = np.zeros((t, t - 1))
    design[range(t - 1), range(t - 1)] = -1.0
    design[range(1, t), range(t - 1)] = c
    return float(nnls(design, -constant)[1])


@pytest.mark.parametrize(("m", "big_m", "h"), CHAINS)
def test_section_2_B2a_is_the_best_shift_and_exact_on_quadratics(m: float, big_m: float, h: float) -> None:
    """beyond.md §2, B2a: minimum of the shift problem, and two Gaussian chains contracted by c from distant points."""
    c, gradient = contraction(m, big_m, h), 0.7
    for distance in (0.0, 0.05, 0.4, 3.0):
        gap, variance = distance, 0.0
        for t in range(1, 25):
            mu = langevin_mu_from(distance, gradient, h, t, convexity=m, smoothness=big_m)
            pushes = np.full(t, gradient * math.sqrt(h / 2))
            assert mu == pytest.approx(best_shifts(c, distance / math.sqrt(2 * h), pushes), rel=1e-9)
            gap, variance = c * gap + h * gradient, c * c * variance + 2 * h
            assert mu == pytest.approx(gap / math.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize(("m", "big_m", "h"), CHAINS)
def test_section_2_B2a_from_distance_zero_is_B2(m: float, big_m: float, h: float) -> None:
    for t in (1, 2, 30, 1000):
        public = langevin_mu(0.7, h, t, convexity=m, smoothness=big_m)
        assert langevin_mu_from(0.0, 0.7, h, t, convexity=m, smoothness=big_m) == pytest.approx(public, rel=1e-12)


def test_section_2_B2a_from_the_mode_decreases_to_the_limit() -> None:
    """beyond.md §2, B2a: D0 = G/m gives (G/(m sqrt(2h))) sqrt((1-c²)/(1-c^2t)), down to B2's limit."""
    gradient, h, c = 1.0, 0.1, 0.9
    limit, previous = langevin_mu(gradient, h, math.inf, **CURVE), math.inf
    for t in (1, 2, 5, 20, 100, math.inf):
        mu = langevin_mu_from(gradient / 1.0, gradient, h, t, **CURVE)
        closed = gradient / math.sqrt(2 * h) * math.sqrt((1 - c**2) / (1 - c ** (2 * t)))
        assert mu == pytest.approx(closed, rel=1e-12)
        assert limit * (1 - 1e-14) <= mu < previous
        previous = mu
    assert previous == pytest.approx(limit, rel=1e-12)


def test_section_2_B2a_noiseless_steps_bound_the_distance_of_neighbours() -> None:
    """beyond.md §2, B2a: D0 ≤ (G/m)(1-c^k), attained on quadratics, and kept by logistic potentials."""
    for k in (0, 1, 4, 50):
        bound = noiseless_start_distance(1.3, 0.1, k, **CURVE)
        assert bound == pytest.approx(1.3 * (1 - 0.9**k), rel=1e-12)
        assert bound <= 1.3
    assert noiseless_start_distance(1.3, 0.1, 7, convexity=0, smoothness=4) == pytest.approx(1.3 * 0.1 * 7)
    records = np.array([[1.0, 1, -1, 0.4], [1, 1, -1, -1]])
    beta, h = 2.0, 0.3
    gradient = beta * 1.051634
    theta = np.zeros(2)
    for k in range(1, 60):
        slope = theta - beta * (records * expit(-records * theta[:, None])).sum(axis=1)
        theta = theta - h * slope
        assert abs(theta[0] - theta[1]) <= noiseless_start_distance(gradient, h, k, convexity=1, smoothness=3)


def test_section_2_B2b_values_without_convexity() -> None:
    """beyond.md §2, B2b: sqrt(2 G D) = 1.41421356237 at tau = D/(hG), whole numbers give more, one step z0 + s."""
    flat = {"convexity": 0.0, "smoothness": 4.0}
    # tau = 1/(hG) = 10 is whole
    for steps in (10, 1000, 10**9, math.inf):
        value = projected_langevin_mu(1.0, 1.0, 0.1, steps, **flat, distance=1.0)
        assert value == pytest.approx(1.41421356237, abs=5e-12)
        assert projected_langevin_mu(1.0, 1.0, 0.1, steps, **flat) <= value
    assert projected_langevin_mu(1.0, 1.0, 0.1, 1000, **flat) == pytest.approx(1.41421356237, abs=5e-12)
    assert projected_langevin_mu(1.0, 1.0, 0.3, 1000, **flat) > math.sqrt(2)
    # D < hG: one step is best
    h, diameter = 0.5, 0.2
    single = diameter / math.sqrt(2 * h) + math.sqrt(h / 2)
    assert projected_langevin_mu(diameter, 1.0, h, 1000, **flat) == pytest.approx(min(single, math.sqrt(h / 2 * 1000)))
    # the public start is better while there are few steps
    assert projected_langevin_mu(1.0, 1.0, 0.1, 3, **flat) == pytest.approx(math.sqrt(0.05 * 3))


def test_section_2_B2b_is_the_smallest_over_whole_numbers() -> None:
    rng = np.random.default_rng(1)
    for i in range(300):
        m, big_m = (0.0 if i % 3 == 0 else rng.uniform(0.01, 1.0)), rng.uniform(1.0, 5.0)
        h = rng.uniform(0.02, 1.0) * 2 / big_m
        gradient, diameter = np.exp(rng.uniform(-3, 2, 2))
        distance, steps = diameter * rng.uniform(), int(rng.integers(1, 60))
        curve = {"convexity": m, "smoothness": big_m}
        candidates = [langevin_mu_from(diameter, gradient, h, tau, **curve) for tau in range(1, steps + 1)]
        candidates.append(langevin_mu_from(distance, gradient, h, steps, **curve))
        found = projected_langevin_mu(diameter, gradient, h, steps, **curve, distance=distance)
        assert found == pytest.approx(min(candidates), rel=1e-12)


@pytest.mark.parametrize(("m", "big_m", "h"), CHAINS)
@pytest.mark.parametrize(("batches", "epochs"), [(2, 1), (2, 5), (3, 4), (5, 2), (8, 3)])
def test_section_2_B2c_is_the_best_shift_of_the_worst_position(
    m: float, big_m: float, h: float, batches: int, epochs: int
) -> None:
    """beyond.md §2, B2c: the closed form is the shift problem's optimum for the last batch; other positions cost less.

    And it bounds the exact value of two cyclic Gaussian chains contracted by c.
    """
    c, gradient = contraction(m, big_m, h), 1.7
    closed = cyclic_langevin_mu(gradient, h, batches, epochs, convexity=m, smoothness=big_m)
    values = []
    for position in range(batches):
        used = np.arange(batches * epochs) % batches == position
        values.append(best_shifts(c, 0.0, used * gradient * math.sqrt(h / 2)))
        gap, variance = 0.0, 0.0
        for push in used:
            gap, variance = c * gap + h * gradient * push, c * c * variance + 2 * h
        assert gap / math.sqrt(variance) <= values[-1] * (1 + 1e-9)
    assert closed == pytest.approx(values[-1], rel=1e-9)
    assert closed >= max(values) * (1 - 1e-9)
    assert closed <= gradient * math.sqrt(h / 2 * epochs) * (1 + 1e-12)


def test_section_2_B2c_one_batch_is_B2() -> None:
    assert cyclic_langevin_mu(1.0, 0.1, 1, 10, **CURVE) == langevin_mu(1.0, 0.1, 10, **CURVE)
    assert cyclic_langevin_mu(1.0, 0.1, 4, 1, **CURVE) == pytest.approx(math.sqrt(0.05))
    tiny = {"convexity": 1e-9, "smoothness": 4.0}
    flat = cyclic_langevin_mu(1.0, 0.1, 4, 9, convexity=0, smoothness=4)
    assert flat == pytest.approx(math.sqrt(0.05 * (1 + 8 / 4)))
    assert cyclic_langevin_mu(1.0, 0.1, 4, 9, **tiny) == pytest.approx(flat, rel=1e-7)


def test_section_2_several_iterates_add_up_over_their_gaps() -> None:
    """beyond.md §2: sqrt(sum of squares over gaps), between the last iterate's own mu and s sqrt(t)."""
    alone = langevin_mu(1.0, 0.1, 10, **CURVE)
    assert several_iterates_mu(1.0, 0.1, [10], **CURVE) == pytest.approx(alone)
    both = several_iterates_mu(1.0, 0.1, [4, 10], **CURVE)
    parts = [langevin_mu(1.0, 0.1, t, **CURVE) for t in (4, 6)]
    assert both == pytest.approx(math.sqrt(parts[0] ** 2 + parts[1] ** 2))
    every = several_iterates_mu(1.0, 0.1, range(1, 11), **CURVE)
    assert every == pytest.approx(math.sqrt(0.05 * 10))
    assert alone < both < every
    # two iterates of a quadratic chain, jointly Gaussian: exactly as bad as the sum says
    c, h = 0.9, 0.1
    means, chain = np.zeros(11), np.zeros((11, 10))
    for t in range(1, 11):
        means[t] = c * means[t - 1] + h
        chain[t] = c * chain[t - 1]
        chain[t, t - 1] = math.sqrt(2 * h)
    shift, cover = means[[4, 10]], (chain @ chain.T)[np.ix_([4, 10], [4, 10])]
    exact = math.sqrt(shift @ np.linalg.solve(cover, shift))
    assert alone <= exact <= both
    assert exact == pytest.approx(math.sqrt(parts[0] ** 2 + (shift[1] - c**6 * shift[0]) ** 2 / _variance(c, h, 6)))


def _variance(c: float, h: float, steps: int) -> float:
    return 2 * h * (1 - c ** (2 * steps)) / (1 - c**2)


# Densities of one-dimensional chains, propagated by quadrature

RECORDS = np.array([0.9, -0.4])
BETA = 1.5
PAIRS = [(1.0, -1.0), (1.0, 0.3), (0.55, -1.0)]
GRADIENT = BETA * 1.051634


def potential_slope(record: float, prior: float) -> Callable[[np.ndarray], np.ndarray]:
    """U' of a logistic posterior with three records of one feature."""

    def slope(theta: np.ndarray) -> np.ndarray:
        return prior * theta - BETA * sum(z * expit(-z * theta) for z in (*RECORDS, record))

    return slope


def propagated(slope: Callable, h: float, start: float, steps: int, grid: np.ndarray) -> list[np.ndarray]:
    """Densities of the first iterates on a fine grid, from one point."""
    moved = grid - h * slope(grid)
    kernel = np.exp(-((grid[:, None] - moved[None, :]) ** 2) / (4 * h)) * (
        (grid[1] - grid[0]) / math.sqrt(4 * math.pi * h)
    )
    first = start - h * slope(np.array(start))
    densities = [np.exp(-((grid - first) ** 2) / (4 * h)) / math.sqrt(4 * math.pi * h)]
    while len(densities) < steps:
        densities.append(kernel @ densities[-1])
    return densities


def excess(p: np.ndarray, q: np.ndarray, weight: np.ndarray | float, mu: float) -> float:
    """The largest hockey-stick divergence relative to its bound, both orders, over a few epsilons."""
    return max(
        float((np.maximum(one - math.exp(epsilon) * other, 0) * weight).sum()) / gaussian_delta(mu, epsilon)
        for one, other in ((p, q), (q, p))
        for epsilon in (0.0, mu / 2, mu, 2 * mu)
    )


@pytest.mark.parametrize("h", [0.1, 0.3])
def test_section_2_logistic_chains_on_a_grid_keep_their_bounds_and_a_start_at_the_mode_does_not(h: float) -> None:
    """beyond.md §2: B2 on t = 1..30, h = .1, .3; B2a from the modes.

    Planted twin: the same chain started at each dataset's own mode violates B2's claim, which asks for a public start.
    """
    grid, step = np.linspace(-8, 8, 701, retstep=True)
    curve = {"convexity": 1.0, "smoothness": 1 + 3 * BETA / 4}
    tightest, twin = 0.0, 0.0
    for pair in PAIRS:
        slopes = [potential_slope(record, 1.0) for record in pair]
        modes = [brentq(slope, -5, 5, xtol=1e-14) for slope in slopes]
        public = [propagated(slope, h, 0.5, 30, grid) for slope in slopes]
        private = [propagated(slope, h, mode, 30, grid) for slope, mode in zip(slopes, modes, strict=True)]
        distance = abs(modes[0] - modes[1])
        assert distance <= GRADIENT
        for t in range(1, 31):
            mu = langevin_mu(GRADIENT, h, t, **curve)
            ratio = excess(public[0][t - 1], public[1][t - 1], step, mu)
            assert ratio <= 1.0
            tightest = max(tightest, ratio)
            mu_from = langevin_mu_from(distance, GRADIENT, h, t, **curve)
            assert excess(private[0][t - 1], private[1][t - 1], step, mu_from) <= 1.0
            twin = max(twin, excess(private[0][t - 1], private[1][t - 1], step, mu))
    assert tightest > 0.3
    assert twin > 1.5


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_section_2_projected_chains_keep_their_bounds(prior: float) -> None:
    """beyond.md §2, B2b: chains projected to [-.4, .4], with atoms at its ends, from a public point and from any two."""
    h, low, high = 0.3, -0.4, 0.4
    curve = {"convexity": prior, "smoothness": prior + 3 * BETA / 4}
    nodes, weights = np.polynomial.legendre.leggauss(240)
    inside = low + (high - low) * (nodes + 1) / 2
    weights = np.concatenate([weights * (high - low) / 2, [1.0, 1.0]])  # density inside, mass at both ends
    points = np.concatenate([inside, [low, high]])
    spread = math.sqrt(2 * h)

    def law(moved: np.ndarray) -> np.ndarray:
        """Density at the nodes and mass at the ends of a projected Gaussian step, one column for each mean."""
        density = np.exp(-((inside[:, None] - moved) ** 2) / (4 * h)) / math.sqrt(4 * math.pi * h)
        return np.vstack([density, ndtr((low - moved) / spread), ndtr((moved - high) / spread)])

    tightest = 0.0
    for pair in PAIRS:
        slopes = [potential_slope(record, prior) for record in pair]
        kernels = [law(points - h * slope(points)) * weights for slope in slopes]
        for starts, distance in (((0.1, 0.1), 0.0), ((low, high), high - low), ((high, low), high - low)):
            laws = [
                law(np.array([start - h * slope(np.array(start))]))[:, 0]
                for start, slope in zip(starts, slopes, strict=True)
            ]
            for t in range(1, 31):
                assert weights @ laws[0] == pytest.approx(1.0, abs=1e-9)
                mu = projected_langevin_mu(high - low, GRADIENT, h, t, **curve, distance=distance)
                ratio = excess(laws[0], laws[1], weights, mu)
                assert ratio <= 1.0 + 1e-6
                tightest = max(tightest, ratio)
                laws = [kernel @ one for kernel, one in zip(kernels, laws, strict=True)]
    assert tightest > 0.2


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: langevin_mu_from(-1.0, 1, 0.1, 5, **CURVE), "distance must be"),
        (lambda: langevin_mu_from(1.0, 1, 0.1, 0, **CURVE), "steps"),
        (lambda: langevin_mu_from(1.0, 1, 0.51, 5, **CURVE), "step must be"),
        (lambda: noiseless_start_distance(1.0, 0.1, -1, **CURVE), "steps must be"),
        (lambda: projected_langevin_mu(0.0, 1, 0.1, 5, **CURVE), "diameter must be"),
        (lambda: projected_langevin_mu(1.0, 1, 0.1, 5, **CURVE, distance=2.0), "distance from 0"),
        (lambda: cyclic_langevin_mu(1.0, 0.1, 0, 5, **CURVE), "batches and epochs"),
        (lambda: several_iterates_mu(1.0, 0.1, [3, 3], **CURVE), "times must be"),
        (lambda: several_iterates_mu(1.0, 0.1, [], **CURVE), "times must be"),
    ],
)
def test_what_no_theorem_covers_is_refused(call: Callable[[], float], match: str) -> None:
    with pytest.raises(GuaranteeError, match=match):
        call()
