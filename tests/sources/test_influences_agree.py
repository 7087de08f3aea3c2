"""The second stage: the engine, rows in memory and Python integers by hand give the same bits, in any order of rows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.queries.influence import Influences
from discreet.sources.sql import influence_sql
from second_stages import MODELS, RELATIONS, by_hand, coded, schema_of, table

ROWS = 400


def asked_of(model: str, schema: dc.Schema, source: Any, by: str | None, epsilon: float) -> Influences:
    query, mechanism = MODELS[model](by).query(schema), dc.NoisyStatistics(epsilon=epsilon)
    value = mechanism.apply(SeededNoise(3), query, dc.Dataset("t", schema, source))
    found: Influences = query.second.query(query, value, mechanism.laws(query))
    return found


@pytest.mark.parametrize(
    ("unit", "by"), [("record", None), ("record", "site"), ("person", "site"), ("person with many", None)]
)
@pytest.mark.parametrize("model", ["Normal", "LinearRegression", "LinearRegression with categories"])
def test_the_engine_agrees_with_rows_in_memory(model: str, unit: str, by: str | None) -> None:
    frame = table(ROWS, np.random.default_rng(7))
    persons = len(set(frame["id"]))
    schema = schema_of("replace-one", unit, ROWS if unit == "record" else persons)
    data = dc.open(frame, schema, id="t")
    memory = coded(frame, schema, MODELS[model](by).query(schema).columns)
    asked = asked_of(model, schema, memory, by, 30.0)
    found = data.source.influences(asked)
    assert found.shape == asked.shape
    assert found.tolist() == memory.influences(asked).tolist()
    assert int(np.sum(found)) > 0
    shuffled = coded(frame.sample(frac=1.0, random_state=1), schema, tuple(memory.columns))
    assert shuffled.influences(asked).tolist() == found.tolist()


def test_every_form_is_written_once_however_many_products_it_is_in() -> None:
    """The residual of 80 features is in 82 products; written out in each of them, the engine planned for minutes."""
    features = tuple(f"x{i}" for i in range(80))
    schema = dc.Schema(dict.fromkeys((*features, "y"), dc.Bounded(0, 1, grid=0.25)), n=50)
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({name: rng.integers(5, size=50) / 4 for name in schema.columns})
    memory = coded(frame, schema, (*features, "y"))
    query, mechanism = dc.LinearRegression("y", features, robust=True).query(schema), dc.NoisyStatistics(epsilon=1e6)
    asked = query.second.query(query, memory.statistics(query), mechanism.laws(query))
    forms = {side for function in asked.functions[0] for side in (function.left, function.right)}
    data = dc.open(frame, schema, id="t")
    text = influence_sql.influence_sums(asked, data.source.held, "rows", "t").sql(dialect="duckdb")
    assert len(asked.functions[0]) == len(forms) == 82
    assert len(re.findall(r"\bv_7\b", text)) == len(forms) + 1
    assert data.source.influences(asked).tolist() == memory.influences(asked).tolist()


def test_the_engine_agrees_with_integers_by_hand() -> None:
    rng = np.random.default_rng(8)
    frame = table(60, rng).dropna().query("sex != ''")
    schema = schema_of("add-remove", "record", 100)
    memory = coded(frame, schema, ("x", "ward", "sex", "y"))
    asked = asked_of("LinearRegression with categories", schema, memory, None, 300.0)
    rows = {name: cells.tolist() for name, cells in memory.columns.items()}
    hand = by_hand(asked, rows, list(range(len(frame))))
    assert dc.open(frame, schema, id="t").source.influences(asked).tolist() == hand[0]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_agree_with_frames(relation: str, kind: str, tmp_path: Path) -> None:
    frame = table(ROWS, np.random.default_rng(9))
    schema = schema_of(relation, "person", len(set(frame["id"])))
    path = tmp_path / f"table.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    memory = coded(frame, schema, ("x", "z", "y"))
    asked = asked_of("LinearRegression", schema, memory, None, 30.0)
    assert dc.open(path, schema, id="t").source.influences(asked).tolist() == memory.influences(asked).tolist()


def test_nobody_and_empty_groups_add_nothing() -> None:
    frame = table(ROWS, np.random.default_rng(9)).query("site != 'west'")
    schema = schema_of("add-remove", "record", ROWS)
    memory = coded(frame, schema, ("x", "site"))
    asked = asked_of("Normal", schema, memory, "site", 30.0)
    found = dc.open(frame, schema, id="t").source.influences(asked)
    assert found[2].tolist() == [0]
    assert memory.influences(asked).tolist() == found.tolist()
    empty = dc.open(frame[:0], schema, id="t").source.influences(asked)
    assert empty.tolist() == [[0], [0], [0]] == coded(frame[:0], schema, ("x", "site")).influences(asked).tolist()


def test_an_engine_that_cuts_differently_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(ROWS, np.random.default_rng(7))
    schema = schema_of("replace-one", "record", ROWS)
    memory = coded(frame, schema, ("x",))
    asked = asked_of("Normal", schema, memory, None, 30.0)
    monkeypatch.setattr(influence_sql, "STEPS", 40)
    assert dc.open(frame, schema, id="t").source.influences(asked).tolist() != memory.influences(asked).tolist()
