"""The compositions of unseen counts against enumeration, against a slow sum in logarithms, and where it is hard."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2

from discreet.errors import QueryError
from discreet.inference.counts.compositions import Compositions, Total
from discreet.inference.counts.convolution import Convolution
from discreet.inference.counts.noisy_counts import Multinomial, NoisyCells, Polya
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw
from discreet.schema.row_counts import KnownSize, UniformSizes


def build(y, law: NoiseLaw, alpha, lowest: int, highest: int) -> Compositions:
    y = np.asarray(y, dtype=float)
    alpha = np.array(np.broadcast_to(np.asarray(alpha, dtype=float), y.shape))
    return Compositions.build(
        NoisyCells(y, law, Polya(alpha), highest),
        Total(KnownSize(highest) if lowest == highest else UniformSizes(highest), float(alpha.sum())),
    )


def log_joint(counts: np.ndarray, y, law: NoiseLaw, alpha: np.ndarray) -> float:
    n, total = counts.sum(), alpha.sum()
    prior = gammaln(n + 1) - gammaln(counts + 1).sum() + gammaln(total) - gammaln(n + total)
    return float(prior + np.sum(gammaln(counts + alpha) - gammaln(alpha) + law.log_density(np.asarray(y) - counts)))


def enumerate_public(y, law: NoiseLaw, alpha, n: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Log evidence, all compositions of n and their posterior probabilities."""
    alpha = np.array(np.broadcast_to(np.asarray(alpha, dtype=float), (len(y),)))
    heads = [head for head in itertools.product(range(n + 1), repeat=len(y) - 1) if sum(head) <= n]
    counts = np.array([[*head, n - sum(head)] for head in heads])
    log_weights = np.array([log_joint(row, y, law, alpha) for row in counts])
    evidence = logsumexp(log_weights)
    return float(evidence), counts, np.exp(log_weights - evidence)


def slow_log_totals(y, law: NoiseLaw, alpha, highest: int) -> np.ndarray:
    """Log-weights of every total 0..highest by convolution in logarithms: no FFT, no tilt, no window."""
    alpha = np.array(np.broadcast_to(np.asarray(alpha, dtype=float), (len(y),)))
    k = np.arange(highest + 1.0)
    sums = None
    for released, a in zip(y, alpha, strict=True):
        cell = gammaln(k + a) - gammaln(k + 1) - gammaln(a) + law.log_density(released - k)
        sums = cell if sums is None else np.array([logsumexp(sums[: m + 1] + cell[m::-1]) for m in range(highest + 1)])
    return np.asarray(sums + gammaln(k + 1) + gammaln(alpha.sum()) - gammaln(k + alpha.sum()))


LAWS = [DiscreteLaplace(2.0), DiscreteLaplace(0.1), DiscreteLaplace(1e4), DiscreteGaussian(3.0), Laplace(2.5)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [0, 1, 2, 25])
@pytest.mark.parametrize("alpha", [1.0, 0.01, 1000.0, (0.5, 3.0, 20.0)])
def test_evidence_and_moments_equal_enumeration(law: NoiseLaw, n: int, alpha) -> None:
    """One count far below zero, one above n."""
    y = np.array([-50.0, 3.0, n + 3.0]) + (0.3 if isinstance(law, Laplace) else 0.0)
    compositions = build(y, law, alpha, n, n)
    evidence, counts, probabilities = enumerate_public(y, law, alpha, n)
    mean = probabilities @ counts
    variance = probabilities @ (counts - mean) ** 2
    moments = np.array([marginal.moments() for marginal in compositions.marginals()])
    assert compositions.log_evidence == pytest.approx(evidence, abs=1e-10)
    np.testing.assert_allclose(moments[:, 0], mean, atol=1e-10)
    np.testing.assert_allclose(moments[:, 1], variance, atol=1e-9)


@pytest.mark.parametrize("shift", [-50.0, 50.0, -1000.0, 1000.0])
@pytest.mark.parametrize("law", [DiscreteLaplace(1.0), DiscreteGaussian(1.0)])
def test_counts_far_from_their_total(law: NoiseLaw, shift: float) -> None:
    """Σy is 50 and 1000 noise scales away from n."""
    y = np.array([10.0, 12.0, 8.0]) + shift / 3
    compositions = build(y, law, 0.5, 30, 30)
    evidence, counts, probabilities = enumerate_public(y, law, 0.5, 30)
    assert compositions.log_evidence == pytest.approx(evidence, rel=1e-12, abs=1e-9)
    means = [marginal.moments()[0] for marginal in compositions.marginals()]
    np.testing.assert_allclose(means, probabilities @ counts, atol=1e-8)


def lack_of_fit(draws: np.ndarray, counts: np.ndarray, probabilities: np.ndarray) -> float:
    """p-value of the chi-square test over all compositions with an expectation of at least 5, the rest pooled."""
    position = {tuple(row): i for i, row in enumerate(counts)}
    observed = np.bincount([position[tuple(row)] for row in draws], minlength=len(counts))
    expected = probabilities * len(draws)
    common = expected >= 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    return float(chi2.sf(np.sum((observed - expected) ** 2 / expected), len(observed) - 1))


def test_draws_have_the_exact_joint_law_and_a_wrong_conditional_is_caught() -> None:
    """False alarm 1e-4. The planted error draws each cell from its own law and lets the last one absorb the rest."""
    y, law, alpha, n = [6.0, -1.0, 9.0], DiscreteLaplace(2.0), 0.7, 12
    compositions = build(y, law, alpha, n, n)
    _, counts, probabilities = enumerate_public(y, law, alpha, n)
    rng = np.random.default_rng(1)
    assert lack_of_fit(compositions.sample(50_000, rng), counts, probabilities) > 1e-4
    first, second = (
        rng.choice(c.support, p=c.weights / c.weights.sum(), size=50_000)
        for c in compositions.ranges.parts[0].cells[:2]
    )
    wrong = np.stack([first, second, n - first - second], axis=1)
    assert lack_of_fit(wrong[wrong[:, 2] >= 0], counts, probabilities) < 1e-12


@pytest.mark.parametrize(
    ("y", "law", "alpha", "highest"),
    [
        ([10.0, 3.0, -4.0], DiscreteLaplace(5.0), 1.0, 60),
        (list(range(-15, 15)), DiscreteLaplace(20.0), 1.0, 300),  # 30 cells, mostly noise: the total is wide open
        (list(range(0, 60, 3)), DiscreteLaplace(1e6), 1.0, 200),  # no information at all
        ([150, 20, 90, 10, 60], DiscreteLaplace(3.0), 1000.0, 600),  # the prior contradicts the counts
        ([0, 10, 30, 5], DiscreteGaussian(40.0), 0.01, 400),
        ([1000.0, 1000.0, -50.0], DiscreteLaplace(2.0), 0.5, 150),
        ([-1000.0, -50.0], DiscreteLaplace(2.0), 0.5, 150),
        ([1.0, 3.0], DiscreteLaplace(2.0), 0.5, 1),
        ([1.0, 3.0], DiscreteLaplace(2.0), 0.5, 0),
    ],
)
def test_private_totals_equal_the_slow_sum(y, law: NoiseLaw, alpha: float, highest: int) -> None:
    compositions = build(y, law, alpha, 0, highest)
    log_weights = slow_log_totals(y, law, alpha, highest) - np.log(highest + 1)
    evidence = logsumexp(log_weights)
    found = np.zeros(highest + 1)
    found[compositions.totals] = compositions.probabilities
    assert compositions.log_evidence == pytest.approx(evidence, abs=1e-8)
    np.testing.assert_allclose(found, np.exp(log_weights - evidence), atol=1e-9)
    draws = compositions.sample(200, np.random.default_rng(0))
    assert draws.min() >= 0
    assert draws.sum(axis=1).max() <= highest


def test_large_lattices_agree_with_their_own_marginals() -> None:
    """30 cells, 100,000 records, epsilon = .1: 10,000 draws; each mean within 5 standard errors (2e-5 over 30)."""
    rng = np.random.default_rng(2)
    y = rng.multinomial(100_000, rng.dirichlet(np.ones(30))) + np.round(rng.laplace(0, 20, 30))
    compositions = build(y, DiscreteLaplace(20.0), 1.0, 100_000, 100_000)
    draws = compositions.sample(10_000, rng)
    assert np.all(draws.sum(axis=1) == 100_000)
    moments = np.array([marginal.moments() for marginal in compositions.marginals()])
    assert np.all(np.abs(draws.mean(axis=0) - moments[:, 0]) < 5 * np.sqrt(moments[:, 1] / 10_000))
    assert moments[:, 0].sum() == pytest.approx(100_000, abs=1e-6)


def test_nothing_raises_on_extreme_releases() -> None:
    rng = np.random.default_rng(3)
    values = np.array([-1e15, -1e6, -3.0, 7.0, 1e6, 1e15])
    for law in (DiscreteLaplace(0.1), DiscreteLaplace(20.0), DiscreteGaussian(2.0)):
        for n in (0, 1, 20):
            for y in itertools.product(values, repeat=2):
                for lowest in (0, n):
                    compositions = build(y, law, 0.5, lowest, n)
                    assert np.isfinite(compositions.log_evidence)
                    draws = compositions.sample(3, rng)
                    assert draws.min() >= 0
                    assert draws.sum(axis=1).max() <= n


def test_given_probabilities_give_the_multinomial_likelihood() -> None:
    """With exact probabilities and hardly any noise the evidence is the multinomial probability of the counts."""
    theta, counts = np.array([0.2, 0.5, 0.3]), np.array([3.0, 4.0, 5.0])
    cells = NoisyCells(counts, DiscreteLaplace(0.01), Multinomial(np.log(theta)), 12)
    exact = gammaln(13) - gammaln(counts + 1).sum() + counts @ np.log(theta)
    assert Compositions.build(cells, Total(KnownSize(12), None)).log_evidence == pytest.approx(exact, abs=1e-10)


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(QueryError, match="public total"):
        build([1.0, 2.0], DiscreteLaplace(1.0), 1.0, 0, 5).marginals()
    chain = Convolution.build(NoisyCells(np.array([1.0, 2.0]), DiscreteLaplace(1.0), Polya(np.ones(2)), 5), 3.0, 5)
    with pytest.raises(QueryError, match="totals"):
        chain.sample(np.array([9]), np.random.default_rng(0))
