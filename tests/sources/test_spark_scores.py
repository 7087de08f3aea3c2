"""Noisy scores over blocks that stay in Spark: the bits of the embedded engine.

Here the blocks go through the same functions without Spark (`blocks_without_spark`); with Spark, and with an executor
that is killed, they are in `make audit`.
"""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from blocks_without_spark import Parts, in_parts, kept
from test_score_sums import COLUMNS, MECHANISM, MODELS, answers, opened, table

import discreet as dc
from discreet.sources.engines import spark as engine
from discreet.sources.engines import spark_blocks as blocks
from discreet.sources.scores.spark_scores import spark_scores
from spark_session import Running


class Source:
    def __init__(self, frame: Parts) -> None:
        self.frame = frame

    def scores(self, query: Any, law: Any) -> Any:
        return spark_scores(query, law, kept(self.frame))


@pytest.mark.parametrize("name", MODELS)
def test_blocks_give_the_bits_of_the_embedded_engine(name: str) -> None:
    data = table()
    own = opened(data)
    query = MODELS[name].query(own.schema)
    law = MECHANISM.constants(query)
    expected = answers(own.source, query, law)
    for bounds in ([], [1, 1, 700, 701, 2999]):
        frame = in_parts(data, query, bounds)
        assert answers(Source(frame), query, law) == expected
        assert frame.kept == []


def test_a_block_that_is_left_out_or_counted_twice_is_found() -> None:
    data = table()
    query = MODELS["logistic"].query(opened(data).schema)
    law, own = MECHANISM.constants(query), opened(data).source
    for planted in (lambda part: part.pop(), lambda part: part.append(part[0])):
        frame = in_parts(data, query, [700])
        planted(frame.parts[1])
        assert answers(Source(frame), query, law) != answers(own, query, law)


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
    assert source.can_sum() is ready
    for mechanism in (MECHANISM, dc.GibbsPosterior(epsilon=1.0, delta=1e-7, steps=5)):
        kind = type(mechanism).__name__
        ledger = dc.Ledger.create(tmp_path / f"{kind}.ledger", dc.Budget(epsilon=9.0, delta=1e-6))
        with pytest.raises((dc.QueryError, dc.ReleaseError)) as caught:
            dc.release(MODELS["logistic"], dc.Dataset("t", schema, source), mechanism, ledger)
        assert isinstance(caught.value, dc.QueryError) is not ready
        assert ready or str(caught.value).startswith(f"{kind} must have workers of Spark")
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
        assert not dc.open(frame, dc.Schema(COLUMNS), id="t").source.can_sum()
    assert dc.open(frame, dc.Schema(COLUMNS), id="t").source.can_sum()
    assert spark.said.read_bytes() == before
