"""The public rule of noisy scores: what it reads off totals and moments, and where it walks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.queries.scores import ScoreTerms, Totals, first_map, logistic_link, moments_wanted, walk
from discreet.queries.scores.score_frame import contrasts, floored_shares, frame_of
from discreet.queries.scores.score_spectrum import shaped_spread, unshrunk, water_level

Array = NDArray[np.float64]

QUIET = 1e-9


def terms(
    numbers: int, blocks: tuple[int, ...], scores_sd: float, totals_sd: float = QUIET, moments_sd: float | None = None
) -> ScoreTerms:
    radius = np.sqrt(max(numbers, 1))
    return ScoreTerms(logistic_link(), numbers, radius, blocks, 40, totals_sd, moments_sd, scores_sd, 1.25)


def table(n: int, rng: np.random.Generator) -> tuple[Array, Totals]:
    """Two numbers that go together and a category of three levels; the exact totals."""
    common = rng.normal(size=(n, 1))
    numbers = np.clip(0.2 + 0.25 * common + 0.2 * rng.normal(size=(n, 2)), -1.0, 1.0)
    levels = np.eye(3)[rng.choice(3, n, p=[0.6, 0.3, 0.1])]
    totals = Totals(float(n), (levels.sum(axis=0),), numbers.sum(axis=0), float((numbers**2).sum()))
    return np.column_stack([numbers, levels]), totals


def moments_of(x: Array, found: Array, reach: float) -> Array:
    k = np.column_stack([np.ones(len(x)), x]) @ found.T
    k *= np.minimum(1.0, reach / np.linalg.norm(k, axis=1))[:, np.newaxis]
    return np.asarray(k.T @ k)


def test_contrasts_are_orthonormal_and_sum_to_zero() -> None:
    for levels in (2, 3, 17):
        found = contrasts(levels)
        np.testing.assert_allclose(found.T @ found, np.eye(levels - 1), atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


def test_the_frame_knows_centre_energy_and_blocks() -> None:
    x, totals = table(5000, np.random.default_rng(0))
    frame = frame_of(terms(2, (3,), 1.0), totals)
    z = (x - x.mean(axis=0)) @ frame.basis
    exact = z.T @ z / len(z)
    np.testing.assert_allclose(frame.centre, x.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(frame.spread[2:, 2:], exact[2:, 2:], atol=1e-6)
    np.testing.assert_allclose(frame.energy, np.trace(exact), rtol=1e-6)


def test_noisy_counts_are_moved_to_the_sum_they_must_have() -> None:
    share = floored_shares(np.array([70.0, 50.0, -60.0]), 90.0, 10.0)
    np.testing.assert_allclose(share, np.array([80.0, 60.0, 5.0]) / 145.0)


def test_water_fills_to_one_level() -> None:
    relative = np.array([1.0, 2.0, 5.0, 50.0])
    poured = water_level(relative, 12.0)
    np.testing.assert_allclose(poured.sum(), 12.0)
    wet = poured > 0.0
    assert np.ptp((relative + poured)[wet]) < 1e-12
    assert np.all(relative[~wet] >= (relative + poured)[wet].max())


def test_what_shrinking_takes_is_given_back() -> None:
    rng = np.random.default_rng(1)
    variances = np.array([0.8, 0.15, 0.05])
    k = rng.normal(size=(200_000, 3)) * np.sqrt(variances)
    left = (k * np.minimum(1.0, 1.25 / np.linalg.norm(k, axis=1))[:, np.newaxis]).var(axis=0)
    assert left[0] < 0.75 * variances[0]
    np.testing.assert_allclose(unshrunk(left, 1.25), variances, rtol=0.1)


def test_clear_moments_give_the_covariance() -> None:
    x, totals = table(20_000, np.random.default_rng(2))
    law = terms(2, (3,), 1.0, moments_sd=QUIET)
    found = first_map(law, totals)
    assert found is not None
    frame = frame_of(law, totals)
    z = (x - x.mean(axis=0)) @ frame.basis
    spread = shaped_spread(law, frame, moments_of(x, found, law.reach), totals.size)
    exact = z.T @ z / len(z)
    np.testing.assert_allclose(np.diag(spread), np.diag(exact), rtol=0.3)  # levels are not normal
    np.testing.assert_allclose(spread[0, 1] / spread[0, 0], exact[0, 1] / exact[0, 0], atol=0.02)
    assert frame.spread[0, 1] == 0.0  # that they go together, totals do not know
    assert first_map(terms(2, (3,), 1.0), totals) is None


def test_records_are_as_long_as_the_bound_expects_and_the_map_forgets_signs() -> None:
    """E|u|² = dz + 1, and the map is one function of the moments, whatever axes a computer finds for them."""
    x, totals = table(20_000, np.random.default_rng(3))
    law = terms(2, (3,), 50.0, moments_sd=QUIET)
    first = first_map(law, totals)
    assert first is not None
    moments = moments_of(x, first, law.reach)
    found = walk(law, totals, moments)
    u = np.column_stack([np.ones(len(x)), x]) @ found.map.T
    np.testing.assert_allclose((u**2).sum(axis=1).mean(), law.directions + 1.0, rtol=0.1)
    turn = np.eye(4)[[1, 0, 2, 3]]  # the two numbers in the other order
    swapped = np.eye(5)[[1, 0, 2, 3, 4]]
    other = walk(law, replace(totals, sums=totals.sums[::-1]), turn @ moments @ turn)
    np.testing.assert_allclose(other.map[1:, 1:], turn @ found.map[1:, 1:] @ swapped, atol=1e-3)
    assert np.all(found.map * 2**16 == np.round(found.map * 2**16))


def logistic_scores(
    x: Array, w: Array, noise: float, rng: np.random.Generator, law: ScoreTerms, totals: Totals
) -> Array:
    """The coefficients where a walk ends, on targets that are their own means."""
    first = first_map(law, totals)
    found = walk(law, totals, None if first is None else moments_of(x, first, law.reach))
    rows = np.column_stack([np.ones(len(x)), x])
    u, y = rows @ found.map.T, law.link.mean(rows @ w)
    lengths = np.linalg.norm(u, axis=1)
    for _ in range(law.steps):
        f = law.link.mean(u @ found.point)
        weight = np.minimum(1.0, law.bound / (2.0 * lengths * np.maximum(f, 1.0 - f)))
        found = found.after(u.T @ (weight * (f - y)) + noise * rng.normal(size=u.shape[1]))
    return np.asarray(found.map.T @ found.point)


@pytest.mark.parametrize(("moments_sd", "off"), [(QUIET, 0.05), (None, 0.3)])
def test_without_noise_the_walk_ends_at_the_coefficients(moments_sd: float | None, off: float) -> None:
    """Without moments, numbers that go together are told apart slowly."""
    rng = np.random.default_rng(4)
    x, totals = table(5000, rng)
    w = np.array([-0.5, 2.0, -1.0, 0.4, 0.2, -0.6])
    found = logistic_scores(x, w, 1e-3, rng, terms(2, (3,), 1e-3, moments_sd=moments_sd), totals)
    assert np.linalg.norm(found - w) < off * np.linalg.norm(w)


def test_too_little_information_is_spent_on_the_intercept() -> None:
    x, totals = table(200, np.random.default_rng(5))
    law = terms(2, (3,), 4000.0)
    assert law.clarity(200.0) < 1.0
    found = walk(law, totals, None)
    u = np.column_stack([np.ones(len(x)), x]) @ found.map.T
    assert (u[:, 0] ** 2).mean() > 0.999 * (law.directions + 1.0)
    assert (u[:, 1:] ** 2).mean() < 1e-4


def test_moments_are_asked_for_where_they_are_clear() -> None:
    """One block is known from its counts, several need far clearer moments than numbers do."""
    assert moments_wanted(5, (), 10_000, 10.0)
    assert not moments_wanted(5, (), 1_000, 1000.0)
    assert not moments_wanted(0, (3,), 10_000, 1e-6)
    assert moments_wanted(0, (3, 4), 10_000, 100.0)
    assert not moments_wanted(0, (3, 4), 10_000, 500.0)
    assert moments_wanted(5, (), 10_000, 500.0)
