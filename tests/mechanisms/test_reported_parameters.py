"""What a simulated release was drawn from is kept as its posterior reports it: levels against their average."""

import numpy as np
import pytest

import discreet as dc

SCHEMA = dc.Schema({"y": dc.Binary(), "x": dc.Bounded(0, 1), "w": dc.Categorical(["a", "b", "c"])}, n=3_000)
MODEL = dc.LogisticRegression("y", ["x", "w"])


def covered(runs: int) -> float:
    """The share of 90% intervals that hold what the tables were simulated from.

    Of 40 coefficients in 8 tables at a true 90%, fewer than 70% are held with probability about 1e-3.
    """
    found = []
    for release in dc.simulate(MODEL, None, dc.NoisyScore(rho=1.0), runs=runs, seed=3, n=SCHEMA.n, schema=SCHEMA):
        low, high = release.posterior().interval(0.9)
        assert release.truth is not None
        truth = release.truth["coefficients"]
        found.append(np.mean((low <= truth) & (truth <= high)))
    return float(np.mean(found))


def test_levels_sum_to_zero_and_margins_stay() -> None:
    features = MODEL.query(SCHEMA).features
    w = np.array([0.5, -1.0, 2.0, 1.0, 0.0])
    found = features.from_averages(w)
    assert np.allclose(found, [1.5, -1.0, 1.0, 0.0, -1.0])
    z = np.hstack([np.ones((3, 1)), np.full((3, 1), 0.3), np.eye(3)])
    assert np.allclose(z @ found, z @ w)
    assert w[0] == 0.5  # what was given is left alone


def test_truths_are_covered_and_as_drawn_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert covered(8) >= 0.7
    monkeypatch.setattr(dc.NoisyScore, "reported", lambda self, query, parameters: parameters)  # levels as drawn
    assert covered(8) < 0.5
