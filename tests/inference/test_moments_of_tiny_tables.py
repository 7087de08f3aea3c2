"""The density of unseen moments against every table there is, and its chains against an independent run.

Three identities, from the closed form to the chains:

* of every table of a tiny lattice, what the density says of the noise is the probability of the release given the
  table, by the exact law of whole-number noise on whole-number sums;
* under a conjugate prior the posterior of the moments is that of the tables: every table of a lattice, weighed by the
  multivariate t law of its rows and the exact law of the noise, has the moments that the chains have;
* under weak priors no law of a row stands behind the moments: draws of means, variances, a correlation, slopes and a
  residual from their priors, weighed by the release, have the averages that the chains have.

Twins believe in noise of another scale, or forget a prior, and are caught.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from test_unseen_moments import REACH, axes, conjugate_system, moments_of

from discreet.inference.diagnostics import bulk_ess, split_rhat
from discreet.inference.gaussian.correlation_priors import Lkj
from discreet.inference.gaussian.gaussian_system import GaussianSystem, NormalNode
from discreet.inference.gaussian.moment_chains import SampleMoments, sample_moments
from discreet.inference.gaussian.released_sums import Term
from discreet.inference.gaussian.unseen_moments import BoxPrior, MomentTarget, target_of
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize

STANDARD_ERRORS = 5.0  # false alarms of ten comparisons: below 1e-5


# ---- every table of three rows -----------------------------------------------------------------------------------


def gaps_of_every_table(kind: type, believed: float) -> list[float]:
    """Log-density of the noise minus the exact log-probability, for every table of one category and two numbers.

    Numbers are -1, 0 or 1 between bounds of -2 and 2, and both levels have a row.
    """
    from discreet.inference.gaussian.kernels.moment_density import log_posterior

    law, rng, rows = kind(1.5), np.random.default_rng(1), 3
    sums = [(level, numbers) for level in range(2) for numbers in ((), (0,), (1,))]
    squares = [(0, 0), (0, 1), (1, 1)]
    seen = rng.integers(-2, 4, size=len(sums) + len(squares)).astype(float)
    own = kind(believed * 1.5)
    terms = [Term(y, own, numbers, ((0, level),)) for y, (level, numbers) in zip(seen[:6], sums, strict=True)]
    terms += [Term(y, own, pair) for y, pair in zip(seen[6:], squares, strict=True)]
    small = tuple(Axis(0.0, 10.0, 2.5, 0, 0, 2, f"x{j}") for j in range(2))
    box = BoxPrior(1.0, 2.0, Lkj(2.0))
    target = target_of(conjugate_system(2, (2,), rng), small, terms, KnownSize(rows), box, (False, False), 1.0)
    silent = target.released._replace(scale=np.full(seen.size, 1e15))
    found = []
    for table in product(product((0, 1), (-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0)), repeat=rows):
        codes, v = np.array(table)[:, 0], np.array(table)[:, 1:]
        counts = np.array([(codes == level).sum() for level in range(2)])
        if not counts.all():
            continue
        exact = [v[codes == level, numbers[0]].sum() if numbers else counts[level] for level, numbers in sums]
        exact += [v[:, i] @ v[:, j] for i, j in squares]
        means = np.array([v[codes == level].mean(axis=0) for level in range(2)]).T / 2.0
        within = v.T @ v / (4.0 * rows) - np.einsum("c,ic,jc->ij", counts / rows, means, means)
        within += 1e-9 * np.eye(2)  # a table without scatter has sums, but no density
        point = np.concatenate([[np.log(counts[1] / counts[0])], np.arctanh(means).ravel()])
        density = log_posterior(target.released, *target.priors, point, within)
        density -= log_posterior(silent, *target.priors, point, within)
        found.append(density - float(law.log_density(seen - np.array(exact)).sum()))
    return found


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("believed", [1.0, 1.05])
def test_every_table_has_the_probability_of_whole_number_noise(kind: type, believed: float) -> None:
    """Up to one constant. The twin believes in noise that is 5% wider."""
    gaps = gaps_of_every_table(kind, believed)
    assert len(gaps) == (2**3 - 2) * 9**3
    assert (np.ptp(gaps) < 1e-5) == (believed == 1.0), np.ptp(gaps)


# ---- every table of a lattice, under a conjugate prior ------------------------------------------------------------


ROWS = {1: 3, 2: 4}  # one number is tabulated with three rows, a regression of two with four
# steps of the lattice, in half-ranges: no larger than the deviations of the laws of rows, so that sums are integrals
LATTICE = {1: 0.24 * np.arange(-6, 7), 2: 0.26 * (np.arange(8) - 3.5)}
CONJUGATE = {  # mean, precision, shape, rate of each number on a constant and the earlier numbers, as declared: 0 to 10
    1: (NormalNode("x0", (), (), np.array([4.5]), np.array([[2.0]]), 6.0, 14.0),),
    2: (
        NormalNode("x0", (), (), np.array([4.8]), np.array([[3.0]]), 12.0, 14.0),
        NormalNode("x1", (0,), (), np.array([2.4, 0.5]), np.array([[20.0, 6.0], [6.0, 8.0]]), 12.0, 12.0),
    ),
}


def smooth(means: np.ndarray, within: np.ndarray) -> dict[str, np.ndarray]:
    """Bounded, smooth functions of means (…, numbers) and covariances (…, numbers, numbers)."""
    found = {}
    for i in range(means.shape[-1]):
        found[f"mean {i}"], found[f"square {i}"] = means[..., i], means[..., i] ** 2
        found[f"variance {i}"] = within[..., i, i] / (within[..., i, i] + 0.1)
        for j in range(i):
            found[f"covariance {i}{j}"] = within[..., i, j] / (within[..., j, j] + 0.1)
    return found


def conjugate_release(p: int) -> list[tuple[tuple[int, ...], float, float]]:
    """Numbers, a released sum and the width of its noise, in half-ranges; of no table in particular."""
    squares = {(0, 0): 0.5 * p, (0, 1): 0.3, (1, 1): 0.4}
    sums = [((j,), (-0.6, 0.5)[j], 0.8) for j in range(p)]
    return [*sums, *((pair, value, 0.6) for pair, value in squares.items() if max(pair) < p)]


def of_every_table(p: int, kind: type, nodes: Sequence[NormalNode]) -> dict[str, float]:
    """Posterior averages over all tables of the lattice: rows by their multivariate t law, noise by its own.

    The order of the rows changes nothing: every set of rows is listed once and counted as often as it can be ordered.
    """
    points = np.array(list(product(LATTICE[p], repeat=p)))
    places = np.array(list(combinations_with_replacement(range(len(points)), ROWS[p])))
    table = points[places]  # tables, rows, numbers
    # rows are sorted: a row's rank among those like it, and the product of ranks is how often orders look alike
    alike = np.tril(places[:, :, np.newaxis] == places[:, np.newaxis, :]).sum(axis=2)
    log_weight = -np.log(alike).sum(axis=1)
    for j, node in enumerate(nodes):
        log_weight += _student(5.0 + 5.0 * table[..., j], 5.0 + 5.0 * table[..., :j], node)
    for numbers, value, width in conjugate_release(p):
        unit = float(REACH ** len(numbers))
        sums = np.rint(table[..., list(numbers)].prod(axis=-1).sum(axis=1) * unit)
        log_weight += kind(width * unit).log_density(value * unit - sums)
    means = table.mean(axis=1)
    log_weight[(np.abs(means) >= 1.0).any(axis=1)] = -np.inf
    chance = np.exp(log_weight - log_weight.max())
    chance /= chance.sum()
    within = np.swapaxes(table, 1, 2) @ table / ROWS[p] - means[:, :, np.newaxis] * means[:, np.newaxis]
    return {name: float(chance @ values) for name, values in smooth(means, within).items()}


def _student(y: np.ndarray, earlier: np.ndarray, node: NormalNode) -> np.ndarray:
    """Log-density of the rows y (tables, rows) given earlier numbers: coefficients and variance are integrated out."""
    x = np.concatenate([np.ones((*y.shape, 1)), earlier], axis=-1)
    spread = np.eye(y.shape[1]) + x @ np.linalg.inv(node.precision) @ np.swapaxes(x, 1, 2)
    gap = (y - x @ node.mean)[..., np.newaxis]
    fall = np.log1p((gap * np.linalg.solve(spread, gap)).sum(axis=(1, 2)) / (2.0 * node.rate))
    return -0.5 * np.linalg.slogdet(spread)[1] - (node.shape + 0.5 * y.shape[1]) * fall


def of_chains(p: int, kind: type, draws: int) -> SampleMoments:
    terms = []
    for numbers, value, width in conjugate_release(p):
        unit = float(REACH ** len(numbers))
        terms.append(Term(value * unit, kind(width * unit), numbers))
    system, box = GaussianSystem(CONJUGATE[p]), BoxPrior(1.0, 2.0, Lkj(2.0))
    target = target_of(system, axes(p), terms, KnownSize(ROWS[p]), box, (True,) * p, 1.0)
    return sample_moments(target, np.random.default_rng(3), moments_of, draws=draws, most=draws)


def farthest_from_tables(p: int, kind: type, nodes: Sequence[NormalNode], draws: int) -> float:
    """Standard errors between the averages of chains and those of all tables."""
    sample, exact = of_chains(p, kind, draws), of_every_table(p, kind, nodes)
    drawn = smooth(sample.means[..., 0], sample.within)
    return max(
        abs(float(values.mean()) - exact[name]) / (values.std() / np.sqrt(bulk_ess(values)))
        for name, values in drawn.items()
    )


OTHER = {p: tuple(replace(node, rate=2.0 * node.rate) for node in nodes) for p, nodes in CONJUGATE.items()}


@pytest.mark.parametrize(
    ("kind", "twin"), [(DiscreteLaplace, False), (DiscreteGaussian, False), (DiscreteLaplace, True)]
)
def test_a_number_has_the_moments_of_all_its_tables(kind: type, twin: bool) -> None:
    """Three rows, chains of 4,000 draws; tables whose rows have another prior are the twin."""
    found = farthest_from_tables(1, kind, OTHER[1] if twin else CONJUGATE[1], 4_000)
    assert (found < STANDARD_ERRORS) != twin, found


@pytest.mark.audit
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("twin", [False, True])
def test_two_numbers_have_the_moments_of_all_their_tables(kind: type, twin: bool) -> None:
    """Four rows of a number and of a regression on it, 8 × 8 places each: 766,480 tables."""
    found = farthest_from_tables(2, kind, OTHER[2] if twin else CONJUGATE[2], 8_000)
    assert (found < STANDARD_ERRORS) != twin, found


# ---- an independent run, under weak priors ------------------------------------------------------------------------


WEAK_ROWS, WEAK_WIDTH = 150, 35.0
WEAK = BoxPrior(0.5, 2.0, Lkj(2.0), slopes=1.0, residual=(0.5, 2.0))
WEAK_RELEASE = {  # of two features and a target: sums and sums of products in half-ranges
    (0,): -30.0,
    (1,): 20.0,
    (2,): 15.0,
    (0, 0): 35.0,
    (1, 1): 50.0,
    (2, 2): 40.0,
    (0, 1): 10.0,
    (0, 2): 9.0,
    (1, 2): -8.0,
}
AT_ONCE, NOTHING = 100_000, -60.0  # draws; log-weights below are not kept: those that count are above -10


def weighed(laplace: bool, width: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws from the priors and what the release makes of them, relative log-weights: no chain at all.

    Two means, variances and slopes, a correlation and a residual, each from its own law.
    """
    rng, found = np.random.default_rng(8), []
    low, high = WEAK.residual
    for _ in range(draws // AT_ONCE):
        m = 2.0 * rng.beta(WEAK.means, WEAK.means, (AT_ONCE, 3)) - 1.0
        room = 1.0 - m**2
        own = room[:, :2] * rng.beta(WEAK.low, WEAK.high, (AT_ONCE, 2))
        slopes = WEAK.slopes * rng.standard_cauchy((AT_ONCE, 2))
        joint = (2.0 * rng.beta(2.0, 2.0, AT_ONCE) - 1.0) * np.sqrt(own[:, 0] * own[:, 1])  # LKJ(2) of two columns
        residual = room[:, 2] * rng.beta(low, 1.0, AT_ONCE)
        crossed = own * slopes + joint[:, np.newaxis] * slopes[:, ::-1]
        left = 1.0 - (residual + (crossed * slopes).sum(axis=1)) / room[:, 2]  # of the target's own room
        weight = np.where(left > 0.0, (high - 1.0) * np.log(np.maximum(left, 1e-300)), -np.inf)
        squares = {(0, 0): own[:, 0], (1, 1): own[:, 1], (2, 2): room[:, 2] * (1.0 - left)}
        squares |= {(0, 1): joint, (0, 2): crossed[:, 0], (1, 2): crossed[:, 1]}
        for numbers, released in WEAK_RELEASE.items():
            exact = m[:, numbers].prod(axis=1) + squares.get(numbers, 0.0)
            gap = (released - WEAK_ROWS * exact) / width
            weight -= np.abs(gap) if laplace else 0.5 * gap**2
        kept = weight > NOTHING
        found.append((compared(m, own, slopes, residual)[kept], weight[kept]))
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def compared(m: np.ndarray, own: np.ndarray, slopes: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Eight numbers with light tails: means, deviations of the features, slopes, deviation of the residual."""
    return np.concatenate([m, np.sqrt(own), np.arctan(slopes), np.sqrt(residual)[..., np.newaxis]], axis=-1)


def weak_target(laplace: bool) -> MomentTarget:
    kind = DiscreteLaplace if laplace else DiscreteGaussian
    terms = []
    for numbers, value in WEAK_RELEASE.items():
        unit = float(REACH ** len(numbers))
        terms.append(Term(value * unit, kind(WEAK_WIDTH * unit), numbers))
    system = conjugate_system(3, (), np.random.default_rng(7))
    return target_of(system, axes(3), terms, KnownSize(WEAK_ROWS), WEAK, (False,) * 3, 1.0)


def against_the_priors(laplace: bool, width: float, independent: int, draws: int) -> tuple[float, float, float]:
    """R-hat of the chains, effective draws of the independent run, standard errors between their averages."""
    values, log_weight = weighed(laplace, width, independent)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    means = weight @ values
    variances = weight**2 @ (values - means) ** 2
    sample = sample_moments(weak_target(laplace), np.random.default_rng(4), moments_of, draws=draws, most=draws)
    own = np.diagonal(sample.within, axis1=-2, axis2=-1)[..., :2]
    slopes = np.linalg.solve(sample.within[..., :2, :2], sample.within[..., :2, 2:])[..., 0]
    residual = sample.within[..., 2, 2] - (slopes * sample.within[..., :2, 2]).sum(axis=-1)
    ours = compared(sample.means[..., 0], own, slopes, residual)
    gaps = ours.mean(axis=(0, 1)) - means
    errors = np.sqrt(ours.var(axis=(0, 1)) / bulk_ess(ours) + variances)
    return float(np.max(split_rhat(ours))), float(1.0 / (weight**2).sum()), float(np.max(np.abs(gaps) / errors))


@pytest.mark.parametrize("believed", [1.0, 2.0])
def test_chains_agree_with_an_independent_run(believed: float) -> None:
    """Half a million draws of the priors. The twin's independent run believes in twice the noise."""
    rhat, effective, found = against_the_priors(True, believed * WEAK_WIDTH, 500_000, 4_000)
    assert rhat < 1.01
    assert effective > 1000
    assert (found < STANDARD_ERRORS) == (believed == 1.0), found


@pytest.mark.audit
@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("believed", [1.0, 1.25])
def test_chains_agree_with_a_long_independent_run(laplace: bool, believed: float) -> None:
    """Ten million draws of the priors against four chains of 30,000 draws."""
    rhat, effective, found = against_the_priors(laplace, believed * WEAK_WIDTH, 10_000_000, 30_000)
    print(f"R-hat {rhat:.4f}; {effective:,.0f} effective independent draws; farthest mean {found:.2f} standard errors")
    assert rhat < 1.01
    assert effective > 10_000
    assert (found < STANDARD_ERRORS) == (believed == 1.0), found
