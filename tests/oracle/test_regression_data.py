"""Regression on real measurements beside least squares and the non-private conjugate posterior."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import discreet as dc

DATA = Path(__file__).parents[3] / "shared" / "data"
SCHEMA = dc.Schema({"length": dc.Bounded(0, 1), "shell_weight": dc.Bounded(-0.5, 1), "rings": dc.Bounded(0, 30)})

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def path() -> Path:
    path = DATA / "abalone.csv"
    if not path.exists():
        if os.environ.get("DISCREET_REQUIRE_DATA"):
            pytest.fail("shared data must be present, got a skip where they were required")
        pytest.skip("shared data are absent")
    return path


@pytest.fixture(scope="module")
def data(path: Path) -> dc.Dataset:
    return dc.open(path, SCHEMA, id="abalone")


def regression(*features: str) -> dc.LinearRegression:
    """Intercept 10 ± 10 error deviations, slopes 0 ± 30 of them."""
    size = 1 + len(features)
    precision = np.diag([0.01] + [0.001] * len(features)).tolist()
    return dc.LinearRegression("rings", features, prior=((10.0, *[0.0] * (size - 1)), precision, 3.0, 30.0))


def conjugate(model: dc.LinearRegression, data: dc.Dataset) -> tuple[Array, Array]:
    """Means and standard deviations of the coefficients without privacy."""
    prior = model.updated(data).prior
    assert prior is not None
    mean, precision, shape, scale = prior
    return np.array(mean), np.sqrt(np.diag(np.linalg.inv(precision)) * scale / (shape - 1.0))


def test_the_conjugate_posterior_agrees_with_least_squares(path: Path, data: dc.Dataset) -> None:
    """Means equal scikit-learn's coefficients, deviations the textbook standard errors, but for rounding and prior."""
    from sklearn.linear_model import LinearRegression

    frame = pd.read_csv(path)
    features = frame[["length", "shell_weight"]].to_numpy()
    fitted = LinearRegression().fit(features, frame["rings"])
    mean, sd = conjugate(regression("length", "shell_weight"), data)
    design = np.column_stack([np.ones(len(frame)), features])
    variance = np.sum((frame["rings"] - fitted.predict(features)) ** 2) / (len(frame) - 3)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance)
    assert np.all(np.abs(mean - np.array([fitted.intercept_, *fitted.coef_])) < 0.1 * errors)
    assert sd == pytest.approx(errors, rel=0.01)


@pytest.mark.parametrize(
    "mechanism", [dc.NoisyStatistics(epsilon=1e6), dc.NoisyStatistics(rho=1e6)], ids=["laplace", "gaussian"]
)
def test_without_noise_the_posterior_is_the_conjugate_one(data: dc.Dataset, mechanism: dc.NoisyStatistics) -> None:
    """No record lies on a bound, so hardly anything is left to be uncertain of but the coefficients themselves."""
    model = regression("length", "shell_weight")
    (release,) = dc.simulate(model, data, mechanism, runs=1, seed=1)
    posterior = release.posterior()
    mean, sd = conjugate(model, data)
    assert np.all(np.abs(posterior.mean()["coefficients"] - mean) < 0.2 * sd)
    assert posterior.sd()["coefficients"] == pytest.approx(sd, rel=0.1)


def test_private_intervals_contain_the_means_without_privacy(data: dc.Dataset) -> None:
    """Four releases at epsilon = 1: most of the eight 90% intervals hold the non-private posterior mean.

    The noise is several times the sampling error, so each interval holds it with probability 0.9 or a little more. If
    both intervals of a release always failed together, more than four misses would take three failures in four: false
    alarm rate 0.4%.
    """
    model = regression("shell_weight")
    mean, sd = conjugate(model, data)
    held = 0
    for release in dc.simulate(model, data, dc.NoisyStatistics(epsilon=1.0), runs=4, seed=2):
        posterior = release.posterior()
        lower, upper = posterior.interval(0.9)["coefficients"]
        held += int(np.sum((lower < mean) & (mean < upper)))
        assert np.all(posterior.sd()["coefficients"] > 2.0 * sd)
    assert held >= 4
