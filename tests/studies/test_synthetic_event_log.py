"""Synthetic event logs: the same for the same seed, with the law they say, and tables that `dc.open` takes."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import discreet as dc
from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.studies.synthetic_event_log import EventLog


@pytest.fixture(scope="module")
def log() -> EventLog:
    return dc.synthetic_event_log(regions=5, months=30, levels=(4, 2), states=3, stay=0.8, median=300, seed=4)


def test_a_log_has_the_declared_shape(log: EventLog) -> None:
    assert log.table.column_names == ["region", "month", "field_1", "field_2"]
    assert log.states.shape == (5, 30)
    assert set(np.unique(log.states)) <= {0, 1, 2}
    assert {name: profile.shape for name, profile in log.profiles.items()} == {"field_1": (3, 4), "field_2": (3, 2)}
    np.testing.assert_allclose(log.transitions, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    levels = {name: column.levels for name, column in log.schema.columns.items()}
    assert levels["region"] == tuple(f"region {k}" for k in range(1, 6))
    assert levels["month"][:2] == ("2020-01", "2020-02")
    assert levels["month"][-1] == "2022-06"
    assert levels["field_2"] == ("no", "yes")


def test_dc_open_takes_the_table_and_counts_its_events(log: EventLog) -> None:
    assert dc.open(log.table, log.schema, id="log").schema.n == log.schema.n == log.table.num_rows
    persons = dc.Schema({"region": log.schema.column("region")})
    assert dc.open(log.table, persons, id="log").schema.n == log.schema.n


def test_events_follow_sizes_states_and_profiles(log: EventLog) -> None:
    """Chi-square over 150 cells and 3 × (4 + 2) shares with a fixed seed; each false alarm below 1e-4."""
    data = dc.open(log.table, log.schema, id="log")
    tables = tuple(Counts.over(data.schema, name, "region", "month", name) for name in log.profiles)
    exact = data.source.statistics(Statistics(data.schema, tables))
    sizes = exact["field_1"].sum(axis=2)
    np.testing.assert_array_equal(sizes, exact["field_2"].sum(axis=2))
    assert np.median(sizes) == pytest.approx(300, rel=0.2)
    assert np.log(sizes).std() == pytest.approx(0.5, abs=0.15)
    for name, profile in log.profiles.items():
        expected = sizes[..., np.newaxis] * profile[log.states]
        chi_square = np.sum((exact[name] - expected) ** 2 / np.maximum(expected, 1e-9))
        freedom = sizes.size * (profile.shape[1] - 1)
        assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom) * 2  # small cells have heavier tails


def test_fields_are_independent_given_the_state(log: EventLog) -> None:
    """Within a state the two fields are drawn apart: chi-square of 3 degrees each, false alarm 1e-4."""
    codes = {name: log.table[name].combine_chunks().indices.to_numpy() for name in log.table.column_names}
    state = log.states[codes["region"], codes["month"]]
    for k in range(3):
        table = np.zeros((4, 2))
        np.add.at(table, (codes["field_1"][state == k], codes["field_2"][state == k]), 1.0)
        expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
        assert np.sum((table - expected) ** 2 / np.maximum(expected, 1.0)) < 21.1


def test_the_seed_decides_and_nothing_else(log: EventLog) -> None:
    arguments = {"regions": 5, "months": 30, "levels": (4, 2), "states": 3, "stay": 0.8, "median": 300}
    again, other = (dc.synthetic_event_log(**arguments, seed=seed) for seed in (4, 5))  # type: ignore[arg-type]
    assert again.table.equals(log.table)
    assert not np.array_equal(other.states, log.states)


def test_states_stay_as_often_as_asked() -> None:
    """4,900 moves at 0.9: the share is within 5 deviations (0.021), false alarm below 1e-6."""
    log = dc.synthetic_event_log(regions=100, months=50, levels=(2,), states=4, stay=0.9, median=1, spread=0.0)
    assert np.mean(log.states[:, 1:] == log.states[:, :-1]) == pytest.approx(0.9, abs=0.021)
    assert log.table.num_rows == 5000  # every cell has at least one event


def test_the_adjusted_rand_index_is_the_usual_one(log: EventLog) -> None:
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 1.0):
        found = np.where(rng.random(log.states.shape) < share, log.states, rng.integers(5, size=log.states.shape))
        assert log.adjusted_rand(found) == pytest.approx(adjusted_rand_score(log.states.ravel(), found.ravel()))
    assert log.adjusted_rand((log.states + 1) % 3) == 1.0
    with pytest.raises(dc.QueryError, match=r"must have shape \(5, 30\)"):
        log.adjusted_rand(log.states.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regions": 1}, "regions must be a whole number from 2"),
        ({"states": 0}, "states must be a whole number from 1"),
        ({"levels": (3, 1)}, "levels must be whole numbers from 2"),
        ({"levels": ()}, "levels must be whole numbers from 2"),
        ({"stay": 1.5}, "stay must be from 0 to 1"),
        ({"median": 0}, "median must be above 0"),
        ({"spread": -1.0}, "spread must be from 0 to 5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message: str) -> None:
    with pytest.raises(dc.QueryError, match=message):
        dc.synthetic_event_log(**arguments)
