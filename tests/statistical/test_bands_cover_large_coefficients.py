"""Bands of released coefficients cover whatever the coefficients are: of deviation 0.5, 1.5 and 3, five features.

The precision that a mechanism recommends makes good draws; it says nothing of the coefficients, and a stand-in for their
prior that is too narrow, or a law of the draws that is straight where they bend, gives bands that miss. Draws come from
the normal law around the optimum of the rows at hand (a stationary chain without the chain), at full size from Langevin.
"""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.posterior import CoefficientDraws, coefficients
from discreet.sources import CodedRows, Dataset

FEATURES = tuple(f"x{j}" for j in range(5))
COLUMNS: dict[str, Any] = {name: dc.Bounded(-1, 1, grid=2.0**-10) for name in FEATURES}
COLUMNS["y"] = dc.Binary()
MECHANISM = dc.GibbsPosterior(epsilon=1.0, delta=1e-5)


def normal_draw(x: np.ndarray, y: np.ndarray, law: Any, rng: np.random.Generator) -> np.ndarray:
    """A draw around the optimum of the Gibbs posterior, by Newton steps, with its curvature."""
    z, w = np.column_stack([np.ones(len(x)), x / 1024]), np.zeros(6)
    for _ in range(60):
        p = expit(z @ w)
        hessian = law.beta * (z * (p * (1 - p))[:, None]).T @ z + law.precision * np.eye(6)
        step = np.linalg.solve(hessian, law.beta * z.T @ (p - y) + law.precision * w)
        w = w - step * min(1.0, 2.0 / max(float(np.linalg.norm(step)), 1e-300))
    return np.asarray(w + np.linalg.solve(np.linalg.cholesky(hessian).T, rng.normal(size=6)))


def coverage(
    n: int, deviation: float, runs: int, *, public: int, langevin: bool = False, straight: bool = False
) -> float:
    """The share of coefficients in their 90% bands, given public features of the same law."""
    schema = dc.Schema(COLUMNS, n=n)
    query = dc.LogisticRegression("y", FEATURES).query(schema)
    law, noise, rng = MECHANISM.law(query), SeededNoise(3), np.random.default_rng(3)
    hits = []
    for _ in range(runs):
        truth = deviation * rng.normal(size=6)
        x = rng.integers(-1024, 1025, size=(n, 5))
        y = (rng.logistic(size=n) < truth[0] + x @ truth[1:] / 1024).astype(int)
        if langevin:
            rows = CodedRows({**dict(zip(FEATURES, x.T, strict=True)), "y": y})
            value = MECHANISM.apply(noise, query, Dataset("t", schema, rows))
        else:
            value = {"coefficients": normal_draw(x, y, law, rng)[None]}
        posterior = CoefficientDraws(value, query, law.beta, law.precision, True)
        known = dict(zip(FEATURES, rng.integers(-1024, 1025, size=(5, public)) / 1024, strict=True))
        information = posterior.information(known)
        if straight:  # a plain matrix: the law of a draw does not bend
            information = np.array(information)
        low, high = posterior.interval(0.9, information=information).T
        hits.append((low <= truth) & (truth <= high))
    print(f"n = {n}, deviation {deviation}, {runs} runs: {np.mean(hits):.1%}")
    return float(np.mean(hits))


@pytest.mark.parametrize("deviation", [0.5, 1.5, 3.0])
def test_bands_cover_coefficients_of_any_size(deviation: float) -> None:
    """20 runs of 6 coefficients that share their draw: a standard error of about 4%."""
    assert coverage(1000, deviation, 20, public=400) >= 0.82


def test_a_planted_narrow_prior_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old stand-in: margins of deviation 2."""
    monkeypatch.setattr(coefficients, "WIDE", 2.0)
    assert coverage(1000, 1.5, 15, public=400) < 0.75


def test_a_planted_straight_law_is_caught() -> None:
    """The old law with the new prior: one information matrix, the same everywhere."""
    assert coverage(4000, 3.0, 12, public=500, straight=True) < 0.75


@pytest.mark.audit
@pytest.mark.parametrize("deviation", [0.5, 1.5, 3.0])
@pytest.mark.parametrize(("n", "runs"), [(1000, 200), (10_000, 200)])
def test_bands_of_langevin_draws_cover_what_they_say(n: int, runs: int, deviation: float, evidence: Any) -> None:
    """200 runs of 6 coefficients that share their draw: a standard error of about 1.5%."""
    assert evidence(lambda: coverage(n, deviation, runs, public=4000, langevin=True)) >= 0.855
