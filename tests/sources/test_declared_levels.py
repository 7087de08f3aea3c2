"""Declared spellings of two levels, and a level for all others: what may be declared, and files of several types."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import meaning

import discreet as dc
from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.sources.readers import parts
from discreet.sources.sql import cell_sql

COLUMNS: dict[str, Any] = {
    "no and yes": dc.Binary(zero="no", one="yes"),
    "two and one": dc.Binary(1, zero=2, one="1"),
    "truth": dc.Binary(0, zero="false", one="true"),
    "others": dc.Categorical(["yes", "1", "rest"], other="rest"),
    "others, second": dc.Categorical(["yes", "2", "true"], missing="2", other="true"),
}
PARTS = [
    pa.array([True, False, None]),
    pa.array([1, 2, 3, None]),
    pa.array([1.0, 2.5, float("nan"), None]),
    pa.array(["yes", "no", "Yes", "true", "1.0", "2", "", " ", "y" * 9000, None]),
    pa.array([b"yes", b"no\xff", b""]),
]


def counted(folder: Path, arrays: list[Any]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """How many cells count as each level when each array is a file of its own, and what the oracle says of them."""
    for i, cells in enumerate(arrays):
        pq.write_table(pa.table(dict.fromkeys(COLUMNS, cells)), folder / f"{i}.parquet")
    data = dc.open(str(folder / "*.parquet"), dc.Schema(COLUMNS), id="t")
    asked = tuple(Counts.over(data.schema, name, name) for name in COLUMNS)
    found = data.source.statistics(Statistics(data.schema, asked))
    cells = [cell for array in arrays for cell in array.to_pylist()]
    texts = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in cells]
    codes = {name: [meaning(column, cell) for cell in texts] for name, column in COLUMNS.items()}
    told = {name: [codes[name].count(k) for k, _ in enumerate(column.levels)] for name, column in COLUMNS.items()}
    return {name: table.tolist() for name, table in found.items()}, told


@pytest.mark.parametrize("arrays", [PARTS, PARTS[:1], PARTS[3:4], [*PARTS[:1], *PARTS[3:4]], PARTS[1:3]])
def test_files_of_several_types(arrays: list[Any], tmp_path: Path) -> None:
    found, told = counted(tmp_path, arrays)
    assert found == told


@pytest.mark.parametrize(
    ("module", "rule", "planted"),
    [
        (parts, "text", lambda raw, storage, truths: cell_sql.text(raw, storage)),
        (cell_sql, "_short", lambda text, longest: text),
    ],
)
def test_a_rule_of_their_own_is_found(
    module: Any, rule: str, planted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, planted)
    found, told = counted(tmp_path, PARTS if module is parts else PARTS[3:4])
    assert found != told


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
def test_new_rows_refuse_only_what_has_no_declared_meaning() -> None:
    schema = dc.Schema({"y": dc.Binary(), "w": dc.Categorical(["a", "b"], other="b")}, n=9)
    from discreet.posterior.new_rows import new_codes

    assert new_codes({"w": schema.column("w")}, {"w": ["a", "z", 7]})["w"].tolist() == [0, 1, 1]
    for nothing in (None, "", float("nan")):
        with pytest.raises(dc.QueryError, match="in row 1"):
            new_codes({"w": schema.column("w")}, {"w": ["z", nothing]})


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: dc.Binary(zero="no"), "must be given together"),
        (lambda: dc.Binary(one=1), "must be given together"),
        (lambda: dc.Binary(zero="no", one="no"), "must be different levels"),
        (lambda: dc.Binary(zero="1", one="1.0"), "must be different levels"),
        (lambda: dc.Binary(zero=False, one=True), "must be texts or whole numbers"),
        (lambda: dc.Binary(zero=0.5, one=1), "must be texts or whole numbers"),
        (lambda: dc.Binary(zero="x" * 10_001, one=1), "characters long"),
        (lambda: dc.Binary(zero="\ud800", one=1), "half a surrogate pair"),
        (lambda: dc.Binary("no", zero="no", one="yes"), "Binary.missing must be 0, 1"),
        (lambda: dc.Categorical(["a", "b"], other="c"), "Categorical.other must be a declared level, got 'c'"),
        (lambda: dc.Categorical(["a", "b"], other="exclude"), "Categorical.other must be a declared level"),
    ],
)
def test_what_cannot_be_declared(declare: Any, words: str) -> None:
    with pytest.raises(dc.SchemaError, match=words):
        declare()


def test_recipes_write_what_is_declared_and_nothing_else() -> None:
    assert dc.Binary().to_json() == {"kind": "binary"}
    assert dc.Binary(zero=1, one="2").to_json() == {"kind": "binary", "zero": "1", "one": "2"}
    assert dc.Binary(zero=1, one=2) == dc.Binary(zero="1", one="2")
    assert dc.Categorical(["a", "b"]).to_json() == {"kind": "categorical", "levels": ["a", "b"]}
    for column in COLUMNS.values():
        schema = dc.Schema({"c": column}, n=3)
        assert dc.Schema.from_json(schema.to_json()) == schema
    assert dc.Binary().levels == ("0", "1")
    assert dc.Binary(zero="no", one="yes").levels == ("no", "yes")
