"""Averages over tables that were not read: as right as those over tables that were, and less a matter of chance."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.planning import adjusted_averages
from discreet.planning.adjusted_averages import adjusted
from discreet.planning.table_features import MOST_ROWS, Sketch, features, sketch
from discreet.sources import CodedRows, Dataset

READ, FURTHER, BATCHES = 100, 1000, 120
SCHEMA = dc.Schema({"smoker": dc.Binary()}, n=100)


def curve_of(places: Any) -> Any:
    """Of variance 1."""
    return places[:, 0] / np.sqrt(2) + np.sin(2 * places[:, 1])


def made_up(rng: np.random.Generator, told: float) -> tuple[Any, Any, Any]:
    """Widths of log-deviation 1, a share `told` of whose variance two features say."""
    places = rng.standard_normal((READ + FURTHER, 3))
    curve = curve_of(places)
    widths = np.exp(np.sqrt(told) * curve + np.sqrt(1 - told) * rng.standard_normal(READ + FURTHER))
    return widths[:READ], places[:READ], places[READ:]


def answers(told: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Averages, the errors told of them, and averages of what was read alone, of many batches."""
    rng = np.random.default_rng(11)
    batches = [made_up(rng, told) for _ in range(BATCHES)]
    found = np.array([adjusted(*batch) for batch in batches])
    return found[:, 0], found[:, 1], np.array([read.mean() for read, _, _ in batches])


def test_features_that_tell_take_chance_away_and_the_error_says_how_much() -> None:
    """The spread of 120 averages is known to 7%: a third less chance, and errors right within a third, by four deviations."""
    made, told, plain = answers(0.9)
    places = np.random.default_rng(12).standard_normal((10**6, 3))
    truth = np.mean(np.exp(np.sqrt(0.9) * curve_of(places))) * np.exp(0.05)
    assert abs(made.mean() / truth - 1) < 0.06
    assert made.std() < 0.75 * plain.std()
    assert 0.67 < np.sqrt(np.mean(told**2)) / made.std() < 1.5


def test_features_that_tell_nothing_do_no_harm() -> None:
    made, told, plain = answers(0.0)
    assert made.std() < 1.1 * plain.std()
    assert abs(made.mean() / plain.mean() - 1) < 0.03
    assert 0.6 < np.sqrt(np.mean(told**2)) / made.std() < 1.5


def test_a_correction_by_other_tables_than_those_that_were_read_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error shows tables of another kind as the further ones: averages move by more than all their errors."""
    right, told, _ = answers(0.9)
    controlled = adjusted_averages._controlled
    monkeypatch.setattr(
        adjusted_averages,
        "_controlled",
        lambda values, known, others, reach: controlled(values, known, others + 0.5, reach),
    )
    wrong, _, _ = answers(0.9)
    assert abs(wrong.mean() - right.mean()) > 2 * told.mean()


def test_few_tables_and_tables_that_are_alike_are_averaged_as_they_are() -> None:
    rng = np.random.default_rng(1)
    values, known, others = rng.random(10), rng.random((10, 2)), rng.random((30, 2))
    assert adjusted(values, known, others) == pytest.approx((values.mean(), values.std(ddof=1) / 10**0.5))
    same = np.full(50, 2.0)
    assert adjusted(same, rng.random((50, 2)), others) == (2.0, 0.0)
    assert adjusted(rng.random(50), np.empty((50, 0)), np.empty((30, 0)))[1] > 0
    assert adjusted(values[:1], known[:1], others) == (values[0], 0.0)


NONE = np.empty(0)


def test_a_table_is_looked_at_without_its_order_and_large_ones_in_part() -> None:
    rng = np.random.default_rng(2)
    codes = {"age": rng.integers(0, 500, 5 * MOST_ROWS), "ward": np.repeat([0, 1, 2, 3, 4], MOST_ROWS)}
    seen = sketch(Dataset("t", SCHEMA, CodedRows(codes)), 10 * MOST_ROWS, NONE, rng)
    some = seen.columns
    assert seen.share == 0.5
    assert {len(column) for column in some.values()} == {MOST_ROWS // 2}
    assert set(some["ward"]) == {0, 1, 2, 3, 4}
    whole = sketch(Dataset("t", SCHEMA, CodedRows({"x": np.array([3, 1, 2])})), 3, np.ones(4), rng)
    assert whole.share == 1.0
    assert sorted(whole.columns["x"]) == [1, 2, 3]
    assert whole.added.tolist() == [1, 1, 1, 1]
    assert sketch(Dataset("t", SCHEMA, CodedRows({"x": np.arange(3)})), 3, np.ones(99), rng).added.size == 0


def test_features_tell_tables_apart_by_what_they_hold() -> None:
    """Spread, share and whether columns go together; a column that is the same everywhere is none, an empty table no fault."""
    rng = np.random.default_rng(3)
    wide = [{"x": rng.normal(0, 1 + k % 2, 50) * 100, "y": np.zeros(50)} for k in range(8)]
    found = features([Sketch(1.0, table, NONE) for table in wide])
    assert np.isfinite(found).all()
    assert np.allclose(found.mean(axis=0), 0)
    assert max(abs(np.corrcoef(column, np.arange(8) % 2)[0, 1]) for column in found.T) > 0.9
    empty = {"x": np.empty(0), "y": np.empty(0)}
    assert np.isfinite(features([Sketch(0.0, empty, NONE), *(Sketch(1.0, table, NONE) for table in wide)])).all()
    assert features([Sketch(1.0, {"y": np.zeros(5)}, NONE)] * 3).shape == (3, 0)
