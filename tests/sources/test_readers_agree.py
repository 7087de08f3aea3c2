"""A Parquet cell means the same through DuckDB's reader and through the repaired one: one bad text switches readers."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics


def texts(cells: list[bytes]) -> Any:
    """A column of texts, of which some may not be UTF-8."""
    return pa.Array.from_buffers(pa.string(), len(cells), pa.array(cells, pa.binary()).buffers())


def answers(folder: Path, column: Any, declared: Any, *, broken: bool) -> dict[str, list[int]]:
    """Statistics of x in a table whose last cell of another column is broken or not."""
    n = len(column)
    path = folder / f"{broken}.parquet"
    pq.write_table(pa.table({"x": column, "c": texts([b"u"] * (n - 1) + [b"\xff" if broken else b"u"])}), path)
    schema = dc.Schema({"x": declared, "c": dc.Categorical(["u", "v"])})
    data = dc.open(str(path), schema, id="t")
    counted = isinstance(declared, dc.Categorical)
    asked = Counts.over(data.schema, "x", "x") if counted else Sum.of(data.schema, "x", "x")
    found = data.source.statistics(Statistics(data.schema, (asked, Counts.over(data.schema, "c", "c"))))
    return {"x": [int(value) for value in found["x"].ravel()]}


LONG = "0" * 2**20 + "9"
TOO_LONG_AND_ONE = pa.array([LONG] * 3 + ["1"])
MANY_DIGITS = pa.array([Decimal("23.63")] * 50, pa.decimal256(50, 20))
BIG = [Decimal(9007199254740993), Decimal(9007199254740992), Decimal(9007199254740993), Decimal(5)]
# two levels that are one double: no number can tell which of them it is, in any type
LEVELS = dc.Categorical(["other", "9007199254740992", "9007199254740993", "5"])


@pytest.mark.parametrize(
    ("column", "declared", "expected"),
    [
        (MANY_DIGITS, dc.Categorical(["other", "23.63"]), [0, 50]),
        (TOO_LONG_AND_ONE, dc.Bounded(0, 16, grid=1.0), None),
        (TOO_LONG_AND_ONE, dc.Categorical(["other", "1"]), [3, 1]),
        (pa.array(BIG, pa.decimal256(20, 0)), LEVELS, [3, 0, 0, 1]),
        (pa.array(BIG, pa.decimal128(20, 0)), LEVELS, [3, 0, 0, 1]),
        (pa.array([1.5, 2.5], pa.float32()).cast(pa.float16()), dc.Categorical(["1.5", "2.5"]), [1, 1]),
        (pa.array([2**63 + 1, 7], pa.uint64()), dc.Categorical(["9223372036854775809", "7"]), [1, 1]),
    ],
    ids=["decimal of 50 digits", "long number", "long text", "decimal256", "decimal128", "float16", "uint64"],
)
def test_one_broken_text_changes_no_other_cell(tmp_path: Path, column: Any, declared: Any, expected: Any) -> None:
    whole, repaired = (answers(tmp_path, column, declared, broken=broken) for broken in (False, True))
    assert whole == repaired
    assert expected is None or whole["x"] == expected
