"""Naive Bayes from noisy tables: enumeration of everything unseen, the density, calibration, predictions."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2

from discreet.errors import QueryError
from discreet.noise import DiscreteLaplace
from discreet.posterior import NaiveBayesPosterior, naive_bayes_from_tables
from discreet.schema.row_counts import KnownSize, UniformSizes

LAW = DiscreteLaplace(1.5)
TABLES = {"u": np.array([[2.0, 1.0], [4.0, -1.0]]), "v": np.array([[0.0, 5.0], [3.0, 1.0]])}
LEVELS = {"u": ("no", "yes"), "v": ("low", "high")}
CLASS_PRIOR, PRIORS = np.array([1.0, 2.0]), {"u": np.array([1.0, 1.0]), "v": np.array([0.5, 3.0])}
N = 6


@cache
def posterior(n: int | None = N, n_max: int = N) -> NaiveBayesPosterior:
    laws = dict.fromkeys(TABLES, LAW)
    return naive_bayes_from_tables(
        TABLES, KnownSize(n) if n is not None else UniformSizes(n_max), CLASS_PRIOR, PRIORS, laws, ("A", "B"), LEVELS
    )


def log_dirichlet_multinomial(counts: np.ndarray, alpha: np.ndarray) -> float:
    n, total = counts.sum(), alpha.sum()
    arrangements = gammaln(n + 1) - gammaln(counts + 1).sum() + gammaln(total) - gammaln(n + total)
    return float(arrangements + np.sum(gammaln(counts + alpha) - gammaln(alpha)))


@cache
def enumeration() -> tuple[float, list[tuple[int, ...]], np.ndarray]:
    """Log evidence, all (N_A, k_u,A, k_u,B, k_v,A, k_v,B) and their probabilities, where k counts the first level."""
    cells, log_weights = [], []
    for n_a in range(N + 1):
        totals = (n_a, N - n_a)
        for first in itertools.product(*(range(m + 1) for m in totals * 2)):
            log_weight = log_dirichlet_multinomial(np.array(totals), CLASS_PRIOR)
            for position, k in enumerate(first):
                feature, c = ("u", "v")[position // 2], position % 2
                counts = np.array([k, totals[c] - k])
                log_weight += log_dirichlet_multinomial(counts, PRIORS[feature])
                log_weight += float(LAW.log_density(TABLES[feature][c] - counts).sum())
            cells.append((n_a, *first))
            log_weights.append(log_weight)
    evidence = float(logsumexp(log_weights))
    return evidence, cells, np.exp(np.array(log_weights) - evidence)


def test_evidence_equals_enumeration() -> None:
    assert posterior().log_evidence() == pytest.approx(enumeration()[0], abs=1e-10)


def test_draws_of_all_counts_have_the_exact_joint_law() -> None:
    """Chi-square over all cells with an expectation of at least 5, the rest pooled; false alarm 1e-4."""
    _, cells, probabilities = enumeration()
    totals, (u, v) = posterior().shared.sample(60_000, np.random.default_rng(1))
    drawn = np.stack([totals[:, 0], u[:, 0, 0], u[:, 1, 0], v[:, 0, 0], v[:, 1, 0]], axis=1)
    position = {cell: i for i, cell in enumerate(cells)}
    observed = np.bincount([position[tuple(row)] for row in drawn], minlength=len(cells))
    expected = probabilities * len(drawn)
    common = expected >= 5
    observed, expected = (np.append(a[common], a[~common].sum()) for a in (observed, expected))
    assert chi2.sf(np.sum((observed - expected) ** 2 / expected), len(observed) - 1) > 1e-4


def test_means_equal_enumeration() -> None:
    """From 20,000 stored draws of the counts: within .01, which is 6 standard errors of the least certain."""
    _, cells, probabilities = enumeration()
    cells_array = np.array(cells)
    mean = posterior().mean()
    n_a = cells_array[:, 0]
    assert mean["class"][0] == pytest.approx(probabilities @ ((n_a + 1.0) / (N + 3.0)), abs=0.01)
    exact = probabilities @ ((cells_array[:, 3] + 0.5) / (n_a + 3.5))
    assert mean["v"][0, 0] == pytest.approx(exact, abs=0.01)
    draws = posterior().sample(20_000, np.random.default_rng(2))
    np.testing.assert_allclose(draws["v"].std(axis=0), posterior().sd()["v"], atol=0.01)
    np.testing.assert_allclose(draws["class"].mean(axis=0), mean["class"], atol=0.01)


def test_log_density_is_bayes_rule() -> None:
    """prior x P(tables | probabilities) / evidence, the middle factor by enumeration of the counts."""
    point = {"class": [0.3, 0.7], "u": [[0.4, 0.6], [0.9, 0.1]], "v": [[0.2, 0.8], [0.5, 0.5]]}

    def log_binomial(k: int, n: int, p: list[float]) -> float:
        return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * np.log(p[0]) + (n - k) * np.log(p[1]))

    parts = []
    for n_a in range(N + 1):
        log_weight = log_binomial(n_a, N, [0.3, 0.7])
        for feature, c in itertools.product(("u", "v"), (0, 1)):
            m = (n_a, N - n_a)[c]
            log_weight += logsumexp(
                [
                    log_binomial(k, m, point[feature][c])
                    + LAW.log_density(TABLES[feature][c] - np.array([k, m - k])).sum()
                    for k in range(m + 1)
                ]
            )
        parts.append(log_weight)
    log_prior = np.log(2 * 0.7) + 2 * 0.0  # Dirichlet(1, 2) at .7, two uniform Dirichlets
    log_beta = gammaln(3.5) - gammaln(0.5) - gammaln(3.0)
    log_prior += sum(log_beta - 0.5 * np.log(p[0]) + 2 * np.log(p[1]) for p in point["v"])
    exact = log_prior + logsumexp(parts) - enumeration()[0]
    assert posterior().log_density(point) == pytest.approx(exact, abs=1e-9)
    assert posterior().log_density({**point, "class": [0.3, 0.8]}) == -np.inf


def test_predicted_classes_equal_enumeration() -> None:
    """P(class | features) ∝ E[pi_c theta_u theta_v]; 4,000 of the stored draws."""
    _, cells, probabilities = enumeration()
    n_a, u_a, u_b, v_a, v_b = np.array(cells).T
    joint = [
        probabilities @ ((n_a + 1) / (N + 3) * (n_a - u_a + 1) / (n_a + 2) * (v_a + 0.5) / (n_a + 3.5)),
        probabilities @ ((N - n_a + 2) / (N + 3) * (N - n_a - u_b + 1) / (N - n_a + 2) * (v_b + 0.5) / (N - n_a + 3.5)),
    ]
    found = posterior().predict_proba(pd.DataFrame({"u": ["yes", "yes"], "v": ["low", "low"]}))
    np.testing.assert_allclose(found[0], np.array(joint) / np.sum(joint), atol=0.015)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_predicted_records_follow_the_predictive_law() -> None:
    records = posterior().predict(20_000, np.random.default_rng(3))
    assert set(records) == {"class", "u", "v"}
    mean = posterior().mean()["class"][1]
    assert abs(records["class"].mean() - mean) < 5 * np.sqrt(0.25 / 20_000) + 0.01


def test_private_total() -> None:
    post = posterior(None, 15)
    draws = post.sample(500, np.random.default_rng(4))
    assert draws["u"].shape == (500, 2, 2)
    low, high = post.interval(0.9)["v"]
    assert np.all((low < high) & (low > 0) & (high < 1))
    assert np.isfinite(post.log_evidence())


def test_ranks_of_the_truth_are_uniform() -> None:
    """Simulation-based calibration: 400 runs, 19 draws, 3 parameters; chi-square on 20 ranks, false alarm 3e-5."""
    rng, runs, n = np.random.default_rng(7), 400, 30
    laws = dict.fromkeys(LEVELS, DiscreteLaplace(2.0))
    ranks = np.zeros((runs, 3), dtype=int)
    for run in range(runs):
        pi = rng.dirichlet(CLASS_PRIOR)
        theta = {name: rng.dirichlet(prior, size=2) for name, prior in PRIORS.items()}
        totals = rng.multinomial(n, pi)
        p = -np.expm1(-1 / 2.0)
        tables = {
            name: np.array([rng.multinomial(totals[c], theta[name][c]) for c in range(2)])
            + rng.geometric(p, (2, 2))
            - rng.geometric(p, (2, 2))
            for name in LEVELS
        }
        post = naive_bayes_from_tables(tables, KnownSize(n), CLASS_PRIOR, PRIORS, laws, ("A", "B"), LEVELS)
        draws = post.sample(19, rng)
        ranks[run] = [
            np.sum(draws["class"][:, 0] < pi[0]),
            np.sum(draws["u"][:, 0, 0] < theta["u"][0, 0]),
            np.sum(draws["v"][:, 1, 0] < theta["v"][1, 0]),
        ]
    for column in ranks.T:
        observed = np.bincount(column, minlength=20)
        assert chi2.sf(np.sum((observed - runs / 20) ** 2 / (runs / 20)), 19) > 1e-5


def test_summary_and_refusals() -> None:
    names = list(posterior().summary().index)
    assert names[:3] == ["class[A]", "class[B]", "u[A, no]"]
    assert len(names) == 10
    assert "v[B, high]" in str(posterior())
    for wrong in ({"u": ["yes"]}, {"u": ["yes"], "v": ["maybe"]}, {"u": ["yes"], "v": [2]}, {"u": ["yes"], "v": []}):
        with pytest.raises(QueryError, match="new rows must"):
            posterior().predict_proba(wrong)
    laws = dict.fromkeys(TABLES, LAW)
    with pytest.raises(QueryError, match="classes × levels"):
        naive_bayes_from_tables({**TABLES, "u": [[1.0, 2.0]]}, KnownSize(6), 1.0, PRIORS, laws, ("A", "B"), LEVELS)
    with pytest.raises(QueryError, match="tables"):
        naive_bayes_from_tables({"u": TABLES["u"]}, KnownSize(6), 1.0, PRIORS, laws, ("A", "B"), LEVELS)
