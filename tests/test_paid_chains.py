"""Chains that pay for every update, from a ledger to a posterior and back from a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import QueryError

FIELDS = ("field_1", "field_2")
LOG = dc.synthetic_event_log(2, 6, (3, 2), median=30, seed=1)
MODEL = dc.EventLogHMM("region", "month", FIELDS, states=2)
CHAINS = {
    "gibbs": dc.PrivateGibbs(epsilon_per_update=0.05, sweeps=20),
    "annealing": dc.PrivateAnnealing(epsilons=(0.01, 0.05), particles=3, draws=2),
    "annealing, noisy": dc.PrivateAnnealing(epsilons=(0.01, 0.05), particles=3, weights="noisy", weight_epsilon=0.1),
}
DRAWS = {"gibbs": 10, "annealing": 2, "annealing, noisy": 3}


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(3.0, 1e-6))


@pytest.mark.parametrize("name", CHAINS)
def test_a_paid_chain_is_released_read_and_kept(name: str, ledger: dc.Ledger, tmp_path: Path) -> None:
    data = dc.open(LOG.table, LOG.schema, id="log")
    release = dc.release(MODEL, data, CHAINS[name], ledger)
    assert release.guarantee == CHAINS[name].guarantee(MODEL.query(data.schema))
    assert ledger.spent() > 0
    posterior: Any = release.posterior()
    assert posterior.states().shape == (2, 6)
    for asked in (posterior.interval, posterior.sd, lambda: posterior.quantile(0.5)):
        with pytest.raises(QueryError, match="tempered chain"):
            asked()
    assert "mean" in str(posterior.summary())
    assert posterior.cells.shape == (1, DRAWS[name], 2, 6)
    assert set(posterior.profiles()) == set(FIELDS)
    np.testing.assert_allclose(posterior.transitions().sum(axis=1), 1.0)
    assert "temperature" in str(posterior)
    release.save(tmp_path / "chain.json")
    again = dc.load(tmp_path / "chain.json")
    assert again.guarantee == release.guarantee
    np.testing.assert_array_equal(again.posterior().states(), posterior.states())  # type: ignore[union-attr]
    spent = ledger.spent()
    dc.release(MODEL, data, CHAINS[name], ledger)
    assert ledger.spent() == spent  # the same request
    with pytest.raises(QueryError, match="must keep their own prior"):
        release.posterior("plug-in")


def test_a_chain_keeps_its_second_half_and_weights_choose_particles() -> None:
    """The states that are read are those that were released, in their order; zero weights choose nobody."""
    gibbs = CHAINS["gibbs"]
    states = np.arange(20)[:, None, None] * np.ones((1, 2, 6))
    hidden, profiles = gibbs.kept({"hidden state": states, "field_1": np.arange(20.0)})
    assert hidden[:, 0, 0].tolist() == list(range(10, 20))
    assert profiles["field_1"].tolist() == list(range(10, 20))
    paths = np.stack([np.full((3, 2, 6), particle) for particle in range(3)])
    drawn, _ = CHAINS["annealing"].kept({"hidden state": paths, "index": np.array([2, 0])})
    assert drawn[:, 0, 0].tolist() == [2, 0]
    for weights, chosen in (([0.0, 1.0, 0.0], [1, 1, 1]), ([-1.0, -2.0, 0.0], [0, 1, 2]), ([1.0, 0.0, 2.0], [0, 2, 2])):
        drawn, _ = CHAINS["annealing, noisy"].kept({"hidden state": paths, "weight": np.array(weights)})
        assert drawn[:, 0, 0].tolist() == chosen


def test_a_metropolis_chain_is_read_as_draws_without_intervals(ledger: dc.Ledger) -> None:
    schema = dc.Schema({"smoker": dc.Binary()})
    data = dc.open(_smokers(), schema, id="smokers")
    chain = dc.PrivateMetropolis(epsilon_per_step=0.05, steps=40, truncation=0.1)
    release = dc.release(dc.BetaBernoulli("smoker"), data, chain, ledger)
    posterior: Any = release.posterior()
    assert posterior.draws == 40
    assert "temperature" in str(posterior)
    with pytest.raises(QueryError, match="must not be read off"):
        posterior.interval(0.9)


def _smokers() -> Any:
    import pyarrow as pa

    return pa.table({"smoker": [0, 1] * 50})


@pytest.mark.parametrize("mechanism", [*CHAINS.values(), dc.PosteriorSample(1.0, truncation=0.1), dc.DirectSample()])
def test_models_and_chains_that_do_not_fit_are_refused(mechanism: Any, ledger: dc.Ledger) -> None:
    data = dc.open(_smokers(), dc.Schema({"smoker": dc.Binary()}), id="smokers")
    model: Any = dc.BetaBernoulli("smoker")
    if not isinstance(mechanism, dc.PrivateGibbs | dc.PrivateAnnealing):
        data, model = dc.open(LOG.table, LOG.schema, id="log"), MODEL
    with pytest.raises(QueryError, match="must have"):
        dc.release(model, data, mechanism, ledger)
    assert ledger.spent() == 0


def test_plans_of_event_logs_and_their_chains() -> None:
    schema = LOG.schema
    plan = dc.plan(MODEL, dc.NoisyStatistics(epsilon=1.0), schema=schema, runs=3)
    assert set(plan.error) == {"start", "transition", *FIELDS}
    assert plan.noise["field_1"] > 0
    chain = dc.plan(MODEL, CHAINS["gibbs"], schema=schema, runs=3)
    assert chain.width is None
