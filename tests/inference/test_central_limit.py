"""Posteriors from many records agree with conjugate ones, with the exact sampler, and are calibrated."""

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.auditing.rank_tests import rank_uniformity
from discreet.errors import QueryError
from discreet.inference.diagnostics import bulk_ess, split_rhat
from discreet.inference.gaussian import central_limit as module
from discreet.inference.gaussian.augmentation import augment
from discreet.inference.gaussian.central_limit import central_limit
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, Parameters, from_niw
from discreet.inference.gaussian.released_sums import Term, term_values
from discreet.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize, UniformSizes

REACH = 200
Kind = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]  # numbers and levels of a term


def axis(lower: float, upper: float, reach: int = REACH) -> Axis:
    grid = (upper - lower) / reach
    return Axis(lower, upper, grid, round(lower / grid), 0, reach)


def noise_law(deviation: float, gaussian: bool) -> NoiseLaw:
    return DiscreteGaussian(deviation) if gaussian else DiscreteLaplace(deviation / np.sqrt(2))


def release(
    system: GaussianSystem,
    axes: Sequence[Axis],
    kinds: Sequence[Kind],
    parameters: Parameters,
    n: int,
    share: float,
    gaussian: bool,
    rng: np.random.Generator,
) -> list[Term]:
    """Released terms with noise of deviation `share` · n in units of each term's largest value."""
    units = [float(np.prod([axes[number].reach for number in numbers])) for numbers, _ in kinds]
    laws = [noise_law(share * n * unit, gaussian) for unit in units]
    blank = [Term(0.0, law, *kind) for law, kind in zip(laws, kinds, strict=True)]
    sums = term_values(blank, axes, *system.records(parameters, n, rng)).sum(axis=0)
    deviations = np.sqrt([law.variance for law in laws])
    draw = rng.standard_normal if gaussian else (lambda size: rng.laplace(scale=np.sqrt(0.5), size=size))
    noisy = np.round(sums + deviations * draw(len(sums)))
    return [Term(float(y), law, *kind) for y, law, kind in zip(noisy, laws, kinds, strict=True)]


NORMAL = GaussianSystem((NormalNode("x", (), (), [0.2], [[4.0]], 3.0, 2.0),))
NORMAL_KINDS: list[Kind] = [((0,), ()), ((0, 0), ())]
LINE = GaussianSystem(
    (*from_niw(["x"], [0.0], 1.0, 3.0, [[1.0]]), NormalNode("y", (0,), (), np.zeros(2), np.eye(2), 2.0, 1.0))
)
LINE_KINDS: list[Kind] = [((0,), ()), ((1,), ()), ((0, 0), ()), ((0, 1), ()), ((1, 1), ())]


def flat(draws: Parameters) -> np.ndarray:
    """All parameters but the size as columns (chains, draws, parameters), variances as logarithms."""
    parts = [
        np.log(values) if name.startswith("variance") else values for name, values in draws.items() if name != "size"
    ]
    return np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=2)


def test_without_clamping_and_noise_the_posterior_is_the_conjugate_one() -> None:
    """Means within 0.12 and deviations within 10% at more than 1500 effective draws: beyond four standard errors."""
    features = from_niw(["a", "b"], [0.0, 1.0], 1.0, 4.0, np.eye(2))
    response = NormalNode("y", (0, 1), (0,), np.zeros(5), np.eye(5), 2.0, 1.0)
    system = GaussianSystem((*features, response), (Factor("f", np.ones(3)),))
    axes = tuple(axis(-12.0, 12.0, 24_000) for _ in range(3))
    numbers = [*((j,) for j in range(3)), *((i, j) for i in range(3) for j in range(i, 3))]
    kinds: list[Kind] = [(number, ()) for number in numbers]
    kinds += [(number, ((0, level),)) for level in (1, 2) for number in ((), (0,), (1,), (2,))]
    rng, n = np.random.default_rng(3), 20_000
    parameters = {name: values[0] for name, values in system.sample(1, rng).items()}
    values, codes = system.records(parameters, n, np.random.default_rng(4))
    design = system.design(values, codes)
    terms = release(system, axes, kinds, parameters, n, 1e-9, True, np.random.default_rng(4))
    found = flat(central_limit(system, axes, terms, KnownSize(n), rng, draws=600))
    exact = system.updated(design.T @ design).sample(20_000, rng)
    expected = flat({name: values[np.newaxis] for name, values in exact.items()})
    assert split_rhat(found).max() < 1.02
    assert bulk_ess(found).min() > 1000
    scale = expected.std(axis=(0, 1))
    assert np.abs((found.mean(axis=(0, 1)) - expected.mean(axis=(0, 1))) / scale).max() < 0.12
    assert found.std(axis=(0, 1)) == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize(
    ("system", "kinds", "share", "gaussian"),
    [
        (NORMAL, NORMAL_KINDS, 0.002, False),
        (NORMAL, NORMAL_KINDS, 0.01, True),
        (NORMAL, NORMAL_KINDS, 0.1, False),
        (NORMAL, NORMAL_KINDS, 1.0, True),
        (LINE, LINE_KINDS, 0.02, False),
    ],
)
def test_agrees_with_the_exact_sampler(
    system: GaussianSystem, kinds: Sequence[Kind], share: float, gaussian: bool
) -> None:
    """Quartiles at n = 2000 within 5% of a deviation plus five Monte Carlo errors of both samplers."""
    rng, n = np.random.default_rng(6), 2000
    axes = tuple(axis(-2.0, 2.0) for _ in system.nodes)
    parameters = {name: values[0] for name, values in system.sample(1, rng).items()}
    parameters |= {f"variance[{j}]": np.array(0.9) for j in range(len(system.nodes))}
    terms = release(system, axes, kinds, parameters, n, share, gaussian, rng)
    found = flat(central_limit(system, axes, terms, KnownSize(n), rng))
    exact = flat(augment(system, axes, terms, KnownSize(n), rng, sweeps=600, warmup=200, chains=2))
    error = np.sqrt(1.0 / bulk_ess(found) + 1.0 / bulk_ess(exact))
    levels = [0.25, 0.5, 0.75]
    gap = np.quantile(found, levels, axis=(0, 1)) - np.quantile(exact, levels, axis=(0, 1))
    assert np.all(np.abs(gap) < exact.std(axis=(0, 1)) * (0.05 + 5.0 * 1.4 * error))


def _ranks(runs: int, seed: int, private: bool) -> np.ndarray:
    """Ranks (runs, parameters) of the truth among posterior draws; noise from negligible to overwhelming."""
    rng = np.random.default_rng(seed)
    axes, ranks = (axis(-2.0, 2.0),), []
    kinds = [*NORMAL_KINDS, ((), ())] if private else NORMAL_KINDS
    for run in range(runs):
        n = int(rng.integers(2000, 4001)) if private else 3000
        sizes = UniformSizes(6000) if private else KnownSize(n)
        parameters = {name: values[0] for name, values in NORMAL.sample(1, rng).items()}
        share = 10.0 ** rng.uniform(-4.5, 0.0)
        terms = release(NORMAL, axes, kinds, parameters, n, share, run % 2 == 0, rng)
        draws = central_limit(NORMAL, axes, terms, sizes, rng, draws=100, warmup=30, chains=1)
        truth = [parameters["coefficients[0]"][0], parameters["variance[0]"]]
        below = [np.mean(draws["coefficients[0]"] < truth[0]), np.mean(draws["variance[0]"] < truth[1])]
        ranks.append((100 * np.array(below) + rng.random(2)) / 101)
    return np.array(ranks)


@pytest.mark.parametrize(("runs", "private"), [pytest.param(200, False, marks=pytest.mark.audit), (60, True)])
def test_posteriors_of_a_normal_are_calibrated(runs: int, private: bool) -> None:
    """Two tests at 1e-4 each: a false alarm once in 5000 seeds, and the seed is fixed."""
    ranks = _ranks(runs, 11, private)
    assert all(rank_uniformity(column).uniform() for column in ranks.T), [str(rank_uniformity(c)) for c in ranks.T]


def test_ignoring_the_clamp_is_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: the same runs with bounds ten times as far in the expected sums."""
    layout_of = module.layout_of

    def planted(*arguments):
        layout = layout_of(*arguments)
        return layout._replace(low=10.0 * layout.low, high=10.0 * layout.high)

    monkeypatch.setattr(module, "layout_of", planted)
    ranks = _ranks(60, 11, private=False)
    assert not all(rank_uniformity(column).uniform() for column in ranks.T)


def test_a_private_number_of_records_is_found_with_the_parameters() -> None:
    """A noisy count that is precise decides the size; with the counts of all levels instead, their sum does."""
    rng, n = np.random.default_rng(8), 5000
    system = GaussianSystem(NORMAL.nodes, (Factor("f", np.ones(2)),))
    parameters = {name: values[0] for name, values in system.sample(1, rng).items()}
    for counts in ([((), ())], [((), ((0, 0),)), ((), ((0, 1),))]):
        kinds: list[Kind] = [*NORMAL_KINDS, *counts]
        terms = release(system, (axis(-2.0, 2.0),), kinds, parameters, n, 0.002, True, rng)
        draws = central_limit(system, (axis(-2.0, 2.0),), terms, UniformSizes(100_000), rng, draws=400)
        released = sum(term.released for term in terms[2:])
        deviation = 0.002 * n * np.sqrt(len(counts))
        assert draws["size"].mean() == pytest.approx(released, abs=0.2 * deviation)
        assert draws["size"].std() == pytest.approx(deviation, rel=0.15)
        assert np.all(draws["size"] == np.round(draws["size"]))


def test_draws_have_the_shapes_of_the_exact_sampler_and_are_reproducible() -> None:
    rng = np.random.default_rng(9)
    parameters = {name: values[0] for name, values in LINE.sample(1, rng).items()}
    axes, told = (axis(-2.0, 2.0), axis(-3.0, 3.0)), []
    terms = release(LINE, axes, LINE_KINDS, parameters, 3000, 0.01, False, rng)
    first, second = (
        central_limit(
            LINE, axes, terms, KnownSize(3000), np.random.default_rng(1), draws=50, warmup=20, progress=told.append
        )
        for _ in range(2)
    )
    assert sum(told) == 2 * 4 * 70
    assert {name: values.shape for name, values in first.items()} == {
        "coefficients[0]": (4, 50, 1),
        "variance[0]": (4, 50),
        "coefficients[1]": (4, 50, 2),
        "variance[1]": (4, 50),
        "size": (4, 50),
    }
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_what_cannot_be_run_is_refused() -> None:
    terms = [Term(0.0, DiscreteLaplace(1.0), (0,))]
    with pytest.raises(QueryError, match=r"central_limit\.axes must be one for each of 1 nodes, got 2"):
        central_limit(NORMAL, (axis(-1, 1), axis(-1, 1)), terms, KnownSize(3000), np.random.default_rng(0))
    with pytest.raises(QueryError, match="at least one chain"):
        central_limit(NORMAL, (axis(-1, 1),), terms, KnownSize(3000), np.random.default_rng(0), chains=0)
