"""Logistic coefficients where the model is not true: with headroom those of maximum likelihood, without it others.

A table of 60,000 rows whose log-odds bend, and so much budget that noise does not matter: what is left is which coefficients
are asked for, and the table's own are known. Deviations are those that the posterior states. Nothing is random but the table and
the little noise, whose seeds are fixed.
"""

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.sources import CodedRows, Dataset

N, STEPS = 60_000, 2**10


def away(headroom: float | None) -> NDArray[np.float64]:
    """How far means are from the maximum of the likelihood, in deviations."""
    rng = np.random.default_rng(5)
    x = np.clip(0.4 * rng.normal(size=(N, 2)), -1.0, 1.0)
    coded = np.rint(x * STEPS).astype(np.int64)
    x = coded / STEPS
    y = (rng.logistic(size=N) < 1.0 + 3.0 * x[:, 0] - 2.0 * x[:, 0] ** 2 + 2.0 * x[:, 0] * x[:, 1]).astype(np.int64)
    number = dc.Bounded(-1, 1, grid=1 / STEPS)
    schema = dc.Schema({"a": number, "b": number, "y": dc.Binary()}, n=N)
    model, mechanism = dc.LogisticRegression("y", ["a", "b"]), dc.NoisyScore(rho=50.0, headroom=headroom)
    query = model.query(schema)
    rows = CodedRows({"a": coded[:, 0], "b": coded[:, 1], "y": y})
    value = mechanism.apply(SeededNoise(1), query, Dataset("t", schema, rows))
    found = model.given_scores(query, mechanism.constants(query), value)
    return np.asarray(found.mean() - most_likely(x, y)) / found.sd()


def most_likely(x: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """By Newton's method."""
    z, w = np.column_stack([np.ones(N), x]), np.zeros(3)
    for _ in range(12):
        p = 1.0 / (1.0 + np.exp(-z @ w))
        w = w + np.linalg.solve((z * (p * (1.0 - p))[:, np.newaxis]).T @ z, z.T @ (y - p))
    return w


def test_with_headroom_coefficients_are_those_of_maximum_likelihood() -> None:
    assert np.abs(away(3.0)).max() < 0.5


def test_without_it_far_records_count_less() -> None:
    """The twin: what a release without headroom is known to get wrong, the test above would see."""
    assert np.abs(away(None)).max() > 3.0
