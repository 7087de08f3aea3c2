"""The augmentation sampler is exact: its sweeps keep the joint law, and its posteriors agree with brute force.

If parameters come from the prior, records and released sums from the model, and a chain starts at those very records
and parameters, then after any number of sweeps the pair (parameters, release) still has the joint law it started
with. Paired differences of test functions therefore have mean 0 however slowly the chain mixes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from discreet.auditing.rank_tests import rank_uniformity
from discreet.errors import QueryError
from discreet.inference.gaussian.augmentation import Augmentation, Trace, augment
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, from_niw
from discreet.inference.gaussian.released_sums import Term, term_values
from discreet.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize, NormalSizes, Sizes, UniformSizes

REACH = 64
LIMIT = 4.5  # |z| beyond it: 7e-6 for one feature


@dataclass(frozen=True)
class Case:
    """A system and what is released of it; the noise has deviation `spread` in units of each term's largest value."""

    system: GaussianSystem
    axes: tuple[Axis, ...]
    terms: tuple[Term, ...]
    sizes: Sizes


def axis(lower: float, upper: float, reach: int = REACH) -> Axis:
    grid = (upper - lower) / reach
    return Axis(lower, upper, grid, int(np.floor(lower / grid + 0.5)), 0, reach)


def laplace(deviation: float) -> NoiseLaw:
    return DiscreteLaplace(deviation / np.sqrt(2))


def normal(make: Callable[[float], NoiseLaw], spread: float, sizes: Sizes) -> Case:
    """Between 5% and 30% of the records are clamped."""
    system = GaussianSystem((NormalNode("x", (), (), [0.2], [[2.0]], 3.0, 2.0),))
    terms = [Term(0, make(spread * REACH), (0,)), Term(0, make(spread * REACH**2), (0, 0))]
    if sizes.lowest < sizes.highest:
        terms.append(Term(0, make(max(spread, 3.0))))
    return Case(system, (axis(-1.5, 1.5),), tuple(terms), sizes)


def two_normals(make: Callable[[float], NoiseLaw], spread: float, sizes: Sizes) -> Case:
    nodes = from_niw(("x", "y"), [0.0, 0.5], 2.0, 6.0, [[3.0, 1.0], [1.0, 2.0]])
    terms = [Term(0, make(spread * REACH), (j,)) for j in (0, 1)]
    terms += [Term(0, make(spread * REACH**2), pair) for pair in ((0, 0), (0, 1), (1, 1))]
    return Case(GaussianSystem(nodes), (axis(-1.5, 1.5), axis(-1.0, 2.0)), tuple(terms), sizes)


def regression(make: Callable[[float], NoiseLaw], spread: float, sizes: Sizes) -> Case:
    """A feature, a factor of three levels, a response on both."""
    feature = from_niw(("x",), [0.0], 2.0, 6.0, [[3.0]])
    response = NormalNode("y", (0,), (0,), [0.0, 0.5, 0.3, -0.3], np.diag([2.0, 2.0, 3.0, 3.0]), 4.0, 2.0)
    system = GaussianSystem((*feature, response), (Factor("f", np.array([2.0, 1.0, 1.0])),))
    terms = [Term(0, make(spread * REACH), (j,)) for j in (0, 1)]
    terms += [Term(0, make(spread * REACH**2), pair) for pair in ((0, 0), (0, 1), (1, 1))]
    for level in (1, 2):
        terms.append(Term(0, make(spread), (), ((0, level),)))
        terms += [Term(0, make(spread * REACH), (j,), ((0, level),)) for j in (0, 1)]
    if sizes.lowest < sizes.highest:
        terms.append(Term(0, make(max(spread, 3.0))))
    return Case(system, (axis(-2.0, 2.0), axis(-2.0, 2.0)), tuple(terms), sizes)


def integer_noise(law: NoiseLaw, rng: np.random.Generator) -> float:
    if isinstance(law, DiscreteLaplace):
        stop = -np.expm1(-1.0 / law.scale)
        return float(rng.geometric(stop) - rng.geometric(stop))
    assert isinstance(law, DiscreteGaussian)
    reach = int(12 * law.sigma) + 1
    if reach > 2000:  # the rounded normal has the same law to far below what these tests can see
        return float(np.round(law.sigma * rng.standard_normal()))
    support = np.arange(-reach, reach + 1)
    weights = np.exp(law.log_density(support))
    return float(rng.choice(support, p=weights / weights.sum()))


def features(
    state: Sequence[np.ndarray], released: np.ndarray, deviations: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Bounded functions of parameters, unseen sums and release, so that a few thousand pairs have normal means."""
    total, _, _, _, sums, coefficients, variances, probabilities = state
    shapes = np.tanh(np.concatenate([coefficients, np.log(variances), 3.0 * probabilities, (total - 60.0) / 40.0]))
    noise = np.tanh(np.abs(released - sums) / deviations)
    return np.concatenate([shapes, shapes**2, noise, np.outer(shapes, np.tanh(released / scale)).ravel()])


def joint_scores(
    case: Case, runs: int, sweeps: int, seed: int, tampered: Callable[[Augmentation], Augmentation] | None = None
) -> np.ndarray:
    """z-scores of paired differences after `sweeps` sweeps; `tampered` plants an error in the sampler."""
    rng = np.random.default_rng(seed)
    honest = Augmentation.of(case.system, case.axes, case.terms, case.sizes)
    target = honest if tampered is None else tampered(honest)
    draws = case.system.sample(runs, rng)
    deviations = np.array([np.sqrt(term.law.variance) for term in case.terms])
    scale = deviations + [20.0 * REACH ** len(term.numbers) for term in case.terms]
    size = len(target.prior_reference()[0])  # any reference must do: one that is shifted, narrow and correlated
    reference = (np.full(size, 0.2), 0.6 * np.eye(size) + np.tril(np.full((size, size), 0.1), -1))
    differences = []
    for run in range(runs):
        theta = {name: values[run] for name, values in draws.items()}
        values, codes = case.system.records(theta, case.sizes.sample(rng), rng)
        sums = term_values(case.terms, case.axes, values, codes).sum(axis=0)
        released = sums + [integer_noise(term.law, rng) for term in case.terms]
        target.packed[1][2][:, 0] = released
        state = target.state(theta, values, codes)
        before = features(state, released, deviations, scale)
        target.advance(rng, state, Trace.empty(state, np.ones(sweeps)), reference)
        after = features(state, released, deviations, scale)
        differences.append(after - before)
    moves = np.array(differences)
    moving = moves.std(axis=0) > 0
    return moves.mean(axis=0)[moving] / (moves.std(axis=0)[moving] / np.sqrt(runs))


CASES = {
    "small Laplace noise": normal(laplace, 0.05 * 30, KnownSize(30)),
    "middling Laplace noise": normal(laplace, 0.3 * 30, KnownSize(30)),
    "large Laplace noise": normal(laplace, 5.0 * 30, KnownSize(30)),
    "tiny Gaussian noise": normal(DiscreteGaussian, 0.1, KnownSize(20)),
    "large Gaussian noise": normal(DiscreteGaussian, 5.0 * 30, KnownSize(30)),
    "private size": normal(laplace, 4.0, UniformSizes(120)),
    "private size, Gaussian noise": normal(DiscreteGaussian, 30.0, NormalSizes(40.0, 15.0, 120)),
    "two dimensions": two_normals(DiscreteGaussian, 3.0, KnownSize(25)),
    "regression": regression(laplace, 2.0, KnownSize(25)),
    "regression, private size": regression(DiscreteGaussian, 10.0, UniformSizes(60)),
}


@pytest.mark.parametrize("name", CASES)
def test_sweeps_keep_the_joint_law_of_parameters_and_release(name):
    """At most 170 z-scores against 4.5, normal to good approximation: false-alarm rate about 1e-3 for each case."""
    assert np.abs(joint_scores(CASES[name], 600, 8, seed=11)).max() < LIMIT


def without_clamping(target: Augmentation) -> Augmentation:
    """The same whole numbers between the bounds, and no end to them."""
    more = 10_000
    axes = [
        Axis(a.lower - more * a.grid, a.upper + more * a.grid, a.grid, a.low - more, a.shift, a.reach + 2 * more)
        for a in target.axes
    ]
    return Augmentation.of(target.system, axes, target.terms, target.sizes)


def with_less_noise(target: Augmentation) -> Augmentation:
    target.packed[1][2][:, 1] *= 0.75
    return target


def without_prior_rate(target: Augmentation) -> Augmentation:
    nodes = tuple(replace(node, rate=0.01 * node.rate) for node in target.system.nodes)
    return Augmentation.of(GaussianSystem(nodes, target.system.factors), target.axes, target.terms, target.sizes)


def with_inverted_sizes(target: Augmentation) -> Augmentation:
    target.packed[2][2][0][:] *= -1.0
    return target


@pytest.mark.parametrize(
    ("plant", "name", "runs"),
    [
        (without_clamping, "small Laplace noise", 200),
        (with_less_noise, "middling Laplace noise", 2000),
        (without_prior_rate, "small Laplace noise", 200),
        (with_inverted_sizes, "private size, Gaussian noise", 200),
    ],
)
def test_planted_errors_are_caught(plant, name, runs):
    assert np.abs(joint_scores(CASES[name], runs, 8, seed=12, tampered=plant)).max() > LIMIT


def test_posterior_of_three_records_agrees_with_brute_force():
    """Five cells, three records: all 125 tables are summed over; tolerance is five Monte Carlo errors or so."""
    system = GaussianSystem((NormalNode("x", (), (), [0.0], [[1.0]], 3.0, 2.0),))
    coarse = Axis(-2.0, 2.0, 1.0, -2, 0, 4)
    terms = (Term(7.0, DiscreteLaplace(3.0), (0,)), Term(25.0, DiscreteGaussian(9.0), (0, 0)))
    out = augment(system, (coarse,), terms, KnownSize(3), np.random.default_rng(5), sweeps=5000, warmup=200)
    mu, log_variance = np.meshgrid(np.linspace(-6, 6, 161), np.linspace(-3, 4, 141), indexing="ij")
    expected = brute_force(terms, mu, log_variance)
    for grid, draws in ((mu, out["coefficients[0]"][..., 0]), (log_variance, np.log(out["variance[0]"]))):
        mean = float((expected * grid).sum())
        sd = float(np.sqrt((expected * (grid - mean) ** 2).sum()))
        assert draws.mean() == pytest.approx(mean, abs=0.04 * sd)
        assert draws.std() == pytest.approx(sd, rel=0.04)


def brute_force(terms: Sequence[Term], mu: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    """Posterior weights on a grid of parameters."""
    from scipy.special import ndtr
    from scipy.stats import invgamma, norm

    deviation = np.exp(0.5 * log_variance)
    edges = np.array([-np.inf, -1.5, -0.5, 0.5, 1.5, np.inf])
    cells = np.diff(ndtr((edges - mu[..., np.newaxis]) / deviation[..., np.newaxis]), axis=-1)
    likelihood = np.zeros_like(mu)
    for codes in product(range(5), repeat=3):
        v = 2.0 * np.array(codes) - 4.0
        noise = terms[0].law.log_density(terms[0].released - v.sum())
        noise = noise + terms[1].law.log_density(terms[1].released - (v**2).sum())
        likelihood += np.exp(noise) * cells[..., codes[0]] * cells[..., codes[1]] * cells[..., codes[2]]
    variance = np.exp(log_variance)
    weights = likelihood * norm.pdf(mu, 0.0, deviation) * invgamma.pdf(variance, 3.0, scale=2.0) * variance
    return weights / weights.sum()


@pytest.mark.parametrize(("spread", "private"), [(0.3, False), (0.05, True)])
def test_posteriors_from_their_own_starts_are_calibrated(spread, private):
    """Ranks of the truth among draws of short chains, 100 runs: false-alarm rate 1e-4 for each parameter."""
    rng = np.random.default_rng(21)
    sizes = UniformSizes(60) if private else KnownSize(50)
    case = normal(laplace, spread * 50, sizes)
    ranks = []
    for run in range(100):
        theta = {name: values[0] for name, values in case.system.sample(1, rng).items()}
        values, codes = case.system.records(theta, sizes.sample(rng), rng)
        sums = term_values(case.terms, case.axes, values, codes).sum(axis=0)
        terms = [
            replace(term, released=float(total + integer_noise(term.law, rng)))
            for term, total in zip(case.terms, sums, strict=True)
        ]
        out = augment(
            case.system, case.axes, terms, sizes, np.random.default_rng(run), sweeps=300, warmup=100, chains=2
        )
        truth = (theta["coefficients[0]"][0], theta["variance[0]"])
        draws = (out["coefficients[0]"][..., 0], out["variance[0]"])
        ranks.append([(np.sum(d < t) + 0.5) / (d.size + 1) for d, t in zip(draws, truth, strict=True)])
    for column in np.array(ranks).T:
        assert rank_uniformity(column).uniform(1e-4), str(rank_uniformity(column))


def test_shapes_names_progress_and_reproducibility():
    case = CASES["regression, private size"]
    told: list[int] = []
    runs = [
        augment(
            case.system,
            case.axes,
            case.terms,
            case.sizes,
            np.random.default_rng(0),
            sweeps=130,
            warmup=30,
            chains=3,
            progress=told.append,
        )
        for _ in range(2)
    ]
    assert {name: values.shape for name, values in runs[0].items()} == {
        "coefficients[0]": (3, 130, 1),
        "variance[0]": (3, 130),
        "coefficients[1]": (3, 130, 4),
        "variance[1]": (3, 130),
        "probabilities[0]": (3, 130, 3),
        "size": (3, 130),
    }
    for name, values in runs[0].items():
        np.testing.assert_array_equal(values, runs[1][name])
    assert sum(told) == 2 * 3 * 160
    np.testing.assert_allclose(runs[0]["probabilities[0]"].sum(axis=-1), 1.0)


def test_incremental_sums_stay_the_sums_of_the_records():
    case = CASES["regression, private size"]
    rng = np.random.default_rng(3)
    target = Augmentation.of(case.system, case.axes, case.terms, case.sizes)
    state, _ = target.start(rng)
    target.advance(rng, state, Trace.empty(state, np.ones(50)), target.prior_reference())
    n = int(state[0][0])
    expected = term_values(case.terms, case.axes, state[1][:n], state[3][:n]).sum(axis=0)
    np.testing.assert_array_equal(state[4], expected)


def test_no_record_at_all_gives_the_prior():
    """Means of 20,000 draws within six Monte Carlo errors of a quantile's."""
    case = normal(laplace, 3.0, KnownSize(0))
    out = augment(case.system, case.axes, case.terms, KnownSize(0), np.random.default_rng(0), sweeps=5000, warmup=10)
    prior = case.system.sample(200_000, np.random.default_rng(1))
    for q in (0.1, 0.5, 0.9):
        assert np.mean(out["variance[0]"] < np.quantile(prior["variance[0]"], q)) == pytest.approx(q, abs=0.02)


def test_axes_and_sweeps_are_checked():
    case = CASES["small Laplace noise"]
    with pytest.raises(QueryError, match="axes must be one for each"):
        augment(case.system, (), case.terms, case.sizes, np.random.default_rng(0))
    with pytest.raises(QueryError, match="at least one chain"):
        augment(case.system, case.axes, case.terms, case.sizes, np.random.default_rng(0), sweeps=0)
