"""Tables that share their class totals, against enumeration and against slow sums in logarithms."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from discreet.inference.counts.compositions import Total
from discreet.inference.counts.noisy_counts import NoisyCells, Polya
from discreet.inference.counts.shared_totals import SharedTotals
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw
from discreet.schema.row_counts import KnownSize, UniformSizes


def convolve(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.array([logsumexp(left[: m + 1] + right[m::-1]) for m in range(len(left))])


def slow(tables, law: NoiseLaw, alpha, betas, lowest: int, highest: int) -> tuple[float, np.ndarray]:
    """Log evidence and posterior means of the class totals, by convolution in logarithms over 0..highest."""
    k = np.arange(highest + 1.0)
    classes = []
    for c, a in enumerate(alpha):
        weights = gammaln(k + a) - gammaln(k + 1) - gammaln(a)
        for table, beta in zip(tables, betas, strict=True):
            cells = [
                gammaln(k + b) - gammaln(k + 1) - gammaln(b) + law.log_density(y - k)
                for y, b in zip(table[c], beta, strict=True)
            ]
            sums = cells[0]
            for cell in cells[1:]:
                sums = convolve(sums, cell)
            weights = weights + sums + gammaln(k + 1) + gammaln(beta.sum()) - gammaln(k + beta.sum())
        classes.append(weights)
    log_total = gammaln(k + 1) + gammaln(alpha.sum()) - gammaln(k + alpha.sum()) - np.log(highest - lowest + 1)
    log_total[k < lowest] = -np.inf

    def evidence(weights: list[np.ndarray]) -> float:
        sums = weights[0]
        for other in weights[1:]:
            sums = convolve(sums, other)
        return float(logsumexp(sums + log_total))

    total = evidence(classes)
    log_k = np.log(np.maximum(k, 1e-300))
    means = [
        np.exp(evidence([w + log_k if i == c else w for i, w in enumerate(classes)]) - total)
        for c in range(len(classes))
    ]
    return total, np.array(means)


def build(tables, law: NoiseLaw, alpha, betas, lowest: int, highest: int) -> SharedTotals:
    cells = [
        [NoisyCells(row, law, Polya(beta), highest) for row in table] for table, beta in zip(tables, betas, strict=True)
    ]
    return SharedTotals.build(
        cells,
        Polya(alpha),
        Total(KnownSize(highest) if lowest == highest else UniformSizes(highest), float(alpha.sum())),
    )


def check(tables, law: NoiseLaw, alpha, betas, lowest: int, highest: int) -> None:
    """Evidence to 1e-8, class means within 5.5 standard errors of 4,000 draws (4e-8 each), totals that match."""
    shared = build(tables, law, alpha, betas, lowest, highest)
    evidence, means = slow(tables, law, alpha, betas, lowest, highest)
    assert shared.log_evidence == pytest.approx(evidence, rel=1e-10, abs=1e-8)
    totals, counts = shared.sample(4000, np.random.default_rng(0))
    for table in counts:
        np.testing.assert_array_equal(table.sum(axis=2), totals)
        assert table.min() >= 0
    # a rare value may be missing from all 4,000 draws: its weight is then below 1e-2 with the same confidence
    assert np.all(np.abs(totals.mean(axis=0) - means) < 5.5 * totals.std(axis=0) / np.sqrt(4000) + 0.01)


@pytest.mark.parametrize("law", [DiscreteLaplace(2.0), DiscreteGaussian(1.5), Laplace(0.3)])
@pytest.mark.parametrize(("lowest", "highest"), [(6, 6), (0, 20)])
def test_small_tables(law: NoiseLaw, lowest: int, highest: int) -> None:
    tables = [np.array([[2.0, 1.0], [4.0, -1.0]]), np.array([[0.0, 5.0], [3.0, 1.0]])]
    check(tables, law, np.array([1.0, 2.0]), [np.ones(2), np.array([0.5, 3.0])], lowest, highest)


def test_tables_that_contradict_each_other() -> None:
    """The first table puts class 0 near 20, the second near 70, forty noise scales apart."""
    tables = [np.array([[10.0, 10.0], [30.0, 40.0]]), np.array([[35.0, 35.0], [10.0, 5.0]])]
    check(tables, DiscreteLaplace(1.2), np.ones(2), [np.ones(2), np.ones(2)], 90, 90)
    check(tables, DiscreteGaussian(1.2), np.ones(2), [np.ones(2), np.ones(2)], 0, 120)


@pytest.mark.parametrize("seed", range(8))
def test_random_problems(seed: int) -> None:
    """Any noise, priors from .01 to 1000, public and private totals, tables off by up to fifty scales."""
    rng = np.random.default_rng(seed)
    classes, features, highest = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(0, 90))
    scale = 10 ** rng.uniform(-1, 3)
    law = [DiscreteLaplace(scale), DiscreteGaussian(scale), Laplace(scale)][seed % 3]
    sizes = rng.integers(2, 5, features)
    spread = scale * 10 ** rng.uniform(-1, 1.7, (features, 2))
    tables = [
        rng.normal(highest / classes / size, s[0], (classes, size)) + rng.normal(0, s[1], (classes, 1))
        for size, s in zip(sizes, spread, strict=True)
    ]
    alpha, betas = 10 ** rng.uniform(-2, 3, classes), [10 ** rng.uniform(-2, 3, size) for size in sizes]
    check(tables, law, alpha, betas, highest if seed % 2 else 0, highest)
