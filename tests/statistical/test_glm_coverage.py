"""Coverage of bands of logistic coefficients from one private draw, and of the naive band that takes it for a posterior.

Five numeric features and an intercept, epsilon = 1 at delta = 1e-5, the precision that the mechanism recommends, a
stationary chain; the information comes from public features: a second table of the same law, without targets.
"""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.posterior import CoefficientDraws
from discreet.sources import CodedRows, Dataset

FEATURES = tuple(f"x{j}" for j in range(5))
COLUMNS: dict[str, Any] = {name: dc.Bounded(-1, 1, grid=2.0**-10) for name in FEATURES}
COLUMNS["y"] = dc.Binary()
MODERATE = np.array([-0.5, 1.0, -1.0, 0.5, 0.0, 0.25])
PUBLIC = 2000


def coverage(n: int, truth: str, runs: int, seed: int) -> tuple[float, float]:
    """The shares of coefficients in their 90% bands: ours, and the draw ± 1.645 deviations of the Gibbs posterior."""
    schema = dc.Schema(COLUMNS, n=n)
    query = dc.LogisticRegression("y", FEATURES).query(schema)
    mechanism = dc.GibbsPosterior(epsilon=1.0, delta=1e-5)
    law, noise, rng = mechanism.law(query), SeededNoise(seed), np.random.default_rng(seed)
    ours, naive = [], []
    for _ in range(runs):
        w = MODERATE if truth == "moderate" else rng.normal(size=6) / np.sqrt(law.precision)
        x = rng.integers(-1024, 1025, size=(n, 5))
        y = (rng.logistic(size=n) < w[0] + x @ w[1:] / 1024).astype(int)
        rows = CodedRows({**dict(zip(FEATURES, x.T, strict=True)), "y": y})
        value = mechanism.apply(noise, query, Dataset("t", schema, rows))
        posterior = CoefficientDraws(value, query, law.beta, law.precision, True)
        public = dict(zip(FEATURES, rng.integers(-1024, 1025, size=(5, PUBLIC)) / 1024, strict=True))
        information = posterior.information(public)
        low, high = posterior.interval(0.9, information=information).T
        ours.append((low <= w) & (w <= high))
        spread = np.sqrt(np.diag(np.linalg.inv(law.beta * information + law.precision * np.eye(6))))
        naive.append(np.abs(posterior.mean() - w) <= 1.645 * spread)
    found = float(np.mean(ours)), float(np.mean(naive))
    print(f"n = {n}, {truth} coefficients, {runs} runs: bands cover {found[0]:.1%}, naive ones {found[1]:.1%}")
    return found


@pytest.mark.parametrize("truth", ["prior", "moderate"])
def test_bands_cover_on_a_small_table(truth: str) -> None:
    """25 runs of 6 coefficients: below 80% by chance with probability under 1e-4 where 90% are covered."""
    ours, _ = coverage(2000, truth, 25, seed=1)
    assert 0.80 <= ours <= 0.99


@pytest.mark.audit
@pytest.mark.parametrize("truth", ["prior", "moderate"])
@pytest.mark.parametrize(("n", "runs"), [(10_000, 500), (100_000, 100)])
def test_bands_cover_what_they_say(n: int, runs: int, truth: str, evidence: Any) -> None:
    """500 runs of 6 coefficients have an error of 0.6%, 100 of 1.3%: between 85% and 95%."""
    ours, naive = evidence(lambda: list(coverage(n, truth, runs, seed=2)))
    assert 0.85 <= ours <= 0.95
    assert truth == "prior" or naive < ours
