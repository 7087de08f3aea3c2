"""Held-out likelihoods by hand on two cells, and that no held-out cell is looked at before it is predicted."""

import numpy as np
import pytest

import discreet as dc
from discreet.inference.hidden_markov.hidden_chains import HiddenDraws
from discreet.queries.families import HiddenMarkov
from discreet.studies import event_log_studies as event_logs
from discreet.studies.event_log_studies import METHODS, Split, held_out, held_out_curve, recovered, tempered_draws
from discreet.studies.synthetic_event_log import EventLog

FAMILY = HiddenMarkov(1, 3, 2, (("f", 2), ("g", 3)), 1.0, 1.0)
COUNTS = {"f": np.array([[[3, 1], [2, 2], [0, 4]]]), "g": np.array([[[1, 1, 2], [4, 0, 0], [1, 2, 1]]])}


def two_draws() -> HiddenDraws:
    rng = np.random.default_rng(1)
    return HiddenDraws(
        states=np.array([[[[0, 1, 1]], [[1, 1, 0]]]]),
        start=rng.dirichlet(np.ones(2), size=(1, 2)),
        transitions=rng.dirichlet(np.ones(2), size=(1, 2, 2)),
        profiles={"f": rng.dirichlet(np.ones(2), size=(1, 2, 2)), "g": rng.dirichlet(np.ones(3), size=(1, 2, 2))},
    )


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_a_held_out_cell_is_predicted_from_its_neighbours(cell: int) -> None:
    """Sums written out: over both draws and both states, with the moves into and out of the cell."""
    draws, observed = two_draws(), np.ones((1, 3), dtype=bool)
    observed[0, cell] = False
    chance = 0.0
    for s in range(2):
        z = draws.states[0, s, 0]
        weights, likelihoods = np.empty(2), np.empty(2)
        for k in range(2):
            weights[k] = draws.start[0, s, k] if cell == 0 else draws.transitions[0, s, z[cell - 1], k]
            weights[k] *= 1.0 if cell == 2 else draws.transitions[0, s, k, z[cell + 1]]
            likelihoods[k] = np.prod(draws.profiles["f"][0, s, k] ** COUNTS["f"][0, cell])
            likelihoods[k] *= np.prod(draws.profiles["g"][0, s, k] ** COUNTS["g"][0, cell])
        chance += (weights / weights.sum()) @ likelihoods / 2
    assert held_out(FAMILY, COUNTS, observed, draws) == pytest.approx(np.log(chance) / 4)


@pytest.fixture(scope="module")
def log() -> EventLog:
    return dc.synthetic_event_log(3, 12, (3, 2), median=150, seed=4)


@pytest.mark.parametrize("name", ["not private", *METHODS])
def test_no_method_looks_at_cells_that_are_held_out(log: EventLog, name: str) -> None:
    """Other counts in a held-out cell, the same draws; a method that sees them, the planted error, is caught."""
    dataset = dc.open(log.table, log.schema, id="log")
    model = dc.EventLogHMM("region", "month", tuple(log.profiles))
    counts = {n: np.asarray(t) for n, t in dataset.source.statistics(model.query(dataset.schema)).items()}
    observed = np.ones((3, 12), dtype=bool)
    observed[1, 5] = False
    other = {n: t.copy() for n, t in counts.items()}
    for table in other.values():
        table[1, 5] = table[1, 5][::-1] * 3
    method = METHODS.get(name, event_logs.not_private)
    found = []
    for held in (counts, other):
        split = Split(model, dataset, held, observed, 1)
        if name in METHODS and "tempered" not in name:
            noisy = {n: t + np.random.default_rng(2).integers(-3, 4, t.shape) for n, t in held.items()}
            object.__setattr__(split, "released", lambda mechanism, noisy=noisy: noisy)
        found.append(method(split, 5.0))
    np.testing.assert_array_equal(found[0].states, found[1].states)
    seen = event_logs.not_private(Split(model, dataset, other, np.ones_like(observed), 1), 5.0)
    unseen = event_logs.not_private(Split(model, dataset, counts, np.ones_like(observed), 1), 5.0)
    assert not np.array_equal(seen.profiles["field_1"], unseen.profiles["field_1"])


def test_more_budget_predicts_better_and_not_better_than_none(log: EventLog) -> None:
    """Two splits at two epsilons that are a hundred times apart; the order has been the same for every seed tried."""
    dataset = dc.open(log.table, log.schema, id="log")
    model = dc.EventLogHMM("region", "month", tuple(log.profiles))
    found = held_out_curve(model, dataset, (0.1, 10.0), 2, methods={"Laplace, plug-in": METHODS["Laplace, plug-in"]})
    low, high = found.found["Laplace, plug-in"].mean(axis=1)
    assert low < high < found.reference.mean() + 0.02
    ((_, mean, lower, upper), _) = found.curves()["Laplace, plug-in"]
    assert mean == pytest.approx(low)
    assert lower <= mean <= upper


def test_known_states_are_found(log: EventLog) -> None:
    index, used = recovered(log, 5.0, "plug-in", 1)
    assert index > 0.9
    assert used == 2


def test_a_tempered_draw_lies_in_the_declared_space() -> None:
    draws = tempered_draws(FAMILY, COUNTS, 1.0, 0.1, np.random.default_rng(1))
    assert draws.states.shape == (1, 1, 1, 3)
    assert draws.profiles["g"].min() >= 0.1 / 3 - 1e-9
