"""Event logs with hidden states: what is asked of the rows, what one event can move, and what is found again."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.auditing import l1_length, neighbouring_pairs, pair_of, squared_length, worst_pair
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.recipe import build, describe
from discreet.studies.synthetic_event_log import EventLog

COLUMNS = {
    "place": dc.Categorical(["north", "south"]),
    "day": dc.Categorical(["mon", "tue", "wed"]),
    "kind": dc.Categorical(["a", "b", "c"]),
    "night": dc.Binary(),
    "cost": dc.Bounded(0, 1),
}
SCHEMA = dc.Schema(COLUMNS, n=40)
MODEL = dc.EventLogHMM("place", "day", ("kind", "night"), states=3, prior=0.5, transition_prior=2.0)


def query_of(**facts: Any) -> Statistics:
    return MODEL.query(dc.Schema(COLUMNS, **facts))


def test_one_table_is_asked_for_each_field() -> None:
    query = MODEL.query(SCHEMA)
    assert [(table.name, table.columns, table.shape) for table in query.statistics] == [  # type: ignore[union-attr]
        ("kind", ("place", "day", "kind"), (2, 3, 3)),
        ("night", ("place", "day", "night"), (2, 3, 2)),
    ]
    assert query.family == HiddenMarkov(2, 3, 3, (("kind", 3), ("night", 2)), transition=2.0, emission=0.5)
    assert query.by is MODEL.by is None


@pytest.mark.parametrize(
    ("facts", "l1", "squared"),
    [
        ({"n": 40}, 4, 4),
        ({"n": 40, "unit": dc.Person("driver", max_records=3)}, 12, 36),
        ({"n_max": 40, "relation": "add-remove"}, 2, 2),
        ({"n_max": 40, "relation": "add-remove", "unit": dc.Person("driver", max_records=3)}, 6, 18),
    ],
    ids=["record", "person", "add-remove", "add-remove person"],
)
def test_one_unit_moves_two_cells_of_every_table(facts: dict[str, Any], l1: int, squared: int) -> None:
    query = query_of(**facts)
    assert (query.l1, query.squared_l2) == (l1, squared)
    assert worst_pair(query, l1_length, limit=40).moved[0] == l1
    assert worst_pair(query, squared_length, limit=40).moved[1] == squared
    for pair in neighbouring_pairs(query, limit=60):
        assert pair.moved[0] <= l1
        assert pair.moved[1] <= squared


def test_every_way_to_replace_one_event_stays_within_the_bound() -> None:
    """All 36 × 36 pairs of events, so also those that change region and time: never more, and attained."""
    query = query_of(n=4)
    cells = list(itertools.product(range(2), range(3), range(3), range(2)))
    others = np.array([cells[0], cells[7], cells[20]])
    moved = {}
    for old, new in itertools.product(cells, repeat=2):
        moved[old, new] = pair_of(query, others, np.array([old]), np.array([new])).moved
    assert max(l1 for l1, _ in moved.values()) == query.l1
    assert max(squared for _, squared in moved.values()) == query.squared_l2
    across = [lengths for (old, new), lengths in moved.items() if old[:2] != new[:2]]
    assert set(across) == {(Fraction(4), Fraction(4))}  # another cell: out of one and into another, in every table


def test_a_bound_for_events_that_keep_their_cell_would_be_exceeded() -> None:
    """Planted: whoever thinks that an event changes one field at a time declares half."""
    moved = worst_pair(query_of(n=4), l1_length, limit=40).moved[0]
    assert moved > dc.EventLogHMM("place", "day", ("kind",)).query(SCHEMA).l1


def test_the_budget_may_be_split_between_fields() -> None:
    mechanism = dc.NoisyStatistics(epsilon=1.0, split={"kind": 3, "night": 1})
    laws = mechanism.laws(MODEL.query(SCHEMA))
    assert laws["kind"].scale == pytest.approx(2 / 0.75)  # type: ignore[union-attr]
    assert laws["night"].scale == pytest.approx(2 / 0.25)  # type: ignore[union-attr]
    assert mechanism.guarantee(MODEL.query(SCHEMA)) == dc.NoisyStatistics(epsilon=1.0).guarantee(MODEL.query(SCHEMA))
    with pytest.raises(dc.GuaranteeError, match=r"must name exactly \['kind', 'night'\]"):
        dc.NoisyStatistics(epsilon=1.0, split={"kind": 1}).laws(MODEL.query(SCHEMA))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fields": ()}, "fields must be the names of different columns"),
        ({"fields": ("kind", "kind")}, "fields must be the names of different columns"),
        ({"fields": ("kind", "day")}, "fields must be other columns than region and time"),
        ({"time": "place"}, "fields must be other columns than region and time"),
        ({"fields": ("kind", "state")}, "fields must not have the names"),
        ({"states": 0}, "states must be a whole number from 1 to 50, got 0"),
        ({"states": 51}, "states must be a whole number from 1 to 50, got 51"),
        ({"states": 2.0}, "states must be a whole number"),
        ({"prior": 0}, "EventLogHMM.prior must be a finite number above 0"),
        ({"prior": (1.0, 2.0)}, "EventLogHMM.prior must be a finite number above 0"),
        ({"transition_prior": -1}, "EventLogHMM.transition_prior must be a finite number above 0"),
        ({"sampler": "fast"}, 'sampler must be "blocked" or "collapsed"'),
        ({"by": "night"}, "region plays that part"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.QueryError, match=message):
        dc.EventLogHMM(**{"region": "place", "time": "day", "fields": ("kind",), **arguments})


@pytest.mark.parametrize("columns", [("cost", "day", "kind"), ("place", "cost", "kind"), ("place", "day", "cost")])
def test_all_columns_have_declared_levels(columns: tuple[str, str, str]) -> None:
    with pytest.raises(dc.QueryError, match="must be binary or categorical, got 'cost'"):
        dc.EventLogHMM(*columns).query(SCHEMA)


def test_a_prior_from_public_events_is_refused() -> None:
    with pytest.raises(dc.QueryError, match="no names that a prior could use"):
        MODEL.updated(None)
    assert MODEL.implied_schema() is None


def test_its_recipe_is_the_model() -> None:
    recipe = describe(MODEL)
    assert recipe["fields"] == ["kind", "night"]
    assert "by" not in recipe
    assert build("model", {"EventLogHMM": dc.EventLogHMM}, recipe, dc.QueryError) == MODEL
    assert hash(dc.EventLogHMM("place", "day", "kind")) == hash(dc.EventLogHMM("place", "day", ["kind"]))  # type: ignore[arg-type]


def test_one_state_is_the_conjugate_model_of_pooled_events() -> None:
    """K = 1: profiles are Dirichlet(prior + summed counts); 800 draws, within 5 Monte Carlo deviations."""
    rng = np.random.default_rng(1)
    model = dc.EventLogHMM("place", "day", ("kind", "night"), states=1, prior=0.5)
    query = model.query(SCHEMA)
    value = {"kind": rng.poisson(4, (2, 3, 3)), "night": rng.poisson(4, (2, 3, 2))}
    posterior = model.plug_in(query, value)
    for name, counts in value.items():
        alpha = 0.5 + counts.sum(axis=(0, 1))
        mean = alpha / alpha.sum()
        error = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1) / 800)
        assert np.all(np.abs(posterior.profiles()[name][0] - mean) < 5 * error)
    assert posterior.used_states() == 1
    np.testing.assert_allclose(posterior.transitions(), 1.0)


def test_simulated_events_follow_their_truth() -> None:
    """300,000 events in 6 cells: every share within 5 deviations."""
    truth, events = MODEL.simulate(SCHEMA, 300_000, np.random.default_rng(2))
    assert truth["state"].shape == (2, 3)
    assert truth["start"].shape == (3,)
    assert truth["transition"].shape == (3, 3)
    assert set(events) == {"place", "day", "kind", "night"}
    cells = np.bincount(truth["state"].ravel(), minlength=3)
    assert list(cells) == sorted(cells, reverse=True)  # as in a posterior, the most frequent state is the first
    state = truth["state"][events["place"], events["day"]]
    for name in MODEL.fields:
        for k in np.unique(state):
            chosen, profile = events[name][state == k], truth[name][k]
            shares = np.bincount(chosen, minlength=profile.size) / chosen.size
            assert np.all(np.abs(shares - profile) <= 5 * np.sqrt(profile * (1 - profile) / chosen.size) + 1e-9)


def test_simulated_states_are_a_markov_chain() -> None:
    """2,000 simulations of three days: how often neighbours are equal is what the prior says, within 5 deviations.

    A row has the prior Dirichlet(2, 2, 2): the first move stays with probability 1/3; after one that stayed the next one
    stays with probability 3/7, else it is the first move out of its state, 1/3 again: together 1/7 + 2/9 = 23/63.
    """
    rng = np.random.default_rng(3)
    same = np.array([np.diff(MODEL.simulate(SCHEMA, 1, rng)[0]["state"], axis=1) == 0 for _ in range(2000)])
    by_run = same.mean(axis=1)  # two regions, which share their rows
    error = 5 * by_run.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(by_run.mean(axis=0) - [1 / 3, 23 / 63]) < error)


@pytest.fixture(scope="module")
def log() -> EventLog:
    return dc.synthetic_event_log(regions=6, months=24, levels=(5, 3, 2), states=2, median=150, seed=3)


def model_of(log: EventLog, **arguments: Any) -> dc.EventLogHMM:  # type: ignore[name-defined]
    return dc.EventLogHMM("region", "month", tuple(log.profiles), **arguments)


@pytest.mark.parametrize("kind", ["noise-aware", "plug-in"])
def test_states_are_found_again(log: EventLog, kind: Any) -> None:
    """At epsilon = 5 noise of deviation 1.7 is on counts of dozens: nearly every cell is certain."""
    data = dc.open(log.table, log.schema, id="log")
    (release,) = dc.simulate(model_of(log), data, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=1)
    posterior: Any = release.posterior(kind)
    assert log.adjusted_rand(posterior.states()) >= 0.9
    assert posterior.used_states() == 2
    order = np.argsort(-np.bincount(log.states.ravel(), minlength=2))
    for name, profile in log.profiles.items():
        np.testing.assert_allclose(posterior.profiles()[name], profile[order], atol=0.05)
    assert posterior.transitions().diagonal().min() > 0.75


def test_both_samplers_of_the_plug_in_posterior_agree(log: EventLog) -> None:
    data = dc.open(log.table, log.schema, id="log")
    found = []
    for sampler in ("blocked", "collapsed"):
        (release,) = dc.simulate(model_of(log, sampler=sampler), data, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=1)
        found.append(release.posterior("plug-in"))
    np.testing.assert_array_equal(found[0].states(), found[1].states())  # type: ignore[union-attr]


def test_a_release_is_paid_once_and_read_for_ever(log: EventLog, tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "log.ledger", dc.Budget(epsilon=5.0))
    model, data = model_of(log), dc.open(log.table, log.schema, id="log")
    release = dc.release(model, data, dc.NoisyStatistics(epsilon=5.0), ledger)
    spent = ledger.spent()
    release.save(tmp_path / "log.release.json")
    loaded = dc.load(tmp_path / "log.release.json")
    assert loaded.model == model
    reports: list[int] = []
    one, same = release.posterior(progress=reports.append), loaded.posterior()
    assert sum(reports) > 0
    np.testing.assert_array_equal(one.states(), same.states())  # type: ignore[union-attr]
    np.testing.assert_array_equal(one.mean()["transition"], same.mean()["transition"])
    strong: Any = loaded.posterior("plug-in", prior=1e6)
    np.testing.assert_allclose(strong.profiles()["field_2"], 1 / 3, atol=0.01)  # a prior that drowns the events
    assert ledger.spent() == spent
    with pytest.raises(dc.BudgetExceeded):
        dc.release(model, data, dc.NoisyStatistics(epsilon=5.0, label="again"), ledger)


def test_persons_are_protected_as_a_whole() -> None:
    """Events have drivers, of each of whom five count: the number of used events is private."""
    log = dc.synthetic_event_log(regions=4, months=12, levels=(4, 2), median=100, seed=5)
    table = log.table.append_column("driver", [np.arange(log.table.num_rows) // 7])
    schema = dc.Schema(log.schema.columns, unit=dc.Person("driver", max_records=5))
    data = dc.open(table, schema, id="log")
    (release,) = dc.simulate(model_of(log), data, dc.NoisyStatistics(epsilon=20.0), runs=1, seed=1)
    assert release.query.l1 == 2 * 2 * 5
    posterior: Any = release.posterior()
    assert log.adjusted_rand(posterior.states()) > 0.9


@pytest.mark.parametrize("kind", ["persons", "add-remove", "excluded"])
def test_states_are_found_where_the_number_of_events_is_private(kind: str) -> None:
    """Two records of every driver, a number that is not counted, rows that a bad cell would exclude."""
    log = dc.synthetic_event_log(3, 12, (4, 2), median=60, seed=2)
    table = log.table.append_column("driver", pa.array(np.arange(log.table.num_rows) // 3))
    columns = dict(log.schema.columns)
    if kind == "persons":
        schema = dc.Schema(columns, unit=dc.Person("driver", max_records=2))
    elif kind == "add-remove":
        schema = dc.Schema(columns, relation="add-remove", n_max=5000)
    else:
        schema = dc.Schema({name: dc.Categorical(column.levels, missing="exclude") for name, column in columns.items()})
    model = dc.EventLogHMM("region", "month", ("field_1", "field_2"))
    dataset = dc.open(table, schema, id="log")
    (release,) = dc.simulate(model, dataset, dc.NoisyStatistics(epsilon=8.0), runs=1, seed=1)
    assert log.adjusted_rand(release.posterior().states()) > 0.9  # type: ignore[union-attr]
