"""Collinear features and far surer scores than priors: what is released is read."""

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.inference.scores import score_posterior


def test_a_sum_that_rounding_makes_indefinite_has_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same root as Cholesky's where that exists, and the prior's part where rounding has hidden it."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 1))
    prior = a @ a.T + 0.1 * np.eye(4)
    wanted, cholesky = np.linalg.cholesky(b @ b.T + prior), np.linalg.cholesky

    def refuses_sums(matrix: np.ndarray) -> np.ndarray:
        if not np.array_equal(matrix, prior):
            raise np.linalg.LinAlgError
        return cholesky(matrix)

    monkeypatch.setattr(score_posterior.np.linalg, "cholesky", refuses_sums)
    np.testing.assert_allclose(score_posterior._root(b @ b.T, prior), wanted, atol=1e-12)
    far = score_posterior._root(1e11 * (b @ b.T), prior)
    across = np.linalg.svd(b.T)[2][1:]  # where scores say nothing: the variance there, given the rest, is the prior's
    found = np.linalg.solve(far, across.T)
    np.testing.assert_allclose(found.T @ found, np.linalg.inv(across @ prior @ across.T), rtol=1e-3)


def test_scores_of_constant_columns_are_read() -> None:
    """All but nothing is paid for where the features lie: maps blow up, and every release is an answer."""
    schema = dc.Schema({"x": dc.Bounded(0, 1), "z": dc.Bounded(0, 1), "y": dc.Binary(missing="exclude")})
    table = pd.DataFrame({"x": np.zeros(3), "z": np.zeros(3), "y": np.ones(3)})
    mechanism = dc.NoisyScore(rho=1.0, steps=1, shares=(1e-9, 1e-9, 1))
    data = dc.open(table, schema, id="constants")
    for trial in dc.simulate(dc.LogisticRegression("y", ["x", "z"]), data, mechanism, runs=12, seed=1):
        summary = trial.posterior().summary()
        assert np.isfinite(summary.to_numpy()).all()
        assert (summary["lower"] < summary["upper"]).all()
