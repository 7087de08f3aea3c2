"""R-hat at most 1.01 and 400 effective draws for every reported number, at defaults and without reaching the cap."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import discreet as dc
from discreet.inference.gaussian import moment_chains
from discreet.inference.hidden_markov import hidden_noise


def test_a_network_of_four_nodes_at_epsilon_2() -> None:
    graph = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c",)}
    schema = dc.Schema({name: dc.Categorical(["x", "y", "z"]) for name in graph}, n=2000)
    (made,) = dc.simulate(
        dc.BayesianNetwork(graph), None, dc.NoisyStatistics(epsilon=2.0), schema=schema, runs=1, seed=1
    )
    posterior = made.posterior()
    print(posterior.mixing.words)
    assert posterior.mixing.converged


@pytest.mark.parametrize("n", [442, pytest.param(5_000, marks=pytest.mark.audit)])
def test_a_regression_on_ten_features_at_epsilon_half(n) -> None:
    """Columns that agree to 90% and noise that hides most of them: 442 patients, or so many drawn from them."""
    bunch = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.frame.sample(n, replace=n > len(bunch.frame), random_state=0)
    columns = {name: dc.Bounded(float(np.floor(x.min())), float(np.ceil(x.max()))) for name, x in bunch.frame.items()}
    model = dc.LinearRegression("target", tuple(bunch.feature_names))
    table = dc.open(frame, dc.Schema(columns, n=n), id="patients")
    (made,) = dc.simulate(model, table, dc.NoisyStatistics(epsilon=0.5), runs=1, seed=1)
    posterior = made.posterior()
    print(posterior.mixing.words)
    assert posterior.mixing.converged
    assert posterior.chains["coefficients"].shape[1] < moment_chains.MOST_DRAWS


@pytest.mark.audit
def test_an_event_log_of_20_regions_and_72_months_at_epsilon_2() -> None:
    """One seed; about 70 CPU-seconds on a quiet machine."""
    log = dc.synthetic_event_log(20, 72, seed=1)
    model = dc.EventLogHMM("region", "month", tuple(log.profiles))
    (made,) = dc.simulate(
        model, dc.open(log.table, log.schema, id="log"), dc.NoisyStatistics(epsilon=2.0), runs=1, seed=1
    )
    posterior = made.posterior()
    print(posterior.mixing.words, f"({posterior.cells.shape[1]} draws of each chain)")
    assert posterior.mixing.converged
    assert posterior.cells.shape[1] < hidden_noise.MOST
