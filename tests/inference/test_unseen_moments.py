"""The posterior of unseen moments: its priors and conjugate laws by quadrature, its chains against a grid and against
the priors they must leave as they are. Nothing here copies a formula of the package: laws are integrated or simulated."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from discreet.errors import QueryError
from discreet.inference.gaussian.clamped_law import draw_law
from discreet.inference.gaussian.correlation_priors import CorrelationPrior, EqualMargins, Lkj
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, from_niw
from discreet.inference.gaussian.moment_chains import SampleMoments, sample_moments
from discreet.inference.gaussian.population_moments import mean_and_covariance, regression
from discreet.inference.gaussian.released_sums import Term
from discreet.inference.gaussian.unseen_moments import BoxPrior, MomentTarget, cells_of, target_of
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize, UniformSizes

REACH = 1000


def moments_of(sample: SampleMoments) -> dict[str, Any]:
    return {"means": sample.means, "within": sample.within}


def axes(p: int) -> tuple[Axis, ...]:
    return tuple(Axis(0.0, 10.0, 0.01, 0, 0, REACH, f"x{j}") for j in range(p))


def conjugate_system(p: int, levels: Sequence[int], rng: np.random.Generator) -> GaussianSystem:
    effects = sum(count - 1 for count in levels)
    nodes = []
    for j in range(p):
        k = 1 + j + effects
        root = rng.normal(size=(k, k))
        nodes.append(
            NormalNode(
                f"x{j}",
                tuple(range(j)),
                tuple(range(len(levels))),
                rng.normal(size=k),
                root @ root.T + np.eye(k),
                3.0,
                2.0,
            )
        )
    return GaussianSystem(tuple(nodes), tuple(Factor(f"f{f}", np.ones(count)) for f, count in enumerate(levels)))


def released(p: int, levels: Sequence[int], n: float, *, private: bool, scale: float = 20.0, laplace: bool = False):
    """Sums of n rows without correlations, equal in all levels, without any noise."""
    law = DiscreteLaplace if laplace else DiscreteGaussian
    terms = []

    def add(value: float, numbers: tuple[int, ...], cell: tuple[tuple[int, int], ...]) -> None:
        unit = float(REACH ** len(numbers))
        terms.append(Term(value * unit, law(scale * unit), numbers, cell))

    for f, count in enumerate(levels):
        for code in range(count):
            add(n / count, (), ((f, code),))
            for j in range(p):
                add(0.1 * n / count, (j,), ((f, code),))
    for f, g in combinations(range(len(levels)), 2):
        for a in range(levels[f]):
            for b in range(levels[g]):
                add(n / levels[f] / levels[g], (), ((f, a), (g, b)))
    if not levels:
        if private:
            add(n, (), ())
        for j in range(p):
            add(0.1 * n, (j,), ())
    for i in range(p):
        for j in range(i, p):
            add(n * (0.15 if i == j else 0.02), (i, j), ())
    return terms


def target(
    p: int,
    levels: Sequence[int],
    conjugate: Sequence[bool],
    slopes: float,
    *,
    private: bool,
    correlations: CorrelationPrior = Lkj(2.0),  # noqa: B008 - frozen
) -> MomentTarget:
    system = conjugate_system(p, levels, np.random.default_rng(7))
    sizes = UniformSizes(2000) if private else KnownSize(500)
    terms = released(p, levels, 500.0, private=private)
    return target_of(system, axes(p), terms, sizes, BoxPrior(2.0, 6.0, correlations, slopes), conjugate, 1.0)


def _without_noise(found: MomentTarget, means: np.ndarray, within: np.ndarray) -> float:
    """Log-prior of means (one cell) and covariances: noise so wide that it says nothing, d mean = (1 - mean²) d eta."""
    from discreet.inference.gaussian.kernels.moment_density import log_posterior

    flat = found.released._replace(scale=np.full(found.released.scale.size, 1e12))
    return float(log_posterior(flat, *found.priors, np.arctanh(means), within)) - np.log(1.0 - means**2).sum()


def _covariance(p: int, rng: np.random.Generator) -> np.ndarray:
    root = 0.2 * np.eye(p) + 0.07 * rng.normal(size=(p, p))
    return root @ root.T


@pytest.mark.parametrize("kind", ["Lkj", "EqualMargins"])
def test_the_weak_prior_is_beta_within_the_bounds_and_its_own_of_correlations(kind: str) -> None:
    prior = Lkj(2.0) if kind == "Lkj" else EqualMargins(0.75)
    found = target(3, (), (False,) * 3, 0.0, private=False, correlations=prior)
    rng, gaps = np.random.default_rng(5), []
    for _ in range(20):
        means, within = 0.5 * np.tanh(rng.normal(size=3)), _covariance(3, rng)
        room, own = 1.0 - means**2, np.diag(within)
        correlation = within / np.sqrt(np.outer(own, own))
        # variances Beta(2, 6) of their room; d covariance = Π own dR d own; correlations |R|^(eta - 1), or those of an
        # inverse Wishart law with 3.5 degrees of freedom, integrated over the variances
        log_prior = stats.beta(2.0, 6.0).logpdf(own / room).sum() - np.log(room).sum() - np.log(own).sum()
        log_prior += stats.beta(0.5, 0.5).logpdf((means + 1) / 2).sum()
        log_prior += np.linalg.slogdet(correlation)[1] if kind == "Lkj" else _of_inverse_wishart(correlation, 3.5)
        gaps.append(_without_noise(found, means, within) - log_prior)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-4)


def _of_inverse_wishart(correlation: np.ndarray, freedom: float) -> float:
    """Log-density of the correlations of an inverse Wishart law: a sum over a grid of logarithms of deviations."""
    logs = np.linspace(-6.0, 6.0, 60)
    deviations = np.exp(np.stack(np.meshgrid(*[logs] * 3, indexing="ij"), axis=-1).reshape(-1, 3))
    covariances = correlation * deviations[:, :, np.newaxis] * deviations[:, np.newaxis, :]
    density = stats.invwishart(freedom, np.eye(3)).logpdf(np.moveaxis(covariances, 0, -1))
    # d covariance = Π own^1 dR d own, d own = 2 own d log deviation
    return float(logsumexp(density + 4.0 * np.log(deviations).sum(axis=1)))


@pytest.mark.parametrize("prior", [Lkj(0.5), EqualMargins(0.5), EqualMargins(1.5)], ids=str)
def test_correlations_are_drawn_from_their_prior(prior: CorrelationPrior) -> None:
    """Of 2,000 matrices of four columns; a false alarm is one in 10,000. The twin has the other law and is caught."""
    rng = np.random.default_rng(11)
    drawn = np.array([prior.drawn(4, rng)[3, 0] for _ in range(2000)])
    equal = isinstance(prior, EqualMargins)
    own, other = prior.shape + (0.0 if equal else 1.0), prior.shape + (1.0 if equal else 0.0)
    assert stats.kstest((drawn + 1.0) / 2.0, stats.beta(own, own).cdf).pvalue > 1e-4
    assert stats.kstest((drawn + 1.0) / 2.0, stats.beta(other, other).cdf).pvalue < 1e-4


def test_a_conjugate_number_has_the_density_that_integrals_give() -> None:
    """Σy and Σy² of n normal rows, integrated over mean and variance on a grid: no closed form is used."""
    n, node = 12, NormalNode("x0", (), (), np.array([4.0]), np.array([[2.0]]), 3.0, 5.0)
    terms = released(1, (), n, private=False)
    found = target_of(GaussianSystem((node,)), axes(1), terms, KnownSize(n), BoxPrior(1.0, 2.0), (True,), 1.0)
    variance = np.exp(np.linspace(-4.0, 6.0, 900))[:, np.newaxis]
    mean = np.linspace(-30.0, 40.0, 2001)
    prior = stats.invgamma(3.0, scale=5.0).logpdf(variance) + np.log(variance)  # in the logarithm of the variance
    prior = prior + stats.norm(4.0, np.sqrt(variance / 2.0)).logpdf(mean)
    gaps = []
    for u, own in ((-0.2, 0.1), (0.3, 0.01), (0.7, 0.3), (-0.8, 0.05)):
        y, scatter = 5.0 + 5.0 * u, n * 25.0 * own  # the rows' own mean, and squares about it
        likelihood = stats.norm(mean, np.sqrt(variance / n)).logpdf(y)
        likelihood = likelihood + stats.chi2(n - 1).logpdf(scatter / variance) - np.log(variance)
        exact = logsumexp(prior + likelihood)
        gaps.append(_without_noise(found, np.array([u]), np.array([[own]])) - exact)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-4)


def test_several_conjugate_numbers_have_the_normal_inverse_wishart_density() -> None:
    n, mean, kappa, nu = 30, np.array([4.0, 6.0]), 2.0, 5.0
    psi = np.array([[6.0, 2.0], [2.0, 5.0]])
    system = GaussianSystem(from_niw(("x0", "x1"), mean, kappa, nu, psi))
    terms = released(2, (), n, private=False)
    found = target_of(system, axes(2), terms, KnownSize(n), BoxPrior(2.0, 6.0), (True, True), 1.0)
    gaps = []
    rng = np.random.default_rng(0)
    for _ in range(8):
        means, within = np.tanh([-0.2, 0.3] + 0.3 * rng.normal(size=2)), _covariance(2, rng)
        scatter, gap = n * 25.0 * within, 5.0 + 5.0 * means - mean
        whole = psi + scatter + kappa * n / (kappa + n) * np.outer(gap, gap)
        exact = 0.5 * (n - 4.0) * np.linalg.slogdet(scatter)[1] - 0.5 * (nu + n) * np.linalg.slogdet(whole)[1]
        gaps.append(_without_noise(found, means, within) - exact)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-4)


def _grid_posterior(sums: tuple[float, float], law: DiscreteLaplace | DiscreteGaussian, n: int):
    """Mean and variance of one number's rows on a grid: means Beta(1/2, 1/2), variances Beta(1, 2) of their room."""
    m = np.linspace(-1.0, 1.0, 1601)[1:-1, np.newaxis]
    ratio = (np.arange(1200) + 0.5) / 1200
    s = ratio * (1.0 - m**2)
    weight = stats.beta(1.0, 2.0).logpdf(ratio) + stats.beta(0.5, 0.5).logpdf((m + 1.0) / 2.0)
    weight = weight + law.log_density(sums[0] * REACH - n * m * REACH)
    wide = type(law)(law.width * REACH)
    weight = weight + wide.log_density((sums[1] - n * (s + m**2)) * REACH**2)
    chance = np.exp(weight - weight.max())
    chance /= chance.sum()
    return [(float((chance * x).sum()), float(np.sqrt((chance * (x - (chance * x).sum()) ** 2).sum()))) for x in (m, s)]


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("shift", [1.0, 1.2])  # the twin: chains that believe in noise of another scale are caught
def test_chains_agree_with_a_grid(kind, shift) -> None:
    """False alarms: four comparisons at 5 standard errors of a thousand effective draws, below 1e-5."""
    n, sums, law = 60, (-18.0, 14.0), kind(6.0 * REACH)
    exact = _grid_posterior(sums, law, n)
    terms = [
        Term(sums[0] * REACH, kind(6.0 * REACH * shift), (0,)),
        Term(sums[1] * REACH**2, kind(6.0 * REACH**2 * shift), (0, 0)),
    ]
    system = GaussianSystem((NormalNode("x0", (), (), np.zeros(1), np.eye(1), 3.0, 2.0),))
    found = target_of(system, axes(1), terms, KnownSize(n), BoxPrior(1.0, 2.0), (False,), 1.0)
    sample = sample_moments(found, np.random.default_rng(1), moments_of, draws=8000, most=8000)
    drawn = (sample.means[..., 0, 0], sample.within[..., 0, 0])
    errors = []
    for (mean, deviation), values in zip(exact, drawn, strict=True):
        error = deviation / np.sqrt(6000.0)
        errors += [abs(values.mean() - mean) / error, abs(values.std() - deviation) / error]
    assert (max(errors) < 5.0) == (shift == 1.0), errors


def test_what_leaves_nothing_unseen_leaves_the_sample() -> None:
    """With hardly any noise the unseen moments are the table's own, with levels too, and so are the coefficients."""
    rng = np.random.default_rng(11)
    n = 4000
    codes = rng.integers(3, size=n)
    x = np.clip(rng.normal(0.2 * codes - 0.3, 0.2), -1, 1)
    y = np.clip(0.1 + 0.5 * x - 0.2 * (codes == 1) + 0.3 * (codes == 2) + 0.1 * rng.normal(size=n), -1, 1)
    terms, law = [], DiscreteGaussian
    for code in range(3):
        inside = codes == code
        terms.append(Term(float(inside.sum()), law(0.5), (), ((0, code),)))
        terms += [Term(v[inside].sum() * REACH, law(0.5 * REACH), (j,), ((0, code),)) for j, v in enumerate((x, y))]
    for i, j in ((0, 0), (0, 1), (1, 1)):
        terms.append(Term(float(((x, y)[i] * (x, y)[j]).sum()) * REACH**2, law(0.5 * REACH**2), (i, j)))
    system = conjugate_system(2, (3,), rng)
    box = BoxPrior(2.0, 6.0, slopes=1.0)
    found = target_of(system, axes(2), terms, KnownSize(n), box, (False, False), 1.0)
    sample = sample_moments(found, rng, moments_of)
    design = np.column_stack([np.ones(n), codes == 1, codes == 2, x]).astype(float)
    least = np.linalg.lstsq(design, y)[0]
    moments = sample.design_moments(found.unseen.design)
    own = np.linalg.solve(moments[..., :4, :4], moments[..., :4, 4:])[..., 0]
    np.testing.assert_allclose(own.mean(axis=(0, 1)), least, atol=2e-3)
    coefficients, variance = regression(found, sample, rng)
    residual = y - design @ least
    covariance = np.linalg.inv(design.T @ design) * residual.var()
    np.testing.assert_allclose(coefficients.std(axis=(0, 1)), np.sqrt(np.diag(covariance)), rtol=0.12)
    np.testing.assert_allclose(variance.mean(), residual.var(), rtol=0.02)


def test_populations_of_a_known_sample_are_students_and_wisharts() -> None:
    """Means of a sample without noise: Student's t with n - 1 degrees; variances: scaled inverse chi-square."""
    n, p = 25, 2
    found = target(p, (), (False,) * p, 0.0, private=False)
    from discreet.inference.gaussian.moment_chains import SampleMoments

    shape, within = (4, 20_000), np.array([[0.04, 0.01], [0.01, 0.02]])
    sample = SampleMoments(
        np.full(shape, float(n)),
        np.ones((*shape, 1)),
        np.broadcast_to(np.array([[0.1], [-0.2]]), (*shape, 2, 1)),
        np.broadcast_to(within, (*shape, 2, 2)),
    )
    means, covariances = mean_and_covariance(found, sample, np.random.default_rng(2))
    scaled = (means[..., 0] - 0.1) / np.sqrt(0.04 / (n - 1))
    assert stats.kstest(scaled.ravel()[::8], stats.t(n - 1).cdf).pvalue > 1e-4
    # the last number's variance given the others has n - p degrees, the first one's n - 1 - (p - 1)
    ratio = n * 0.04 / covariances[..., 0, 0]
    assert stats.kstest(ratio.ravel()[::8], stats.chi2(n - p).cdf).pvalue > 1e-4


def known_sample(within: np.ndarray, n: float, draws: int) -> Any:
    """Rows whose covariance is known, in half-ranges, their means 0."""
    from discreet.inference.gaussian.moment_chains import SampleMoments

    p, shape = len(within), (4, draws)
    return SampleMoments(
        np.full(shape, n), np.ones((*shape, 1)), np.zeros((*shape, p, 1)), np.broadcast_to(within, (*shape, p, p))
    )


@pytest.mark.parametrize("forgotten", [False, True])
def test_correlations_spread_by_their_kappa_and_variances_by_their_own(forgotten: bool) -> None:
    """20,000 draws: deviations are known to 0.5%; the twin, in which a correlation's kappa is not used, is seen."""
    n, p, kappas = 4000.0, 3, {(0, 1): 4.0, (0, 2): 0.25, (1, 2): 1.0, (1, 1): 9.0}
    within = np.array([[0.04, 0.012, 0.0], [0.012, 0.02, 0.006], [0.0, 0.006, 0.03]])
    found, sample = target(p, (), (False,) * p, 0.0, private=False), known_sample(within, n, 5000)
    excess = {pair: np.array(kappa) for pair, kappa in kappas.items() if not forgotten or pair == (1, 1)}
    _, covariances = mean_and_covariance(found, sample, np.random.default_rng(2), excess)
    spread = np.sqrt(np.einsum("...jj->...j", covariances))
    correlations = covariances / spread[..., :, None] / spread[..., None, :]
    ratios = {
        (i, j): float(np.arctanh(correlations[..., i, j]).std() * n**0.5) ** 2 for i, j in ((0, 1), (0, 2), (1, 2))
    }
    ratios[1, 1] = float(np.log(covariances[..., 1, 1]).std() ** 2 * n / 2.0)
    assert all(abs(ratios[pair] / kappa - 1.0) < 0.06 for pair, kappa in kappas.items()) != forgotten
    assert abs(np.log(covariances[..., 1, 1] / 0.02).mean()) < 0.01


def test_correlations_that_no_columns_have_are_drawn_back() -> None:
    """Kappa 400 of nearly singular rows: every drawn matrix is a covariance."""
    within = 0.02 * (np.full((3, 3), 0.97) + 0.03 * np.eye(3))
    excess = {pair: np.array(400.0) for pair in ((0, 1), (0, 2), (1, 2))}
    found = target(3, (), (False,) * 3, 0.0, private=False)
    _, covariances = mean_and_covariance(found, known_sample(within, 30.0, 2000), np.random.default_rng(2), excess)
    assert np.linalg.eigvalsh(covariances).min() > 0.0


def test_a_simulated_law_knows_its_clamped_moments() -> None:
    rng = np.random.default_rng(4)
    system = conjugate_system(2, (2,), rng)
    law = draw_law(system, axes(2), BoxPrior(2.0, 6.0, slopes=1.0), (False, False), 1.0, rng)
    values, codes = law.records(400_000, rng)
    columns = np.column_stack([np.ones(len(values)), codes[:, 0] == 1, values])
    np.testing.assert_allclose(law.moments(), columns.T @ columns / len(values), atol=6e-3)


def test_too_many_combinations_of_levels_are_refused() -> None:
    with pytest.raises(QueryError, match="at most 20000 combinations"):
        cells_of((100, 100, 100))
