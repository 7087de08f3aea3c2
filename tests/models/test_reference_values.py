"""The noise-aware posteriors of beyond.md §4, through the public API, to 1e-8; and brute force where it is possible."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

import discreet as dc

TOLERANCE = 1e-8


def bernoulli(n: int) -> dc.Schema:
    return dc.Schema({"x": dc.Binary()}, n=n)


def categorical(n: int, levels: int) -> dc.Schema:
    return dc.Schema({"x": dc.Categorical(range(levels))}, n=n)


def test_beta_bernoulli_with_laplace_noise() -> None:
    """n = 20, y = 9.3, Laplace b = 1, uniform: mean, sd and evidence."""
    model = dc.BetaBernoulli("x")
    posterior = model.posterior(model.query(bernoulli(20)), {"ones": 9.3}, {"ones": dc.Laplace(1.0)})
    assert posterior.mean() == pytest.approx(0.4675753411, abs=TOLERANCE)
    assert posterior.sd() == pytest.approx(0.1218956445, abs=TOLERANCE)
    assert math.exp(posterior.log_evidence()) == pytest.approx(0.0466066006027, abs=TOLERANCE)


def test_beta_bernoulli_with_geometric_noise() -> None:
    """n = 100, y = -3, geometric a = .5, Beta(2, 3)."""
    model = dc.BetaBernoulli("x", prior=(2, 3))
    posterior = model.posterior(model.query(bernoulli(100)), {"ones": -3}, {"ones": dc.DiscreteLaplace(2.0)})
    assert posterior.mean() == pytest.approx(0.04692556775, abs=TOLERANCE)
    assert posterior.sd() == pytest.approx(0.03268454614, abs=TOLERANCE)


def test_two_counts_of_foulds() -> None:
    """(9.3, 8.1), n = 20, epsilon = 1 (scale 2): as two counts of a Bernoulli and as a Dirichlet of two levels."""
    model = dc.BetaBernoulli("x")
    posterior = model.posterior(model.query(bernoulli(20)), {"counts": [8.1, 9.3]}, {"counts": dc.Laplace(2.0)})
    assert posterior.mean() == pytest.approx(0.528048767922, abs=TOLERANCE)
    table = dc.DirichletCategorical("x")
    same = table.posterior(table.query(categorical(20, 2)), {"counts": [8.1, 9.3]}, {"counts": dc.Laplace(2.0)})
    assert same.mean()[1] == pytest.approx(0.528048767922, abs=TOLERANCE)
    assert same.log_evidence() == pytest.approx(posterior.log_evidence(), abs=TOLERANCE)


def test_dirichlet_multinomial() -> None:
    """n = 12, alpha = 1, y = (6.5, -1, 7.2), b = 2."""
    model = dc.DirichletCategorical("x")
    posterior = model.posterior(
        model.query(categorical(12, 3)), {"counts": [6.5, -1, 7.2]}, {"counts": dc.Laplace(2.0)}
    )
    assert posterior.mean() == pytest.approx([0.41766001, 0.1182264957, 0.4641134943], abs=TOLERANCE)
    assert math.exp(posterior.log_evidence()) == pytest.approx(0.000296854731135, abs=TOLERANCE)


def enumerate_dirichlet(y: np.ndarray, n: int, alpha: np.ndarray, law) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, sd and log evidence by summing over every composition of n."""
    cells = [k for k in itertools.product(range(n + 1), repeat=y.size) if sum(k) == n]
    counts = np.array(cells, dtype=float)
    log_weights = (
        gammaln(n + 1)
        + gammaln(alpha.sum())
        - gammaln(n + alpha.sum())
        + (gammaln(counts + alpha) - gammaln(counts + 1) - gammaln(alpha)).sum(1)
        + law.log_density(y - counts).sum(1)
    )
    evidence = logsumexp(log_weights)
    weights = np.exp(log_weights - evidence)
    a = counts + alpha
    total = n + alpha.sum()
    mean = weights @ (a / total)
    square = weights @ (a * (a + 1) / (total * (total + 1)))
    return mean, np.sqrt(square - mean**2), float(evidence)


@pytest.mark.parametrize("law", [dc.DiscreteLaplace(3.0), dc.DiscreteGaussian(2.5), dc.Laplace(0.7)], ids=repr)
@pytest.mark.parametrize("y", [[5.0, 9.0, 4.0], [-12.0, 3.0, 40.0], [30.0, 30.0, 30.0]])
@pytest.mark.parametrize("prior", [1.0, (0.2, 3.0, 11.0)])
def test_three_levels_equal_brute_force(law, y: list[float], prior) -> None:
    model = dc.DirichletCategorical("x", prior=prior)
    query = model.query(categorical(18, 3))
    posterior = model.posterior(query, {"counts": y}, {"counts": law})
    alpha = np.broadcast_to(np.asarray(prior, dtype=float), (3,))
    mean, sd, evidence = enumerate_dirichlet(np.array(y), 18, alpha, law)
    assert posterior.mean() == pytest.approx(mean, abs=1e-9)
    assert posterior.sd() == pytest.approx(sd, abs=1e-9)
    assert posterior.log_evidence() == pytest.approx(evidence, abs=1e-8)
    draws = posterior.sample(20_000, np.random.default_rng(4))
    assert np.abs(draws.mean(0) - mean).max() < 4.5 * (sd / math.sqrt(20_000)).max()
    assert draws.std(0) == pytest.approx(sd, rel=0.05)


def test_thirty_levels_of_a_hundred_thousand_records() -> None:
    """K = 30, n = 100,000, epsilon = 0.1: 10,000 independent exact draws; moments agree with the exact marginals."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(30))
    counts = rng.multinomial(100_000, truth)
    model = dc.DirichletCategorical("x")
    query = model.query(categorical(100_000, 30))
    laws = dc.NoisyStatistics(epsilon=0.1).laws(query)
    released = counts + rng.geometric(1 - math.exp(-1 / 20), 30) - rng.geometric(1 - math.exp(-1 / 20), 30)
    posterior = model.posterior(query, {"counts": released}, laws)
    draws = posterior.sample(10_000, np.random.default_rng(1))
    error = posterior.sd() / math.sqrt(10_000)
    assert np.abs((draws.mean(0) - posterior.mean()) / error).max() < 4.7
    assert draws.std(0) == pytest.approx(posterior.sd(), rel=0.05)
    lag = np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]
    assert abs(lag) < 0.045  # independent: 4.5 standard errors
    assert np.abs((truth - posterior.mean()) / posterior.sd()).max() < 5


def test_a_private_total_equals_brute_force() -> None:
    """missing="exclude": both counts released, the total uniform on 0..n."""
    model, n = dc.BetaBernoulli("x", prior=(2.0, 1.0)), 15
    schema = dc.Schema({"x": dc.Binary(missing="exclude")}, n=n)
    query = model.query(schema)
    assert query.names == ("counts",)
    y, law = np.array([4.0, 6.0]), dc.DiscreteLaplace(2.0)
    log_weights, means = [], []
    for zeros, ones in itertools.product(range(n + 1), repeat=2):
        if zeros + ones <= n:
            total = zeros + ones
            choose = gammaln(total + 1) - gammaln(ones + 1) - gammaln(zeros + 1)
            noise = law.log_density(y - np.array([zeros, ones])).sum()
            log_weights.append(choose + betaln(ones + 2, zeros + 1) - betaln(2, 1) + noise - math.log(n + 1))
            means.append((ones + 2) / (total + 3))
    evidence = logsumexp(log_weights)
    posterior = model.posterior(query, {"counts": y}, {"counts": law})
    assert posterior.mean() == pytest.approx(float(np.exp(log_weights - evidence) @ means), abs=1e-9)
    assert posterior.log_evidence() == pytest.approx(evidence, abs=1e-9)
