"""Integer weights on a grid: privacy by enumeration of all tables, the law, and the support."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.mechanisms.draws.declared_space import DeclaredSpace
from discreet.mechanisms.draws.exact_grid import GridLaw, default_grid, grid_ends, grid_law, log_grid_law
from discreet.mechanisms.draws.tempered import prior_part
from discreet.noise.sources import SeededNoise, SystemNoise
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families import BoundedMean, Dirichlet, ExponentialRate, Family, GaussianMean, PoissonRate

AXIS = Axis(0.0, 2.0, 1.0, 0, 0, 2)
FAMILIES: dict[str, tuple[Family, DeclaredSpace]] = {  # the ends of the spaces are points of the grids
    "Beta": (Dirichlet("p", (1.5, 1.0), 1), DeclaredSpace("test", 2.0**-7, None)),
    "query": (BoundedMean("m", (1.5, 1.0), AXIS), DeclaredSpace("test", 2.0**-7, None)),
    "mean": (GaussianMean("m", (0.0, 3.0), 1.0, AXIS), DeclaredSpace("test", None, (-2.0, 6.0))),
    "counts": (PoissonRate("r", (1.5, 1.0), AXIS), DeclaredSpace("test", None, (0.125, 16.0))),
    "times": (ExponentialRate("r", (1.5, 1.0), AXIS), DeclaredSpace("test", None, (0.125, 8.0))),
}
GRIDS = {"Beta": 2.0**-7, "query": 2.0**-6, "mean": 2.0**-4, "counts": 2.0**-3, "times": 2.0**-4}
N = 3


def law_of(name: str, epsilon: float, n: int = N, finer: int = 1) -> tuple[GridLaw, float]:
    """The law on a coarse grid, and what it claims."""
    family, space = FAMILIES[name]
    spread, grid = space.log_range(family), GRIDS[name] / finer
    ends = grid_ends(*space.released(family), grid)
    loss, temperature = min(epsilon, spread), max(1.0, spread / epsilon)
    return grid_law(family, n, ends, grid, temperature, "joint", loss), loss


def neighbours(name: str, n: int = N) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of statistics of tables that differ in one row."""
    if name == "Beta":
        return [((n - k, k), (n - k - 1, k + 1)) for k in range(n)]
    totals = range(-n * AXIS.reach, n * AXIS.reach + 1, 2)
    return [((s,), (t,)) for s, t in itertools.combinations(totals, 2) if t - s <= 2 * AXIS.reach]


def spread(weights: np.ndarray, others: np.ndarray) -> float:
    """Range of the log-ratio of two laws, from their integer weights."""
    if min(weights.min(), others.min()) == 0:
        return math.inf
    ratios = np.array([math.log(Fraction(w, v)) for w, v in zip(weights, others, strict=True)])
    return float(np.ptp(ratios))


def worst(law: GridLaw, name: str) -> float:
    return max(spread(law.weights(one), law.weights(other)) for one, other in neighbours(name))


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("epsilon", [0.5, 100.0])
def test_all_neighbouring_tables_stay_within_the_claim_and_reach_it(name: str, epsilon: float) -> None:
    """Exact integer weights of every table of three rows, heated and not."""
    law, claim = law_of(name, epsilon)
    assert 0.9 * claim <= worst(law, name) <= claim * (1 + 1e-12)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_half_the_sensitivity_is_caught(name: str) -> None:
    law, claim = law_of(name, 0.5)
    planted = GridLaw(law.points, law.slopes, law.public, 2 * law.rate)
    assert worst(planted, name) > 1.5 * claim


def test_weights_without_a_floor_are_caught() -> None:
    """Points 62 nats apart for each row: without a floor a weight is rounded to few bits or to nothing."""
    points = np.array([1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9])
    logs = (np.log1p(-points), np.log(points))
    slopes = tuple(np.rint(np.ldexp(1.5 * log, 20)).astype(np.int64) for log in logs)
    claim = 2.0**-20 * sum(int(np.ptp(slope)) for slope in slopes)
    law = GridLaw(points, slopes, np.zeros(7, dtype=np.int64), 2.0**-20)
    assert min(law.weights((N - k, k)).min() for k in range(N + 1)) == 2**40
    assert worst(law, "Beta") <= claim + 2.0**-36

    def bare(k: int) -> np.ndarray:
        utilities = (N - k) * slopes[0] + k * slopes[1]
        return np.array(
            [math.floor(Fraction(2**120) * Fraction(math.exp(-u * 2.0**-20))) for u in utilities.max() - utilities]
        )

    assert max(spread(bare(k), bare(k + 1)) for k in range(N)) > claim + 1e-6


def test_a_floor_below_a_shared_reference_is_caught() -> None:
    """Weights must be measured from each table's own maximum: a public reference lets the floor widen the range."""
    logs = np.linspace(2.0, 6.0, 9)
    slope = np.rint(np.ldexp(logs, 20)).astype(np.int64)
    public = np.rint(np.ldexp(-60.0 * np.abs(logs - 5.0), 20)).astype(np.int64)
    law, claim = GridLaw(np.exp(logs), (slope,), public, 2.0**-20), 4 * (6.0 - 2.0)
    assert spread(law.weights((12,)), law.weights((16,))) <= claim + 1e-9

    def planted(statistic: int) -> np.ndarray:
        below = 16 * 5.0 - 2.0**-20 * (statistic * slope + public)
        return np.array([max(2**40, math.floor(2.0**120 * math.exp(-u))) for u in below], dtype=object)

    assert spread(planted(12), planted(16)) > 1.2 * claim


@pytest.mark.parametrize("n", [10, 10**6, 10**9])
def test_large_tables_use_python_integers_and_the_same_law(n: int) -> None:
    """Log-weights against doubles where they are accurate; int64 would wrap at the largest n."""
    family, space = FAMILIES["Beta"]
    ends = grid_ends(*space.released(family), 2.0**-10)
    law = grid_law(family, n, ends, 2.0**-10, 1.0, "joint", space.log_range(family))
    assert (law.public.dtype == object) == (n == 10**9)
    k, p = 3 * n // 10, law.points
    weights = law.weights((n - k, k))
    expected = k * np.log(p) + (n - k) * np.log1p(-p) + 0.5 * np.log1p(-p)
    expected = np.maximum(expected - expected.max(), -80 * math.log(2))
    found = np.array([math.log(w) for w in weights]) - 120 * math.log(2)
    assert found == pytest.approx(expected, abs=1e-4 * max(1.0, n / 1e6))


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize(("finer", "error"), [(1, 1e-4), (32, 1e-5)])
def test_the_law_of_a_draw_is_that_of_the_weights(name: str, finer: int, error: float) -> None:
    """Summed over a coarse grid, and by Gregory's formula on a fine one, for statistics of 40 rows."""
    family, n = FAMILIES[name][0], 40
    law, _ = law_of(name, 200.0, n, finer)
    most = n if name == "Beta" else n * AXIS.reach
    values = np.linspace(0 if name == "Beta" else -most, most, 9)
    laws = family.update(prior_part(family, 1.0, "joint"), 1.0, values, n)
    tables = [law.weights((n - int(v), int(v)) if name == "Beta" else (int(v),)) for v in values]
    for i in range(3, law.points.size, law.points.size // 15):
        found = log_grid_law(family, law, law.points[[i]], laws, values, n)
        for log_probability, weights in zip(found, tables, strict=True):
            if weights[i] > 2**60:  # above the floor, which the law of a draw leaves out
                exact = math.log(Fraction(int(weights[i]), int(weights.sum())))
                assert log_probability == pytest.approx(exact, abs=error)


def test_points_are_drawn_in_proportion_to_their_weights() -> None:
    """8,000 draws, chi-square with false alarm 1e-4; weights of the neighbouring count are seen."""
    law, _ = law_of("Beta", 100.0)
    sample = law.draw((1, 2), 8_000, SeededNoise(8))
    seen = np.bincount(np.rint((sample - law.points[0]) / (law.points[1] - law.points[0])).astype(int))
    assert seen.size <= law.points.size
    seen = np.pad(seen, (0, law.points.size - seen.size))
    for statistic, right in (((1, 2), True), ((2, 1), False)):
        weights = law.weights(statistic)
        expected = np.array([float(Fraction(int(w), int(weights.sum()))) for w in weights]) * sample.size
        keep = expected >= 5
        terms = (seen - expected)[keep] ** 2 / expected[keep]
        assert (stats.chi2(keep.sum() - 1).sf(terms.sum()) > 1e-4) == right


def test_the_default_grid_has_about_65_thousand_points() -> None:
    for low, high in ((0.05, 0.95), (-1e6, 2e6), (1e-3, 2e-3)):
        first, last = grid_ends(Fraction(low), Fraction(high), default_grid(Fraction(low), Fraction(high)))
        assert 2**16 - 2 <= last - first + 1 <= 2**17 + 2


@pytest.mark.parametrize("noise", [SystemNoise(), SeededNoise(1)])
def test_whole_numbers_below_a_bound_are_uniform(noise: SystemNoise | SeededNoise) -> None:
    """10,000 numbers below 10, chi-square with false alarm 1e-6; large bounds stay below and fill their bits."""
    seen = np.bincount([noise.below(10) for _ in range(10_000)], minlength=10)
    assert seen.size == 10
    assert stats.chisquare(seen).pvalue > 1e-6
    assert {noise.below(1) for _ in range(20)} == {0}
    assert {noise.below(2) for _ in range(60)} == {0, 1}
    large = [noise.below(3 * 2**140) for _ in range(200)]
    assert max(large) < 3 * 2**140
    assert max(large) > 2**141
    assert len({number % 2**20 for number in large}) > 190


def test_released_digits_say_nothing_of_the_table() -> None:
    """Every dataset has the same support, so no count of trailing zeros can tell two of them apart."""
    mechanism = dc.PosteriorSample(epsilon=1.0, truncation=0.01, arithmetic="exact")
    query = dc.BetaBernoulli("x").query(dc.Schema({"x": dc.Binary()}, n=2))
    law = mechanism._grid_law(query)
    assert all(law.weights((2 - k, k)).min() >= 2**40 for k in range(3))
    for bits in range(40, 61):
        assert np.all(np.ldexp(law.points, bits) % 1.0 == 0.0)
