"""Batches of a chain are runs of places: one changed row may change one of them, so a place must be its row's own."""

from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from postgres_tables import PLACE, stored

import discreet as dc
from discreet.queries.losses.base import CHUNK
from discreet.sources.engines.duckdb import DuckDB
from discreet.sources.engines.postgres import Postgres
from postgres_server import Server

BATCHES = 4
SCHEMA = dc.Schema({"ward": dc.Categorical(range(7)), "ill": dc.Binary()})
MODEL = dc.LogisticRegression("ill", ["ward"])
MECHANISM = dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=8, batches=BATCHES)
ROWS = [[i * i % 7, i % 2 == 1] for i in range(BATCHES * CHUNK)]
CHANGED = [[6, True], *ROWS[1:]]


def changed_batches(before: dc.Dataset, after: dc.Dataset) -> int:
    """How many batches hold other rows."""
    found: list[list[Counter[Any]]] = []
    for data in (before, after):
        with data.source.design(MODEL.query(data.schema)) as rows:
            chunks = zip(rows.codes[:, 0], rows.targets, strict=True)
            found.append([Counter(zip(codes.tolist(), targets.tolist(), strict=True)) for codes, targets in chunks])
    return sum(here != there for here, there in zip(*found, strict=True))


def frame(rows: list[list[Any]]) -> dc.Dataset:
    return dc.open(pa.table({name: [row[i] for row in rows] for i, name in enumerate(SCHEMA.columns)}), SCHEMA, id="t")


def test_a_row_of_a_frame_changes_its_own_batch() -> None:
    assert changed_batches(frame(ROWS), frame(CHANGED)) == 1
    assert DuckDB.has_places


def test_batches_of_a_database_are_refused_and_cost_nothing(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twins: one row that is updated there changes every batch, and without the refusal that would be paid for."""
    types = {"ward": "integer", "ill": "boolean"}
    ledger = dc.Ledger.create(tmp_path / "t.ledger", dc.Budget(epsilon=9.0, delta=1e-4))
    with stored(postgres, types, ROWS) as url, stored(postgres, types, ROWS) as other:
        with psycopg.connect(other) as connection:
            connection.execute("UPDATE clinic.rows SET ward = 6, ill = true WHERE ctid = '(0,1)'")
        before, after = (dc.open(place, SCHEMA, table=PLACE) for place in (url, other))
        assert changed_batches(before, after) == BATCHES
        with pytest.raises(dc.QueryError, match="batches must be 1 for a table in Spark or a database"):
            dc.release(MODEL, before, MECHANISM, ledger)
        assert ledger.entries() == ()
        dc.release(MODEL, before, dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=2), ledger)
        monkeypatch.setattr(Postgres, "has_places", True)
        dc.release(MODEL, before, MECHANISM, ledger)
        assert len(ledger.entries()) == 2
