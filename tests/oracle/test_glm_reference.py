"""The law of a stationary chain on Adult beside a long run of Hamiltonian Monte Carlo, written here in plain NumPy.

The reference leapfrogs in coordinates whitened at the mode and corrects by Metropolis, so it has no bias of its own.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.posterior.new_rows import new_rows

NUMBERS = {"age": dc.Bounded(17, 90), "education_num": dc.Bounded(1, 16), "hours_per_week": dc.Bounded(1, 99)}
LEVELS = ("marital_status", "relationship", "race", "sex")
CHAINS, DRAWS = 100, 1000


def reference(z: Any, y: Any, beta: float, precision: float, rng: np.random.Generator) -> Any:
    """Draws of exp(-beta Σ loss) N(0, 1/precision) by Hamiltonian Monte Carlo."""

    def potential(w: Any) -> float:
        t = z @ w
        return float(beta * (np.logaddexp(0.0, t) - y * t).sum() + 0.5 * precision * w @ w)

    def slope(w: Any) -> Any:
        return beta * z.T @ (expit(z @ w) - y) + precision * w

    mode = np.zeros(z.shape[1])
    for _ in range(50):
        p = expit(z @ mode)
        hessian = beta * (z * (p * (1 - p))[:, None]).T @ z + precision * np.eye(mode.size)
        mode = mode - np.linalg.solve(hessian, slope(mode))
    whiten = np.linalg.inv(np.linalg.cholesky(hessian)).T
    w, found = mode.copy(), []
    for draw in range(DRAWS + 50):
        momentum = rng.normal(size=mode.size)
        step, steps = 0.25 * (0.8 + 0.4 * rng.random()), 6
        moved, speed = w.copy(), momentum - 0.5 * step * (whiten.T @ slope(w))
        for k in range(steps):
            moved = moved + step * (whiten @ speed)
            speed = speed - (0.5 if k == steps - 1 else 1.0) * step * (whiten.T @ slope(moved))
        gain = potential(w) + 0.5 * momentum @ momentum - potential(moved) - 0.5 * speed @ speed
        w = moved if math.log(rng.random()) < gain else w
        if draw >= 50:
            found.append(w)
    return np.array(found)


@pytest.mark.audit
def test_the_law_on_adult_is_that_of_the_gibbs_posterior(
    adult: Path, evidence: Callable[[Callable[[], Any]], Any]
) -> None:
    """Means within 5 Monte Carlo errors plus the stated bias of a deviation; variances within their errors plus 1/(1-b).

    100 chains of one draw's law, 1,000 reference draws; with 20-odd coefficients a false alarm has odds below 1e-4.
    """
    frame = pd.read_parquet(adult)
    levels = {name: dc.Categorical(sorted(frame[name].dropna().unique())) for name in LEVELS}
    schema = dc.Schema({**NUMBERS, **levels, "income": dc.Categorical(["<=50K", ">50K"])})
    data = dc.open(adult, schema, id="adult")
    mechanism = dc.GibbsPosterior(1.0, 1e-5)
    query = dc.LogisticRegression("income", [*NUMBERS, *LEVELS]).query(data.schema)
    law = mechanism.law(query)

    def compute() -> list[list[float]]:
        ours = mechanism.drawn(SeededNoise(1), query, data, CHAINS)
        y = (frame["income"] == ">50K").to_numpy(float)
        theirs = reference(new_rows(query, frame), y, law.beta, law.precision, np.random.default_rng(2))
        return [ours.mean(0).tolist(), ours.std(0).tolist(), theirs.mean(0).tolist(), theirs.std(0).tolist()]

    mean, sd, true_mean, true_sd = (np.array(row) for row in evidence(compute))
    error = true_sd * math.sqrt(1 / CHAINS + 4 / DRAWS)  # the reference's draws are worth a quarter, at least
    print(
        f"largest gap of means {np.max(np.abs(mean - true_mean) / true_sd):.3f} deviations over {mean.size} coefficients"
    )
    print(f"ratios of deviations {np.min(sd / true_sd):.3f} to {np.max(sd / true_sd):.3f}, {law.steps} steps")
    assert np.all(np.abs(mean - true_mean) <= 5 * error + mechanism.bias * np.maximum(np.abs(true_mean), true_sd))
    spread = 5 * math.sqrt(0.5 / CHAINS + 2 / DRAWS)
    assert np.all(sd / true_sd <= (1 - mechanism.bias) ** -0.5 * (1 + spread))
    assert np.all(sd / true_sd >= (1 - mechanism.bias) * (1 - spread))
