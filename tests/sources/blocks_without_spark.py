"""A stand-in for a frame of Spark: blocks of rows go through the functions of its workers, in this process.

Workers of Spark take longer to start than all tests that use this; with Spark the same is in `make audit`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
from test_score_sums import coded

from discreet.schema.cell import NO_NUMBER
from discreet.sources.engines.spark_blocks import kept_blocks


@dataclass
class Parts:
    """What the functions ask of a frame: every partition is a list of Arrow batches."""

    parts: list[list[pa.RecordBatch]]
    kept: list[str] = field(default_factory=list)
    sparkSession: Any = None  # noqa: N815

    def __post_init__(self) -> None:
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(set=lambda name, value: None))

    def mapInArrow(self, work: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]], kinds: str) -> "Parts":
        found = [list(work(iter(part))) for part in self.parts]
        declared = [kind.split()[0] for kind in kinds.split(", ")]
        assert all(batch.schema.names == declared for part in found for batch in part)
        return Parts(found, self.kept)

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


def kept(frame: Parts) -> Any:
    """What the engine hands on: blocks of this frame, asked for as they are."""
    return lambda layout, query, pack: kept_blocks(layout, query, pack, lambda: frame, lambda work: work())
