"""Theta given noisy scores against integrals that share nothing with it: enumerated levels, and a dense grid of theta."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.inference.scores import ScoreEvidence
from discreet.inference.scores.feature_law import feature_law, inverse_root
from discreet.queries.scores import ScoreTerms, Totals, binomial_link, identity_link, logistic_link, poisson_link, walk
from discreet.queries.scores.score_terms import ScoreLink

Array = NDArray[np.float64]

QUIET = 1e-9
SHARES = np.array([0.7, 0.3])
N = 3000.0


def two_levels(noise: float, w: tuple[float, float], seed: int, link: ScoreLink | None = None) -> ScoreEvidence:
    """A release about one category of two levels, whose law is known exactly: targets are normal around their means."""
    terms = ScoreTerms(link or logistic_link(), 0, 1.0, (2,), 40, QUIET, None, noise, 1.25)
    totals = Totals(N, (N * SHARES,), np.zeros(0), 0.0)
    rng, found = np.random.default_rng(seed), walk(terms, totals, None)
    u = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]) @ found.map.T
    f = terms.link.mean(np.array([w[0] + w[1], w[0] - w[1]]))
    means = f + np.sqrt(terms.link.variance(np.array([w[0] + w[1], w[0] - w[1]])) / (N * SHARES)) * rng.normal(size=2)
    points, scores = [], []
    for _ in range(terms.steps):
        weight = weights(terms, u, found.point)
        score = N * (SHARES * weight * (terms.link.mean(u @ found.point) - means)) @ u + noise * rng.normal(size=2)
        points.append(found.point)
        scores.append(score)
        found = found.after(score)
    return ScoreEvidence(terms, totals, None, np.array(points), np.array(scores), found)


def weights(terms: ScoreTerms, u: Array, point: Array) -> Array:
    f = terms.link.mean(u @ point)
    farthest = 0.5 if terms.link.by_label else np.maximum(f, 1.0 - f)
    return np.asarray(np.minimum(1.0, terms.bound / (2.0 * np.linalg.norm(u, axis=1) * farthest)))


def by_grid(evidence: ScoreEvidence, precision: Array, wide: int = 201) -> tuple[Array, Array, float]:
    """Mean, deviations and log-evidence of theta on a grid, from the law of the pooled score written out again."""
    terms, points = evidence.terms, evidence.points
    u = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]) @ evidence.walk.map.T
    omega = np.sqrt(np.arange(1.0, 41.0)) / np.sqrt(np.arange(1.0, 41.0)).sum()
    w = np.array([weights(terms, u, point) for point in points])
    centre, spread = evidence.law(precision).mean, np.sqrt(np.diag(evidence.law(precision).covariance))
    axes = [m + s * np.linspace(-7.0, 7.0, wide) for m, s in zip(centre, spread, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    expected = np.zeros((len(grid), 2))
    asked = omega @ np.array([terms.link.mean(u @ point) * row for point, row in zip(points, w, strict=True)])
    average = omega @ w
    f, v = terms.link.mean(grid @ u.T), terms.link.variance(grid @ u.T)
    expected = N * (SHARES * (asked - average * f)) @ u
    noise = terms.scores_sd**2 * (omega**2).sum()
    j = N * np.einsum("gi,ia,ib->gab", SHARES * average**2 * v, u, u) + noise * np.eye(2)
    gap = omega @ evidence.scores - expected
    density = -0.5 * np.einsum("ga,gab,gb->g", gap, np.linalg.inv(j), gap) - 0.5 * np.linalg.slogdet(j)[1]
    density -= 0.5 * np.einsum("ga,ab,gb->g", grid, precision, grid)
    density += 0.5 * np.linalg.slogdet(precision)[1] - 2.0 * np.log(2.0 * np.pi)
    weight = np.exp(density - density.max())
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    evidence_there = float(density.max() + np.log(weight.sum() * cell))
    weight /= weight.sum()
    mean = weight @ grid
    return mean, np.sqrt(weight @ (grid - mean) ** 2), evidence_there


@pytest.mark.parametrize("link", ["logistic", "by label", "binomial", "poisson", "identity"])
def test_two_levels_agree_with_a_grid(link: str) -> None:
    """The features' law is exact here: what is left is that theta is normal, to a few per cent of a deviation."""
    made = {
        "logistic": logistic_link(),
        "by label": replace(logistic_link(), by_label=True),
        "binomial": binomial_link(4),
        "poisson": poisson_link(6.0),
        "identity": identity_link(),
    }[link]
    evidence = two_levels(30.0, (0.3, -0.4), 1, made)
    precision = np.eye(2) * 0.3
    law = evidence.law(precision)
    mean, deviation, log_evidence = by_grid(evidence, precision)
    np.testing.assert_allclose(law.mean, mean, atol=0.06 * deviation.min())
    np.testing.assert_allclose(np.sqrt(np.diag(law.covariance)), deviation, rtol=0.06)
    assert abs(law.log_evidence - log_evidence) < 0.1


def quantiles_by_grid(evidence: ScoreEvidence, precision: Array, orders: tuple[float, ...]) -> Array:
    """Of the intercept, under both levels' laws written out, on a grid of seven deviations of the prior."""
    terms, points = evidence.terms, evidence.points
    u = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]) @ evidence.walk.map.T
    omega = np.sqrt(np.arange(1.0, 41.0)) / np.sqrt(np.arange(1.0, 41.0)).sum()
    w = np.array([weights(terms, u, point) for point in points])
    axes = [np.linspace(-7.0, 7.0, 401) / np.sqrt(each) for each in np.diag(precision)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    asked = omega @ np.array([terms.link.mean(u @ point) * row for point, row in zip(points, w, strict=True)])
    average = omega @ w
    gap = omega @ evidence.scores - N * (SHARES * (asked - average * terms.link.mean(grid @ u.T))) @ u
    j = N * np.einsum("gi,ia,ib->gab", SHARES * average**2 * terms.link.variance(grid @ u.T), u, u)
    j += terms.scores_sd**2 * (omega**2).sum() * np.eye(2)
    density = -0.5 * np.einsum("ga,gab,gb->g", gap, np.linalg.inv(j), gap) - 0.5 * np.linalg.slogdet(j)[1]
    density -= 0.5 * np.einsum("ga,ab,gb->g", grid, precision, grid)
    sums = np.cumsum(np.exp(density - density.max()).reshape(401, 401).sum(axis=1))
    return np.interp(orders, sums / sums[-1], axes[0])


def quantiles_of(means: Array, covariances: Array, orders: tuple[float, ...]) -> Array:
    """Of the first coordinate of normal laws that count the same."""
    from scipy.special import ndtr

    at = np.linspace(means[:, 0].min() - 20.0, means[:, 0].max() + 20.0, 20_001)
    below = [ndtr((at - m) / np.sqrt(v)) for m, v in zip(means[:, 0], covariances[:, 0, 0], strict=True)]
    return np.interp(orders, np.mean(below, axis=0), at)


@pytest.mark.parametrize("rare", [-4.5, -1.0])
def test_intercepts_of_counted_targets_agree_with_a_grid(rare: float) -> None:
    """Where noise leaves counts alone; the twin is the normal law, which misses the long tail of rare targets."""
    orders, precision = (0.05, 0.5, 0.95), np.diag([0.1, 0.2])
    evidence = two_levels(6000.0, (rare, 0.4), 5)
    assert evidence.counts_only
    precision[1, 1] *= evidence.walk.map[1, 2] ** 2 + evidence.walk.map[1, 1] ** 2  # of the slope, not of its scale
    right = quantiles_by_grid(evidence, precision, orders)
    counted, normal = evidence.counted(precision), evidence.law(precision)
    deviation = float(counted.covariance[0, 0]) ** 0.5
    found = quantiles_of(counted.means, counted.covariances, orders)
    np.testing.assert_allclose(found, right, atol=0.12 * deviation)
    np.testing.assert_allclose(counted.covariance[1, 1] * precision[1, 1], 1.0, rtol=0.15)
    if rare < -2.0:
        assert np.abs(quantiles_of(normal.means, normal.covariances, orders) - right).max() > 0.3 * deviation


def test_without_information_counted_targets_have_the_prior() -> None:
    evidence, precision = two_levels(1e7, (0.3, -0.4), 3), np.array([[0.5, 0.1], [0.1, 0.3]])
    law = evidence.counted(precision)
    np.testing.assert_allclose(law.covariance, np.linalg.inv(precision), rtol=0.02, atol=0.03)
    np.testing.assert_allclose(law.mean, 0.0, atol=0.05)


def test_forgotten_noise_and_forgotten_prior_are_seen() -> None:
    """Planted: noise taken for half of what it is, and a prior a hundred times as wide, move the deviations."""
    evidence, precision = two_levels(300.0, (0.3, -0.4), 2), np.eye(2) * 100.0
    _, deviation, _ = by_grid(evidence, precision)
    right = np.sqrt(np.diag(evidence.law(precision).covariance))
    quiet = replace(evidence, terms=replace(evidence.terms, scores_sd=150.0))
    for wrong in (quiet.law(precision), evidence.law(precision / 100.0)):
        off = np.abs(np.sqrt(np.diag(wrong.covariance)) / deviation - 1.0).max()
        assert off > 3.0 * np.abs(right / deviation - 1.0).max()
        assert off > 0.04


def test_without_information_the_posterior_is_the_prior() -> None:
    evidence, precision = two_levels(1e6, (0.3, -0.4), 3), np.eye(2) * 0.5
    law = evidence.law(precision)
    np.testing.assert_allclose(law.covariance, 2.0 * np.eye(2), rtol=0.02, atol=0.02)
    np.testing.assert_allclose(law.mean, 0.0, atol=0.1)


def test_the_same_release_is_read_the_same_way() -> None:
    evidence, precision = two_levels(30.0, (0.3, -0.4), 4), np.eye(2)
    np.testing.assert_array_equal(evidence.law(precision).means, evidence.law(precision).means)


def numbers(moments_sd: float | None, centre: float = 0.0) -> tuple[ScoreTerms, Totals, Array | None]:
    """Three numbers of deviation .2 that go together; exact totals, moments with this noise on top of none."""
    terms = ScoreTerms(logistic_link(), 3, np.sqrt(3.0), (), 40, QUIET, moments_sd, 10.0, 4.0)
    covariance = 0.04 * np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
    totals = Totals(N, (), np.full(3, N * centre), N * (0.12 + 3 * centre**2))
    return terms, totals, None if moments_sd is None else N * covariance / 0.12


@pytest.mark.parametrize("moments_sd", [1.0, 120.0])
def test_drawn_covariances_spread_as_the_noise_of_the_moments(moments_sd: float) -> None:
    """Where noise is small against eigenvalues, draws are the moments plus noise again; where it is large, the prior's."""
    terms, totals, moments = numbers(moments_sd)
    assert moments is not None
    path, rng = walk(terms, totals, moments), np.random.default_rng(5)
    law = feature_law(terms, totals, path.frame, path.spread, moments, rng)
    drawn = [law.drawn(rng) for _ in range(200)]
    covariances = np.array([z.T @ z / len(z) for z in drawn]) / 0.12
    if moments_sd == 1.0:
        np.testing.assert_allclose(covariances.mean(axis=0), moments / N, atol=1e-3)
        np.testing.assert_allclose(covariances[:, 0, 0].std(), 1.0 / N, rtol=0.25)
        np.testing.assert_allclose(covariances[:, 0, 1].std(), np.sqrt(0.5) / N, rtol=0.25)
    assert np.linalg.eigvalsh(covariances).min() > 0.0


def test_numbers_near_a_bound_are_skewed_and_others_are_not() -> None:
    rng = np.random.default_rng(6)
    for centre, low, high in ((0.0, -0.15, 0.15), (-0.8, 0.5, 3.0), (0.8, -3.0, -0.5)):
        terms, totals, _ = numbers(None, centre)
        path = walk(terms, totals, None)
        z = feature_law(terms, totals, path.frame, path.spread, None, rng).records
        np.testing.assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-9)
        assert low < (z**3).mean() < high


def test_the_inverse_root_inverts() -> None:
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    half = inverse_root(matrix)
    np.testing.assert_allclose(half @ matrix @ half, np.eye(2), atol=1e-12)
