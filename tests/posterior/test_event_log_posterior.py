"""Posteriors of event logs: names of states that all draws share, answers, predictions, and the printed map."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.inference.hidden_markov.hidden_chains import HiddenDraws
from discreet.inference.hidden_markov.label_alignment import aligned_names, renamed, reordered, state_frequencies
from discreet.posterior import EventGrid, EventLogChain, EventLogPosterior
from discreet.queries.families import HiddenMarkov

REGIONS, TIMES, STATES = 6, 20, 3
GRID = EventGrid(
    "region",
    "month",
    tuple(f"region {r}" for r in range(1, REGIONS + 1)),
    tuple(f"2026-{t:02d}" for t in range(1, TIMES + 1)),
    {"kind": ("a", "b", "c", "d"), "night": ("no", "yes")},
)


def truth(rng: np.random.Generator, states: int = STATES) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A map in which state 0 is the most and the last state the least frequent, and profiles that differ."""
    weights = np.arange(states, 0, -1) ** 2.0
    hidden = rng.choice(states, p=weights / weights.sum(), size=(REGIONS, TIMES))
    return hidden, {"kind": rng.dirichlet(np.full(4, 0.5), states), "night": rng.dirichlet(np.ones(2), states)}


def permuted_draws(rng: np.random.Generator, wrong: float = 0.1, chains: int = 4, draws: int = 25) -> HiddenDraws:
    """Draws around one truth; every draw has names of its own and some wrong cells."""
    hidden, profiles = truth(rng)
    start, transition = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.ones(STATES), STATES)
    shape = (chains, draws)
    names = rng.permuted(np.tile(np.arange(STATES), (*shape, 1)), axis=-1)
    back = np.argsort(names, axis=-1)
    noisy = np.where(rng.random((*shape, REGIONS, TIMES)) < wrong, rng.integers(STATES, size=(REGIONS, TIMES)), hidden)
    states = np.take_along_axis(names, noisy.reshape(*shape, -1), axis=-1).reshape(noisy.shape)
    moved = np.broadcast_to(transition, (*shape, STATES, STATES))
    moved = np.take_along_axis(np.take_along_axis(moved, back[..., np.newaxis], 2), back[..., np.newaxis, :], 3)
    fields = {name: profile[back] for name, profile in profiles.items()}
    return HiddenDraws(states, start[back], moved, fields)


def test_permuted_draws_are_recovered_exactly() -> None:
    draws = permuted_draws(np.random.default_rng(1))
    rng = np.random.default_rng(1)
    hidden, profiles = truth(rng)
    start, transition = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.ones(STATES), STATES)
    posterior = EventLogPosterior.from_draws(draws, GRID)
    np.testing.assert_array_equal(posterior.states(), hidden)
    np.testing.assert_allclose(posterior.start(), start)
    np.testing.assert_allclose(posterior.transitions(), transition)
    for name, profile in profiles.items():
        np.testing.assert_allclose(posterior.profiles()[name], profile)
        assert posterior.sd()[name].max() < 1e-12  # every draw has the same profiles under the shared names
    assert posterior.used_states() == posterior.count == STATES


def test_without_alignment_the_answers_would_be_wrong() -> None:
    """Planted: the same draws as they come mix all states, and their profiles are averages of different ones."""
    draws = permuted_draws(np.random.default_rng(1))
    hidden, profiles = truth(np.random.default_rng(1))
    raw = state_frequencies(draws.states.reshape(100, -1), STATES).argmax(axis=1)
    assert np.mean(raw == hidden.ravel()) < 0.7
    assert np.abs(draws.profiles["kind"].mean(axis=(0, 1)) - profiles["kind"]).max() > 0.1


def test_probabilities_of_cells_are_frequencies_of_aligned_states() -> None:
    posterior = EventLogPosterior.from_draws(permuted_draws(np.random.default_rng(2), wrong=0.3), GRID)
    probabilities = posterior.state_probabilities()
    assert probabilities.shape == (REGIONS, TIMES, STATES)
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=-1), posterior.states())
    cells = np.bincount(posterior.states().ravel(), minlength=STATES)
    assert list(cells) == sorted(cells, reverse=True)  # the most frequent state is the first


def test_states_without_cells_are_told_apart_by_their_profiles() -> None:
    rng = np.random.default_rng(3)
    profile = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.2, 0.8]])
    names = rng.permuted(np.tile(np.arange(3), (50, 1)), axis=1)
    states = names[:, :1] * np.ones((50, 8), dtype=np.int64)  # all cells are in the first state
    found = aligned_names(states, [profile[np.argsort(names, axis=1)]], [49])
    shared = reordered(profile[np.argsort(names, axis=1)], found)
    assert np.ptp(shared, axis=0).max() == 0.0
    np.testing.assert_array_equal(renamed(states, found), 0)


def test_a_chain_in_another_mode_is_aligned_as_well_as_can_be_and_shows() -> None:
    """Three chains see three states, the first one has merged two of them: names hold, and R-hat tells."""
    rng = np.random.default_rng(4)
    draws = permuted_draws(rng)
    good = EventLogPosterior.from_draws(draws, GRID)
    states, kind = good.cells.copy(), good.parameters.chains["kind"] + rng.normal(0, 1e-3, (4, 25, STATES, 4))
    states[0][states[0] == 1] = 0
    kind[0, :, 0] = 0.5 * (kind[0, :, 0] + kind[0, :, 1])
    fields = {"kind": kind, "night": good.parameters.chains["night"]}
    mixed = HiddenDraws(states, good.parameters.chains["start"], good.parameters.chains["transition"], fields)
    posterior = EventLogPosterior.from_draws(mixed, GRID)
    np.testing.assert_array_equal(posterior.states(), good.states())
    assert posterior.mixing.rhat > 1.5
    assert posterior.mixing.words in str(posterior)


def test_a_released_chain_gets_start_and_transitions_from_its_states() -> None:
    """Given the states the law is Dirichlet: means over 4,000 draws are within 5 deviations (0.01)."""
    hidden, profiles = truth(np.random.default_rng(5))
    family = HiddenMarkov(REGIONS, TIMES, STATES, (("kind", 4), ("night", 2)), transition=0.5, emission=1.0)
    draws = 4000
    states = np.broadcast_to(hidden, (draws, REGIONS, TIMES))
    fields = {name: np.broadcast_to(profile, (draws, *profile.shape)) for name, profile in profiles.items()}
    posterior = EventLogChain.from_chain(family, GRID, states, fields, "a released chain")
    first = 0.5 + np.bincount(hidden[:, 0], minlength=STATES)
    moves = np.full((STATES, STATES), 0.5)
    np.add.at(moves, (hidden[:, :-1].ravel(), hidden[:, 1:].ravel()), 1.0)
    np.testing.assert_allclose(posterior.start(), first / first.sum(), atol=0.015)
    np.testing.assert_allclose(posterior.transitions(), moves / moves.sum(axis=1, keepdims=True), atol=0.015)
    np.testing.assert_array_equal(posterior.states(), hidden)
    again = EventLogChain.from_chain(family, GRID, states, fields, "a released chain")
    np.testing.assert_array_equal(again.transitions(), posterior.transitions())  # the seed is public and fixed


def test_one_released_state_is_enough_to_print() -> None:
    hidden, profiles = truth(np.random.default_rng(6))
    family = HiddenMarkov(REGIONS, TIMES, STATES, (("kind", 4), ("night", 2)), transition=1.0, emission=1.0)
    fields = {name: profile[np.newaxis] for name, profile in profiles.items()}
    posterior = EventLogChain.from_chain(family, GRID, hidden[np.newaxis], fields, "the last state of a chain")
    assert str(posterior).startswith("the last state of a chain\n\nstate 1")


@pytest.fixture(scope="module")
def posterior() -> EventLogPosterior:
    return EventLogPosterior.from_draws(permuted_draws(np.random.default_rng(7)), GRID, "posterior of a test")


def test_answers_are_by_parameter(posterior: EventLogPosterior) -> None:
    shapes = {"start": (3,), "transition": (3, 3), "kind": (3, 4), "night": (3, 2)}
    for answer in (posterior.mean(), posterior.sd(), posterior.quantile(0.5)):
        assert {name: values.shape for name, values in answer.items()} == shapes
    lower, upper = posterior.interval(0.9)["kind"]
    assert np.all(lower <= posterior.profiles()["kind"] + 1e-12)
    assert np.all(posterior.profiles()["kind"] <= upper + 1e-12)
    assert list(posterior.summary().index)[:4] == ["start[1]", "start[2]", "start[3]", "transition[1, 1]"]
    assert len(posterior.summary()) == len(np.concatenate([np.ravel(values) for values in posterior.mean().values()]))


def test_draws_are_joint_and_have_states(posterior: EventLogPosterior) -> None:
    drawn = posterior.sample(7, np.random.default_rng(0))
    assert drawn["state"].shape == (7, REGIONS, TIMES)
    assert drawn["state"].dtype == np.int64
    flat = posterior.cells.reshape(100, REGIONS, TIMES)
    for state in drawn["state"]:
        assert np.any(np.all(flat == state, axis=(1, 2)))


def test_predictions_follow_the_state_of_their_cell(posterior: EventLogPosterior) -> None:
    """20,000 events: shares within 5 deviations (0.018)."""
    rng = np.random.default_rng(8)
    events = posterior.predict(20_000, rng, region="region 2", time="2026-03")
    assert set(events["region"]) == {1}
    assert set(events["month"]) == {2}
    shares = np.bincount(events["kind"], minlength=4) / 20_000
    expected = posterior.state_probabilities()[1, 2] @ posterior.profiles()["kind"]
    np.testing.assert_allclose(shares, expected, atol=0.018)
    anywhere = posterior.predict(500, rng, region="region 1")
    assert set(anywhere["month"]) == set(range(TIMES))
    with pytest.raises(QueryError, match="declared level, got 'nowhere'"):
        posterior.predict(1, rng, region="nowhere")


def test_export_has_chains_states_and_declared_levels(posterior: EventLogPosterior) -> None:
    exported = posterior.to_datatree(attributes={"note": "public"})["posterior"]
    assert exported["state"].shape == (4, 25, REGIONS, TIMES)
    assert exported["state"].dtype == np.int64
    assert exported["state"].dims == ("chain", "draw", "region_level", "month_level")
    assert exported["transition"].dims == ("chain", "draw", "hidden_state", "next_hidden_state")
    assert list(exported["kind_level"].values) == ["a", "b", "c", "d"]
    assert exported.attrs["note"] == "public"
    assert posterior.to_datatree(draws=10)["posterior"]["kind"].shape == (1, 10, 3, 4)


def test_densities_are_refused(posterior: EventLogPosterior) -> None:
    with pytest.raises(QueryError, match="no density"):
        posterior.log_density({})
    with pytest.raises(QueryError, match="normaliser"):
        posterior.log_evidence()


def test_the_printed_map_has_a_sign_for_every_cell(posterior: EventLogPosterior) -> None:
    lines = posterior.map().splitlines()
    assert lines[0] == "month    2026-01      2026-20"
    states = posterior.states()
    assert [line.split()[-1] for line in lines[1:]] == ["".join(str(k + 1) for k in row) for row in states]
    text = str(posterior)
    assert max(map(len, text.splitlines()[:-1])) <= 80  # all but the warning
    assert text.startswith("posterior of a test\n\nstate 1  ")
    assert "cells are in their state with probability below 0.9" in text


def test_long_logs_wrap_and_long_names_are_cut() -> None:
    rng = np.random.default_rng(9)
    times, regions = 150, ("a region with a very long name", "b")
    levels = tuple(f"level {k}" for k in range(30))
    grid = EventGrid("region", "day", regions, tuple(f"day {t}" for t in range(times)), {"kind": levels})
    states = rng.integers(12, size=(1, 5, 2, times))
    draws = HiddenDraws(
        states,
        rng.dirichlet(np.ones(12), (1, 5)),
        rng.dirichlet(np.ones(12), (1, 5, 12)),
        {"kind": rng.dirichlet(np.ones(30), (1, 5, 12))},
    )
    text = str(EventLogPosterior.from_draws(draws, grid))
    assert max(map(len, text.splitlines()[:-1])) <= 80  # all but the warning
    assert text.count("a region with a ver…") == 3
    assert text.count("and 20 rarer levels") == 3  # twelve states, four abreast


def test_events_fall_where_the_true_counts_are(posterior: EventLogPosterior) -> None:
    """Shares of a cell: (N + 1) / Σ (N + 1) on average, Dirichlet(N + 1) from table to table."""
    totals = np.zeros(posterior.cells.shape, dtype=np.int64)
    totals[..., 1, 2] = 40
    known = replace(posterior, totals=totals)
    weight, whole = 41.0, 41.0 + totals[0, 0].size - 1
    grid = known.coordinates

    def share(events) -> float:
        return float(np.mean((events[grid.region] == 1) & (events[grid.time] == 2)))

    rng = np.random.default_rng(8)
    assert share(known.simulate(20_000, rng)) == pytest.approx(weight / whole, abs=0.018)
    drawn = [share(known._given(given, 2000, rng)) for given in known._one_by_one(200, rng)]
    due = np.sqrt(weight * (whole - weight) / (whole**2 * (whole + 1)) + weight * (whole - weight) / whole**2 / 2000)
    assert np.mean(drawn) == pytest.approx(weight / whole, abs=5 * due / np.sqrt(200))
    assert np.std(drawn) == pytest.approx(due, rel=0.25)
    assert set(known.simulate(200, rng, time="2026-01")[grid.time]) == {0}
    table = replace(known, declared=None).simulate(5, rng)
    assert set(table) == {grid.region, grid.time, *grid.fields}
