"""Robust releases: what one unit moves in the second stage, what both stages cost, and that nothing else decides.

Every claim has a twin that breaks what the proof needs (noisy_statistics.md, Theorem 3).
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.noise import DiscreteLaplace
from discreet.noise.sources import SeededNoise
from discreet.queries import second_stage
from discreet.queries.influence import LARGEST_FORM, STEPS, Form, Influence, Influences
from discreet.queries.statistics import Statistics
from discreet.sources import CodedRows, Dataset, coded_influences
from second_stages import MODELS, RELATIONS, UNITS, by_hand, coded, schema_of, table

N = 30
MECHANISM = dc.NoisyStatistics(epsilon=2.0)


def released(query: Statistics, rng: np.random.Generator, size: float = 1.0) -> dict[str, Any]:
    """A first stage that the noise could have given: any integers, of about the size that statistics have, or more."""
    found = {}
    for statistic in query.statistics:
        draws = rng.normal(0.0, 1.0, statistic.shape) * N * statistic.unit * size
        found[statistic.name] = np.array([int(d) for d in np.ravel(draws)], dtype=object).reshape(statistic.shape)
    return found


def unit_tables(query: Influences, rng: np.random.Generator, count: int) -> list[CodedRows]:
    """Tables that differ in one unit: any number of rows of it, at the ends of the columns and anywhere between."""
    schema, most = query.schema, query.schema.unit.max_records
    ends = {}
    for name in query.columns:
        column: Any = schema.column(name)
        numeric = column.holds == "numbers"
        ends[name] = (column.steps(-1e9), column.steps(1e9)) if numeric else (0, len(column.levels) - 1)
    others = {name: rng.integers(low, high + 1, 4) for name, (low, high) in ends.items()}
    tables = []
    for place in range(count):
        size = 1 if schema.unit.identifier is None else int(rng.choice([1, most, most + 2]))
        size = 0 if schema.relation == "add-remove" and place == 0 else size
        rows = {}
        for name, (low, high) in ends.items():
            anywhere = rng.integers(low, high + 1, size)
            extreme = np.repeat(rng.choice([low, high]), size)  # all rows of a person alike: they add up
            rows[name] = np.append(others[name], extreme if rng.random() < 0.6 else anywhere)
        persons = None if schema.unit.identifier is None else np.append(np.arange(1, 5), np.zeros(size, dtype=int))
        tables.append(CodedRows(rows, persons))
    return tables


def moves(query: Influences, rng: np.random.Generator, count: int) -> tuple[float, float]:
    """The furthest pair in L1 and in squared L2, in units; under add-remove one of each pair lacks the unit."""
    sums = np.array([np.ravel(t.influences(query)) for t in unit_tables(query, rng, count)], dtype=float) / STEPS**2
    others = sums[:1] if query.schema.relation == "add-remove" else sums
    apart = sums[:, None] - others[None]
    return float(np.abs(apart).sum(axis=-1).max()), float((apart**2).sum(axis=-1).max())


def hand_made(relation: str, unit: str, by: str | None) -> tuple[Influences, Fraction]:
    """Three functions that are all 0 in the middle of x and all cut at its ends, and what is declared for them."""
    query = dc.MultivariateNormal(("x", "z"), robust=True, by=by).query(schema_of(relation, unit, N))
    assert query.second is not None
    form = Form(0, (1, 0), ())
    functions = tuple(Influence(form, Form(0, (k, 0), ()), 0, 600 * k + 400, 1.0) for k in (1, 5, 9))
    made = Influences(query.schema, query.columns, query.second.axes, (), (functions,) * (3 if by else 1), by)
    return made, query.second.sensitivity(query)


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_declared_sensitivity_is_attained(relation: str, unit: str, by: str | None) -> None:
    """A unit whose functions are all cut in as many groups as it can be in; then all are 0, or cut in other groups."""
    query, declared = hand_made(relation, unit, by)
    axis, groups = query.axes[0], 1 if by is None else 3
    own = min(UNITS[unit].max_records, groups)

    def sums(cell: int, shift: int) -> np.ndarray[Any, Any]:
        rows = {"x": np.full(own, cell), "z": np.full(own, query.axes[1].low)}
        rows |= {} if by is None else {"site": (np.arange(own) + shift) % groups}
        return np.asarray(CodedRows(rows, np.zeros(own, dtype=int)).influences(query).astype(float)) / STEPS**2

    middle = axis.low + (axis.reach << axis.shift) // 2
    others = [sums(middle, 0), sums(axis.low, own)] if relation == "replace-one" else [0.0]
    moved = [float(np.abs(sums(axis.low, 0) - other).sum()) for other in others]
    assert 0.99 * float(declared) < max(moved) <= float(declared)


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_no_neighbours_exceed_the_declared_sensitivity(model: str, relation: str, unit: str, by: str | None) -> None:
    """30 cases of 2 · 20² pairs, and 30 of a unit more or less, at first stages that noise of any size could give."""
    rng = np.random.default_rng([len(model), RELATIONS.index(relation), list(UNITS).index(unit), by is None])
    query = MODELS[model](by).query(schema_of(relation, unit, N, missing=None))
    for size in (0.3, 100.0):
        asked = query.second.query(query, released(query, rng, size), MECHANISM.laws(query))
        l1, squared = moves(asked, rng, 20)
        assert l1 <= query.second.sensitivity(query)
        assert squared <= query.second.sensitivity(query)


def test_a_forgotten_cap_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    query, declared = hand_made("replace-one", "record", None)
    assert moves(query, np.random.default_rng(1), 40)[0] <= declared
    monkeypatch.setattr(coded_influences, "STEPS", 10**9)
    assert moves(query, np.random.default_rng(1), 40)[0] > declared


def test_persons_bounded_row_by_row_only_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    query, declared = hand_made("replace-one", "person", None)
    assert moves(query, np.random.default_rng(1), 40)[0] <= declared
    whole = coded_influences.sums_of_influences

    def row_by_row(query: Influences, rows: Any, unit: Any) -> Any:
        return whole(query, rows, np.arange(unit.size))

    monkeypatch.setattr("discreet.sources.coded.sums_of_influences", row_by_row)
    assert moves(query, np.random.default_rng(1), 40)[0] > declared


def test_one_of_two_groups_forgotten_is_caught() -> None:
    """A record that changes its group moves the sums of both."""
    query, declared = hand_made("replace-one", "record", "site")
    low = query.axes[0].low
    tables = [CodedRows({"x": np.array([low]), "z": np.array([0]), "site": np.array([g])}) for g in (0, 1)]
    here, there = (np.array(t.influences(query), dtype=float) / STEPS**2 for t in tables)
    assert np.abs(here - there).sum() == declared == 2 * len(query.functions[0])


# --- what both stages cost


def loss(query: Statistics, laws: Any) -> Fraction:
    """Exactly what the scales of the noise promise, both stages together."""
    assert query.second is not None
    first, second = laws[query.names[-1]], laws[query.second.name]
    unit = query.statistics[-1].unit
    if isinstance(first, DiscreteLaplace):
        return unit * query.l1 / Fraction(first.scale) + STEPS**2 * query.second.sensitivity(query) / Fraction(
            second.scale
        )
    squares = unit**2 * query.squared_l2 / Fraction(first.sigma) ** 2
    return (squares + STEPS**4 * query.second.sensitivity(query) / Fraction(second.sigma) ** 2) / 2


@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.1}, {"epsilon": 3.7}, {"rho": 0.3}, {"epsilon": 1.0, "delta": 1e-6}], ids=str
)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("by", [None, "site"])
def test_both_stages_together_meet_the_budget_in_exact_rationals(
    budget: dict[str, float], unit: str, by: str | None
) -> None:
    query = dc.LinearRegression("y", ("x", "ward"), robust=True, by=by).query(schema_of("replace-one", unit, N))
    mechanism = dc.NoisyStatistics(**budget)  # type: ignore[arg-type]
    laws, guarantee = mechanism.laws(query), mechanism.guarantee(query)
    spent = Fraction(repr(next(iter(guarantee.arguments().values()))))
    assert spent * (1 - Fraction(1, 10**12)) <= loss(query, laws) <= spent
    # the twin: the first stage keeps the whole budget, and the second is thought to be free
    free = {**laws, **{name: mechanism.laws(replace(query, second=None))[name] for name in query.names}}
    assert loss(query, free) > spent * Fraction(104, 100)


def test_a_split_is_of_the_first_stage() -> None:
    query = dc.Normal("x", robust=True).query(schema_of("replace-one", "record", N, missing=None))
    laws = dc.NoisyStatistics(epsilon=1.0, split={"x": 1.0, "x * x": 3.0}).laws(query)
    parts = {s.name: s.unit * query.unit_l1(s.move) / Fraction(laws[s.name].scale) for s in query.statistics}  # type: ignore[union-attr]
    assert math.isclose(parts["x"], 0.95 / 4) and math.isclose(parts["x * x"], 0.95 * 3 / 4)  # noqa: PT018
    with pytest.raises(dc.GuaranteeError, match="must name exactly"):
        dc.NoisyStatistics(epsilon=1.0, split={"x": 1.0, "x * x": 3.0, "influence": 1.0}).laws(query)


def test_the_guarantee_says_both_stages() -> None:
    query = dc.Normal("x", robust=True).query(schema_of("replace-one", "record", N))
    text = str(dc.NoisyStatistics(epsilon=1.0).guarantee(query))
    assert "all but 5% of epsilon" in text
    assert "then 5% of epsilon" in text
    assert "Theorem 3" in text
    assert repr(dc.NoisyStatistics(epsilon=1.0).guarantee(query)) == "PureDP(epsilon=1.0)"
    assert "5% of rho" in str(dc.NoisyStatistics(rho=1.0).guarantee(query))
    plain = dc.Normal("x").query(schema_of("replace-one", "record", N))
    assert "Theorem 3" not in str(dc.NoisyStatistics(epsilon=1.0).guarantee(plain))


# --- functions of released numbers


EXTREMES = [0, 1, -1, 7, -(2**31), 2**62, -(2**63), 2**64 + 1, 10**30, -(10**30), 10**400, -(10**400)]


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("unit", ["record", "person with many"])
def test_whatever_the_noise_gave_the_second_stage_exists(model: str, unit: str, by: str | None) -> None:
    """Every integer is finite and within bounds, no warning is given, and 64 bits hold what rows make of them."""
    rng = np.random.default_rng(5)
    query = MODELS[model](by).query(schema_of("add-remove", unit, 10**6, missing=None))
    rows = {}
    for name in query.columns:
        column: Any = query.schema.column(name)
        numeric = column.holds == "numbers"
        ends = (column.steps(-1e9), column.steps(1e9)) if numeric else (0, len(column.levels) - 1)
        rows[name] = rng.choice(ends, 12)
    owners = np.zeros(12, dtype=int) if unit != "record" else np.arange(12)
    for trial in range(25):
        value = {
            s.name: np.array(rng.choice(np.array(EXTREMES, dtype=object), s.shape), dtype=object)
            if trial % 2
            else np.full(s.shape, EXTREMES[trial // 2 % len(EXTREMES)], dtype=object)
            for s in query.statistics
        }
        mechanism = dc.NoisyStatistics(epsilon=[1e-3, 1.0, 1e4][trial % 3])
        asked = query.second.query(query, value, mechanism.laws(query))
        for function in (function for group in asked.functions for function in group):
            assert max(function.left.largest(asked.axes), function.right.largest(asked.axes)) <= LARGEST_FORM
            assert 0 <= function.offset <= LARGEST_FORM**2
            assert function.divisor >= 1
            assert 0 < function.bound < 1e300
        found = CodedRows(rows, owners).influences(asked)
        hand = by_hand(asked, {name: cells.tolist() for name, cells in rows.items()}, owners.tolist())
        assert np.asarray(found).reshape(len(hand), -1).tolist() == hand


@pytest.mark.parametrize("budget", [{"epsilon": 1e15}, {"epsilon": 1e28}, {"rho": 1e20}, {"rho": 1e28}], ids=str)
def test_noise_that_is_0_in_doubles_leaves_a_second_stage(
    budget: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = dc.Normal("x", robust=True).query(schema_of("replace-one", "record", N, missing=None))
    laws = dc.NoisyStatistics(**budget).laws(query)  # type: ignore[arg-type]
    value = released(query, np.random.default_rng(1))
    assert query.second is not None
    assert query.second.query(query, value, laws).shape == (1,)
    monkeypatch.setattr(second_stage, "LEAST_NOISE", 0.0)
    with pytest.raises((ZeroDivisionError, RuntimeWarning)):
        query.second.query(query, value, laws)


def test_no_more_is_asked_than_the_sensitivity_counts() -> None:
    query = dc.LinearRegression("y", ("x", "ward"), robust=True).query(schema_of("replace-one", "record", N))
    assert query.second is not None
    value = released(query, np.random.default_rng(1))
    planted = replace(query, second=replace(query.second, reported=query.second.reported[:-1]))
    assert planted.second is not None
    with pytest.raises(dc.QueryError, match="must name every function"):
        planted.second.query(planted, value, MECHANISM.laws(planted))


def test_functions_of_exact_sums_would_be_seen_at_once() -> None:
    """One record would decide how all others are measured: the second sum moves by more than a unit can add."""
    n = 2000
    schema = schema_of("replace-one", "record", n, missing=None)
    query = dc.Normal("x", robust=True).query(schema)
    axis = query.second.axes[0]  # type: ignore[union-attr]
    ends = (axis.low, axis.low + (axis.reach << axis.shift))
    rows = np.where(np.arange(n) % 2, axis.low + (axis.reach << axis.shift) // 2 - 300, ends[1] // 2 + 300)
    tables = [Dataset("t", schema, CodedRows({"x": np.append(rows[1:], end)})) for end in (ends[1] // 2, ends[1])]

    def moved(mechanism: dc.NoisyStatistics, first: dict[str, Any] | None) -> float:
        sums = []
        for one in tables:
            own = first or one.source.statistics(query)
            asked = query.second.query(query, own, mechanism.laws(query))  # type: ignore[union-attr]
            sums.append(int(one.source.influences(asked)[0]))
        return abs(sums[0] - sums[1]) / STEPS**2

    mechanism = dc.NoisyStatistics(epsilon=1000.0)
    for seed in range(5):
        first = mechanism.apply(SeededNoise(seed), query, tables[0])
        assert moved(mechanism, first) <= 1
    assert moved(mechanism, None) > 1


class Watched:
    """A source that notes what it is asked in the second stage."""

    def __init__(self, source: CodedRows) -> None:
        self.source, self.asked = source, list[Influences]()

    def statistics(self, query: Statistics) -> Any:
        return self.source.statistics(query)

    def influences(self, query: Influences) -> Any:
        self.asked.append(query)
        return self.source.influences(query)


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_asked_follows_from_what_is_released(model: str, by: str | None) -> None:
    """Anybody can compute the functions from the release alone; from the exact sums they would be others."""
    frame = table(N, np.random.default_rng(2))
    schema = schema_of("replace-one", "person", 40)
    query = MODELS[model](by).query(schema)
    source = Watched(coded(frame, schema, query.columns))
    value = MECHANISM.apply(SeededNoise(9), query, Dataset("t", schema, source))  # type: ignore[arg-type]
    (asked,) = source.asked
    assert query.second.query(query, value, MECHANISM.laws(query)) == asked
    assert query.second.query(query, source.statistics(query), MECHANISM.laws(query)) != asked
