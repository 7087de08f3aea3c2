"""Noisy scores over blocks that stay in Spark: the bits of the embedded engine.

Here the blocks go through the same functions without Spark, whose workers take longer to start than all other tests of
this file; with Spark, and with an executor that is killed, they are in `make audit`.
"""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from test_score_sums import COLUMNS, MECHANISM, MODELS, answers, coded, opened, table

import discreet as dc
from discreet.schema.cell import NO_NUMBER
from discreet.sources.engines import spark as engine
from discreet.sources.scores import spark_scores as blocks
from spark_session import Running


@dataclass
class Parts:
    """What the functions ask of a frame: every partition is a list of Arrow batches."""

    parts: list[list[pa.RecordBatch]]
    kept: list[str] = field(default_factory=list)
    sparkSession: Any = None  # noqa: N815

    def __post_init__(self) -> None:
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(set=lambda name, value: None))

    def mapInArrow(self, work: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]], kinds: str) -> "Parts":
        assert kinds in (blocks.PACKED + ", allowed binary", "sums array<bigint>")
        return Parts([list(work(iter(part))) for part in self.parts], self.kept)

    def persist(self, level: Any) -> "Parts":
        self.kept.append("kept")
        return self

    def unpersist(self) -> None:
        self.kept.pop()

    def count(self) -> int:
        return 0

    def collect(self) -> list[Any]:
        return [
            SimpleNamespace(sums=sums)
            for part in self.parts
            for batch in part
            for (sums,) in zip(batch["sums"].to_pylist())
        ]


def in_parts(data: pd.DataFrame, query: Any, bounds: list[int]) -> Parts:
    """The coded rows, bad cells as NULL, cut at these places; a partition is two batches."""
    codes = coded(data, query).columns
    cells = {name: pa.array(row, mask=(row == -1) | (row == NO_NUMBER)) for name, row in codes.items()}
    whole = pa.RecordBatch.from_pydict({name: cells[name] for name in query.columns})
    ends = zip([0, *bounds], [*bounds, len(data)], strict=True)
    return Parts(
        [
            [whole.slice(low, (high - low) // 2), whole.slice((low + high) // 2, high - (low + high) // 2)]
            for low, high in ends
        ]
    )


class Source:
    def __init__(self, frame: Parts) -> None:
        self.frame = frame

    def scores(self, query: Any, law: Any) -> Any:
        return blocks.spark_scores(query, law, lambda: self.frame, lambda work: work())


@pytest.mark.parametrize("name", MODELS)
def test_blocks_give_the_bits_of_the_embedded_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table()
    own = opened(data)
    query = MODELS[name].query(own.schema)
    law = MECHANISM.constants(query)
    expected = answers(own.source, query, law)
    for bounds in ([], [1, 1, 700, 701, 2999]):
        monkeypatch.setattr(blocks, "RUN", 2)
        frame = in_parts(data, query, bounds)
        assert answers(Source(frame), query, law) == expected
        assert frame.kept == []


def test_a_block_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table()
    query = MODELS["logistic"].query(opened(data).schema)
    law, frame = MECHANISM.constants(query), in_parts(data, query, [700])
    frame.parts[1].pop()
    assert answers(Source(frame), query, law) != answers(opened(data).source, query, law)


def test_what_a_worker_says_names_no_row() -> None:
    data = table()
    query = MODELS["logistic"].query(opened(data).schema)
    frame = in_parts(data, query, [])
    broken = Parts([[batch.set_column(0, "x", pa.array(["the secret"] * batch.num_rows)) for batch in frame.parts[0]]])
    with pytest.raises(dc.ReleaseError) as caught:
        answers(Source(broken), query, MECHANISM.constants(query))
    assert "secret" not in "".join(map(str, (caught.value, caught.value.__context__, caught.value.__cause__)))


class Session:
    """Runs what is asked of workers here; `found` stands for the version that they have."""

    sparkContext = SimpleNamespace(defaultParallelism=2)  # noqa: N815

    def __init__(self, found: Any) -> None:
        self.found = found

    def range(self, *_: int) -> "Session":
        return self

    def mapInArrow(self, work: Any, kind: str) -> "Session":
        rows = pa.RecordBatch.from_pydict({"id": [0]})
        self.rows = [row for batch in work([rows, rows]) for row in batch.to_pylist()]
        return self

    def collect(self) -> list[Any]:
        if isinstance(self.found, Exception):
            raise self.found
        return [SimpleNamespace(**(row if self.found is None else {"version": self.found})) for row in self.rows]


@pytest.mark.parametrize(
    ("found", "ready"),
    [(None, True), ("", True), ("0.0.1", False), (ModuleNotFoundError("No module named 'discreet'"), False)],
)
def test_workers_without_this_library_are_refused_before_anything_is_paid(
    found: Any, ready: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "quiet_spark", lambda session: nullcontext())
    schema = dc.Schema(COLUMNS, n=3000)
    source = engine.Spark(Session(found), {})
    assert source.can_score() is ready
    ledger = dc.Ledger.create(tmp_path / "t.ledger", dc.Budget(epsilon=9.0, delta=1e-6))
    with pytest.raises((dc.QueryError, dc.ReleaseError)) as caught:
        dc.release(MODELS["logistic"], dc.Dataset("t", schema, source), MECHANISM, ledger)
    assert isinstance(caught.value, dc.QueryError) is not ready
    assert len(ledger.entries()) == int(ready)  # the twin: what is ready is paid, and cannot be read here


@pytest.mark.audit
@pytest.mark.parametrize("name", MODELS)
def test_spark_gives_the_bits_of_the_embedded_engine(
    name: str, spark: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table()
    own = opened(data)
    query = MODELS[name].query(own.schema)
    law = MECHANISM.constants(query)
    frame = spark.frame(pa.Table.from_pandas(data, preserve_index=False), 3)
    before = spark.said.read_bytes()
    assert answers(dc.open(frame, dc.Schema(COLUMNS), id="t").source, query, law) == answers(own.source, query, law)
    assert spark.said.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "version", lambda name: "another version than that of workers")
        assert not dc.open(frame, dc.Schema(COLUMNS), id="t").source.can_score()
    assert dc.open(frame, dc.Schema(COLUMNS), id="t").source.can_score()
    assert spark.said.read_bytes() == before
