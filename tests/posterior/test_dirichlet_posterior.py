"""Posteriors of a probability vector: the reference values, quadrature on the simplex, draws and closed forms."""

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import dirichlet

from discreet.errors import QueryError
from discreet.noise import DiscreteLaplace, Laplace
from discreet.posterior import DirichletLattice, DirichletPosterior, beta_from_two_counts, dirichlet_from_counts
from discreet.schema.row_counts import KnownSize, UniformSizes

LEVELS = ("a", "b", "c")


def reference(n: int | None = 12, n_max: int = 12) -> DirichletLattice:
    return dirichlet_from_counts(
        [6.5, -1, 7.2], KnownSize(n) if n is not None else UniformSizes(n_max), 1.0, Laplace(2.0), LEVELS
    )


def simplex_rule(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights on {x + y ≤ 1}."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    u, w = 0.5 * (nodes + 1), 0.5 * weights
    first, second = (axis.ravel() for axis in np.meshgrid(u, u, indexing="ij"))
    points = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=1)
    return points, np.outer(w, w).ravel() * (1 - first)


def test_values_of_the_notes() -> None:
    """beyond.md §4."""
    post = reference()
    np.testing.assert_allclose(post.mean(), [0.41766001, 0.1182264957, 0.4641134943], atol=1e-8)
    assert np.exp(post.log_evidence()) == pytest.approx(0.000296854731135, abs=1e-14)


@pytest.mark.parametrize(("n", "n_max", "tolerance"), [(12, 12, 1e-7), (None, 30, 0.006)])
def test_density_integrates_to_one_and_to_the_moments(n: int | None, n_max: int, tolerance: float) -> None:
    """With a private total the moments come from 20,000 stored draws: 6 of their standard errors."""
    post = reference(n, n_max)
    points, weights = simplex_rule(16)
    density = np.exp(post.log_density(points))
    assert weights @ density == pytest.approx(1.0, abs=1e-7)
    mean = (weights * density) @ points
    np.testing.assert_allclose(post.mean(), mean, atol=tolerance)
    np.testing.assert_allclose(post.sd(), np.sqrt((weights * density) @ (points - mean) ** 2), atol=tolerance)
    assert post.log_density([0.5, 0.6, -0.1]) == -np.inf


def test_private_quantiles_come_from_the_stored_draws() -> None:
    post = reference(None, 30)
    low, high = post.interval(0.9)
    draws = post.sample(20_000, np.random.default_rng(3))
    inside = np.mean((draws >= low) & (draws <= high), axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.02)  # two samples of 20,000: 6.6 standard errors
    np.testing.assert_array_equal(post.interval(0.9)[0], low)  # fixed public seed: the same answer every time


def test_public_quantiles_are_exact_and_agree_with_draws() -> None:
    post = reference()
    draws = post.sample(40_000, np.random.default_rng(2))
    for q in (0.05, 0.5, 0.95):
        share = np.mean(draws <= post.quantile(q), axis=0)
        np.testing.assert_allclose(share, q, atol=5 * np.sqrt(q * (1 - q) / 40_000))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, atol=1e-12)


def test_two_levels_equal_the_beta_posterior() -> None:
    post = dirichlet_from_counts([8.1, 9.3], KnownSize(20), 1.0, Laplace(2.0), ("0", "1"))
    same = beta_from_two_counts(8.1, 9.3, KnownSize(20), (1, 1), Laplace(2.0))
    assert post.mean()[1] == pytest.approx(same.mean(), abs=1e-12)
    assert post.interval()[0][1] == pytest.approx(same.interval()[0], abs=1e-10)
    assert post.log_evidence() == pytest.approx(same.log_evidence(), abs=1e-11)


def test_plug_in_has_its_closed_forms() -> None:
    alpha = np.array([1.0, 2.5, 30.0])
    post, law = DirichletPosterior(alpha, LEVELS), dirichlet(alpha)
    np.testing.assert_allclose(post.mean(), law.mean())
    np.testing.assert_allclose(post.sd() ** 2, law.var())
    np.testing.assert_allclose(post.quantile(0.2), beta_law.ppf(0.2, alpha, alpha.sum() - alpha), atol=1e-10)
    point = np.array([0.1, 0.2, 0.7])
    assert float(post.log_density(point)) == pytest.approx(law.logpdf(point))
    assert post.sample(5).shape == (5, 3)
    with pytest.raises(QueryError, match="plug-in"):
        post.log_evidence()


def test_predictions_follow_the_predictive_law() -> None:
    """20,000 codes: every share within 5 standard errors."""
    post = reference()
    shares = np.bincount(post.predict(20_000, np.random.default_rng(1)), minlength=3) / 20_000
    assert np.all(np.abs(shares - post.mean()) < 5 * np.sqrt(0.25 / 20_000))


def test_summary_names_the_levels() -> None:
    post = reference()
    assert list(post.summary().index) == ["probabilities[a]", "probabilities[b]", "probabilities[c]"]
    assert set(post.summary().to_dict("index")["probabilities[a]"]) == {"mean", "sd", "lower", "upper"}
    assert "probabilities[b]" in str(post)


def test_rare_levels_of_a_large_table() -> None:
    """Empty cells with a tiny prior give finite answers."""
    counts = [100_000, 3, -40, 0, 25]
    post = dirichlet_from_counts(counts, KnownSize(100_000), 0.01, DiscreteLaplace(20.0), tuple("abcde"))
    low, high = post.interval()
    assert np.all(np.isfinite(low))
    assert np.all((low <= high) & (low >= 0) & (high <= 1))
    assert post.mean().sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    ("y", "prior"),
    [([1.0, 2.0], 1.0), ([1.0, np.nan, 2.0], 1.0), ([1.0, 2.0, 3.0], 0.0), ([1.0, 2.0, 3.0], [1.0, 2.0])],
)
def test_impossible_releases_are_refused(y: list[float], prior) -> None:
    with pytest.raises(QueryError, match="dirichlet_from_counts"):
        dirichlet_from_counts(y, KnownSize(10), prior, Laplace(1.0), LEVELS)
